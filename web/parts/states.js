// Loading, empty, failed: said honestly, and the same way everywhere.
import { html } from '../html.js';

/** @typedef {import('../api.js').Trouble} Trouble */

/** @param {{what?: string}} props */
export const Loading = ({ what = 'Loading' }) =>
    html`<p class="state" role="status"><span class="pulse" aria-hidden="true"></span>${what} …</p>`;

/** @param {Trouble} error */
function sentence(error) {
    if (error.status === 0)
        return 'The service does not answer. It is asked again every few seconds.';
    if (error.status === 404) return `Not found: ${error.message}.`;
    if (/there is no index/.test(error.message))
        return 'There is no index yet: “stormlint scan” makes one. It is looked for again by itself.';
    if (error.status === 503) return `Not yet: ${error.message}. It is asked again by itself.`;
    return `It went wrong (${error.status || error.code}): ${error.message}.`;
}

/** @param {{error: Trouble, again: () => void, what?: string}} props */
export const Failure = ({ error, again, what }) => html`
    <div class="state failure" role="alert">
        <p>${what ? `${what}: ` : ''}${sentence(error)}</p>
        <button type="button" onClick=${again}>Ask again</button>
    </div>`;

/**
 * What was asked for, or why it is not there yet.
 * @template T
 * @param {{of: import('../api.js').Asked<T>, what?: string, children: (data: T) => any}} props
 */
export function Await({ of, what, children }) {
    if (of.data === null)
        return of.error
            ? html`<${Failure} error=${of.error} again=${of.again} what=${what} />`
            : html`<${Loading} what=${what} />`;
    return html`
        ${of.error && html`<div class="state failure" role="alert"><p>${sentence(of.error)} What follows was read before.</p></div>`}
        ${children(of.data)}`;
}
