// What the pages show and do.
import { mkdirSync, readFileSync } from 'node:fs';
import { launch, NARROW, Scene } from './scene.mjs';
import { dir, FOREIGN, makeStore, pause, Service, STORMY, scan, tree } from './store.mjs';

/** @typedef {import('./suite.mjs').Report} Report */

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

    /** Every page, wide and narrow, light and dark; in the dark it is the colours that differ. */
    async looks(s) {
        const colours = { runOnly: ['color-contrast'] };
        const others = { rules: { 'color-contrast': { enabled: false } } };
        for (const [name, path] of Object.entries(await pathsOf(s))) {
            const page = await s.open(path);
            s.t.same(await page.locator('h1').count(), 1, `${name}: headings`);
            await s.look(page, `${name}-wide`);
            await page.emulateMedia({ colorScheme: 'dark' });
            await s.look(page, `${name}-dark`, colours);
            await page.emulateMedia({ colorScheme: 'light' });
            await page.setViewportSize(NARROW);
            await s.look(page, `${name}-narrow`, others);
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
        await page.keyboard.press('Tab');
        const skip = page.getByRole('link', { name: 'Skip to the content' });
        s.t.check(
            (await skip.boundingBox())?.width > 100,
            'the first Tab shows the way to the content',
        );
        await page.keyboard.press('Enter');
        await page.keyboard.press('Tab');
        const inside = await page.evaluate(() => document.activeElement?.closest('main') !== null);
        s.t.check(inside, 'and leads there');
        await page.keyboard.press('Escape'); // out of the field that this is
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

    async program(s) {
        const path = `/programs/${await idOf(s, STORMY)}`;
        const page = await s.open(path);
        const text = async (/** @type {string} */ part) =>
            (await page.locator(part).first().textContent()) ?? '';
        const { storm } = await s.service.json(`${path}/trace`);
        s.t.check((await text('.figures')).includes(String(storm.failed_opens)), 'failed opens');
        s.t.check((await text('main')).includes('predicted'), 'predictions are called so');
        for (const shares of await page.locator('section:has(#where) .shares').all()) {
            const parts = await shares.locator('b').allTextContents();
            s.t.same(
                parts.reduce((sum, part) => sum + Number(part.replace(',', '')), 0),
                storm.failed_opens + storm.failed_stats,
                `shares are of the calls that are counted: ${parts}`,
            );
        }
        const edges = page.locator('.tree .edge:not(.legend-row)');
        s.t.check((await edges.count()) > 20, 'the load order');
        const calls = edges
            .filter({ hasText: 'libpart5.so.5' })
            .getByRole('button', { name: /calls?$/ });
        await calls.first().click();
        s.t.check(
            /miss/.test(await text('.calls')) && /hit/.test(await text('.calls')),
            'calls, miss and hit',
        );
        const third = edges.filter({ hasText: 'libpart3.so.3' });
        await third.getByRole('button', { name: /calls?$/ }).click();
        const skipped = page.locator('.calls li').filter({ hasText: 'skipped' });
        s.t.check(
            /arm-1.0.*runpath: /.test((await skipped.textContent()) ?? ''),
            'a file that is not taken, and why',
        );
        s.t.check(/ENOENT, runpath/.test(await text('.calls')), 'why, and the stage');
        await page.getByRole('button', { name: 'What stormy asked for' }).click();
        s.t.check((await edges.count()) < 5, 'folded');
        const cell = page.locator('a.cell').first();
        const name = await cell.textContent();
        await cell.click();
        await page.waitForURL(/zoom=/);
        await page.getByText('all packages').waitFor();
        s.t.check((await page.locator('.cell').count()) < 3, `zoomed to ${name}`);
        await page.goBack();
        await page.waitForFunction(() => !location.search);
        s.t.check(
            (await page.locator('.remedies tbody tr').count()) === 7,
            'as built and six remedies',
        );
        s.t.check(/the choice/.test(await text('.remedies')), 'the choice');
        await page.getByRole('link', { name: 'ld-library-path, absolute lifted: fails' }).click();
        await page.waitForURL(/why=ld-library-path/);
        s.t.check(
            /Simulated: LD_LIBRARY_PATH/.test(await text('.behind')),
            'the scenario behind a verdict',
        );
        s.t.check(/soname: libpart/.test(await text('.behind')), 'the evidence behind a verdict');
        const [download] = await Promise.all([
            page.waitForEvent('download'),
            page.getByRole('link', { name: /^Download/ }).click(),
        ]);
        const plan = JSON.parse(readFileSync(await download.path(), 'utf8'));
        s.t.same([plan.schema, plan.key.pname], ['stormlint-plan/1', 'stormy'], 'the plan');
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await page.getByRole('button', { name: 'Copy the plan' }).click();
        await page.getByText('copied').waitFor();
        const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
        s.t.same(copied, plan, 'what was copied');
        s.t.check(
            (await text('.command code >> nth=1')).includes(`stormlint check ${STORMY}`),
            'the command line',
        );
        await page.getByLabel('Start', { exact: true }).selectOption('farm lifted');
        await page.waitForURL(/as=farm/);
        await page.getByText('With farm lifted.').waitFor();
        await page.getByLabel('CPU').selectOption('x86-64-v1');
        await page.getByText('on x86-64-v1,').first().waitFor();
        await page.reload();
        await page.getByText('With farm lifted.').waitFor();
        await page.goBack();
        await page.goBack();
        await page.waitForFunction(() => !location.search.includes('as='));
        s.t.check(/before/.test(await text('section:has(#history)')), 'history over audits');
        await page.getByRole('link', { name: 'Two strategies side by side' }).click();
        await page.waitForURL(/compare\?program=/);
        await page.getByText('Failed calls by directory').waitFor();
        await page.getByLabel('This', { exact: true }).selectOption('absolute lifted');
        await page.waitForURL(/a=absolute\+lifted/);
        await page.locator('b.fail').first().waitFor();
        await s.close(page);
        const byPath = await s.open(`/programs/${encodeURIComponent(STORMY)}`);
        s.t.same(await byPath.locator('h1').textContent(), 'bin/stormy ', 'found by its path');
        await s.close(byPath);
        const broken = await s.open(`/programs/${await idOf(s, '/bin/broken')}`);
        s.t.check(
            /not found/.test((await broken.locator('.tree').textContent()) ?? ''),
            'a library that is nowhere',
        );
        await s.close(broken);
    },

    async packages(s) {
        const page = await s.open('/packages');
        await page.getByRole('searchbox').fill('stormy');
        await page.getByText(/^1 package;/).waitFor();
        await page.getByRole('link', { name: 'stormy' }).click();
        await page.getByText('Whose starts it slows down').waitFor();
        await s.settled(page);
        const main = (await page.locator('main').textContent()) ?? '';
        s.t.check(/bin\/stormy/.test(main) && /farm/.test(main), 'its program and plan');
        s.t.check(/probe-budget/.test(main), 'its findings');
        s.t.check(/before/.test(main), 'its history');
        await s.close(page);
        const part = await s.open(`/packages/${dir(20).split('/')[3]}`);
        const said = (await part.locator('main').textContent()) ?? '';
        s.t.check(
            /programs? looks? into its directories in vain/.test(said) && /bin\/stormy/.test(said),
            `who searches it in vain: ${said.slice(0, 300)}`,
        );
        await s.close(part);
    },

    /** Where packages come from, and whom to tell: on rows and pages. */
    async origins(s) {
        const page = await s.open(`/packages/${STORMY.split('/')[3]}`);
        const from = page.locator('p.from');
        s.t.same(
            await from.textContent(),
            'Attribute stormy, maintained by @anna, Bo B., @javascript:alert(1), Cleo, written in pkgs/by-name/st/stormy/package.nix:42',
            'what is known of a package',
        );
        s.t.same(
            await from.locator('a').evaluateAll((all) => all.map((a) => a.getAttribute('href'))),
            ['anna', 'Bo+B.', 'javascript%3Aalert%281%29', 'Cleo'].map(
                (name) => `/packages?maintainer=${name}`,
            ),
            'a name leads to what is theirs',
        );
        await s.close(page);
        for (const [at, row] of [
            ['/?q=stormy', 'bin/stormy'],
            ['/packages?q=stormy', 'stormy'],
            ['/findings?q=stormy', 'bin/stormy'],
        ]) {
            const list = await s.open(at);
            const shown = list.locator('[data-row]', { hasText: row }).first();
            await shown.locator('.whom').first().waitFor();
            s.t.same(
                await shown.locator('.whom').first().textContent(),
                '@anna, Bo B., @javascript:alert(1), 1 more',
                `whom to tell: ${at}`,
            );
            await s.close(list);
        }
        const program = await s.open(`/programs/${encodeURIComponent(STORMY)}`);
        s.t.check(
            /maintained by @anna/.test((await program.locator('p.from').textContent()) ?? ''),
            'on the page of a program',
        );
        await s.close(program);
        const small = await s.open(`/packages/00000000000000000000000000smal21-small-2.1`);
        s.t.same(
            await small.locator('p.from').textContent(),
            'Attribute small, which nobody maintains',
            'nobody',
        );
        await s.close(small);
    },

    /** What somebody maintains: from a name to each list, to whoever it is, and back. */
    async whose(s) {
        const page = await s.open(`/packages/${STORMY.split('/')[3]}`);
        const chip = page.locator('.chip', { hasText: 'only what' });
        const narrowed = async (/** @type {RegExp} */ url, /** @type {RegExp} */ caption) => {
            await page.waitForURL(url);
            await page.getByText(caption).waitFor();
            await chip.getByRole('link', { name: 'GitHub' }).waitFor();
        };
        await page.locator('p.from').getByRole('link', { name: '@anna' }).click();
        await narrowed(/\/packages\?maintainer=anna$/, /^1 package;/);
        s.t.same(
            await chip.getByRole('link', { name: 'GitHub' }).getAttribute('href'),
            'https://github.com/anna',
            'where she is reached',
        );
        await s.look(page, 'whose-wide');
        await chip.getByRole('link', { name: 'programs' }).click();
        await narrowed(/\/\?maintainer=anna$/, /^1 program,/);
        await chip.getByRole('link', { name: 'findings' }).click();
        await narrowed(/\/findings\?maintainer=anna$/, /^\d+ findings?$/);
        s.t.same(
            await page
                .locator('table.findings tr[data-row]')
                .evaluateAll((rows) => rows.every((row) => row.textContent?.includes('@anna'))),
            true,
            'all findings are hers',
        );
        await page.locator('.whom').getByRole('link', { name: 'Bo B.' }).first().click();
        await page.waitForURL(/maintainer=Bo/);
        await page.getByText('only what Bo B. maintains').waitFor();
        s.t.same(
            await chip.getByRole('link', { name: 'mail' }).getAttribute('href'),
            'mailto:bo@example.org',
            'an address',
        );
        await chip.getByRole('link', { name: "everybody's" }).click();
        await page.waitForFunction(() => !location.search);
        await page.waitForFunction(() => !document.body.textContent?.includes('only what'));
        await s.close(page);
        for (const [at, says] of [
            ['/?maintainer=ann', "'ann' maintains no package here"],
            ['/packages?maintainer=ann', 'is it @anna?'],
            ['/findings?maintainer=ann', 'is it @anna?'],
            ['/compare?maintainer=ann', 'is it @anna?'],
        ]) {
            const nobody = await s.open(at);
            await nobody.getByText(says).waitFor();
            s.t.check(await nobody.getByText('only what ann maintains').isVisible(), at);
            await s.close(nobody);
        }
    },

    async findings(s) {
        const page = await s.open('/findings');
        await page.getByText(/found something, of 39 that were asked/).waitFor();
        await page.getByText(/6 rules are asked only on request/).waitFor();
        await page.getByText(/does not hold the files: wrapper-shadows-closure/).waitFor();
        await page.getByRole('link', { name: 'R201 needed-unresolved' }).first().click();
        await page.waitForURL(/rule=needed-unresolved/);
        await page.getByText('Explanation').click();
        await page.getByText('When to ignore it').waitFor();
        await s.settled(page);
        const rows = page.locator('.findings tbody tr');
        const { total } = await s.service.json('/findings?rule=needed-unresolved');
        s.t.same(await rows.count(), total, 'findings of one rule');
        s.t.check(
            /libgone/.test((await page.locator('.findings').textContent()) ?? ''),
            'what is missing',
        );
        await page.goBack();
        await page.getByLabel('Severity').selectOption('error');
        await page.waitForURL(/severity=error/);
        await s.settled(page);
        s.t.check(
            !/warning/.test((await page.locator('.findings').textContent()) ?? ''),
            'errors alone',
        );
        await page.getByRole('link', { name: 'Broken and unread files' }).click();
        await page.getByText('liboops.so').waitFor();
        await s.close(page);
    },

    async compare(s) {
        const page = await s.open('/compare');
        await page.getByRole('link', { name: 'growing.out:bin/growing' }).waitFor();
        await page.getByRole('link', { name: /new offender/ }).click();
        await page.waitForURL(/change=new-offender/);
        s.t.same(await page.locator('[data-rows] tbody tr').count(), 1, 'one new offender');
        await page.goto(`${s.service.url}/compare?from=latest&to=index`);
        await s.settled(page);
        const chosen = await page
            .getByLabel('From')
            .evaluate((from) => from.selectedOptions[0].text);
        s.t.check(/^before, /.test(chosen), `latest is the newest audit: ${chosen}`);
        await page.getByLabel('From').selectOption('index');
        await page.getByText('No program changed by that much.').waitFor();
        await s.close(page);
        const overview = await s.open('/');
        const since = (await overview.locator('section:has(#worse)').textContent()) ?? '';
        s.t.check(
            /1 program worse/.test(since) && /growing/.test(since),
            `since the last audit: ${since}`,
        );
        await overview.getByLabel('Audit', { exact: true }).selectOption({ index: 1 });
        await overview.waitForURL(/audit=/);
        await s.settled(overview);
        s.t.check(
            /stormy/.test((await overview.locator('#offenders ~ table').textContent()) ?? ''),
            'programs of an audit',
        );
        s.t.same(
            await overview.locator('.histogram tbody tr').count(),
            10,
            "an audit's distribution",
        );
        const bucket = overview.locator('.histogram tbody tr:has(a)').last();
        const inside = Number((await bucket.locator('td').first().textContent())?.replace(',', ''));
        await bucket.locator('a').click();
        await overview.waitForURL(/min_failed=/);
        await overview.getByText(new RegExp(`^${inside} programs?,`)).waitFor();
        await s.close(overview);
    },

    async directories(s) {
        const page = await s.open('/directories');
        const first = page.locator('[data-rows] tbody tr').first();
        const { items } = await s.service.json('/directories?limit=1');
        s.t.check(
            (await first.textContent())?.includes(String(items[0].failed)),
            'the worst is first',
        );
        await page.getByRole('link', { name: 'Programs' }).click();
        await page.waitForURL(/sort=-programs/);
        await s.settled(page);
        await page.locator('a.cell').first().click();
        await page.waitForURL(/package=/);
        await page.getByText('one package alone').waitFor();
        await s.close(page);
    },

    /** A chain of libraries that is longer than calls can be nested. */
    async chain(s) {
        const path = `/programs/${await idOf(s, STORMY)}`;
        const trace = await s.service.json(`${path}/trace`);
        const name = (/** @type {number} */ n) => (n < 0 ? trace.program : `/s/liblink${n}.so`);
        const links = Array.from({ length: 20000 }, (_, n) => n);
        trace.loaded = [-1, ...links].map((n) => ({
            ...trace.loaded[0],
            path: name(n),
            by: n < 0 ? null : name(n - 1),
            phase: 0,
        }));
        trace.calls = links.map((n) => ({
            ...{ call: 'open', path: name(n), result: 'ok', phase: 0, object: name(n - 1) },
            ...{ needed: `liblink${n}.so`, stage: 'runpath', why: null },
        }));
        trace.storm.objects = links.length + 1;
        const page = await s.open('/jobs');
        await page.route(/\/trace(\?|$)/, (/** @type {any} */ route) =>
            route.fulfill({ json: trace }),
        );
        await page.goto(s.service.url + path);
        await s.settled(page);
        const edges = page.locator('.tree .edge:not(.legend-row)');
        await page.getByRole('button', { name: 'Unfold everything, 40 levels' }).click();
        await page.getByText('liblink38.so', { exact: true }).waitFor();
        const n = await edges.count();
        s.t.same(n, 41, 'levels of a chain');
        await edges
            .last()
            .getByRole('button', { name: /asked for/ })
            .click();
        await page.getByText('liblink78.so', { exact: true }).waitFor();
        const overflow = () =>
            page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        s.t.check((await overflow()) <= 0, 'a deep tree is not wider than the window');
        await page.setViewportSize({ width: 360, height: 740 });
        s.t.check((await overflow()) <= 0, 'nor than a phone');
        await s.close(page);
    },

    /** Names that want to be something else are text. */
    async hostile(s) {
        const page = await s.open('/?q=evil');
        const link = page.locator('#offenders ~ table tbody a').first();
        s.t.same(await link.textContent(), 'bin/a<b>"c\'d&e\\x0af\\xff\\x5cg', 'a name in a table');
        await link.click();
        await page.waitForURL(/\/programs\//);
        await page.waitForFunction(() => document.title.startsWith('Program'));
        await s.settled(page);
        s.t.same(
            await page.locator('main b b, main script, main h1 b').count(),
            0,
            'names become no elements',
        );
        s.t.check(
            /lib<script>\.so/.test((await page.locator('.tree').textContent()) ?? ''),
            'a needed name in the tree',
        );
        const command = await page.locator('.command code').first().textContent();
        s.t.check(
            command?.endsWith(
                `'bin/a<b>"c'\\''d&e\\x0af\\xff\\x5cg'`.replace(
                    "'bin",
                    "'/nix/store/0000000000000000000000000000evil-evil-1.0/bin",
                ),
            ),
            `quoted for the shell: ${command}`,
        );
        await s.look(page, 'hostile');
        await s.close(page);
        for (const path of [
            '/programs/%3Cimg%20src=x%20onerror=alert(1)%3E',
            '/programs/%25ff',
            '/packages/..%2F..',
            '/?after=nonsense',
            '/?sort=%3Cb%3E',
            '/findings?rule=%22',
            '/compare?from=x&to=y',
        ]) {
            const odd = await s.open(path, { silent: false });
            s.t.same(
                await odd.locator('.failure').first().isVisible(),
                true,
                `${path} says what is wrong`,
            );
            s.t.same(await odd.locator('main img').count(), 0, `${path} makes no element`);
            await s.close(odd);
        }
    },

    /** The service goes away while a page is open, and comes back. */
    async server_down(s) {
        const page = await s.open('/', { silent: false });
        const { port } = new URL(s.service.url);
        await s.service.stop();
        await page.getByRole('link', { name: 'Libraries' }).click();
        await page.getByText('The service does not answer. It is asked again').waitFor();
        await page.screenshot({ path: `${s.screens}/server-down.png`, fullPage: true });
        await page.getByRole('link', { name: 'Packages' }).click();
        await page
            .getByText(/script cannot be had|does not answer/)
            .first()
            .waitFor();
        await page.goBack();
        s.service = await new Service(s.build, s.scratch, `127.0.0.1:${port}`).ready();
        await page.waitForFunction(
            () => document.querySelectorAll('#offenders ~ table tbody tr').length > 40,
            undefined,
            { timeout: 20000 },
        );
        await s.service.planned();
        await s.close(page);
    },

    /** No index, an index of nothing. */
    async empty(s) {
        const at = `${s.scratch}/empty`;
        mkdirSync(`${at}/root/nix/store`, { recursive: true });
        const service = await new Service(s.build, at).ready('/healthz');
        const page = await s.open('/', { silent: false, url: service.url });
        await page.getByText('There is no index yet').first().waitFor();
        await page.screenshot({ path: `${s.screens}/no-index.png`, fullPage: true });
        scan(s.build, at);
        await page.getByText('There are no programs in this index.').waitFor({ timeout: 20000 });
        await s.look(page, 'empty');
        for (const path of ['/packages', '/findings', '/directories', '/compare', '/jobs']) {
            const other = await s.open(path, { url: service.url });
            const said = (await other.locator('main').textContent()) ?? '';
            s.t.check(
                /There are no|Nothing was found|No start looks|nothing but the index|No job/.test(
                    said,
                ),
                `${path} of nothing: ${said.slice(0, 200)}`,
            );
            await s.close(other);
        }
        await s.close(page);
        await service.stop();
    },

    /** A job is seen while it runs. */
    async jobs(s) {
        const page = await s.open('/jobs');
        /** @type {any} */
        const job = {
            id: 77,
            state: 'running',
            name: 'nightly',
            store: '/nix/store',
            paths: [],
            created: '2026-11-30T12:00:00Z',
            started: '2026-11-30T12:00:01Z',
            ended: null,
            attempts: 2,
            progress: { label: 'scanning', done: 250, total: 1000 },
            result: null,
            incomplete: false,
            error: null,
            audit: null,
        };
        await page.route('**/api/v1/jobs', (route) => route.fulfill({ json: { items: [job] } }));
        await page.locator('progress').waitFor({ timeout: 15000 });
        s.t.same(await page.locator('progress').getAttribute('value'), '250', 'how far it is');
        await page.getByText('scanning: 250 of 1,000').waitFor();
        await page.getByText('1 job under way').waitFor({ timeout: 15000 });
        await s.look(page, 'job-running');
        job.progress.done = 900;
        await page.getByText('scanning: 900 of 1,000').waitFor();
        await page.unroute('**/api/v1/jobs');
        await page.getByText('before').first().waitFor({ timeout: 15000 });
        await s.close(page);
    },

    /** On paper there is what is to be read. */
    async print(s) {
        const page = await s.open('/');
        await page.emulateMedia({ media: 'print' });
        s.t.same(await page.locator('.filters').isVisible(), false, 'fields are not printed');
        s.t.same(await page.locator('#offenders ~ table').isVisible(), true, 'the table is');
        await page.pdf({ path: `${s.screens}/overview.pdf` });
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
        const json = page.getByRole('link', { name: 'what it shows, as JSON' });
        s.t.same(await json.getAttribute('href'), '/api/v1/programs/x', 'the same as JSON');
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
    const program = await idOf(s, STORMY);
    return {
        overview: '/',
        program: `/programs/${program}?why=ld-preload:farm%20lifted`,
        foreign: `/programs/${await idOf(s, FOREIGN)}`,
        packages: '/packages',
        package: `/packages/${STORMY.split('/')[3]}`,
        directories: '/directories',
        findings: '/findings',
        rule: '/findings?rule=needed-unresolved',
        compare: '/compare',
        strategies: `/compare?program=${program}`,
        jobs: '/jobs',
        table: '/table',
    };
}

/** A program's id by the end of its path. @param {Scene} s @param {string} path */
async function idOf(s, path) {
    const { items } = await s.service.json('/programs?limit=1000');
    return items.find((/** @type {any} */ item) => item.path.endsWith(path)).id;
}

/** @param {Report} t @param {any} options */
export async function pages(t, options) {
    const s = new Scene(t, options);
    s.browser = await launch(options.browser);
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
