// The parts that pages are made of: headings, badges, tables, problems, dialogs, notices.
import { isProblem, Problem } from './api';
import { go, link, setQuery } from './context';
import { append, Child, fill, h, icon, uniqueId } from './dom';
import { duration, number, plural } from './format';
import type { KeyState, Pagination } from './types';

export function heading(title: Child, { lead, actions = [], back }: { lead?: Child; actions?: Child[]; back?: [string, string] } = {}): HTMLElement {
  return h('header', { class: 'heading' },
    h('div', { class: 'heading-text' },
      back && h('a', { class: 'back', href: link(back[1]) }, icon('back'), back[0]),
      h('h1', { tabindex: -1 }, title),
      lead && h('p', { class: 'lead' }, lead)),
    actions.length > 0 && h('div', { class: 'actions' }, actions));
}

type Kind = 'primary' | 'plain' | 'danger' | 'quiet';
interface ButtonOptions { kind?: Kind; shape?: string; type?: 'button' | 'submit'; label?: string; small?: boolean; disabled?: boolean }

export function button(text: Child, onclick: ((event: Event) => void) | null, { kind = 'plain', shape, type = 'button', label, small, disabled }: ButtonOptions = {}): HTMLButtonElement {
  return h('button', { class: `button ${kind}${small ? ' small' : ''}`, type, onclick: onclick ?? undefined, 'aria-label': label ?? null, title: label ?? null, disabled: disabled ?? false },
    shape && icon(shape), text);
}
export const linkButton = (text: Child, href: string, { kind = 'plain', shape }: ButtonOptions = {}): HTMLAnchorElement =>
  h('a', { class: `button ${kind}`, href }, shape && icon(shape), text);

// While `work` runs the button is busy; a second click does nothing.
export async function busy(target: HTMLButtonElement, work: () => Promise<unknown>): Promise<void> {
  if (target.getAttribute('aria-busy')) return;
  target.setAttribute('aria-busy', 'true');
  try {
    await work();
  } finally {
    target.removeAttribute('aria-busy');
  }
}

// A button whose action may fail: what is wrong is told as a notice.
export function actionButton(text: Child, work: () => Promise<unknown>, options: ButtonOptions = {}): HTMLButtonElement {
  const element: HTMLButtonElement = button(text, () => void busy(element, () => work().catch(tell)), options);
  return element;
}

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'idle' | 'limit';
export const badge = (tone: Tone, text: Child, title?: string): HTMLElement => h('span', { class: `badge ${tone}`, title: title ?? null }, text);

const stateTones: Record<KeyState, Tone> = { active: 'good', scheduled: 'info', expired: 'idle', deactivated: 'bad' };
export const stateBadge = (state: KeyState): HTMLElement => badge(stateTones[state] ?? 'idle', state);
export const environmentTag = (environment: string): HTMLElement => h('span', { class: `tag environment-${environment}` }, environment);
export const code = (text: Child): HTMLElement => h('code', {}, text);

export function card(title: Child, content: Child[], { actions = [], id }: { actions?: Child[]; id?: string } = {}): HTMLElement {
  const label = uniqueId('card');
  return h('section', { class: 'card', 'aria-labelledby': title ? label : null, id: id ?? null },
    title && h('div', { class: 'card-head' }, h('h2', { id: label }, title), actions.length > 0 && h('div', { class: 'actions' }, actions)),
    h('div', { class: 'card-body' }, content));
}

export const facts = (...rows: (readonly [Child, Child] | null | false | undefined)[]): HTMLElement =>
  h('dl', { class: 'facts' }, rows.map((row) => row && h('div', {}, h('dt', {}, row[0]), h('dd', {}, row[1]))));

// What a page shows where there is nothing yet: what it would be, and how to begin.
export const emptyState = (shape: string, title: string, text: Child, ...actions: Child[]): HTMLElement =>
  h('div', { class: 'empty' }, icon(shape), h('h2', {}, title), h('p', {}, text), actions.length > 0 && h('div', { class: 'actions' }, actions));

export const callout = (tone: Tone, title: Child, ...content: Child[]): HTMLElement =>
  h('div', { class: `callout ${tone}` }, icon(tone === 'good' ? 'check' : tone === 'info' ? 'dot' : 'alert'), h('div', {}, h('strong', {}, title), content.map((each) => h('p', {}, each))));

// A problem as it was answered, with what to do next.
export function problemBox(error: unknown, retry?: () => void): HTMLElement {
  const problem = isProblem(error) ? error : new Problem(0, 'page_error', 'This page has a fault', error instanceof Error ? error.message : String(error), [], null, null, null);
  return h('div', { class: 'callout bad', role: 'alert' }, icon('alert'), h('div', {},
    h('strong', {}, problem.title),
    problem.detail && h('p', {}, problem.detail),
    problem.errors.length > 0 && h('ul', {}, problem.errors.map((each) => h('li', {}, code(each.pointer ?? each.parameter ?? each.header ?? ''), ' ', each.detail))),
    problem.retryAfter !== null && h('p', {}, `Try again in ${duration(problem.retryAfter)}.`),
    h('p', { class: 'faint' }, problem.status > 0 && h('a', { href: `/problems/${encodeURIComponent(problem.code)}`, target: '_blank', rel: 'noopener' }, problem.code),
      problem.requestId && [' · request ', code(problem.requestId)]),
    retry && h('p', {}, button('Try again', retry, { shape: 'refresh', small: true }))));
}

// ---- notices ----

const notices = h('div', { class: 'notices', role: 'status', 'aria-live': 'polite' });
export const noticeRegion = (): HTMLElement => notices;

export function notify(text: Child, tone: Tone = 'good'): void {
  const element: HTMLElement = h('div', { class: `notice ${tone}` }, icon(tone === 'bad' ? 'alert' : 'check'), h('div', {}, text),
    button('', () => element.remove(), { kind: 'quiet', shape: 'close', label: 'Dismiss' }));
  notices.append(element);
  if (tone !== 'bad') setTimeout(() => element.remove(), 6000);
}
export function tell(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  if (!isProblem(error)) {
    console.error(error);
    notify(String(error), 'bad');
  } else {
    notify([h('strong', {}, error.title), h('p', {}, error.detail || error.code, error.errors.map((each) => ` ${each.pointer ?? each.parameter ?? ''}: ${each.detail}`)),
      error.retryAfter !== null && h('p', {}, `Try again in ${duration(error.retryAfter)}.`)], 'bad');
  }
}

// ---- dialogs ----

export interface Dialog { element: HTMLDialogElement; close(): void; closed: Promise<void> }

export function openDialog(title: Child, content: Child[], { wide = false, modalOnly = false } = {}): Dialog {
  const label = uniqueId('dialog');
  const element: HTMLDialogElement = h('dialog', { class: wide ? 'dialog large' : 'dialog', 'aria-labelledby': label },
    h('div', { class: 'dialog-head' }, h('h2', { id: label }, title),
      !modalOnly && button('', () => element.close(), { kind: 'quiet', shape: 'close', label: 'Close' })),
    h('div', { class: 'dialog-body' }, content));
  // A dialog with something that is shown once is not closed by a slip of the hand.
  if (modalOnly) element.addEventListener('cancel', (event) => event.preventDefault());
  const closed = new Promise<void>((resolve) => element.addEventListener('close', () => {
    element.remove();
    resolve();
  }));
  document.body.append(element);
  element.showModal();
  // What is to be entered has the focus, not the button that closes.
  element.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea, .secret-text, .button)')?.focus();
  addEventListener('hashchange', () => element.close(), { once: true });
  return { element, close: () => element.close(), closed };
}

// Asks before something is done that cannot be taken back. `work` runs in the dialog, which tells its failure.
export function confirm(title: Child, content: Child[], action: string, work: () => Promise<unknown>, kind: Kind = 'danger'): Promise<boolean> {
  return new Promise((resolve) => {
    let done = false;
    const trouble = h('div', {});
    const yes: HTMLButtonElement = button(action, () => void busy(yes, async () => {
      try {
        await work();
        done = true;
        dialog.close();
      } catch (error) {
        fill(trouble, problemBox(error));
      }
    }), { kind });
    const dialog = openDialog(title, [content.map((each) => (typeof each === 'string' ? h('p', {}, each) : each)), trouble,
      h('div', { class: 'actions end' }, button('Cancel', () => dialog.close()), yes)]);
    void dialog.closed.then(() => resolve(done));
  });
}

// ---- copying ----

export function copyButton(text: () => string, label = 'Copy'): HTMLButtonElement {
  const element: HTMLButtonElement = button(label, () => void (async () => {
    const isCopied = await navigator.clipboard.writeText(text()).then(() => true, () => false);
    fill(element, icon(isCopied ? 'check' : 'alert'), isCopied ? 'Copied' : 'Select it yourself');
    setTimeout(() => fill(element, icon('copy'), label), 2000);
  })(), { shape: 'copy', small: true });
  return element;
}

export const sample = (text: string, label: string): HTMLElement =>
  h('div', { class: 'sample' }, h('pre', { tabindex: 0, role: 'group', 'aria-label': label }, h('code', {}, text)), copyButton(() => text));

// A secret that is shown once. It lives in the dialog alone and goes with it.
export function showSecret(title: string, secret: string, content: Child[]): Promise<void> {
  const dialog = openDialog(title, [
    callout('warn', 'Copy it now: it is shown once.', 'The service keeps only what it needs to recognise it. Whoever loses it makes a new one.'),
    h('div', { class: 'secret' }, h('code', { class: 'secret-text', tabindex: 0 }, secret), copyButton(() => secret)),
    content,
    h('div', { class: 'actions end' }, button('I have stored it', () => dialog.close(), { kind: 'primary' })),
  ], { wide: true, modalOnly: true });
  return dialog.closed;
}

// ---- tables ----

export interface Column<T> { head: Child; cell(row: T): Child; kind?: 'wide' | 'number' | 'main' | 'widest' }

export function table<T>(caption: string, columns: Column<T>[], rows: T[], { href }: { href?: (row: T) => string } = {}): HTMLElement {
  const body = h('tbody');
  for (const row of rows) {
    const element = h('tr', { class: href ? 'linked' : null }, columns.map((column) => h('td', { class: column.kind ?? null }, column.cell(row))));
    if (href) {
      // The whole row leads there by mouse; by keyboard its link does.
      element.addEventListener('click', (event) => {
        if ((event.target as Element).closest('a, button, input, label') || getSelection()?.toString()) return;
        location.hash = href(row);
      });
    }
    body.append(element);
  }
  return h('div', { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': caption }, h('table', {},
    h('caption', { class: 'hidden' }, caption),
    h('thead', {}, h('tr', {}, columns.map((column) => h('th', { scope: 'col', class: column.kind ?? null }, column.head)))), body));
}

export function pager({ page, limit, total, total_pages: pages, has_more: more }: Pagination, noun: string, many = `${noun}s`): HTMLElement {
  const here = page ?? 1;
  const last = Math.min(pages ?? 1, Math.floor(100_000 / limit));
  const first = (here - 1) * limit + 1;
  const move = (target: number, text: string, shape: string, possible: boolean): HTMLElement =>
    button(text, () => setQuery({ page: target === 1 ? null : target }), { small: true, shape, disabled: !possible });
  return h('nav', { class: 'pager', 'aria-label': 'Pages' },
    h('span', {}, total === 0 ? `No ${many}` : `${number(first)}–${number(Math.min(first + limit - 1, total))} of ${plural(total, noun, many)}`),
    (pages ?? 1) > 1 && h('span', { class: 'actions' }, move(here - 1, 'Previous', 'back', here > 1), move(here + 1, 'Next', 'arrow', more && here < last)));
}

// A filter of a list: what it is set to stands in the address.
export function filterSelect(label: string, name: string, query: URLSearchParams, choices: readonly (readonly [string, string])[]): HTMLElement {
  const chosen = query.get(name) ?? '';
  return h('label', { class: chosen ? 'filter set' : 'filter' }, h('span', {}, label),
    h('select', { onchange: (event) => setQuery({ [name]: (event.target as HTMLSelectElement).value }), value: chosen },
      choices.map(([value, text]) => h('option', { value }, text))));
}
export function filterText(label: string, name: string, query: URLSearchParams, { placeholder = '', size = 14, type = 'search', list }: { placeholder?: string; size?: number; type?: string; list?: string } = {}): HTMLElement {
  const input = h('input', { type, value: query.get(name) ?? '', placeholder, size, list: list ?? null, autocomplete: 'off', spellcheck: 'false' });
  const apply = (): void => setQuery({ [name]: input.value.trim() });
  input.addEventListener('change', apply);
  input.addEventListener('search', apply);
  return h('label', { class: query.get(name) ? 'filter set' : 'filter' }, h('span', {}, label), input);
}
export function filterBar(query: URLSearchParams, names: string[], ...filters: Child[]): HTMLElement {
  const isSet = names.some((name) => query.has(name));
  return h('div', { class: 'filters', role: 'group', 'aria-label': 'Filters' }, filters,
    isSet && button('Clear', () => setQuery(Object.fromEntries(names.map((name) => [name, null]))), { kind: 'quiet', small: true, shape: 'close' }));
}

// Radio buttons that look like one control.
export function segments(label: string, choices: readonly (readonly [string, string])[], chosen: string, choose: (value: string) => void): HTMLElement {
  const name = uniqueId('segments');
  return h('fieldset', { class: 'segments' }, h('legend', { class: 'hidden' }, label), choices.map(([value, text]) =>
    h('label', {}, h('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => choose(value) }), h('span', {}, text))));
}

export const tabs = (label: string, here: string, entries: readonly (readonly [string, string])[]): HTMLElement =>
  h('nav', { class: 'tabs', 'aria-label': label }, entries.map(([text, path]) =>
    h('a', { href: link(path), 'aria-current': path === here ? 'page' : null }, text)));

// A region that first shows that it loads, then what `work` made, or the problem with a way to try again.
export function load(region: HTMLElement, work: () => Promise<Child>): Promise<void> {
  region.setAttribute('aria-busy', 'true');
  if (!region.firstChild) region.append(h('div', { class: 'loading', role: 'status' }, h('span', { class: 'hidden' }, 'Loading')));
  return work().then((content) => fill(region, content), (error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (!isProblem(error)) console.error(error);
    fill(region, problemBox(error, () => {
      fill(region);
      void load(region, work);
    }));
  }).finally(() => region.removeAttribute('aria-busy'));
}

export const keyLink = (id: number | null, otherwise: Child = 'the command line'): Child =>
  (id === null ? h('span', { class: 'faint' }, otherwise) : h('a', { href: link(`/keys/${id}`) }, `key ${id}`));

export const leave = (path: string): void => go(path);
export { append };
