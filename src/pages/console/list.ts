// A list whose filters stand in the address.
import type { View } from './context';
import { Child, fill, h } from './dom';
import { load } from './ui';

// Filters above, the list below; both follow the address.
export function listInto(view: View, filters: (query: URLSearchParams) => Child, list: (query: URLSearchParams) => Promise<Child>): () => void {
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
