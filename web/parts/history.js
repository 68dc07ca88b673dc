// One program or package through the audits, the newest first.
import { useData } from '../api.js';
import { change, number, time } from '../format.js';
import { html } from '../html.js';
import { api } from '../url.js';
import { Bar } from './bars.js';
import { programName } from './names.js';
import { Await } from './states.js';
import { Table } from './table.js';

/** @typedef {import('../types/answers').Api.History} Audits */
/** @typedef {Audits['items'][number]} Point */

/** @param {Point[]} items @returns {import('./table.js').Column<Point>[]} */
const columns = (items) => [
    {
        label: 'Audit',
        main: true,
        cell: (item) =>
            html`<a href=${`/?audit=${item.audit}&q=${encodeURIComponent(item.worst.path ?? '')}`}>${item.name ?? item.audit}</a>`,
    },
    { label: 'Made', cell: (item) => time(item.time) },
    { label: 'Version', cell: (item) => item.worst.version ?? '–' },
    { label: 'Program', cell: (item) => programName(item.worst.key) },
    { label: 'Failed calls', num: true, cell: (item) => number(item.worst.failed) },
    {
        label: 'Change',
        num: true,
        cell: (item) => {
            const before = items[items.indexOf(item) + 1];
            return before ? change(item.worst.failed - before.worst.failed) : '–';
        },
    },
    {
        label: 'Opens and stats',
        cell: (item) =>
            html`<${Bar} of=${Math.max(1, ...items.map((one) => one.worst.failed))} parts=${[
                { value: item.worst.storm.failed_opens, kind: 'miss' },
                { value: item.worst.storm.failed_stats, kind: 'miss-soft' },
            ]} />`,
    },
];

/** @param {{of: string, what: string}} props a key without hash; "program" or "package" */
export function History({ of, what }) {
    const history = useData(api('history', { key: of }));
    return html`<${Await} of=${history} what="Reading audits">${(/** @type {Audits} */ { items }) =>
        html`<${Table} caption=${`The same ${what} in audits, the newest first`} none=${`This ${what} is in no audit.`} rows=${items} keyOf=${(/** @type {Point} */ item) => item.audit} columns=${columns(items)} />`}<//>`;
}
