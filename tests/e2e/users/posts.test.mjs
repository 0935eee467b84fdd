// Posts (docs/api.md §6).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertFields, assertNow, assertPost, assertStatus, newUser, sleep, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const api = server.client(await server.makeKey());
const missing = 9007199254740991;
const owner = await api.create('/users', newUser());
const draft = (more = {}) => ({ user_id: owner.id, title: 'A title', ...more });
const statuses = ['draft', 'published', 'archived'];

// A post in a status, reached by allowed steps.
async function postIn(status) {
  const post = await api.create('/posts', draft());
  if (status === 'draft') return post;
  const answer = await api.patch(`/posts/${post.id}`, { status });
  assertStatus(answer, 200);
  return answer.json;
}

describe('creating', () => {
  test('answers 201 with the post, its defaults and where it is', async () => {
    const answer = await api.post('/posts', draft());
    assertStatus(answer, 201);
    const post = answer.json;
    assertPost(post);
    assert.equal(answer.headers.get('location'), `/api/v1/posts/${post.id}`);
    const { id, created_at, updated_at, ...rest } = post;
    assert.deepEqual(rest, { user_id: owner.id, title: 'A title', body: '', status: 'draft', published_at: null });
    assertNow(created_at, 'created_at');
    assert.equal(created_at, updated_at);
    assert.deepEqual(await api.read(`/posts/${id}`), post);
  });

  test('takes every member', async () => {
    const body = 'Line one\nLine two\t"quoted" \\ 🙂 \u0000 end';
    const post = await api.create('/posts', draft({ title: 'Ünïcode 🙂', body, status: 'published' }));
    assertPost(post);
    assert.equal(post.body, body);
    assert.equal(post.status, 'published');
    assertNow(post.published_at, 'published_at');
    assert.deepEqual(await api.read(`/posts/${post.id}`), post);
  });

  test('an archived one was never published', async () => {
    const post = await api.create('/posts', draft({ status: 'archived' }));
    assert.equal(post.status, 'archived');
    assert.equal(post.published_at, null);
  });

  test('ids ascend and are not used again', async () => {
    const first = await api.create('/posts', draft());
    assertStatus(await api.delete(`/posts/${first.id}`), 204);
    const second = await api.create('/posts', draft());
    assert.ok(second.id > first.id);
  });

  test('a title has 1 to 200 code points', async () => {
    for (const title of ['x', 'a'.repeat(200), '🙂'.repeat(200)]) {
      assert.equal((await api.create('/posts', draft({ title }))).title, title);
    }
    assertFields(await api.post('/posts', draft({ title: '' })), { '/title': 'too_short' });
    assertFields(await api.post('/posts', draft({ title: 'a'.repeat(201) })), { '/title': 'too_long' });
    assertFields(await api.post('/posts', draft({ title: '🙂'.repeat(201) })), { '/title': 'too_long' });
  });

  test('a body has up to 65536 bytes', async () => {
    for (const body of ['', 'b'.repeat(65536), 'é'.repeat(32768), '🙂'.repeat(16384)]) {
      const post = await api.create('/posts', draft({ body }));
      assert.ok(post.body === body);
      assert.ok((await api.read(`/posts/${post.id}`)).body === body);
    }
    assertFields(await api.post('/posts', draft({ body: 'b'.repeat(65537) })), { '/body': 'too_long' });
    assertFields(await api.post('/posts', draft({ body: 'é'.repeat(32769) })), { '/body': 'too_long' });
  });

  const refusals = {
    'an empty object': [{}, { '/user_id': 'required', '/title': 'required' }],
    'no user_id': [{ title: 'x' }, { '/user_id': 'required' }],
    'user_id null': [draft({ user_id: null }), { '/user_id': 'null_not_allowed' }],
    'user_id as text': [draft({ user_id: String(owner.id) }), { '/user_id': 'invalid_type' }],
    'user_id as a list': [draft({ user_id: [owner.id] }), { '/user_id': 'invalid_type' }],
    'a user that is not there': [draft({ user_id: missing }), { '/user_id': 'reference_not_found' }],
    'title null': [draft({ title: null }), { '/title': 'null_not_allowed' }],
    'title as a number': [draft({ title: 1 }), { '/title': 'invalid_type' }],
    'body as an object': [draft({ body: {} }), { '/body': 'invalid_type' }],
    'a status that is none': [draft({ status: 'hidden' }), { '/status': 'not_in_enum' }],
    'a status in capitals': [draft({ status: 'Draft' }), { '/status': 'not_in_enum' }],
    'status as a number': [draft({ status: 1 }), { '/status': 'invalid_type' }],
    'status null': [draft({ status: null }), { '/status': 'null_not_allowed' }],
    'an unknown member': [draft({ author: owner.id }), { '/author': 'unknown_field' }],
    'everything wrong': [{ user_id: 'x', title: '', body: 1, status: 'x', tags: [] }, {
      '/user_id': 'invalid_type', '/title': 'too_short', '/body': 'invalid_type', '/status': 'not_in_enum', '/tags': 'unknown_field',
    }],
  };
  for (const [label, [body, fields]] of Object.entries(refusals)) {
    test(`is refused with ${label}`, async () => {
      assertFields(await api.post('/posts', body), fields);
    });
  }

  test('is refused with a user_id that can be none', async () => {
    for (const id of ['0', '-1', '1.5', '1e400', '9007199254740993', '123456789012345678901234567890']) {
      const answer = await api.post('/posts', `{"user_id":${id},"title":"x"}`);
      assert.ok([400, 422].includes(answer.status), `${id}: ${answer.status}`);
    }
  });
});

describe('states', () => {
  const allowed = {
    draft: ['published', 'archived'],
    published: ['draft', 'archived'],
    archived: ['draft'],
  };
  const full = ({ user_id, title, body }, status) => ({ user_id, title, body, status });

  for (const source of statuses) {
    for (const target of statuses.filter((s) => s !== source)) {
      const works = allowed[source].includes(target);
      test(`${source} to ${target} is ${works ? 'allowed' : 'a conflict'}, by PATCH and by PUT`, async () => {
        for (const way of ['patch', 'put']) {
          const post = await postIn(source);
          const answer = await api[way](`/posts/${post.id}`, way === 'patch' ? { status: target } : full(post, target));
          if (!works) {
            assertStatus(answer, 409, 'invalid_state_transition');
            assert.deepEqual(await api.read(`/posts/${post.id}`), post);
            continue;
          }
          assertStatus(answer, 200);
          assertPost(answer.json);
          assert.equal(answer.json.status, target);
          assert.deepEqual(await api.read(`/posts/${post.id}`), answer.json);
        }
      });
    }

    test(`${source} to ${source} is no transition`, async () => {
      const post = await postIn(source);
      const patch = await api.patch(`/posts/${post.id}`, { status: source });
      assertStatus(patch, 200);
      assert.equal(patch.json.published_at, post.published_at);
      const put = await api.put(`/posts/${post.id}`, { ...full(post, source), title: 'Other title' });
      assertStatus(put, 200);
      assert.equal(put.json.title, 'Other title');
      assert.equal(put.json.published_at, post.published_at);
    });
  }

  test('published_at is set on entering published, kept in archived, null in draft, and new the next time', async () => {
    let post = await api.create('/posts', draft());
    const setStatus = async (status) => {
      await sleep(3); // the clock passes a millisecond
      const answer = await api.patch(`/posts/${post.id}`, { status });
      assertStatus(answer, 200);
      post = answer.json;
      return post;
    };
    assert.equal(post.published_at, null);
    const { published_at: first } = await setStatus('published');
    assertNow(first, 'published_at');
    assert.ok(first > post.created_at);
    assert.equal((await setStatus('archived')).published_at, first);
    assert.equal((await setStatus('draft')).published_at, null);
    assert.ok((await setStatus('published')).published_at > first);
    assert.equal((await setStatus('draft')).published_at, null);
    assert.equal((await setStatus('archived')).published_at, null);
  });

  test('published_at cannot be written', async () => {
    const post = await postIn('published');
    assertFields(await api.patch(`/posts/${post.id}`, { published_at: '2020-01-01T00:00:00.000Z' }), { '/published_at': 'read_only_field' });
    assertStatus(await api.patch(`/posts/${post.id}`, { published_at: post.published_at, title: 'same time' }), 200);
  });
});

describe('changing', () => {
  test('PUT needs user_id, title, body and status', async () => {
    const post = await api.create('/posts', draft());
    assertFields(await api.put(`/posts/${post.id}`, {}), { '/user_id': 'required', '/title': 'required', '/body': 'required', '/status': 'required' });
    for (const name of ['user_id', 'title', 'body', 'status']) {
      const { [name]: left, ...rest } = { user_id: owner.id, title: 't', body: 'b', status: 'draft' };
      assertFields(await api.put(`/posts/${post.id}`, rest), { [`/${name}`]: 'required' });
    }
    assert.deepEqual(await api.read(`/posts/${post.id}`), post);
  });

  test('PUT gives the whole post, changed', async () => {
    const post = await api.create('/posts', draft({ body: 'before' }));
    await sleep(3); // the clock passes a millisecond
    const replacement = { user_id: owner.id, title: 'After', body: 'after', status: 'published' };
    const answer = await api.put(`/posts/${post.id}`, replacement);
    assertStatus(answer, 200);
    assertPost(answer.json);
    const { updated_at, published_at } = answer.json;
    assert.deepEqual(answer.json, { ...post, ...replacement, updated_at, published_at });
    assert.ok(updated_at > post.updated_at);
    assertNow(published_at, 'published_at');
    assert.deepEqual(await api.read(`/posts/${post.id}`), answer.json);
  });

  test('the whole document may come back', async () => {
    const post = await postIn('published');
    const answer = await api.put(`/posts/${post.id}`, { ...post, title: 'Round trip' });
    assertStatus(answer, 200);
    assert.equal(answer.json.title, 'Round trip');
    assert.equal(answer.json.created_at, post.created_at);
  });

  test('PATCH changes what is named and nothing else', async () => {
    let post = await api.create('/posts', draft({ body: 'stays' }));
    for (const change of [{ title: 'New title' }, { body: 'new body' }, { body: '' }, { user_id: owner.id, title: 'Same owner' }]) {
      await sleep(3); // the clock passes a millisecond
      const answer = await api.patch(`/posts/${post.id}`, change);
      assertStatus(answer, 200);
      assert.deepEqual(answer.json, { ...post, ...change, updated_at: answer.json.updated_at });
      assert.ok(answer.json.updated_at > post.updated_at);
      post = answer.json;
    }
    assert.deepEqual(await api.read(`/posts/${post.id}`), post);
  });

  test('PATCH with {} changes nothing', async () => {
    const post = await api.create('/posts', draft());
    await sleep(3); // the clock passes a millisecond
    const answer = await api.patch(`/posts/${post.id}`, {});
    assertStatus(answer, 200);
    assert.deepEqual(answer.json, post);
  });

  test('null for a required member is refused', async () => {
    const post = await api.create('/posts', draft());
    assertFields(await api.patch(`/posts/${post.id}`, { title: null }), { '/title': 'null_not_allowed' });
    assert.deepEqual(await api.read(`/posts/${post.id}`), post);
  });

  test('a post keeps its user', async () => {
    const other = await api.create('/users', newUser());
    const post = await api.create('/posts', draft());
    const { title, body, status } = post;
    assertFields(await api.patch(`/posts/${post.id}`, { user_id: other.id }), { '/user_id': 'read_only_field' });
    assertFields(await api.put(`/posts/${post.id}`, { user_id: other.id, title, body, status }), { '/user_id': 'read_only_field' });
    assert.deepEqual(await api.read(`/posts/${post.id}`), post);
  });

  test('read-only members with another value are refused', async () => {
    const post = await api.create('/posts', draft());
    assertFields(await api.patch(`/posts/${post.id}`, { id: post.id + 1, created_at: '2020-01-01T00:00:00.000Z' }),
      { '/id': 'read_only_field', '/created_at': 'read_only_field' });
  });

  test('a post that is not there is 404, whatever is asked of it', async () => {
    assertStatus(await api.get(`/posts/${missing}`), 404, 'not_found');
    assertStatus(await api.patch(`/posts/${missing}`, {}), 404, 'not_found');
    assertStatus(await api.put(`/posts/${missing}`, { user_id: owner.id, title: 't', body: '', status: 'draft' }), 404, 'not_found');
    assertStatus(await api.delete(`/posts/${missing}`), 404, 'not_found');
  });

  test('DELETE is 204 once and 404 from then on, and the user stays', async () => {
    const post = await api.create('/posts', draft());
    assertStatus(await api.delete(`/posts/${post.id}`), 204);
    assertStatus(await api.get(`/posts/${post.id}`), 404, 'not_found');
    assertStatus(await api.delete(`/posts/${post.id}`), 404, 'not_found');
    assert.deepEqual(await api.read(`/users/${owner.id}`), owner);
  });
});

describe('filters', () => {
  const people = [];
  const posts = [];
  before(async () => {
    for (let i = 0; i < 3; i += 1) people.push(await api.create('/users', newUser()));
    for (let i = 0; i < 24; i += 1) {
      posts.push(await api.create('/posts', { user_id: people[i % 2].id, title: `filtered ${i}`, status: statuses[i % 3] }));
    }
  });
  const find = async (query) => {
    const list = await api.read(`/posts?limit=100&${query}`);
    assert.equal(list.pagination.total, list.data.length, `total of ${query}`);
    return list.data;
  };

  test('author and user_id are the same', async () => {
    for (const person of people) {
      const expected = posts.filter((p) => p.user_id === person.id);
      assert.deepEqual(await find(`author=${person.id}`), expected);
      assert.deepEqual(await find(`user_id=${person.id}`), expected);
      assert.deepEqual(await find(`user_id=${person.id}&author=${person.id}`), expected);
    }
  });

  test('two different values of the two are a conflict', async () => {
    const answer = await api.get(`/posts?author=${people[0].id}&user_id=${people[1].id}`);
    assertStatus(answer, 400, 'conflicting_parameters');
  });

  test('status, alone and with the author', async () => {
    for (const status of statuses) {
      const listed = await find(`status=${status}`);
      assert.ok(listed.every((p) => p.status === status));
      assert.deepEqual(listed.filter((p) => p.title.startsWith('filtered ')), posts.filter((p) => p.status === status));
      for (const person of people) {
        assert.deepEqual(await find(`author=${person.id}&status=${status}`),
          posts.filter((p) => p.user_id === person.id && p.status === status));
      }
    }
  });

  test('an unknown user has an empty list', async () => {
    assert.deepEqual(await find(`author=${missing}`), []);
    assert.deepEqual(await find(`user_id=${missing}&status=draft`), []);
  });

  test('a filter value that can be none is refused', async () => {
    const wrong = { author: ['abc', '', '1.5', '-1', '1,2'], user_id: ['abc', ''], status: ['hidden', '', 'DRAFT', 'draft,published'] };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const answer = await api.get(`/posts?${name}=${value}`);
        assertStatus(answer, 400, 'invalid_parameter');
        assert.deepEqual(answer.json.errors?.map((e) => e.parameter), [name], `${name}=${value}`);
      }
    }
  });

  test('a post moves between the lists with its status and leaves them when it is deleted', async () => {
    const person = await api.create('/users', newUser());
    const post = await api.create('/posts', { user_id: person.id, title: 'moves' });
    const counts = async () => Promise.all(statuses.map(async (s) => (await find(`author=${person.id}&status=${s}`)).length));
    const totals = async () => Promise.all(statuses.map(async (s) => (await find(`status=${s}`)).length));
    const [drafts, published, archived] = await totals();
    assert.deepEqual(await counts(), [1, 0, 0]);
    await api.patch(`/posts/${post.id}`, { status: 'published' });
    assert.deepEqual(await counts(), [0, 1, 0]);
    assert.deepEqual(await totals(), [drafts - 1, published + 1, archived]);
    await api.patch(`/posts/${post.id}`, { status: 'archived' });
    assert.deepEqual(await counts(), [0, 0, 1]);
    assert.deepEqual(await totals(), [drafts - 1, published, archived + 1]);
    await api.delete(`/posts/${post.id}`);
    assert.deepEqual(await counts(), [0, 0, 0]);
    assert.deepEqual(await totals(), [drafts - 1, published, archived]);
  });
});
