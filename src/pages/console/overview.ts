// What happens now and in the last hours: requests by outcome, the busiest keys, latency, the nodes.
import { read } from './api';
import { caller, can, isAdministrator, link, poll, setQuery, View } from './context';
import { chart, granularityOf, liveTimes, outcomeOf, outcomes, rangeName, ranges, since, stat } from './charts';
import { Child, fill, h, named } from './dom';
import { ago, compact, duration, exact, limitText, milliseconds, number, plural } from './format';
import type { CurrentKey, Key, Page, Service, Usage } from './types';
import { badge, callout, card, code, facts, heading, load, problemBox, segments, table } from './ui';

export function overviewPage(view: View): void {
  view.title('Overview');
  const toolbar = h('div', {});
  view.element.append(heading('Overview', { lead: isAdministrator() ? 'All requests to this service, whichever key sent them.' : ['What the keys of project ', named(caller().project), ' do.'], actions: [can('usage:read') && toolbar] }));
  const paintToolbar = (query: URLSearchParams): void => fill(toolbar, segments('Time', ranges, granularityOf(query), (range) => setQuery({ range: range === 'hour' ? null : range })));
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
  if (pagination.total > 1) return;
  fill(region, card('Begin here', [h('ol', { class: 'steps' },
    can('keys:write') && h('li', {}, h('a', { href: link('/keys/new') }, 'Create a key for each application'), h('p', {}, 'with the scopes it needs and nothing more, and an expiry. This one, which may do everything, is for you alone.')),
    h('li', {}, h('a', { href: '/docs' }, 'Send its first request'), h('p', {}, 'The page that shows the new key has a curl line that works.')),
    can('webhooks:write') && h('li', {}, h('a', { href: link('/webhooks') }, 'Be told what changes'), h('p', {}, 'by a webhook, or follow the changes as they happen.')))]));
}

function usageSection(view: View, paintToolbar: (query: URLSearchParams) => void): void {
  const tiles = h('dl', { class: 'stats' });
  const chartPlace = h('div', {});
  const busiest = h('div', {});
  const refusals = h('div', {});
  const first = outcomes([], granularityOf(view.query), 'Requests by outcome');
  const main = chart(first, view.signal);
  const refused = chart({ ...first, kind: 'line', stacked: false, height: 'short' }, view.signal);
  chartPlace.append(main.element);
  refusals.append(refused.element);
  const trouble = h('div', {});
  view.element.append(trouble, tiles, h('div', { class: 'columns wide-first' }, card('Requests by outcome', [chartPlace]), card('Busiest keys', [busiest])), card('Refused, limited and failed', [refusals]));

  let generation = 0;
  const refresh = async (query: URLSearchParams): Promise<void> => {
    const granularity = granularityOf(query);
    const mine = generation += 1;
    try {
      const usage = await read<Usage>('/usage', { granularity, from: since(granularity), top: 8 }, view.signal);
      if (mine !== generation) return;
      fill(trouble);
      const { points, requests } = usage.total;
      const sums = points.map(outcomeOf).reduce((sum, each) => ({ ok: sum.ok + each.ok, redirected: sum.redirected + each.redirected, refused: sum.refused + each.refused, limited: sum.limited + each.limited, failed: sum.failed + each.failed }),
        { ok: 0, redirected: 0, refused: 0, limited: 0, failed: 0 });
      const share = (count: number): string => (requests === 0 ? 'of no request' : `${exact((100 * count) / requests)} % of all`);
      fill(tiles,
        stat('Requests', compact(requests), `last ${rangeName(granularity)}`),
        stat('Successful', requests === 0 ? '–' : `${exact(Math.floor((1000 * (sums.ok + sums.redirected)) / requests) / 10)} %`, number(sums.ok + sums.redirected)),
        stat('Refused', compact(sums.refused), share(sums.refused), sums.refused > 0 ? 'refused' : ''),
        stat('Limited', compact(sums.limited), share(sums.limited), sums.limited > 0 ? 'limited' : ''),
        stat('Failed', compact(sums.failed), share(sums.failed), sums.failed > 0 ? 'failed' : ''));
      const options = outcomes(points, granularity, 'Requests by outcome');
      main.update(options);
      refused.update({ ...options, label: `Refused, limited and failed requests in the last ${rangeName(granularity)}`, kind: 'line', stacked: false, series: options.series.slice(2) });
      const names = await namesOf(usage.data.map(({ key_id: id }) => id), view.signal);
      if (mine === generation) fill(busiest, ranking(usage, names, rangeName(granularity)));
    } catch (error) {
      if (!view.signal.aborted) fill(trouble, problemBox(error, () => void refresh(query)));
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
    await Promise.all(ids.filter((id) => !knownNames.has(id)).map((id) =>
      read<Key>(`/keys/${id}`, {}, signal).then((key) => knownNames.set(id, key), () => undefined)));
  }
  return knownNames;
}

function ranking({ data, complete }: Usage, names: Map<number, Key>, range: string): Child {
  const used = data.filter(({ requests }) => requests > 0);
  if (used.length === 0) return h('p', { class: 'quiet-text' }, `No key has sent a request in the last ${range}.`);
  const most = used[0]!.requests;
  return [h('ol', { class: 'ranking' }, used.map(({ key_id: id, requests, points }) => {
    const limited = points.reduce((sum, point) => sum + point.limited, 0);
    const name = names.get(id)?.name;
    return h('li', {}, h('div', { class: 'ranking-row' }, h('a', { href: link(`/keys/${id}`) }, name === undefined ? `key ${id}` : named(name)),
      h('span', {}, limited > 0 && badge('limit', `${compact(limited)} limited`), ' ', h('span', { class: 'figure', title: number(requests) }, compact(requests)))),
    h('meter', { min: 0, max: most, value: requests, 'aria-label': `${requests} requests` }));
  })), !complete && h('p', { class: 'faint' }, 'Not all keys were looked at: there are too many.')];
}

// ---- what the service counts by itself, as differences of two answers ----

interface Sample { time: number; service: Service }
const kept = 60;

function liveSection(view: View, end: HTMLElement): void {
  const samples: Sample[] = [];
  const head = h('div', { class: 'section-head' }, h('h2', {}, 'Now'), h('span', { class: 'live' }, 'every 5 s'));
  const tiles = h('dl', { class: 'stats' });
  const short = { starts: [], series: [], kind: 'line', height: 'short', ...liveTimes } as const;
  const rates = chart({ ...short, starts: [], series: [], label: 'Requests a second', unit: 'Requests a second' }, view.signal);
  const latency = chart({ ...short, starts: [], series: [], label: 'Latency', unit: 'Until the response exists' }, view.signal);
  const logins = chart({ ...short, starts: [], series: [], label: 'Failed authentications', unit: 'Failed authentications a minute' }, view.signal);
  const nodes = h('div', {});
  view.element.append(head, tiles, h('div', { class: 'columns thirds' }, card('Requests', [rates.element]), card('Latency', [latency.element]), card('Failed authentications', [logins.element])));
  end.append(nodes);

  poll(view.signal, 5, async () => {
    let service: Service;
    try {
      service = await read<Service>('/service', {}, view.signal);
    } catch (error) {
      if (!view.signal.aborted) fill(tiles, problemBox(error));
      return;
    }
    const before = samples.at(-1);
    // After a restart the counters begin anew.
    if (before && before.service.started_at !== service.started_at) samples.length = 0;
    samples.push({ time: Date.now(), service });
    if (samples.length > kept) samples.shift();
    const steps = samples.slice(1).map((sample, i) => difference(samples[i]!, sample));
    const latest = steps.at(-1);
    // The axis is five minutes long from the first figure on.
    const missing = Array.from({ length: Math.max(0, kept - 1 - steps.length) }, (_, i) => (steps[0]?.time ?? Date.now()) - (kept - 1 - steps.length - i) * 5000);
    const starts = [...missing, ...steps.map(({ time }) => time)];
    const padded = (values: (number | null)[]): (number | null)[] => [...missing.map(() => null), ...values];
    fill(tiles,
      stat('Requests a second', latest ? compact(latest.rate) : '…'),
      stat('Half of them within', latest?.median === undefined || latest.median === null ? '–' : milliseconds(latest.median), 'median latency'),
      stat('99 % within', latest?.slow === undefined || latest.slow === null ? '–' : milliseconds(latest.slow), 'of the last 5 s'),
      stat('Connections', number(service.connections), service.streams > 0 ? `${number(service.streams)} follow changes` : 'open'),
      stat('Failed authentications', compact(service.failed_authentications), ['since ', ago(service.started_at)], service.failed_authentications > 0 ? 'refused' : ''));
    rates.update({ ...short, label: `Requests a second: ${latest ? compact(latest.rate) : 'no figure yet'}`, unit: 'Requests a second', starts, value: compact,
      series: [{ name: 'All', color: 'c-ok', values: padded(steps.map(({ rate }) => rate)) }, { name: 'Refused', color: 'c-refused', values: padded(steps.map(({ refused }) => refused)) }] });
    latency.update({ ...short, label: 'Latency', unit: 'Until the response exists', starts, value: milliseconds,
      series: [{ name: 'Median', color: 'c-ok', values: padded(steps.map(({ median }) => median)) }, { name: '99 %', color: 'c-limited', values: padded(steps.map(({ slow }) => slow)) }] });
    logins.update({ ...short, label: 'Failed authentications a minute', unit: 'Failed authentications a minute', starts, value: compact,
      series: [{ name: 'Failed authentications', color: 'c-failed', values: padded(steps.map(({ strangers }) => strangers)) }] });
    fill(nodes, serviceCard(service));
  });
}

function difference(from: Sample, to: Sample): { time: number; rate: number; refused: number; strangers: number; median: number | null; slow: number | null } {
  const seconds = Math.max(0.001, (to.time - from.time) / 1000);
  const [a, b] = [from.service, to.service];
  const sum = ({ requests }: Service): number => Object.values(requests).reduce((total, count) => total + count, 0);
  const buckets = b.latency.buckets.map(({ le, count }, i) => ({ le, count: count - (a.latency.buckets[i]?.count ?? 0) }));
  return { time: to.time, rate: (sum(b) - sum(a)) / seconds, refused: (b.requests['4xx'] - a.requests['4xx']) / seconds,
    strangers: ((b.failed_authentications - a.failed_authentications) * 60) / seconds, median: quantile(buckets, 0.5), slow: quantile(buckets, 0.99) };
}

// Within its bucket a value is taken to be evenly spread. Null: nothing was counted.
function quantile(buckets: { le: number | null; count: number }[], share: number): number | null {
  const all = buckets.at(-1)?.count ?? 0;
  if (all === 0) return null;
  let below = 0;
  let edge = 0;
  for (const { le, count } of buckets) {
    if (count >= all * share) return le === null ? edge : edge + (le - edge) * ((all * share - below) / Math.max(1, count - below));
    below = count;
    edge = le ?? edge;
  }
  return edge;
}

function serviceCard(service: Service): HTMLElement {
  const up = duration((Date.now() - Date.parse(service.started_at)) / 1000);
  const about = facts(['Version', code(service.version)], ['Running for', up]);
  if (service.nodes.length === 0) return card('Service', [about]);
  const late = service.nodes.filter(({ is_alive: alive, lag_rows: lag }) => !alive || lag > 1000);
  return card('Nodes', [
    late.length > 0 && callout('warn', `${late.length === 1 ? 'A node is' : `${late.length} nodes are`} behind.`, 'Its reads are old, and what it does not confirm within 5 s is answered 202. See whether it reaches PostgreSQL.'),
    table('Nodes of the cluster', [
      { head: 'Node', cell: ({ name, is_self: self }) => [named(name), self && h('span', { class: 'faint' }, ' · this one')] },
      { head: 'State', cell: ({ is_alive: alive }) => (alive ? badge('good', 'alive') : badge('bad', 'not heard from')) },
      { head: 'Version', kind: 'wide', cell: ({ version }) => code(version) },
      { head: 'Behind by', kind: 'number', cell: ({ lag_rows: lag }) => plural(lag, 'row') },
    ], service.nodes), about]);
}

// ---- the key that is logged in ----

function callerCard(view: View): HTMLElement {
  const limits = h('div', {});
  void load(limits, async () => {
    const key = await read<CurrentKey>('/keys/current', {}, view.signal);
    return limitMeters(key);
  });
  const { name, project, scopes, expires_at: expires, id } = caller();
  return card('Your key', [facts(['Name', can('keys:read') ? h('a', { href: link(`/keys/${id}`) }, named(name)) : named(name)], ['Project', named(project)],
    ['Scopes', scopes.map((scope) => [code(scope), ' '])], ['Expires', ago(expires)]), limits]);
}

export function limitMeters({ rate_limits: limits }: { rate_limits: CurrentKey['rate_limits'] }): Child {
  if (limits.length === 0) return h('p', { class: 'quiet-text' }, 'No limit: as many requests as the service can answer.');
  return h('ul', { class: 'meters' }, limits.map((limit) => {
    const most = limit.burst ?? limit.limit;
    return h('li', {}, h('div', { class: 'ranking-row' }, h('span', {}, named(limit.name), h('span', { class: 'faint' }, ` ${limitText(limit)}`)),
      h('span', { class: 'figure' }, `${number(limit.remaining)} left`)),
    h('meter', { min: 0, max: most, low: most * 0.2, high: most * 0.5, optimum: most, value: limit.remaining, 'aria-label': `${limit.name}: ${limit.remaining} of ${most} left` }),
    limit.remaining < most && h('p', { class: 'faint' }, `full again in ${duration(limit.full_in_seconds)}`));
  }));
}
