// Store paths, packages, programs, and words for what is known about them.
import { html } from '../html.js';
import { packageHref } from '../url.js';

/** @typedef {{id: string, pname: string, version: string | null, output: string, path: string}} PackageRef */

/** Without store and hash. @param {string} path "/nix/store/HASH-name/bin/x" becomes "name/bin/x" */
export const shortPath = (path) => path.replace(/^\/(?:nix|gnu)\/store\/(?:[0-9a-z*]{32}|\*)-/, '');

/** @param {{of: PackageRef | null}} props */
export const Package = ({ of }) =>
    of
        ? html`<a class="quiet" href=${packageHref(of.id)} title=${of.path}>${of.pname}</a>${of.version && html` <small>${of.version}</small>`}${of.output !== 'out' && html` <small>${of.output}</small>`}`
        : html`<small>no package</small>`;

/** @param {{id: string}} props a package's name in the store */
export const PackageId = ({ id }) =>
    html`<a class="quiet" href=${packageHref(id)} title=${id}>${id.replace(/^[0-9a-z]{32}-/, '')}</a>`;

/** "bin/magick" of "imagemagick.out:bin/magick". @param {string} key */
export const programName = (key) => (key.includes(':') ? key.slice(key.indexOf(':') + 1) : key);

/** Whether the program starts, if it is worth a word. @param {{exit: string}} props */
export const Exit = ({ exit }) =>
    exit === 'ok'
        ? null
        : html`<span class=${exit === 'not dynamic' ? 'tag' : 'tag miss'}>${exit}</span>`;

/** A strategy as it is written everywhere. @param {{strategy: string, scope?: string | null}} of */
export const method = ({ strategy, scope }) =>
    strategy === 'none' || !scope ? strategy : `${strategy} ${scope}`;

/** Numbers come from the model; nothing is run here. */
export const Predicted = () =>
    html`<span class="tag predicted" title="by the model of the loader; nothing is run by this service">predicted</span>`;
