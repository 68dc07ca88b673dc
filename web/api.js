// The HTTP interface: one way to ask, and what a page knows while it waits.
import { useEffect, useRef, useState } from './html.js';

/** What went wrong, for people. `status` 0: the service does not answer. */
export class Trouble extends Error {
    /** @param {number} status @param {string} code @param {string} detail @param {number} [retry] */
    constructor(status, code, detail, retry = 0) {
        super(detail);
        this.status = status;
        this.code = code;
        this.retry = retry; // seconds; 0: asking again is of no use
    }
}

/** @param {string} path @param {AbortSignal} [signal] */
export async function get(path, signal) {
    /** @type {Response} */
    let response;
    try {
        response = await fetch(path, { signal, headers: { Accept: 'application/json' } });
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new Trouble(0, 'unreachable', 'The service does not answer.', 3);
    }
    if (response.ok) return response.json();
    const problem = await response.json().catch(() => ({}));
    throw new Trouble(
        response.status,
        problem.code ?? 'unknown',
        problem.detail ?? `The service answered ${response.status}.`,
        response.status === 503 ? Number(response.headers.get('Retry-After')) || 2 : 0,
    );
}

const KEPT = 60;
/** What was answered last, so that going back shows it at once. @type {Map<string, any>} */
const answers = new Map();

/** @param {string} path @param {any} data */
function keep(path, data) {
    answers.delete(path);
    answers.set(path, data);
    for (const oldest of answers.keys()) {
        if (answers.size <= KEPT) return;
        answers.delete(oldest);
    }
}

/**
 * What `path` answers. `data` is null until there is something, and stays what it was when asking
 * again fails; then `error` says why.
 * @template T
 * @typedef {{data: T | null, error: Trouble | null, again: () => void}} Asked
 */

/**
 * @template T
 * @param {import('./types/answers').Address<T> | null} path null: nothing is asked
 * @param {(data: T) => number} [every] ask again after so many ms; 0: no more
 * @returns {Asked<T>}
 */
export function useData(path, every) {
    const [count, setCount] = useState(0);
    const [, redraw] = useState(0);
    /** @type {{current: {path: string | null, data: T | null, error: Trouble | null}}} */
    const held = useRef({ path: null, data: null, error: null });
    if (held.current.path !== path)
        held.current = { path, data: path ? (answers.get(path) ?? null) : null, error: null };
    useEffect(() => {
        if (!path) return;
        const abort = new AbortController();
        /** @type {ReturnType<typeof setTimeout> | undefined} */
        let timer;
        const later = (/** @type {number} */ ms) => {
            if (ms) timer = setTimeout(() => setCount((n) => n + 1), ms);
        };
        get(path, abort.signal).then(
            (data) => {
                if (abort.signal.aborted) return;
                keep(path, data);
                held.current = { path, data, error: null };
                redraw((n) => n + 1);
                later(every?.(data) ?? 0);
            },
            (error) => {
                if (abort.signal.aborted) return;
                held.current = { ...held.current, error };
                redraw((n) => n + 1);
                later((error.retry ?? 0) * 1000);
            },
        );
        return () => {
            abort.abort();
            clearTimeout(timer);
        };
    }, [path, count]);
    return {
        data: held.current.data,
        error: held.current.error,
        again: () => setCount((n) => n + 1),
    };
}
