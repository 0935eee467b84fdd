// Conditional requests (docs/api.md §8; RFC 9110 §13).

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertStatus, newUser, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const keyDocument = await server.makeKey();
const { key } = keyDocument;
const api = server.client(key);
const user = await api.create('/users', newUser());
const post = await api.create('/posts', { user_id: user.id, title: 'a post' });
const strong = /^"[\x21\x23-\x7e]+"$/;

const tagOf = async (target) => {
  const answer = await api.get(target);
  assertStatus(answer, 200);
  return answer.headers.get('etag');
};

test('users, posts and keys have strong tags, which HEAD and the other path have too', async () => {
  for (const target of [`/users/${user.id}`, `/posts/${post.id}`, `/keys/${keyDocument.id}`]) {
    const tag = await tagOf(target);
    assert.match(tag, strong);
    assert.equal((await api.head(target)).headers.get('etag'), tag);
  }
  assert.equal((await api.get(`/users/${user.id}`, { root: true })).headers.get('etag'), await tagOf(`/users/${user.id}`));
});

test('lists have weak tags; the caller\'s own record and included posts have none', async () => {
  for (const target of ['/users', '/posts?limit=1', `/users/${user.id}/posts`, '/keys', '/audit']) {
    assert.match(await tagOf(target), /^W\/"[\x21\x23-\x7e]+"$/);
  }
  for (const target of ['/keys/current', `/users/${user.id}?include=posts`]) assert.equal(await tagOf(target), null);
});

test('304 has no content and what RFC 9110 §15.4.5 asks for', async () => {
  for (const target of [`/users/${user.id}`, `/posts/${post.id}`, `/keys/${keyDocument.id}`, '/users', '/posts']) {
    const whole = await api.get(target);
    const tag = whole.headers.get('etag');
    for (const method of ['get', 'head']) {
      for (const value of [tag, '*', `"x", ${tag}`, tag.startsWith('W/') ? tag.slice(2) : `W/${tag}`]) {
        const answer = await api[method](target, { headers: { 'If-None-Match': value } });
        assertStatus(answer, 304);
        assert.equal(answer.body.length, 0);
        assert.equal(answer.headers.get('etag'), tag);
        assert.equal(answer.headers.get('cache-control'), whole.headers.get('cache-control'));
        assert.equal(answer.headers.get('vary'), whole.headers.get('vary'));
        assert.ok(answer.headers.get('date'));
        assert.equal(answer.headers.get('content-type'), null);
      }
    }
    assertStatus(await api.get(target, { headers: { 'If-None-Match': '"x", W/"y"' } }), 200);
  }
});

test('a 304 is charged and says so', async () => {
  const limited = server.client(await server.makeKey({ scopes: ['users:read'], limits: ['minute=50/60'] }));
  const headers = { 'If-None-Match': await tagOf(`/users/${user.id}`) };
  const left = [];
  for (let i = 0; i < 3; i += 1) {
    const answer = await limited.get(`/users/${user.id}`, { headers });
    assertStatus(answer, 304);
    left.push(Number(/r=([0-9]+)/.exec(answer.headers.get('ratelimit'))[1]));
    assert.match(answer.headers.get('ratelimit-policy'), /"minute";q=50;w=60/);
  }
  assert.ok(left[0] > left[1] && left[1] > left[2], String(left));
  limited.close();
});

test('a write moves the tag, and an old one is refused', async () => {
  const target = `/users/${user.id}`;
  const old = await tagOf(target);
  const changed = await api.patch(target, { name: 'Changed' }, { headers: { 'If-Match': old } });
  assertStatus(changed, 200);
  const now = changed.headers.get('etag');
  assert.notEqual(now, old);
  assert.equal(await tagOf(target), now, 'the answer has the tag of what it shows');
  assertStatus(await api.get(target, { headers: { 'If-None-Match': old } }), 200);
  const stale = { headers: { 'If-Match': old } };
  assertStatus(await api.patch(target, { name: 'Lost' }, stale), 412, 'precondition_failed');
  assertStatus(await api.put(target, { name: 'Lost', email: user.email }, stale), 412, 'precondition_failed');
  assertStatus(await api.delete(target, stale), 412, 'precondition_failed');
  assert.equal((await api.read(target)).name, 'Changed');
  assertStatus(await api.put(target, { name: 'Put', email: user.email }, { headers: { 'If-Match': `"x", ${now}` } }), 200);
  assertStatus(await api.patch(target, { name: 'Any' }, { headers: { 'If-Match': '*' } }), 200);
  assertStatus(await api.patch(target, { name: 'None' }, { headers: { 'If-None-Match': '*' } }), 412, 'precondition_failed');
  assertStatus(await api.patch('/users/999999', { name: 'x' }, { headers: { 'If-Match': '"x"' } }), 404, 'not_found');
});

test('a created resource is answered with its tag', async () => {
  const fresh = await api.post('/users', newUser());
  assertStatus(fresh, 201);
  assert.equal(fresh.headers.get('etag'), await tagOf(`/users/${fresh.json.id}`));
  const key2 = await api.post('/keys', { name: 'tagged' });
  assertStatus(key2, 201);
  assert.equal(key2.headers.get('etag'), await tagOf(`/keys/${key2.json.id}`));
});

test('the tag of a key does not move when the key is used', async () => {
  const other = await server.makeKey({ scopes: ['users:read'] });
  const baseline = await api.get(`/keys/${other.id}`);
  const client = server.client(other);
  await client.read('/users');
  client.close();
  // Until the use is stored, only the worker that counted it shows it.
  for (let i = 0; i < 200; i += 1) {
    const now = await api.get(`/keys/${other.id}`);
    assert.equal(now.headers.get('etag'), baseline.headers.get('etag'));
    if (now.json.last_used_at !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the use was never shown');
});

// Over connections to both workers, and through the writer's group commits.
describe('many writers with one tag', () => {
  for (const [label, target, change] of [
    ['a user', `/users/${user.id}`, (i) => ({ name: `Writer ${i}` })],
    ['a post', `/posts/${post.id}`, (i) => ({ title: `Writer ${i}` })],
    ['a key', `/keys/${keyDocument.id}`, (i) => ({ name: `Writer ${i}` })],
  ]) {
    test(`of ${label}: exactly one wins each time`, { timeout: 120_000 }, async () => {
      const writers = Array.from({ length: 24 }, () => server.client(key));
      await Promise.all(writers.map((w) => w.get(target)));
      for (let round = 0; round < 15; round += 1) {
        const tag = await tagOf(target);
        const answers = await Promise.all(writers.map((w, i) => w.patch(target, change(`${round}.${i}`), { headers: { 'If-Match': tag } })));
        const winners = answers.filter((a) => a.status === 200);
        assert.equal(winners.length, 1, answers.map((a) => a.status).join(' '));
        for (const answer of answers) if (answer !== winners[0]) assertStatus(answer, 412, 'precondition_failed');
        const now = await api.get(target);
        assert.deepEqual({ ...now.json, last_used_at: null }, { ...winners[0].json, last_used_at: null });
        assert.equal(now.headers.get('etag'), winners[0].headers.get('etag'));
      }
      writers.forEach((w) => w.close());
    });
  }
});

test('store.require_if_match makes it mandatory', async () => {
  const strict = await startServer({ args: ['--store-require-if-match', 'true'] });
  try {
    const client = strict.client(await strict.makeKey());
    const fresh = await client.post('/users', newUser());
    assertStatus(fresh, 201);
    const target = `/users/${fresh.json.id}`;
    assertStatus(await client.patch(target, { name: 'x' }), 428, 'precondition_required');
    assertStatus(await client.put(target, { name: 'x', email: fresh.json.email }), 428, 'precondition_required');
    assertStatus(await client.delete(target), 428, 'precondition_required');
    assertStatus(await client.delete('/users/999'), 404, 'not_found');
    assertStatus(await client.patch(target, { name: 'x' }, { headers: { 'If-Match': '"old"' } }), 412, 'precondition_failed');
    const changed = await client.patch(target, { name: 'x' }, { headers: { 'If-Match': fresh.headers.get('etag') } });
    assertStatus(changed, 200);
    assertStatus(await client.delete(target, { headers: { 'If-Match': changed.headers.get('etag') } }), 204);
    client.close();
  } finally {
    await strict.stop();
  }
});
