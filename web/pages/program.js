// One program: where its start loses time, what could be done, and why the choice is the choice.
import { useData } from '../api.js';
import { count, failed, number, percent, quoted } from '../format.js';
import { html, useMemo, useState } from '../html.js';
import { Shares } from '../parts/bars.js';
import { Command } from '../parts/copy.js';
import { History } from '../parts/history.js';
import { Matrix } from '../parts/matrix.js';
import { Exit, method, Package, Predicted, programName, shortPath } from '../parts/names.js';
import { From } from '../parts/origin.js';
import { Decision, TakeAlong } from '../parts/plan.js';
import { Remedies } from '../parts/remedies.js';
import { Await } from '../parts/states.js';
import { Choice, Table } from '../parts/table.js';
import { Tree } from '../parts/tree.js';
import { Treemap } from '../parts/treemap.js';
import { isCounted, placesOf, stagesOf } from '../trace.js';
import { api, useUrl, withParams } from '../url.js';

/** @typedef {import('../types/answers').Api.ProgramDetail} Detail */
/** @typedef {import('../types/answers').Api.Trace} Trace */
/** @typedef {import('../trace.js').Place} Place */

const LEVELS = ['x86-64-v1', 'x86-64-v2', 'x86-64-v3', 'x86-64-v4'];
const KINDS = ['miss', 'miss-soft', 'skipped', 'accent', 'rest'];

/** @param {{of: Detail}} props */
function Facts({ of }) {
    const { storm, object } = of;
    return html`
        <dl class="figures">
            <div class="figure"><dt>failed opens</dt><dd><b>${number(storm.failed_opens)}</b><small>of ${number(storm.opens)}</small></dd></div>
            <div class="figure"><dt>failed stats</dt><dd><b>${number(storm.failed_stats)}</b><small>of ${number(storm.stats)}</small></dd></div>
            <div class="figure"><dt>objects loaded</dt><dd><b>${number(storm.objects)}</b></dd></div>
            <div class="figure"><dt>directories visited</dt><dd><b>${number(storm.directories)}</b></dd></div>
            ${of.plan && (of.plan.strategy === 'none' ? html`<div class="figure"><dt>best strategy</dt><dd><b>none</b><small>see the plan for why</small></dd></div>` : html`<div class="figure"><dt>failed calls with ${method(of.plan)}</dt><dd><b>${number(failed(of.plan.after))}</b><small>saves ${number(of.plan.saving)}, ${percent(of.plan.saving, of.failed)}</small></dd></div>`)}
        </dl>
        <p class="small"><${Predicted} /> on ${of.cpu}, environment empty${of.assumed ? ', with assumptions (below)' : ''}; not checked here.
            ${of.levels.length > 0 && html` Failed calls by CPU level: ${of.levels.map((level) => `${level.cpu.replace('x86-64-', '')} ${number(failed(level.storm))}`).join(', ')}.`}
            ${' '}ELF ${object.class}, ${count(object.needs.length, 'needed name')}${object.interp ? html`, loader <span class="path" title=${object.interp}>${shortPath(object.interp)}</span>` : ', no loader'}.
            ${of.profile_assumed && ` ${of.profile_assumed}`}</p>`;
}

/** The parameters of the start that is shown. @param {URL} url */
function startOf(url) {
    const [strategy, scope] = (url.searchParams.get('as') ?? '').split(' ');
    return {
        cpu: url.searchParams.get('cpu'),
        dlopen: strategy ? null : url.searchParams.get('dlopen'),
        strategy,
        scope,
    };
}

/** @param {{methods: string[], x86: boolean}} props */
const StartChoices = ({ methods, x86 }) => html`<div class="filters">
    <${Choice} name="as" label="Start" options=${[['', 'as built'], ...methods.map((m) => [m, `with ${m}`])]} />
    ${x86 && html`<${Choice} name="cpu" label="CPU" options=${[['', "the index's"], ...LEVELS.map((level) => [level, level])]} />`}
    <${Choice} name="dlopen" label="And then" options=${[['', 'nothing more'], ['declared', 'declared dlopens']]} />
</div>`;

/** @param {{of: Trace}} props */
const Phases = ({ of }) =>
    html`${of.phases.map(
        (phase) => html`<details class="phase">
        <summary>dlopen <b>${phase.name}</b>: ${number(failed(phase.storm))} failed calls, ${phase.succeeds ? html`<span class="hit">found</span>` : html`<span class="miss">not found</span>`} <small>declared by a ${phase.source}${phase.caller ? ` of ${shortPath(phase.caller)}` : ', whose object is not loaded'}${phase.priority ? `, ${phase.priority}` : ''}${phase.feature ? `, for ${phase.feature}` : ''}</small></summary>
        <${Tree} trace=${of} phase=${phase.phase} />
    </details>`,
    )}`;

/** @param {{of: Trace}} props */
const StartUp = ({ of }) => html`
    <p>${number(failed(of.storm))} failed calls, ${count(of.storm.objects, 'object')} loaded, ${of.exit === 'ok' ? 'it starts' : html`<span class="miss">${of.exit}</span>`}; on ${of.cpu}${of.profile ? `, ${of.profile.text}` : ''}.
        ${of.strategy && html` With ${method(/** @type {any} */ (of))}.`}
        ${of.phases.length > 0 && html` Then ${count(of.phases.length, 'declared dlopen')} with ${number(failed(of.dlopen))} failed calls, counted apart.`}</p>
    ${of.assumptions.length > 0 && html`<ul class="small">${of.assumptions.map((text) => html`<li>Assumed: ${text}</li>`)}</ul>`}
    <${Tree} trace=${of} phase=${0} />
    ${of.phases.length > 0 && html`<h3>Declared dlopens</h3><${Phases} of=${of} />`}`;

/** @type {import('../parts/table.js').Column<Place>[]} */
const PLACES = [
    {
        label: 'Directory',
        main: true,
        cell: (p) => html`<span class="path" title=${p.path}>${shortPath(p.path)}</span>`,
    },
    { label: 'Failed opens', num: true, cell: (p) => number(p.opens) },
    { label: 'Failed stats', num: true, cell: (p) => number(p.stats) },
    {
        label: 'For CPUs',
        num: true,
        title: 'of both, in sub-directories for CPUs (glibc-hwcaps)',
        cell: (p) => number(p.hwcaps),
    },
    { label: 'Files taken', num: true, cell: (p) => number(p.hits) },
];

/** @param {string} owner a name in the store */
const ownerLabel = (owner) => owner.replace(/^[0-9a-z]{32}-/, '') || 'outside of the store';

/** By package, or the directories of the one that the URL zooms to. @param {Place[]} places @param {string | null} zoom */
function cellsOf(places, zoom) {
    if (zoom !== null)
        return places
            .filter((p) => p.owner === zoom)
            .map((p) => ({
                name: '',
                label: shortPath(p.path),
                title: p.path,
                value: p.opens + p.stats,
            }));
    /** @type {Map<string, number>} */
    const owners = new Map();
    for (const p of places) owners.set(p.owner, (owners.get(p.owner) ?? 0) + p.opens + p.stats);
    return [...owners]
        .sort((a, b) => b[1] - a[1])
        .map(([owner, value]) => ({
            name: owner,
            label: ownerLabel(owner),
            title: owner || 'outside of the store',
            value,
        }));
}

const FEW = 12;

/** @param {{trace: Trace, store: string}} props */
function Places({ trace, store }) {
    const url = useUrl();
    const zoom = url.searchParams.get('zoom');
    const [all, setAll] = useState(false);
    const calls = useMemo(() => trace.calls.filter((call) => call.phase === 0), [trace]);
    const places = useMemo(() => placesOf(calls, store), [calls, store]);
    const stages = useMemo(() => stagesOf(calls), [calls]);
    const failures = calls.filter(isCounted).length;
    const hwcaps = places.reduce((sum, p) => sum + p.hwcaps, 0);
    const rows = places.filter((p) => p.opens + p.stats > 0 && (zoom === null || p.owner === zoom));
    if (!failures) return html`<p class="state">No call fails.</p>`;
    return html`
        <div class="beside">
            <${Shares} label="Failed calls by the stage of the search" parts=${stages.map(([name, value], i) => ({ name, value, kind: KINDS[Math.min(i, KINDS.length - 1)] }))} />
            <${Shares} label="In sub-directories for CPUs (glibc-hwcaps), or not" parts=${[
                {
                    name: 'for CPUs',
                    value: hwcaps,
                    kind: 'miss-soft',
                    note: percent(hwcaps, failures),
                },
                { name: 'others', value: failures - hwcaps, kind: 'miss' },
            ]} />
        </div>
        ${zoom !== null && html`<p class="chip">${ownerLabel(zoom)} alone <a href=${withParams(url, { zoom: null })}>all packages</a></p>`}
        <${Treemap} cells=${cellsOf(places, zoom)} param=${zoom === null ? 'zoom' : null} label=${`Failed calls by ${zoom === null ? 'package' : 'directory'}`} />
        <${Table} caption=${`Directories by failed calls: ${number(all ? rows.length : Math.min(rows.length, FEW))} of ${number(rows.length)}`} columns=${PLACES} rows=${all ? rows : rows.slice(0, FEW)} keyOf=${(/** @type {Place} */ p) => p.path} />
        ${rows.length > FEW && html`<p><button type="button" class="link" onClick=${() => setAll(!all)}>${all ? 'Only the worst' : `All ${number(rows.length)}`}</button></p>`}`;
}

/** @param {{of: Detail}} props */
function Sections({ of }) {
    const url = useUrl();
    const start = startOf(url);
    const href = api(`programs/${of.id}/plan`);
    const trace = useData(api(`programs/${of.id}/trace`, start));
    const plan = useData(href);
    const criteria = useData(api('criteria'));
    const questions = useMemo(
        () => new Map(criteria.data?.criteria.map((c) => [c.id, c.question]) ?? []),
        [criteria.data],
    );
    const object =
        plan.data?.objects.find((o) => of.path.endsWith(`/${o.path}`)) ?? plan.data?.objects[0];
    const methods = (object?.options ?? [])
        .filter((o) => o.storm.length && o.strategy !== 'none')
        .map(method);
    const store = of.package
        ? of.package.path.slice(0, of.package.path.lastIndexOf('/'))
        : '/nix/store';
    const path = quoted(of.path);
    const cpu = start.cpu ?? of.cpu;
    /** @param {(of: NonNullable<typeof object>) => any} children */
    const ofPlan = (children) =>
        html`<${Await} of=${plan} what="Weighing the strategies">${() => (object ? children(object) : html`<p class="state">Nothing was planned for it.</p>`)}<//>`;
    return html`
        <nav class="within" aria-label="On this page"><a href="#start">Start-up</a> <a href="#where">Where it goes</a> <a href="#remedies">Before and after</a> <a href="#criteria">Criteria</a> <a href="#plan">Plan</a> <a href="#history">History</a> <a href="#commands">Commands</a></nav>
        <section><h2 id="start">Start-up <${Predicted} /></h2>
            <${StartChoices} methods=${methods} x86=${of.levels.length > 0} />
            <${Await} of=${trace} what="Following the loader">${(/** @type {Trace} */ t) => html`<${StartUp} of=${t} />`}<//></section>
        <section><h2 id="where">Where it goes</h2>
            <${Await} of=${trace} what="Following the loader">${(/** @type {Trace} */ t) => html`<${Places} trace=${t} store=${store} />`}<//></section>
        <section><h2 id="remedies">Before and after <${Predicted} /></h2>${ofPlan((o) => html`<${Remedies} of=${o} />`)}</section>
        <section><h2 id="criteria">Criteria</h2>${ofPlan((o) => html`<${Matrix} options=${o.options} rules=${o.rules} questions=${questions} />`)}</section>
        <section><h2 id="plan">Plan</h2>${ofPlan((o) => html`<${Decision} of=${o} /><${TakeAlong} plan=${plan.data} href=${href} />`)}
            <p><a href=${`/compare?program=${of.id}`}>Two strategies side by side</a></p></section>
        <section><h2 id="history">History</h2><${History} of=${of.key} what="program" /></section>
        <section><h2 id="commands">The same on the command line</h2><ul class="plain">
            <${Command} what="This start" line=${`stormlint trace --cpu=${cpu} ${path}`} />
            <${Command} what="Is it true?" line=${`stormlint check ${path}`} />
            <${Command} what="The plan, with all evidence" line=${`stormlint plan --explain ${path}`} />
            <${Command} what="All strategies" line=${`stormlint compare ${path}`} />
        </ul></section>`;
}

/** @param {{id: string}} props */
export function Page({ id }) {
    const program = useData(api(`programs/${encodeURIComponent(id)}`));
    const p = program.data;
    return html`
        <h1>${p ? programName(p.key) : 'Program'} ${p && html`<${Exit} exit=${p.exit} />`}</h1>
        <${Await} of=${program} what="Reading the program">${(/** @type {Detail} */ of) => html`
            <p>Package <${Package} of=${of.package} />, file <span class="path">${of.path}</span></p>
            <${From} of=${of.package} />
            <${Facts} of=${of} />
            <${Sections} of=${of} />`}<//>`;
}
