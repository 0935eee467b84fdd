// The list of keys: filters in the address, last use, and a small chart each from one request.
import { read } from './api';
import { since, sparkline } from './charts';
import { now } from './clock';
import { can, isAdministrator, link, View } from './context';
import { Child, fill, h, named } from './dom';
import { ago, compact, plural } from './format';
import { filterBar, filterSelect, filterText, listInto, pager, table } from './lists';
import type { Key, Page, Usage } from './types';
import { emptyState, environmentTag, heading, linkButton, stateBadge } from './ui';

const filters = ['state', 'environment', 'project', 'start', 'unused'];
const pageSize = 50; // at most 100: one request for usage names all of them

export function keysPage(view: View): void {
  view.title('Keys');
  view.element.append(
    heading('Keys', {
      lead: 'Each key names an application. It is shown once, when it is created.',
      actions: [
        can('keys:verify') && linkButton('Check a key', link('/check'), { shape: 'shield' }),
        can('keys:write') && linkButton('Create key', link('/keys/new'), { kind: 'primary', shape: 'plus' }),
      ],
    }),
  );
  listInto(
    view,
    (query) =>
      filterBar(
        query,
        filters,
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
        filterText('Begins with', 'start', query, { placeholder: 'first 8 characters', size: 16 }),
        filterSelect('Unused for', 'unused', query, [
          ['', '–'],
          ['1', '1 day'],
          ['7', '7 days'],
          ['30', '30 days'],
          ['90', '90 days'],
        ]),
      ),
    (query) => list(query, view.signal),
  );
}

async function list(query: URLSearchParams, signal: AbortSignal): Promise<Child> {
  const unused = Number(query.get('unused') ?? 0);
  const { data, pagination } = await read<Page<Key>>(
    '/keys',
    {
      limit: pageSize,
      sort: '-id',
      page: query.get('page'),
      state: query.get('state'),
      environment: query.get('environment'),
      project: query.get('project'),
      start: query.get('start'),
      unused_since: unused > 0 ? new Date(now() - unused * 86_400_000).toISOString() : null,
    },
    signal,
  );
  if (data.length === 0) return nothing(query);
  const places = new Map(data.map(({ id }) => [id, h('span', { class: 'spark-cell' }, '\u00a0')]));
  if (can('usage:read')) void drawUsage(places, signal);
  return [
    table(
      'Keys',
      [
        {
          head: 'Name',
          kind: 'main',
          cell: (key) => [
            h('a', { class: 'strong', href: link(`/keys/${key.id}`) }, named(key.name)),
            h('span', { class: 'under' }, keyText(key)),
          ],
        },
        {
          head: 'State',
          cell: (key) => [
            stateBadge(key.state),
            key.state === 'active' && key.rotation_ends_at && h('span', { class: 'under' }, 'rotation until ', ago(key.rotation_ends_at)),
          ],
        },
        {
          head: 'Environment',
          kind: 'wide',
          cell: (key) => [environmentTag(key.environment), isAdministrator() && h('span', { class: 'under' }, named(key.project))],
        },
        { head: 'Scopes', kind: 'widest', cell: (key) => scopeSummary(key.scopes) },
        ...(can('usage:read') ? [{ head: 'Last 24 hours', kind: 'wide' as const, cell: (key: Key) => places.get(key.id) }] : []),
        { head: 'Last used', cell: (key) => ago(key.last_used_at) },
        { head: 'Expires', kind: 'wide', cell: (key) => ago(key.expires_at) },
      ],
      data,
      { href: (key) => link(`/keys/${key.id}`) },
    ),
    pager(pagination, 'key'),
  ];
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
        h('span', { class: requests === 0 ? 'figure faint' : 'figure' }, compact(requests)),
      );
    }
  } catch (error) {
    if (!signal.aborted) for (const place of places.values()) fill(place, h('span', { class: 'faint', title: String(error) }, '–'));
  }
}

function nothing(query: URLSearchParams): HTMLElement {
  if (filters.some((name) => query.has(name)) || query.has('page')) {
    return emptyState(
      'key',
      'No key matches',
      'Take a filter away, or look whether the key belongs to another project.',
      linkButton('Show all keys', link('/keys')),
    );
  }
  return emptyState(
    'key',
    'No keys yet',
    'A key names one application and says what it may do, how often and until when. Create one for each, ' +
      'so that one can be turned off without the others.',
    can('keys:write') && linkButton('Create key', link('/keys/new'), { kind: 'primary', shape: 'plus' }),
  );
}
