// Webhooks (docs/api.md §17) against receivers over HTTPS: the npm package standardwebhooks verifies v1, node:crypto v1a.
// Receivers fail, refuse, hang and are gone; latchkey-deliver and the service are killed at random moments, and nothing is
// lost. `--rounds` is the number of kills.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import { createRequire } from 'node:module';
import { after, describe, test } from 'node:test';
import { assertStatus, below, generator, seed, sleep, startServer, until } from '../helpers/harness.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';
import { startReceiverProcess } from '../helpers/webhook_receiver_process.mjs';

const { Webhook } = createRequire(import.meta.url)('standardwebhooks');
const rounds = Number(process.env.E2E_ROUNDS ?? 8);

const trust = makeTrust();
const config = '[webhooks]\nallow_private = ["127.0.0.0/8"]\n';
const server = await startServer({ config, env: trust.env, management: '127.0.0.1:0' });
const api = server.client(await server.makeKey());
after(async () => {
  api.close();
  await server.stop();
});

let count = 0;
const newUser = (client = api) => client.create('/users', { name: 'Ada', email: `ada${count += 1}@example.org` });
const newWebhook = (url, members = {}, client = api) => client.create('/webhooks', { url, ...members });
const record = (id, client = api) => client.read(`/webhooks/${id}`);
const deliveries = async (id, query = '', client = api) => (await client.read(`/webhooks/${id}/deliveries?limit=100${query}`)).data;

describe('a delivery', () => {
  test('is the change as the feed has it, and standardwebhooks verifies it', async () => {
    const receiver = await startReceiver(trust);
    const webhook = await newWebhook(receiver.url, { types: ['user.*'], headers: { 'X-Trace': 'seven' } });
    const user = await newUser();
    await receiver.heard(1);
    const [request] = receiver.requests;
    assert.equal(request.method, 'POST');
    assert.equal(request.path, '/hook');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.match(request.headers['user-agent'], /^latchkey/);
    assert.equal(request.headers['x-trace'], 'seven');
    assert.deepEqual(new Webhook(webhook.secret).verify(request.body, request.headers), request.json);
    assert.equal(request.json.type, 'user.created');
    assert.equal(request.json.data.id, user.id);
    const feed = await api.read(`/changes?after=${request.json.sequence - 1}&limit=1`);
    assert.deepEqual(request.json, feed.data[0]);
    const [delivery] = await until(async () => {
      const list = await deliveries(webhook.id);
      return list.length === 1 && list[0].state === 'delivered' && list;
    }, 'the delivery is recorded');
    assert.equal(delivery.sequence, request.json.sequence);
    assert.equal(delivery.message_id, request.id);
    assert.equal(delivery.attempts.length, 1);
    assert.equal(delivery.attempts[0].status, 204);
    assert.throws(() => new Webhook(webhook.secret).verify(`${request.body} `, request.headers));
    assertStatus(await api.delete(`/webhooks/${webhook.id}`), 204);
    await receiver.stop();
  });

  test('is signed by Ed25519 too where that was asked', async () => {
    const receiver = await startReceiver(trust);
    const webhook = await newWebhook(receiver.url, { types: ['user.*'], signatures: ['v1', 'v1a'] });
    await newUser();
    await receiver.heard(1);
    const [request] = receiver.requests;
    const signatures = request.headers['webhook-signature'].split(' ');
    assert.deepEqual(signatures.map((text) => text.split(',')[0]).sort(), ['v1', 'v1a']);
    const raw = Buffer.from(webhook.public_key.replace(/^whpk_/, ''), 'base64');
    assert.equal(raw.length, 32);
    const key = crypto.createPublicKey({ key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]), format: 'der', type: 'spki' });
    const signature = Buffer.from(signatures.find((text) => text.startsWith('v1a,')).slice(4), 'base64');
    const signed = Buffer.from(`${request.id}.${request.timestamp}.${request.body}`);
    assert.ok(crypto.verify(null, signed, key, signature));
    new Webhook(webhook.secret).verify(request.body, request.headers);
    assertStatus(await api.delete(`/webhooks/${webhook.id}`), 204);
    await receiver.stop();
  });

  test('that failed is tried again under the same id, signed anew, and not before Retry-After', async () => {
    const receiver = await startReceiver(trust, (_, number) => (number === 0 ? { status: 500, body: 'not today' } : {}));
    const busy = await startReceiver(trust, (_, number) => (number === 0 ? { status: 503, headers: { 'Retry-After': '8' } } : {}));
    const webhook = await newWebhook(receiver.url, { types: ['user.*'] });
    const other = await newWebhook(busy.url, { types: ['user.*'] });
    await newUser();
    await receiver.heard(1);
    const [waiting] = await until(async () => {
      const list = await deliveries(webhook.id, '&state=pending');
      return list.length === 1 && list;
    }, 'it is pending');
    assert.equal(waiting.attempts[0].status, 500);
    assert.equal(waiting.attempts[0].response, 'not today');
    assert.ok(waiting.next_attempt_at);
    assert.ok((await record(webhook.id)).failing_since);
    await receiver.heard(2);
    const [first, second] = receiver.requests;
    assert.equal(first.id, second.id);
    assert.equal(first.body, second.body);
    const pause = second.at - first.at;
    assert.ok(pause >= 4900, `after ${pause} ms`);
    new Webhook(webhook.secret).verify(second.body, second.headers);
    const [delivery] = await until(async () => {
      const list = await deliveries(webhook.id, '&state=delivered');
      return list.length === 1 && list;
    }, 'it is delivered');
    assert.deepEqual(delivery.attempts.map(({ status }) => status), [500, 204]);
    assert.equal((await record(webhook.id)).failing_since, null);
    await busy.heard(2);
    assert.ok(busy.requests[1].at - busy.requests[0].at >= 7900, `after ${busy.requests[1].at - busy.requests[0].at} ms`);
    for (const { id } of [webhook, other]) assertStatus(await api.delete(`/webhooks/${id}`), 204);
    await receiver.stop();
    await busy.stop();
  });

  test('goes on under a changed URL', async () => {
    const [former, later] = [await startReceiver(trust), await startReceiver(trust)];
    const webhook = await newWebhook(former.url, { types: ['user.*'] });
    await newUser();
    await former.heard(1);
    assertStatus(await api.patch(`/webhooks/${webhook.id}`, { url: later.url }), 200);
    await sleep(500); // a webhook is looked at a few times a second
    await newUser();
    await later.heard(1);
    assert.equal(former.requests.length, 1);
    assertStatus(await api.delete(`/webhooks/${webhook.id}`), 204);
    await former.stop();
    await later.stop();
  });
});

test('ordered: one at a time, and what waits for a retry holds the others up', async () => {
  const receiver = await startReceiver(trust, (_, number) => ({ status: number === 3 ? 503 : 204, delay: 5 }));
  const webhook = await newWebhook(receiver.url, { types: ['user.*'], ordered: true });
  for (let i = 0; i < 20; i += 1) await newUser();
  await receiver.until(({ sequences }) => sequences.length === 20, 'all');
  assert.deepEqual(receiver.accepted, [...receiver.accepted].sort((a, b) => a - b));
  assert.equal(receiver.mostInFlight, 1);
  assertStatus(await api.delete(`/webhooks/${webhook.id}`), 204);
  await receiver.stop();
});

test('410 disables it, which the feed tells; enabled again it goes on where it stopped', async () => {
  let status = 410;
  const receiver = await startReceiver(trust, () => ({ status }));
  const webhook = await newWebhook(receiver.url, { types: ['user.*'], ordered: true });
  await newUser();
  const disabled = await until(async () => {
    const now = await record(webhook.id);
    return !now.enabled && now;
  }, 'it is disabled');
  assert.equal(disabled.disabled_reason, 'gone');
  const feed = await api.read('/changes?type=webhook.disabled&limit=1000');
  assert.ok(feed.data.some(({ data }) => data.id === webhook.id));
  await newUser();
  await sleep(300); // no more comes
  assert.equal(receiver.requests.length, 1);
  status = 204;
  assertStatus(await api.post(`/webhooks/${webhook.id}/enable`), 200);
  await receiver.until(({ sequences }) => sequences.length === 2, 'both');
  assertStatus(await api.delete(`/webhooks/${webhook.id}`), 204);
  await receiver.stop();
});

test('a test goes to its webhook alone, whatever the types, and makes what waits due', async () => {
  const [one, other] = [await startReceiver(trust, (_, number) => ({ status: number < 2 ? 500 : 204 })), await startReceiver(trust)];
  const webhook = await newWebhook(one.url, { types: ['post.created', 'user.*'] });
  const beside = await newWebhook(other.url, { types: ['post.created'] });
  await newUser();
  await one.heard(2); // after five seconds; the next attempt is due after five minutes
  const answer = await api.post(`/webhooks/${webhook.id}/test`);
  assertStatus(answer, 202);
  await one.until(({ sequences }) => sequences.length === 2, 'the test and the change');
  assert.ok(one.requests.some(({ json }) => json.type === 'webhook.test' && json.data.id === webhook.id));
  assert.equal(other.requests.length, 0);
  for (const { id } of [webhook, beside]) assertStatus(await api.delete(`/webhooks/${id}`), 204);
  await one.stop();
  await other.stop();
});

test('a replay sends again under the same ids', async () => {
  const receiver = await startReceiver(trust);
  const webhook = await newWebhook(receiver.url, { types: ['user.*'] });
  for (let i = 0; i < 10; i += 1) await newUser();
  await receiver.until(({ sequences }) => sequences.length === 10, 'all');
  const ids = new Set(receiver.requests.map(({ id }) => id));
  await until(async () => (await deliveries(webhook.id, '&state=delivered')).length === 10, 'all are recorded');
  const sorted = [...receiver.sequences].sort((a, b) => a - b);
  const range = { from_sequence: sorted[2], to_sequence: sorted[5] };
  assertStatus(await api.post(`/webhooks/${webhook.id}/replay`, range), 202);
  await receiver.heard(14);
  assertStatus(await api.post(`/webhooks/${webhook.id}/replay`, { sequences: [sorted[0], sorted[9]] }), 202);
  await receiver.heard(16);
  await sleep(300); // no more comes
  assert.equal(receiver.requests.length, 16);
  assert.deepEqual(receiver.requests.slice(10, 14).map(({ json }) => json.sequence).sort((a, b) => a - b), sorted.slice(2, 6));
  assert.ok(receiver.requests.every(({ id }) => ids.has(id)));
  assertStatus(await api.delete(`/webhooks/${webhook.id}`), 204);
  await receiver.stop();
});

// The processes that the service started, by name: its helper is a child of a supervisor.
const childrenOf = (pid) => fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
const named = (name) => (pid) => {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === name;
  } catch {
    return false;
  }
};
const supervisorOf = (pid) => childrenOf(pid).find(named('super-deliver'));
const helpersOf = (pid) => childrenOf(pid).flatMap(childrenOf).filter(named('latchkey-delive'));

const isRunning = (pid) => fs.existsSync(`/proc/${pid}`);

test('latchkey-deliver is started again when it has died, and ends with the service', async () => {
  const helper = (of, but) => until(() => helpersOf(of.pid).find((pid) => pid !== but), 'a helper');
  const one = await startServer({ config, env: trust.env });
  const first = await helper(one);
  process.kill(first, 'SIGKILL');
  const second = await helper(one, first);
  const receiver = await startReceiver(trust);
  const client = one.client(await one.makeKey());
  await newWebhook(receiver.url, { types: ['user.*'] }, client);
  await newUser(client);
  await receiver.heard(1);
  client.close();
  await one.kill();
  await until(() => !isRunning(second), 'the helper has ended with the service that was killed');
  const next = await one.again();
  const third = await helper(next);
  await next.stop();
  await until(() => !isRunning(third), 'the helper has ended with the service that was stopped');
  await receiver.stop();
});

test('the supervisor of latchkey-deliver, killed, has a successor, and that one too', async () => {
  const one = await startServer({ config, env: trust.env });
  const receiver = await startReceiver(trust);
  const client = one.client(await one.makeKey());
  await newWebhook(receiver.url, { types: ['user.*'] }, client);
  await newUser(client);
  await receiver.heard(1);
  let supervisor = supervisorOf(one.pid);
  for (let round = 2; round <= 3; round += 1) {
    const spare = await until(() => childrenOf(supervisor).find(named('super-deliver')), 'a spare');
    const helper = childrenOf(supervisor).find(named('latchkey-delive'));
    process.kill(supervisor, 'SIGKILL');
    await until(() => childrenOf(spare).some(named('latchkey-delive')), 'the helper of the successor');
    assert.notEqual(childrenOf(spare).find(named('latchkey-delive')), helper);
    await newUser(client);
    await receiver.heard(round);
    supervisor = spare;
  }
  const last = [supervisor, ...childrenOf(supervisor)];
  assert.equal(last.length, 3, 'it has a helper and a spare');
  client.close();
  await one.kill();
  await until(() => last.every((pid) => !isRunning(pid)), 'all end with the service that was killed');
  await receiver.stop();
});

test('nothing is lost when latchkey-deliver or the service is killed', { timeout: 60_000 + rounds * 20_000 }, async () => {
  const delay = generator();
  const [plain, ordered] = await Promise.all([0, 1].map(() => startReceiver(trust, () => ({ status: 204, delay: 20 * delay() }))));
  let one = await startServer({ config, env: trust.env });
  const key = await one.makeKey();
  let client = one.client(key);
  await newWebhook(plain.url, { types: ['user.created'] }, client);
  await newWebhook(ordered.url, { types: ['user.created'], ordered: true }, client);
  const made = [];
  const writer = async (writing) => {
    while (writing.goes) {
      try {
        made.push((await newUser(client)).id);
        await sleep(5); // or the ordered receiver, which takes 10 ms for each, lags by minutes
      } catch {
        return;
      }
    }
  };
  for (let round = 0; round < rounds; round += 1) {
    const writing = { goes: true };
    const written = writer(writing);
    await sleep(100 + below(700)); // the kill comes at a moment that is drawn
    if (round % 2 === 0) {
      await one.kill();
      await written;
      client.close();
      one = await one.again();
      client = one.client(key);
    } else {
      for (const pid of helpersOf(one.pid)) process.kill(pid, 'SIGKILL');
      await sleep(100 + below(300)); // writes go on for a time that is drawn
      writing.goes = false;
      await written;
    }
  }
  const feed = [];
  for (let after = 0, more = true; more;) {
    const page = await client.read(`/changes?after=${after}&limit=1000&type=user.created`);
    feed.push(...page.data.map(({ sequence }) => sequence));
    ({ next_after: after, has_more: more } = page.pagination);
  }
  assert.ok(feed.length >= made.length && made.length > 10, `${made.length} users, ${feed.length} changes; seed ${seed}`);
  for (const receiver of [plain, ordered]) {
    await receiver.until(({ accepted }) => new Set(accepted).size >= feed.length, `all ${feed.length} (seed ${seed})`, 60_000);
    assert.deepEqual([...receiver.sequences].sort((a, b) => a - b), feed, `seed ${seed}`);
    const ids = new Map();
    for (const { id, json } of receiver.requests) {
      assert.equal(ids.get(json.sequence) ?? id, id, 'one id per change');
      ids.set(json.sequence, id);
    }
  }
  assert.deepEqual(ordered.sequences, feed, `in order; seed ${seed}`);
  client.close();
  await one.stop();
  await plain.stop();
  await ordered.stop();
});

test('receivers that are slow, refuse or hang keep no others waiting', { timeout: 240_000 }, async (t) => {
  const changes = Number(process.env.E2E_CHANGES ?? 10_000);
  const quick = await startReceiverProcess(trust);
  const ordered = await startReceiverProcess(trust);
  const slow = await startReceiver(trust, () => ({ delay: 2000 }));
  const hanging = await startReceiver(trust, () => null);
  const gone = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => { gone.once('listening', resolve); });
  const { port } = gone.address();
  await new Promise((resolve) => { gone.close(resolve); });
  const webhooks = [
    await newWebhook(quick.url, { types: ['user.created'] }),
    await newWebhook(ordered.url, { types: ['user.created'], ordered: true }),
    await newWebhook(slow.url, { types: ['user.created'] }),
    await newWebhook(hanging.url, { types: ['user.created'] }),
    await newWebhook(`https://127.0.0.1:${port}/`, { types: ['user.created'] }),
  ];
  const key = await server.makeKey({ name: 'load' });
  const begin = Date.now();
  await Promise.all(Array.from({ length: 8 }, async (_, lane) => {
    const client = server.client(key, { scheme: 'http' });
    for (let i = lane; i < changes; i += 8) await newUser(client);
    client.close();
  }));
  const last = Date.now();
  const after = {}; // milliseconds from the last change to its delivery
  await Promise.all(Object.entries({ quick, ordered }).map(async ([name, receiver]) => {
    await receiver.accepts(changes, `all of ${name}`, 180_000);
    after[name] = Date.now() - last;
  }));
  t.diagnostic(`${changes} changes in ${last - begin} ms; all delivered after the last one: in no order ${after.quick} ms, ordered ${after.ordered} ms`);
  const { sequences, mostInFlight } = await ordered.stop();
  assert.equal(sequences.length, changes);
  assert.deepEqual(sequences, [...sequences].sort((a, b) => a - b));
  assert.equal(mostInFlight, 1);
  assert.ok(after.quick < 10_000 && after.ordered < 10_000);
  assert.ok(slow.mostInFlight <= 32 && hanging.mostInFlight <= 32);
  for (const { id } of webhooks) assertStatus(await api.delete(`/webhooks/${id}`), 204);
  for (const receiver of [quick, slow, hanging]) await receiver.stop();
});

// Spellings of places that no webhook may lead to; tests/model has more. Where names lead is judged when a connection is made
// (tests/deliver): the resolver of the system cannot be bent here.
const refused = [
  ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '017700000001', '0x7f.1', '0177.0.0.1', '127.0.0.01', '127.0.0.1.', '127.255.255.254',
    '0.0.0.0', '0', '10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '169.254.169.254', '169.254.0.1', '100.64.0.1',
    '100.100.100.200', '192.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1',
    '255.255.255.255', '8.8.8', '%31%32%37.0.0.1', '127%2e0%2e0%2e1', '\uff11\uff12\uff17.0.0.1', '127\u30020\u30020\u30021',
    '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::1]',
    '[2002:7f00:1::]', '[2001:0:7f00:1::1]', '[fe80::1]', '[fe80::1%25eth0]', '[fec0::1]', '[fc00::1]', '[fd00:ec2::254]', '[ff02::1]',
    '[2001:db8::1]', '[100::1]', '[3fff::1]', 'localhost', 'LOCALHOST', 'a.localhost', 'localhost.localdomain', 'printer.local', 'vault.internal',
    'metadata.google.internal', 'METADATA.google.internal', 'metadata.goog', 'nas.home.arpa', 'router.lan', 'intranet',
    'a.example@127.0.0.1', 'a.example:443@127.0.0.1', 'a.example\\@127.0.0.1', '127.0.0.1#a.example'].map((host) => `https://${host}/`),
  'http://a.example/', 'http://127.0.0.1/', 'HTTPS://127.0.0.1/', 'https:127.0.0.1/', 'https:/127.0.0.1/', 'https:////127.0.0.1/', '//127.0.0.1/',
  'file:///etc/passwd', 'gopher://127.0.0.1:6379/_x', 'ftp://127.0.0.1/', 'https://127.0.0.1:22/', 'https://a.example/\r\nhost: b',
];

test('a URL that leads inside is refused, however it is spelled', async (t) => {
  const closed = await startServer({});
  const client = closed.client(await closed.makeKey());
  for (const url of refused) {
    const answer = await client.post('/webhooks', { url });
    assert.equal(answer.status, 422, `${url}: ${answer.status}`);
  }
  t.diagnostic(`${refused.length} spellings`);
  client.close();
  await closed.stop();
});
