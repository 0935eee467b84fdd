// Rate limits (docs/api.md §10).

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertStatus, newUser, sleep, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const limited = async (...limits) => server.client(await server.makeKey({ name: 'limited', limits }));
const free = server.client(await server.makeKey());

// {name: {r, t}} of the RateLimit header.
const state = (answer) => Object.fromEntries(answer.headers.list('ratelimit').map((item) => {
  const result = /^"([^"]+)";r=([0-9]+);t=([0-9]+)$/.exec(item);
  assert.ok(result, `not an item of RateLimit: ${item}`);
  return [result[1], { r: Number(result[2]), t: Number(result[3]) }];
}));

test('a key made without limits of its own has the default ones', async () => {
  const client = server.client(await server.makeKey({ name: 'defaults', defaults: true }));
  const answer = await client.get('/users');
  assertStatus(answer, 200);
  assert.deepEqual(answer.headers.list('ratelimit-policy').sort(), ['"hour";q=20000;w=3600', '"minute";q=600;w=60']);
  const now = state(answer);
  assert.deepEqual(Object.keys(now).sort(), ['hour', 'minute']);
  assert.equal(now.minute.r, 599);
  assert.equal(now.minute.t, 60);
  assert.equal(now.hour.r, 19999);
  client.close();
});

test('a new limit owes nothing of one that was removed, a kept one keeps its bucket', async () => {
  const hour = (name) => ({ name, limit: 2, window_seconds: 3600 });
  const keyDocument = await free.create('/keys', { name: 'patched', rate_limits: [hour('a'), hour('kept')] });
  const client = server.client(keyDocument.key);
  const change = async (...names) => assertStatus(await free.patch(`/keys/${keyDocument.id}`, { rate_limits: names.map(hour) }), 200);
  assertStatus(await client.get('/users'), 200);
  assertStatus(await client.get('/users'), 200);
  assertStatus(await client.get('/users'), 429);
  await change('kept');
  await change('b', 'kept');
  let answer = await client.get('/users');
  assertStatus(answer, 429);
  assert.deepEqual(answer.json.violated_policies, ['kept']);
  assert.equal(state(answer).b.r, 2);
  await change('b');
  assertStatus(await client.get('/users'), 200);
  await change('a'); // and neither does one that was here before
  answer = await client.get('/users');
  assertStatus(answer, 200);
  assert.equal(state(answer).a.r, 1);
  client.close();
});

test('an unlimited key has no RateLimit headers', async () => {
  for (const target of ['/users', '/users/9007199254740991']) {
    const answer = await free.get(target);
    assert.equal(answer.headers.get('ratelimit'), null);
    assert.equal(answer.headers.get('ratelimit-policy'), null);
  }
});

test('without a valid key there are no RateLimit headers', async () => {
  const answer = await free.get('/users', { key: null });
  assertStatus(answer, 401);
  assert.equal(answer.headers.get('ratelimit'), null);
});

test('a limit counts down and then refuses with the time to wait', async () => {
  const client = await limited('three=3/60');
  for (const left of [2, 1, 0]) {
    const answer = await client.get('/users');
    assertStatus(answer, 200);
    assert.equal(answer.headers.get('ratelimit-policy'), '"three";q=3;w=60');
    assert.equal(state(answer).three.r, left);
    assert.ok(state(answer).three.t <= 60 && state(answer).three.t >= 1);
  }
  for (let i = 0; i < 3; i += 1) {
    const answer = await client.get('/users');
    assertStatus(answer, 429, 'rate_limited');
    const wait = Number(answer.headers.get('retry-after'));
    assert.ok(wait >= 1 && wait <= 20, `a token comes every 20 s; Retry-After is ${wait}`);
    assert.equal(state(answer).three.r, 0);
    assert.equal(answer.headers.get('ratelimit-policy'), '"three";q=3;w=60');
    assert.ok(Array.isArray(answer.json.violated_policies), 'violated_policies is a list');
    assert.match(JSON.stringify(answer.json.violated_policies), /three/);
  }
  client.close();
});

test('what is refused after authentication is charged too', async () => {
  const client = await limited('four=4/3600');
  const answers = [
    await client.get('/nothing'),
    await client.post('/users', {}),
    await client.get('/users/9007199254740991'),
    await client.get('/users?limit=x'),
  ];
  assert.deepEqual(answers.map((a) => a.status), [404, 422, 404, 400]);
  assert.deepEqual(answers.map((a) => state(a).four.r), [3, 2, 1, 0]);
  assertStatus(await client.get('/users'), 429, 'rate_limited');
  client.close();
});

test('the limit comes before the route, the scope and the body', async () => {
  const client = server.client(await server.makeKey({ scopes: ['posts:read'], limits: ['one=1/3600'] }));
  assertStatus(await client.get('/posts'), 200);
  assertStatus(await client.get('/nothing'), 429, 'rate_limited');
  assertStatus(await client.get('/users'), 429, 'rate_limited');
  assertStatus(await client.post('/users', '{', { type: 'text/plain' }), 429, 'rate_limited');
  client.close();
});

test('a refused write is not done', async () => {
  const client = await limited('one=1/3600');
  assertStatus(await client.get('/users'), 200);
  const user = newUser();
  assertStatus(await client.post('/users', user), 429, 'rate_limited');
  assert.equal((await free.read(`/users?email=${user.email}`)).pagination.total, 0);
  client.close();
});

test('Retry-After is never too early', async () => {
  const client = await limited('quick=2/2');
  for (let round = 0; round < 2; round += 1) {
    let answer;
    do answer = await client.get('/users'); while (answer.status === 200);
    assertStatus(answer, 429, 'rate_limited');
    await sleep(Number(answer.headers.get('retry-after')) * 1000); // as the answer says
    assertStatus(await client.get('/users'), 200);
  }
  client.close();
});

// The only client of its key: it uses all tokens, on more connections than there are workers, and then returns exactly
// when Retry-After says.
async function obey(limits, rounds) {
  const { key } = await server.makeKey({ name: 'obedient', limits });
  const clients = Array.from({ length: 5 }, () => server.client(key));
  let turn = 0;
  const ask = () => clients[(turn += 1) % clients.length].get('/users?limit=1');
  for (let round = 0; round < rounds; round += 1) {
    let answer;
    do answer = await ask(); while (answer.status === 200);
    const refusalTime = performance.now();
    assertStatus(answer, 429, 'rate_limited');
    const retryTime = refusalTime + Number(answer.headers.get('retry-after')) * 1000;
    // Timers may fire a millisecond early.
    while (performance.now() < retryTime) await sleep(Math.max(retryTime - performance.now() - 2, 0));
    assertStatus(await ask(), 200);
  }
  clients.forEach((client) => client.close());
}

test('a client that obeys Retry-After to the second is not refused again at that moment', () => Promise.all([
  obey(['second=5/1'], 16),
  obey(['fraction=7/3'], 16),
  obey(['slow=1/2'], 8),
  obey(['burst=3/7'], 6),
  obey(['many=31/2'], 10),
  obey(['one=4/1', 'two=7/3'], 14),
  obey(['one=3/2', 'two=5/4', 'three=50/60'], 10),
]));

test('all limits must admit, and when one refuses none is charged', async () => {
  const client = await limited('small=2/3600', 'large=50/3600');
  assert.equal(state(await client.get('/users')).large.r, 49);
  assert.equal(state(await client.get('/users')).large.r, 48);
  for (let i = 0; i < 4; i += 1) {
    const answer = await client.get('/users');
    assertStatus(answer, 429, 'rate_limited');
    assert.deepEqual(state(answer).large.r, 48);
    assert.match(JSON.stringify(answer.json.violated_policies), /small/);
    assert.doesNotMatch(JSON.stringify(answer.json.violated_policies), /large/);
  }
  client.close();
});

test('keys have limits of their own', async () => {
  const first = await limited('one=1/3600');
  const second = await limited('one=1/3600');
  assertStatus(await first.get('/users'), 200);
  assertStatus(await first.get('/users'), 429);
  assertStatus(await second.get('/users'), 200);
  first.close();
  second.close();
});

test('all connections together get what one would, not more', async () => {
  const { key } = await server.makeKey({ limits: ['ten=10/3600'] });
  const clients = Array.from({ length: 12 }, () => server.client(key));
  const ask = async (client) => {
    let admitted = 0;
    for (let i = 0; i < 10; i += 1) {
      const answer = await client.get('/users');
      if (answer.status === 200) admitted += 1;
      else assertStatus(answer, 429, 'rate_limited');
    }
    return admitted;
  };
  const racing = (await Promise.all(clients.map(ask))).reduce((a, b) => a + b);
  assert.ok(racing <= 10, `${racing} were admitted`);
  await sleep(150); // a lease that another core holds ends within 100 ms
  let later = 0;
  for (let i = 0; i < 12; i += 1) if ((await clients[0].get('/users')).status === 200) later += 1;
  assert.equal(racing + later, 10, 'every token is given out');
  clients.forEach((c) => c.close());
});

test('a wrong limit is refused by keys create', async () => {
  for (const limit of ['x', 'x=', 'x=0/60', 'x=5/0', 'x=-1/60', '=5/60', 'x=5']) {
    await assert.rejects(server.makeKey({ limits: [limit] }), /keys create failed/, limit);
  }
});
