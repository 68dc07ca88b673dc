// Audits as choices: the index as it is, and those that are kept, the newest first.
import { time } from '../format.js';

/** @typedef {import('../types/answers').Api.Audit} Audit */

/** @param {Audit} audit */
const auditName = (audit) =>
    audit.id === 'index' ? 'The index, as it is' : `${audit.name ?? audit.id}, ${time(audit.time)}`;

/** @param {Audit[]} audits @returns {[id: string, name: string][]} */
export const auditOptions = (audits) => audits.map((audit) => [audit.id, auditName(audit)]);

/** `latest` is the newest that is kept. @param {Audit[]} audits @param {string} id */
export const auditId = (audits, id) =>
    (id === 'latest' && audits.find((audit) => audit.id !== 'index')?.id) || id;
