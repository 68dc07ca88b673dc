// Scans and audits under way, and what came of earlier ones.
import { useData } from '../api.js';
import { number, time } from '../format.js';
import { html } from '../html.js';
import { Await } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { api } from '../url.js';

/** @typedef {import('../types/answers').Api.Job} Job */

/** @type {Record<string, string>} */
const TONE = { failed: 'miss', done: 'hit', cancelled: 'skipped' };

/** @param {{of: Job}} props */
function Progress({ of }) {
    const { progress } = of;
    if (of.state !== 'running')
        return html`${of.error ?? (of.incomplete ? 'not everything could be read' : '–')}`;
    if (!progress) return html`<progress aria-label="It runs"></progress>`;
    const { label, done, total } = /** @type {{label: string, done: number, total: number}} */ (
        progress
    );
    return html`<progress value=${done} max=${total || 1} aria-label=${label}></progress> ${label}: ${number(done)} of ${number(total)}`;
}

/** @type {import('../parts/table.js').Column<Job>[]} */
const COLUMNS = [
    { label: 'Job', main: true, cell: (j) => html`${j.id}: ${j.name ?? 'without a name'}` },
    {
        label: 'State',
        cell: (j) =>
            html`<span class=${TONE[j.state]}>${j.state}</span>${j.attempts > 1 ? html` <small>begun ${j.attempts} times</small>` : ''}`,
    },
    { label: 'Progress', cell: (j) => html`<${Progress} of=${j} />` },
    { label: 'Asked for', cell: (j) => time(j.created) },
    { label: 'Ended', cell: (j) => (j.ended ? time(j.ended) : '–') },
    {
        label: 'Result',
        cell: (j) => (j.audit ? html`<a href=${`/?audit=${j.audit}`}>audit</a>` : '–'),
    },
];

export function Page() {
    const jobs = useData(api('jobs'), ({ items }) =>
        items.some((j) => /queued|running/.test(j.state)) ? 1000 : 5000,
    );
    return html`
        <h1>Jobs</h1>
        <p>An audit is ordered with the service's token: <code>POST /api/v1/audits</code>. This page looks again by itself.</p>
        <div data-rows><${Await} of=${jobs} what="Reading jobs">${(/** @type {NonNullable<typeof jobs.data>} */ { items }) => html`<${Table} caption="The newest first" columns=${COLUMNS} rows=${items} keyOf=${(/** @type {Job} */ j) => String(j.id)} none="No job was ever asked for." />`}<//></div>`;
}
