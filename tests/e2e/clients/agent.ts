// Carries out calls that a test gives it as lines of JSON, so that one test holds for both libraries. A line is {client: options}
// for a new client, {op, path, body?, query?, options?, max?} for a call of it, or {verify: [keys, headers, body, options]};
// {record: n} in place of a value is what call n returned. It answers each with a line {result, info} or {error}.

import { ApiError, Latchkey, responseOf, verifyWebhook, WebhookVerificationError } from 'latchkey-client';
import type { LatchkeyOptions, ResponseInfo } from 'latchkey-client';

interface Command {
  client?: LatchkeyOptions & { keys?: string[] };
  op?: string;
  path?: unknown[];
  body?: unknown;
  query?: object;
  options?: Record<string, unknown>;
  max?: number;
  verify?: Parameters<typeof verifyWebhook>;
}

let attempts: { status: number; retryAfter: string | null }[] = [];
let client = new Latchkey({ baseUrl: 'https://127.0.0.1', key: '' });
let records: unknown[] = [];

function connect({ keys, ...options }: NonNullable<Command['client']>): null {
  client = new Latchkey({
    ...options, ...(keys ? { key: () => keys.shift() ?? 'none' } : {}),
    onResponse: ({ status, headers }) => attempts.push({ status, retryAfter: headers.get('Retry-After') }),
  });
  records = [];
  return null;
}

const isRecord = (value: unknown): value is { record: number } => typeof value === 'object' && value !== null && 'record' in value;
const resolved = (options: Record<string, unknown> = {}) =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [name, isRecord(value) ? records[value.record] : value]));

async function carryOut(command: Command): Promise<unknown> {
  if (command.client) return connect(command.client);
  if (command.verify) return verifyWebhook(...command.verify);
  const words = [...command.path ?? [], ...('body' in command ? [command.body ?? undefined] : []), ...('query' in command ? [command.query] : [])];
  const methods = client as unknown as Record<string, (...words: unknown[]) => unknown>;
  const returned = methods[command.op ?? '']?.call(client, ...words, resolved(command.options));
  if (command.max === undefined) return returned;
  return (returned as ReturnType<Latchkey['iterateUsers']>).toArray(command.max);
}

const described = (info: ResponseInfo | undefined) =>
  info && { status: info.status, etag: info.etag, isReplayed: info.isReplayed, attempts: info.attempts };

function errorOf(error: unknown): object {
  if (error instanceof ApiError) {
    return { name: error.name, status: error.status, code: error.code, retryAfterMs: error.retryAfterMs, message: error.message };
  }
  const { name, message } = error as Error;
  return { name, message, ...(error instanceof WebhookVerificationError ? { reason: error.reason } : {}) };
}

let rest = '';
const decoder = new TextDecoder();
for await (const part of process.stdin) {
  const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) {
    attempts = [];
    let answer: object;
    try {
      const result = await carryOut(JSON.parse(line) as Command);
      if (result !== null) records.push(result);
      const info = typeof result === 'object' && result !== null ? described(responseOf(result)) : undefined;
      answer = { result: result ?? null, info, attempts, token: client.consistencyToken ?? null };
    } catch (error) {
      answer = { error: errorOf(error), attempts };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}
