// The parts of a key's form: scopes as a matrix, limits with what they mean, expiry.
import { now } from './clock';
import { caller, can, isAdministrator } from './context';
import { Child, fill, h } from './dom';
import { Field, field, group, input, numberOf, select } from './form';
import { limitSentence } from './format';
import { segments } from './lists';
import { actions, covers, meaning, Resource, resources } from './scopes';
import type { Limit } from './types';
import { button, callout } from './ui';
import { chosenZone, inputOf, longDay, timeOfInput } from './zone';

// ---- scopes ----

const presets: [string, string[]][] = [
  ['Read everything', ['*:read']],
  ['Users and posts', ['users:*', 'posts:*']],
  ['Verify keys', ['keys:verify']],
  ['Report events', ['events:write']],
  ['Everything', ['*']],
];

export function scopeMatrix(first: string[]): { field: Field; scopes(): string[] } {
  const sourcePrefix = 'events:write:';
  const chosen = new Set(first.filter((scope) => !scope.startsWith(sourcePrefix)));
  const sources = input({
    value: first
      .filter((scope) => scope.startsWith(sourcePrefix))
      .map((scope) => scope.slice(sourcePrefix.length))
      .join(', '),
    placeholder: 'github, billing',
    size: 24,
  });
  const boxes = new Map<string, HTMLInputElement>();
  const summary = h('div', {});
  const scopes = (): string[] => {
    const own = sources.value
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((source) => sourcePrefix + source);
    return [...chosen]
      .filter(
        (scope) =>
          !covers(
            [...chosen].filter((other) => other !== scope),
            scope,
          ),
      )
      .concat(covers([...chosen], 'events:write') ? [] : own);
  };
  const paint = (): void => {
    for (const [scope, box] of boxes) {
      const implied = covers(
        [...chosen].filter((other) => other !== scope),
        scope,
      );
      const mayGrant = can(scope);
      box.checked = implied || chosen.has(scope);
      box.disabled = implied || !mayGrant;
      box.title = implied ? `${scope}: part of a wider scope` : mayGrant ? scope : `${scope}: your own key does not have it`;
    }
    sources.disabled = covers([...chosen], 'events:write');
    const list = scopes();
    fill(
      summary,
      h(
        'p',
        { class: 'scope-line' },
        list.length === 0
          ? 'Choose at least one scope.'
          : ['The key gets ', list.map((scope) => [h('code', { class: 'scope' }, scope), ' '])],
      ),
      (covers(list, '*') || covers(list, 'keys:write')) &&
        callout(
          'warn',
          covers(list, '*') ? 'This key has every scope.' : 'This key may create keys.',
          'Applications need less: this is for administrators and for what manages keys.',
        ),
    );
  };
  const box = (scope: string, label: string): HTMLElement => {
    const element = h('input', {
      type: 'checkbox',
      'aria-label': label,
      onchange: () => {
        if (element.checked) chosen.add(scope);
        else chosen.delete(scope);
        paint();
      },
    });
    boxes.set(scope, element);
    return element;
  };
  const cell = (resource: Resource, action: string): Child =>
    actions[resource].includes(action)
      ? box(`${resource}:${action}`, `${resource}: ${action}`)
      : h('span', { class: 'faint' }, '–');
  const extra = (resource: Resource): Child =>
    actions[resource]
      .slice(2)
      .map((action) =>
        h('label', { class: 'check' }, box(`${resource}:${action}`, `${resource}: ${action}`), h('span', {}, action)),
      );
  const matrix = h(
    'div',
    { class: 'table-scroll', tabindex: 0, role: 'region', 'aria-label': 'Scope matrix' },
    h(
      'table',
      { class: 'matrix' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, 'Resource'),
          ['All', 'Read', 'Write', 'More'].map((name) => h('th', { scope: 'col' }, name)),
        ),
      ),
      h(
        'tbody',
        {},
        h(
          'tr',
          { class: 'every' },
          h('th', { scope: 'row' }, 'Every resource', h('span', { class: 'under' }, 'also those that come later')),
          h('td', {}, box('*', 'everything')),
          h('td', {}, box('*:read', 'every resource: read')),
          h('td', {}, box('*:write', 'every resource: write')),
          h('td', {}),
        ),
        resources.map((resource) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, resource, h('span', { class: 'under' }, meaning[resource])),
            h('td', {}, box(`${resource}:*`, `${resource}: all`)),
            h('td', {}, cell(resource, 'read')),
            h('td', {}, cell(resource, 'write')),
            h('td', {}, extra(resource)),
          ),
        ),
      ),
    ),
  );
  sources.addEventListener('input', paint);
  const buttons = h(
    'div',
    { class: 'presets' },
    h('span', { class: 'faint' }, 'Presets'),
    presets
      .filter(([, list]) => list.every(can))
      .map(([name, list]) =>
        button(
          name,
          () => {
            chosen.clear();
            list.forEach((scope) => chosen.add(scope));
            paint();
          },
          { small: true },
        ),
      ),
  );
  paint();
  return {
    scopes,
    field: group(
      'Scopes',
      [
        buttons,
        matrix,
        field('Events of these sources only', sources, { hint: 'Instead of events: write. Separated by commas.', optional: true })
          .element,
        summary,
      ],
      { pointer: '/scopes' },
    ),
  };
}

// ---- limits ----

const windows = [
  ['1', 'seconds'],
  ['60', 'minutes'],
  ['3600', 'hours'],
  ['86400', 'days'],
] as const;
export const usualLimits: Limit[] = [
  { name: 'minute', limit: 600, window_seconds: 60, burst: null },
  { name: 'hour', limit: 20_000, window_seconds: 3600, burst: null },
];

// Nobody without `*` may grant more than the own key has.
export const firstLimits = (): Limit[] =>
  isAdministrator() || caller().rate_limits.length === 0 ? usualLimits : caller().rate_limits;

interface Row {
  element: HTMLElement;
  value(): Limit;
  field: Field;
}

export function limitEditor(first: Limit[]): { field: Field; fields(): Field[]; limits(): object[] } {
  const rows: Row[] = [];
  const list = h('div', { class: 'limit-rows' });
  const paint = (): void => {
    fill(
      list,
      rows.length === 0
        ? callout(
            'warn',
            'No limit',
            isAdministrator()
              ? 'The key may send as many requests as the service can answer.'
              : 'Only a key with the scope * may give that.',
          )
        : rows.map(({ element }) => element),
    );
    rows.forEach((row, i) => {
      row.field.pointer = `/rate_limits/${i}`;
    });
    add.disabled = rows.length >= 8;
  };
  const addRow = (limit: Limit): void => {
    const row = limitRow(limit, () => {
      rows.splice(rows.indexOf(row), 1);
      paint();
    });
    rows.push(row);
  };
  const add = button(
    'Add a limit',
    () => {
      addRow({
        name:
          ['second', 'minute', 'hour', 'day'].find((name) => !rows.some((row) => row.value().name === name)) ??
          `limit-${rows.length + 1}`,
        limit: 100,
        window_seconds: 60,
        burst: null,
      });
      paint();
    },
    { shape: 'plus', small: true },
  );
  first.forEach(addRow);
  paint();
  return {
    field: group('Rate limits', [list, add], { pointer: '/rate_limits', hint: 'All of them must admit a request.' }),
    fields: () => rows.map((row) => row.field),
    limits: () =>
      rows.map((row) => {
        const { burst, ...rest } = row.value();
        return burst === null ? rest : { ...rest, burst };
      }),
  };
}

function limitRow(limit: Limit, remove: () => void): Row {
  const unit = [...windows].reverse().find(([size]) => limit.window_seconds % Number(size) === 0) ?? windows[0];
  const name = input({ value: limit.name, size: 8, 'aria-label': 'Name of the limit' });
  const most = input({ type: 'number', min: 1, value: limit.limit, 'aria-label': 'Requests' });
  const count = input({
    type: 'number',
    min: 1,
    value: limit.window_seconds / Number(unit[0]),
    'aria-label': 'Length of the window',
  });
  const size = select(windows, unit[0], { 'aria-label': 'Unit of the window' });
  const burst = input({
    type: 'number',
    min: 1,
    value: limit.burst && limit.burst !== limit.limit ? limit.burst : '',
    placeholder: 'same',
    'aria-label': 'Burst',
  });
  const sentence = h('p', { class: 'hint', 'aria-live': 'polite' });
  const value = (): Limit => ({
    name: name.value.trim(),
    limit: Number(most.value),
    window_seconds: Number(count.value) * Number(size.value),
    burst: numberOf(burst),
  });
  const paint = (): void => {
    sentence.textContent = limitSentence(value());
  };
  for (const control of [name, most, count, size, burst]) control.addEventListener('input', paint);
  paint();
  const error = h('p', { class: 'field-error', role: 'alert' });
  const element = h(
    'div',
    { class: 'limit-row', role: 'group', 'aria-label': `Limit ${limit.name}` },
    h(
      'div',
      { class: 'limit-controls' },
      h('span', { class: 'pair' }, h('span', {}, 'Name'), name),
      h('span', { class: 'pair' }, h('span', {}, 'Requests'), most),
      h('span', { class: 'pair' }, h('span', {}, 'Window'), h('span', { class: 'joined' }, count, size)),
      h('span', { class: 'pair' }, h('span', {}, 'Burst'), burst),
      button('', remove, { kind: 'quiet', shape: 'trash', label: `Remove the limit ${limit.name}` }),
    ),
    sentence,
    error,
  );
  return {
    element,
    value,
    field: {
      element,
      control: most,
      pointer: '',
      showError: (text) => {
        error.textContent = text ?? '';
      },
    },
  };
}

// ---- expiry ----

export const timeInput = (time: string | null, label?: string): HTMLInputElement =>
  input({ type: 'datetime-local', value: time === null ? '' : inputOf(time), 'aria-label': label ?? null });
export const timeOf = (control: HTMLInputElement): string | null => timeOfInput(control.value);

// First what the API and the command line do where nothing is said.
export function expiryChoice(): { field: Field; members(): { expires_in?: number; expires_at?: string | null } } {
  let chosen = 'default';
  const date = timeInput(new Date(now() + 30 * 86_400_000).toISOString(), 'Expires on');
  const more = h('div', {});
  const paint = (): void =>
    fill(
      more,
      chosen === 'date'
        ? [date, h('p', { class: 'hint' }, `Time zone: ${chosenZone()}.`)]
        : chosen === 'default' || chosen === 'never'
          ? callout(
              'warn',
              chosen === 'never' ? 'This key never expires.' : 'This key never expires, unless the operator has set keys.default_ttl.',
              'A lifetime of 30 to 90 days and a rotation are recommended: a key that leaks and is forgotten would work for ever.',
            )
          : h(
              'p',
              { class: 'hint' },
              `Expires on ${longDay(now() + Number(chosen) * 86_400_000)}. Rotate it before: both keys work during the overlap.`,
            ),
    );
  const choices = segments(
    'Expires',
    [
      ['default', 'Default'],
      ['30', '30 days'],
      ['90', '90 days'],
      ['365', '1 year'],
      ['date', 'On a date'],
      ['never', 'Never'],
    ],
    chosen,
    (value) => {
      chosen = value;
      paint();
    },
  );
  paint();
  const base = group('Expiry', [choices, more], { pointer: '/expires_in' });
  return {
    field: base,
    members: () =>
      chosen === 'default'
        ? {}
        : chosen === 'never'
        ? { expires_at: null }
        : chosen === 'date'
          ? { expires_at: timeOf(date) }
          : { expires_in: Number(chosen) * 86_400 },
  };
}

// ---- metadata ----

export function metadataEditor(first: Record<string, string>): { field: Field; metadata(): Record<string, string> } {
  const rows: [HTMLInputElement, HTMLInputElement, HTMLElement][] = [];
  const list = h('div', {});
  const paint = (): void =>
    fill(
      list,
      rows.map(([, , element]) => element),
    );
  const addRow = (name: string, value: string): void => {
    const controls: [HTMLInputElement, HTMLInputElement] = [
      input({ value: name, placeholder: 'name', 'aria-label': 'Name' }),
      input({ value, placeholder: 'value', 'aria-label': 'Value' }),
    ];
    const row: (typeof rows)[number] = [
      ...controls,
      h(
        'div',
        { class: 'metadata-row' },
        controls,
        button(
          '',
          () => {
            rows.splice(rows.indexOf(row), 1);
            paint();
          },
          { kind: 'quiet', shape: 'trash', label: 'Remove' },
        ),
      ),
    ];
    rows.push(row);
  };
  for (const [name, value] of Object.entries(first)) addRow(name, value);
  paint();
  return {
    field: group(
      'Metadata',
      [
        list,
        button(
          'Add metadata',
          () => {
            addRow('', '');
            paint();
            rows.at(-1)?.[0].focus();
          },
          { shape: 'plus', small: true },
        ),
      ],
      { pointer: '/metadata', hint: 'Such as the owner or a ticket. Part of the answer of POST /keys/verify.' },
    ),
    metadata: () =>
      Object.fromEntries(
        rows.filter(([name]) => name.value.trim() !== '').map(([name, value]) => [name.value.trim(), value.value]),
      ),
  };
}
