// Bars: one length for each number, always beside the number itself.
import { html } from '../html.js';

/** @typedef {{value: number, kind: string}} Part */

/**
 * A bar of parts, as wide as all of them are of `of`.
 * @param {{parts: Part[], of: number}} props
 */
export function Bar({ parts, of }) {
    let at = 0;
    return html`<svg class="bar" aria-hidden="true" focusable="false" preserveAspectRatio="none" viewBox="0 0 100 10">
        ${parts.map(({ value, kind }) => {
            const width = of ? (100 * value) / of : 0;
            const x = at;
            at += width;
            return html`<rect class=${`fill-${kind}`} x=${x} y="0" height="10" width=${value ? Math.max(width, 0.5) : 0} />`;
        })}
    </svg>`;
}

/**
 * Shares of a whole: one bar, and what it consists of in words.
 * @param {{label: string, parts: (Part & {name: string, note?: string})[]}} props
 */
export function Shares({ label, parts }) {
    const whole = parts.reduce((sum, part) => sum + part.value, 0);
    return html`<figure class="shares">
        <figcaption>${label}</figcaption>
        <${Bar} parts=${parts} of=${whole} />
        <ul class="legend">
            ${parts.map(
                (part) =>
                    html`<li><span class=${`swatch fill-${part.kind}`} aria-hidden="true"></span>${part.name} <b class="num">${part.value.toLocaleString('en')}</b>${part.note && html` <small>${part.note}</small>`}</li>`,
            )}
        </ul>
    </figure>`;
}
