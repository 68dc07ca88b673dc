// A browser over the service, and what every page is looked at for.
import { readFileSync } from 'node:fs';
import { chromium } from '../../build/npm/node_modules/playwright-core/index.mjs';

/** @typedef {import('./suite.mjs').Report} Report */
/** @typedef {import('./store.mjs').Service} Service */
/** @typedef {import('playwright-core').Page} Page */

const ARGS = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
];
const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 360, height: 740 };
const AXE = readFileSync('build/npm/node_modules/axe-core/axe.min.js', 'utf8');

/** What a test is given. */
export class Scene {
    /** @param {Report} t @param {any} options */
    constructor(t, options) {
        this.t = t;
        Object.assign(this, options);
        this.build = /** @type {string} */ (options.build);
        this.screens = /** @type {string} */ (options.screens);
        this.scratch = /** @type {string} */ (options.scratch);
        /** @type {any} */
        this.browser = null;
        /** @type {Service} */
        this.service = /** @type {any} */ (null);
    }

    /**
     * A page that must say nothing on its console, and ask nobody but the service.
     * @param {string} path @param {any} [how] @returns {Promise<Page>}
     */
    async open(path, how = {}) {
        const { silent = true, url = this.service.url, ...context } = how;
        const browser = await this.browser.newContext({ viewport: WIDE, ...context });
        const page = await browser.newPage();
        page.on('request', (/** @type {any} */ request) => {
            if (!/^(data|blob):/.test(request.url()))
                this.t.check(request.url().startsWith(url), `${path} asks ${request.url()}`);
        });
        page.on('pageerror', (/** @type {any} */ error) =>
            this.t.check(false, `${path}: ${error.stack}`),
        );
        page.on('console', (/** @type {any} */ said) => {
            if (silent && /error|warning/.test(said.type()))
                this.t.check(false, `${path}: on the console: ${said.text()}`);
        });
        await page.goto(url + path);
        await this.settled(page);
        return page;
    }

    /** Nothing is loading any more. @param {Page} page */
    async settled(page) {
        await page.waitForFunction(
            () => document.querySelector('main') && !document.querySelector('main .pulse'),
            undefined,
            { timeout: 20000 },
        );
    }

    /**
     * No finding of axe, nothing wider than the window.
     * @param {Page} page @param {string} name @param {any} [options] for axe: which rules
     */
    async look(page, name, options = {}) {
        if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
        const found = await page.evaluate(
            (how) =>
                /** @type {any} */ (globalThis).axe.run({ ...how, resultTypes: ['violations'] }),
            options,
        );
        const said = found.violations.map(
            (/** @type {any} */ v) =>
                `${v.impact} ${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`,
        );
        this.t.check(!said.length, `${name}: axe: ${said.join('\n')}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        this.t.check(wide <= 0, `${name}: ${wide} pixels wider than the window`);
        await page.screenshot({ path: `${this.screens}/${name}.png`, fullPage: true });
    }

    /** @param {Page} page */
    async close(page) {
        await page.context().close();
    }
}

/** @param {string} executablePath */
export const launch = (executablePath) => chromium.launch({ executablePath, args: ARGS });
