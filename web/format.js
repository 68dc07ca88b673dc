// Numbers and times as they are shown, everywhere the same.

const NUMBER = new Intl.NumberFormat('en');

/** @param {number} n */
export const number = (n) => NUMBER.format(n);

/**
 * "3 programs", "1 program".
 * @param {number} n @param {string} one @param {string} [many]
 */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** A part of a whole in percent: never 0 % or 100 % of what is not. @param {number} part @param {number} whole */
export function percent(part, whole) {
    if (!whole) return '–';
    const p = (100 * part) / whole;
    if (p > 0 && p < 1) return '< 1 %';
    if (p > 99 && p < 100) return '> 99 %';
    return `${number(Math.round(p))} %`;
}

/** A change in calls, with its sign. @param {number} n */
export const change = (n) => (n > 0 ? `+${number(n)}` : n < 0 ? `−${number(-n)}` : '±0');

/** @param {number | null} n */
export function bytes(n) {
    if (n === null) return 'unknown';
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let at = 0;
    let value = n;
    for (; value >= 1024 && at < units.length - 1; at++) value /= 1024;
    return `${at && value < 10 ? value.toFixed(1) : number(Math.round(value))} ${units[at]}`;
}

/** "2026-11-30 18:07 UTC". @param {string | null | undefined} text */
export const time = (text) => (text ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : 'unknown');

/** Failed opens and stats together. @param {{failed_opens: number, failed_stats: number}} storm */
export const failed = (storm) => storm.failed_opens + storm.failed_stats;

/** The same word for the shell, in single quotes where it must be. @param {string} text */
export const quoted = (text) =>
    /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
