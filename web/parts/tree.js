// The load order as a tree: who asked for what, what each search cost, and its calls.
import { count, number } from '../format.js';
import { html, useMemo, useState } from '../html.js';
import { depthOf, isFailure, treeOf, word } from '../trace.js';
import { shortPath } from './names.js';

/** @typedef {import('../trace.js').Node} Node */
/** @typedef {import('../types/answers').Api.Trace} Trace */

/** A call's path, its part for CPUs set apart. @param {{path: string}} props */
function CallPath({ path }) {
    const at = path.indexOf('/glibc-hwcaps/');
    if (at < 0) return html`<span class="path">${path}</span>`;
    const end = path.indexOf('/', at + '/glibc-hwcaps/'.length);
    return html`<span class="path">${path.slice(0, at)}<span class="caps">${path.slice(at, end)}</span>${path.slice(end)}</span>`;
}

/** @type {Record<string, string>} */
const TONE = { miss: 'miss', hit: 'hit', skipped: 'skipped', directory: '' };

/** @param {{calls: import('../trace.js').Call[]}} props */
export const Calls = ({ calls }) => html`<ol class="calls">
    ${calls.map((call) => {
        const what = word(call);
        return html`<li><b class=${TONE[what]}>${what}</b> ${call.call} <${CallPath} path=${call.path} /> <small>${isFailure(call) ? `${call.result}, ` : ''}${call.stage}${call.why ? `: ${call.why}` : ''}</small></li>`;
    })}
</ol>`;

/** @param {{of: Node}} props */
function What({ of }) {
    if (of.outcome === 'missing')
        return html`<b>${of.name}</b> <span class="tag miss">not found</span>`;
    if (of.outcome === 'start') return html`<b>${of.name}</b>`;
    return html`<b>${of.name}</b>${' '}<span class="path quiet" title=${of.path}>${of.path ? shortPath(of.path) : ''}</span>${of.outcome === 'again' && html` <span class="tag">loaded before</span>`}`;
}

const DEEP = 40; // a branch that lies deeper begins folded, whatever is unfolded: it may go on for ever

/** @param {{of: Node, folded: boolean}} props */
function Branch({ of, folded }) {
    const [shown, setShown] = useState(false);
    const [isOpen, setOpen] = useState(of.depth === 0 || (!folded && of.depth % DEEP > 0));
    const failures = of.opens + of.stats;
    return html`<li>
        <div class="edge" data-row style=${{ '--depth': of.depth }}>
            <span class="num">${failures ? number(of.opens) : '–'}</span>
            <span class="num">${failures ? number(of.stats) : '–'}</span>
            <span class="num soft">${of.children.length ? number(of.below) : ''}</span>
            <span class="what">
                ${
                    of.children.length
                        ? html`<button type="button" class="fold" aria-expanded=${isOpen} aria-label=${`What ${of.name} asked for`} onClick=${() => setOpen(!isOpen)}>${isOpen ? '▾' : '▸'}</button>`
                        : html`<span class="fold" aria-hidden="true"></span>`
                }
                <${What} of=${of} />
                ${of.calls.length > 0 && html`${' '}<button type="button" class="link small" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${count(of.calls.length, 'call')}</button>`}
            </span>
        </div>
        ${shown && html`<${Calls} calls=${of.calls} />`}
        ${isOpen && of.children.length > 0 && html`<ul>${of.children.map((child) => html`<${Branch} of=${child} folded=${folded} />`)}</ul>`}
    </li>`;
}

const MANY = 60; // objects: a longer tree begins folded, with its sums

/** @param {{trace: Trace, phase: number}} props */
export function Tree({ trace, phase }) {
    const roots = useMemo(() => treeOf(trace, phase), [trace, phase]);
    const deepest = useMemo(() => depthOf(roots), [roots]);
    const [folded, setFolded] = useState(trace.storm.objects > MANY);
    if (!roots.length) return html`<p class="state">No call is made.</p>`;
    return html`<div class="tree">
        ${
            phase === 0 &&
            html`<p><button type="button" class="link small" onClick=${() => setFolded(!folded)}>${folded ? `Unfold everything${deepest > DEEP ? `, ${DEEP} levels at a time` : ''}` : 'Fold what the program did not ask for itself'}</button></p>`
        }
        <div class="edge legend-row small soft" aria-hidden="true"><span class="num">failed opens</span><span class="num">failed stats</span><span class="num">both, with all below</span><span class="what">what was asked for, and where it was found</span></div>
        <ul aria-label="Load order">${roots.map((root) => html`<${Branch} of=${root} folded=${folded} key=${`${root.name} ${folded}`} />`)}</ul>
    </div>`;
}
