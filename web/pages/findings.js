// What is wrong, by rule: what each rule means, what to do, and where it was found.
import { useData } from '../api.js';
import { count, number } from '../format.js';
import { html } from '../html.js';
import { auditOptions } from '../parts/audits.js';
import { FindingTable } from '../parts/findings.js';
import { Markdown } from '../parts/markdown.js';
import { PackageId } from '../parts/names.js';
import { Whose } from '../parts/origin.js';
import { Await } from '../parts/states.js';
import { Choice, Pager, Search, Table } from '../parts/table.js';
import { api, useUrl, withParams } from '../url.js';

/** @typedef {import('../types/answers').Api.Rule} Rule */
/** @typedef {import('../types/answers').Api.FindingPage} FindingPage */

const RANK = ['error', 'warning', 'note'];

/** What nobody asked, so that silence is not taken for a verdict. @param {{opt: Rule[], live: Rule[]}} props */
const Unasked = ({ opt, live }) => html`<p class="small">
    ${opt.length > 0 && html`${count(opt.length, 'rule')} ${opt.length === 1 ? 'is' : 'are'} asked only on request: <code>stormlint lint --rule all</code>. `}
    ${live.length > 0 && html`Not checked, since an index does not hold the files: ${live.map((rule) => rule.id).join(', ')}.`}</p>`;

/** @param {{counts: Record<string, number>, rules: Rule[], source: string}} props */
function Rules({ counts, rules, source }) {
    const url = useUrl();
    const opt = rules.filter((rule) => rule.opt_in && !counts[rule.id]);
    const live = rules.filter((rule) => rule.live && !rule.opt_in && source === 'index');
    const found = rules
        .filter((rule) => counts[rule.id])
        .sort(
            (a, b) =>
                RANK.indexOf(a.severity) - RANK.indexOf(b.severity) || counts[b.id] - counts[a.id],
        );
    return html`<${Table} caption=${`${count(found.length, 'rule')} found something, of ${number(rules.length - opt.length - live.length)} that were asked`} none="No rule found anything." rows=${found} keyOf=${(/** @type {Rule} */ r) => r.id} columns=${
        /** @type {import('../parts/table.js').Column<Rule>[]} */ ([
            {
                label: 'Rule',
                main: true,
                cell: (r) => html`<a href=${withParams(url, { rule: r.id })}>${r.code} ${r.id}</a>`,
            },
            {
                label: 'Severity',
                cell: (r) => html`<span class=${r.severity}>${r.severity}</span>`,
            },
            { label: 'Findings', num: true, cell: (r) => number(counts[r.id]) },
            { label: 'What it means', cell: (r) => r.summary },
            { label: 'What to do', cell: (r) => html`<small>${r.fix}</small>` },
        ])
    } /><${Unasked} opt=${opt} live=${live} />`;
}

/** @param {{id: string}} props */
function RulePage({ id }) {
    const url = useUrl();
    const rule = useData(api(`rules/${encodeURIComponent(id)}`));
    return html`<p class="chip">${id} alone <a href=${withParams(url, { rule: null })}>all rules</a></p>
        <${Await} of=${rule} what="Reading the rule">${(
            /** @type {NonNullable<typeof rule.data>} */ r,
        ) => html`
            <h2>${r.code} ${r.id}: ${r.summary}</h2>
            <p><b class=${r.severity}>${r.severity}</b>, ${r.confidence}, asked of each ${r.scope}. <b>What to do:</b> ${r.fix}.</p>
            <details><summary>Explanation</summary><${Markdown} text=${r.page} /></details>`}<//>`;
}

/** Files that are broken or could not be read. */
function Problems() {
    const url = useUrl();
    const address = api('problems', { after: url.searchParams.get('after'), limit: 50 });
    const problems = useData(address);
    return html`<p class="chip">broken and unread files <a href=${withParams(url, { kind: null })}>findings</a></p>
        <${Await} of=${problems} what="Reading problems">${(
            /** @type {NonNullable<typeof problems.data>} */ page,
        ) => html`
            <${Table} caption=${count(page.total, 'file')} none="Every file could be read, and none is broken." rows=${page.items} keyOf=${(/** @type {any} */ p) => `${p.path} ${p.text}`} columns=${
                /** @type {import('../parts/table.js').Column<(typeof page.items)[number]>[]} */ ([
                    {
                        label: 'File',
                        main: true,
                        cell: (p) => html`<span class="path">${p.path}</span>`,
                    },
                    { label: 'Package', cell: (p) => html`<${PackageId} id=${p.package} />` },
                    { label: 'Kind', cell: (p) => p.kind },
                    { label: 'What is wrong', cell: (p) => p.text },
                ])
            } />
            <${Pager} page=${page} address=${address} />`}<//>`;
}

/** @param {{audit: string, source: string}} props */
function Found({ audit, source }) {
    const url = useUrl();
    const { q, rule, severity, standing, maintainer, after } = Object.fromEntries(url.searchParams);
    const params = { q, rule, severity, standing, maintainer, after, limit: 50 };
    /** @type {import('../types/answers').Address<FindingPage>} */
    const address =
        audit === 'index' ? api('findings', params) : api(`audits/${audit}/findings`, params);
    const findings = useData(address);
    const rules = useData(api('rules'));
    const filtered = q || rule || severity || standing;
    return html`
        <${Whose} rows=${findings.data?.items} />
        ${rule && html`<${RulePage} id=${rule} />`}
        <${Await} of=${findings} what="Linting">${(/** @type {FindingPage} */ page) => html`
            ${!rule && rules.data && !after && html`<section><h2>By rule</h2><${Rules} counts=${page.rules} rules=${rules.data.items} source=${source} /></section>`}
            <section data-rows><h2>Findings</h2>
                <${FindingTable} page=${page} caption=${count(page.total, 'finding')} none=${page.why_none ? `${page.why_none}.` : filtered ? 'No finding is like that.' : 'Nothing was found.'} />
                <${Pager} page=${page} address=${address} /></section>`}<//>`;
}

export function Page() {
    const url = useUrl();
    const audits = useData(api('audits'));
    const audit = url.searchParams.get('audit') ?? 'index';
    const problems = url.searchParams.get('kind') === 'problems';
    const items = (audits.data?.items ?? []).filter((a) => a.id !== 'index');
    return html`
        <h1>Findings</h1>
        ${
            !problems &&
            html`<div class="filters">
            <${Search} label="Text contains" />
            <${Choice} name="severity" label="Severity" options=${[['', 'any'], ...RANK.map((word) => [word, word])]} />
            <${Choice} name="standing" label="Standing" options=${[['', 'any'], ['open', 'open'], ['suppressed', 'suppressed'], ['known', 'known']]} />
            ${items.length > 0 && html`<${Choice} name="audit" label="Audit" options=${[['', 'The index, as it is'], ...auditOptions(items)]} />`}
            <p class="chip"><a href="/findings?kind=problems">Broken and unread files</a></p>
        </div>`
        }
        ${problems ? html`<${Problems} />` : html`<${Found} audit=${audit} source=${items.find((a) => a.id === audit)?.source ?? 'index'} />`}`;
}
