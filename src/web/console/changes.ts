// What happens, as it happens: the stream of changes.
import { isProblem, read } from './api';
import { can, link, place, View } from './context';
import { Child, fill, h, icon, named } from './dom';
import { escapeControls, number } from './format';
import { filterBar, filterSelect } from './lists';
import type { Change, Changes } from './types';
import { actionButton, badge, button, code, emptyState, heading, keyLink, problemBox, skeleton, Tone } from './ui';
import { absolute, timeWithSeconds, when } from './zone';

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
const kept = 200; // of those that arrive
const batch = 50; // of older ones
const tones: [RegExp, Tone][] = [
  [/deleted|deactivated|disabled|exposed|expired$/, 'bad'],
  [/limited|expiring|unused|rotated/, 'warn'],
  [/created|published|activated|reactivated|received/, 'good'],
];
export const changeBadge = (type: string): HTMLElement => badge(tones.find(([form]) => form.test(type))?.[1] ?? 'info', type);

interface Past {
  changes: Change[]; // in ascending order
  begin: number; // what lies before this sequence was not looked at
  oldest: number; // the first sequence that is kept
}

// At least a batch of what lies before a sequence, unless there is less. The API reads forwards only, so it reads stretches before
// it, each twice as long as the one before, up to the oldest change that is kept.
async function readPast({ begin, oldest }: Omit<Past, 'changes'>, type: string | null, signal: AbortSignal): Promise<Past> {
  let found: Change[] = [];
  for (let length = type === null ? batch : 1000; found.length < batch && begin > oldest; length = Math.min(2 * length, 20_000)) {
    const first = Math.max(oldest, begin - length);
    const part: Change[] = [];
    try {
      for (let after = first - 1; after < begin - 1; ) {
        const limit = Math.min(1000, begin - 1 - after);
        const page: Changes = await read<Changes>('/changes', { after, limit, type }, signal);
        part.push(...page.data.filter(({ sequence }) => sequence < begin));
        after = page.pagination.has_more ? page.pagination.next_after : begin;
        oldest = Math.max(oldest, page.pagination.oldest ?? oldest);
      }
    } catch (error) {
      if (!isProblem(error, 'changes_expired')) throw error;
      oldest = begin; // they went meanwhile
    }
    found = [...part, ...found];
    begin = first;
  }
  const changes = found.slice(-batch);
  return { changes, begin: found.length > batch ? changes[0]!.sequence : begin, oldest };
}

export function changesPage(view: View): void {
  view.title('Changes');
  const status = h('span', { class: 'live', role: 'status' }, 'connecting');
  const bar = h('div', {});
  const trouble = h('div', {});
  const list = h('ol', { class: 'feed', 'aria-label': 'Changes, newest first' });
  const nothing = h('div', {});
  const end = h('div', {});
  let paused = false;
  let waiting: Change[] = [];
  let isLate = false; // more came while it was paused than wait
  let stream: EventSource | null = null;
  let generation = 0;
  let past = { begin: 0, oldest: 0 };
  let shownMax = kept;
  const pause = button(
    'Pause',
    () => {
      paused = !paused;
      fill(pause, icon(paused ? 'play' : 'pause'), paused ? 'Resume' : 'Pause');
      if (!paused && isLate) void begin(place().query);
      else if (!paused) waiting.splice(0).forEach(show);
      paintStatus();
    },
    { shape: 'pause' },
  );
  view.element.append(
    heading('Changes', {
      lead: 'Every committed change, once and in order, as webhooks and GET /changes report it.',
      actions: [status, pause],
    }),
    bar,
    trouble,
    nothing,
    list,
    end,
  );

  let state = 'connecting';
  const paintStatus = (): void => {
    status.textContent = paused ? `paused, ${number(waiting.length)} waiting` : state;
    status.className = paused ? 'live paused' : state === 'live' ? 'live on' : 'live off';
  };
  const show = (change: Change): void => {
    fill(nothing);
    list.prepend(entry(change));
    for (; list.childElementCount > shownMax; list.lastElementChild!.remove())
      past.begin = Number((list.lastElementChild as HTMLElement).dataset['sequence']) + 1;
  };
  const older = h('div', { class: 'actions end' }, actionButton('Older', () => showOlder(), { small: true, shape: 'arrow' }));
  const paintEnd = (): void => {
    if (past.begin > past.oldest) end.replaceChildren(older);
    else fill(end, list.firstChild && h('p', { class: 'faint' }, 'No older changes are kept.'));
  };
  let type: string | null = null;
  const showOlder = async (): Promise<void> => {
    const mine = generation;
    const { changes, ...rest } = await readPast(past, type, view.signal);
    if (mine !== generation) return;
    past = rest;
    list.append(...changes.map(entry).reverse());
    shownMax = Math.max(kept, list.childElementCount);
    paintEnd();
  };

  const begin = async (query: URLSearchParams): Promise<void> => {
    const mine = (generation += 1);
    stream?.close();
    type = query.get('type');
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
    fill(nothing, skeleton());
    fill(end);
    list.replaceChildren();
    waiting = [];
    isLate = false;
    try {
      const latest = (await read<Changes>('/changes', { after: 'latest' }, view.signal)).pagination;
      const { changes, ...rest } = await readPast(
        { begin: latest.next_after + 1, oldest: latest.oldest ?? latest.next_after + 1 },
        type,
        view.signal,
      );
      if (mine !== generation) return;
      past = rest;
      fill(nothing);
      changes.forEach(show);
      if (changes.length === 0)
        fill(
          nothing,
          type === null
            ? emptyState('pulse', 'No changes yet', 'Create a user or a key in another window, and it appears here.')
            : emptyState('pulse', 'No change of this type', 'All changes that are kept were looked at. New ones appear here.'),
        );
      paintEnd();
      follow(latest.next_after, mine);
    } catch (error) {
      if (view.signal.aborted || mine !== generation) return;
      state = 'stopped';
      paintStatus();
      fill(nothing);
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
  const follow = (after: number, mine: number): void => {
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
      if (waiting.length > kept) {
        waiting.shift();
        isLate = true;
      }
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
      state = 'reconnecting';
      paintStatus();
      if (source.readyState !== EventSource.CLOSED) return;
      // Refused: an ordinary request tells why, and ends the session if that is the reason.
      setTimeout(() => {
        if (mine !== generation || view.signal.aborted) return;
        read<Changes>('/changes', { after: last, limit: 1 }, view.signal).then(
          () => follow(last, mine),
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
    { 'data-sequence': change.sequence },
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
        h('time', { class: 'mono', datetime: change.occurred_at }, when(change.occurred_at, timeWithSeconds)),
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
