// When a request is sent again, and after how long.

export interface RetryPolicy {
  /** Requests in all, the first one included; 1: no retries. */
  attempts: number;
  /** The first wait is at most so long, each further one twice that. */
  baseMs: number;
  /** No wait of our own is longer. */
  capMs: number;
  /** A longer Retry-After is not waited for: the error is thrown, and has it. */
  retryAfterCapMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 4, baseMs: 200, capMs: 10_000, retryAfterCapMs: 60_000 };

/**
 * Exponential back-off with full jitter: uniform up to the exponential bound, so that clients that failed together do not
 * return together. A Retry-After is a lower bound, to which up to a tenth is added for the same reason.
 */
export function waitMs(policy: RetryPolicy, attempt: number, retryAfterMs: number | null, random: () => number = Math.random): number {
  const wait = random() * Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1));
  return retryAfterMs === null ? wait : Math.max(wait, retryAfterMs * (1 + random() / 10));
}

/** Retry-After (RFC 9110 §10.2.3): seconds or a date; null where it is neither. */
export function parseRetryAfter(text: string | null, nowMs: number = Date.now()): number | null {
  if (text === null) return null;
  if (/^[0-9]+$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

/** With these codes the service refused before it did anything (docs/api.md §10), so any request may be sent again. */
const refusals = ['rate_limited', 'overloaded', 'store_busy', 'behind', 'draining', 'request_timeout'];
/** A gateway that gives up says these, after the service may have carried the request out. */
const ambiguous = [408, 502, 503, 504];

/** Whether an answer may be followed by the same request; `isRepeatable`: twice has the effect of once. */
export function isRetryable(status: number, code: string | null, isRepeatable: boolean): boolean {
  if (status === 429) return code === 'rate_limited' || code === null;
  if (code !== null && refusals.includes(code)) return true;
  // The attempt before, whose connection broke, is still being carried out.
  if (code === 'idempotency_in_progress') return true;
  return isRepeatable && ambiguous.includes(status);
}

/** Waits; rejects with the signal's reason when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return void reject(signal.reason);
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
    return undefined;
  });
}
