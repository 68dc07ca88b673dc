// A plan: what was decided and why, what it would change, and how to take it along.
import { count, quoted } from '../format.js';
import { html } from '../html.js';
import { Copy } from './copy.js';
import { method } from './names.js';

/** @typedef {import('../types/answers').Api.PlanDocument} PlanDocument */
/** @typedef {import('../types/answers').Api.PlanObject} PlanObject */

/** One edit in words. @param {{of: any}} props */
function Edit({ of }) {
    if (of.edit === 'farm')
        return html`<details><summary>a directory of ${count(Object.keys(of.links).length, 'link')}: <span class="path">${of.path}</span></summary><ul class="mono">${Object.entries(of.links).map(([name, to]) => html`<li>${name} → ${to}</li>`)}</ul></details>`;
    if (of.edit === 'needed')
        return html`<details><summary>the needed names of <span class="path">${of.path}</span>: ${count(of.needed.length, 'name')}</summary><ol class="mono">${of.needed.map((/** @type {string} */ name) => html`<li>${name}</li>`)}</ol></details>`;
    if (of.edit === 'run-path')
        return html`<details><summary>the run path of <span class="path">${of.path}</span>: ${count(of.run_path.split(':').length, 'directory', 'directories')}</summary><ol class="mono">${of.run_path.split(':').map((/** @type {string} */ dir) => html`<li>${dir}</li>`)}</ol></details>`;
    return html`<details><summary>${of.edit} of <span class="path">${of.path}</span></summary><pre>${JSON.stringify(of, null, 1)}</pre></details>`;
}

/** Rules with all that each fired on. @param {PlanObject['rules']} rules */
function grouped(rules) {
    /** @type {Map<string, {rule: PlanObject['rules'][number], what: string[]}>} */
    const groups = new Map();
    for (const rule of rules) {
        const key = [rule.rule, rule.absolute, rule.farm, rule.note].join(' ');
        const group = groups.get(key);
        if (group) group.what.push(rule.what);
        else groups.set(key, { rule, what: [rule.what] });
    }
    return [...groups.values()];
}

/** @param {{of: PlanObject}} props */
export const Decision = ({ of }) => html`
    <p><b>${method(of)}</b>: ${of.reason} <small>[${of.rule}]</small></p>
    ${of.edits.length > 0 && html`<h3>It changes</h3><ul class="plain">${of.edits.map((edit) => html`<li><${Edit} of=${edit} /></li>`)}</ul>`}
    ${of.notes.length > 0 && html`<h3>To know before</h3><ul>${of.notes.map((note) => html`<li>${note}</li>`)}</ul>`}
    ${
        of.rules.length > 0 &&
        html`<h3>Rules of dangerous libraries that fired</h3>
        <table class="list" role="table"><caption>What each rule says of each strategy</caption>
        <thead role="rowgroup"><tr role="row">${['Rule', 'On', 'absolute', 'farm', 'note', 'Why'].map((head) => html`<th role="columnheader" scope="col">${head}</th>`)}</tr></thead>
        <tbody role="rowgroup">${grouped(of.rules).map(
            ({ rule, what }) => html`<tr role="row">
            <th role="rowheader" scope="row" class="main">${rule.rule}</th><td role="cell" data-label="on">${what.join(', ')}</td>
            <td role="cell" data-label="absolute">${rule.absolute}</td><td role="cell" data-label="farm">${rule.farm}</td><td role="cell" data-label="note">${rule.note}</td>
            <td role="cell"><small>${rule.why}</small></td></tr>`,
        )}</tbody></table>`
    }`;

/** @param {{plan: PlanDocument, href: string}} props */
export function TakeAlong({ plan, href }) {
    const name = `${plan.key.pname}-${plan.key.output}.plan.json`;
    return html`<p class="actions">
        <${Copy} text=${() => `${JSON.stringify(plan, null, 1)}\n`}>Copy the plan<//>
        <a href=${href} download=${name}>Download ${name}</a>
        <small>Carried out by <code>stormlint apply ${quoted(name)} --out DIR</code></small>
    </p>`;
}
