import { element } from './dom';
import { type Entry, find, type Prepared, prepare, suggestions } from './search_index';

// A combobox (WAI-ARIA) over the index that the service made of all pages. It is loaded when the field is used first.

export function addSearch(): void {
  const place = document.getElementById('search');
  const source = place?.dataset.index;
  if (!place || !source) return;
  const field = element('input', { type: 'search', role: 'combobox', id: 'search-field', placeholder: 'Search', autocomplete: 'off',
    spellcheck: 'false', 'aria-label': 'Search the documents', 'aria-expanded': 'false', 'aria-controls': 'search-results', 'aria-autocomplete': 'list' });
  const list = element('ul', { role: 'listbox', id: 'search-results', 'aria-label': 'Results' });
  const status = element('p', { role: 'status', class: 'hidden-text' });
  list.hidden = true;
  place.append(field, element('kbd', { 'aria-hidden': 'true' }, '/'), list, status);

  let index: Promise<Prepared[]> | undefined;
  let results: Entry[] = [];
  let others: string[] = []; // words to try where nothing was found
  let active = 0;
  const load = () => (index ??= fetch(source).then((response) => {
    if (!response.ok) throw new Error(String(response.status));
    return response.json();
  }).then((entries: Entry[]) => entries.map(prepare)));

  const mark = (next: number) => {
    active = next;
    [...list.children].forEach((option, number) => option.setAttribute('aria-selected', String(number === active)));
    const option = list.children[active];
    if (option) field.setAttribute('aria-activedescendant', option.id);
    else field.removeAttribute('aria-activedescendant');
    option?.scrollIntoView({ block: 'nearest' });
  };
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    field.value = '';
    field.blur();
    location.assign(entry.path);
  };
  const close = () => {
    list.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  };
  const show = () => {
    list.replaceChildren(...results.map((entry, number) => {
      const option = element('li', { role: 'option', id: `search-result-${number}`, 'aria-selected': 'false' },
        element('span', { class: 'kind' }, entry.kind), element('strong', {}, entry.title), element('span', { class: 'text' }, entry.text));
      option.addEventListener('mousedown', (event) => event.preventDefault()); // the field keeps the focus
      option.addEventListener('click', () => open(entry));
      return option;
    }));
    const isEmpty = field.value.trim() === '';
    list.hidden = results.length === 0;
    field.setAttribute('aria-expanded', String(!list.hidden));
    status.textContent = isEmpty ? '' : results.length === 0 ? `Nothing found: try ${others.join(', ')}` : `${results.length} found`;
    status.classList.toggle('hidden-text', isEmpty || results.length > 0);
    mark(0);
  };

  field.addEventListener('focus', () => { load().catch(() => { index = undefined; }); });
  field.addEventListener('input', async () => {
    const query = field.value;
    try {
      const entries = await load();
      if (query !== field.value) return; // a later letter has been typed
      results = find(entries, query);
      others = results.length === 0 ? suggestions(entries) : [];
      show();
    } catch {
      index = undefined;
      status.textContent = 'The search could not be loaded.';
      status.classList.remove('hidden-text');
    }
  });
  field.addEventListener('blur', () => { close(); status.classList.add('hidden-text'); });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      field.value = '';
      close();
      field.blur();
    } else if (event.key === 'Enter') {
      open(results[active]);
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && results.length > 0) {
      event.preventDefault();
      mark((active + (event.key === 'ArrowDown' ? 1 : -1) + results.length) % results.length);
    }
  });
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    const isTyping = target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
}
