// What pages are made of: headings, buttons, badges, cards, problems, notices.
import { isProblem, Problem } from './api';
import { link } from './context';
import { Child, fill, h, icon, uniqueId } from './dom';
import { duration } from './format';
import type { KeyState } from './types';

export function heading(
  title: Child,
  { lead, actions = [], back }: { lead?: Child; actions?: Child[]; back?: [string, string] } = {},
): HTMLElement {
  return h(
    'header',
    { class: 'heading' },
    h(
      'div',
      { class: 'heading-text' },
      back && h('a', { class: 'back', href: link(back[1]) }, icon('back'), back[0]),
      h('h1', { tabindex: -1 }, title),
      lead && h('p', { class: 'lead' }, lead),
    ),
    actions.length > 0 && h('div', { class: 'actions' }, actions),
  );
}

export type Kind = 'primary' | 'plain' | 'danger' | 'quiet';
interface ButtonOptions {
  kind?: Kind;
  shape?: string;
  type?: 'button' | 'submit';
  label?: string;
  small?: boolean;
  disabled?: boolean;
}

export function button(
  text: Child,
  onclick: ((event: Event) => void) | null,
  { kind = 'plain', shape, type = 'button', label, small, disabled }: ButtonOptions = {},
): HTMLButtonElement {
  return h(
    'button',
    {
      class: `button ${kind}${small ? ' small' : ''}`,
      type,
      onclick: onclick ?? undefined,
      'aria-label': label ?? null,
      title: label ?? null,
      disabled: disabled ?? false,
    },
    shape && icon(shape),
    text,
  );
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
export const badge = (tone: Tone, text: Child, title?: string): HTMLElement =>
  h('span', { class: `badge ${tone}`, title: title ?? null }, text);

const stateTones: Record<KeyState, Tone> = { active: 'good', scheduled: 'info', expired: 'idle', deactivated: 'bad' };
export const stateBadge = (state: KeyState): HTMLElement => badge(stateTones[state] ?? 'idle', state);
export const environmentTag = (environment: string): HTMLElement =>
  h('span', { class: `tag environment-${environment}` }, environment);
export const code = (text: Child): HTMLElement => h('code', {}, text);

export function card(title: Child, content: Child[], { actions = [], id }: { actions?: Child[]; id?: string } = {}): HTMLElement {
  const label = uniqueId('card');
  return h(
    'section',
    { class: 'card', 'aria-labelledby': title ? label : null, id: id ?? null },
    title &&
      h(
        'div',
        { class: 'card-head' },
        h('h2', { id: label }, title),
        actions.length > 0 && h('div', { class: 'actions' }, actions),
      ),
    h('div', { class: 'card-body' }, content),
  );
}

export const facts = (...rows: (readonly [Child, Child] | null | false | undefined)[]): HTMLElement =>
  h(
    'dl',
    { class: 'facts' },
    rows.map((row) => row && h('div', {}, h('dt', {}, row[0]), h('dd', {}, row[1]))),
  );

// What a page shows where there is nothing yet: what it would be, and how to begin.
export const emptyState = (shape: string, title: string, text: Child, ...actions: Child[]): HTMLElement =>
  h(
    'div',
    { class: 'empty' },
    icon(shape),
    h('h2', {}, title),
    h('p', {}, text),
    actions.length > 0 && h('div', { class: 'actions' }, actions),
  );

export const callout = (tone: Tone, title: Child, ...content: Child[]): HTMLElement =>
  h(
    'div',
    { class: `callout ${tone}` },
    icon(tone === 'good' ? 'check' : tone === 'info' ? 'dot' : 'alert'),
    h(
      'div',
      {},
      h('strong', {}, title),
      content.map((each) => h('p', {}, each)),
    ),
  );

// A problem as it was answered, with what to do next.
export function problemBox(error: unknown, retry?: () => void): HTMLElement {
  const problem = isProblem(error)
    ? error
    : new Problem(
        0,
        'page_error',
        'This page has a fault',
        error instanceof Error ? error.message : String(error),
        [],
        null,
        null,
        null,
      );
  return h(
    'div',
    { class: 'callout bad', role: 'alert' },
    icon('alert'),
    h(
      'div',
      {},
      h('strong', {}, problem.title),
      problem.detail && h('p', {}, problem.detail),
      problem.errors.length > 0 &&
        h(
          'ul',
          {},
          problem.errors.map((each) => h('li', {}, each.detail)),
        ),
      problem.retryAfter !== null && h('p', {}, `Try again in ${duration(problem.retryAfter)}.`),
      h(
        'p',
        { class: 'faint' },
        problem.status > 0 &&
          h('a', { href: `/problems/${encodeURIComponent(problem.code)}`, target: '_blank', rel: 'noopener' }, problem.code),
        problem.requestId && [' · request ', code(problem.requestId)],
      ),
      retry && h('p', {}, button('Try again', retry, { shape: 'refresh', small: true })),
    ),
  );
}

// The icon of the page, which the documents have too.
export const logo = (): HTMLElement =>
  h('img', { class: 'logo', src: document.querySelector<HTMLLinkElement>('link[rel="icon"]')!.href, alt: '' });

// ---- notices ----

const notices = h('div', { class: 'notices', role: 'status', 'aria-live': 'polite' });
export const noticeRegion = (): HTMLElement => notices;

export function notify(text: Child, tone: Tone = 'good'): void {
  const element: HTMLElement = h(
    'div',
    { class: `notice ${tone}` },
    icon(tone === 'bad' ? 'alert' : 'check'),
    h('div', {}, text),
    button('', () => element.remove(), { kind: 'quiet', shape: 'close', label: 'Dismiss' }),
  );
  notices.append(element);
  if (tone !== 'bad') setTimeout(() => element.remove(), 6000);
}
export function tell(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return;
  if (!isProblem(error)) {
    console.error(error);
    notify(String(error), 'bad');
  } else {
    notify(
      [
        h('strong', {}, error.title),
        h('p', {}, error.detail || error.code),
        error.retryAfter !== null && h('p', {}, `Try again in ${duration(error.retryAfter)}.`),
      ],
      'bad',
    );
  }
}

// The shape of what loads, in its place.
export const skeleton = (lines = 5): HTMLElement =>
  h(
    'div',
    { class: 'loading', role: 'status' },
    h('span', { class: 'hidden' }, 'Loading'),
    Array.from({ length: lines }, () => h('span', { class: 'bone' })),
  );

const loads = new WeakMap<HTMLElement, object>(); // of each region the latest one

// A region that first shows that it loads, then what `work` made, or the problem with a way to try again. A later `load` of the
// region takes the place of one that is under way.
export async function load(region: HTMLElement, work: () => Promise<Child>): Promise<void> {
  const mine = {};
  loads.set(region, mine);
  region.setAttribute('aria-busy', 'true');
  if (!region.firstChild) region.append(skeleton());
  let content: Child;
  try {
    content = await work();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (!isProblem(error)) console.error(error);
    content = problemBox(error, () => {
      fill(region);
      void load(region, work);
    });
  }
  if (loads.get(region) !== mine) return;
  fill(region, content);
  region.removeAttribute('aria-busy');
}

// What a page shows of a record, or that there is none: `noun` is what it is called, `list` the title and the path of its list.
export const loadRecord = (
  region: HTMLElement,
  noun: string,
  list: [string, string],
  work: () => Promise<Child>,
): Promise<void> =>
  load(region, () =>
    work().catch((error: unknown) => {
      if (!isProblem(error, 'not_found')) throw error;
      return [
        heading(`No such ${noun}`, { back: list }),
        emptyState(
          'alert',
          `There is no ${noun} with this id`,
          'It was deleted, or your key does not see it.',
          linkButton(`All ${list[0].toLowerCase()}`, link(list[1])),
        ),
      ];
    }),
  );

export const keyLink = (id: number | null, otherwise: Child = 'the command line'): Child =>
  id === null ? h('span', { class: 'faint' }, otherwise) : h('a', { href: link(`/keys/${id}`) }, `key ${id}`);
