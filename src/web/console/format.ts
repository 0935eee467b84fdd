// Numbers, times and limits as people read them.
import { now } from './clock';
import { h } from './dom';
import type { Effect } from './types';
import { absolute, isToday, timeWithSeconds, when } from './zone';

const locale = 'en';
const whole = new Intl.NumberFormat(locale);
const brief = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
const small = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });

export const number = (value: number): string => whole.format(value);

// A measured value. Whole numbers stay as they are.
export function rounded(value: number): string {
  const size = Math.abs(value);
  if (size < 1) return small.format(value);
  return value.toLocaleString(locale, { maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 2 });
}
const isBrief = (value: number): boolean => Math.abs(value) >= 10_000;
export const compact = (value: number): string => (isBrief(value) ? brief.format(value) : rounded(value));

// A count: exact below 10,000, above that with the whole number as one points at it.
export const figure = (value: number, className = ''): HTMLElement =>
  h('span', { class: `figure ${className}`.trim(), title: isBrief(value) ? number(value) : null }, compact(value));

export const plural = (count: number, noun: string, many = `${noun}s`): string => `${number(count)} ${count === 1 ? noun : many}`;

const units: [number, string][] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

// "2 days", "1 hour 30 minutes": at most two units.
export function duration(seconds: number): string {
  if (seconds < 1) return seconds <= 0 ? '0 seconds' : `${rounded(seconds * 1000)} ms`;
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [size, name] of units) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(plural(count, name));
    rest -= count * size;
    if (parts.length === 2 || (parts.length === 1 && size === 86_400 && count > 3)) break;
  }
  return parts.join(' ');
}

export function milliseconds(seconds: number): string {
  if (seconds >= 1) return `${rounded(seconds)} s`;
  return seconds >= 0.001 ? `${rounded(seconds * 1000)} ms` : `${rounded(seconds * 1e6)} µs`;
}

const steps: [number, number, string, string][] = [
  [60, 1, 's', 's'],
  [3600, 60, 'min', 'min'],
  [86_400, 3600, 'h', 'h'],
  [86_400 * 60, 86_400, 'day', 'days'],
  [86_400 * 730, 86_400 * 30, 'month', 'months'],
  [Infinity, 86_400 * 365, 'year', 'years'],
];

export function relative(time: string | number, base = now()): string {
  const seconds = (new Date(time).getTime() - base) / 1000;
  const distance = Math.abs(seconds);
  if (distance < 5) return 'now';
  const [, size, one, many] = steps.find(([limit]) => distance < limit) ?? steps[5]!;
  const count = Math.max(1, Math.floor(distance / size));
  const text = `${count} ${count === 1 ? one : many}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

const utc = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' });
export const utcDay = (time: string | number): string => utc.format(new Date(time));

// In a cluster what was turned off may be off on all nodes only from a later time on.
export const effectOf = (answer: Effect | undefined, text: string): string =>
  answer?.effective_by
    ? `${text} One node has not confirmed it: it holds everywhere from ${when(answer.effective_by, timeWithSeconds)} on.`
    : text;

// "5 min ago" or, of another day, "Nov 26, 10:11"; with the exact time as one points at it.
export function ago(time: string | null | undefined, otherwise = 'never'): HTMLElement {
  if (!time) return h('span', { class: 'faint' }, otherwise);
  return h('time', { datetime: time, title: `${absolute(time)}, ${relative(time)}` }, isToday(time) ? relative(time) : when(time));
}

export function moment(time: string | null | undefined, otherwise = 'never'): HTMLElement {
  if (!time) return h('span', { class: 'faint' }, otherwise);
  return h('time', { datetime: time, title: time }, absolute(time), h('span', { class: 'faint' }, ` · ${relative(time)}`));
}

export function windowName(seconds: number): string {
  const named = units.find(([size]) => size === seconds);
  return named ? named[1] : duration(seconds);
}

interface Limit {
  name: string;
  limit: number;
  window_seconds: number;
  burst?: number | null;
}

// The guarantee of api.md §10 in words.
export function limitSentence({ limit, window_seconds: seconds, burst: given }: Limit): string {
  if (!(limit > 0) || !(seconds > 0)) return 'Enter how many requests are allowed in which time.';
  const burst = given && given > 0 ? given : limit;
  const rate = limit / seconds;
  const steady =
    rate >= 1
      ? `${rounded(rate)} a second`
      : rate * 60 >= 1
        ? `${rounded(rate * 60)} a minute`
        : rate * 3600 >= 1
          ? `${rounded(rate * 3600)} an hour`
          : `${rounded(rate * 86_400)} a day`;
  const rest = duration(burst / rate);
  return (
    `${burst === 1 ? 'One request at a time' : `Up to ${number(burst)} requests at once`}, then ${steady}: ` +
    `each is given back after ${duration(1 / rate)}, all of them after ${rest}. ` +
    `In no ${windowName(seconds)} are there more than ${number(burst + limit)}.`
  );
}

export function limitText({ limit, window_seconds: seconds, burst }: Limit): string {
  return `${number(limit)} / ${windowName(seconds)}${burst && burst !== limit ? ` (burst ${number(burst)})` : ''}`;
}

// In JSON an escape means the same as the character, and shows that there is one.
export const escapeControls = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/gu,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

// JSON as it was sent, indented: numbers beyond 2^53 and repeated members stay as they are.
export function indentJson(text: string): string {
  let output = '';
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i]!;
    if (letter === '"') {
      const end = endOfString(text, i);
      output += text.slice(i, end);
      i = end - 1;
    } else if (letter === '{' || letter === '[') {
      const closing = /^\s*[}\]]/.exec(text.slice(i + 1, i + 200));
      if (closing) {
        output += letter + closing[0].trim();
        i += closing[0].length;
      } else {
        depth += 1;
        output += letter + line();
      }
    } else if (letter === '}' || letter === ']') {
      depth -= 1;
      output += line() + letter;
    } else if (letter === ',') output += letter + line();
    else if (letter === ':') output += ': ';
    else if (!/\s/.test(letter)) output += letter;
  }
  return output;
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

// The text of a member of a JSON object, as it was sent.
export function memberText(text: string, name: string): string | null {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i]!;
    if (letter === '"') {
      const end = endOfString(text, i);
      const after = /^\s*:\s*/.exec(text.slice(end, end + 50));
      if (depth === 1 && after && text.slice(i, end) === JSON.stringify(name)) return valueAt(text, end + after[0].length);
      i = end - 1;
    } else if (letter === '{' || letter === '[') depth += 1;
    else if (letter === '}' || letter === ']') depth -= 1;
  }
  return null;
}

function valueAt(text: string, start: number): string {
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    const letter = text[i]!;
    if (letter === '"') i = endOfString(text, i) - 1;
    else if (letter === '{' || letter === '[') depth += 1;
    else if (depth > 0 && (letter === '}' || letter === ']')) {
      depth -= 1;
      if (depth === 0) return text.slice(start, i + 1);
    } else if (depth === 0 && (letter === ',' || letter === '}')) return text.slice(start, i);
  }
  return text.slice(start);
}
