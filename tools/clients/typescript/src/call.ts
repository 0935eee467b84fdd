// What the generated operations hand to the client, and what a caller may set for one call.

/** One operation with its arguments. */
export interface Call {
  method: string;
  path: string;
  query?: object;
  body?: unknown;
  mediaType?: string;
  /** Whether the service records the outcome under an Idempotency-Key (docs/api.md §9). */
  hasIdempotencyKey?: boolean;
}

export interface CallOptions {
  /** Ends the call, with its retries. */
  signal?: AbortSignal;
  /** For each attempt; the client's by default. */
  timeoutMs?: number;
  /** Of POST and PATCH. Made for the call unless given; give one that is stored with the work to resume it after a crash. */
  idempotencyKey?: string;
  headers?: Record<string, string>;
}

export interface ReadOptions extends CallOptions {
  /** A record or list that an earlier call returned: it is returned again if it is still current (304). */
  ifNoneMatch?: object;
}

export interface ChangeOptions extends CallOptions {
  /** The record that was read, or an entity tag: a change by somebody else in between is a PreconditionFailedError. */
  ifMatch?: object | string;
}

export interface FeedOptions extends CallOptions {
  /** At the end wait for more changes instead of stopping. */
  follow?: boolean;
  /** How long to wait before the next question; 1000 by default. */
  pollMs?: number;
}

export type AnyOptions = ReadOptions & ChangeOptions;
export type Send = <Result>(call: Call, options: AnyOptions) => Promise<Result>;

/** What came with the content of an answer. */
export interface ResponseInfo {
  status: number;
  /** For support, and in the service's access log. */
  requestId: string | null;
  etag: string | null;
  /** The outcome is that of an earlier attempt under the same Idempotency-Key. */
  isReplayed: boolean;
  /** How many requests it took, from 1. */
  attempts: number;
  headers: Headers;
}
