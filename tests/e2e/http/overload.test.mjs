// Overload protection (docs/api.md §10, and the settings `overload` and `http.connections_per_address`).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import tls from 'node:tls';
import { assertStatus, message, newUser, overHttp2, sleep, startServer, until } from '../helpers/harness.mjs';
import { cpuSeconds, descriptors, hostiles, metric, resident } from '../helpers/load_clients.mjs';

async function withConfig(config, act, workers = 1) {
  const server = await startServer({ config, workers, management: '127.0.0.1:0' });
  try {
    const { key } = await server.makeKey();
    await act(server, key);
  } finally {
    await server.stop();
  }
}

// A request that waits for its body; resolves once the server has received it.
async function waiting(server, key, scheme) {
  const body = JSON.stringify(newUser());
  const wire = await server.connect({ scheme });
  await wire.send(message('POST', '/api/v1/users', {
    key, headers: { 'Content-Type': 'application/json', 'Content-Length': body.length, Expect: '100-continue' },
  }));
  await wire.until(() => wire.size > 0, 'it asks for the body');
  return { wire, end: async () => {
    await wire.send(body);
    return wire.response({ method: 'POST' });
  } };
}

function overloaded(answer) {
  assertStatus(answer, 503, 'overloaded');
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  assert.equal(answer.headers.get('ratelimit'), null, 'nothing was charged');
}

test('past overload.requests_in_flight new requests are 503 at once', () => withConfig(
  '[overload]\nrequests_in_flight = 2\n', async (server, key) => {
    const first = await waiting(server, key, 'https');
    const client = server.client(key);
    assertStatus(await client.get('/users'), 200);
    const second = await waiting(server, key, 'http');
    const startTime = Date.now();
    overloaded(await client.get('/users'));
    overloaded(await client.post('/users', newUser()));
    overloaded(await client.get('/nothing', { key: null }));
    assert.ok(Date.now() - startTime < 5000, 'at once');
    assertStatus(await client.call('GET', '/healthz', { root: true, key: null }), 200);
    for (const each of [first, second]) {
      const answer = await each.end();
      assertStatus(answer.status === 100 ? await each.wire.response({ method: 'POST' }) : answer, 201);
      each.wire.close();
    }
    assertStatus(await client.post('/users', newUser()), 201);
    client.close();
  },
));

test('past overload.queued_mib new requests are 503 until clients have read their answers', () => withConfig(
  '[overload]\nqueued_mib = 1\n', async (server, key) => {
    const client = server.client(key);
    const owner = await client.create('/users', newUser());
    for (let i = 0; i < 50; i += 1) await client.create('/posts', { user_id: owner.id, title: `p${i}`, body: 'x'.repeat(65536) });
    // Some that do not read: what the kernel does not take of their answers stays in the service.
    const readers = Array.from({ length: 8 }, () => {
      const reader = tls.connect({ ...server.at('https'), servername: 'localhost' }).on('error', () => {}).pause();
      reader.write(Buffer.concat(Array.from({ length: 16 }, () => message('GET', '/api/v1/posts?limit=100', { key }))));
      return reader;
    });
    const wire = await server.connect();
    const large = async () => {
      await wire.send(message('GET', '/api/v1/posts?limit=100', { key }));
      return wire.response();
    };
    await until(async () => {
      const answer = await large();
      if (answer.status !== 200) overloaded(answer);
      return answer.status === 503;
    }, 'a large answer is refused');
    readers.forEach((reader) => reader.resume());
    await until(async () => (await large()).status === 200, 'large answers are given again');
    await until(async () => (await client.get('/users')).status === 200, 'requests are answered again');
    wire.close();
    readers.forEach((reader) => reader.destroy());
    client.close();
  },
));

// Each of them is more than the whole budget, and the service holds one of them whenever it looks at who holds much.
test('large answers that a client reads one after the other do not end its connection', () => withConfig(
  '[overload]\nqueued_mib = 1\n', async (server, key) => {
    const client = server.client(key);
    const owner = await client.create('/users', newUser());
    for (let i = 0; i < 50; i += 1) await client.create('/posts', { user_id: owner.id, title: `p${i}`, body: 'x'.repeat(65536) });
    const wire = await server.connect();
    for (let i = 0; i < 300; i += 1) {
      await wire.send(message('GET', '/api/v1/posts?limit=100', { key }));
      const answer = await wire.response();
      assertStatus(answer, 200);
      assert.ok(answer.body.length > 1024 * 1024);
    }
    wire.close();
    client.close();
  },
));

const unfinishedHead = Buffer.from(`GET /api/v1/users HTTP/1.1\r\nHost: x\r\nX-Padding: ${'p'.repeat(15_000)}`);
const unreadStream = (key) => message('GET', '/api/v1/changes?after=0', { key, headers: { Accept: 'text/event-stream' } });
for (const [name, count, bytesOf] of [
  ['event streams that nobody reads', 300, unreadStream],
  ['unfinished heads', 1500, () => unfinishedHead],
]) {
  test(`${name} stay within overload.queued_mib, and no other client is refused`, (t) => withConfig(
    '[overload]\nqueued_mib = 8\n', async (server, key) => {
      const client = server.client(key);
      const owner = await client.create('/users', newUser());
      for (let i = 0; i < 40; i += 1) await client.create('/posts', { user_id: owner.id, title: `p${i}`, body: 'x'.repeat(50_000) });
      const { key: reader } = await server.makeKey({ name: 'reader', scopes: ['changes:read'] });
      let most = 0;
      const all = await hostiles(count, server.at('http'), (socket) => socket.pause().write(bytesOf(reader)));
      for (let i = 0; i < 300; i += 1) {
        assertStatus(await client.get('/users/1'), 200);
        assertStatus(await client.post('/users', newUser()), 201);
        if (i % 20 === 0) most = Math.max(most, await metric(server, 'latchkey_held_bytes'));
      }
      for (const { socket } of all) socket.destroy();
      t.diagnostic(`${(most / 2 ** 20).toFixed(1)} MiB held at most`);
      assert.ok(most > 2 << 20 && most <= 10 << 20, `${most} bytes held`);
      client.close();
    },
  ));
}

// A worker's limit for requests in flight is 4,096, and for those without a key 1,024.
const many = 5000;
const json = { 'Content-Type': 'application/json' };

// While `count` clients have each sent those bytes, valid keys are served: in the header on an existing connection, on a new
// one, and in a body that follows its header section.
async function servedBeside(server, key, count, bytes) {
  const client = server.client(key, { scheme: 'http' });
  assertStatus(await client.post('/users', newUser()), 201);
  const all = await hostiles(count, server.at('http'), (socket) => socket.write(bytes));
  for (let i = 0; i < 5; i += 1) {
    assertStatus(await client.get('/users/1'), 200);
    assertStatus(await client.post('/users', newUser()), 201);
    assertStatus(await server.ask('GET', '/api/v1/users/1', { key, scheme: 'http' }), 200);
    const body = JSON.stringify({ ...newUser(), api_key: key });
    const wire = await server.connect({ scheme: 'http' });
    await wire.send(message('POST', '/api/v1/users', { headers: { ...json, 'Content-Length': body.length } }));
    await sleep(10); // the body comes after the header section
    await wire.send(body);
    assertStatus(await wire.response({ method: 'POST' }), 201);
    wire.close();
  }
  client.close();
  return all;
}

test(`${many} missing bodies of requests without a key delay no client with a key`, () => withConfig('', async (server, key) => {
  const half = Buffer.concat([message('POST', '/api/v1/users', { headers: { ...json, 'Content-Length': 100 } }), Buffer.from('{"api')]);
  const all = await servedBeside(server, key, many, half);
  const waiting = await metric(server, 'latchkey_anonymous_requests');
  assert.ok(waiting > 0 && waiting <= 1024, `${waiting} of them are waited for`);
  const refusals = all.filter(({ text }) => text !== '');
  assert.ok(refusals.length >= many - 1024 - 200, `${refusals.length} were given up`); // the last may be on their way
  for (const { text } of refusals) assert.match(text, /^HTTP\/1\.1 503 [^]*\r\nRetry-After: /);
  for (const { socket } of all) socket.destroy();
}));

test(`${many} missing bodies after a refusal delay no client with a key`, () => withConfig(
  '[auth]\nfailures_per_minute = 0\n', async (server, key) => {
    const half = message('POST', '/api/v1/users', { key: `${key.slice(1)}x`, headers: { ...json, 'Content-Length': 100 } });
    const all = await servedBeside(server, key, many, half);
    assert.equal(await metric(server, 'latchkey_requests_in_flight'), 0);
    for (const { socket, text } of all) {
      assert.match(text, /^HTTP\/1\.1 401 /);
      socket.destroy();
    }
  },
));

test('of bodies in which the key may be, what came counts and not what was announced', () => withConfig('', async (server, key) => {
  const announced = 128 << 10;
  const head = message('POST', '/api/v1/users', { headers: { ...json, 'Content-Length': announced } });
  const little = await servedBeside(server, key, 600, Buffer.concat([head, Buffer.alloc(100, ' ')]));
  assert.deepEqual(little.filter(({ text }) => text !== ''), [], 'none of them was given up');
  // Now 25 MiB, of which 16 are allowed.
  const baseline = resident(server.pid);
  const much = await servedBeside(server, key, 200, Buffer.concat([head, Buffer.alloc(announced - 1, ' ')]));
  assert.ok(much.some(({ text }) => text === ''), 'some of them are waited for');
  // A string may have twice the capacity that it needs.
  const more = resident(server.pid) - baseline;
  assert.ok(more < 48 << 20, `${more >> 20} MiB for them`);
  for (const { socket } of [...little, ...much]) socket.destroy();
}, 2));

// The memory that clients make a worker hold, in MiB, and what is left some seconds after they are gone.
async function memoryOf(server, act) {
  const previous = resident(server.pid);
  let most = previous;
  const timer = setInterval(() => { most = Math.max(most, resident(server.pid)); }, 10);
  const all = await act();
  await sleep(3000); // it grows no further
  for (const { socket } of all) socket.destroy();
  const limit = Date.now() + 15_000;
  while (resident(server.pid) > previous + (24 << 20) && Date.now() < limit) await sleep(100);
  clearInterval(timer);
  return { most: Math.round((most - previous) / (1 << 20)), left: Math.round((resident(server.pid) - previous) / (1 << 20)) };
}

const queued = 64; // MiB
// The overhead of a connection with TLS beside what it holds for its client, and the worker's spare buffers.
const overhead = (count) => Math.ceil(count * 24 / 1024) + 16;

// The crowds send the same bytes in both runs.
const testOnce = overHttp2 ? test.skip : test;
for (const [scheme, count] of [['http', 2000], ['https', 600]]) {
  testOnce(`overload.queued_mib bounds what ${count} clients that pipeline and never read cost over ${scheme}, and it is given back`, (t) => withConfig(
    `[overload]\nqueued_mib = ${queued}\n`, async (server, key) => {
      const client = server.client(key);
      assertStatus(await client.post('/users', newUser()), 201);
      const flood = Buffer.concat(Array.from({ length: 64 }, () => message('GET', '/openapi.json')));
      const memory = await memoryOf(server, async () => {
        const all = await hostiles(count, server.at(scheme), (socket, one) => {
          const stream = scheme === 'https' ? tls.connect({ socket, rejectUnauthorized: false }) : socket;
          stream.on('error', () => {}).pause();
          stream.write(flood);
          one.inner = stream;
        });
        return all;
      });
      t.diagnostic(`${memory.most} MiB at most, ${memory.left} MiB some seconds later`);
      assert.ok(memory.most <= queued + overhead(count), `${memory.most} MiB, and it may be ${queued} and ${overhead(count)}`);
      assert.ok(memory.left <= 24, `${memory.left} MiB stay`);
      assertStatus(await client.get('/users/1'), 200);
      client.close();
    },
  ));
}

testOnce('overload.queued_mib bounds bodies that stop before their end', (t) => withConfig(
  `[overload]\nqueued_mib = ${queued}\n`, async (server, key) => {
    const size = 1 << 20;
    const part = Buffer.concat([message('POST', '/api/v1/users', { key, headers: { ...json, 'Content-Length': size } }), Buffer.alloc(size - 1, ' ')]);
    const memoryUse = await memoryOf(server, () => hostiles(300, server.at('http'), (socket) => socket.write(part)));
    t.diagnostic(`${memoryUse.most} MiB at most, ${memoryUse.left} MiB some seconds later`);
    // Each body grows by doubling, and the freed parts are not all reused at once.
    const outgrown = 16;
    assert.ok(memoryUse.most <= queued + overhead(300) + outgrown, `${memoryUse.most} MiB`);
    assert.ok(memoryUse.left <= 24, `${memoryUse.left} MiB stay`);
    assertStatus(await server.ask('POST', '/api/v1/users', { key, body: newUser() }), 201);
  },
));

test('http.connections_per_address: one more is closed, others and those after an end are not', async () => {
  const server = await startServer({ config: '[http]\nconnections_per_address = 3\n', workers: 2 });
  const { key } = await server.makeKey();
  const clientAddress = '127.0.0.60';
  const request = message('GET', '/api/v1/users', { key });
  const open = async () => {
    const wire = await server.connect({ scheme: 'http', from: clientAddress });
    await wire.send(request);
    assertStatus(await wire.response(), 200);
    return wire;
  };
  const wires = [await open(), await open(), await open()];
  await assert.rejects(open());
  await assert.rejects(open());
  assertStatus(await server.ask('GET', '/api/v1/users', { scheme: 'http', from: '127.0.0.61', key }), 200);
  wires.pop().close();
  wires.push(await until(() => open().catch(() => null), 'the end of one makes room'));
  await assert.rejects(open());
  wires.forEach((each) => each.close());
  await until(() => open().then((wire) => (wire.close(), true), () => false), 'their ends make room');
  for (let i = 0; i < 10; i += 1) assertStatus(await server.ask('GET', '/api/v1/users', { scheme: 'http', from: clientAddress, key }), 200);
  await server.stop();
});

test('auth.failures_per_minute sets the limit on failed authentications, or switches it off', async () => {
  for (const [limit, last] of [[3, 429], [0, 401]]) {
    const server = await startServer({ config: `[auth]\nfailures_per_minute = ${limit}\n` });
    const client = server.client('wrong');
    for (let i = 0; i < 3; i += 1) assertStatus(await client.get('/users'), 401, 'key_invalid');
    for (let i = 0; i < 40; i += 1) assert.equal((await client.get('/users')).status, last);
    client.close();
    await server.stop();
  }
});

test('out of descriptors the process waits, does not spin, and accepts again by itself', async (t) => {
  const most = 160; // some connections fit, so that one that has just ended does not keep the next one out
  const few = await startServer({ under: ['prlimit', `--nofile=${most}:${most}`] });
  try {
    const mine = (await few.makeKey()).key;
    const client = few.client(mine);
    await client.create('/users', newUser());
    const all = await hostiles(300, few.at('http'));
    await sleep(300); // all that can be accepted is
    const baseline = cpuSeconds(few.pid);
    await sleep(3000); // nothing happens
    const used = cpuSeconds(few.pid) - baseline;
    assert.ok(used < 0.3, `${used} s of CPU in 3 s without anything to do`);
    // The rest is kept for what has to answer all the same: management, a reload, a new log.
    const open = descriptors(few.pid);
    assert.ok(open < most - 20, `${open} of ${most} descriptors`);
    assert.equal((await client.get('/users/1')).status, 200, 'an existing connection is served');
    assert.equal((await client.post('/users', newUser())).status, 201, 'writes too');
    for (const each of all) each.socket.destroy();
    await until(() => descriptors(few.pid) <= open - 10, 'connections are ended');
    for (let i = 0; i < 20; i += 1) {
      assert.equal((await few.ask('GET', '/api/v1/users/1', { key: mine })).status, 200, 'served again');
    }
    client.close();
    t.diagnostic(`${used.toFixed(2)} s of CPU in 3 s`);
  } finally {
    await few.stop();
  }
});
