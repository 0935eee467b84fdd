import { crypto, userAgent } from '#platform';
import type { AnyOptions, Call, ResponseInfo } from './call.js';
import { type ApiError, errorOf, NetworkError, TimeoutError } from './errors.js';
import { Operations, type Problem } from './generated/operations.js';
import { defaultRetryPolicy, isRetryable, parseRetryAfter, type RetryPolicy, sleep, waitMs } from './retry.js';

export interface LatchkeyOptions {
  /** The origin: https://latchkey.example.com. */
  baseUrl: string;
  /** The API key, or a function that is asked before each request, so that a rotated key is used at once. */
  key: string | (() => string | Promise<string>);
  /** For each attempt until its answer is complete; 30000 by default. */
  timeoutMs?: number;
  retry?: Partial<RetryPolicy>;
  headers?: Record<string, string>;
  /** Told about every answer, those before a retry too: for logs and metrics. */
  onResponse?: (info: ResponseInfo, call: { method: string; path: string }) => void;
  /** Another fetch, such as one with a proxy or an authority of its own. */
  fetch?: typeof globalThis.fetch;
  /** Send the key without TLS to a host that is not this one. */
  allowHttp?: boolean;
}

interface Answer {
  status: number;
  headers: Headers;
  content: unknown;
}

const infos = new WeakMap<object, ResponseInfo>();

/** What came with the answer that a call returned: its entity tag, request id, number of attempts. Undefined for other objects. */
export const responseOf = (record: object): ResponseInfo | undefined => infos.get(record);

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127\.[0-9.]+$/.test(host);
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A client with one key. Its methods are the operations; they may be called at the same time. */
export class Latchkey extends Operations {
  readonly #options: LatchkeyOptions;
  readonly #retry: RetryPolicy;
  readonly #base: string;
  /**
   * Of a cluster: the position of the last write that this client knows of. It goes with every request, so that any node
   * answers with that write seen. Set it to what another process has written.
   */
  consistencyToken: string | undefined;

  constructor(options: LatchkeyOptions) {
    super((call, callOptions) => this.#send(call, callOptions) as Promise<never>);
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && (options.allowHttp || isLoopback(url.hostname)))) {
      throw new TypeError(`the key would be sent in clear to ${url.origin}: use https, or allowHttp`);
    }
    this.#base = url.href.replace(/\/+$/, '');
    this.#options = options;
    this.#retry = { ...defaultRetryPolicy, ...options.retry };
  }

  async #send(call: Call, options: AnyOptions): Promise<unknown> {
    const fields = this.#fieldsOf(call, options);
    const url = this.#base + call.path + queryText(call.query);
    const body = call.mediaType === undefined || call.body === undefined ? undefined : JSON.stringify(call.body);
    // After an answer that was lost, the service's tag is no longer the one that was read: a repeat of this PUT would be 412.
    const isConditionalPut = call.method === 'PUT' && options.ifMatch !== undefined;
    const isRepeatable = call.method === 'POST' || call.method === 'PATCH' ? fields['Idempotency-Key'] !== undefined : !isConditionalPut;
    let mayBeDone = false; // by an attempt without an answer
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= this.#retry.attempts;
      let answer: Answer;
      try {
        answer = await this.#exchange(call.method, url, { ...fields, ...await this.#changingFields() }, body, options);
      } catch (error) {
        if (!(error instanceof NetworkError) || isLast || !isRepeatable) throw error;
        mayBeDone = true;
        await sleep(waitMs(this.#retry, attempt, null), options.signal);
        continue;
      }
      const info = this.#noteAnswer(call, answer, attempt);
      if (answer.status === 304 && isObject(options.ifNoneMatch)) return options.ifNoneMatch;
      if (answer.status >= 200 && answer.status < 300) {
        if (isObject(answer.content)) infos.set(answer.content, info);
        return answer.content;
      }
      // The record was deleted by the attempt whose answer was lost.
      if (answer.status === 404 && call.method === 'DELETE' && mayBeDone) return undefined;
      const error = errorOfAnswer(answer, info);
      const isTooLong = error.retryAfterMs !== null && error.retryAfterMs > this.#retry.retryAfterCapMs;
      if (isLast || isTooLong || !isRetryable(error.status, error.code, isRepeatable)) throw error;
      mayBeDone ||= error.code === null;
      await sleep(waitMs(this.#retry, attempt, error.retryAfterMs), options.signal);
    }
  }

  // What is the same in every attempt.
  #fieldsOf(call: Call, options: AnyOptions): Record<string, string> {
    const fields: Record<string, string> = { Accept: 'application/json', ...this.#options.headers, ...options.headers };
    if (userAgent !== undefined) fields['User-Agent'] ??= userAgent;
    if (call.mediaType !== undefined && call.body !== undefined) fields['Content-Type'] = call.mediaType;
    if (call.hasIdempotencyKey) fields['Idempotency-Key'] = options.idempotencyKey ?? crypto.randomUUID();
    if (options.ifMatch !== undefined) fields['If-Match'] = tagOf(options.ifMatch);
    if (options.ifNoneMatch !== undefined) fields['If-None-Match'] = tagOf(options.ifNoneMatch);
    return fields;
  }

  async #changingFields(): Promise<Record<string, string>> {
    const { key } = this.#options;
    const fields: Record<string, string> = { Authorization: `Bearer ${typeof key === 'function' ? await key() : key}` };
    if (this.consistencyToken !== undefined) fields['Consistency-Token'] = this.consistencyToken;
    return fields;
  }

  // One request and all of its answer.
  async #exchange(method: string, url: string, headers: Record<string, string>, body: string | undefined, options: AnyOptions): Promise<Answer> {
    const { signal, timeoutMs = this.#options.timeoutMs ?? 30_000 } = options;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const late = new TimeoutError(`no answer within ${timeoutMs} ms`);
    const timer = setTimeout(() => controller.abort(late), timeoutMs);
    const send = this.#options.fetch ?? globalThis.fetch;
    try {
      const response = await send(url, {
        method, headers, redirect: 'error', credentials: 'omit', cache: 'no-store', signal: controller.signal, ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, content: contentOf(response, text) };
    } catch (error) {
      if (controller.signal.aborted) throw controller.signal.reason;
      throw new NetworkError(`${method} ${new URL(url).pathname}: ${messageOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  #noteAnswer(call: Call, { status, headers }: Answer, attempts: number): ResponseInfo {
    const token = headers.get('Consistency-Token');
    if (token !== null && /^[0-9]{1,20}$/.test(token) && BigInt(token) > BigInt(this.consistencyToken ?? 0)) this.consistencyToken = token;
    const info = {
      status, attempts, headers, requestId: headers.get('X-Request-Id'), etag: headers.get('ETag'),
      isReplayed: headers.get('Idempotency-Replayed') === 'true',
    };
    this.#options.onResponse?.(info, { method: call.method, path: call.path });
    return info;
  }
}

function tagOf(value: object | string): string {
  if (typeof value === 'string') return value;
  const tag = infos.get(value)?.etag;
  if (tag === null || tag === undefined) throw new TypeError('this record has no entity tag: read it again with GET');
  return tag;
}

function queryText(query: object = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

// An object, or undefined where there is none: what a gateway says in its own words is no content of the service.
function contentOf(response: Response, text: string): object | undefined {
  let content: unknown;
  if (/^application\/(?:[\w.+-]+\+)?json\b/i.test(response.headers.get('Content-Type') ?? '')) {
    try {
      content = JSON.parse(text);
    } catch {
      // As if it were not there.
    }
  }
  if (isObject(content) && !Array.isArray(content)) return content;
  if (response.ok && text !== '') throw new Error("the answer is cut off, or not the service's");
  return undefined;
}

// Gateways have a code and a detail too, of any form.
function isProblem(content: unknown): content is Problem {
  if (!isObject(content)) return false;
  const members = content as Record<string, unknown>;
  const { errors = [] } = members;
  return ['code', 'detail', 'request_id'].every((name) => typeof members[name] === 'string') && Array.isArray(errors) && errors.every(isObject);
}

function errorOfAnswer({ status, headers, content }: Answer, info: ResponseInfo): ApiError {
  return errorOf(status, isProblem(content) ? content : null, info.requestId, parseRetryAfter(headers.get('Retry-After')));
}

// fetch hides the reason in `cause`.
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message ? `${error.message} (${error.cause.message})` : error.message;
}
