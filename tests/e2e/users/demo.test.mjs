// The users and posts of the npm package jsonplaceholder make a round trip through the service: created, listed,
// filtered, changed and deleted by Node's own fetch over HTTPS; then the server is killed and started again, and
// everything that was acknowledged is there, member by member.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { after, describe, test } from 'node:test';
import { assertPost, assertUser, startFetch, startServer } from '../helpers/harness.mjs';

let file;
try {
  file = createRequire(import.meta.url).resolve('jsonplaceholder/data.json');
} catch {
  throw new Error('run tests/e2e/install first: the data of this test is an npm package');
}
const source = JSON.parse(fs.readFileSync(file, 'utf8'));

let server = await startServer();
let client = await startFetch(server);
after(async () => {
  client.stop();
  await server.stop();
});
const { key } = await server.makeKey({ name: 'demo' });

async function call(method, path, body) {
  return client.fetch(`${server.base()}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

async function must(status, method, path, body) {
  const answer = await call(method, path, body);
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  return answer.json;
}

async function all(path) {
  const items = [];
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await must(200, 'GET', `${path}${path.includes('?') ? '&' : '?'}limit=30&page=${page}`);
    items.push(...data);
    if (!pagination.has_more) {
      assert.equal(items.length, pagination.total);
      return items;
    }
  }
}

// What the service must contain: its ids to documents, and the package's ids to its ids.
const users = new Map();
const posts = new Map();
const userOf = new Map();
const postOf = new Map();
const statusFor = (post) => ['draft', 'published', 'archived'][post.id % 3];

async function compareEverything() {
  assert.deepEqual(await all('/users'), [...users.values()]);
  assert.deepEqual(await all('/posts'), [...posts.values()]);
  for (const user of users.values()) {
    const mine = [...posts.values()].filter((p) => p.user_id === user.id);
    assert.deepEqual(await must(200, 'GET', `/users/${user.id}`), user);
    const { posts: included, posts_pagination: pagination, ...rest } = await must(200, 'GET', `/users/${user.id}?include=posts`);
    assert.deepEqual(rest, user);
    assert.deepEqual(included, mine);
    assert.equal(pagination.total, mine.length);
    assert.deepEqual(await all(`/users/${user.id}/posts`), mine);
  }
  for (const post of posts.values()) assert.deepEqual(await must(200, 'GET', `/posts/${post.id}`), post);
}

async function compareFilters() {
  for (const user of users.values()) {
    assert.deepEqual((await must(200, 'GET', `/users?email=${encodeURIComponent(user.email)}`)).data, [user]);
    const mine = [...posts.values()].filter((p) => p.user_id === user.id);
    assert.deepEqual(await all(`/posts?author=${user.id}`), mine);
    assert.deepEqual(await all(`/posts?user_id=${user.id}`), mine);
    for (const status of ['draft', 'published', 'archived']) {
      assert.deepEqual(await all(`/posts?author=${user.id}&status=${status}`), mine.filter((p) => p.status === status));
    }
  }
  for (const status of ['draft', 'published', 'archived']) {
    assert.deepEqual(await all(`/posts?status=${status}`), [...posts.values()].filter((p) => p.status === status));
  }
}

describe('jsonplaceholder', () => {
  test('the package brings 10 users and 100 posts', () => {
    assert.equal(source.users.length, 10);
    assert.equal(source.posts.length, 100);
  });

  test('its users are created', async () => {
    for (const { id, name, email } of source.users) {
      const user = await must(201, 'POST', '/users', { name, email });
      assertUser(user);
      assert.equal(user.name, name);
      assert.equal(user.email, email);
      users.set(user.id, user);
      userOf.set(id, user.id);
    }
    assert.equal(users.size, 10);
  });

  test('its posts are created', async () => {
    for (const original of source.posts) {
      const { id, userId, title, body } = original;
      const post = await must(201, 'POST', '/posts', { user_id: userOf.get(userId), title, body, status: statusFor(original) });
      assertPost(post);
      assert.equal(post.user_id, userOf.get(userId));
      assert.equal(post.title, title);
      assert.equal(post.body, body);
      assert.equal(post.status, statusFor(original));
      posts.set(post.id, post);
      postOf.set(id, post.id);
    }
    assert.equal(posts.size, 100);
  });

  test('all of them come back as they were', compareEverything);
  test('every filter finds what it should', compareFilters);

  test('each email is taken now', async () => {
    for (const { email } of source.users) {
      const answer = await call('POST', '/users', { name: 'Second', email: email.toUpperCase() });
      assert.equal(answer.status, 409);
      assert.equal(answer.json.code, 'email_taken');
    }
  });

  test('users are changed by PUT and PATCH', async () => {
    const [first, second, third] = [...users.values()];
    const put = await must(200, 'PUT', `/users/${first.id}`, { name: `${first.name} Jr.`, email: `jr.${first.email}` });
    assert.deepEqual(put, { ...first, name: `${first.name} Jr.`, email: `jr.${first.email}`, updated_at: put.updated_at });
    users.set(put.id, put);
    for (const [user, change] of [[second, { name: 'Renamed' }], [third, { email: first.email }]]) {
      const patched = await must(200, 'PATCH', `/users/${user.id}`, change);
      assert.deepEqual(patched, { ...user, ...change, updated_at: patched.updated_at });
      users.set(patched.id, patched);
    }
  });

  test('posts are changed by PUT and PATCH', async () => {
    for (const post of [...posts.values()].filter((p) => p.status === 'draft').slice(0, 10)) {
      const { user_id, title, body } = post;
      const replacement = { user_id, title: title.toUpperCase(), body: `${body}\nP. S.`, status: 'published' };
      const put = await must(200, 'PUT', `/posts/${post.id}`, replacement);
      assertPost(put);
      assert.deepEqual(put, { ...post, ...replacement, updated_at: put.updated_at, published_at: put.published_at });
      assert.notEqual(put.published_at, null);
      posts.set(put.id, put);
    }
    for (const post of [...posts.values()].filter((p) => p.status === 'published').slice(-10)) {
      const patched = await must(200, 'PATCH', `/posts/${post.id}`, { status: 'archived' });
      assert.deepEqual(patched, { ...post, status: 'archived', updated_at: patched.updated_at });
      posts.set(patched.id, patched);
    }
  });

  test('posts are deleted, and a user with all of its own', async () => {
    for (const id of [1, 50, 100].map((n) => postOf.get(n))) {
      await must(204, 'DELETE', `/posts/${id}`);
      await must(404, 'GET', `/posts/${id}`);
      posts.delete(id);
    }
    const leaving = userOf.get(7);
    const theirs = [...posts.values()].filter((p) => p.user_id === leaving);
    assert.equal(theirs.length, 10);
    await must(204, 'DELETE', `/users/${leaving}`);
    users.delete(leaving);
    for (const post of theirs) {
      await must(404, 'GET', `/posts/${post.id}`);
      posts.delete(post.id);
    }
    assert.equal(users.size, 9);
    assert.equal(posts.size, 87);
  });

  test('what is left is exactly what should be', async () => {
    await compareEverything();
    await compareFilters();
  });

  test('after kill -9 and a start on the same data everything acknowledged is there', async () => {
    const last = await must(201, 'POST', '/posts', { user_id: [...users.keys()][0], title: 'The last word before the end' });
    posts.set(last.id, last);
    await server.kill();
    client.stop();
    server = await server.again();
    client = await startFetch(server);
    await compareEverything();
    await compareFilters();
    const next = await must(201, 'POST', '/users', { name: 'After', email: 'after@example.org' });
    assert.ok(next.id > Math.max(...userOf.values()), 'no id is used again');
    users.set(next.id, next);
    await compareEverything();
  });
});
