// Tables, their pages and filters, and lists whose filters stand in the address.
import { link, setQuery, View } from './context';
import { Child, fill, h, uniqueId } from './dom';
import { number, plural } from './format';
import type { Pagination } from './types';
import { button, load } from './ui';

export interface Column<T> {
  head: Child;
  cell(row: T): Child;
  kind?: 'wide' | 'number' | 'main' | 'widest';
}

export function table<T>(
  caption: string,
  columns: Column<T>[],
  rows: T[],
  { href }: { href?: (row: T) => string } = {},
): HTMLElement {
  const body = h('tbody');
  for (const row of rows) {
    const element = h(
      'tr',
      { class: href ? 'linked' : null },
      columns.map((column) => h('td', { class: column.kind ?? null }, column.cell(row))),
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
  return h(
    'div',
    { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h(
      'table',
      {},
      h('caption', { class: 'hidden' }, caption),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((column) => h('th', { scope: 'col', class: column.kind ?? null }, column.head)),
        ),
      ),
      body,
    ),
  );
}

export function pager(
  { page, limit, total, total_pages: pages, has_more: more }: Pagination,
  noun: string,
  many = `${noun}s`,
): HTMLElement {
  const here = page ?? 1;
  const last = Math.min(pages ?? (more ? here + 1 : here), Math.floor(100_000 / limit));
  const first = (here - 1) * limit + 1;
  const move = (target: number, text: string, shape: string, possible: boolean): HTMLElement =>
    button(text, () => setQuery({ page: target === 1 ? null : target }), { small: true, shape, disabled: !possible });
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    h(
      'span',
      {},
      total === null
        ? `Page ${number(here)}`
        : total === 0
          ? `No ${many}`
          : `${number(first)}–${number(Math.min(first + limit - 1, total))} of ${plural(total, noun, many)}`,
    ),
    (last > 1 || here > 1) &&
      h(
        'span',
        { class: 'actions' },
        move(here - 1, 'Previous', 'back', here > 1),
        move(here + 1, 'Next', 'arrow', more && here < last),
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
      button('Clear', () => setQuery(Object.fromEntries(names.map((name) => [name, null]))), {
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

// Filters above, the list below; both follow the address.
export function listInto(
  view: View,
  filters: (query: URLSearchParams) => Child,
  list: (query: URLSearchParams) => Promise<Child>,
): () => void {
  const bar = h('div', {});
  const region = h('div', {});
  view.element.append(bar, region);
  let query = view.query;
  const show = (next: URLSearchParams): void => {
    query = next;
    const index = [...bar.querySelectorAll('input, select')].indexOf(document.activeElement ?? bar);
    fill(bar, filters(next));
    if (index >= 0) bar.querySelectorAll<HTMLElement>('input, select')[index]?.focus();
    void load(region, () => list(next));
  };
  view.onQuery(show);
  show(query);
  return () => show(query);
}
