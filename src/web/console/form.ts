// Forms: each error of a problem document stands at the field that it is about.
import { FieldError, isProblem } from './api';
import { Attributes, Child, fill, h, uniqueId } from './dom';
import { busy, button, problemBox } from './ui';

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

// How long what a rotation replaces goes on to be valid, in seconds.
export function overlapField(label: string, { chosen = '86400', hint }: { chosen?: string; hint?: string } = {}): Field {
  const choices = [
    ['0', 'none: the old one ends at once'],
    ['3600', '1 hour'],
    ['86400', chosen === '86400' ? '1 day (recommended)' : '1 day'],
    ['172800', '2 days'],
  ] as const;
  return field(label, select(choices, chosen), { pointer: '/overlap_seconds', hint });
}

export interface Field {
  element: HTMLElement;
  control: HTMLElement;
  pointer: string;
  showError(text: string | null): void;
}

// A label, its control, a hint and the place of an error. `pointer` is the member of the body: "/email".
export function field(
  label: Child,
  control: Control,
  { pointer = '', hint, optional = false }: { pointer?: string; hint?: Child; optional?: boolean } = {},
): Field {
  const id = control.id || uniqueId('field');
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const error = h('p', { class: 'field-error', id: errorId });
  control.id = id;
  if (hint) control.setAttribute('aria-describedby', hintId);
  return {
    control,
    pointer,
    element: h(
      'div',
      { class: 'field' },
      h('label', { for: id }, label, optional && h('span', { class: 'faint' }, ' optional')),
      control,
      hint && h('p', { class: 'hint', id: hintId }, hint),
      error,
    ),
    showError(text) {
      error.textContent = text ?? '';
      control.toggleAttribute('aria-invalid', text !== null);
      if (text !== null) control.setAttribute('aria-invalid', 'true');
      control.setAttribute('aria-describedby', [hint && hintId, text !== null && errorId].filter(Boolean).join(' '));
    },
  };
}

// Several controls under one name, such as the matrix of scopes.
export function group(label: Child, content: Child[], { pointer = '', hint }: { pointer?: string; hint?: Child } = {}): Field {
  const error = h('p', { class: 'field-error', role: 'alert' });
  const element = h(
    'fieldset',
    { class: 'field group', tabindex: -1 },
    h('legend', {}, label),
    hint && h('p', { class: 'hint' }, hint),
    content,
    error,
  );
  return {
    control: element,
    pointer,
    element,
    showError(text) {
      error.textContent = text ?? '';
    },
  };
}

export const input = (attributes: Attributes = {}): HTMLInputElement =>
  h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes });
export const select = (
  choices: readonly (readonly [string, string])[],
  chosen: string,
  attributes: Attributes = {},
): HTMLSelectElement =>
  h(
    'select',
    { ...attributes, value: chosen },
    choices.map(([value, text]) => h('option', { value }, text)),
  );
export function check(label: Child, attributes: Attributes = {}): { element: HTMLElement; control: HTMLInputElement } {
  const control = h('input', { type: 'checkbox', ...attributes });
  return { element: h('label', { class: 'check' }, control, h('span', {}, label)), control };
}

interface FormOptions {
  action: string;
  kind?: 'primary' | 'danger';
  cancel?: () => void;
  submit(idempotencyKey: string): Promise<void>;
}

// `fields` in the order in which they are shown; `content` may arrange their elements otherwise.
export function form(
  fields: () => Field[],
  content: Child[],
  { action, kind = 'primary', cancel, submit }: FormOptions,
): HTMLFormElement {
  const trouble = h('div', {});
  const go = button(action, null, { kind, type: 'submit' });
  let idempotencyKey = crypto.randomUUID();
  const element = h(
    'form',
    {
      class: 'form',
      novalidate: true,
      method: 'post',
      onsubmit: (event) => {
        event.preventDefault();
        void busy(go, async () => {
          fill(trouble);
          for (const each of fields()) each.showError(null);
          try {
            await submit(idempotencyKey);
            idempotencyKey = crypto.randomUUID();
          } catch (error) {
            // Where no answer came, a repeat must not do it twice; after an answer it is another request.
            if (isProblem(error) && error.status > 0 && error.status < 500) idempotencyKey = crypto.randomUUID();
            showProblem(fields(), trouble, error);
          }
        });
      },
    },
    content,
    trouble,
    h('div', { class: 'actions end' }, cancel && button('Cancel', cancel), go),
  );
  return element;
}

function showProblem(fields: Field[], trouble: HTMLElement, error: unknown): void {
  if (!isProblem(error) || error.errors.length === 0) {
    fill(trouble, problemBox(error));
    trouble.scrollIntoView({ block: 'nearest' });
    return;
  }
  const homeless: FieldError[] = [];
  let first: Field | null = null;
  for (const each of error.errors) {
    const pointer = each.pointer ?? each.parameter ?? '';
    const home = fields
      .filter((one) => one.pointer !== '' && (pointer === one.pointer || pointer.startsWith(`${one.pointer}/`)))
      .sort((a, b) => b.pointer.length - a.pointer.length)[0];
    if (!home) homeless.push(each);
    else {
      home.showError(each.detail);
      first ??= home;
    }
  }
  if (homeless.length > 0)
    fill(
      trouble,
      problemBox(Object.assign(Object.create(Object.getPrototypeOf(error) as object) as typeof error, error, { errors: homeless })),
    );
  else
    fill(
      trouble,
      h(
        'p',
        { class: 'form-error', role: 'alert' },
        error.errors.length === 1 ? 'One field needs your attention.' : `${error.errors.length} fields need your attention.`,
      ),
    );
  first?.control.focus();
}

export const valueOf = (control: Control): string | null => (control.value.trim() === '' ? null : control.value.trim());
export const numberOf = (control: Control): number | null => (control.value.trim() === '' ? null : Number(control.value));
