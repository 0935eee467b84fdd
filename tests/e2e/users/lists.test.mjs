// Lists by page (docs/api.md §7).

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertStatus, links, newUser, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();
const api = server.client(key);

const emptyList = await api.get('/users');
const users = [];
for (let i = 0; i < 57; i += 1) users.push(await api.create('/users', newUser()));
const posts = [];
for (let i = 0; i < 23; i += 1) posts.push(await api.create('/posts', { user_id: users[0].id, title: `post ${i}`, status: i % 2 ? 'published' : 'draft' }));

const query = (href) => Object.fromEntries(new URL(href, 'http://x').searchParams);

test('an empty list is a list', () => {
  assertStatus(emptyList, 200);
  assert.deepEqual(emptyList.json.data, []);
  const { pagination } = emptyList.json;
  assert.equal(pagination.page, 1);
  assert.equal(pagination.limit, 20);
  assert.equal(pagination.total, 0);
  assert.equal(pagination.has_more, false);
  assert.equal(pagination.next_cursor, null);
  assert.equal('next' in links(emptyList), false);
});

test('57 users are 3 pages of 20', async () => {
  for (const [page, firstIndex, endIndex] of [[1, 0, 20], [2, 20, 40], [3, 40, 57]]) {
    const { data, pagination } = await api.read(page === 1 ? '/users' : `/users?page=${page}`);
    assert.deepEqual(data, users.slice(firstIndex, endIndex));
    const { next_cursor, ...rest } = pagination;
    assert.deepEqual(rest, { page, limit: 20, total: 57, total_pages: 3, has_more: page < 3 });
    assert.notEqual(next_cursor, undefined, 'a member without a value is null, not absent');
    if (page === 3) assert.equal(next_cursor, null, 'next_cursor is null at the end');
  }
});

test('a list has data and pagination and nothing else', async () => {
  const list = await api.read('/users');
  assert.deepEqual(Object.keys(list).sort(), ['data', 'pagination']);
  assert.deepEqual(Object.keys(list.pagination).sort(), ['has_more', 'limit', 'next_cursor', 'page', 'total', 'total_pages']);
});

test('every page size cuts the same list', async () => {
  for (const limit of [1, 7, 19, 56, 57, 58, 100]) {
    const all = [];
    const pages = Math.ceil(57 / limit);
    for (let page = 1; page <= pages; page += 1) {
      const { data, pagination } = await api.read(`/users?page=${page}&limit=${limit}`);
      assert.equal(pagination.total_pages, pages);
      assert.equal(pagination.has_more, page < pages);
      all.push(...data);
    }
    assert.deepEqual(all, users, `limit ${limit}`);
  }
});

test('past the end is an empty 200', async () => {
  const { data, pagination } = await api.read('/users?page=4');
  assert.deepEqual(data, []);
  assert.equal(pagination.total, 57);
  assert.equal(pagination.page, 4);
  assert.equal(pagination.has_more, false);
  assert.equal(pagination.next_cursor, null);
});

test('a limit above 100 is lowered to 100', async () => {
  for (const limit of [101, 1000, 1000000]) {
    const { data, pagination } = await api.read(`/users?limit=${limit}`);
    assert.equal(pagination.limit, 100);
    assert.equal(data.length, 57);
  }
});

test('page and limit are positive integers', async () => {
  for (const name of ['page', 'limit']) {
    for (const value of ['0', '-1', 'abc', '', '1.5', '1e1', '0x10', '%2010', 'null']) {
      const answer = await api.get(`/users?${name}=${value}`);
      assertStatus(answer, 400, 'invalid_parameter');
      assert.deepEqual(answer.json.errors?.map((e) => e.parameter), [name], `${name}=${value}`);
    }
  }
});

test('page times limit reaches to 100,000 and then points to cursors', async () => {
  for (const ok of ['page=1000&limit=100', 'page=5000', 'page=100000&limit=1', 'page=1000&limit=5000']) {
    const { data } = await api.read(`/users?${ok}`);
    assert.deepEqual(data, [], ok);
  }
  for (const far of ['page=1001&limit=100', 'page=5001', 'page=100001&limit=1', 'page=99999999999999999999', 'page=4294967297&limit=100']) {
    const answer = await api.get(`/users?${far}`);
    assertStatus(answer, 400, 'invalid_parameter');
    assert.match(answer.json.detail, /cursor/, far);
  }
});

test('sort=-id turns the order, sort=id is the order', async () => {
  const turned = [...users].reverse();
  assert.deepEqual((await api.read('/users?sort=-id&limit=100')).data, turned);
  assert.deepEqual((await api.read('/users?sort=-id&limit=10&page=3')).data, turned.slice(20, 30));
  assert.deepEqual((await api.read('/users?sort=id&limit=100')).data, users);
  const mine = posts.filter((p) => p.status === 'published').reverse();
  assert.deepEqual((await api.read(`/posts?author=${users[0].id}&status=published&sort=-id`)).data, mine);
  assert.deepEqual((await api.read(`/posts?status=published&sort=-id`)).data, mine);
  assert.deepEqual((await api.read(`/posts?author=${users[0].id}&sort=-id&limit=100`)).data, [...posts].reverse());
  for (const value of ['name', '-name', '', '+id', 'ID', 'id,-id']) {
    assertStatus(await api.get(`/users?sort=${value}`), 400, 'invalid_parameter');
  }
});

test('an unknown query parameter is refused on every route', async () => {
  for (const target of ['/users?nope=1', '/posts?email=a@b', `/users/${users[0].id}?nope`, `/users/${users[0].id}/posts?status=draft&x=1`,
    `/posts/${posts[0].id}?include=posts`, '/users?Limit=1', '/users?=1']) {
    assertStatus(await api.get(target), 400, 'invalid_parameter');
  }
  const answer = await api.get('/users?nope=1');
  assert.deepEqual(answer.json.errors?.map((e) => e.parameter), ['nope']);
  assertStatus(await api.post('/users?page=1', newUser()), 400, 'invalid_parameter');
  assertStatus(await api.delete(`/users/${users[0].id}?force=1`), 400, 'invalid_parameter');
});

test('a repeated query parameter is refused', async () => {
  for (const target of ['/users?limit=1&limit=1', '/users?page=1&limit=2&page=1', '/posts?status=draft&status=draft',
    '/posts?author=1&author=1', '/users?li%6dit=1&limit=1']) {
    const answer = await api.get(target);
    assert.equal(answer.status, 400, target);
  }
});

describe('Link', () => {
  test('a page in the middle has first, prev, next and last', async () => {
    const pageLinks = links(await api.get('/users?page=2&limit=10'));
    assert.deepEqual(Object.keys(pageLinks).sort(), ['first', 'last', 'next', 'prev']);
    for (const href of Object.values(pageLinks)) {
      assert.match(href, /^\/api\/v1\/users\?/, 'a relative reference under the prefix');
      assert.equal(query(href).limit, '10');
    }
    assert.equal(query(pageLinks.first).page ?? '1', '1');
    assert.equal(query(pageLinks.prev).page ?? '1', '1');
    assert.equal(query(pageLinks.next).page, '3');
    assert.equal(query(pageLinks.last).page, '6');
  });

  test('the first page has no prev, the last no next', async () => {
    const first = links(await api.get('/users?limit=10'));
    assert.equal('prev' in first, false);
    assert.equal(query(first.next).page, '2');
    const last = links(await api.get('/users?limit=10&page=6'));
    assert.equal('next' in last, false);
    assert.equal(query(last.prev).page, '5');
  });

  test('keeps the filters and the order', async () => {
    const answer = await api.get(`/posts?status=draft&author=${users[0].id}&sort=-id&limit=5&page=2`);
    assertStatus(answer, 200);
    for (const [rel, href] of Object.entries(links(answer))) {
      const { page, author, user_id, ...rest } = query(href);
      assert.deepEqual(rest, { status: 'draft', sort: '-id', limit: '5' }, rel);
      assert.equal(author ?? user_id, String(users[0].id), `${rel} by either synonym`);
    }
    const email = encodeURIComponent('a&b=c@x.example');
    for (const href of Object.values(links(await api.get(`/users?email=${email}`)))) {
      assert.equal(query(href).email, 'a&b=c@x.example', 'a filter value is encoded');
    }
  });

  for (const target of ['/users?limit=9', '/users?limit=25&sort=-id', `/users/${users[0].id}/posts?limit=4`, '/posts?status=draft&limit=3']) {
    test(`following next from ${target.replace(/[0-9]+\/posts/, '{id}/posts')} visits everything once`, async () => {
      const ids = [];
      let href = `/api/v1${target}`;
      let total;
      for (let steps = 0; href !== undefined; steps += 1) {
        assert.ok(steps < 50, 'next leads on for ever');
        const answer = await api.get(href, { root: true });
        assertStatus(answer, 200);
        ids.push(...answer.json.data.map((d) => d.id));
        total = answer.json.pagination.total;
        href = links(answer).next;
      }
      assert.equal(ids.length, total);
      assert.equal(new Set(ids).size, total);
      const sign = target.includes('sort=-id') ? -1 : 1;
      assert.deepEqual(ids, [...ids].sort((a, b) => sign * (a - b)));
    });
  }

  test('following prev from the last page leads to the first', async () => {
    let href = links(await api.get('/users?limit=10')).last;
    let pages = 0;
    while (href !== undefined) {
      pages += 1;
      href = links(await api.get(href, { root: true })).prev;
    }
    assert.equal(pages, 6);
  });
});

test('total follows every write at once', async () => {
  const baseline = (await api.read('/users?limit=1')).pagination.total;
  const user = await api.create('/users', newUser());
  assert.equal((await api.read('/users?limit=1')).pagination.total, baseline + 1);
  await api.post('/users', { name: 'again', email: user.email });
  assert.equal((await api.read('/users?limit=1')).pagination.total, baseline + 1, 'a refused write does not count');
  await api.delete(`/users/${user.id}`);
  assert.equal((await api.read('/users?limit=1')).pagination.total, baseline);
});

test('every connection sees an answered write', async () => {
  const readers = Array.from({ length: 6 }, () => server.client(key));
  await Promise.all(readers.map((r) => r.get('/users?limit=1'))); // so that all are connected, to every worker
  for (let i = 0; i < 25; i += 1) {
    const user = await api.create('/users', newUser());
    const answers = await Promise.all(readers.map((r) => r.get(`/users/${user.id}`)));
    for (const answer of answers) assert.deepEqual(answer.json, user);
  }
  readers.forEach((r) => r.close());
});
