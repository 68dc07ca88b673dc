// Where a package comes from in its source, and whom to tell: what a channel's packages.json says.
import { html } from '../html.js';

/** @typedef {{attribute?: string | null, maintainers?: string[], position?: string | null}} Origin */

/** Where one who maintains something is reached; null: nowhere that is known. @param {string} text */
export function reach(text) {
    const handle = /^@([A-Za-z0-9-]+)$/.exec(text);
    if (handle) return `https://github.com/${handle[1]}`;
    const address = /^(?:[^<>]*<)?([A-Za-z0-9._+-]+@[A-Za-z0-9.-]+)>?$/.exec(text);
    return address ? `mailto:${address[1]}` : null;
}

/** @param {{text: string}} props */
function Maintainer({ text }) {
    const href = reach(text);
    const name = text.replace(/ *<[^<>]*>$/, '');
    return href ? html`<a class="quiet" href=${href} rel="noreferrer">${name}</a>` : html`${name}`;
}

const FEW = 3;

/** Who maintains it, in a cell; nothing when nobody is known. @param {{of: Origin | null, lead?: any}} props */
export function Whom({ of, lead }) {
    const all = of?.maintainers ?? [];
    if (!all.length) return null;
    const shown = all.slice(0, FEW);
    return html`${lead}<small class="whom">${shown.map((text, i) => html`${i ? ', ' : ''}<${Maintainer} text=${text} />`)}${all.length > FEW && html`<span title=${all.slice(FEW).join(', ')}>, ${all.length - FEW} more</span>`}</small>`;
}

/** A sentence with all that is known; nothing when nothing is. @param {{of: Origin | null}} props */
export function From({ of }) {
    if (!of?.attribute) return null;
    const all = of.maintainers ?? [];
    return html`<p class="from">Attribute <span class="mono">${of.attribute}</span>, ${
        all.length
            ? html`maintained by ${all.map((text, i) => html`${i ? ', ' : ''}<${Maintainer} text=${text} />`)}`
            : 'which nobody maintains'
    }${of.position && html`, written in <span class="path">${of.position}</span>`}</p>`;
}
