// A form that sends the version it was filled from, so that nobody else's change is lost.
import { isProblem, Problem, request } from './api';
import { fill, h, named } from './dom';
import { Field, form } from './form';
import { ago } from './format';
import { table } from './lists';
import { button, notify } from './ui';

// A refused address is told at its field.
export const atField = (error: unknown, code: string, pointer: string): never => {
  if (isProblem(error, code) && error.errors.length === 0)
    throw new Problem(
      error.status,
      error.code,
      error.title,
      error.detail,
      [{ pointer, code, detail: error.detail || error.title }],
      error.requestId,
      null,
      error.type,
    );
  throw error;
};

// A form that sends the version it was filled from: who was faster is told, and nothing is overwritten unseen.
export function editor<T extends { updated_at: string }>(
  path: string,
  first: T,
  etag: string | null,
  make: (record: T) => { fields: Field[]; body(): Partial<T> },
  refresh: () => Promise<void>,
): HTMLElement {
  const place = h('div', {});
  const show = (record: T, tag: string | null, values: T = record): void => {
    const { fields, body } = make(values);
    const conflict = h('div', {});
    fill(
      place,
      conflict,
      form(
        () => fields,
        fields.map(({ element }) => element),
        {
          action: 'Save',
          async submit(idempotencyKey) {
            const wanted = body();
            const changed = Object.fromEntries(
              Object.entries(wanted).filter(([name, value]) => Reflect.get(record, name) !== value),
            );
            if (Object.keys(changed).length === 0) return notify('Nothing was changed.');
            try {
              await request<T>('PATCH', path, { body: changed, etag: tag, idempotencyKey });
              notify('Saved.');
              await refresh();
            } catch (error) {
              if (!isProblem(error, 'precondition_failed'))
                return atField(
                  error,
                  error instanceof Problem && error.code === 'email_taken' ? 'email_taken' : 'reference_not_found',
                  error instanceof Problem && error.code === 'email_taken' ? '/email' : '/user_id',
                );
              const now = await request<T>('GET', path);
              fill(
                conflict,
                conflictTable(
                  record,
                  now.body,
                  wanted,
                  () => show(now.body, now.etag, { ...now.body, ...changed } as T),
                  () => void refresh(),
                ),
              );
              conflict.querySelector<HTMLElement>('[tabindex]')?.focus();
            }
          },
        },
      ),
    );
  };
  show(first, etag);
  return place;
}

function conflictTable<T extends { updated_at: string }>(
  before: T,
  now: T,
  mine: Partial<T>,
  keep: () => void,
  take: () => void,
): HTMLElement {
  const names = Object.keys(mine).filter(
    (name) => Reflect.get(mine, name) !== Reflect.get(before, name) || Reflect.get(now, name) !== Reflect.get(before, name),
  );
  return h(
    'div',
    { class: 'callout warn conflict', role: 'alert', tabindex: -1 },
    h(
      'div',
      {},
      h('strong', {}, 'Edit conflict'),
      h('p', {}, 'Somebody else saved a change (', ago(now.updated_at), ') after you had opened it. Your changes are not saved yet.'),
      table(
        'Conflict',
        [
          { head: 'Field', cell: (name: string) => h('strong', {}, name) },
          { head: 'Before', kind: 'wide', cell: (name) => named(String(Reflect.get(before, name))) },
          {
            head: 'Now',
            cell: (name) =>
              named(String(Reflect.get(now, name)), {
                class: Reflect.get(now, name) === Reflect.get(before, name) ? null : 'changed',
              }),
          },
          {
            head: 'Yours',
            cell: (name) =>
              named(String(Reflect.get(mine, name)), {
                class: Reflect.get(mine, name) === Reflect.get(before, name) ? null : 'changed',
              }),
          },
        ],
        names,
      ),
      h(
        'div',
        { class: 'actions' },
        button('Keep my changes', keep, { kind: 'primary', small: true }),
        button('Discard my changes', take, { small: true }),
      ),
    ),
  );
}
