// Who storms worst, what it costs, what can be done, what got worse.
import { useData } from '../api.js';
import { change, count, failed, number, percent } from '../format.js';
import { html, useEffect } from '../html.js';
import { auditId, auditOptions } from '../parts/audits.js';
import { Bar } from '../parts/bars.js';
import { Exit, method, Package, Predicted, programName } from '../parts/names.js';
import { Whom, Whose } from '../parts/origin.js';
import { Await } from '../parts/states.js';
import { Choice, Pager, Search, Table } from '../parts/table.js';
import { api, go, programHref, useUrl, withParams } from '../url.js';

/** @typedef {import('../parts/table.js').Column<any>} Column */

const PAGE = 50;
/** @type {[string, string][]} */
const STRATEGIES = [
    ['', 'any'],
    ['farm', 'farm'],
    ['absolute', 'absolute'],
    ['note', 'note'],
    ['none', 'none'],
];
/** @type {[string, string][]} */
const STARTS = [
    ['', 'yes or no'],
    ['true', 'yes'],
    ['false', 'no'],
];

/** @type {Column[]} */
const COLUMNS = [
    {
        label: 'Program',
        main: true,
        sort: 'path',
        cell: (p) =>
            html`<a href=${programHref(p.id ?? p.path ?? p.key)} title=${p.path ?? p.key}>${programName(p.key)}</a>${' '}<${Exit} exit=${p.exit} />`,
    },
    {
        label: 'Package',
        sort: 'package',
        cell: (p) =>
            'package' in p
                ? html`<${Package} of=${p.package} /><${Whom} of=${p.package} lead=${html`<br />`} />`
                : html`${p.key.replace(/:.*/, '')} <small>${p.version ?? ''}</small><${Whom} of=${p} lead=${html`<br />`} />`,
    },
    {
        label: 'Failed opens',
        num: true,
        sort: 'failed_opens',
        cell: (p) => number(p.storm.failed_opens),
    },
    {
        label: 'Failed stats',
        num: true,
        sort: 'failed_stats',
        cell: (p) => number(p.storm.failed_stats),
    },
    {
        label: 'Libraries',
        num: true,
        sort: 'objects',
        title: 'Objects loaded, the program among them',
        cell: (p) => number(p.storm.objects),
    },
    {
        label: 'Directories',
        num: true,
        sort: 'directories',
        cell: (p) => number(p.storm.directories),
    },
    {
        label: 'Best strategy',
        cell: (p) => (p.plan ? method(p.plan) : html`<small>not planned yet</small>`),
    },
    {
        label: 'After',
        num: true,
        title: 'Failed opens and stats with the plan carried out',
        cell: (p) => (p.plan ? number(failed(p.plan.after)) : '–'),
    },
    {
        label: 'Saving',
        num: true,
        sort: 'saving',
        cell: (p) => (p.plan ? number(p.plan.saving) : '–'),
    },
];

/** @param {{value: any, unit: string, children?: any}} props */
const Figure = ({ value, unit, children }) =>
    html`<div class="figure"><dt>${unit}</dt><dd><b>${value}</b>${children && html`<small>${children}</small>`}</dd></div>`;

/** Totals of the index, with how far planning is. @param {{of: any}} props */
function IndexTotals({ of: s }) {
    const after = failed(s.plans.after);
    const done = s.plans.planned === s.plans.packages;
    const { index } = s;
    return html`
        ${index.unfinished && html`<p class="state">A scan of the store is under way; what follows is the state before it.</p>`}
        <dl class="figures">
            <${Figure} unit="failed calls, every program started once" value=${number(s.failed)}>${number(s.storm.failed_opens)} opens, ${number(s.storm.failed_stats)} stats<//>
            <${Figure} unit="left if every plan is carried out" value=${number(after)}>${done ? (s.failed ? `${percent(s.failed - after, s.failed)} less` : 'none fails') : `so far: ${number(s.plans.planned)} of ${count(s.plans.packages, 'package')} planned`}<//>
            <${Figure} unit="programs" value=${number(index.programs)}>${s.not_starting > 0 ? html`<a href="/?starts=false">${number(s.not_starting)} do not start</a>` : index.programs ? 'all of them start' : 'no program was found'}<//>
            <${Figure} unit="packages" value=${number(index.packages)}>${index.incomplete > 0 ? `${number(index.incomplete)} not read to the end` : 'all read to the end'}<//>
            <${Figure} unit="ELF objects" value=${number(index.objects)}>${index.malformed + index.unread > 0 ? html`<a href="/findings?kind=problems">${number(index.malformed)} broken, ${number(index.unread)} unread</a>` : 'none broken'}<//>
        </dl>
        ${!done && html`<p class="planning"><progress value=${s.plans.planned} max=${s.plans.packages} aria-label="Packages planned"></progress> Plans are being made, the worst programs first.</p>`}`;
}

/** @param {{of: any}} props */
const AuditTotals = ({ of: a }) => html`<dl class="figures">
    <${Figure} unit="failed calls, every program started once" value=${number(a.failed)}><//>
    <${Figure} unit="left if every plan is carried out" value=${number(a.failed_after)}>${a.failed ? `${percent(a.failed - a.failed_after, a.failed)} less` : 'none fails'}<//>
    <${Figure} unit="programs" value=${number(a.programs)}><//>
    <${Figure} unit="packages" value=${number(a.packages)}>${a.incomplete ? 'not all read to the end' : 'all read to the end'}<//>
    <${Figure} unit="findings" value=${number(a.findings)}><a href=${`/findings?audit=${a.id}`}>${count(a.errors, 'error')}, ${count(a.warnings, 'warning')}</a><//>
</dl>`;

/** @param {number} from @param {number | null} to null: no end */
const range = (from, to) =>
    to === null
        ? `${number(from)} or more`
        : from === to
          ? number(from)
          : `${number(from)} to ${number(to)}`;

/** How many programs fail how often. @param {{of: {from: number, to: number | null, programs: number}[]}} props */
function Distribution({ of }) {
    const most = Math.max(...of.map((row) => row.programs), 1);
    const url = useUrl();
    return html`<table class="histogram">
        <caption>Programs by the calls that fail in one start</caption>
        <thead><tr><th scope="col" class="num">Failed calls</th><th scope="col" class="num">Programs</th><th scope="col"><span class="hidden">Bar</span></th></tr></thead>
        <tbody>${of.map(
            (row) => html`<tr>
                <th scope="row" class="num">${row.programs > 0 ? html`<a class="quiet" href=${withParams(url, { min_failed: row.from || null, max_failed: row.to })}>${range(row.from, row.to)}</a>` : range(row.from, row.to)}</th>
                <td class="num">${number(row.programs)}</td>
                <td class="wide"><${Bar} of=${most} parts=${[{ value: row.programs, kind: 'accent' }]} /></td>
            </tr>`,
        )}</tbody>
    </table>`;
}

/** What got worse from one audit to another. @param {{from: any, to: any}} props */
function Regressions({ from, to }) {
    const diff = useData(api('diff', { from: from.id, to: to.id }));
    const href = `/compare?from=${from.id}&to=${to.id}`;
    return html`<section aria-labelledby="worse">
        <h2 id="worse">Since the audit “${from.name ?? from.id}”</h2>
        <${Await} of=${diff} what="Comparing with the audit before">${(/** @type {any} */ d) => {
            const worse = d.programs.filter((/** @type {any} */ p) =>
                /new-offender|broken|worse/.test(p.change),
            );
            const c = d.counts;
            return html`
                <p>${count(c['new-offender'] + c.worse + c.broken, 'program')} worse, ${number(c.better + c.fixed + c.repaired)} better, ${number(c.same)} the same; ${count(d.new_findings.length, 'new finding')}. <a href=${href}>Compare</a></p>
                ${
                    worse.length > 0 &&
                    html`<${Table} caption="The most important of them" rows=${worse.slice(0, 8)} keyOf=${(/** @type {any} */ p) => p.key} columns=${
                        /** @type {Column[]} */ ([
                            {
                                label: 'Program',
                                main: true,
                                cell: (p) => html`<a href=${href} title=${p.key}>${p.key}</a>`,
                            },
                            { label: 'What', cell: (p) => p.change.replace('-', ' ') },
                            {
                                label: 'Failed calls',
                                num: true,
                                cell: (p) =>
                                    html`${p.before ? number(failed(p.before)) : '–'} → ${p.after ? number(failed(p.after)) : '–'}`,
                            },
                            {
                                label: 'Change',
                                num: true,
                                cell: (p) =>
                                    p.before && p.after
                                        ? change(failed(p.after) - failed(p.before))
                                        : '–',
                            },
                        ])
                    } />`
                }`;
        }}<//>
    </section>`;
}

/** @param {{audits: any[], now: string}} props */
function Audits({ audits, now }) {
    return html`<div class="field">
        <label for="audit">Audit</label>
        <select id="audit" value=${now} onChange=${(/** @type {any} */ event) => go(event.currentTarget.value === 'index' ? '/' : `/?audit=${event.currentTarget.value}`)}>
            ${auditOptions(audits).map(([id, name]) => html`<option value=${id} selected=${id === now}>${name}</option>`)}
        </select>
    </div>`;
}

/** @typedef {import('../types/answers').Api.ProgramPage | import('../types/answers').Api.AuditProgramPage} ProgramPage */

/** Is a plan still being made? @param {ProgramPage} page */
const unplanned = (page) => page.items.some((p) => 'id' in p && !p.plan);

/** @param {{audit: string}} props */
function Offenders({ audit }) {
    const url = useUrl();
    const names = ['q', 'strategy', 'starts', 'maintainer', 'min_failed', 'max_failed', 'after'];
    const given = names.map((name) => [name, url.searchParams.get(name)]);
    const sort = url.searchParams.get('sort') ?? '-failed_opens';
    const params = { ...Object.fromEntries(given), sort, limit: PAGE };
    /** @type {import('../types/answers').Address<ProgramPage>} */
    const address =
        audit === 'index' ? api('programs', params) : api(`audits/${audit}/programs`, params);
    const programs = useData(address, (page) => (unplanned(page) ? 3000 : 0));
    const filtered = given.some(([name, value]) => value && name !== 'after');
    useEffect(() => {
        if (programs.data) performance.mark('stormlint-table');
    }, [programs.data]);
    return html`<section aria-labelledby="offenders" data-rows>
        <h2 id="offenders">Worst offenders <${Predicted} /></h2>
        <div class="filters">
            <${Search} label="Path contains" />
            <${Choice} name="strategy" label="Best strategy" options=${STRATEGIES} />
            <${Choice} name="starts" label="Starts" options=${STARTS} />
            ${(params.min_failed || params.max_failed) && html`<p class="chip">${range(Number(params.min_failed), params.max_failed ? Number(params.max_failed) : null)} failed calls <a href=${withParams(url, { min_failed: null, max_failed: null })}>all</a></p>`}
            <${Whose} rows=${programs.data?.items} />
        </div>
        <${Await} of=${programs} what="Reading programs">${(
            /** @type {ProgramPage} */ page,
        ) => html`
            <${Table} caption=${`${count(page.total, 'program')}, predicted calls of one start each`} columns=${COLUMNS} rows=${page.items} sort=${sort}
                keyOf=${(/** @type {any} */ p) => p.id ?? `${p.key} ${p.path}`} none=${page.why_none ? `${page.why_none}.` : filtered ? 'No program is like that.' : 'There are no programs in this index.'} />
            <${Pager} page=${page} address=${address} />`}<//>
    </section>`;
}

export function Page() {
    const url = useUrl();
    const audits = useData(api('audits'));
    const id = auditId(audits.data?.items ?? [], url.searchParams.get('audit') ?? 'index');
    const summary = useData(id === 'index' ? api('summary') : null, (s) =>
        s.plans.planned < s.plans.packages || s.index.unfinished ? 3000 : 0,
    );
    const audit = useData(id === 'index' ? null : api(`audits/${id}`));
    const items = audits.data?.items ?? [];
    const at = items.findIndex((a) => a.id === id);
    const since =
        at >= 0 && at + 1 < items.length
            ? html`<${Regressions} from=${items[at + 1]} to=${items[at]} />`
            : html`<p class="state">There is no audit before this one to compare with.</p>`;
    return html`
        <div class="title"><h1>Overview</h1>${items.length > 1 && html`<${Audits} audits=${items} now=${id} />`}</div>
        ${
            id === 'index'
                ? html`<${Await} of=${summary} what="Reading the index">${(/** @type {any} */ s) => html`<${IndexTotals} of=${s} /><div class="beside"><${Distribution} of=${s.histogram} />${since}</div>`}<//>`
                : html`<${Await} of=${audit} what="Reading the audit">${(/** @type {any} */ a) => html`<${AuditTotals} of=${a} /><div class="beside">${a.histogram && html`<${Distribution} of=${a.histogram} />`}${since}</div>`}<//>`
        }
        <${Offenders} audit=${id} />`;
}
