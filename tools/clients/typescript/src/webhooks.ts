// Verification of webhooks in the form of Standard Webhooks (docs/api.md §17), by Web Crypto, which compares in constant time.

import { crypto } from '#platform';
import { LatchkeyError } from './errors.js';
import type { Change } from './generated/operations.js';

export type WebhookErrorReason = 'missing_header' | 'time' | 'signature';

/** Not from the service, changed on the way, or too old: answer 401 and do nothing. */
export class WebhookVerificationError extends LatchkeyError {
  override name = 'WebhookVerificationError';
  constructor(readonly reason: WebhookErrorReason, message: string) {
    super(message);
  }
}

export interface WebhookOptions {
  /** How far the time of the attempt may be off, in both directions; 300 by default. */
  toleranceSeconds?: number;
  nowMs?: number;
}

export interface VerifiedWebhook {
  /** The same in every attempt: ignore one that was seen. */
  id: string;
  /** Of the attempt, in seconds since 1970. */
  timestamp: number;
  change: Change;
}

type Fields = Headers | Record<string, string | string[] | undefined>;
type Bytes = Uint8Array<ArrayBuffer>;

function field(headers: Fields, name: string): string {
  const isHeaders = typeof (headers as Headers).get === 'function';
  const value = isHeaders ? (headers as Headers).get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError('missing_header', `there is no ${name}`);
  return value;
}

function decode(text: string): Bytes | null {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}

// `whsec_…`: the secret of v1; `whpk_…`: the public key of v1a.
async function verifierOf(key: string): Promise<(version: string, signature: Bytes, content: Bytes) => Promise<boolean>> {
  const bytes = decode(key.replace(/^wh(?:sec|pk)_/, ''));
  if (bytes === null || bytes.length === 0) throw new TypeError('neither a secret (whsec_…) nor a public key (whpk_…) of a webhook');
  const [wanted, algorithm] = key.startsWith('whpk_') ? ['v1a', { name: 'Ed25519' }] : ['v1', { name: 'HMAC', hash: 'SHA-256' }];
  const handle = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
  return async (version, signature, content) => version === wanted && crypto.subtle.verify(algorithm, handle, signature, content);
}

/**
 * Verifies a webhook and returns its change. `keys`: its secret or public key, or several while they overlap; `body`: the bytes
 * that came, not JSON that was parsed and written again. Rejects with WebhookVerificationError.
 */
export async function verifyWebhook(
  keys: string | string[], headers: Fields, body: string | Uint8Array, options: WebhookOptions = {},
): Promise<VerifiedWebhook> {
  const [id, timestamp, signatures] = [field(headers, 'webhook-id'), field(headers, 'webhook-timestamp'), field(headers, 'webhook-signature')];
  const seconds = /^[0-9]{1,12}$/.test(timestamp) ? Number(timestamp) : NaN;
  const distance = Math.abs((options.nowMs ?? Date.now()) / 1000 - seconds);
  if (!(distance <= (options.toleranceSeconds ?? 300))) {
    throw new WebhookVerificationError('time', 'its time is too far from that of this machine');
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(prefix.length + bytes.length);
  content.set(prefix);
  content.set(bytes, prefix.length);
  for (const key of [keys].flat()) {
    const isValid = await verifierOf(key);
    for (const entry of signatures.split(' ')) {
      const comma = entry.indexOf(',');
      const signature = decode(entry.slice(comma + 1));
      if (comma < 0 || signature === null || !await isValid(entry.slice(0, comma), signature, content)) continue;
      return { id, timestamp: seconds, change: JSON.parse(new TextDecoder().decode(bytes)) as Change };
    }
  }
  throw new WebhookVerificationError('signature', 'no signature is valid for the body that came');
}
