// What can be said of the dashboard without a browser: format, types, size, what it refers to.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const SITE = 'build/site';
const SIZE_MAX = 60_000; // bytes, compressed

/** @param {string} at @returns {string[]} */
function files(at) {
    return readdirSync(at, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? files(`${at}/${entry.name}`) : [`${at}/${entry.name}`],
    );
}

/** @param {import('./suite.mjs').Report} t @param {string} text @param {string} program @param {string[]} args @param {string} [cwd] */
function command(t, text, program, args, cwd = '.') {
    if (!existsSync(program)) return t.skip(`${text}: there is no ${program} (make npm)`);
    const done = spawnSync(resolve(program), args, { encoding: 'utf8', cwd });
    t.check(done.status === 0, `${text}:\n${done.stdout}${done.stderr}`);
}

/** @param {import('./suite.mjs').Report} t @param {string} modules @param {string[]} wanted */
export async function sources(t, modules, wanted) {
    if (wanted.length && !wanted.includes('sources')) return;
    t.name = 'sources';
    const lint = ['check', '--error-on-warnings', `--config-path=${resolve('web')}`, '.'];
    for (const folder of ['web', 'tests/web'])
        command(t, `format and lint of ${folder}`, `${modules}/.bin/biome`, lint, folder);
    spawnSync('node', ['tests/web/types.mjs', 'build/web-types/schemas.d.ts']);
    command(t, 'types', `${modules}/.bin/tsc`, ['-p', 'web']);
    const served = files(SITE).filter((path) => !path.endsWith('/.stamp'));
    let size = 0;
    for (const path of served) {
        const text = readFileSync(path);
        if (!path.endsWith('licences.txt')) size += gzipSync(text, { level: 9 }).length;
        if (path.endsWith('.js') && !path.includes('/vendor/')) {
            const lines = (/** @type {string} */ at) => readFileSync(at, 'utf8').split('\n').length;
            const source = `web${path.slice(SITE.length)}`;
            t.same(lines(path), lines(source), `${path}: lines as in ${source}`);
            const parsed = spawnSync('node', ['--check', '--input-type=module'], { input: text });
            t.check(parsed.status === 0, `${path} is no module: ${parsed.stderr}`);
        }
        const outside = /(?:from|import|src=|href=|url\(|fetch\()\s*\(?["'](?:https?:)?\/\//.exec(
            text.toString(),
        );
        t.check(!outside, `${path} refers to another host: ${outside?.[0]}`);
        for (const [, name] of text.toString().matchAll(/modulepreload" href="([^"]+)"/g))
            t.check(existsSync(SITE + name), `${path} names ${name}, which is not there`);
    }
    console.log(`${served.length} files, ${size} bytes compressed`);
    t.check(size <= SIZE_MAX, `${size} bytes compressed, more than ${SIZE_MAX}`);
    for (const lock of ['web/package-lock.json', 'tests/npm/package-lock.json'])
        t.check(!readFileSync(lock, 'utf8').includes('"resolved"'), `${lock} names a registry`);
}
