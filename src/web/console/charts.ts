// Charts: what they show also stands in a table, for those who cannot see them.
import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  ChartConfiguration,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
} from 'chart.js';
import { now } from './clock';
import { Child, fill, h, svg } from './dom';
import { compact, number, utcDay } from './format';
import type { Granularity, Point } from './types';
import { absolute, dayOf, isToday, timeOfDay, timeWithSeconds } from './zone';

Chart.register(BarController, BarElement, CategoryScale, Filler, LinearScale, LineController, LineElement, PointElement, Tooltip);

export interface Series {
  name: string;
  color: string;
  values: (number | null)[];
} // `color`: a custom property of the style sheet
interface ChartOptions {
  label: string;
  unit: string;
  starts: (string | number)[];
  series: Series[];
  kind: 'bar' | 'line';
  stacked?: boolean;
  tick(start: string | number): string | string[]; // lines
  head?(start: string | number): string;
  value?(value: number): string;
  nothing?: string; // what is told where every value is 0
  height?: 'tall' | 'short';
}

const probe = h('span', { class: 'hidden' });
// A custom property may be light-dark(…), which only a property that is a colour resolves.
function colorOf(name: string): string {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

interface Drawn {
  update(options: ChartOptions): void;
  element: HTMLElement;
}
const drawn = new Set<{ chart: Chart; paint(): void; element: HTMLElement }>();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const each of drawn) each.paint();
});

export function chart(first: ChartOptions, signal: AbortSignal): Drawn {
  let options = first;
  const hiddenSeries = new Set<string>();
  const canvas = h('canvas', { role: 'img', 'aria-label': first.label });
  const legend = h('div', { class: 'legend' });
  const figures = h('div', {
    class: 'table-scroll figures',
    tabindex: 0,
    role: 'region',
    'aria-label': `${first.label}, as a table`,
  });
  const details = h('details', { class: 'as-table', ontoggle: () => renderTable() }, h('summary', {}, 'Show as a table'), figures);
  const unit = h('p', { class: 'unit' }, first.unit);
  const nothing = h('p', { class: 'no-figures' });
  const element = h(
    'figure',
    { class: `chart ${first.height ?? 'tall'}` },
    h('div', { class: 'chart-head' }, unit, legend),
    h('div', { class: 'canvas' }, canvas, nothing),
    details,
  );
  const shown = (value: number): string => (options.value ?? number)(value);
  const headText = (start: string | number): string => (options.head ?? ((time) => [options.tick(time)].flat().join(' ')))(start);

  const configuration: ChartConfiguration<'bar' | 'line', (number | null)[], string | string[]> = {
    type: first.kind,
    data: { labels: [], datasets: [] },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      normalized: true,
      interaction: { mode: 'index', intersect: false },
      scales: {
        x: {
          stacked: first.stacked ?? false,
          grid: { display: false, drawBorder: false },
          ticks: { maxRotation: 0, autoSkipPadding: 24 },
        },
        y: {
          stacked: first.stacked ?? false,
          beginAtZero: true,
          grid: { drawBorder: false, drawTicks: false },
          ticks: { maxTicksLimit: 5, padding: 8, callback: (value) => (options.value ?? compact)(Number(value)) },
        },
      },
      plugins: {
        tooltip: {
          boxPadding: 4,
          padding: 10,
          cornerRadius: 8,
          usePointStyle: true,
          callbacks: {
            title: (items) => (items[0] ? headText(options.starts[items[0].dataIndex]!) : ''),
            label: (item) => ` ${item.dataset.label ?? ''}: ${shown(Number(item.raw))}`,
          },
          filter: (item) => item.raw !== null && (options.stacked !== true || Number(item.raw) > 0 || item.datasetIndex === 0),
        },
      },
    },
  };
  const drawing = new Chart(canvas, configuration);

  const paint = (): void => {
    const [ink, grid, surface] = [colorOf('ink-2'), colorOf('grid'), colorOf('surface')];
    const { data, options: settings } = drawing;
    data.labels = options.starts.map((start) => options.tick(start));
    data.datasets = options.series.map(({ name, color, values }) => {
      const paint = colorOf(color);
      const shared = { label: name, data: values, backgroundColor: paint, borderColor: paint, hidden: hiddenSeries.has(name) };
      return options.kind === 'bar'
        ? { ...shared, borderRadius: 2, maxBarThickness: 26, categoryPercentage: 0.86, barPercentage: 0.94 }
        : {
            ...shared,
            borderWidth: 2,
            pointRadius: values.filter((value) => value !== null).length < 2 ? 2.5 : 0,
            pointHoverRadius: 4,
            pointHitRadius: 12,
            fill: false,
            spanGaps: false,
          };
    });
    const { x, y } = settings!.scales! as {
      x: { ticks: { color: string } };
      y: { ticks: { color: string; precision?: number | undefined }; grid: { color: string }; suggestedMax?: number | undefined };
    };
    x.ticks.color = ink;
    y.ticks.color = ink;
    y.grid.color = grid;
    // Counts have whole ticks, also where there is none.
    y.ticks.precision = options.value === undefined ? 0 : undefined;
    y.suggestedMax = options.value === undefined ? 4 : undefined;
    Object.assign(settings!.plugins!.tooltip!, {
      backgroundColor: surface,
      titleColor: colorOf('ink'),
      bodyColor: ink,
      borderColor: colorOf('line-2'),
      borderWidth: 1,
    });
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 11.5;
    nothing.textContent = options.series.some(({ values }) => values.some(Boolean)) ? '' : (options.nothing ?? '');
    drawing.update('none');
    renderLegend();
    renderTable();
  };
  const renderLegend = (): void => {
    const names = options.series.map(({ name }) => name).join();
    if (legend.dataset['names'] === names) return;
    legend.dataset['names'] = names;
    fill(
      legend,
      options.series.length > 1 &&
        options.series.map(({ name, color }) =>
          h(
            'button',
            {
              type: 'button',
              class: 'legend-entry',
              'aria-pressed': 'true',
              onclick: (event) => {
                if (!hiddenSeries.delete(name)) hiddenSeries.add(name);
                (event.currentTarget as Element).setAttribute('aria-pressed', String(!hiddenSeries.has(name)));
                paint();
              },
            },
            h('span', { class: `swatch ${color}` }),
            name,
          ),
        ),
    );
  };
  const renderTable = (): void => {
    if (!details.open) return;
    fill(
      figures,
      h(
        'table',
        {},
        h('caption', { class: 'hidden' }, `${options.label} (${options.unit})`),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('th', { scope: 'col' }, 'Time'),
            options.series.map(({ name }) => h('th', { scope: 'col', class: 'number' }, name)),
          ),
        ),
        h(
          'tbody',
          {},
          options.starts
            .map((start, i) =>
              h(
                'tr',
                {},
                h('th', { scope: 'row' }, headText(start)),
                options.series.map(({ values }) =>
                  h('td', { class: 'number' }, values[i] === null || values[i] === undefined ? '–' : shown(values[i]!)),
                ),
              ),
            )
            .reverse(),
        ),
      ),
    );
  };
  const entry = { chart: drawing, paint, element };
  drawn.add(entry);
  signal.addEventListener('abort', () => {
    drawn.delete(entry);
    drawing.destroy();
  });
  // Colours and the font are known once it is in the page.
  queueMicrotask(() => {
    if (!signal.aborted) paint();
  });
  return {
    element,
    update(next) {
      options = next;
      canvas.setAttribute('aria-label', next.label);
      unit.textContent = next.unit;
      paint();
    },
  };
}

export const ranges = [
  ['minute', '1 hour'],
  ['hour', '24 hours'],
  ['day', '30 days'],
] as const;
const steps: Record<Granularity, readonly [number, number]> = { minute: [60, 60], hour: [3600, 24], day: [86_400, 30] }; // seconds, count
const noun: Record<Granularity, string> = { minute: 'minute', hour: 'hour', day: 'day (UTC)' };

export const granularityOf = (query: URLSearchParams): Granularity => {
  const value = query.get('range');
  return value === 'minute' || value === 'day' ? value : 'hour';
};
export const rangeName = (granularity: Granularity): string => ranges.find(([name]) => name === granularity)![1];
// `from` of the last steps, the one under way included. 24 hours are the default of the API, and so what `latchkey usage` shows.
export function since(granularity: Granularity): string | null {
  const [seconds, count] = steps[granularity];
  if (granularity === 'hour') return null;
  const step = seconds * 1000;
  return new Date((Math.floor(now() / step) - count + 1) * step).toISOString();
}

const clockTick =
  (clock: (time: string | number) => string) =>
  (start: string | number): string | string[] =>
    isToday(start) ? clock(start) : [clock(start), dayOf(start)];
const tickOf = (granularity: Granularity): ChartOptions['tick'] => (granularity === 'day' ? utcDay : clockTick(timeOfDay));
const headOf =
  (granularity: Granularity) =>
  (start: string | number): string =>
    granularity === 'day' ? `${utcDay(start)} (UTC)` : absolute(start);

export interface Outcome {
  ok: number;
  redirected: number;
  refused: number;
  limited: number;
  failed: number;
}
export const outcomeOf = ({ by_status: by, limited }: Pick<Point, 'by_status' | 'limited'>): Outcome => ({
  ok: by['2xx'],
  redirected: by['3xx'],
  refused: Math.max(0, by['4xx'] - limited),
  limited,
  failed: by['5xx'],
});

export function outcomes(points: Point[], granularity: Granularity, label: string): ChartOptions {
  const all = points.map(outcomeOf);
  const series: Series[] = [
    { name: 'Successful', color: 'c-ok', values: all.map(({ ok }) => ok) },
    { name: 'Not modified', color: 'c-redirected', values: all.map(({ redirected }) => redirected) },
    { name: 'Client errors', color: 'c-refused', values: all.map(({ refused }) => refused) },
    { name: 'Rate limited', color: 'c-limited', values: all.map(({ limited }) => limited) },
    { name: 'Server errors', color: 'c-failed', values: all.map(({ failed }) => failed) },
  ];
  const total = points.reduce((sum, { requests }) => sum + requests, 0);
  return {
    label: `${label}: ${number(total)} in the last ${rangeName(granularity)}`,
    unit: `Requests per ${noun[granularity]}`,
    starts: points.map(({ start }) => start),
    series,
    kind: 'bar',
    stacked: true,
    tick: tickOf(granularity),
    head: headOf(granularity),
    nothing: 'No requests in this time',
  };
}

export const liveTimes = {
  tick: clockTick(timeWithSeconds),
  head: absolute,
};
export type { ChartOptions };

// Bars of the height of a line of text: what was admitted, and above it what was refused or failed.
export function sparkline(points: Point[], label: string): SVGElement {
  const width = 96;
  const height = 22;
  const most = Math.max(1, ...points.map(({ requests }) => requests));
  const step = width / Math.max(1, points.length);
  let good = '';
  let bad = '';
  points.forEach((point, i) => {
    const wrong = point.by_status['4xx'] + point.by_status['5xx'];
    const tall = (count: number): number => (count === 0 ? 0 : Math.max(1.5, (count / most) * height));
    const x = (i * step + step / 2).toFixed(1);
    const whole = tall(point.requests);
    const part = wrong === 0 ? 0 : Math.max(1.5, (wrong / Math.max(1, point.requests)) * whole);
    if (whole - part > 0) good += `M${x} ${height}V${(height - whole + part).toFixed(1)}`;
    if (part > 0) bad += `M${x} ${(height - whole + part).toFixed(1)}V${(height - whole).toFixed(1)}`;
  });
  return svg(
    'svg',
    { class: 'spark', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    svg('title', {}, label),
    svg('path', { class: 'spark-base', d: `M0 ${height - 0.5}H${width}` }),
    good && svg('path', { class: 'spark-good', d: good }),
    bad && svg('path', { class: 'spark-bad', d: bad }),
  );
}

export const stat = (label: string, value: Child, hint?: Child, tone = ''): HTMLElement =>
  h(
    'div',
    { class: `stat ${tone}` },
    h('dt', {}, label),
    h('dd', {}, h('span', { class: 'stat-value' }, value), hint && h('span', { class: 'stat-hint' }, hint)),
  );
