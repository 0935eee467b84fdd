// One key: what it does, what it may do, and its life from rotation to the end.
import { endSession, read, request } from './api';
import { chart, granularityOf, outcomes, rangeName, ranges, since, stat } from './charts';
import { checkForm } from './check';
import { now } from './clock';
import { caller, can, isAdministrator, link, poll, setQuery, View } from './context';
import { confirm, openDialog } from './dialogs';
import { Child, fill, h, named } from './dom';
import { Field, field, form, overlapField, select } from './form';
import { ago, effectOf, figure, limitSentence, limitText, moment, plural, relative } from './format';
import { revealKey } from './key_form';
import { limitMeters } from './limits';
import { segments } from './lists';
import { covers } from './scopes';
import type { Key, NewKey, Usage, Verdict } from './types';
import {
  actionButton,
  badge,
  button,
  callout,
  card,
  code,
  environmentTag,
  facts,
  heading,
  keyLink,
  linkButton,
  loadRecord,
  notify,
  skeleton,
  stateBadge,
  tell,
} from './ui';

// Whether the caller may change it: not its own one, none that may do more than it itself.
const mayChange = (key: Key): boolean =>
  can('keys:write') && key.id !== caller().id && key.scopes.every((scope) => covers(caller().scopes, scope));
const mayRotate = (key: Key): boolean =>
  can('keys:write') &&
  key.scopes.every((scope) => covers(caller().scopes, scope)) &&
  (key.id !== caller().id || isAdministrator() || key.expires_at === null);

export function keyPage(view: View): void {
  const id = Number(view.parameters[0]);
  view.title(`Key ${id}`);
  const head = h('div', {});
  const side = h('div', {});
  const notes = h('div', {});
  const main = h('div', { class: 'stack' });
  view.element.append(head, notes, h('div', { class: 'columns wide-first' }, main, side));
  const refresh = (): Promise<void> =>
    loadRecord(head, 'key', ['Keys', '/keys'], async () => {
      const key = await read<Key>(`/keys/${id}`, {}, view.signal);
      view.title(key.name);
      if (!main.firstChild) fill(main, can('usage:read') && usageCard(id, view), can('keys:verify') && card('Check access', [checkForm(id)]));
      fill(side, h('div', { class: 'stack' }, limitsCard(key, view), accessCard(key), lifeCard(key)));
      void rotationNotes(notes, key, view.signal, refresh);
      return keyHeading(key, refresh);
    });
  void refresh();
}

function keyHeading(key: Key, refresh: () => Promise<void>): HTMLElement {
  const isOwn = key.id === caller().id;
  return heading(named(key.name), {
    back: ['Keys', '/keys'],
    lead: [
      stateBadge(key.state),
      ' ',
      environmentTag(key.environment),
      ' ',
      key.start === null ? 'imported' : code(`${key.start}…${key.last4}`),
      ' · #',
      key.id,
      ' · project ',
      named(key.project),
      isOwn && [' · ', badge('info', 'the key of this session')],
    ],
    actions: [
      key.state === 'active' &&
        key.replaced_by === null &&
        mayRotate(key) &&
        button('Rotate', () => rotateDialog(key), { shape: 'refresh' }),
      mayChange(key) && linkButton('Edit', link(`/keys/${key.id}/edit`)),
      key.state !== 'deactivated' &&
        mayChange(key) &&
        button('Deactivate', () => deactivateDialog(key, refresh), { kind: 'danger' }),
      key.state === 'deactivated' &&
        key.deactivation_reason === 'manual' &&
        mayChange(key) &&
        actionButton(
          'Reactivate',
          async () => {
            await request('POST', `/keys/${key.id}/reactivate`);
            notify(`Key ${key.id} is reactivated.`);
            await refresh();
          },
          { kind: 'primary' },
        ),
      isOwn &&
        key.state === 'active' &&
        button(
          'Deactivate',
          () =>
            void confirm(
              ['Deactivate ', named(key.name), ', the key of this session?'],
              ['You are logged out at once, and only another key can reactivate it.'],
              'Deactivate my key',
              () =>
                request<Key>('POST', '/keys/current/deactivate').then(({ body }) =>
                  endSession(effectOf(body, `Key ${key.id} is deactivated.`)),
                ),
            ),
          { kind: 'danger' },
        ),
    ],
  });
}

function usageCard(id: number, view: View): HTMLElement {
  const tools = h('div', {});
  const waiting = skeleton(1);
  const tiles = h('dl', { class: 'stats compact' });
  const drawing = chart(outcomes([], granularityOf(view.query), `Requests of key ${id}`), view.signal);
  const trouble = h('div', {});
  const element = card('Usage', [waiting, tiles, drawing.element, trouble], { actions: [tools] });
  const paint = (query: URLSearchParams): void =>
    fill(
      tools,
      segments('Time', ranges, granularityOf(query), (range) => setQuery({ range: range === 'hour' ? null : range })),
    );
  let query = view.query;
  const refresh = async (): Promise<void> => {
    const granularity = granularityOf(query);
    try {
      const { data } = await read<Usage>('/usage', { key_id: id, granularity, from: since(granularity) }, view.signal);
      const points = data[0]?.points ?? [];
      const sum = (count: (point: (typeof points)[number]) => number): number =>
        points.reduce((total, point) => total + count(point), 0);
      drawing.update(outcomes(points, granularity, `Requests of key ${id}`));
      const limited = sum((point) => point.limited);
      const refused = sum((point) => point.by_status['4xx']) - limited;
      const failed = sum((point) => point.by_status['5xx']);
      fill(
        tiles,
        stat('Requests', figure(sum((point) => point.requests)), `last ${rangeName(granularity)}, at most 5 s ago`),
        stat('Client errors', figure(refused), '4xx, without 429', refused > 0 ? 'refused' : ''),
        stat('Rate limited', figure(limited), '429', limited > 0 ? 'limited' : ''),
        stat('Server errors', figure(failed), '5xx', failed > 0 ? 'failed' : ''),
      );
      waiting.remove();
      fill(trouble);
    } catch (error) {
      waiting.remove();
      if (!view.signal.aborted)
        fill(trouble, callout('bad', 'The usage cannot be shown', error instanceof Error ? error.message : ''));
    }
  };
  paint(query);
  view.onQuery((next) => {
    query = next;
    paint(next);
    void refresh();
  });
  poll(view.signal, 5, refresh);
  return element;
}

function limitsCard(key: Key, view: View): HTMLElement {
  const live = h('div', {});
  const words = h(
    'ul',
    { class: 'meters' },
    key.rate_limits.map((limit) =>
      h('li', {}, h('strong', {}, named(limit.name)), ' ', limitText(limit), h('p', { class: 'hint' }, limitSentence(limit))),
    ),
  );
  // What is left of them, without spending any of it.
  const isLive = can('keys:verify') && key.state === 'active';
  if (isLive && key.rate_limits.length > 0) {
    const local = new AbortController();
    view.signal.addEventListener('abort', () => local.abort());
    poll(local.signal, 5, async () => {
      if (!live.isConnected && live.hasChildNodes()) return local.abort(); // the card was replaced
      const verdict = await request<Verdict>('POST', '/keys/verify', {
        body: { key_id: key.id, cost: 0 },
        signal: view.signal,
      }).catch(() => null);
      if (verdict?.body.rate_limits) fill(live, limitMeters({ rate_limits: verdict.body.rate_limits }));
    });
  }
  const meanings = h('details', { open: !isLive }, h('summary', {}, 'How these limits work'), words);
  return card('Rate limits', key.rate_limits.length === 0 ? [limitMeters({ rate_limits: [] })] : [live, meanings], {
    actions: [mayChange(key) && h('a', { href: link(`/keys/${key.id}/edit`) }, 'Edit')],
  });
}

const accessCard = (key: Key): HTMLElement =>
  card('Access', [
    facts(
      [
        'Scopes',
        h(
          'span',
          { class: 'scopes' },
          key.scopes.map((scope) => h('code', { class: 'scope' }, scope)),
        ),
      ],
      ['IP allowlist', key.ip_allowlist.length === 0 ? 'every address' : key.ip_allowlist.map((network) => [code(network), ' '])],
      ...Object.entries(key.metadata).map(([name, value]) => [named(name), named(value)] as const),
    ),
  ]);

const lifeCard = (key: Key): HTMLElement =>
  card('Lifecycle', [
    facts(
      ['Created', moment(key.created_at)],
      ['Created by', keyLink(key.created_by)],
      key.not_before !== null && ['Valid from', moment(key.not_before)],
      ['Last used', moment(key.last_used_at)],
      ['Expires', key.expires_at === null ? [badge('warn', 'never'), ' 30 to 90 days are recommended'] : moment(key.expires_at)],
      key.deactivated_at !== null && [
        'Deactivated',
        [moment(key.deactivated_at), ' ', badge('bad', key.deactivation_reason ?? '')],
      ],
      key.replaces !== null && ['Replaces', keyLink(key.replaces)],
      key.replaced_by !== null && ['Replaced by', keyLink(key.replaced_by)],
    ),
  ]);

// ---- rotation ----

function rotateDialog(key: Key): void {
  const overlap = overlapField('Overlap', {
    hint: 'Both keys work during the overlap. This page shows whether the old one is still used.',
  });
  const dialog = openDialog(
    ['Rotate ', named(key.name)],
    [
      h('p', {}, 'You get a new key with the same scopes and limits. The old one is deactivated when the overlap ends.'),
      form(() => [overlap], [overlap.element], {
        action: 'Rotate',
        cancel: () => dialog.close(),
        async submit(idempotencyKey) {
          const { body } = await request<NewKey>('POST', `/keys/${key.id}/rotate`, {
            body: { overlap_seconds: Number((overlap.control as HTMLSelectElement).value) },
            idempotencyKey,
          });
          dialog.close();
          await revealKey(body, 'The new key', effectOf(body, `Key ${key.id} is replaced by key ${body.id}.`));
          location.hash = link(`/keys/${body.id}`);
        },
      }),
    ],
  );
}

// Shown at the old key and at the new one, until the old one is off.
async function rotationNotes(region: HTMLElement, key: Key, signal: AbortSignal, refresh: () => Promise<void>): Promise<void> {
  const soon = key.state === 'active' && key.expires_at !== null && Date.parse(key.expires_at) - now() < 14 * 86_400_000;
  fill(
    region,
    soon &&
      key.replaced_by === null &&
      callout(
        'warn',
        `This key expires ${relative(key.expires_at!)}.`,
        'Rotate it, so that its users have time to change.',
      ),
  );
  const otherId = key.replaced_by ?? key.replaces;
  if (otherId === null || otherId === undefined) return;
  try {
    const other = await read<Key>(`/keys/${otherId}`, {}, signal);
    const [old, fresh] = key.replaced_by !== null ? [key, other] : [other, key];
    if (old.state !== 'active' || old.rotation_ends_at === null || Date.parse(old.rotation_ends_at) < now()) return;
    const recent = can('usage:read') ? await usesSince(old.id, fresh.created_at, signal) : null;
    const used = old.last_used_at !== null && Date.parse(old.last_used_at) > Date.parse(fresh.created_at);
    const end =
      mayChange(old) &&
      button(
        'End the overlap now',
        () =>
          void confirm(
            ['Deactivate ', named(old.name), ` (key ${old.id}) now?`],
            [used ? 'It is still used: its requests are refused from now on.' : 'It was not used since the rotation.'],
            'Deactivate it',
            async () => {
              const { body } = await request<Key>('POST', `/keys/${old.id}/deactivate`);
              notify(effectOf(body, `Key ${old.id} is deactivated.`));
              await refresh();
            },
          ),
        { small: true },
      );
    fill(
      region,
      callout(
        used ? 'warn' : 'good',
        used ? 'The old key is still used.' : 'The old key has not been used since the rotation.',
        [keyLink(old.id), ' is replaced by ', keyLink(fresh.id), ' and works until ', moment(old.rotation_ends_at), '.'],
        used
          ? [
              'Last used ',
              ago(old.last_used_at),
              recent !== null && recent > 0 && [', ', plural(recent, 'request'), ' since the rotation'],
              '. Its users need the new key.',
            ]
          : 'It can be deactivated before the overlap ends.',
        end,
      ),
    );
  } catch (error) {
    if (!signal.aborted) tell(error);
  }
}

async function usesSince(id: number, time: string, signal: AbortSignal): Promise<number> {
  const granularity = now() - Date.parse(time) < 20 * 3_600_000 ? 'minute' : 'hour';
  const { data } = await read<Usage>('/usage', { key_id: id, granularity, from: time }, signal);
  return (data[0]?.points ?? []).filter(({ start }) => start >= time).reduce((sum, { requests }) => sum + requests, 0);
}

// ---- the end ----

function deactivateDialog(key: Key, refresh: () => Promise<void>): void {
  const reason = field(
    'Reason',
    select(
      [
        ['manual', 'manual: not needed any more (can be reactivated)'],
        ['compromised', 'compromised: somebody else may have it (cannot be reactivated)'],
      ],
      'manual',
    ),
    { pointer: '/reason' },
  );
  const fields: Field[] = [reason];
  const dialog = openDialog(['Deactivate ', named(key.name), '?'], [
    h('p', {}, 'Its requests are refused at once.'),
    key.last_used_at !== null &&
      now() - Date.parse(key.last_used_at) < 86_400_000 &&
      callout('warn', ['It was used ', ago(key.last_used_at), '.'], 'Its users will get 403.'),
    form(() => fields, [reason.element], {
      action: 'Deactivate',
      kind: 'danger',
      cancel: () => dialog.close(),
      async submit() {
        const { body } = await request<Key>('POST', `/keys/${key.id}/deactivate`, {
          body: { reason: (reason.control as HTMLSelectElement).value },
        });
        dialog.close();
        notify(effectOf(body, `Key ${key.id} is deactivated.`));
        await refresh();
      },
    }),
  ] as Child[]);
}
