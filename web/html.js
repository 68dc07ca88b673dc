// Markup: htm over Preact, and the hooks, from one place.
import htm from './vendor/htm.js';
import { h } from './vendor/preact.js';

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
export { useEffect, useId, useMemo, useRef, useState } from './vendor/hooks.js';
export { render } from './vendor/preact.js';
