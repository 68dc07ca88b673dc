// All packages: which hold the worst programs.
import { useData } from '../api.js';
import { bytes, count, number } from '../format.js';
import { html } from '../html.js';
import { Predicted } from '../parts/names.js';
import { Whom, Whose } from '../parts/origin.js';
import { Await } from '../parts/states.js';
import { Choice, Pager, Search, Table } from '../parts/table.js';
import { api, packageHref, useUrl } from '../url.js';

/** @typedef {import('../types/answers').Api.Package} Package */

/** @type {import('../parts/table.js').Column<Package>[]} */
const COLUMNS = [
    {
        label: 'Package',
        main: true,
        sort: 'name',
        cell: (p) =>
            html`<a href=${packageHref(p.id)} title=${p.path}>${p.pname}</a> <small>${p.version ?? ''}${p.output === 'out' ? '' : ` ${p.output}`}</small>${p.state !== 'scanned' && html` <span class="tag miss">${p.state}</span>`}<${Whom} of=${p} lead=${html`<br />`} />`,
    },
    {
        label: 'Worst program',
        num: true,
        sort: 'failed',
        title: 'Failed opens and stats of one start',
        cell: (p) => (p.programs ? number(p.failed) : '–'),
    },
    { label: 'Programs', num: true, sort: 'programs', cell: (p) => number(p.programs) },
    { label: 'ELF objects', num: true, sort: 'objects', cell: (p) => number(p.objects) },
    { label: 'Size', num: true, sort: 'nar_size', cell: (p) => bytes(p.nar_size) },
];

export function Page() {
    const url = useUrl();
    const { q, programs, maintainer, after } = Object.fromEntries(url.searchParams);
    const sort = url.searchParams.get('sort') ?? '-failed';
    const address = api('packages', { q, programs, maintainer, after, sort, limit: 50 });
    const packages = useData(address);
    return html`
        <h1>Packages <${Predicted} /></h1>
        <div class="filters">
            <${Search} label="Name contains" />
            <${Choice} name="programs" label="Show" options=${[
                ['', 'all packages'],
                ['true', 'those with programs'],
            ]} />
            <${Whose} rows=${packages.data?.items} />
        </div>
        <${Await} of=${packages} what="Reading packages">${(
            /** @type {NonNullable<typeof packages.data>} */ page,
        ) => html`
            <${Table} caption=${`${count(page.total, 'package')}; failed calls are those of the worst program`} columns=${COLUMNS} rows=${page.items} sort=${sort}
                keyOf=${(/** @type {Package} */ p) => p.id} none=${page.why_none ? `${page.why_none}.` : q || programs ? 'No package is like that.' : 'There are no packages in this index.'} />
            <${Pager} page=${page} address=${address} />`}<//>`;
}
