// What the pages show and do.

import { readFileSync } from 'node:fs';
import { chromium } from '../../build/npm/node_modules/playwright-core/index.mjs';
import { makeStore, pause, Service, scan, tree } from './store.mjs';

/** @typedef {import('./suite.mjs').Report} Report */
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
const NARROW = { width: 360, height: 740 };
const AXE = readFileSync('build/npm/node_modules/axe-core/axe.min.js', 'utf8');

/** What a test is given. */
class Scene {
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

    /** No serious finding of axe, nothing wider than the window. @param {Page} page @param {string} name */
    async look(page, name) {
        await page.evaluate(AXE);
        const found = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run());
        const serious = found.violations.map(
            (/** @type {any} */ v) =>
                `${v.impact} ${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`,
        );
        this.t.check(!serious.length, `${name}: axe: ${serious.join('\n')}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        this.t.check(wide <= 0, `${name}: ${wide} pixels wider than the window`);
        await page.screenshot({ path: `${this.screens}/${name}.png`, fullPage: true });
    }

    /** @param {Page} page */
    async close(page) {
        await page.context().close();
    }
}

/** @type {Record<string, (s: Scene) => Promise<void>>} */
const tests = {
    async policy(s) {
        for (const path of ['/', '/programs/x', '/compare']) {
            const answer = await fetch(s.service.url + path);
            const policy = answer.headers.get('content-security-policy') ?? '';
            s.t.same(answer.status, 200, path);
            s.t.check(
                /default-src 'none'/.test(policy) && !/unsafe/.test(policy),
                `${path}: policy ${policy}`,
            );
        }
    },

    /** Every page, wide and narrow, light and dark. */
    async looks(s) {
        for (const [name, path] of Object.entries(await pathsOf(s)))
            for (const [how, options] of Object.entries({
                wide: {},
                dark: { colorScheme: 'dark' },
                narrow: { viewport: NARROW },
            })) {
                const page = await s.open(path, options);
                await s.look(page, `${name}-${how}`);
                s.t.same(await page.locator('h1').count(), 1, `${name}: headings`);
                await s.close(page);
            }
    },

    async overview(s) {
        const page = await s.open('/');
        const rows = page.locator('#offenders ~ table tbody tr');
        s.t.same(await rows.count(), 50, 'rows of a page');
        s.t.check(/stormy/.test(await rows.first().innerText()), 'the worst is first');
        const sorted = page.locator('th[aria-sort]').first();
        s.t.same(await sorted.getAttribute('aria-sort'), 'descending', 'sorted by failed opens');
        await page.getByRole('link', { name: 'Libraries' }).click();
        await page.waitForURL(/sort=-objects/);
        await page.getByRole('link', { name: 'Libraries' }).click();
        await page.waitForURL(/sort=objects/);
        await s.settled(page);
        s.t.same(await sorted.getAttribute('aria-sort'), 'ascending', 'sorted the other way');
        await page.goBack();
        await page.waitForURL(/sort=-objects/);
        await page.goBack();
        await page.waitForFunction(() => !location.search);
        await s.settled(page);
        await page.getByRole('link', { name: 'Next' }).click();
        await page.waitForURL(/after=/);
        await page.getByText(/^51 to \d+ of/).waitFor();
        const second = page.url();
        await page.getByRole('link', { name: 'First' }).click();
        await page.getByText(/^1 to 50 of/).waitFor();
        await page.goBack();
        await page.getByText(/^51 to \d+ of/).waitFor();
        await page.getByRole('searchbox').fill('STORMY');
        await page.waitForURL(/q=STORMY/);
        await page.getByText(/^1 program,/).waitFor();
        s.t.check(!page.url().includes('after'), 'a search begins at the first page');
        await page.getByRole('searchbox').fill('no such program');
        await page.getByText('No program is like that.').waitFor();
        await page.getByRole('searchbox').fill('');
        await page.waitForFunction(() => !location.search);
        await page.getByLabel('Starts').selectOption('false');
        await page.waitForURL(/starts=false/);
        await page.getByText('missing: libgone.so.3').waitFor();
        s.t.check((await rows.count()) < 10, 'only those that do not start');
        await s.close(page);
        const deep = await s.open(second.replace(s.service.url, ''));
        s.t.check(
            (await deep.locator('#offenders ~ table tbody tr').count()) > 10,
            'a link to a page',
        );
        await s.close(deep);
    },

    async keys(s) {
        const page = await s.open('/');
        await page.keyboard.press('?');
        s.t.check(await page.locator('dialog').isVisible(), '? shows help');
        await s.look(page, 'help');
        await page.keyboard.press('Escape');
        s.t.check(!(await page.locator('dialog').isVisible()), 'Escape ends it');
        await page.keyboard.press('/');
        s.t.same(
            await page.evaluate(() => document.activeElement?.getAttribute('type')),
            'search',
            '/',
        );
        await page.keyboard.type('stormy');
        await page.waitForURL(/q=stormy/);
        await page.getByText(/^1 program,/).waitFor();
        await page.keyboard.press('Escape');
        await page.keyboard.press('j');
        const row = () =>
            page.evaluate(() => document.activeElement?.closest('[data-row]')?.textContent);
        s.t.check(/stormy/.test((await row()) ?? ''), `j goes to the first row: ${await row()}`);
        const outline = await page.evaluate(
            () => getComputedStyle(/** @type {Element} */ (document.activeElement)).outlineStyle,
        );
        s.t.same(outline, 'solid', 'the focus is seen');
        await page.keyboard.press('Enter');
        await page.waitForURL(/\/programs\//);
        await page.waitForFunction(() => document.title.startsWith('Program'));
        await page.goBack();
        await page.waitForURL(/q=stormy/);
        await page.getByText(/^1 program,/).waitFor();
        await page.keyboard.press('g');
        await page.keyboard.press('p');
        await page.waitForURL(/\/packages$/);
        await s.close(page);
    },

    async no_scripts(s) {
        const page = await s.browser
            .newContext({ javaScriptEnabled: false })
            .then((/** @type {any} */ context) => context.newPage());
        await page.goto(s.service.url);
        const rows = page.locator('noscript table tbody tr, main table tbody tr');
        s.t.check((await rows.count()) > 20, 'the worst offenders without scripts');
        s.t.check(/stormy/.test(await rows.first().innerText()), 'the worst is first');
        await page.screenshot({ path: `${s.screens}/no-scripts.png`, fullPage: true });
        await page.getByRole('link', { name: 'objects' }).click();
        s.t.check(/\/table\?sort=-objects/.test(page.url()), 'sorted by a link');
        await page.goto(`${s.service.url}/programs/x`);
        s.t.check(/made by scripts/.test(await page.locator('body').innerText()), 'other pages');
        await s.close(page);
    },

    async reduced_motion(s) {
        const page = await s.open('/', { reducedMotion: 'reduce' });
        const moving = await page.evaluate(
            () => document.getAnimations().filter((a) => a.playState === 'running').length,
        );
        s.t.same(moving, 0, 'nothing moves');
        await s.close(page);
    },
};

/** The pages, by name. @param {Scene} s @returns {Promise<Record<string, string>>} */
async function pathsOf(s) {
    void s;
    return { overview: '/' };
}

/** @param {Report} t @param {any} options */
export async function pages(t, options) {
    const s = new Scene(t, options);
    s.browser = await chromium.launch({ executablePath: options.browser, args: ARGS });
    try {
        makeStore(s.build, s.scratch, tree(false));
        scan(s.build, s.scratch);
        s.service = await new Service(s.build, s.scratch).ready();
        await s.service.audit('before');
        makeStore(s.build, s.scratch, tree(true));
        scan(s.build, s.scratch);
        for (;;) {
            const { items } = await s.service.json(`/programs?q=growing&limit=1`);
            if (items[0].storm.objects > 10) break;
            await pause(50);
        }
        await s.service.planned();
        for (const [name, test] of Object.entries(tests)) {
            if (options.wanted.length && !options.wanted.includes(name)) continue;
            const begin = Date.now();
            t.name = name;
            try {
                await test(s);
            } catch (error) {
                t.check(false, /** @type {Error} */ (error).stack ?? String(error));
            }
            console.log(`${name}: ${((Date.now() - begin) / 1000).toFixed(1)} s`);
        }
    } finally {
        await s.browser.close();
        await s.service?.stop();
    }
}
