// What happened in the last hours: requests by outcome, the busiest keys.
import { read } from './api';
import { chart, granularityOf, outcomeOf, outcomes, rangeName, ranges, since, stat } from './charts';
import { caller, can, isAdministrator, link, poll, setQuery, View } from './context';
import { Child, fill, h, named } from './dom';
import { ago, compact, figure, number, rounded } from './format';
import { limitMeters } from './limits';
import { segments } from './lists';
import { liveSection } from './service';
import type { CurrentKey, Key, Page, Usage } from './types';
import { badge, card, code, facts, heading, load, problemBox, skeleton } from './ui';

export function overviewPage(view: View): void {
  view.title('Overview');
  const toolbar = h('div', {});
  view.element.append(
    heading('Overview', {
      lead: isAdministrator()
        ? 'All requests to this service with a key, without those of the console.'
        : ['The requests of the keys of project ', named(caller().project), ', without those of the console.'],
      actions: [can('usage:read') && toolbar],
    }),
  );
  const paintToolbar = (query: URLSearchParams): void =>
    fill(
      toolbar,
      segments('Time', ranges, granularityOf(query), (range) => setQuery({ range: range === 'hour' ? null : range })),
    );
  paintToolbar(view.query);

  const steps = h('div', {});
  view.element.append(steps);
  if (can('keys:read')) void firstSteps(steps, view.signal);
  if (can('usage:read')) usageSection(view, paintToolbar);
  const end = h('div', { class: 'columns' });
  if (isAdministrator()) liveSection(view, end);
  end.append(callerCard(view));
  view.element.append(end);
}

// Somebody who has just installed the service has one key and no request.
async function firstSteps(region: HTMLElement, signal: AbortSignal): Promise<void> {
  const { pagination } = await read<Page<Key>>('/keys', { limit: 1 }, signal).catch(() => ({ pagination: { total: 2 } }));
  if ((pagination.total ?? 2) > 1) return;
  fill(
    region,
    card('Getting started', [
      h(
        'ol',
        { class: 'steps' },
        can('keys:write') &&
          h(
            'li',
            {},
            h('a', { href: link('/keys/new') }, 'Create a key for each application'),
            h(
              'p',
              {},
              'with the scopes it needs and nothing more, and an expiry. Keep this one, which has every scope, for yourself.',
            ),
          ),
        h(
          'li',
          {},
          h('a', { href: '/docs' }, 'Send its first request'),
          h('p', {}, 'The page that shows the new key has a curl line that works.'),
        ),
        can('webhooks:write') &&
          h(
            'li',
            {},
            h('a', { href: link('/webhooks') }, 'Get notified of changes'),
            h('p', {}, 'by a webhook, or follow the changes as they happen.'),
          ),
      ),
    ]),
  );
}

function usageSection(view: View, paintToolbar: (query: URLSearchParams) => void): void {
  const tiles = h('dl', { class: 'stats' });
  const waiting = skeleton(2);
  const chartPlace = h('div', {});
  const busiest = h('div', {}, skeleton());
  const refusals = h('div', {});
  const first = outcomes([], granularityOf(view.query), 'Requests by outcome');
  const main = chart(first, view.signal);
  const refused = chart({ ...first, kind: 'line', stacked: false, height: 'short' }, view.signal);
  chartPlace.append(main.element);
  refusals.append(refused.element);
  const trouble = h('div', {});
  view.element.append(
    trouble,
    waiting,
    tiles,
    h('div', { class: 'columns wide-first' }, card('Requests by outcome', [chartPlace]), card('Busiest keys', [busiest])),
    card('Errors', [refusals]),
  );

  let generation = 0;
  const refresh = async (query: URLSearchParams): Promise<void> => {
    const granularity = granularityOf(query);
    const mine = (generation += 1);
    try {
      const usage = await read<Usage>('/usage', { granularity, from: since(granularity), top: 8 }, view.signal);
      if (mine !== generation) return;
      fill(trouble);
      waiting.remove();
      const { points, requests } = usage.total;
      const sums = points.map(outcomeOf).reduce(
        (sum, each) => ({
          ok: sum.ok + each.ok,
          redirected: sum.redirected + each.redirected,
          refused: sum.refused + each.refused,
          limited: sum.limited + each.limited,
          failed: sum.failed + each.failed,
        }),
        { ok: 0, redirected: 0, refused: 0, limited: 0, failed: 0 },
      );
      const share = (count: number): string => (requests === 0 ? '' : `${rounded((100 * count) / requests)} % of all`);
      fill(
        tiles,
        stat('Requests', figure(requests), `last ${rangeName(granularity)}`),
        stat(
          'Successful',
          requests === 0 ? '–' : `${rounded(Math.floor((1000 * (sums.ok + sums.redirected)) / requests) / 10)} %`,
          number(sums.ok + sums.redirected),
        ),
        stat('Client errors', figure(sums.refused), share(sums.refused), sums.refused > 0 ? 'refused' : ''),
        stat('Rate limited', figure(sums.limited), share(sums.limited), sums.limited > 0 ? 'limited' : ''),
        stat('Server errors', figure(sums.failed), share(sums.failed), sums.failed > 0 ? 'failed' : ''),
      );
      const options = outcomes(points, granularity, 'Requests by outcome');
      main.update(options);
      refused.update({
        ...options,
        label: `Client errors, rate limited requests and server errors in the last ${rangeName(granularity)}`,
        kind: 'line',
        stacked: false,
        series: options.series.slice(2),
      });
      const names = await namesOf(
        usage.data.map(({ key_id: id }) => id),
        view.signal,
      );
      if (mine === generation) fill(busiest, ranking(usage, names, rangeName(granularity)));
    } catch (error) {
      waiting.remove();
      if (!view.signal.aborted)
        fill(
          trouble,
          problemBox(error, () => void refresh(query)),
        );
    }
  };
  let query = view.query;
  view.onQuery((next) => {
    query = next;
    paintToolbar(next);
    void refresh(next);
  });
  poll(view.signal, 15, () => refresh(query));
}

const knownNames = new Map<number, Key>();
async function namesOf(ids: number[], signal: AbortSignal): Promise<Map<number, Key>> {
  if (can('keys:read')) {
    await Promise.all(
      ids
        .filter((id) => !knownNames.has(id))
        .map((id) =>
          read<Key>(`/keys/${id}`, {}, signal).then(
            (key) => knownNames.set(id, key),
            () => undefined,
          ),
        ),
    );
  }
  return knownNames;
}

function ranking({ data, complete }: Usage, names: Map<number, Key>, range: string): Child {
  const used = data.filter(({ requests }) => requests > 0);
  if (used.length === 0) return h('p', { class: 'quiet-text' }, `No requests in the last ${range}.`);
  const most = used[0]!.requests;
  return [
    h(
      'ol',
      { class: 'ranking' },
      used.map(({ key_id: id, requests, points }) => {
        const limited = points.reduce((sum, point) => sum + point.limited, 0);
        const name = names.get(id)?.name;
        return h(
          'li',
          {},
          h(
            'div',
            { class: 'ranking-row' },
            h('a', { href: link(`/keys/${id}`) }, name === undefined ? `key ${id}` : named(name)),
            h(
              'span',
              {},
              limited > 0 && badge('limit', `${compact(limited)} rate limited`),
              ' ',
              figure(requests),
            ),
          ),
          h('meter', { min: 0, max: most, value: requests, 'aria-label': `${requests} requests` }),
        );
      }),
    ),
    !complete && h('p', { class: 'faint' }, 'Incomplete: there are too many keys to look at all of them.'),
  ];
}

function callerCard(view: View): HTMLElement {
  const limits = h('div', {});
  void load(limits, async () => {
    const key = await read<CurrentKey>('/keys/current', {}, view.signal);
    return limitMeters(key);
  });
  const { name, project, scopes, expires_at: expires, id } = caller();
  return card('Your key', [
    facts(
      ['Name', can('keys:read') ? h('a', { href: link(`/keys/${id}`) }, named(name)) : named(name)],
      ['Project', named(project)],
      ['Scopes', scopes.map((scope) => [code(scope), ' '])],
      ['Expires', ago(expires)],
    ),
    limits,
  ]);
}
