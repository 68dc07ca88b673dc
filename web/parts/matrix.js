// Criteria by strategies: a word in each cell, and behind it what was simulated and seen.
import { count } from '../format.js';
import { html } from '../html.js';
import { useUrl, withParams } from '../url.js';
import { method } from './names.js';

/** @typedef {import('../types/answers').Api.PlanOption} Option */
/** @typedef {import('../types/answers').Api.PlanJudgement} Judgement */

/** @typedef {import('../types/answers').Api.PlanObject['rules'][number]} Rule */

/** @type {Record<string, [word: string, tone: string]>} */
const WORDS = {
    pass: ['ok', 'pass'],
    fail: ['fails', 'fail'],
    warn: ['warning', 'warn'],
    'not-applicable': ['n/a', 'soft'],
};

/** @param {Judgement['evidence'][number]} one */
const evidence = (one) =>
    Object.entries(one)
        .map(([key, value]) => `${key}: ${value}`)
        .join(', ');

/** Rules of dangerous libraries that say something against a strategy. @param {Rule[]} rules @param {string} strategy */
function against(rules, strategy) {
    /** @type {Map<string, string[]>} */
    const names = new Map();
    for (const rule of rules) {
        const verdict = rule[/** @type {'farm'} */ (strategy)];
        if (verdict === 'ok' || verdict === 'na') continue;
        const name = `${rule.rule} (${verdict})`;
        names.set(name, [...(names.get(name) ?? []), rule.what]);
    }
    return [...names].map(([name, what]) => `${name}: ${what.join(', ')}`);
}

/** @param {{of: Judgement, option: Option, rules: Rule[]}} props */
function Behind({ of, option, rules }) {
    const said = against(rules, option.strategy);
    return html`
    <h3>${of.criterion}, ${method(option)}: <span class=${WORDS[of.verdict][1]}>${WORDS[of.verdict][0]}</span></h3>
    <p>${of.reason}</p>
    ${of.scenario && html`<p class="small">Simulated: ${of.scenario}.</p>`}
    ${
        of.evidence.length > 0 &&
        html`<ul class="evidence">${of.evidence.map((one) => html`<li class="mono">${evidence(one)}</li>`)}</ul>`
    }
    <p class="small">Of ${method(option)} in all: ${option.reason} [rule ${option.rule}]. ${said.length > 0 && `Rules of dangerous libraries that fired: ${said.join('; ')}.`}</p>
    ${(of.left_out ?? 0) > 0 && html`<p class="small">${count(of.left_out ?? 0, 'more', 'more')} of the kind.</p>`}`;
}

/**
 * The parameter `why` of the URL names the cell that is open.
 * @param {{options: Option[], rules: Rule[], questions: Map<string, string>}} props
 */
export function Matrix({ options, rules, questions }) {
    const url = useUrl();
    const why = url.searchParams.get('why');
    const looked = options.filter((option) => option.criteria.length > 0);
    const criteria = [...new Set(looked.flatMap((o) => o.criteria.map((c) => c.criterion)))];
    /** @param {string} criterion @param {Option} option */
    const of = (criterion, option) => option.criteria.find((c) => c.criterion === criterion);
    if (!looked.length) return html`<p class="state">No strategy came as far as the criteria.</p>`;
    return html`<table class="list matrix" role="table">
        <caption>Criteria by strategies; each word opens what is behind it</caption>
        <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Criterion</th>${looked.map((option) => html`<th role="columnheader" scope="col">${method(option)}</th>`)}</tr></thead>
        <tbody role="rowgroup">${criteria.map((criterion) => {
            const open = looked.find((option) => why === `${criterion}:${method(option)}`);
            const judgement = open && of(criterion, open);
            return html`<tr role="row" data-row>
                    <th role="rowheader" scope="row" class="main">${criterion} <small>${questions.get(criterion) ?? ''}</small></th>
                    ${looked.map((option) => {
                        const judged = of(criterion, option);
                        const cell = `${criterion}:${method(option)}`;
                        return html`<td role="cell" data-label=${method(option)}>${
                            judged
                                ? html`<a class=${WORDS[judged.verdict][1]} href=${withParams(url, { why: why === cell ? null : cell })} aria-expanded=${why === cell} aria-label=${`${criterion}, ${method(option)}: ${WORDS[judged.verdict][0]}`} title=${judged.reason}>${WORDS[judged.verdict][0]}</a>`
                                : '–'
                        }</td>`;
                    })}
                </tr>
                ${judgement && open && html`<tr role="row"><td role="cell" class="behind" colspan=${looked.length + 1}><${Behind} of=${judgement} option=${open} rules=${rules} /></td></tr>`}`;
        })}</tbody>
    </table>`;
}
