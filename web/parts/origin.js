// Where a package comes from in its source, and whom to tell: what a channel's packages.json says.
import { html } from '../html.js';
import { useUrl, withParams } from '../url.js';

/** @typedef {{attribute?: string | null, maintainers?: string[], position?: string | null}} Origin */

/** Where one who maintains something is reached; null: nowhere that is known. @param {string} text */
export function reach(text) {
    const handle = /^@([A-Za-z0-9-]+)$/.exec(text);
    if (handle) return `https://github.com/${handle[1]}`;
    const address = /^(?:[^<>]*<)?([A-Za-z0-9._+-]+@[A-Za-z0-9.-]+)>?$/.exec(text);
    return address ? `mailto:${address[1]}` : null;
}

/** What one is called by in a URL: a handle without its @, a name without its address. @param {string} text */
const nameOf = (text) => text.replace(/ *<[^<>]*>$/, '').replace(/^@/, '');

/** Lists that can be of what one maintains. @type {[path: string, what: string][]} */
const LISTS = [
    ['/', 'programs'],
    ['/packages', 'packages'],
    ['/findings', 'findings'],
    ['/compare', 'differences'],
];

/**
 * A list of what one maintains: the one that is looked at with the rest of its URL, another with its audit.
 * @param {URL} url @param {string} path @param {string} name
 */
function ownHref(url, path, name) {
    if (path === url.pathname) return withParams(url, { maintainer: name });
    const there = new URL(path, url);
    const audit = path === '/packages' ? null : url.searchParams.get('audit');
    return withParams(there, { audit, maintainer: name });
}

/** One who maintains something: the way to the rest of it. @param {{text: string}} props */
function Maintainer({ text }) {
    const url = useUrl();
    const here = LISTS.some(([path]) => path === url.pathname) ? url.pathname : '/packages';
    const name = text.replace(/ *<[^<>]*>$/, '');
    return html`<a class="quiet" href=${ownHref(url, here, nameOf(text))} title=${`What ${name} maintains`}>${name}</a>`;
}

/**
 * Whose part of a list this is: the way to the other lists, to them, and back to all.
 * @param {{rows: (Origin & {package?: Origin | string | null})[] | undefined}} props
 */
export function Whose({ rows = [] }) {
    const url = useUrl();
    const name = url.searchParams.get('maintainer');
    if (!name) return null;
    const texts = rows.flatMap(
        (row) =>
            (typeof row.package === 'object' ? row.package?.maintainers : row.maintainers) ?? [],
    );
    const text = texts.find((one) => nameOf(one).toLowerCase() === nameOf(name).toLowerCase());
    const href = text && reach(text);
    const others = LISTS.filter(([path]) => path !== url.pathname);
    return html`<p class="chip">only what ${name} maintains ${others.map(([path, what]) => html`<a href=${ownHref(url, path, name)}>${what}</a> `)}${href && html`<a href=${href} rel="noreferrer">${href.startsWith('mailto:') ? 'mail' : 'GitHub'}</a> `}<a href=${withParams(url, { maintainer: null })}>everybody's</a></p>`;
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
