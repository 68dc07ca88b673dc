// A store for the dashboard to show, and a service over it.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const TOKEN = 'a-token-of-more-than-16-bytes';
const GLIBC = '/nix/store/0000000000000000000000000000glbc-glibc-2.38';
const LIBRARIES = 24;
const SMALL = 64; // programs, so that lists have pages

export const dir = (/** @type {number} */ n) =>
    `/nix/store/00000000000000000000000000${String(n).padStart(4, '0')}ib-part${n}-1.${n}`;
const soname = (/** @type {number} */ n) => `libpart${n}.so.${n}`;

/** Of another machine: opened, and not taken. */
const ARM = '/nix/store/00000000000000000000000000arm640-arm-1.0/lib';

/**
 * A program that storms: every library in a directory of its own, found in the last one.
 * @param {string} path @param {number} n @param {string[]} [before] directories
 */
function storm(path, n, before = []) {
    const numbers = [...Array(n).keys()];
    const dirs = numbers.map((i) => `${dir(i)}/lib`).reverse();
    const runpath = [...before, ...dirs, `${GLIBC}/lib`].join(':');
    const needed = [...numbers.map(soname), 'libc.so.6'].map((name) => `needed=${name}`);
    return `program ${path} interp=${GLIBC}/lib/ld-linux-x86-64.so.2 ${needed.join(' ')} runpath=${runpath}`;
}

function library(/** @type {number} */ n) {
    const next = n + 1 < LIBRARIES ? [n + 1] : [];
    const runpath = [...next.map((i) => `${dir(i)}/lib`), `${GLIBC}/lib`].join(':');
    const needed = [...next.map(soname), 'libc.so.6'].map((name) => `needed=${name}`);
    return `library ${dir(n)}/lib/${soname(n)} soname=${soname(n)} ${needed.join(' ')} runpath=${runpath}`;
}

const STORM = '/nix/store/00000000000000000000000000storm9-stormy-3.1';
export const STORMY = `${STORM}/bin/stormy`;

/** What a channel says of some of it; names of all kinds, and one that is no link. */
const CHANNEL = {
    stormy: {
        name: 'stormy-3.1',
        pname: 'stormy',
        version: '3.1',
        meta: {
            maintainers: [
                { name: 'Anna A.', github: 'anna', email: 'anna@example.org' },
                { name: 'Bo B.', email: 'bo@example.org' },
                { name: '<img src=x>', github: 'javascript:alert(1)' },
                { name: 'Cleo' },
            ],
            position: 'pkgs/by-name/st/stormy/package.nix:42',
        },
    },
    small: { name: 'small-2.1', pname: 'small', version: '2.1', meta: { maintainers: [] } },
};

/** Its loader is nowhere, and that takes a long sentence. */
export const FOREIGN = '/nix/store/0000000000000000000000000foreig0-foreign-1.0/bin/foreign';

/** The tree as text: that of the service's tests, and what pages need beyond it. */
export function tree(/** @type {boolean} */ later) {
    const small = [...Array(SMALL).keys()].map((n) =>
        storm(`/nix/store/00000000000000000000000000smal21-small-2.1/bin/small${n}`, 1 + (n % 7)),
    );
    const parts = [...Array(LIBRARIES).keys()].map(library);
    const old = '/nix/store/00000000000000000000000000grow11-growing-1.1/bin/growing';
    return [
        readFileSync('tests/server/tree', 'utf8').trimEnd(),
        ...parts,
        ...small,
        storm(STORMY, LIBRARIES, [ARM]),
        `library ${ARM}/${soname(3)} soname=${soname(3)} machine=aarch64`,
        `program ${FOREIGN} interp=/lib64/ld-linux-x86-64.so.2 needed=libc.so.6`,
        storm(old, later ? LIBRARIES - 4 : 2),
        '',
    ].join('\n');
}

/** @param {string} build @param {string} at @param {string} text */
export function makeStore(build, at, text) {
    mkdirSync(at, { recursive: true });
    rmSync(`${at}/root`, { recursive: true, force: true });
    writeFileSync(`${at}/tree`, text);
    run(`${build}/tests/mktree`, [`${at}/tree`, `${at}/root`]);
}

/** @param {string} build @param {string} at */
export function scan(build, at) {
    writeFileSync(`${at}/packages.json`, JSON.stringify({ version: 2, packages: CHANNEL }));
    const meta = ['--meta', `${at}/packages.json`];
    run(`${build}/stormlint`, ['scan', '--root', `${at}/root`, '--db', `${at}/index.db`, ...meta]);
}

/** @param {string} program @param {string[]} args */
export function run(program, args) {
    const done = spawnSync(program, args, { encoding: 'utf8' });
    if (done.status) throw new Error(`${program} ${args.join(' ')}: ${done.stdout}${done.stderr}`);
    return done.stdout;
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
});

/** The service over `at`/index.db. */
export class Service {
    /** @param {string} build @param {string} at @param {string} [listen] @param {string[]} [options] */
    constructor(build, at, listen = '127.0.0.1:0', options = []) {
        writeFileSync(`${at}/token`, `${TOKEN}\n`);
        chmodSync(`${at}/token`, 0o600);
        const db = ['--db', `${at}/index.db`, '--state', `${at}/state`];
        this.said = '';
        this.url = '';
        this.child = spawn(
            `${build}/stormlint`,
            ['serve', ...db, '--listen', listen, '--token-file', `${at}/token`, ...options],
            { stdio: ['ignore', 'pipe', 'pipe'] },
        );
        running.add(this.child);
        const hear = (/** @type {Buffer} */ data) => {
            this.said += data;
        };
        this.child.stdout?.on('data', hear);
        this.child.stderr?.on('data', hear);
    }

    /** Wait until it answers `path` with 200. */
    async ready(path = '/readyz') {
        for (let tries = 0; tries < 600; tries++) {
            this.url ||= /listening on (http:\/\/\S+)/.exec(this.said)?.[1] ?? '';
            if (this.child.exitCode !== null) break;
            if (this.url && (await fetch(this.url + path).catch(() => null))?.ok) return this;
            await pause(50);
        }
        throw new Error(`the service is not ready: ${this.said}`);
    }

    async json(/** @type {string} */ path) {
        return (await fetch(`${this.url}/api/v1${path}`)).json();
    }

    /** All plans are made. */
    async planned() {
        for (let tries = 0; tries < 600; tries++) {
            const { plans } = await this.json('/summary');
            if (plans.planned === plans.packages) return;
            await pause(50);
        }
        throw new Error('plans are not made');
    }

    async post(/** @type {string} */ path, /** @type {any} */ body) {
        const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
        const to = `${this.url}/api/v1${path}`;
        return (await fetch(to, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    }

    /** An audit of the whole store, and wait for it. */
    async audit(/** @type {string} */ name) {
        const { id } = await this.post('/audits', { name });
        for (let tries = 0; tries < 600; tries++) {
            const job = await this.json(`/jobs/${id}`);
            if (job.state === 'done') return job.audit;
            if (job.state === 'failed') break;
            await pause(50);
        }
        throw new Error(
            `audit ${name} was not made: ${JSON.stringify(await this.json(`/jobs/${id}`))}`,
        );
    }

    async stop() {
        if (this.child.exitCode !== null) return;
        const gone = new Promise((resolve) => this.child.once('exit', resolve));
        this.child.kill('SIGTERM');
        await gone;
        running.delete(this.child);
    }
}

export const pause = (/** @type {number} */ ms) =>
    new Promise((resolve) => setTimeout(resolve, ms));
