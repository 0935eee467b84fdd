// What happens, as it happens: the stream of changes.
import { isProblem, read } from './api';
import { can, link, View } from './context';
import { Child, fill, h, icon, named } from './dom';
import { absolute, escapeControls, number, timeWithSeconds } from './format';
import { filterBar, filterSelect } from './lists';
import type { Change, Changes } from './types';
import { badge, button, code, emptyState, heading, keyLink, problemBox, Tone } from './ui';

// EventSource tells an event to those only who listen for its type.
const types: Record<string, string[]> = {
  user: ['created', 'updated', 'deleted'],
  post: ['created', 'updated', 'published', 'archived', 'deleted'],
  key: [
    'created',
    'updated',
    'rotated',
    'deactivated',
    'reactivated',
    'activated',
    'expired',
    'expiring',
    'limited',
    'exposed',
    'unused',
  ],
  event: ['received'],
  event_secret: ['changed'],
  webhook: ['disabled', 'test'],
};
export const changeTypes = Object.entries(types).flatMap(([group, names]) => names.map((name) => `${group}.${name}`));
const kept = 200;
const tones: [RegExp, Tone][] = [
  [/deleted|deactivated|disabled|exposed|expired$/, 'bad'],
  [/limited|expiring|unused|rotated/, 'warn'],
  [/created|published|activated|reactivated|received/, 'good'],
];
export const changeBadge = (type: string): HTMLElement => badge(tones.find(([form]) => form.test(type))?.[1] ?? 'info', type);

export function changesPage(view: View): void {
  view.title('Changes');
  const status = h('span', { class: 'live', role: 'status' }, 'connecting');
  const bar = h('div', {});
  const trouble = h('div', {});
  const list = h('ol', { class: 'feed', 'aria-label': 'Changes, newest first' });
  const nothing = h('div', {});
  let paused = false;
  let waiting: Change[] = [];
  let stream: EventSource | null = null;
  let generation = 0;
  const pause = button(
    'Pause',
    () => {
      paused = !paused;
      fill(pause, icon(paused ? 'play' : 'pause'), paused ? 'Go on' : 'Pause');
      if (!paused) waiting.splice(0).forEach(show);
      paintStatus();
    },
    { shape: 'pause' },
  );
  view.element.append(
    heading('Changes', {
      lead: 'Every change that is committed, once and in order, as webhooks and GET /changes tell it.',
      actions: [status, pause],
    }),
    bar,
    trouble,
    nothing,
    list,
  );

  let state = 'connecting';
  const paintStatus = (): void => {
    status.textContent = paused ? `paused, ${number(waiting.length)} waiting` : state;
    status.className = paused ? 'live paused' : state === 'live' ? 'live on' : 'live off';
  };
  const show = (change: Change): void => {
    fill(nothing);
    list.prepend(entry(change));
    while (list.childElementCount > kept) list.lastElementChild?.remove();
  };

  const begin = async (query: URLSearchParams): Promise<void> => {
    const mine = (generation += 1);
    stream?.close();
    const type = query.get('type');
    fill(
      bar,
      filterBar(
        query,
        ['type'],
        filterSelect('Type', 'type', query, [
          ['', 'all'],
          ...Object.keys(types).map((group) => [`${group}.*`, `${group}.*`] as const),
          ...changeTypes.map((each) => [each, each] as const),
        ]),
      ),
    );
    fill(trouble);
    list.replaceChildren();
    waiting = [];
    try {
      const end = (await read<Changes>('/changes', { after: 'latest' }, view.signal)).pagination;
      const first = Math.max((end.oldest ?? 1) - 1, end.next_after - (type === null ? 50 : 1000));
      const recent: Change[] = [];
      let after = Math.max(0, first);
      for (let more = after < end.next_after; more; ) {
        const page: Changes = await read<Changes>('/changes', { after, limit: 1000, type }, view.signal);
        recent.push(...page.data);
        after = page.pagination.next_after;
        more = page.pagination.has_more;
      }
      if (mine !== generation) return;
      recent.slice(-50).forEach(show);
      if (recent.length === 0)
        fill(
          nothing,
          emptyState('pulse', 'Nothing has happened yet', 'Create a user or a key in another window, and see it appear here.'),
        );
      follow(Math.max(after, end.next_after), type, mine);
    } catch (error) {
      if (view.signal.aborted || mine !== generation) return;
      state = 'stopped';
      paintStatus();
      fill(
        trouble,
        isProblem(error, 'not_found') || isProblem(error, 'route_not_found')
          ? emptyState('pulse', 'Changes are not recorded', [
              'The operator has switched them off: ',
              code('changes.enabled = false'),
              '.',
            ])
          : problemBox(error, () => void begin(query)),
      );
    }
  };
  const follow = (after: number, type: string | null, mine: number): void => {
    const parameters = new URLSearchParams({ after: String(after) });
    if (type !== null) parameters.set('type', type);
    const source = new EventSource(`/api/v1/changes?${parameters}`);
    stream = source;
    let last = after;
    const receive = (event: MessageEvent<string>): void => {
      const change = JSON.parse(event.data) as Change;
      last = change.sequence;
      if (!paused) return show(change);
      waiting.push(change);
      if (waiting.length > kept) waiting.shift();
      paintStatus();
    };
    for (const each of changeTypes) source.addEventListener(each, receive);
    source.addEventListener('message', receive);
    source.addEventListener('open', () => {
      state = 'live';
      paintStatus();
    });
    source.addEventListener('error', () => {
      if (mine !== generation || view.signal.aborted) return;
      state = 'connecting again';
      paintStatus();
      if (source.readyState !== EventSource.CLOSED) return;
      // Refused: an ordinary request tells why, and ends the session if that is the reason.
      setTimeout(() => {
        if (mine !== generation || view.signal.aborted) return;
        read<Changes>('/changes', { after: last, limit: 1 }, view.signal).then(
          () => follow(last, type, mine),
          (error: unknown) => {
            if (view.signal.aborted) return;
            state = 'stopped';
            paintStatus();
            fill(
              trouble,
              problemBox(error, () => void begin(view.query)),
            );
          },
        );
      }, 3000);
    });
  };
  view.signal.addEventListener('abort', () => stream?.close());
  view.onQuery((query) => void begin(query));
  void begin(view.query);
}

function entry(change: Change): HTMLElement {
  const body = h('div', {});
  return h(
    'li',
    {},
    h(
      'details',
      {
        ontoggle: (event) => {
          if ((event.target as HTMLDetailsElement).open && !body.hasChildNodes())
            fill(
              body,
              h(
                'p',
                { class: 'faint' },
                page(change),
                absolute(change.occurred_at),
                ' · by ',
                keyLink(change.key_id, 'the service or the command line'),
              ),
              h(
                'pre',
                { class: 'json', tabindex: 0, role: 'group', 'aria-label': 'Record' },
                escapeControls(JSON.stringify(change.data, null, 2)),
              ),
            );
        },
      },
      h(
        'summary',
        {},
        h('time', { class: 'mono', datetime: change.occurred_at }, timeWithSeconds(change.occurred_at)),
        h('span', { class: 'kind' }, changeBadge(change.type)),
        h('span', { class: 'subject' }, subject(change)),
        h('span', { class: 'faint mono sequence' }, `#${change.sequence}`),
      ),
      body,
    ),
  );
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

// What the change is about, as people call it.
function subject({ type, data }: Change): Child {
  const name = text(data['name']) ?? text(data['title']) ?? text(data['source']) ?? text(data['url']);
  return [
    name === null ? aboutWhat({ type, data }) : named(name),
    text(data['email']) && h('span', { class: 'faint' }, ' ', named(text(data['email'])!)),
  ];
}

const aboutWhat = ({ type, data }: Pick<Change, 'type' | 'data'>): string =>
  `${type.split('.')[0]!.replace('_', ' ')} ${String(data['id'] ?? '')}`;

// The page of what has changed, where there still is one.
function page({ type, data }: Change): Child {
  const name = { user: 'users', post: 'posts', key: 'keys', event: 'events', webhook: 'webhooks' }[type.split('.')[0]!];
  if (name === undefined || !can(`${name}:read`) || type.endsWith('.deleted') || typeof data['id'] !== 'number') return null;
  return [h('a', { href: link(`/${name}/${data['id']}`) }, `Open ${aboutWhat({ type, data })}`), ' · '];
}
