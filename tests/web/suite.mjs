// The dashboard as people see it: a real browser over the real service on a small store.
//
//	node tests/web/suite.mjs BUILD [ASAN] [TEST...]
//
// Each test is a function of tests below; each thing it looks at counts. Screenshots of all pages
// are in build/web-screens/. Closes with "N passed, N failed".
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

const MODULES = 'build/npm/node_modules';
const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const SCREENS = 'build/web-screens';

export class Report {
    passed = 0;
    failed = 0;
    skipped = 0;
    name = '';

    /** @param {unknown} fine @param {string} text */
    check(fine, text) {
        if (fine) this.passed++;
        else {
            this.failed++;
            console.log(`FAILED: ${this.name}: ${text}`);
        }
    }

    /** @param {unknown} got @param {unknown} want @param {string} text */
    same(got, want, text) {
        const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
        this.check(a === b, `${text}: ${a?.slice(0, 300)} instead of ${b}`);
    }

    /** @param {string} text */
    skip(text) {
        this.skipped++;
        console.log(`skipped: ${text}`);
    }

    close() {
        if (this.skipped) console.log(`${this.skipped} skipped`);
        console.log(`${this.passed} passed, ${this.failed} failed`);
        process.exit(this.failed ? 1 : 0);
    }
}

const t = new Report();
const build = resolve(process.argv[2] ?? 'build/release');
const wanted = process.argv.slice(4);
const has = (/** @type {string} */ path) => existsSync(path);

const { sources } = await import('./sources.mjs');
await sources(t, MODULES, wanted);
if (!BROWSER) t.skip('there is no chromium: the pages are not looked at (tools/deps installs it)');
else if (!has(`${MODULES}/playwright-core`))
    t.skip("the browser's driver is not there: the pages are not looked at (make npm)");
else {
    const scratch = mkdtempSync(`${tmpdir()}/stormlint-web-`);
    if (!wanted.length) rmSync(SCREENS, { recursive: true, force: true });
    mkdirSync(SCREENS, { recursive: true });
    try {
        const { pages } = await import('./pages.mjs');
        await pages(t, { build, scratch, browser: BROWSER, screens: SCREENS, wanted });
    } catch (error) {
        t.check(false, /** @type {Error} */ (error).stack ?? String(error));
    } finally {
        rmSync(scratch, { recursive: true, force: true });
    }
}
t.close();
