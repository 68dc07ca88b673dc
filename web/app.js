// The frame around every page: head, the page that the URL names, foot, help.
import { useData } from './api.js';
import { count, number } from './format.js';
import { html, render, useEffect, useRef, useState } from './html.js';
import { KEYS, listen as listenKeys } from './keys.js';
import * as overview from './pages/overview.js';
import { Loading } from './parts/states.js';
import { api, listen as listenUrl, useUrl } from './url.js';

/**
 * The pages: a path, a name, and the module whose Page draws it, fetched when somebody goes there.
 * @type {{path: RegExp, name: string, load?: () => Promise<{Page: any}>}[]}
 */
const PAGES = [
    { path: /^\/(?:programs)?$/, name: 'Overview' },
    { path: /^\/programs\/([^/]+)$/, name: 'Program', load: () => import('./pages/program.js') },
    { path: /^\/packages$/, name: 'Packages', load: () => import('./pages/packages.js') },
    { path: /^\/packages\/([^/]+)$/, name: 'Package', load: () => import('./pages/package.js') },
    { path: /^\/directories$/, name: 'Directories', load: () => import('./pages/directories.js') },
    { path: /^\/findings$/, name: 'Findings', load: () => import('./pages/findings.js') },
    { path: /^\/compare$/, name: 'Compare', load: () => import('./pages/compare.js') },
    { path: /^\/jobs$/, name: 'Jobs', load: () => import('./pages/jobs.js') },
];
const NAV = [
    ['/', 'Overview', /^\/($|programs)/],
    ['/packages', 'Packages', /^\/packages/],
    ['/directories', 'Directories', /^\/directories/],
    ['/findings', 'Findings', /^\/findings/],
    ['/compare', 'Compare', /^\/compare/],
    ['/jobs', 'Jobs', /^\/jobs/],
];

/** @param {{path: string}} props */
const Head = ({ path }) => html`
    <header class="head">
        <a class="brand" href="/">stormlint</a>
        <nav aria-label="Pages">
            ${NAV.map(([href, name, at]) => html`<a href=${href} aria-current=${/** @type {RegExp} */ (at).test(path) ? 'page' : undefined}>${name}</a>`)}
        </nav>
        <${Work} />
    </header>`;

/** A job that runs, wherever one is. */
function Work() {
    const jobs = useData(api('jobs'), () => 5000);
    const running = (jobs.data?.items ?? []).filter((/** @type {any} */ job) =>
        /queued|running/.test(job.state),
    );
    if (jobs.error?.status === 0)
        return html`<span class="work miss" role="status">no answer from the service</span>`;
    return html`<span class="work" role="status">${running.length > 0 && html`<a href="/jobs">${count(running.length, 'job')} under way</a>`}</span>`;
}

function Help() {
    const close = (/** @type {any} */ event) => event.currentTarget.closest('dialog').close();
    return html`<dialog aria-labelledby="help-title">
        <h2 id="help-title">Keys</h2>
        <dl class="keys">${KEYS.map(([keys, what]) => html`<div><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>
        <p><button type="button" onClick=${close}>Close</button></p>
    </dialog>`;
}

/** What the numbers rest on. */
function Foot() {
    const summary = useData(api('summary'));
    const help = () =>
        /** @type {HTMLDialogElement} */ (document.querySelector('dialog')).showModal();
    const s = summary.data;
    return html`<footer class="foot">
        <p>${
            s
                ? html`stormlint ${s.version}, predicted for ${s.cpu}, environment empty: ${number(s.index.programs)} programs of ${count(s.index.packages, 'package')}.${' '}`
                : ''
        }Nothing is run by this service: <code>stormlint check</code> compares a prediction with the real loader.</p>
        <p><a href="/table">Plain table</a> <a href="/openapi.json">JSON interface</a> <a href="/metrics">Metrics</a> <a href="/vendor/licences.txt">Licences</a> <button type="button" class="link" onClick=${help}>Keys (?)</button></p>
    </footer>`;
}

/** @param {string} text */
function unescaped(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text; // of other bytes than UTF-8: nothing has this name
    }
}

/** @param {string} path */
function find(path) {
    for (const page of PAGES) {
        const match = page.path.exec(path);
        if (match) return { page, id: match[1] && unescaped(match[1]) };
    }
    return null;
}

/** @type {Map<string, any>} the pages that were fetched */
const loaded = new Map([['Overview', overview.Page]]);

/** The module of a page: null while it is fetched. @param {(typeof PAGES)[number]} page */
function usePage(page) {
    const [failed, setFailed] = useState(/** @type {Error | null} */ (null));
    const [, redraw] = useState(0);
    useEffect(() => {
        if (loaded.has(page.name) || !page.load) return;
        page.load().then(
            (module) => {
                loaded.set(page.name, module.Page);
                redraw((n) => n + 1);
            },
            (error) => setFailed(error),
        );
    }, [page.name]);
    return { of: loaded.get(page.name) ?? null, failed };
}

/** @param {{found: {page: (typeof PAGES)[number], id: string | undefined}}} props */
function Body({ found }) {
    const { of, failed } = usePage(found.page);
    if (failed)
        return html`<p class="state failure" role="alert">This page's script cannot be had: the service does not answer. <button type="button" onClick=${() => location.reload()}>Try again</button></p>`;
    return of ? html`<${of} id=${found.id} />` : html`<${Loading} />`;
}

function App() {
    const url = useUrl();
    const found = find(url.pathname);
    const main = useRef(/** @type {HTMLElement | null} */ (null));
    const first = useRef(true);
    useEffect(() => {
        document.title = `${found?.page.name ?? 'Not found'} – stormlint`;
        if (!first.current) main.current?.focus({ preventScroll: true });
        first.current = false;
    }, [url.pathname]);
    return html`
        <a class="skip" href="#main">Skip to the content</a>
        <${Head} path=${url.pathname} />
        <main id="main" tabindex="-1" ref=${main}>
            ${found ? html`<${Body} key=${url.pathname} found=${found} />` : html`<h1>Not found</h1><p>There is no such page.</p>`}
        </main>
        <${Foot} />
        <${Help} />`;
}

listenUrl();
listenKeys();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));
