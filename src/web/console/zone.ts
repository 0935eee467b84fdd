// The time zone in which times are shown and entered: that of the computer, or UTC. The choice is kept in this browser.
import { now } from './clock';

const storageName = 'latchkey.time_zone';
const locale = 'en';

export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
export const zones = [...new Set([ownZone, 'UTC'])];
let zone = localStorage.getItem(storageName) === 'UTC' ? 'UTC' : ownZone;

type Format = (time: string | number) => string;
const made = new Map<string, Intl.DateTimeFormat>();
// Formats are dear to make, and each is needed for one or two zones.
const format =
  (name: string, options: Intl.DateTimeFormatOptions): Format =>
  (time) => {
    const key = `${name} ${zone}`;
    const one = made.get(key) ?? new Intl.DateTimeFormat(locale, { hourCycle: 'h23', ...options, timeZone: zone });
    made.set(key, one);
    return one.format(new Date(time));
  };

const clock = { hour: '2-digit', minute: '2-digit' } as const;
const date = { month: 'short', day: 'numeric' } as const;
const formatDay = format('day', { ...date, year: 'numeric' });
const formatYear = format('year', { year: 'numeric' });
const formatDate = format('date', date);

export const timeOfDay = format('clock', clock);
export const timeWithSeconds = format('seconds', { ...clock, second: '2-digit' });
export const absolute = format('full', { ...date, year: 'numeric', ...clock, second: '2-digit', timeZoneName: 'short' });
export const longDay = format('long', { dateStyle: 'long' });

export const isToday = (time: string | number): boolean => formatDay(time) === formatDay(now());
export const dayOf = (time: string | number): string => (formatYear(time) === formatYear(now()) ? formatDate(time) : formatDay(time));

// "10:11" of today, "Nov 26, 10:11" of another day.
export const when = (time: string | number, clockOf: Format = timeOfDay): string =>
  isToday(time) ? clockOf(time) : `${dayOf(time)}, ${clockOf(time)}`;

export const chosenZone = (): string => zone;
export function chooseZone(name: string): void {
  zone = name;
  if (name === ownZone) localStorage.removeItem(storageName);
  else localStorage.setItem(storageName, name);
}

// ---- what is entered (`datetime-local` has no zone of its own) ----

const offset = (time: number): number => (zone === 'UTC' ? 0 : new Date(time).getTimezoneOffset() * 60_000);
export const inputOf = (time: string | number): string => {
  const instant = new Date(time).getTime();
  return new Date(instant - offset(instant)).toISOString().slice(0, 16);
};
export const timeOfInput = (text: string): string | null =>
  text === '' ? null : new Date(zone === 'UTC' ? `${text}Z` : text).toISOString();
