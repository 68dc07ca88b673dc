// A trace read as people ask about it: who asked for what, and where the calls went.

/** @typedef {import('./types/answers').Api.Trace} Trace */
/** @typedef {import('./types/answers').Api.Call} Call */

/**
 * An edge of the load order: somebody asked for a name, these calls were made, this came of it.
 * @typedef {object} Node
 * @property {string} name what was asked for
 * @property {string | null} path what was loaded; null: nothing
 * @property {'loaded' | 'again' | 'missing' | 'start'} outcome again: it was loaded already
 * @property {Call[]} calls
 * @property {number} opens failed, of this edge alone
 * @property {number} stats
 * @property {number} below failed opens and stats of it and of all that it asked for
 * @property {number} depth how many asked before it, one another
 * @property {Node[]} children
 */

/** @param {Call} call */
export const isFailure = (call) => !call.result.startsWith('ok');
/** Does it count: a failed open or stat, of which storms are made? @param {Call} call */
export const isCounted = (call) => isFailure(call) && /^(open|stat)$/.test(call.call);
/** @param {string} path */
const base = (path) => path.slice(path.lastIndexOf('/') + 1);

/** What came of a call, in a word. @param {Call} call */
export function word(call) {
    if (isFailure(call)) return 'miss';
    if (call.why) return 'skipped';
    if (call.result === 'ok-dir') return 'directory';
    return 'hit';
}

/** @param {string} name @param {string | null} path @param {Node['outcome']} outcome @param {Call[]} calls @returns {Node} */
function node(name, path, outcome, calls) {
    const failures = calls.filter(isFailure);
    return {
        name,
        path,
        outcome,
        calls,
        opens: failures.filter((call) => call.call === 'open').length,
        stats: failures.filter((call) => call.call === 'stat').length,
        below: 0,
        depth: 0,
        children: [],
    };
}

/**
 * How deep each node lies, and the sum of failures below it. By no recursion: a chain of libraries
 * may be longer than calls can be nested.
 * @param {Node[]} roots
 */
function measure(roots) {
    const all = [...roots];
    for (const of of all)
        for (const child of of.children) {
            child.depth = of.depth + 1;
            all.push(child);
        }
    for (const of of all.reverse())
        of.below = of.children.reduce((n, child) => n + child.below, of.opens + of.stats);
}

/** How deep the deepest lies. @param {Node[]} roots */
export function depthOf(roots) {
    const all = [...roots];
    for (const of of all) for (const child of of.children) all.push(child);
    return all.at(-1)?.depth ?? 0; // they stand by depth
}

/** Calls by who asked for what. @param {Call[]} calls */
function edgesOf(calls) {
    /** @type {Map<string, Call[]>} */
    const edges = new Map();
    for (const call of calls) {
        const key = `${call.object ?? ''}\n${call.needed ?? ''}`;
        const edge = edges.get(key);
        if (edge) edge.push(call);
        else edges.set(key, [call]);
    }
    return [...edges.values()];
}

/**
 * What one phase did: 0 is the start, the others are dlopens. The first node is the loader's own
 * business, if there was any; then what was asked for by objects of earlier phases, or the program.
 * @param {Trace} trace @param {number} phase @returns {Node[]}
 */
export function treeOf(trace, phase) {
    /** @type {Map<string, Node>} */
    const nodes = new Map();
    /** @type {Node[]} */
    const roots = [];
    const loaded = trace.loaded.filter((object) => object.phase === phase);
    const edges = edgesOf(trace.calls.filter((call) => call.phase === phase));
    /** @type {Map<string, Call[]>} edges by requester and the path that was taken */
    const hits = new Map();
    /** @type {Set<Call[]>} */
    const used = new Set();
    for (const edge of edges) {
        const hit = edge.findLast((call) => word(call) === 'hit' && call.call === 'open');
        if (hit) hits.set(`${hit.object ?? ''}\n${hit.path}`, edge);
    }
    for (const object of loaded) {
        const edge = hits.get(`${object.by ?? ''}\n${object.path}`) ?? [];
        const asked = edge[0]?.needed ?? object.soname ?? base(object.path);
        const start = !object.by && object.path === trace.program;
        const made = node(
            start ? base(object.path) : asked,
            object.path,
            start ? 'start' : 'loaded',
            edge,
        );
        used.add(edge);
        nodes.set(object.path, made);
        (nodes.get(object.by ?? '')?.children ?? roots).push(made);
    }
    for (const edge of edges) {
        if (used.has(edge)) continue;
        const { object, needed } = edge[0];
        const hit = edge.findLast((call) => word(call) === 'hit' && call.call === 'open');
        const made = needed
            ? node(needed, hit?.path ?? null, hit ? 'again' : 'missing', edge)
            : node('the loader itself', null, 'start', edge);
        if (needed) (nodes.get(object ?? '')?.children ?? roots).push(made);
        else roots.unshift(made);
    }
    measure(roots);
    return roots;
}

/**
 * Where the failed calls of all phases given went.
 * @typedef {object} Place
 * @property {string} path a directory, without its part for CPUs
 * @property {string} owner the package it lies in, as a name in the store; '' for none
 * @property {number} opens failed
 * @property {number} stats
 * @property {number} hwcaps of both, in sub-directories for CPUs
 * @property {number} hits files taken from it
 */

/** @param {Call[]} calls @param {string} store @returns {Place[]} the worst first */
export function placesOf(calls, store) {
    /** @type {Map<string, Place>} */
    const places = new Map();
    for (const call of calls) {
        if (call.call !== 'open' && call.call !== 'stat') continue;
        const failure = isFailure(call);
        if (!failure && word(call) !== 'hit') continue;
        const caps = call.path.indexOf('/glibc-hwcaps/');
        const path = call.path.slice(0, caps >= 0 ? caps : Math.max(call.path.lastIndexOf('/'), 0));
        let place = places.get(path);
        if (!place) {
            const owner = path.startsWith(`${store}/`)
                ? path.slice(store.length + 1).split('/')[0]
                : '';
            place = { path, owner, opens: 0, stats: 0, hwcaps: 0, hits: 0 };
            places.set(path, place);
        }
        if (!failure) place.hits++;
        else if (call.call === 'open') place.opens++;
        else place.stats++;
        if (failure && caps >= 0) place.hwcaps++;
    }
    return [...places.values()].sort((a, b) => b.opens + b.stats - a.opens - a.stats);
}

/** Failed calls by the stage of the search. @param {Call[]} calls @returns {[stage: string, n: number][]} */
export function stagesOf(calls) {
    /** @type {Map<string, number>} */
    const stages = new Map();
    for (const call of calls)
        if (isCounted(call)) stages.set(call.stage, (stages.get(call.stage) ?? 0) + 1);
    return [...stages].sort((a, b) => b[1] - a[1]);
}
