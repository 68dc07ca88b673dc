// Findings: what is wrong, where, what to do, and what it was concluded from.
import { html } from '../html.js';
import { PackageId } from './names.js';
import { Whom } from './origin.js';
import { Table } from './table.js';

/** @typedef {import('../types/answers').Api.Finding} Finding */

/** @type {import('./table.js').Column<Finding>[]} */
const COLUMNS = [
    {
        label: 'What',
        main: true,
        cell: (f) => html`<b class=${f.severity}>${f.severity}</b> ${f.message}
            ${f.fix && html`<br /><small>${f.fix}</small>`}
            ${f.evidence.length > 0 && html`<details><summary class="small">Evidence</summary><ul class="evidence">${f.evidence.map((line) => html`<li class="mono">${line}</li>`)}</ul></details>`}`,
    },
    {
        label: 'Rule',
        cell: (f) =>
            html`<a class="quiet" href=${`/findings?rule=${f.rule}`}>${f.code} ${f.rule}</a>`,
    },
    {
        label: 'Where',
        cell: (f) =>
            html`<span class="path" title=${f.path ?? ''}>${f.identity}</span>${f.package && html`<br /><${PackageId} id=${f.package} />`}<${Whom} of=${f} lead=${html`<br />`} />`,
    },
    {
        label: 'Standing',
        cell: (f) =>
            html`${f.standing ?? 'open'}${f.confidence && html`<br /><small>${f.confidence}</small>`}`,
    },
];

/** @param {{page: {items: Finding[]}, caption: any, none: string}} props */
export const FindingTable = ({ page, caption, none }) =>
    html`<${Table} caption=${caption} columns=${COLUMNS} rows=${page.items} none=${none} kind="findings"
        keyOf=${(/** @type {Finding} */ f) => `${f.rule} ${f.identity} ${f.path} ${f.message}`} />`;
