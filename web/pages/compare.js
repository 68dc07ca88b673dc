// Side by side: two audits, or two strategies for one program.
import { useData } from '../api.js';
import { change, count, failed, number, percent, time } from '../format.js';
import { html, useId, useMemo, useState } from '../html.js';
import { auditId, auditOptions } from '../parts/audits.js';
import { Bar } from '../parts/bars.js';
import { method, Predicted, programName, shortPath } from '../parts/names.js';
import { Whom, Whose } from '../parts/origin.js';
import { Await, Failure, Loading } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { placesOf } from '../trace.js';
import { api, go, programHref, useUrl, withParams } from '../url.js';

/** @typedef {import('../types/answers').Api.Audit} Audit */
/** @typedef {import('../types/answers').Api.Diff} Diff */
/** @typedef {import('../types/answers').Api.Trace} Trace */
/** @typedef {import('../types/answers').Api.PlanObject} PlanObject */

const FEW = 100;

/** A choice that is always in the URL. @param {{name: string, label: string, now: string, options: string[][]}} props */
function Select({ name, label, now, options }) {
    const url = useUrl();
    const id = useId();
    return html`<div class="field"><label for=${id}>${label}</label>
        <select id=${id} value=${now} onChange=${(/** @type {any} */ event) => go(withParams(url, { [name]: event.currentTarget.value }))}>
            ${options.map(([value, text]) => html`<option value=${value} selected=${value === now}>${text}</option>`)}
        </select></div>`;
}

/**
 * Numbers of both sides with their difference.
 * @param {{caption: any, names: [any, any], rows: [name: string, a: number | null, b: number | null][]}} props
 */
const Beside = ({ caption, names, rows }) =>
    html`<${Table} caption=${caption} rows=${rows} keyOf=${(/** @type {any[]} */ row) => row[0]} columns=${
        /** @type {import('../parts/table.js').Column<[string, number | null, number | null]>[]} */ ([
            { label: 'What', main: true, cell: ([name]) => name },
            { label: names[0], num: true, cell: ([, a]) => (a === null ? '–' : number(a)) },
            { label: names[1], num: true, cell: ([, , b]) => (b === null ? '–' : number(b)) },
            {
                label: 'Change',
                num: true,
                cell: ([, a, b]) =>
                    a === null || b === null
                        ? '–'
                        : html`${change(b - a)} <small>${a && a !== b ? percent(Math.abs(b - a), a) : ''}</small>`,
            },
        ])
    } />`;

/* ---- two audits */

/** @type {Record<string, [what: string, tone: string, many?: string]>} */
const CHANGES = {
    'new-offender': ['new offender', 'miss', 'new offenders'],
    broken: ['no longer starts', 'miss'],
    worse: ['worse', 'miss'],
    better: ['better', 'hit'],
    fixed: ['no longer an offender', 'hit', 'no longer offenders'],
    repaired: ['starts again', 'hit'],
    added: ['added', ''],
    removed: ['removed', ''],
};

/** @param {{of: Diff, to: string}} props */
function Programs({ of, to }) {
    const url = useUrl();
    const [all, setAll] = useState(false);
    const only = url.searchParams.get('change');
    const rows = of.programs.filter((p) => !only || p.change === only);
    // not spread into one call: there may be more programs than a call takes arguments
    const most = rows.reduce(
        (n, p) => Math.max(n, p.before ? failed(p.before) : 0, p.after ? failed(p.after) : 0),
        1,
    );
    const shown = all ? rows : rows.slice(0, FEW);
    const audit = to === 'index' ? '' : `audit=${to}&`;
    return html`
        <p class="chips">${Object.entries(of.counts)
            .filter(([, n]) => n > 0)
            .map(([name, n]) =>
                name in CHANGES
                    ? html`<a class="chip" aria-current=${only === name ? 'true' : undefined} href=${withParams(url, { change: only === name ? null : name })}>${number(n)} ${(n > 1 && CHANGES[name][2]) || CHANGES[name][0]}</a>`
                    : html`<span class="chip">${number(n)} ${name === 'same' ? 'the same' : name}</span>`,
            )}</p>
        <${Table} caption=${`${count(rows.length, 'program')} changed by as much as asked for${rows.length > shown.length ? `; ${number(shown.length)} are shown` : ''}`} none="No program changed by that much." rows=${shown} keyOf=${(/** @type {any} */ p) => `${p.key} ${p.change}`} columns=${
            /** @type {import('../parts/table.js').Column<Diff['programs'][number]>[]} */ ([
                {
                    label: 'Program',
                    main: true,
                    cell: (p) =>
                        html`<a href=${`/?${audit}q=${encodeURIComponent(programName(p.key))}`} title=${p.key}>${p.key}</a><${Whom} of=${p} lead=${html`<br />`} />`,
                },
                {
                    label: 'Change',
                    cell: (p) =>
                        html`<span class=${CHANGES[p.change]?.[1]}>${CHANGES[p.change]?.[0] ?? p.change}</span>${p.exit && p.exit !== 'ok' ? html` <small>${p.exit}</small>` : ''}`,
                },
                {
                    label: 'Before',
                    num: true,
                    cell: (p) => (p.before ? number(failed(p.before)) : '–'),
                },
                {
                    label: 'After',
                    num: true,
                    cell: (p) => (p.after ? number(failed(p.after)) : '–'),
                },
                {
                    label: 'Difference',
                    num: true,
                    cell: (p) =>
                        p.before && p.after ? change(failed(p.after) - failed(p.before)) : '–',
                },
                {
                    label: 'Before over after',
                    cell: (p) =>
                        html`<span class="pair"><${Bar} of=${most} parts=${[{ value: p.before ? failed(p.before) : 0, kind: 'rest' }]} /><${Bar} of=${most} parts=${[{ value: p.after ? failed(p.after) : 0, kind: 'miss' }]} /></span>`,
                },
            ])
        } />
        ${rows.length > FEW && html`<p><button type="button" class="link" onClick=${() => setAll(!all)}>${all ? 'Only the first' : `All ${number(rows.length)}`}</button></p>`}`;
}

/** @param {{title: string, of: Diff['new_findings']}} props */
const Findings = ({ title, of }) => html`<details><summary>${title}: ${number(of.length)}</summary>
    <ul>${of.slice(0, 500).map((f) => html`<li><b class=${f.severity}>${f.severity}</b> <a class="quiet" href=${`/findings?rule=${f.rule}`}>${f.rule}</a> <span class="path">${f.identity}</span>: ${f.message}<${Whom} of=${f} lead=" " /></li>`)}</ul>
    ${of.length > 500 && html`<p class="state">The first 500 are shown.</p>`}</details>`;

/** @param {{of: Diff, to: string}} props */
const Difference = ({ of, to }) => html`
    ${of.why_none && html`<p class="state">${of.why_none}.</p>`}
    ${of.over.length > 0 && html`<ul class="failure state">${of.over.map((why) => html`<li>${why}</li>`)}</ul>`}
    <${Beside} caption="In all" names=${[`${of.a.name}, ${time(of.a.time)}`, `${of.b.name}, ${time(of.b.time)}`]} rows=${[
        ['failed calls, every program started once', of.a.failed, of.b.failed],
        ['programs', of.a.programs, of.b.programs],
        ['packages', of.a.packages, of.b.packages],
        ['findings: errors', of.a.errors, of.b.errors],
        ['findings: warnings', of.a.warnings, of.b.warnings],
        ['findings: notes', of.a.notes, of.b.notes],
    ]} />
    ${of.a.cpu !== of.b.cpu && html`<p class="warn">They are of different CPUs: ${of.a.cpu} and ${of.b.cpu}.</p>`}
    <section data-rows><h2>Programs <${Predicted} /></h2><${Programs} of=${of} to=${to} /></section>
    <section><h2>Findings</h2><${Findings} title="New" of=${of.new_findings} /><${Findings} title="Gone" of=${of.fixed_findings} /></section>
    <section><h2>Packages</h2><details><summary>Versions that changed: ${number(of.packages.length)}</summary>
        <ul>${of.packages.map((p) => html`<li>${p.key}: ${p.before ?? 'was not there'} → ${p.after ?? 'is gone'}</li>`)}</ul></details></section>`;

/** @param {{audits: Audit[]}} props */
function Audits({ audits }) {
    const url = useUrl();
    const to = auditId(audits, url.searchParams.get('to') ?? audits[0]?.id ?? 'index');
    const at = audits.findIndex((a) => a.id === to);
    const before = audits[at + 1] ?? audits.at(-1);
    const from = auditId(audits, url.searchParams.get('from') ?? before?.id ?? 'index');
    const calls = url.searchParams.get('min_calls') ?? '10';
    const maintainer = url.searchParams.get('maintainer');
    const min_percent = calls === '1' ? '0' : null;
    const diff = useData(api('diff', { from, to, min_calls: calls, min_percent, maintainer }));
    const options = auditOptions(audits);
    return html`
        <div class="filters">
            <${Select} name="from" label="From" now=${from} options=${options} />
            <${Select} name="to" label="To" now=${to} options=${options} />
            <${Select} name="min_calls" label="What counts as a change" now=${calls} options=${[['10', '10 calls and 5 %'], ['100', '100 calls and 5 %'], ['1', 'a single call']]} />
            <${Whose} rows=${diff.data?.programs} />
        </div>
        ${audits.length < 2 && html`<p class="state">There is nothing but the index yet: an audit to compare it with is made by <code>stormlint audit</code>, or ordered from this service.</p>`}
        <${Await} of=${diff} what="Comparing">${(/** @type {Diff} */ of) => html`<${Difference} of=${of} to=${to} />`}<//>`;
}

/* ---- two strategies for one program */

const BUILT = 'as built';

/** @param {string} name "farm lifted", or as built */
function startOf(name) {
    if (name === BUILT) return {};
    const [strategy, scope] = name.split(' ');
    return { strategy, scope };
}

/** Directories with the calls that fail there, on both sides. @param {Trace} a @param {Trace} b @param {string} store @returns {[string, number, number][]} */
function placesBeside(a, b, store) {
    /** @type {Map<string, [number, number]>} */
    const both = new Map();
    for (const [side, trace] of [a, b].entries())
        for (const place of placesOf(trace.calls, store)) {
            const pair = both.get(place.path) ?? [0, 0];
            pair[side] = place.opens + place.stats;
            both.set(place.path, pair);
        }
    return [...both]
        .filter(([, [x, y]]) => x + y > 0)
        .sort(([, p], [, q]) => Math.abs(q[0] - q[1]) - Math.abs(p[0] - p[1]) || q[0] - p[0])
        .slice(0, 20)
        .map(([path, [x, y]]) => [shortPath(path), x, y]);
}

/** @param {{object: PlanObject, names: [string, string]}} props */
function Verdicts({ object, names }) {
    const options = names.map((name) => object.options.find((o) => method(o) === name));
    const ids = [...new Set(options.flatMap((o) => o?.criteria.map((c) => c.criterion) ?? []))];
    if (!ids.length) return html`<p class="state">Neither came as far as the criteria.</p>`;
    /** @param {number} side @param {string} id */
    const said = (side, id) => {
        const found = options[side]?.criteria.find((c) => c.criterion === id);
        return found
            ? html`<b class=${found.verdict}>${found.verdict}</b> <small>${found.reason}</small>`
            : '–';
    };
    return html`<${Table} caption="Verdicts" rows=${ids} keyOf=${(/** @type {string} */ id) => id} columns=${
        /** @type {import('../parts/table.js').Column<string>[]} */ ([
            { label: 'Criterion', main: true, cell: (id) => id },
            { label: names[0], cell: (id) => said(0, id) },
            { label: names[1], cell: (id) => said(1, id) },
        ])
    } />`;
}

/** @param {{a: Trace, b: Trace, names: [string, string], store: string}} props */
function Traces({ a, b, names, store }) {
    const places = useMemo(() => placesBeside(a, b, store), [a, b, store]);
    const rows = /** @type {const} */ ([
        'failed_opens',
        'failed_stats',
        'opens',
        'stats',
        'objects',
        'directories',
    ]).map((key) => [key.replace('_', ' '), a.storm[key], b.storm[key]]);
    return html`<${Beside} caption=${`One start on ${a.cpu}, predicted`} names=${names} rows=${rows} />
        <h2>Where they differ</h2>
        <${Beside} caption="Failed calls by directory, the largest differences" names=${names} rows=${places} />`;
}

/** @param {{id: string}} props */
function Strategies({ id }) {
    const url = useUrl();
    const program = useData(api(`programs/${encodeURIComponent(id)}`));
    const plan = useData(api(`programs/${encodeURIComponent(id)}/plan`));
    const p = program.data;
    const object =
        plan.data?.objects.find((o) => p?.path.endsWith(`/${o.path}`)) ?? plan.data?.objects[0];
    const possible =
        object?.options.filter((o) => o.strategy !== 'none' && o.storm.length > 0).map(method) ??
        [];
    const best = object && object.strategy !== 'none' ? method(object) : possible[0];
    /** @type {[string, string]} */
    const names = [url.searchParams.get('a') ?? BUILT, url.searchParams.get('b') ?? best ?? BUILT];
    const trace = `programs/${encodeURIComponent(id)}/trace`;
    const a = useData(
        plan.data
            ? /** @type {import('../types/answers').Address<Trace>} */ (
                  api(trace, startOf(names[0]))
              )
            : null,
    );
    const b = useData(
        plan.data
            ? /** @type {import('../types/answers').Address<Trace>} */ (
                  api(trace, startOf(names[1]))
              )
            : null,
    );
    const options = [BUILT, ...possible].map((name) => [name, name]);
    const asked = [program, plan, a, b];
    const bad = asked.find((one) => one.error && one.data === null);
    const store = p?.package
        ? p.package.path.slice(0, p.package.path.lastIndexOf('/'))
        : '/nix/store';
    return html`
        ${p && html`<p><a href=${programHref(p.id)}>${programName(p.key)}</a> <span class="path">${p.path}</span></p>`}
        <div class="filters">
            <${Select} name="a" label="This" now=${names[0]} options=${options} />
            <${Select} name="b" label="Beside this" now=${names[1]} options=${options} />
        </div>
        ${bad?.error ? html`<${Failure} error=${bad.error} again=${bad.again} />` : a.data && b.data && object ? html`<${Traces} a=${a.data} b=${b.data} names=${names} store=${store} /><h2>Criteria</h2><${Verdicts} object=${object} names=${names} />` : html`<${Loading} what="Weighing the strategies" />`}`;
}

export function Page() {
    const url = useUrl();
    const program = url.searchParams.get('program');
    const audits = useData(program ? null : api('audits'));
    return html`
        <h1>Compare ${program ? 'strategies' : 'audits'}</h1>
        ${program ? html`<${Strategies} id=${program} />` : html`<${Await} of=${audits} what="Reading audits">${(/** @type {NonNullable<typeof audits.data>} */ { items }) => html`<${Audits} audits=${items} />`}<//>`}`;
}
