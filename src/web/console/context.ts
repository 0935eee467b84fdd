// Who is logged in, and the page that is open.
import type { Parameters } from './api';
import { covers } from './scopes';
import type { CurrentKey } from './types';

let current: CurrentKey | null = null;

export function setCaller(key: CurrentKey | null): void {
  current = key;
}
export function caller(): CurrentKey {
  if (current === null) throw new Error('nobody is logged in');
  return current;
}
export const isLoggedIn = (): boolean => current !== null;
export const can = (scope: string): boolean => current !== null && covers(current.scopes, scope);
export const isAdministrator = (): boolean => can('*');

// A page renders into `element`; `signal` is aborted when another page takes its place.
export interface View {
  element: HTMLElement;
  parameters: string[];
  query: URLSearchParams;
  signal: AbortSignal;
  title(text: string): void;
  // Called instead of rendering the page again when only the query changes.
  onQuery(listener: (query: URLSearchParams) => void): void;
}

export const link = (path: string, query: Parameters = {}): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  return `#${path}${String(parameters) && `?${parameters}`}`;
};

export function go(path: string, query: Parameters = {}): void {
  location.hash = link(path, query);
}

export function place(): { path: string; query: URLSearchParams } {
  const text = location.hash.replace(/^#/, '') || '/';
  const [path = '/', query = ''] = text.split(/\?(.*)/s);
  return { path: path.startsWith('/') ? path : `/${path}`, query: new URLSearchParams(query) };
}

// Changes some parameters of the address; empty ones are removed, and the place in a list unless it is what changes.
export function setQuery(changes: Parameters, replace = false): void {
  const { path, query } = place();
  if (!('page' in changes)) for (const name of ['page', 'cursor']) query.delete(name);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const target = link(path, Object.fromEntries(query));
  if (target === location.hash) return;
  if (replace) location.replace(target);
  else location.hash = target;
}

// Calls `work` now and every `seconds` while the page is open and visible.
export function poll(signal: AbortSignal, seconds: number, work: () => Promise<void>): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const turn = async (): Promise<void> => {
    clearTimeout(timer);
    if (signal.aborted) return;
    if (!document.hidden) await work();
    if (!signal.aborted) timer = setTimeout(turn, seconds * 1000);
  };
  const wake = (): void => {
    if (!document.hidden) void turn();
  };
  document.addEventListener('visibilitychange', wake, { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  void turn();
}
