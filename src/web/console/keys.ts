// The list of keys: filters in the address, last use, and a small chart each from one request.
import { read } from './api';
import { since, sparkline } from './charts';
import { now } from './clock';
import { can, isAdministrator, link, View } from './context';
import { Child, fill, h, named } from './dom';
import { ago, figure, plural } from './format';
import { Extent, filterSelect, filterText, showList, table } from './lists';
import type { Key, Usage } from './types';
import { emptyState, environmentTag, heading, linkButton, stateBadge } from './ui';

export function keysPage(view: View): void {
  view.title('Keys');
  view.element.append(
    heading('Keys', {
      lead: 'Each key names an application. It is shown once, when it is created.',
      actions: [
        can('keys:verify') && linkButton('Check access', link('/check'), { shape: 'shield' }),
        can('keys:write') && linkButton('Create key', link('/keys/new'), { kind: 'primary', shape: 'plus' }),
      ],
    }),
  );
  showList<Key>(view, {
    path: '/keys',
    nouns: ['key', 'keys'],
    shape: 'key',
    filters: ['state', 'environment', 'project', 'start', 'unused'],
    bar: (query) => [
      filterSelect('State', 'state', query, [
        ['', 'any'],
        ['active', 'active'],
        ['scheduled', 'scheduled'],
        ['expired', 'expired'],
        ['deactivated', 'deactivated'],
      ]),
      filterSelect('Environment', 'environment', query, [
        ['', 'any'],
        ['production', 'production'],
        ['staging', 'staging'],
        ['development', 'development'],
      ]),
      isAdministrator() && filterText('Project', 'project', query, { placeholder: 'any', size: 10 }),
      filterText('Starts with', 'start', query, { placeholder: 'first 8 characters', size: 16 }),
      filterSelect('Unused for', 'unused', query, [
        ['', '–'],
        ['1', '1 day'],
        ['7', '7 days'],
        ['30', '30 days'],
        ['90', '90 days'],
      ]),
    ],
    parameters: (query) => ({
      state: query.get('state'),
      environment: query.get('environment'),
      project: query.get('project'),
      start: query.get('start'),
      unused_since: unusedSince(Number(query.get('unused') ?? 0)),
    }),
    nothing: () =>
      emptyState(
        'key',
        'No keys yet',
        'A key names one application and says what it may do, how often and until when. Create one for each, ' +
          'so that one can be deactivated without the others.',
        can('keys:write') && linkButton('Create key', link('/keys/new'), { kind: 'primary', shape: 'plus' }),
      ),
    show: (keys, extent) => keyTable(keys, extent, view.signal),
    csv: [
      ['id', ({ id }) => id],
      ['name', ({ name }) => name],
      ['project', ({ project }) => project],
      ['environment', ({ environment }) => environment],
      ['state', ({ state }) => state],
      ['start', ({ start }) => start],
      ['scopes', ({ scopes }) => scopes.join(' ')],
      ['created_at', (key) => key.created_at],
      ['last_used_at', (key) => key.last_used_at],
      ['expires_at', (key) => key.expires_at],
      ['deactivated_at', (key) => key.deactivated_at],
    ],
  });
}

// In whole hours: a cursor is bound to its filters, so the time stays the same while one turns pages.
const unusedSince = (days: number): string | null =>
  days > 0 ? new Date(Math.floor(now() / 3_600_000 - days * 24) * 3_600_000).toISOString() : null;

function keyTable(keys: Key[], extent: Extent, signal: AbortSignal): HTMLElement {
  const places = new Map(keys.map(({ id }) => [id, h('span', { class: 'spark-cell' }, '\u00a0')]));
  if (can('usage:read')) void drawUsage(places, signal);
  return table(
    'Keys',
    [
      {
        head: 'Name',
        kind: 'main',
        cell: (key) => [
          h('a', { class: 'strong', href: link(`/keys/${key.id}`) }, named(key.name)),
          h('span', { class: 'under' }, keyText(key)),
        ],
        order: ({ name }) => name,
      },
      {
        head: 'State',
        cell: (key) => [
          stateBadge(key.state),
          key.state === 'active' && key.rotation_ends_at && h('span', { class: 'under' }, 'rotation until ', ago(key.rotation_ends_at)),
        ],
        order: ({ state }) => state,
      },
      {
        head: 'Environment',
        kind: 'wide',
        cell: (key) => [environmentTag(key.environment), isAdministrator() && h('span', { class: 'under' }, named(key.project))],
        order: ({ environment, project }) => `${environment} ${project}`,
      },
      { head: 'Scopes', kind: 'widest', cell: (key) => scopeSummary(key.scopes) },
      ...(can('usage:read') ? [{ head: 'Last 24 hours', kind: 'wide' as const, cell: (key: Key) => places.get(key.id) }] : []),
      { head: 'Last used', cell: (key) => ago(key.last_used_at), order: (key) => key.last_used_at },
      { head: 'Expires', kind: 'wide', cell: (key) => ago(key.expires_at), order: (key) => key.expires_at },
    ],
    keys,
    { href: (key) => link(`/keys/${key.id}`), extent },
  );
}

export const keyText = (key: Key): Child => [
  `#${key.id} `,
  key.start === null ? h('span', {}, 'imported') : h('code', {}, `${key.start}…${key.last4}`),
];

export function scopeSummary(scopes: string[]): Child {
  const shown = scopes.slice(0, 3);
  return h(
    'span',
    { class: 'scopes', title: scopes.join(', ') },
    shown.map((scope) => h('code', { class: 'scope' }, scope)),
    scopes.length > shown.length && h('span', { class: 'faint' }, ` +${scopes.length - shown.length}`),
  );
}

async function drawUsage(places: Map<number, HTMLElement>, signal: AbortSignal): Promise<void> {
  try {
    const { data } = await read<Usage>(
      '/usage',
      { key_id: [...places.keys()].join(','), granularity: 'hour', from: since('hour') },
      signal,
    );
    for (const { key_id: id, requests, points } of data) {
      const label = `${plural(requests, 'request')} in 24 hours`;
      fill(
        places.get(id)!,
        sparkline(points, label),
        figure(requests, requests === 0 ? 'faint' : ''),
      );
    }
  } catch (error) {
    if (!signal.aborted) for (const place of places.values()) fill(place, h('span', { class: 'faint', title: String(error) }, '–'));
  }
}
