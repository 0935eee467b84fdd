// Requests to the API. The session is a cookie that scripts cannot read; the key is sent once, by `logIn`, and not kept.
import { setClock } from './clock';
import { effectOf } from './format';
import type { Effect } from './types';

export interface FieldError {
  pointer?: string;
  parameter?: string;
  header?: string;
  code: string;
  detail: string;
}

// A problem document (RFC 9457), or the network's failure, whose status is 0.
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly errors: FieldError[],
    readonly requestId: string | null,
    readonly retryAfter: number | null,
    readonly type: string | null,
  ) {
    super(`${code}: ${detail || title}`);
  }
}

export interface Answer<T> {
  status: number;
  body: T;
  etag: string | null;
  text: string;
}
export type Parameters = Record<string, string | number | null | undefined>; // empty ones are left out
export interface RequestOptions {
  query?: Parameters;
  body?: unknown;
  etag?: string | null;
  idempotencyKey?: string;
  signal?: AbortSignal;
  key?: string;
}

// What ends a session, whatever was asked for.
const endings = new Set([
  'session_invalid',
  'key_missing',
  'key_invalid',
  'key_deactivated',
  'key_expired',
  'key_not_yet_active',
  'ip_not_allowed',
]);

// The reason is a problem, or a text where the user has ended it.
let sessionEnded: (reason: Problem | string) => void = () => {};
export function onSessionEnd(listener: (reason: Problem | string) => void): void {
  sessionEnded = listener;
}
export const loggedOut = 'The session cannot be used any more.';
export const endSession = (text: string): void => sessionEnded(text);

let consistencyToken: string | null = null; // of the last write, in a cluster: what follows sees it on any node

export async function request<T = undefined>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  const { query = {}, body, etag, idempotencyKey, signal, key } = options;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  const headers = new Headers({ Accept: 'application/json' });
  if (method !== 'GET') headers.set('X-Requested-With', 'latchkey');
  if (key !== undefined) headers.set('Authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('Content-Type', method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  if (etag) headers.set('If-Match', etag);
  if (idempotencyKey) headers.set('Idempotency-Key', idempotencyKey);
  if (consistencyToken) headers.set('Consistency-Token', consistencyToken);
  const target = `/api/v1${path}${String(parameters) && `?${parameters}`}`;
  let response: Response;
  let text: string;
  const sent = Date.now();
  try {
    response = await fetch(target, {
      method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    setClock(response.headers.get('Date'), sent);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(
      0,
      'unreachable',
      'The service cannot be reached',
      'Check that it runs and that this computer is connected, then try again.',
      [],
      null,
      null,
      null,
    );
  }
  consistencyToken = response.headers.get('Consistency-Token') ?? consistencyToken;
  if (response.ok) {
    return {
      status: response.status,
      body: (text === '' ? undefined : JSON.parse(text)) as T,
      etag: response.headers.get('ETag'),
      text,
    };
  }
  const problem = problemOf(response, text);
  if (endings.has(problem.code) && key === undefined) sessionEnded(problem);
  throw problem;
}

function problemOf(response: Response, text: string): Problem {
  let document: Record<string, unknown> = {};
  try {
    document = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A proxy in between may answer in its own words.
  }
  const member = (name: string): string | null => (typeof document[name] === 'string' ? (document[name] as string) : null);
  const wait = response.headers.get('Retry-After');
  return new Problem(
    response.status,
    member('code') ?? `http_${response.status}`,
    member('title') ?? `The service answered ${response.status}`,
    member('detail') ?? '',
    Array.isArray(document['errors']) ? (document['errors'] as FieldError[]) : [],
    member('request_id') ?? response.headers.get('X-Request-Id'),
    wait !== null && /^\d+$/.test(wait) ? Number(wait) : null,
    member('type'),
  );
}

export const read = async <T>(path: string, query: Parameters = {}, signal?: AbortSignal): Promise<T> =>
  (await request<T>('GET', path, signal ? { query, signal } : { query })).body;
export const isProblem = (error: unknown, code?: string): error is Problem =>
  error instanceof Problem && (code === undefined || error.code === code);

// ---- the session ----

export interface Session {
  key_id: number;
  started_at: string;
  expires_at: string;
}

// When the session of this browser ends: no secret, but it tells a page whether to ask for a key, and other tabs of a log-out.
const storageName = 'latchkey.session_ends';

export const sessionEnd = (): number => Number(localStorage.getItem(storageName) ?? 0);
const keepEnd = (session: Session): void => localStorage.setItem(storageName, String(Date.parse(session.expires_at)));
export const forgetSession = (): void => localStorage.removeItem(storageName);
export function onStorage(listener: (isOver: boolean) => void): void {
  addEventListener('storage', (event) => {
    if (event.key === storageName || event.key === null) listener(event.newValue === null);
  });
}

export async function logIn(key: string): Promise<Session> {
  const { body } = await request<Session>('POST', '/session', { key });
  keepEnd(body);
  return body;
}
export async function renew(): Promise<Session> {
  const { body } = await request<Session>('POST', '/session');
  keepEnd(body);
  return body;
}
export async function logOut(everywhere = false): Promise<void> {
  const { body } = await request<Effect | undefined>('DELETE', everywhere ? '/sessions' : '/session');
  endSession(everywhere ? effectOf(body, 'Every session of this key has ended.') : loggedOut);
}
