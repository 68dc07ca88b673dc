// Where failed calls go, as areas; the same numbers stand in a table beside it.
import { number } from '../format.js';
import { html } from '../html.js';
import { useUrl, withParams } from '../url.js';
import { hierarchy, treemap } from '../vendor/d3-hierarchy.js';

/** @typedef {{name: string, label: string, title: string, value: number, rest?: boolean}} Cell */

const WIDTH = 100;
const HEIGHT = 36; // the shape that areas are made for
const CELLS = 60; // more would be too small to be seen

/** The largest, and the rest as one. @param {Cell[]} cells */
function largest(cells) {
    if (cells.length <= CELLS) return cells;
    const rest = cells.slice(CELLS - 1);
    const value = rest.reduce((sum, cell) => sum + cell.value, 0);
    const label = `${rest.length} others`;
    return [...cells.slice(0, CELLS - 1), { name: '', label, title: label, value, rest: true }];
}

/**
 * Cells with a name lead to themselves: the parameter `param` of the URL.
 * @param {{cells: Cell[], param: string | null, label: string}} props
 */
export function Treemap({ cells, param, label }) {
    const url = useUrl();
    const shown = largest(cells.filter((cell) => cell.value > 0));
    if (!shown.length) return null;
    const most = shown[0].value;
    const rem = Math.min(24, 5 + shown.length); // how high; a line of text takes 1.25
    const root = hierarchy(/** @type {any} */ ({ children: shown })).sum((cell) => cell.value ?? 0);
    const leaves = treemap().size([WIDTH, HEIGHT]).padding(0)(root).leaves();
    return html`<div class="treemap" role="group" aria-label=${label} style=${{ height: `${rem}rem` }}>
        ${leaves.map((leaf) => {
            const cell = /** @type {Cell} */ (/** @type {unknown} */ (leaf.data));
            const style = {
                left: `${leaf.x0}%`,
                width: `${leaf.x1 - leaf.x0}%`,
                top: `${(100 * leaf.y0) / HEIGHT}%`,
                height: `${(100 * (leaf.y1 - leaf.y0)) / HEIGHT}%`,
            };
            const heat = `cell heat-${cell.rest ? 'rest' : Math.ceil((4 * cell.value) / most)}`;
            const title = `${cell.title}: ${number(cell.value)} failed calls`;
            const lines = Math.floor(((rem / 1.25) * (leaf.y1 - leaf.y0)) / HEIGHT - 0.2);
            const text = [
                html`<span></span>`,
                html`<span>${cell.label} <b>${number(cell.value)}</b></span>`,
                html`<span>${cell.label}</span><b>${number(cell.value)}</b>`,
            ][Math.min(lines, 2)];
            return param && cell.name
                ? html`<a class=${heat} style=${style} title=${title} href=${withParams(url, { [param]: cell.name })}>${text}</a>`
                : html`<div class=${heat} style=${style} title=${title}>${text}</div>`;
        })}
    </div>`;
}
