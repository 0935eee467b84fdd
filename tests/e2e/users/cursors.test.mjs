// Lists by cursor (docs/api.md §7).

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertStatus, links, newUser, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();
const api = server.client(key);

const users = [];
for (let i = 0; i < 12; i += 1) users.push(await api.create('/users', newUser()));
const statuses = ['draft', 'published', 'archived'];
const posts = [];
for (let i = 0; i < 150; i += 1) {
  posts.push(await api.create('/posts', { user_id: users[i < 120 ? 0 : i % 12].id, title: `post ${i}`, status: statuses[i % 3] }));
}

const withCursor = (target, cursor) => `${target}${target.includes('?') ? '&' : '?'}cursor=${cursor}`;

// All elements that a list gives, page by page, by next_cursor.
async function walk(client, target, betweenPages = async () => {}) {
  const all = [];
  let pages = 0;
  for (let cursor = null; ;) {
    pages += 1;
    assert.ok(pages < 1000, 'the cursors lead on for ever');
    const { data, pagination } = await client.read(cursor === null ? target : withCursor(target, cursor));
    all.push(...data);
    assert.equal(pagination.has_more, pagination.next_cursor !== null);
    if (cursor !== null) {
      assert.equal(pagination.page, null);
      assert.equal(pagination.total_pages, null);
    }
    cursor = pagination.next_cursor;
    if (cursor === null) return { all, pages };
    assert.match(cursor, /^[A-Za-z0-9_-]{1,256}$/);
    await betweenPages();
  }
}

test('a walk by cursor gives the whole list', async () => {
  const mine = posts.filter((p) => p.user_id === users[0].id);
  for (const [target, expected] of [
    ['/users?limit=5', users], ['/users?limit=5&sort=-id', [...users].reverse()],
    ['/posts?limit=7', posts], ['/posts?limit=100&sort=-id', [...posts].reverse()],
    [`/posts?author=${users[0].id}&limit=9`, mine],
    ['/posts?status=draft&limit=9', posts.filter((p) => p.status === 'draft')],
    [`/posts?user_id=${users[0].id}&status=archived&limit=9`, mine.filter((p) => p.status === 'archived')],
    [`/users/${users[0].id}/posts?limit=9`, mine],
  ]) {
    const { all } = await walk(api, target);
    assert.deepEqual(all, expected, target);
  }
});

test('the last page has no next_cursor, in either mode', async () => {
  assert.equal((await api.read('/users?limit=12')).pagination.next_cursor, null);
  const { pagination } = await api.read('/users?limit=11');
  assert.equal((await api.read(withCursor('/users?limit=1', pagination.next_cursor))).pagination.next_cursor, null);
});

test('Link has first and next, and next leads through all', async () => {
  const { pagination } = await api.read('/posts?status=draft&limit=10');
  const second = await api.get(withCursor('/posts?status=draft&limit=10', pagination.next_cursor));
  assert.deepEqual(Object.keys(links(second)).sort(), ['first', 'next']);
  const ids = second.json.data.map((p) => p.id);
  for (let href = links(second).next; href !== undefined;) {
    assert.match(href, /^\/api\/v1\/posts\?cursor=[A-Za-z0-9_-]+&limit=10&status=draft$/);
    const answer = await api.get(href, { root: true });
    ids.push(...answer.json.data.map((p) => p.id));
    href = links(answer).next;
  }
  assert.deepEqual(ids, posts.filter((p) => p.status === 'draft').slice(10).map((p) => p.id));
  const first = await api.get(links(second).first, { root: true });
  assert.deepEqual(first.json.data, posts.filter((p) => p.status === 'draft').slice(0, 10));
});

test('limit may change from page to page and is lowered to 100', async () => {
  const { pagination } = await api.read('/posts?limit=3');
  const { data, pagination: next } = await api.read(withCursor('/posts?limit=5000', pagination.next_cursor));
  assert.equal(next.limit, 100);
  assert.deepEqual(data, posts.slice(3, 103));
});

test('page and cursor exclude each other', async () => {
  const { pagination } = await api.read('/posts?limit=3');
  assertStatus(await api.get(withCursor('/posts?page=1', pagination.next_cursor)), 400, 'conflicting_parameters');
});

test('a cursor is good for its list alone', async () => {
  const lists = ['/users?limit=2', '/users?limit=2&sort=-id', '/posts?limit=2', '/posts?limit=2&sort=-id',
    '/posts?limit=2&status=draft', '/posts?limit=2&status=published', `/posts?limit=2&author=${users[0].id}`,
    `/posts?limit=2&author=${users[1].id}`, `/users/${users[0].id}/posts?limit=2`, `/users/${users[1].id}/posts?limit=2`];
  for (const sourceList of lists) {
    const { pagination } = await api.read(sourceList);
    for (const targetList of lists) {
      const answer = await api.get(withCursor(targetList, pagination.next_cursor));
      if (sourceList === targetList) assertStatus(answer, 200);
      else assertStatus(answer, 400, 'invalid_cursor');
    }
  }
});

test('a cursor that was changed anywhere is refused', async () => {
  const { pagination: { next_cursor: cursor } } = await api.read('/users?limit=2');
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (let i = 0; i < cursor.length; i += 1) {
    const other = digits[(digits.indexOf(cursor[i]) + 1) % 64];
    const answer = await api.get(withCursor('/users?limit=2', cursor.slice(0, i) + other + cursor.slice(i + 1)));
    assertStatus(answer, 400, 'invalid_cursor');
    assert.deepEqual(answer.json.errors?.map((e) => e.parameter), ['cursor']);
  }
  for (const text of ['', 'x', 'A'.repeat(32), 'A'.repeat(256), `${cursor}A`, cursor.slice(1), '%20', 'null']) {
    assertStatus(await api.get(withCursor('/users?limit=2', text)), 400, 'invalid_cursor');
  }
});

test('the posts of a user go on behind the included ones', async () => {
  const user = await api.read(`/users/${users[0].id}?include=posts`);
  const mine = posts.filter((p) => p.user_id === users[0].id);
  assert.deepEqual(user.posts, mine.slice(0, 100));
  const rest = await api.read(withCursor(`/users/${users[0].id}/posts?limit=100`, user.posts_pagination.next_cursor));
  assert.deepEqual(rest.data, mine.slice(100));
  assert.equal(rest.pagination.next_cursor, null);
});

test('keys and the audit log have cursors', async () => {
  const project = ['--project', 'small'];
  for (let i = 0; i < 5; i += 1) await server.makeKey({ scopes: ['users:read'], args: project });
  const { all: keys } = await walk(api, '/keys?project=small&limit=2');
  assert.equal(keys.length, 5);
  const { all: entries } = await walk(api, '/audit?limit=2&sort=-id');
  assert.deepEqual(entries.map((e) => e.id), [6, 5, 4, 3, 2, 1]);
  // Another project's cursor of the same list is not one of ours.
  const mine = server.client(await server.makeKey({ scopes: ['keys:read'], args: project }));
  const { pagination } = await mine.read('/keys?limit=2');
  assertStatus(await api.get(withCursor('/keys?limit=2', pagination.next_cursor)), 400, 'invalid_cursor');
  mine.close();
});

test('every worker takes the cursors of the others; another service does not', async () => {
  const readers = Array.from({ length: 8 }, () => server.client(key));
  let offset = 0;
  const turns = { read: (target) => readers[offset++ % readers.length].read(target) };
  assert.deepEqual((await walk(turns, '/posts?limit=5')).all, posts);
  readers.forEach((r) => r.close());
  const { pagination } = await api.read('/posts?limit=50');
  const second = await startServer();
  try {
    const own = second.client(await second.makeKey());
    assertStatus(await own.get(withCursor('/posts?limit=50', pagination.next_cursor)), 400, 'invalid_cursor');
    own.close();
  } finally {
    await second.stop();
  }
});

test('a cursor outlives the server', async () => {
  const first = await startServer();
  const mine = await first.makeKey();
  let client = first.client(mine);
  for (let i = 0; i < 3; i += 1) await client.create('/users', newUser());
  const { pagination } = await client.read('/users?limit=1');
  client.close();
  await first.stop();
  const second = await first.again();
  client = second.client(mine);
  const { data } = await client.read(withCursor('/users?limit=1', pagination.next_cursor));
  assert.deepEqual(data.map((u) => u.id), [2]);
  client.close();
  await second.stop();
});

// Four clients insert and delete while others walk: no record that existed throughout is missed or listed twice.
test('walks while others come and go', { timeout: 120_000 }, async () => {
  const lasting = new Set(posts.map((p) => p.id));
  let stop = false;
  let writeCount = 0;
  const disturb = async (turn) => {
    const client = server.client(key);
    const own = [];
    while (!stop) {
      own.push((await client.create('/posts', { user_id: users[turn].id, title: 'passing', status: statuses[turn % 3] })).id);
      if (own.length > 3) assertStatus(await client.delete(`/posts/${own.shift()}`), 204);
      writeCount += 1;
    }
    client.close();
  };
  const others = Promise.all([0, 1, 2, 3].map(disturb));
  const checked = async (target) => {
    const client = server.client(key);
    const { all } = await walk(client, target);
    client.close();
    const ids = all.map((p) => p.id);
    assert.equal(new Set(ids).size, ids.length, 'no record is listed twice');
    const sign = target.includes('sort=-id') ? -1 : 1;
    assert.ok(ids.every((id, i) => i === 0 || sign * (id - ids[i - 1]) > 0), 'in order');
    const expected = posts.filter((p) => !target.includes('status=') || target.includes(p.status)).map((p) => p.id);
    const uniqueIds = new Set(ids);
    assert.deepEqual(expected.filter((id) => lasting.has(id) && !uniqueIds.has(id)), [], `no record is missing in ${target}`);
  };
  try {
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(['/posts?limit=3', '/posts?limit=3&sort=-id', '/posts?limit=3&status=published'].map(checked));
    }
  } finally {
    stop = true;
    await others;
  }
  assert.ok(writeCount > 20, `only ${writeCount} writes came in between`);
});
