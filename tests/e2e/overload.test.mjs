// What the server does when it has too much in hand (API.md, "Rate limits", and the settings `overload` and
// `http.connections_per_address`).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertStatus, message, newUser, sleep, startServer } from './harness.mjs';

async function withConfig(config, act) {
  const server = await startServer({ config, workers: 1 });
  try {
    const { key } = await server.makeKey();
    await act(server, key);
  } finally {
    await server.stop();
  }
}

// A request that waits for its body, once the server has it in hand.
async function waiting(server, key, scheme) {
  const body = JSON.stringify(newUser());
  const wire = await server.connect({ scheme });
  await wire.send(message('POST', '/api/v1/users', {
    key, headers: { 'Content-Type': 'application/json', 'Content-Length': body.length, Expect: '100-continue' },
  }));
  await sleep(100);
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
    const begun = Date.now();
    overloaded(await client.get('/users'));
    overloaded(await client.post('/users', newUser()));
    overloaded(await client.get('/nothing', { key: null }));
    assert.ok(Date.now() - begun < 1000, 'at once');
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
    const reader = await server.connect();
    await reader.send(Buffer.concat(Array.from({ length: 4 }, () => message('GET', '/api/v1/posts?limit=100', { key }))));
    assertStatus(await reader.response(), 200);
    for (let i = 0; i < 3; i += 1) overloaded(await reader.response()); // the first answer was still on its way
    reader.close();
    await sleep(100);
    assertStatus(await client.get('/users'), 200);
    client.close();
  },
));

test('http.connections_per_address: one more is closed, others and those after an end are not', async () => {
  const server = await startServer({ config: '[http]\nconnections_per_address = 3\n', workers: 2 });
  const { key } = await server.makeKey();
  const from = '127.0.0.60';
  const request = message('GET', '/api/v1/users', { key });
  const open = async () => {
    const wire = await server.connect({ scheme: 'http', from });
    await wire.send(request);
    assertStatus(await wire.response(), 200);
    return wire;
  };
  const wires = [await open(), await open(), await open()];
  await assert.rejects(open());
  await assert.rejects(open());
  assertStatus(await server.ask('GET', '/api/v1/users', { scheme: 'http', from: '127.0.0.61', key }), 200);
  wires.pop().close();
  await sleep(100);
  wires.push(await open());
  await assert.rejects(open());
  wires.forEach((each) => each.close());
  await sleep(100);
  for (let i = 0; i < 10; i += 1) assertStatus(await server.ask('GET', '/api/v1/users', { scheme: 'http', from, key }), 200);
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
