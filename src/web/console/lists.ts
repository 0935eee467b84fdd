// Tables, their pages and filters, and lists whose filters stand in the address.
import { isProblem, Parameters, read } from './api';
import { link, setQuery, View } from './context';
import { CsvColumn, exportButton } from './csv';
import { Child, fill, h, set, uniqueId } from './dom';
import { number, plural } from './format';
import type { Page } from './types';
import { button, emptyState, load } from './ui';

export interface Column<T> {
  head: string; // stands beside the cell where the window is narrow
  cell(row: T): Child;
  kind?: 'wide' | 'number' | 'main' | 'widest';
  order?(row: T): string | number | null; // what the column sorts by
}

// The rows are all that there are, or a page of them. The API orders by id alone (api.md §7), and to sort a page alone would lie.
export type Extent = 'whole' | 'page';

const unsortable = 'A list of several pages is sorted by id alone. With filters that leave one page, its columns sort it.';

// By which column each table was sorted last: it is so again when one comes back.
const sortings = new Map<string, { head: string; descending: boolean }>();

// What has no value comes last, in either direction.
function compare(left: string | number | null, right: string | number | null, descending: boolean): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  const order =
    typeof left === 'number' && typeof right === 'number'
      ? left - right
      : String(left).localeCompare(String(right), 'en', { numeric: true });
  return descending ? -order : order;
}

// A table whose columns sort it: by one click up, by the second down, by the third as it was.
function sortable<T>(caption: string, columns: Column<T>[], rows: T[], heads: HTMLElement[], body: HTMLElement): void {
  const elements = new Map(rows.map((row, index) => [row, body.children[index]!]));
  const sort = (): void => {
    const { head, descending = false } = sortings.get(caption) ?? {};
    const column = columns.find((each) => each.head === head);
    heads.forEach((each, index) =>
      set(each, { 'aria-sort': columns[index] !== column ? null : descending ? 'descending' : 'ascending' }),
    );
    const sorted = column?.order ? [...rows].sort((left, right) => compare(column.order!(left), column.order!(right), descending)) : rows;
    body.append(...sorted.map((row) => elements.get(row)!));
  };
  columns.forEach(({ head, order }, index) => {
    if (!order) return;
    const choose = (): void => {
      const last = sortings.get(caption);
      if (last?.head === head && last.descending) sortings.delete(caption);
      else sortings.set(caption, { head, descending: last?.head === head });
      sort();
    };
    fill(heads[index]!, h('button', { class: 'sort', type: 'button', title: `Sort by ${head.toLowerCase()}`, onclick: choose }, head));
  });
  sort();
}

export function table<T>(
  caption: string,
  columns: Column<T>[],
  rows: T[],
  { href, extent }: { href?: (row: T) => string; extent?: Extent } = {},
): HTMLElement {
  const body = h('tbody');
  const heads = columns.map(({ head, kind, order }) =>
    h('th', { scope: 'col', class: kind ?? null, title: order && extent === 'page' ? unsortable : null }, head),
  );
  for (const row of rows) {
    const element = h(
      'tr',
      { class: href ? 'linked' : null },
      columns.map((column) => h('td', { class: column.kind ?? null, 'data-head': column.head }, column.cell(row))),
    );
    if (href) {
      // The whole row leads there by mouse; by keyboard its link does.
      element.addEventListener('click', (event) => {
        if ((event.target as Element).closest('a, button, input, label') || getSelection()?.toString()) return;
        location.hash = href(row);
      });
    }
    body.append(element);
  }
  if (extent === 'whole') sortable(caption, columns, rows, heads, body);
  return h(
    'div',
    { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      { class: 'records' },
      h('caption', { class: 'hidden' }, caption),
      h(
        'thead',
        {},
        h('tr', {}, heads),
      ),
      body,
    ),
  );
}

// A filter of a list: what it is set to stands in the address.
export function filterSelect(
  label: string,
  name: string,
  query: URLSearchParams,
  choices: readonly (readonly [string, string])[],
): HTMLElement {
  const chosen = query.get(name) ?? '';
  return h(
    'label',
    { class: chosen ? 'filter set' : 'filter' },
    h('span', {}, label),
    h(
      'select',
      { onchange: (event) => setQuery({ [name]: (event.target as HTMLSelectElement).value }), value: chosen },
      choices.map(([value, text]) => h('option', { value }, text)),
    ),
  );
}
export function filterText(
  label: string,
  name: string,
  query: URLSearchParams,
  {
    placeholder = '',
    size = 14,
    type = 'search',
    list,
  }: { placeholder?: string; size?: number; type?: string; list?: string } = {},
): HTMLElement {
  const input = h('input', {
    type,
    value: query.get(name) ?? '',
    placeholder,
    size,
    list: list ?? null,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const apply = (): void => setQuery({ [name]: input.value.trim() });
  input.addEventListener('change', apply);
  input.addEventListener('search', apply);
  return h('label', { class: query.get(name) ? 'filter set' : 'filter' }, h('span', {}, label), input);
}
export function filterBar(query: URLSearchParams, names: string[], ...filters: Child[]): HTMLElement {
  const isSet = names.some((name) => query.has(name));
  return h(
    'div',
    { class: 'filters', role: 'group', 'aria-label': 'Filters' },
    filters,
    isSet &&
      button('Clear filters', () => setQuery(Object.fromEntries(names.map((name) => [name, null]))), {
        kind: 'quiet',
        small: true,
        shape: 'close',
      }),
  );
}

// Radio buttons that look like one control.
export function segments(
  label: string,
  choices: readonly (readonly [string, string])[],
  chosen: string,
  choose: (value: string) => void,
): HTMLElement {
  const name = uniqueId('segments');
  return h(
    'fieldset',
    { class: 'segments' },
    h('legend', { class: 'hidden' }, label),
    choices.map(([value, text]) =>
      h(
        'label',
        {},
        h('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => choose(value) }),
        h('span', {}, text),
      ),
    ),
  );
}

export const tabs = (label: string, here: string, entries: readonly (readonly [string, string])[]): HTMLElement =>
  h(
    'nav',
    { class: 'tabs', 'aria-label': label },
    entries.map(([text, path]) => h('a', { href: link(path), 'aria-current': path === here ? 'page' : null }, text)),
  );

// ---- lists of the API (api.md §7) ----

export interface List<T> {
  path: string;
  nouns: readonly [string, string]; // of one, of many
  shape: string; // the icon of what is not there
  filters: readonly string[]; // the parameters of the address that filter
  bar(query: URLSearchParams): Child[];
  parameters(query: URLSearchParams): Parameters; // of the requests, from those of the address
  show(rows: T[], extent: Extent): Child;
  nothing(): Child; // where the list is empty without a filter
  csv: CsvColumn<T>[];
}

const pageSize = 50; // at most 100: one request for usage names all keys of a page

// The page at the address. One that ended early may be empty although there are more.
async function readPage<T>(list: List<T>, query: URLSearchParams, sort: Parameters, signal: AbortSignal): Promise<Page<T>> {
  let cursor = query.get('cursor');
  for (;;) {
    const page = await read<Page<T>>(
      list.path,
      { ...list.parameters(query), ...sort, limit: pageSize, cursor, page: cursor === null ? query.get('page') : null },
      signal,
    );
    cursor = page.pagination.next_cursor;
    if (page.data.length > 0 || cursor === null) return page;
  }
}

// Where the pages begin to which one came by going on: by number one gets to the first 100,000 records only.
const trail = new Map<string, string>();

function pager<T>({ pagination, data }: Page<T>, list: List<T>, query: URLSearchParams, newestFirst: boolean): HTMLElement {
  const [noun, many] = list.nouns;
  const { total, next_cursor: next } = pagination;
  const here = Number(query.get('page') ?? 1);
  const first = (here - 1) * pageSize + 1;
  const place = (page: number): string => {
    const filters = list.filters.map((name) => query.get(name) ?? '');
    return JSON.stringify([list.path, ...filters, newestFirst, page]);
  };
  const move = (page: number, cursor: string | null, text: string, shape: string, possible: boolean): HTMLElement =>
    button(text, () => setQuery({ page: page > 1 ? page : null, cursor }), { small: true, shape, disabled: !possible });
  if (next !== null) trail.set(place(here + 1), next);
  const [before, after] = newestFirst ? ['Newer', 'Older'] : ['Older', 'Newer'];
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    h(
      'span',
      {},
      total === null
        ? `Page ${number(here)}`
        : `${number(first)}–${number(Math.min(first + data.length - 1, total))} of ${plural(total, noun, many)}`,
    ),
    (next !== null || here > 1) &&
      h(
        'span',
        { class: 'actions' },
        move(here - 1, here > 2 ? (trail.get(place(here - 1)) ?? null) : null, before!, 'back', here > 1),
        move(here + 1, next, after!, 'arrow', next !== null),
      ),
  );
}

// Filters above, the list below; both follow the address.
export function showList<T>(view: View, list: List<T>): void {
  const bar = h('div', {});
  const region = h('div', {});
  view.element.append(bar, region);
  const show = (query: URLSearchParams): void => {
    const focused = [...bar.querySelectorAll('input, select')].indexOf(document.activeElement ?? bar);
    const newestFirst = query.get('sort') !== 'id';
    const sort = { sort: newestFirst ? '-id' : 'id' };
    const isFiltered = list.filters.some((name) => query.has(name));
    fill(
      bar,
      filterBar(
        query,
        [...list.filters],
        list.bar(query),
        filterSelect('Order', 'sort', query, [
          ['', 'newest first'],
          ['id', 'oldest first'],
        ]),
        exportButton(list.path, { ...list.parameters(query), ...sort }, list.csv, list.nouns, view.signal),
      ),
    );
    if (focused >= 0) bar.querySelectorAll<HTMLElement>('input, select')[focused]?.focus();
    void load(region, async () => {
      const page = await readPage(list, query, sort, view.signal).catch((error: unknown) => {
        if (!isProblem(error, 'invalid_cursor') || !query.has('cursor')) throw error;
        setQuery({}, true); // the first page: that cursor is of another time
        throw new DOMException('', 'AbortError');
      });
      const isWhole = page.pagination.next_cursor === null && !query.has('page') && !query.has('cursor');
      if (page.data.length > 0)
        return [list.show(page.data, isWhole ? 'whole' : 'page'), pager(page, list, query, newestFirst)];
      if (!isFiltered && !query.has('page') && !query.has('cursor')) return list.nothing();
      return isFiltered
        ? emptyState(
            list.shape,
            `No ${list.nouns[0]} matches`,
            'All of them were looked at.',
            button('Clear filters', () => setQuery(Object.fromEntries(list.filters.map((name) => [name, null])))),
          )
        : emptyState(
            list.shape,
            `No more ${list.nouns[1]}`,
            'The list ends before this page.',
            button('First page', () => setQuery({})),
          );
    });
  };
  view.onQuery(show);
  show(view.query);
}
