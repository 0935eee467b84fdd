// The canonical bytes of an entry of the audit log, and their hash: id (8 bytes, big-endian), version 1, time (8), hash of the
// previous entry (32), actor (8), address (1 + 16), action (1), key (8), project and source (each after its length of 2 bytes),
// number of fields (1), each field after its length. Numbers are big-endian. An id of 0: none.
import type { AuditEntry } from './types';

const actionNames = [
  'key.create',
  'key.import',
  'key.change',
  'key.rotate',
  'key.deactivate',
  'key.reactivate',
  'secret.put',
  'secret.delete',
  'webhook.create',
  'webhook.change',
  'webhook.rotate',
  'webhook.delete',
  'key.end_sessions',
];

class Writer {
  readonly bytes: number[] = [];
  number(value: number, size: number): void {
    for (let shift = BigInt(size - 1) * 8n; shift >= 0n; shift -= 8n) this.bytes.push(Number((BigInt(value) >> shift) & 0xffn));
  }
  text(value: string): void {
    const encoded = new TextEncoder().encode(value);
    this.number(encoded.length, 2);
    this.bytes.push(...encoded);
  }
  hex(value: string): void {
    for (let i = 0; i < value.length; i += 2) this.bytes.push(Number.parseInt(value.slice(i, i + 2), 16));
  }
}

// 16 bytes; an IPv4 address is mapped (RFC 4291 §2.5.5.2).
export function addressBytes(text: string): number[] {
  const four = (dotted: string): number[] => dotted.split('.').map(Number);
  if (!text.includes(':')) return [...Array<number>(10).fill(0), 255, 255, ...four(text)];
  const groups = (part: string): number[] =>
    part === ''
      ? []
      : part
          .split(':')
          .flatMap((group) =>
            group.includes('.') ? four(group) : [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255],
          );
  const [head = '', tail] = text.split('::');
  if (tail === undefined) return groups(head);
  const [before, after] = [groups(head), groups(tail)];
  return [...before, ...Array<number>(16 - before.length - after.length).fill(0), ...after];
}

function bytesWith(entry: AuditEntry, project: string): Uint8Array {
  const output = new Writer();
  output.number(entry.id, 8);
  output.number(1, 1);
  output.number(Date.parse(entry.created_at), 8);
  output.hex(entry.previous_hash);
  output.number(entry.actor_key_id ?? 0, 8);
  output.number(entry.address === null ? 0 : 1, 1);
  output.bytes.push(...(entry.address === null ? Array<number>(16).fill(0) : addressBytes(entry.address)));
  output.number(actionNames.indexOf(entry.action), 1);
  output.number(entry.key_id ?? 0, 8);
  output.text(project);
  output.text(entry.webhook_id === null ? (entry.source ?? '') : String(entry.webhook_id));
  output.number(entry.fields.length, 1);
  for (const each of entry.fields) output.text(each);
  return Uint8Array.from(output.bytes);
}

// Of a webhook that belongs to no project the record has `*`, which the API shows as null.
const canonical = (entry: AuditEntry): Uint8Array[] =>
  (entry.project !== null ? [entry.project] : entry.webhook_id !== null ? ['*', ''] : ['', '*']).map((project) =>
    bytesWith(entry, project),
  );

export interface Proof {
  hash: string;
  bytes: Uint8Array;
}

export async function prove(entry: AuditEntry): Promise<Proof> {
  let first: Proof | null = null;
  for (const bytes of canonical(entry)) {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)));
    const hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    first ??= { hash, bytes };
    if (hash === entry.hash) return { hash, bytes };
  }
  return first!;
}
