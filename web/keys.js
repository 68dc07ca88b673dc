// Keys: / search, j and k rows, Enter open, ? help, g and a letter for pages.
import { go } from './url.js';

/** @type {[keys: string, what: string][]} */
export const KEYS = [
    ['/', 'search'],
    ['j', 'next row'],
    ['k', 'row before'],
    ['Enter', 'open the row'],
    ['g o', 'overview'],
    ['g p', 'packages'],
    ['g d', 'directories'],
    ['g f', 'findings'],
    ['g c', 'compare'],
    ['?', 'this help'],
    ['Esc', 'close, or leave a field'],
];
/** @type {Record<string, string>} */
const PLACES = { o: '/', p: '/packages', d: '/directories', f: '/findings', c: '/compare' };

/** What a row is opened by. @param {Element | undefined} row */
const handle = (row) => /** @type {HTMLElement | null} */ (row?.querySelector('a[href], button'));

/** Rows are those of the page's main list, if it has one. @param {number} by */
function moveRow(by) {
    const list = document.querySelector('[data-rows]') ?? document;
    const rows = [...list.querySelectorAll('[data-row]')].filter(
        (row) => row.getClientRects().length > 0 && handle(row),
    );
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
    const target = handle(rows[Math.max(0, Math.min(rows.length - 1, next))]);
    target?.focus();
    target?.scrollIntoView({ block: 'nearest' });
}

/** @param {EventTarget | null} target */
const isField = (target) =>
    target instanceof Element && target.matches('input, select, textarea, [contenteditable]');

let afterG = false;

/** @param {KeyboardEvent} event */
function press(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isField(event.target)) {
        if (event.key === 'Escape') /** @type {HTMLElement} */ (event.target).blur();
        return;
    }
    const place = afterG ? PLACES[event.key] : undefined;
    afterG = event.key === 'g';
    const search = /** @type {HTMLInputElement | null} */ (document.querySelector('[type=search]'));
    const help = /** @type {HTMLDialogElement | null} */ (document.querySelector('dialog'));
    if (help?.open) return;
    if (place) go(place);
    else if (event.key === '/' && search) search.select();
    else if (event.key === 'j') moveRow(1);
    else if (event.key === 'k') moveRow(-1);
    else if (event.key === '?') help?.showModal();
    else return;
    event.preventDefault();
}

export function listen() {
    addEventListener('keydown', press);
}
