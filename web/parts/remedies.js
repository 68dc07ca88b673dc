// Before and after: what one start costs as built, and with each strategy.
import { failed, number } from '../format.js';
import { html } from '../html.js';
import { Bar } from './bars.js';
import { method } from './names.js';

/** @typedef {import('../types/answers').Api.PlanOption} Option */
/** @typedef {import('../types/answers').Api.PlanObject} PlanObject */

/** @type {Record<string, string>} */
const STANDING = {
    chosen: 'the choice',
    lost: 'would do, another is better',
    failed: 'breaks something',
    gated: 'not tried',
    'no-reader': 'needs a loader that reads notes',
    'nothing-to-do': 'nothing to do',
};

/** @param {Option} option @param {string} cpu */
const levelOf = (option, cpu) => option.storm.find((level) => level.cpu === cpu);

/** Failed calls on a level, or a dash. @param {{storm: any}} props */
const Failed = ({ storm }) => html`${storm ? number(failed(storm)) : '–'}`;

/** @param {{of: PlanObject}} props */
export function Remedies({ of }) {
    if (!of.storm) return html`<p class="state">Its start was not looked at: ${of.reason}.</p>`;
    const { cpu, before } = of.storm;
    const cpus = [...new Set(of.options.flatMap((option) => option.storm.map((s) => s.cpu)))];
    const whole = Math.max(
        failed(before),
        ...of.options.map((option) => {
            const level = levelOf(option, cpu);
            return level?.after ? failed(level.after) : 0;
        }),
    );
    /** @param {any} storm */
    const bar = (storm) =>
        storm
            ? html`<${Bar} of=${whole} parts=${[
                  { value: storm.failed_opens, kind: 'miss' },
                  { value: storm.failed_stats, kind: 'miss-soft' },
              ]} />`
            : '';
    const row = (
        /** @type {any} */ name,
        /** @type {any} */ storm,
        /** @type {any} */ says,
        /** @type {any} */ levels,
        chosen = false,
    ) => html`<tr role="row" class=${chosen ? 'chosen' : ''}>
        <th role="rowheader" scope="row" class="main">${name}</th>
        <td role="cell" class="wide bars">${bar(storm)}</td>
        <td role="cell" class="num" data-label="failed opens">${storm ? number(storm.failed_opens) : '–'}</td>
        <td role="cell" class="num" data-label="failed stats">${storm ? number(storm.failed_stats) : '–'}</td>
        ${levels.map((/** @type {any} */ level, /** @type {number} */ i) => html`<td role="cell" class="num" data-label=${cpus[i]}><${Failed} storm=${level} /></td>`)}
        <td role="cell" class="says">${says}</td>
    </tr>`;
    const first = of.options.find((option) => option.storm.length > 0);
    return html`<table class="list remedies" role="table">
        <caption>One start on ${cpu}, predicted: <span class="swatch fill-miss" aria-hidden="true"></span>failed opens, <span class="swatch fill-miss-soft" aria-hidden="true"></span>failed stats; then both together on each CPU level</caption>
        <thead role="rowgroup"><tr role="row">
            <th role="columnheader" scope="col">Strategy</th><th role="columnheader" scope="col"><span class="hidden">Bar</span></th>
            <th role="columnheader" scope="col" class="num">Failed opens</th><th role="columnheader" scope="col" class="num">Failed stats</th>
            ${cpus.map((level) => html`<th role="columnheader" scope="col" class="num">${level.replace('x86-64-', '')}</th>`)}
            <th role="columnheader" scope="col">What is said of it</th>
        </tr></thead>
        <tbody role="rowgroup">
            ${row(
                'as built',
                before,
                '',
                cpus.map((level) => first && levelOf(first, level)?.before),
            )}
            ${of.options
                .filter((option) => option.strategy !== 'none')
                .map((option) =>
                    row(
                        method(option),
                        levelOf(option, cpu)?.after,
                        html`<b class=${option.standing === 'failed' ? 'fail' : option.standing === 'chosen' ? 'pass' : ''}>${STANDING[option.standing] ?? option.standing}</b> <small>${option.reason} [${option.rule}]</small>`,
                        cpus.map((level) => levelOf(option, level)?.after),
                        option.standing === 'chosen',
                    ),
                )}
        </tbody>
    </table>`;
}
