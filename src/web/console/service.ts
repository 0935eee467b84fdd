// What the service counts by itself, as differences of two answers: rates, latency, nodes.
import { read } from './api';
import { chart, liveTimes, stat } from './charts';
import { now } from './clock';
import { poll, View } from './context';
import { fill, h, named } from './dom';
import { ago, compact, duration, figure, milliseconds, number, plural } from './format';
import { table } from './lists';
import type { Service } from './types';
import { badge, callout, card, code, facts, problemBox, skeleton } from './ui';

interface Sample {
  time: number;
  service: Service;
}
const kept = 60;

export function liveSection(view: View, end: HTMLElement): void {
  const samples: Sample[] = [];
  const head = h('div', { class: 'section-head' }, h('h2', {}, 'Live'), h('span', { class: 'live' }, 'every 5 s'));
  const tiles = h('dl', { class: 'stats' });
  const waiting = skeleton(2);
  const short = { starts: [], series: [], kind: 'line', height: 'short', ...liveTimes } as const;
  const rates = chart({ ...short, starts: [], series: [], label: 'Requests per second', unit: 'Requests per second' }, view.signal);
  const latency = chart({ ...short, starts: [], series: [], label: 'Latency', unit: 'Response time at the service' }, view.signal);
  const logins = chart(
    { ...short, starts: [], series: [], label: 'Failed authentications', unit: 'Failed authentications per minute' },
    view.signal,
  );
  const nodes = h('div', {});
  view.element.append(
    head,
    waiting,
    tiles,
    h(
      'div',
      { class: 'columns thirds' },
      card('Requests', [rates.element]),
      card('Latency', [latency.element]),
      card('Failed authentications', [logins.element]),
    ),
  );
  end.append(nodes);

  poll(view.signal, 5, async () => {
    let service: Service;
    try {
      service = await read<Service>('/service', {}, view.signal);
    } catch (error) {
      waiting.remove();
      if (!view.signal.aborted) fill(tiles, problemBox(error));
      return;
    }
    waiting.remove();
    const before = samples.at(-1);
    // After a restart the counters begin anew.
    if (before && before.service.started_at !== service.started_at) samples.length = 0;
    samples.push({ time: now(), service });
    if (samples.length > kept) samples.shift();
    const steps = samples.slice(1).map((sample, i) => difference(samples[i]!, sample));
    const latest = steps.at(-1);
    // The axis is five minutes long from the first figure on.
    const missing = Array.from(
      { length: Math.max(0, kept - 1 - steps.length) },
      (_, i) => (steps[0]?.time ?? now()) - (kept - 1 - steps.length - i) * 5000,
    );
    const starts = [...missing, ...steps.map(({ time }) => time)];
    const padded = (values: (number | null)[]): (number | null)[] => [...missing.map(() => null), ...values];
    fill(
      tiles,
      stat('Requests per second', latest ? compact(latest.rate) : '…', 'all requests, the console included'),
      stat('Median latency', timeOf(latest?.median), 'last 5 s'),
      stat('99th percentile latency', timeOf(latest?.slow), 'last 5 s'),
      stat('Connections', number(service.connections), service.streams > 0 ? plural(service.streams, 'stream') : 'open'),
      stat(
        'Failed authentications',
        figure(service.failed_authentications),
        ['since ', ago(service.started_at)],
        service.failed_authentications > 0 ? 'refused' : '',
      ),
    );
    rates.update({
      ...short,
      label: `Requests per second: ${latest ? compact(latest.rate) : 'no figure yet'}`,
      unit: 'Requests per second',
      starts,
      value: compact,
      series: [
        { name: 'All', color: 'c-ok', values: padded(steps.map(({ rate }) => rate)) },
        { name: 'Client errors', color: 'c-refused', values: padded(steps.map(({ refused }) => refused)) },
      ],
    });
    latency.update({
      ...short,
      label: 'Latency',
      unit: 'Response time at the service',
      starts,
      value: milliseconds,
      series: [
        { name: 'Median', color: 'c-ok', values: padded(steps.map(({ median }) => median)) },
        { name: '99th percentile', color: 'c-limited', values: padded(steps.map(({ slow }) => slow)) },
      ],
    });
    logins.update({
      ...short,
      label: 'Failed authentications per minute',
      unit: 'Failed authentications per minute',
      starts,
      value: compact,
      series: [{ name: 'Failed authentications', color: 'c-failed', values: padded(steps.map(({ strangers }) => strangers)) }],
    });
    fill(nodes, serviceCard(service));
  });
}

const timeOf = (seconds: number | null | undefined): string =>
  seconds === undefined || seconds === null ? '–' : milliseconds(seconds);

function difference(
  from: Sample,
  to: Sample,
): { time: number; rate: number; refused: number; strangers: number; median: number | null; slow: number | null } {
  const seconds = Math.max(0.001, (to.time - from.time) / 1000);
  const [a, b] = [from.service, to.service];
  const sum = ({ requests }: Service): number => Object.values(requests).reduce((total, count) => total + count, 0);
  const buckets = b.latency.buckets.map(({ le, count }, i) => ({ le, count: count - (a.latency.buckets[i]?.count ?? 0) }));
  return {
    time: to.time,
    rate: (sum(b) - sum(a)) / seconds,
    refused: (b.requests['4xx'] - a.requests['4xx']) / seconds,
    strangers: ((b.failed_authentications - a.failed_authentications) * 60) / seconds,
    median: quantile(buckets, 0.5),
    slow: quantile(buckets, 0.99),
  };
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
  const up = duration((now() - Date.parse(service.started_at)) / 1000);
  const about = facts(['Version', code(service.version)], ['Uptime', up]);
  if (service.nodes.length === 0) return card('Service', [about]);
  const late = service.nodes.filter(({ is_alive: alive, lag_rows: lag }) => !alive || lag > 1000);
  return card('Nodes', [
    late.length > 0 &&
      callout(
        'warn',
        `${late.length === 1 ? 'A node is' : `${late.length} nodes are`} behind.`,
        'Its reads are old, and what it does not confirm within 5 s is answered 202. See whether it reaches PostgreSQL.',
      ),
    table(
      'Nodes of the cluster',
      [
        { head: 'Node', cell: ({ name, is_self: self }) => [named(name), self && h('span', { class: 'faint' }, ' · this one')] },
        { head: 'State', cell: ({ is_alive: alive }) => (alive ? badge('good', 'alive') : badge('bad', 'unreachable')) },
        { head: 'Version', kind: 'wide', cell: ({ version }) => code(version) },
        { head: 'Replication lag', kind: 'number', cell: ({ lag_rows: lag }) => plural(lag, 'row') },
      ],
      service.nodes,
    ),
    about,
  ]);
}
