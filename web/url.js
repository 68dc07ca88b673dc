// Where we are. The URL is the whole state of a page: whoever copies it shows what he sees.
import { useEffect, useState } from './html.js';

/** @type {Set<() => void>} */
const listeners = new Set();

function tell() {
    for (const listener of listeners) listener();
}

/** The pages that the program serves as this page; everything else is left to the browser. */
const PAGES = /^\/($|(programs|packages|findings|compare|directories|jobs)(\/[^/]+)?$)/;

/**
 * Go there, or only say that we are there.
 * @param {string} href
 * @param {{replace?: boolean, state?: any}} [how]
 */
export function go(href, how = {}) {
    if (how.replace) history.replaceState(how.state ?? history.state, '', href);
    else history.pushState(how.state ?? null, '', href);
    tell();
}

/** The URL; whoever asks is drawn again when it changes. */
export function useUrl() {
    const [url, setUrl] = useState(location.href);
    useEffect(() => {
        const listener = () => setUrl(location.href);
        listeners.add(listener);
        listener();
        return () => {
            listeners.delete(listener);
        };
    }, []);
    return new URL(url);
}

/**
 * This page with other parameters: null takes one away. A list begins anew unless `after` is given.
 * @param {URL} url
 * @param {Record<string, string | number | null>} changes
 */
export function withParams(url, changes) {
    const params = new URLSearchParams(url.search);
    if (!('after' in changes)) params.delete('after');
    for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === '') params.delete(name);
        else params.set(name, String(value));
    }
    const text = params.toString();
    return url.pathname + (text ? `?${text}` : '');
}

/**
 * An address of the API: parameters that are null or empty are left out.
 * @template {string} P
 * @param {P} path below /api/v1/
 * @param {Record<string, string | number | null | undefined>} [params]
 * @returns {import('./types/answers').Address<import('./types/answers').AnswerOf<P>>}
 */
export function api(path, params = {}) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(params))
        if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
    const text = search.toString();
    return `/api/v1/${path}${text ? `?${text}` : ''}`;
}

/** @param {string} id a program's id, or its path */
export const programHref = (id) => `/programs/${encodeURIComponent(id)}`;
/** @param {string} id */
export const packageHref = (id) => `/packages/${encodeURIComponent(id)}`;

/** @param {MouseEvent} event */
function follow(event) {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey) return;
    if (event.shiftKey || event.altKey || !(event.target instanceof Element)) return;
    const link = event.target.closest('a[href]');
    if (!link || link.hasAttribute('download') || link.getAttribute('target')) return;
    const to = new URL(link.getAttribute('href') ?? '', location.href);
    if (to.origin !== location.origin || !PAGES.test(to.pathname) || to.hash) return;
    event.preventDefault();
    const trail = link.getAttribute('data-trail');
    go(to.href, { state: trail ? JSON.parse(trail) : null });
}

export function listen() {
    addEventListener('popstate', tell);
    addEventListener('click', follow);
}
