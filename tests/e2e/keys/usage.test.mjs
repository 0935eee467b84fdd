// Usage of keys (docs/api.md §4): a real server with two workers counts every answer exactly, hands it to the store
// within seconds, and loses none of it when it is stopped.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertStatus, assertTime, newUser, sleep, startServer } from '../helpers/harness.mjs';

const lateness = 15_000; // "within 5 seconds", and some for a machine that is busy

let server;
let admin;
before(async () => {
  server = await startServer();
  admin = server.client(await server.makeKey());
});
after(() => server.stop());

// The sum of all points of a response, after checking each of them.
function sum({ data }, granularity = 3600_000) {
  const total = { requests: 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, limited: 0 };
  data.forEach((point, i) => {
    assert.deepEqual(Object.keys(point), ['start', 'requests', 'by_status', 'limited']);
    assertTime(point.start, 'start');
    assert.equal(Date.parse(point.start) % granularity, 0, 'points are aligned');
    if (i > 0) assert.equal(Date.parse(point.start) - Date.parse(data[i - 1].start), granularity, 'none is left out');
    assert.deepEqual(Object.keys(point.by_status), ['2xx', '3xx', '4xx', '5xx']);
    const classes = Object.values(point.by_status).reduce((a, b) => a + b);
    assert.equal(classes, point.requests, 'every request is of one class');
    total.requests += point.requests;
    total.limited += point.limited;
    for (const [name, count] of Object.entries(point.by_status)) total[name] += count;
  });
  return total;
}

const usage = async (client, id, query = '') => sum(await client.read(`/keys/${id}/usage${query}`));

// Waits until the counts are stored; returns the last response.
async function settled(client, id, expected) {
  const limit = Date.now() + lateness;
  for (;;) {
    const points = await usage(client, id);
    if (points.requests >= expected || Date.now() > limit) return points;
    await sleep(100);
  }
}

// `rounds` of requests with five answers (200, 404, 403, 400, 201) on each of `connections`.
async function load(key, connections, rounds) {
  const clients = Array.from({ length: connections }, () => server.client(key));
  await Promise.all(clients.map(async (client) => {
    for (let i = 0; i < rounds; i += 1) {
      assertStatus(await client.get('/users?limit=1'), 200);
      assertStatus(await client.get('/users/9007199254740991'), 404);
      assertStatus(await client.get('/posts'), 403);
      assertStatus(await client.get('/users?limit=x'), 400);
      assertStatus(await client.post('/users', newUser()), 201);
    }
    client.close();
  }));
  const times = connections * rounds;
  return { requests: 5 * times, '2xx': 2 * times, '3xx': 0, '4xx': 3 * times, '5xx': 0, limited: 0 };
}

test('many connections on both workers are counted exactly', async () => {
  const key = await server.makeKey({ scopes: ['users:*'] });
  const expected = await load(key, 24, 8);
  assert.deepEqual(await settled(admin, key.id, expected.requests), expected);
  await sleep(500); // no more is stored
  assert.deepEqual(await usage(admin, key.id), expected, 'and nothing twice');
  const minutes = await admin.read(`/keys/${key.id}/usage?granularity=minute`);
  assert.equal(minutes.data.length, 1440);
  assert.deepEqual(sum(minutes, 60_000), expected);
  const days = await admin.read(`/keys/${key.id}/usage?granularity=day&from=${new Date(Date.now() - 86_400_000).toISOString()}`);
  assert.equal(days.data.length, 2);
  assert.deepEqual(sum(days, 86_400_000), expected);
});

test('requests that a limit refused are told apart', async () => {
  const key = await server.makeKey({ limits: ['ten=10/3600'] });
  const clients = Array.from({ length: 4 }, () => server.client(key));
  const statuses = (await Promise.all(clients.map(async (client) => {
    const observations = [];
    for (let i = 0; i < 10; i += 1) observations.push((await client.get('/users?limit=1')).status);
    client.close();
    return observations;
  }))).flat();
  const admitted = statuses.filter((status) => status === 200).length;
  assert.equal(statuses.filter((status) => status === 429).length, 40 - admitted);
  const expected = { requests: 40, '2xx': admitted, '3xx': 0, '4xx': 40 - admitted, '5xx': 0, limited: 40 - admitted };
  assert.deepEqual(await settled(admin, key.id, 40), expected);
});

test('nothing that was counted is lost by a restart', async () => {
  const key = await server.makeKey({ scopes: ['users:*'] });
  let expected = 0;
  for (let round = 0; round < 3; round += 1) {
    expected += (await load(key, 12, 5)).requests;
    await server.stop(); // at once, with all of it still in the workers
    server = await server.again();
    admin = server.client(admin.key);
    assert.equal((await usage(admin, key.id)).requests, expected, `after restart ${round + 1}`);
  }
});

test('a request that is in hand at the stop is counted too', async () => {
  const key = await server.makeKey({ scopes: ['users:*'] });
  const clients = Array.from({ length: 8 }, () => server.client(key));
  let answerCount = 0;
  const loading = Promise.all(clients.map(async (client) => {
    try {
      for (;;) {
        assertStatus(await client.post('/users', newUser()), 201);
        answerCount += 1;
        if (client.wire === null) return; // Connection: close
      }
    } catch (error) {
      if (error.code === 'ERR_ASSERTION') throw error; // else the connection ended between two requests
    } finally {
      client.close();
    }
  }));
  await sleep(300); // requests are under way when it stops
  await server.stop();
  await loading;
  assert.ok(answerCount > 8, `${answerCount} requests were answered`);
  server = await server.again();
  admin = server.client(admin.key);
  assert.equal((await usage(admin, key.id)).requests, answerCount);
});

test('a key that is verified is used, and so is the one that asks', async () => {
  const key = await server.makeKey({ scopes: ['posts:read'], limits: ['two=2/3600'] });
  const asking = await server.makeKey({ scopes: ['keys:verify'] });
  const client = server.client(asking);
  for (const code of ['VALID', 'VALID', 'RATE_LIMITED']) {
    const answer = await client.post('/keys/verify', { key: key.key });
    assertStatus(answer, 200);
    assert.equal(answer.json.code, code);
  }
  assert.deepEqual(await settled(admin, key.id, 3), { requests: 3, '2xx': 2, '3xx': 0, '4xx': 1, '5xx': 0, limited: 1 });
  assert.equal((await settled(admin, asking.id, 3))['2xx'], 3);
  client.close();
});

test('usage has a scope of its own and stays in the project', async () => {
  const key = await server.makeKey({ scopes: ['users:read'], args: ['--project', 'mine'] });
  const as = async (scopes, project) => {
    const client = server.client(await server.makeKey({ scopes, args: ['--project', project] }));
    const answer = await client.get(`/keys/${key.id}/usage`);
    client.close();
    return answer;
  };
  assertStatus(await as(['usage:read'], 'mine'), 200);
  assertStatus(await as(['*:read'], 'mine'), 200);
  assertStatus(await as(['keys:read', 'keys:write'], 'mine'), 403, 'insufficient_scope');
  assertStatus(await as(['usage:read'], 'theirs'), 404, 'not_found');
  assertStatus(await admin.get(`/keys/${key.id}/usage?granularity=minute&from=2026-01-01T00:00:00Z`), 400, 'invalid_parameter');
  assertStatus(await admin.get(`/keys/${key.id}/usage?granularity=week`), 400, 'invalid_parameter');
});
