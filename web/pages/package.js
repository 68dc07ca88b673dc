// One package: what it holds, what to do, what is wrong with it, and whose starts it slows down.
import { useData } from '../api.js';
import { bytes, count, failed, number, quoted } from '../format.js';
import { html, useState } from '../html.js';
import { Command } from '../parts/copy.js';
import { FindingTable } from '../parts/findings.js';
import { History } from '../parts/history.js';
import { Exit, method, Package, PackageId, Predicted, programName } from '../parts/names.js';
import { From, Whom } from '../parts/origin.js';
import { Decision, TakeAlong } from '../parts/plan.js';
import { Await } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { api, programHref } from '../url.js';

/** @typedef {import('../types/answers').Api.PackageDetail} Detail */

/** @type {import('../parts/table.js').Column<Detail['program_list'][number]>[]} */
const PROGRAMS = [
    {
        label: 'Program',
        main: true,
        cell: (p) =>
            html`<a href=${programHref(p.id)} title=${p.path}>${programName(p.key)}</a> <${Exit} exit=${p.exit} />`,
    },
    { label: 'Failed opens', num: true, cell: (p) => number(p.storm.failed_opens) },
    { label: 'Failed stats', num: true, cell: (p) => number(p.storm.failed_stats) },
    { label: 'Libraries', num: true, cell: (p) => number(p.storm.objects) },
    {
        label: 'Best strategy',
        cell: (p) => (p.plan ? method(p.plan) : html`<small>not planned yet</small>`),
    },
    { label: 'After', num: true, cell: (p) => (p.plan ? number(failed(p.plan.after)) : '–') },
    { label: 'Saving', num: true, cell: (p) => (p.plan ? number(p.plan.saving) : '–') },
];

/** @type {import('../parts/table.js').Column<Detail['object_list'][number]>[]} */
const OBJECTS = [
    { label: 'Object', main: true, cell: (o) => html`<span class="path">${o.path}</span>` },
    { label: 'Soname', cell: (o) => o.soname ?? '–' },
    { label: 'Kind', cell: (o) => (o.program ? 'program' : o.type) },
    { label: 'Size', num: true, cell: (o) => bytes(o.size) },
    {
        label: 'Problem',
        cell: (o) => (o.problem ? html`<span class="miss">${o.problem}</span>` : '–'),
    },
];

const FEW = 12;

/**
 * The first rows, and all of them when asked.
 * @template T
 * @param {{what: string, columns: import('../parts/table.js').Column<T>[], rows: T[], keyOf: (row: T) => string, none: string}} props
 */
function Some({ what, columns, rows, keyOf, none }) {
    const [all, setAll] = useState(false);
    const shown = all ? rows : rows.slice(0, FEW);
    return html`<${Table} caption=${`${what}: ${number(shown.length)} of ${number(rows.length)}`} columns=${columns} rows=${shown} keyOf=${keyOf} none=${none} />
        ${rows.length > FEW && html`<p><button type="button" class="link" onClick=${() => setAll(!all)}>${all ? 'Only the first' : `All ${number(rows.length)}`}</button></p>`}`;
}

/** @param {{id: string}} props */
function Plan({ id }) {
    const href = api(`packages/${encodeURIComponent(id)}/plan`);
    const plan = useData(href);
    return html`<${Await} of=${plan} what="Weighing the strategies">${(
        /** @type {NonNullable<typeof plan.data>} */ p,
    ) => html`
        ${p.objects.map((object) => html`<details open=${p.objects.length < 3}><summary><span class="path">${object.path}</span>: ${method(object)}</summary><${Decision} of=${object} /></details>`)}
        <${TakeAlong} plan=${p} href=${href} />`}<//>`;
}

/** @param {{of: Detail}} props */
function Searchers({ of }) {
    const searchers = useData(
        api(`packages/${encodeURIComponent(of.id)}/searched_by`, { limit: 100 }),
    );
    return html`<${Await} of=${searchers} what="Following all starts">${(
        /** @type {NonNullable<typeof searchers.data>} */ page,
    ) => html`
        <p>${page.total ? count(page.total, 'program looks', 'programs look') : 'No program looks'} into its directories in vain at the start.</p>
        ${
            page.items.length > 0 &&
            html`<${Some} what="The worst of them" rows=${page.items} none="" keyOf=${(/** @type {any} */ p) => p.id} columns=${
                /** @type {import('../parts/table.js').Column<(typeof page.items)[number]>[]} */ ([
                    {
                        label: 'Program',
                        main: true,
                        cell: (p) =>
                            html`<a href=${programHref(p.id)} title=${p.path}>${programName(p.key)}</a>`,
                    },
                    {
                        label: 'Package',
                        cell: (p) =>
                            html`<${Package} of=${p.package} /><${Whom} of=${p.package} lead=${html`<br />`} />`,
                    },
                    { label: 'Failed calls here', num: true, cell: (p) => number(p.failed) },
                ])
            } />`
        }`}<//>`;
}

/** @param {{title: string, of: string[]}} props */
const Names = ({ title, of }) => html`<details><summary>${title}: ${number(of.length)}</summary>
    ${of.length ? html`<ul class="names">${of.map((id) => html`<li><${PackageId} id=${id} /></li>`)}</ul>` : html`<p class="state">None.</p>`}</details>`;

/** @param {{of: Detail}} props */
function Sections({ of }) {
    const findings = useData(api('findings', { package: of.id, limit: 100 }));
    const path = quoted(of.path);
    return html`
        <section data-rows><h2>Programs <${Predicted} /></h2>
            <${Some} what="Programs" columns=${PROGRAMS} rows=${of.program_list} keyOf=${(/** @type {any} */ p) => p.id} none="It has no programs." /></section>
        <section><h2>Plan</h2>${of.programs ? html`<${Plan} id=${of.id} />` : html`<p class="state">There is no program in it to plan for.</p>`}</section>
        <section><h2>Findings</h2><${Await} of=${findings} what="Linting the index">${(
            /** @type {NonNullable<typeof findings.data>} */ page,
        ) =>
            html`<${FindingTable} page=${page} caption=${count(page.total, 'finding')} none="Nothing was found in it." />`}<//></section>
        <section><h2>Whose starts it slows down <${Predicted} /></h2><${Searchers} of=${of} />
            <${Names} title="Packages that refer to it" of=${of.dependents} />
            <${Names} title="Packages that it refers to" of=${of.references} /></section>
        <section><h2>History</h2><${History} of=${`${of.pname}.${of.output}`} what="package" /></section>
        <section><h2>Objects</h2><${Some} what="ELF objects" columns=${OBJECTS} rows=${of.object_list} keyOf=${(/** @type {any} */ o) => o.path} none="It has no ELF files." />
            ${of.problems.length > 0 && html`<h3>Problems</h3><ul>${of.problems.map((p) => html`<li><span class="path">${p.path}</span>: ${p.kind}, ${p.text}</li>`)}</ul>`}
            ${of.truncated && html`<p class="state">Lists of more than 2,000 rows were cut.</p>`}</section>
        <section><h2>The same on the command line</h2><ul class="plain">
            <${Command} what="The plan" line=${`stormlint plan ${path}`} />
            <${Command} what="A badge" line=${`${location.origin}/api/v1/badge/${encodeURIComponent(of.pname)}`} />
            <${Command} what="The findings" line=${`stormlint lint ${path}`} />
        </ul></section>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
    const found = useData(api(`packages/${encodeURIComponent(id)}`));
    const p = found.data;
    return html`
        <h1>${p ? p.pname : 'Package'} <small>${p?.version ?? ''} ${p && p.output !== 'out' ? p.output : ''}</small></h1>
        <${Await} of=${found} what="Reading the package">${(/** @type {Detail} */ of) => html`
            <p class="path">${of.path}</p>
            <${From} of=${of} />
            <dl class="figures">
                <div class="figure"><dt>failed calls of its worst program</dt><dd><b>${of.programs ? number(of.failed) : '–'}</b></dd></div>
                <div class="figure"><dt>programs</dt><dd><b>${number(of.programs)}</b></dd></div>
                <div class="figure"><dt>ELF objects</dt><dd><b>${number(of.objects)}</b><small>of ${count(of.files, 'file')}</small></dd></div>
                <div class="figure"><dt>size</dt><dd><b>${bytes(of.nar_size)}</b></dd></div>
                ${of.state !== 'scanned' && html`<div class="figure"><dt>state</dt><dd><b class="miss">${of.state}</b></dd></div>`}
            </dl>
            <${Sections} of=${of} />`}<//>`;
}
