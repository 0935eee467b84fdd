// A whole list as CSV (RFC 4180), read page by page and saved by the browser.
import { isProblem, Parameters, read } from './api';
import { plural } from './format';
import type { Page } from './types';
import { busy, button, notify, tell } from './ui';

export type CsvColumn<T> = readonly [string, (row: T) => string | number | boolean | null];

// A spreadsheet would run what begins like a formula, and names are written by anybody.
const cell = (value: string | number | boolean | null): string => {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const line = (values: (string | number | boolean | null)[]): string => `${values.map(cell).join(',')}\r\n`;

const pause = (seconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });

// The limits of the key hold here too: a long list waits for them.
async function readPatiently<T>(path: string, query: Parameters, signal: AbortSignal): Promise<Page<T>> {
  for (;;) {
    try {
      return await read<Page<T>>(path, query, signal);
    } catch (error) {
      if (!isProblem(error, 'rate_limited') || error.retryAfter === null) throw error;
      await pause(error.retryAfter, signal);
    }
  }
}

function save(name: string, text: string): void {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}

// Exports all that the filters of `query` let through, in its order.
export function exportButton<T>(
  path: string,
  query: Parameters,
  columns: CsvColumn<T>[],
  [noun, many]: readonly [string, string],
  signal: AbortSignal,
): HTMLButtonElement {
  const label = 'Export as CSV';
  const element: HTMLButtonElement = button(
    label,
    () =>
      void busy(element, async () => {
        try {
          const lines = [line(columns.map(([name]) => name))];
          let cursor: string | null = null;
          do {
            const page: Page<T> = await readPatiently<T>(path, { ...query, limit: 100, cursor }, signal);
            for (const row of page.data) lines.push(line(columns.map(([, value]) => value(row))));
            cursor = page.pagination.next_cursor;
            element.textContent = `Exporting: ${plural(lines.length - 1, noun, many)}`;
          } while (cursor !== null);
          save(`latchkey-${many}.csv`, lines.join(''));
          notify(`Exported ${plural(lines.length - 1, noun, many)}.`);
        } catch (error) {
          tell(error);
        } finally {
          element.textContent = label;
        }
      }),
    { small: true },
  );
  return element;
}
