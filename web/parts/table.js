// Tables: sorted, filtered and paged by the server; the URL says how.

import { number } from '../format.js';
import { html, useEffect, useId, useRef, useState } from '../html.js';
import { go, useUrl, withParams } from '../url.js';

/**
 * @template T
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: T) => any} cell
 * @property {boolean} [num] right-aligned
 * @property {boolean} [main] what the row is: its header
 * @property {string} [sort] the server's word for it
 * @property {string} [title]
 */

/** @param {string | null} now @param {string} sort */
function order(now, sort) {
    if (now === `-${sort}`) return 'descending';
    return now === sort ? 'ascending' : undefined;
}

/** Which direction first: numbers from the largest, names from a. @param {string | null} now @param {Column<any>} column */
function nextSort(now, { sort = '', num }) {
    const first = num ? `-${sort}` : sort;
    const other = num ? sort : `-${sort}`;
    return now === first ? other : first;
}

/** @param {{column: Column<any>, sort: string | null}} props */
function Head({ column, sort }) {
    const url = useUrl();
    const is = column.sort ? order(sort, column.sort) : undefined;
    return html`<th role="columnheader" scope="col" class=${column.num ? 'num' : ''} aria-sort=${is} title=${column.title}>
        ${
            column.sort
                ? html`<a href=${withParams(url, { sort: nextSort(sort, column) })}>${column.label}<span class="arrow" aria-hidden="true">${is === 'descending' ? '▾' : is ? '▴' : ''}</span></a>`
                : column.label
        }
    </th>`;
}

/**
 * @template T
 * @param {{caption: any, columns: Column<T>[], rows: T[], sort?: string | null, keyOf: (row: T) => string,
 *          kind?: string, none?: any}} props
 */
export function Table({
    caption,
    columns,
    rows,
    sort = null,
    keyOf,
    kind = '',
    none = 'Nothing.',
}) {
    return html`<table class=${`list ${kind}`} role="table">
        <caption>${caption}</caption>
        <thead role="rowgroup"><tr role="row">${columns.map((column) => html`<${Head} key=${column.label} column=${column} sort=${sort} />`)}</tr></thead>
        <tbody role="rowgroup">
            ${rows.map(
                (row) =>
                    html`<tr role="row" data-row key=${keyOf(row)}>${columns.map((column) =>
                        column.main
                            ? html`<th role="rowheader" scope="row" class="main">${column.cell(row)}</th>`
                            : html`<td role="cell" class=${column.num ? 'num' : ''} data-label=${column.label}>${column.cell(row)}</td>`,
                    )}</tr>`,
            )}
            ${!rows.length && html`<tr role="row"><td role="cell" colspan=${columns.length} class="none">${none}</td></tr>`}
        </tbody>
    </table>`;
}

/**
 * To the pages beside this one. Cursors lead forward; the way back is kept in the history's state.
 * @param {{page: {items: unknown[], total: number, next: string | null}, address: string}} props
 */
export function Pager({ page, address }) {
    const url = useUrl();
    const after = url.searchParams.get('after');
    /** @type {{after: string | null, n: number}[]} pages before this one */
    const trail = history.state?.trail ?? [];
    const last = trail.at(-1);
    const seen = last ? last.n : 0;
    const json = html`<a class="small" href=${address}>As JSON</a>`;
    if (!after && !page.next) return html`<p>${json}</p>`;
    const next = JSON.stringify({ trail: [...trail, { after, n: seen + page.items.length }] });
    const before = JSON.stringify({ trail: trail.slice(0, -1) });
    return html`<nav class="pager" aria-label="Pages of this list">
        ${after && html`<a href=${withParams(url, { after: null })}>First</a>`}
        ${last?.after && html`<a rel="prev" href=${withParams(url, { after: last.after })} data-trail=${before}>Before</a>`}
        <span>${after && !last ? `${number(page.items.length)} of ${number(page.total)}` : `${number(seen + 1)} to ${number(seen + page.items.length)} of ${number(page.total)}`}</span>
        ${page.next && html`<a rel="next" href=${withParams(url, { after: page.next })} data-trail=${next}>Next</a>`}
        ${json}
    </nav>`;
}

/** A search field whose text is a parameter. @param {{name?: string, label: string}} props */
export function Search({ name = 'q', label }) {
    const url = useUrl();
    const id = useId();
    const now = url.searchParams.get(name) ?? '';
    const [text, setText] = useState(now);
    const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
    useEffect(() => setText(now), [now]);
    const search = (/** @type {string} */ value, /** @type {number} */ ms) => {
        setText(value);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => {
            const here = new URL(location.href);
            if (value !== (here.searchParams.get(name) ?? ''))
                go(withParams(here, { [name]: value }), { replace: true, state: {} });
        }, ms);
    };
    return html`<form role="search" class="field" onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        search(text, 0);
    }}>
        <label for=${id}>${label}</label>
        <input id=${id} type="search" value=${text} maxlength="500" spellcheck=${false} autocomplete="off"
            onInput=${(/** @type {any} */ event) => search(event.currentTarget.value, 250)} />
    </form>`;
}

/**
 * A choice that is a parameter; its first option takes the parameter away.
 * @param {{name: string, label: string, options: [value: string, text: string][]}} props
 */
export function Choice({ name, label, options }) {
    const url = useUrl();
    const id = useId();
    const now = url.searchParams.get(name) ?? options[0][0];
    return html`<div class="field">
        <label for=${id}>${label}</label>
        <select id=${id} value=${now} onChange=${(/** @type {any} */ event) => {
            const value = event.currentTarget.value;
            go(withParams(url, { [name]: value === options[0][0] ? null : value }));
        }}>
            ${options.map(([value, text]) => html`<option value=${value} selected=${value === now}>${text}</option>`)}
        </select>
    </div>`;
}
