// Which packages' directories are searched in vain most, by all starts together.
import { useData } from '../api.js';
import { count, number, percent } from '../format.js';
import { html } from '../html.js';
import { Package, Predicted, shortPath } from '../parts/names.js';
import { Whom } from '../parts/origin.js';
import { Await } from '../parts/states.js';
import { Pager, Table } from '../parts/table.js';
import { Treemap } from '../parts/treemap.js';
import { api, useUrl, withParams } from '../url.js';

/** @typedef {import('../types/answers').Api.Directory} Directory */

/** @type {import('../parts/table.js').Column<Directory>[]} */
const COLUMNS = [
    {
        label: 'Directory',
        main: true,
        sort: 'path',
        cell: (d) => html`<span class="path" title=${d.path}>${shortPath(d.path)}</span>`,
    },
    {
        label: 'Package',
        cell: (d) =>
            html`<${Package} of=${d.package} /><${Whom} of=${d.package} lead=${html`<br />`} />`,
    },
    { label: 'Failed calls', num: true, sort: 'failed', cell: (d) => number(d.failed) },
    { label: 'Opens', num: true, cell: (d) => number(d.failed_opens) },
    { label: 'Stats', num: true, cell: (d) => number(d.failed_stats) },
    {
        label: 'For CPUs',
        num: true,
        title: 'in sub-directories for CPUs (glibc-hwcaps)',
        cell: (d) => html`${number(d.hwcaps)} <small>${percent(d.hwcaps, d.failed)}</small>`,
    },
    { label: 'Files taken', num: true, cell: (d) => number(d.hits) },
    {
        label: 'Programs',
        num: true,
        sort: 'programs',
        title: 'whose starts look there in vain',
        cell: (d) => number(d.programs),
    },
];

export function Page() {
    const url = useUrl();
    const { after } = Object.fromEntries(url.searchParams);
    const sort = url.searchParams.get('sort') ?? '-failed';
    const owner = url.searchParams.get('package');
    const worst = useData(api('directories', { limit: 300 }));
    const address = api('directories', { sort, after, package: owner, limit: 50 });
    const list = useData(address);
    /** @param {Directory[]} rows */
    const cells = (rows) =>
        rows.map((d) => ({
            name: d.package?.id ?? '',
            label: shortPath(d.path),
            title: d.path,
            value: d.failed,
        }));
    return html`
        <h1>Directories <${Predicted} /></h1>
        <p>Where the failed calls go when every program is started once. A directory that many calls fail in and few files are taken from stands too early in too many run paths.</p>
        ${owner ? html`<p class="chip">one package alone <a href=${withParams(url, { package: null })}>all packages</a></p>` : ''}
        ${
            !owner &&
            !after &&
            html`<${Await} of=${worst} what="Following all starts">${(/** @type {NonNullable<typeof worst.data>} */ page) => html`<${Treemap} cells=${cells(page.items)} param="package" label="Failed calls by directory, the worst of them" />`}<//>`
        }
        <div data-rows><${Await} of=${list} what="Following all starts">${(
            /** @type {NonNullable<typeof list.data>} */ page,
        ) => html`
            <${Table} caption=${count(page.total, 'directory', 'directories')} columns=${COLUMNS} rows=${page.items} sort=${sort} keyOf=${(/** @type {Directory} */ d) => d.path} none="No start looks anywhere in vain." />
            <${Pager} page=${page} address=${address} />`}<//></div>`;
}
