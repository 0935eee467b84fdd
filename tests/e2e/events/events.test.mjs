// Events from outside (docs/api.md §12): the npm package standardwebhooks signs and Node's own fetch sends them over HTTPS;
// node:crypto signs like GitHub and Stripe, by their documentation. Every mistake has its status and code. The service is
// killed between receipt and response, and a repeated delivery is stored once.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { assertFields, assertNow, assertStatus, below, binary, command, filesIn, message, sleep, startFetch, startServer, temporaryFolder } from '../helpers/harness.mjs';

let Webhook;
try {
  ({ Webhook } = createRequire(import.meta.url)('standardwebhooks'));
} catch {
  throw new Error('run tests/e2e/install first: the sender of this test is an npm package');
}

const server = await startServer({ args: ['--auth-allow-query', 'false'] });
const sender = await startFetch(server);
after(async () => {
  sender.stop();
  await server.stop();
});
const admin = server.client(await server.makeKey({ name: 'admin' }));
const hook = await server.makeKey({ name: 'hook', scopes: ['events:write'] });
after(() => admin.close());

const now = () => Math.floor(Date.now() / 1000);
const hex = (secret, text) => crypto.createHmac('sha256', secret).update(text).digest('hex');
let count = 0;
const fresh = (prefix) => `${prefix}_${crypto.randomUUID()}_${count += 1}`;

// The header fields of a Standard Webhooks sender; `change` alters them after signing.
function standard(secret, body, { id = fresh('msg'), at: timestamp = now(), ...change } = {}) {
  const fields = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': new Webhook(secret).sign(id, new Date(timestamp * 1000), body),
    ...change,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function send(source, body, headers = {}, key = hook.key) {
  const answer = await sender.fetch(`${server.base()}/api/v1/events/${source}`, {
    method: 'POST', body, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}`, ...headers },
  });
  return answer;
}

async function assertStored(answer) {
  assert.equal(answer.status, 202, answer.text);
  assert.deepEqual(Object.keys(answer.json), ['id']);
  return admin.read(`/events/${answer.json.id}`);
}

async function assertRefused(answer, detail = /./) {
  const response = await answer;
  assert.equal(response.status, 401, response.text);
  assert.equal(response.json.code, 'signature_invalid');
  assert.match(response.json.detail, detail);
  assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="api"');
  assert.equal(response.headers.get('cache-control'), 'no-store');
}

const total = async (source) => (await admin.read(`/events?source=${source}&limit=1`)).pagination.total;

async function setSecret(source, body) {
  const answer = await admin.put(`/events/${source}/secret`, body);
  assertStatus(answer, 201);
  assert.deepEqual(Object.keys(answer.json).sort(), ['format', 'secret', 'source']);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return answer.json.secret;
}

describe('Standard Webhooks', async () => {
  const secret = await setSecret('shop', {});
  const body = '{ "type" : "order.paid",\n  "amount":12.50, "note":"Gr\u00fc\u00dfe \\u2713" }';

  test('what was signed here is kept, verified, byte for byte', async () => {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const event = await assertStored(await send('shop', body, standard(secret, body, { id: 'msg_1' })));
    assert.deepEqual({ ...event, id: 0, received_at: '' }, {
      id: 0, source: 'shop', delivery_id: 'msg_1', key_id: hook.id, verified: true, received_at: '', payload: JSON.parse(body),
    });
    assertNow(event.received_at);
    const raw = await admin.get(`/events/${event.id}`);
    assert.ok(raw.body.toString().endsWith(`"payload":${body}}`), raw.body.toString());
  });

  test('one delivery is one event, and its repeat gets the same answer', async () => {
    const fields = standard(secret, body);
    const first = await send('shop', body, fields);
    const baseline = await total('shop');
    for (let i = 0; i < 3; i += 1) {
      const again = await send('shop', body, fields);
      assert.equal(again.status, 202);
      assert.deepEqual(again.json, first.json);
    }
    // A later retry has another time and signature, but is the same delivery.
    const later = await send('shop', body, standard(secret, body, { id: fields['webhook-id'], at: now() + 5 }));
    assert.deepEqual(later.json, first.json);
    assert.equal(await total('shop'), baseline);
  });

  test('what is wrong is refused, and nothing of it is kept', async () => {
    const previous = await total('shop');
    const wrong = (change, detail, sentBody = body) => assertRefused(send('shop', sentBody, standard(secret, body, change)), detail);
    await wrong({ at: now() - 305 }, /300 seconds in the past/);
    await wrong({ at: now() + 305 }, /300 seconds in the future/);
    await wrong({}, /does not fit/, body.slice(0, -1));
    await wrong({}, /does not fit/, JSON.stringify(JSON.parse(body)));
    await wrong({}, /does not fit/, `${body}\n`);
    await wrong({ 'webhook-id': 'msg_other' }, /does not fit/);
    await wrong({ 'webhook-timestamp': String(now() - 1) }, /does not fit/);
    await wrong({ 'webhook-timestamp': 'yesterday' }, /number of seconds/);
    await wrong({ 'webhook-timestamp': `${now()}.0` }, /number of seconds/);
    await wrong({ 'webhook-id': undefined }, /must be there once/);
    await wrong({ 'webhook-timestamp': undefined }, /must be there once/);
    await wrong({ 'webhook-signature': undefined }, /must be there once/);
    await wrong({ 'webhook-signature': '' }, /no signature of version v1/);
    const good = standard(secret, body)['webhook-signature'];
    await wrong({ 'webhook-signature': good.replace('v1,', 'v2,') }, /no signature of version v1/);
    await wrong({ 'webhook-signature': good.replace('v1,', 'v1a,') }, /no signature of version v1/);
    await wrong({ 'webhook-signature': good.slice(0, -1) }, /does not fit/);
    await wrong({ 'webhook-signature': `${new Webhook(`whsec_${'A'.repeat(32)}`).sign('msg', new Date(), body)} `.repeat(150) }, /does not fit/);
    await assertRefused(send('shop', '{', standard(secret, body)), /does not fit/);
    assert.equal(await total('shop'), previous);
  });

  test('fields that no fetch would send', async () => {
    const raw = (fields) => server.ask('POST', '/api/v1/events/shop', { key: hook.key, body, headers: fields });
    const good = standard(secret, body);
    assertStatus(await raw({ ...good, 'webhook-signature': [good['webhook-signature'], good['webhook-signature']] }), 401, 'signature_invalid');
    assertStatus(await raw({ ...good, 'webhook-id': [good['webhook-id'], good['webhook-id']] }), 401, 'signature_invalid');
    assertStatus(await raw({ ...good, 'webhook-id': 'm\u00e9' }), 401, 'signature_invalid');
    assertStatus(await raw({ ...good, 'webhook-signature': `v1,${'\u00e9'.repeat(44)}` }), 401, 'signature_invalid');
    assertStatus(await raw({ ...good, 'webhook-signature': `${good['webhook-signature']} `.repeat(500) }), 431, 'headers_too_large');
    assertStatus(await raw({ ...good, 'WEBHOOK-SIGNATURE': `${'v9,x '.repeat(3000)}${good['webhook-signature']}`, 'webhook-signature': [] }), 202);
  });

  test('the signature comes before what is wrong with the body, and after it that counts', async () => {
    for (const [text, status, code] of [['[]', 422, 'validation_failed'], ['{"a":1,"a":2}', 400, 'invalid_json'], ['{}x', 400, 'invalid_json']]) {
      await assertRefused(send('shop', text, {}));
      const signed = await send('shop', text, standard(secret, text));
      assert.equal(signed.status, status, signed.text);
      assert.equal(signed.json.code, code);
    }
    const big = JSON.stringify({ a: 'x'.repeat(256 * 1024 - 8) });
    assert.equal(big.length, 256 * 1024);
    assert.equal((await assertStored(await send('shop', big, standard(secret, big)))).payload.a.length, 256 * 1024 - 8);
    const bigger = JSON.stringify({ a: 'x'.repeat(256 * 1024 - 7) });
    const answer = await send('shop', bigger, standard(secret, bigger));
    assert.equal(answer.status, 413);
    assert.equal(answer.json.code, 'body_too_large');
  });

  test('in a rotation both secrets sign, and then only the new one', async () => {
    const old = await setSecret('rota', {});
    const next = await setSecret('rota', { overlap_seconds: 3 });
    for (const each of [old, next]) assert.equal((await assertStored(await send('rota', '{}', standard(each, '{}')))).verified, true);
    const secretRecord = await admin.read('/events/rota/secret');
    assert.deepEqual(Object.keys(secretRecord).sort(), ['created_at', 'format', 'rotation_ends_at', 'source']);
    await sleep(Date.parse(secretRecord.rotation_ends_at) - Date.now() + 50); // the clock passes its end
    await assertRefused(send('rota', '{}', standard(old, '{}')), /does not fit/);
    await assertStored(await send('rota', '{}', standard(next, '{}')));
    assert.equal((await admin.read('/events/rota/secret')).rotation_ends_at, null);
    const last = await setSecret('rota', {});
    await assertRefused(send('rota', '{}', standard(next, '{}')), /does not fit/);
    await assertStored(await send('rota', '{}', standard(last, '{}')));
    assertStatus(await admin.delete('/events/rota/secret'), 204);
    assertStatus(await admin.delete('/events/rota/secret'), 404, 'not_found');
    assertStatus(await admin.get('/events/rota/secret'), 404, 'not_found');
    assert.equal((await assertStored(await send('rota', '{}'))).verified, false);
  });
});

describe('GitHub', async () => {
  const secret = "It's a Secret to Everybody";
  assert.equal(hex(secret, 'Hello, World!'), '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17');
  assert.equal(await setSecret('github', { format: 'github', secret }), null);
  const signed = (body, more = {}) => ({ 'X-GitHub-Event': 'push', 'X-Hub-Signature-256': `sha256=${hex(secret, body)}`, ...more });

  test('is known by its delivery, or by an equal signature', async () => {
    const delivery = crypto.randomUUID();
    const event = await assertStored(await send('github', '{"zen":"1"}', signed('{"zen":"1"}', { 'X-GitHub-Delivery': delivery })));
    assert.equal(event.delivery_id, delivery);
    assert.equal(event.verified, true);
    for (const more of [{ 'X-GitHub-Delivery': delivery }, { 'X-GitHub-Delivery': crypto.randomUUID() }, {}]) {
      assert.equal((await send('github', '{"zen":"1"}', signed('{"zen":"1"}', more))).json.id, event.id);
    }
    assert.equal((await send('github', '{"zen":"2"}', signed('{"zen":"2"}', { 'X-GitHub-Delivery': delivery }))).json.id, event.id);
    assert.equal((await assertStored(await send('github', '{"zen":"3"}', signed('{"zen":"3"}')))).delivery_id, null);
  });

  test('is refused when it is wrong', async () => {
    const digest = hex(secret, '{}');
    for (const value of [undefined, '', digest, `sha1=${digest}`, `sha256=${digest.slice(1)}`, `sha256=${digest}0`, `sha256=${digest.toUpperCase()}`,
      `sha256=${hex('another secret', '{}')}`]) {
      await assertRefused(send('github', '{}', value === undefined ? { 'X-Hub-Signature': 'sha1=00' } : { 'X-Hub-Signature-256': value }));
    }
    await assertRefused(send('github', '{ }', signed('{}')));
    await assertRefused(send('github', '{}', standard(`whsec_${'A'.repeat(32)}`, '{}')), /X-Hub-Signature-256/);
  });
});

describe('Stripe', async () => {
  const secret = 'whsec_6HkF3cQ0aVtWqT1mB2nXyZ';
  assert.equal(hex('secret', '123.hello'), 'f89c0a0e96fa6304a7ebd5ecaf13bc1beb859577cd7cafb7bdbc43c3bc2f6afa');
  assert.equal(await setSecret('stripe', { format: 'stripe', secret }), null);
  const signed = (body, timestamp = now(), more = '') => ({ 'Stripe-Signature': `t=${timestamp},v1=${hex(secret, `${timestamp}.${body}`)}${more}` });

  test('is known by the id in its payload, whenever it is retried', async () => {
    const body = JSON.stringify({ id: 'evt_1MqqbKLt4dXK03v5qaIbiNCC', object: 'event', type: 'charge.succeeded' }, null, 2);
    const event = await assertStored(await send('stripe', body, signed(body)));
    assert.equal(event.delivery_id, 'evt_1MqqbKLt4dXK03v5qaIbiNCC');
    assert.equal((await send('stripe', body, signed(body, now() - 200))).json.id, event.id);
    assert.equal((await send('stripe', body, signed(body, now(), `,v1=${'0'.repeat(64)},v0=${'1'.repeat(64)}`))).json.id, event.id);
  });

  test('is refused when it is wrong', async () => {
    const timestamp = now();
    const digest = hex(secret, `${timestamp}.{}`);
    for (const value of ['', `t=${timestamp}`, `v1=${digest}`, `t=${timestamp},v0=${digest}`, `t=${timestamp},v1=${digest.slice(1)}`, `t=${timestamp},t=${timestamp},v1=${digest}`,
      `t=${timestamp + 1},v1=${digest}`, `t=,v1=${digest}`, `t=${timestamp},v1=${hex('whsec_another', `${timestamp}.{}`)}`]) {
      await assertRefused(send('stripe', '{}', { 'Stripe-Signature': value }));
    }
    await assertRefused(send('stripe', '{}', signed('{}', now() - 305)), /in the past/);
    await assertRefused(send('stripe', '{}', signed('{}', now() + 305)), /in the future/);
    await assertRefused(send('stripe', '{ }', signed('{}')));
    await assertRefused(send('stripe', '{}', {}));
  });
});

describe('senders', () => {
  test('a scope of one source is enough for it, and such a key may come by query', async () => {
    const { key } = await server.makeKey({ scopes: ['events:write:till'] });
    await assertStored(await send('till', '{}', {}, key));
    assert.equal((await send('shop', '{}', {}, key)).json.code, 'insufficient_scope');
    const byQuery = (source, text) => server.ask('POST', `/api/v1/events/${source}?api_key=${text}`, { body: {} });
    assertStatus(await byQuery('till', key), 202);
    assertStatus(await byQuery('till', hook.key), 401, 'key_missing');
    assertStatus(await server.ask('GET', `/api/v1/events?api_key=${key}`), 401, 'key_missing');
    assertStatus(await server.ask('POST', '/api/v1/events/till', { body: { api_key: key } }), 401, 'key_missing');
    assertStatus(await server.ask('POST', '/api/v1/events/till', { body: {} }), 401, 'key_missing');
    assertStatus(await server.client(key).get('/events'), 403, 'insufficient_scope');
  });

  test('a member api_key of the payload is the sender\'s own', async () => {
    assert.deepEqual((await assertStored(await send('till', '{"api_key":"theirs"}'))).payload, { api_key: 'theirs' });
  });

  test('sources that cannot be are not there', async () => {
    for (const source of ['Shop', '1', 'a_b', 'a'.repeat(33)]) assert.equal((await send(source, '{}')).status, 404, source);
  });

  test('lists have the events of a source, with their total', async () => {
    for (let i = 0; i < 5; i += 1) await assertStored(await send('lists', JSON.stringify({ i })));
    const list = await admin.read('/events?source=lists&limit=2&sort=-id');
    assert.deepEqual(list.data.map((event) => event.payload.i), [4, 3]);
    assert.equal(list.pagination.total, 5);
    assertStatus(await admin.get('/events?source=No'), 400, 'invalid_parameter');
  });
});

describe('secrets', () => {
  test('are judged by their format', async () => {
    assertFields(await admin.put('/events/bad/secret', { format: 'svix', overlap_seconds: -1 }), { '/format': 'not_in_enum', '/overlap_seconds': 'out_of_range' });
    for (const body of [{ secret: 'whsec_short' }, { format: 'github', secret: 'short' }, { format: 'stripe', secret: 'whsec with spaces' }]) {
      assertFields(await admin.put('/events/bad/secret', body), { '/secret': 'invalid_format' });
    }
    assertStatus(await admin.get('/events/bad/secret'), 404);
  });

  test('are out of reach of a key that manages keys, and their changes are visible to a key that reads events', async () => {
    const { secret } = (await admin.put('/events/guarded/secret', {})).json;
    for (const scopes of [['keys:*'], ['keys:write', 'events:write'], ['*:write'], ['*:read'], ['events:read', 'events:write']]) {
      const key = server.client(await server.makeKey({ scopes, args: ['--project', 'theirs'] }));
      assertStatus(await key.put('/events/guarded/secret', { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }), 403, 'insufficient_scope');
      assertStatus(await key.get('/events/guarded/secret'), 403, 'insufficient_scope');
      assertStatus(await key.delete('/events/guarded/secret'), 403, 'insufficient_scope');
      key.close();
    }
    await assertRefused(send('guarded', '{}', standard('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '{}')));
    await assertStored(await send('guarded', '{}', standard(secret, '{}')));

    const manager = await server.makeKey({ scopes: ['events:manage'], args: ['--project', 'theirs'] });
    const theirs = server.client(manager);
    assertStatus(await theirs.get('/events/guarded/secret'), 200);
    assertStatus(await theirs.delete('/events/guarded/secret'), 204);
    const ours = server.client(await server.makeKey({ scopes: ['audit:read', 'events:read'], args: ['--project', 'ours'] }));
    const [last] = (await ours.read('/audit?sort=-id&limit=2')).data.filter((entry) => entry.source === 'guarded');
    assert.deepEqual([last?.action, last?.actor_key_id, last?.project], ['secret.delete', manager.id, null]);
    for (const each of [theirs, ours]) each.close();
  });

  const data = ['--data', server.data];
  test('are set, shown and removed by a command beside the running server', async () => {
    const result = await command('events', 'secret', 'set', 'cli', ...data, '--json');
    assert.equal(result.code, 0, result.stderr);
    const { secret, ...rest } = JSON.parse(result.stdout);
    assert.deepEqual(rest, { source: 'cli', format: 'standard' });
    await assertStored(await send('cli', '{}', standard(secret, '{}')));
    await assertRefused(send('cli', '{}'));
    const file = path.join(temporaryFolder(), 'secret');
    fs.writeFileSync(file, 'from-a-file-9d1f\n');
    const supplied = await command('events', 'secret', 'set', 'cli', ...data, '--format', 'github', '--secret-file', file, '--overlap', '1h');
    assert.equal(supplied.code, 0, supplied.stderr);
    assert.equal(supplied.stdout, '');
    await assertStored(await send('cli', '{"n":1}', { 'X-Hub-Signature-256': `sha256=${hex('from-a-file-9d1f', '{"n":1}')}` }));
    await assertStored(await send('cli', '{"n":2}', standard(secret, '{"n":2}')));
    const output = await command('events', 'secret', 'show', 'cli', ...data, '--json');
    assert.deepEqual(JSON.parse(output.stdout), await admin.read('/events/cli/secret'));
    assert.equal((await command('events', 'secret', 'delete', 'cli', ...data)).code, 0);
    assert.equal((await command('events', 'secret', 'delete', 'cli', ...data)).code, 1);
    assert.equal((await command('events', 'secret', 'show', 'cli', ...data)).code, 1);
    assert.equal((await assertStored(await send('cli', '{"n":3}'))).verified, false);
  });

  test('come from standard input, and never as an argument', async () => {
    const output = await new Promise((resolve) => {
      const child = execFile(binary, ['events', 'secret', 'set', 'stdin', ...data, '--format', 'stripe', '--secret-file', '-', '--json'],
        (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
      child.stdin.end('whsec_from-standard-input\n');
    });
    assert.equal(output.code, 0, output.stderr);
    assert.deepEqual(JSON.parse(output.stdout), { source: 'stdin', format: 'stripe', secret: null });
    const timestamp = now();
    await assertStored(await send('stdin', '{}', { 'Stripe-Signature': `t=${timestamp},v1=${hex('whsec_from-standard-input', `${timestamp}.{}`)}` }));
    for (const args of [['--secret', 'whsec_x'], ['--format', 'svix'], ['--overlap', '49h'], ['--secret-file', '/dev/null']]) {
      assert.equal((await command('events', 'secret', 'set', 'stdin', ...data, ...args)).code, 2, args[0]);
    }
    assert.equal((await command('events', 'secret', 'set', 'No', ...data)).code, 2);
  });

  test('are in no file, no log and no audit entry', async () => {
    const secret = await setSecret('hidden', {});
    await setSecret('hidden', { format: 'github', secret: 'supplied-secret-31415' });
    await assertRefused(send('hidden', '{}', { 'X-Hub-Signature-256': 'sha256=00' }));
    await sleep(400); // a worker hands its lines over after 250 ms
    for (const name of filesIn(server.data)) {
      const bytes = fs.readFileSync(name);
      for (const text of [secret, secret.slice(6), 'supplied-secret-31415', 'from-a-file-9d1f']) assert.ok(!bytes.includes(text), name);
    }
    const log = server.logLines().filter((line) => line.route === '/api/v1/events/{event_source}');
    assert.ok(log.some((line) => line.status === 401 && line.code === 'signature_invalid' && line.key_id === hook.id));
    assert.ok(!fs.readFileSync(server.log).includes('supplied-secret'));
    const audit = (await admin.read('/audit?sort=-id&limit=2')).data;
    assert.deepEqual(audit.map((entry) => [entry.action, entry.source, entry.fields]),
      [['secret.put', 'hidden', ['format', 'secret']], ['secret.put', 'hidden', ['format', 'secret']]]);
    assert.ok(!JSON.stringify(audit).includes('supplied-secret'));
  });
});

test('kill -9 between receipt and answer: a delivery that is tried again is stored once', async (t) => {
  const rounds = Number(process.env.E2E_ROUNDS ?? 20);
  let one = await startServer();
  const key = (await one.makeKey()).key;
  let api = one.client(key);
  const secret = (await api.put('/events/shop/secret', {})).json.secret;
  const answers = new Map(); // delivery to id
  const tally = { acknowledged: 0, again: 0, lost: 0 };
  let last = 0;

  // Sends one delivery after the other until the connection ends; returns the unanswered one.
  async function deliver(number, deliveries) {
    const wire = await one.connect({ scheme: number % 2 ? 'https' : 'http' }).catch(() => null);
    for (;;) {
      const delivery = deliveries?.shift() ?? (deliveries ? null : `msg_${last += 1}`);
      if (delivery === null) return wire.close();
      const body = JSON.stringify({ delivery, text: 'x'.repeat(delivery.length * 97 % 3000) });
      wire?.send(message('POST', '/api/v1/events/shop', { key, body, headers: standard(secret, body, { id: delivery }) }));
      let answer;
      try {
        answer = await wire.response({ method: 'POST' });
      } catch (error) {
        if (wire !== null && !/the connection ended/.test(error.message)) throw error;
        return delivery;
      }
      assertStatus(answer, 202);
      const baseline = answers.get(delivery);
      assert.ok(baseline === undefined || baseline === answer.json.id, `${delivery} was ${baseline} and is ${answer.json.id}`);
      answers.set(delivery, answer.json.id);
      tally.acknowledged += 1;
    }
  }

  for (let round = 0; round < rounds; round += 1) {
    api.close();
    const running = Promise.all(Array.from({ length: 8 }, (_, i) => deliver(i)));
    await sleep(30 + below(60)); // the kill comes at a moment that is drawn
    await one.kill();
    const pending = await running;
    one = await one.again();
    api = one.client(key);
    const already = new Set();
    for (let page = 1; ; page += 1) {
      const list = await api.read(`/events?source=shop&sort=-id&limit=100&page=${page}`);
      for (const event of list.data) already.add(event.delivery_id);
      if (!list.pagination.has_more || page * 100 > 2000) break;
    }
    for (const delivery of pending) already.has(delivery) ? tally.again += 1 : tally.lost += 1;
    // All unanswered ones are repeated, and one answered one.
    await deliver(round, [...pending, ...pending, [...answers.keys()].at(-1)]);
    const { pagination } = await api.read('/events?source=shop&limit=1');
    assert.equal(pagination.total, answers.size, `round ${round}: each delivery is one event`);
    assert.equal(new Set(answers.values()).size, answers.size);
  }
  assert.ok(tally.acknowledged > rounds * 8, JSON.stringify(tally));
  assert.ok(tally.again + tally.lost > rounds, JSON.stringify(tally));
  t.diagnostic(`${tally.acknowledged} deliveries acknowledged; of those under way ${tally.again} were stored already, ${tally.lost} were not`);
  api.close();
  await one.stop();
});
