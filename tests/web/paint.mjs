// How long the overview takes to be seen: bench/web.
//
//	node tests/web/paint.mjs URL [TURNS]
//
// Times are the browser's own: from the end of the page's answer to the first paint, to the table's
// paint (a mark that the page sets behind it), and from the list's answer to the table's paint.
// The best and the median of all turns, each with an empty cache.
import { existsSync } from 'node:fs';
import { chromium } from '../../build/npm/node_modules/playwright-core/index.mjs';

const url = process.argv[2];
const turns = Number(process.argv[3] ?? 15);
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

async function turn() {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(url);
    await page.waitForFunction(() => performance.getEntriesByName('stormlint-table').length > 0);
    const times = await page.evaluate(() => {
        const of = (/** @type {string} */ name) => performance.getEntriesByName(name)[0].startTime;
        const resources = /** @type {PerformanceResourceTiming[]} */ (
            performance.getEntriesByType('resource')
        );
        const list = resources.find((one) => one.name.includes('/api/v1/programs'));
        const [document] = /** @type {PerformanceNavigationTiming[]} */ (
            performance.getEntriesByType('navigation')
        );
        return {
            'page answered, to the first paint':
                of('first-contentful-paint') - document.responseEnd,
            'page answered, to the table': of('stormlint-table') - document.responseEnd,
            'list answered, to the table': of('stormlint-table') - (list?.responseEnd ?? 0),
        };
    });
    await context.close();
    return times;
}

/** @type {Map<string, number[]>} */
const all = new Map();
await turn();
for (let i = 0; i < turns; i++)
    for (const [name, ms] of Object.entries(await turn()))
        all.set(name, [...(all.get(name) ?? []), ms]);
await browser.close();
console.log('  best  median  ms');
for (const [name, times] of all) {
    times.sort((a, b) => a - b);
    const [best, median] = [times[0], times[times.length >> 1]];
    console.log(`${best.toFixed(0).padStart(6)}  ${median.toFixed(0).padStart(6)}  ${name}`);
}
