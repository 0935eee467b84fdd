// Users (docs/api.md §5).

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertFields, assertNow, assertStatus, assertUser, newUser, sleep, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const api = server.client(await server.makeKey());
const missing = 9007199254740991;

describe('creating', () => {
  test('answers 201 with the user and where it is', async () => {
    const user = newUser();
    const answer = await api.post('/users', user);
    assertStatus(answer, 201);
    assertUser(answer.json);
    assert.equal(answer.headers.get('location'), `/api/v1/users/${answer.json.id}`);
    assert.equal(answer.json.name, user.name);
    assert.equal(answer.json.email, user.email);
    assert.equal(answer.json.created_at, answer.json.updated_at);
    assertNow(answer.json.created_at, 'created_at');
    assert.deepEqual(await api.read(`/users/${answer.json.id}`), answer.json);
  });

  test('ids ascend and are not used again', async () => {
    const first = await api.create('/users', newUser());
    const second = await api.create('/users', newUser());
    assert.ok(second.id > first.id);
    assertStatus(await api.delete(`/users/${second.id}`), 204);
    const third = await api.create('/users', newUser());
    assert.ok(third.id > second.id, 'the id of a deleted user is gone for good');
  });

  test('a name has 1 to 200 code points of any script', async () => {
    for (const name of ['x', 'a'.repeat(200), '🙂'.repeat(200), 'Žofie Ünï 李小龍 עברית', ' x ', '"\\/<>&\u2028']) {
      const user = await api.create('/users', newUser({ name }));
      assert.equal(user.name, name);
      assert.equal((await api.read(`/users/${user.id}`)).name, name);
    }
  });

  test('escapes in a name are read as what they mean', async () => {
    const { email } = newUser();
    const answer = await api.post('/users', `{"n\\u0061me":"\\ud83d\\ude42\\u00e9\\/","email":"${email}"}`);
    assertStatus(answer, 201);
    assert.equal(answer.json.name, '🙂é/');
  });

  const names = {
    'is missing': [undefined, 'required'],
    'is null': [null, 'null_not_allowed'],
    'is a number': [7, 'invalid_type'],
    'is a list': [['x'], 'invalid_type'],
    'is true': [true, 'invalid_type'],
    'is empty': ['', 'too_short'],
    'has 201 characters': ['a'.repeat(201), 'too_long'],
    'has 201 code points beyond the BMP': ['🙂'.repeat(201), 'too_long'],
    'has a line feed': ['a\nb', 'invalid_format'],
    'has NUL': ['a\u0000b', 'invalid_format'],
    'has ESC': ['\u001b[31m', 'invalid_format'],
    'has DEL': ['a\u007f', 'invalid_format'],
  };
  for (const [label, [name, code]] of Object.entries(names)) {
    test(`is refused when the name ${label}`, async () => {
      assertFields(await api.post('/users', newUser({ name })), { '/name': code });
    });
  }

  const domain = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(63)}`;
  const long = (length) => `${'l'.repeat(length - domain.length - 1)}@${domain}`;

  test('takes the emails that the HTML grammar takes', async () => {
    const emails = ['a@b', 'first.last+tag@example.org', "!#$%&'*+/=?^_`{|}~-@example.org", '..@example.org', '1@2.3',
      'x@xn--bcher-kva.example', 'a@a-b.example', long(254)];
    for (const email of emails) assert.equal((await api.create('/users', newUser({ email }))).email, email);
  });

  const emails = {
    'is missing': [undefined, 'required'],
    'is null': [null, 'null_not_allowed'],
    'is a number': [7, 'invalid_type'],
    'has no at sign': ['example.org', 'invalid_format'],
    'has nothing before the at sign': ['@example.org', 'invalid_format'],
    'has nothing after the at sign': ['a@', 'invalid_format'],
    'has two at signs': ['a@b@example.org', 'invalid_format'],
    'has a space': ['a b@example.org', 'invalid_format'],
    'begins with a space': [' a@example.org', 'invalid_format'],
    'ends with a line feed': ['a@example.org\n', 'invalid_format'],
    'has a comma': ['a,b@example.org', 'invalid_format'],
    'has letters beyond ASCII': ['é@example.org', 'invalid_format'],
    'has a domain beyond ASCII': ['a@exämple.org', 'invalid_format'],
    'has an empty label': ['a@example..org', 'invalid_format'],
    'has a label that begins with a hyphen': ['a@-example.org', 'invalid_format'],
    'has a label that ends with a hyphen': ['a@example-.org', 'invalid_format'],
    'has a label of 64 characters': [`a@${'d'.repeat(64)}.org`, 'invalid_format'],
    'has an underscore in its domain': ['a@ex_ample.org', 'invalid_format'],
    'has 255 octets': [long(255), 'too_long'],
  };
  for (const [description, [email, code]] of Object.entries(emails)) {
    test(`is refused when the email ${description}`, async () => {
      assertFields(await api.post('/users', newUser({ email })), { '/email': code });
    });
  }

  test('an empty email is refused', async () => {
    const answer = await api.post('/users', newUser({ email: '' }));
    assertStatus(answer, 422, 'validation_failed');
    assert.deepEqual(answer.json.errors.map((e) => e.pointer), ['/email']);
  });

  test('all that is wrong is said at once', async () => {
    assertFields(await api.post('/users', {}), { '/name': 'required', '/email': 'required' });
    assertFields(await api.post('/users', { name: 5, email: 'x', age: 3, 'a/b~c': 1 }), {
      '/name': 'invalid_type', '/email': 'invalid_format', '/age': 'unknown_field', '/a~1b~0c': 'unknown_field',
    });
  });

  test('what is refused is not created', async () => {
    const baseline = (await api.read('/users?limit=1')).pagination.total;
    await api.post('/users', newUser({ name: '' }));
    await api.post('/users', newUser({ extra: 1 }));
    await api.post('/users', '{"name":');
    assert.equal((await api.read('/users?limit=1')).pagination.total, baseline);
  });
});

describe('emails are unique', () => {
  test('ignoring ASCII case, and kept as they were written', async () => {
    const user = await api.create('/users', newUser({ email: 'Mixed.Case@Example.org' }));
    assert.equal(user.email, 'Mixed.Case@Example.org');
    for (const email of ['Mixed.Case@Example.org', 'mixed.case@example.org', 'MIXED.CASE@EXAMPLE.ORG']) {
      assertStatus(await api.post('/users', newUser({ email })), 409, 'email_taken');
    }
    const other = await api.create('/users', newUser());
    assertStatus(await api.put(`/users/${other.id}`, { name: 'x', email: 'mixed.case@EXAMPLE.org' }), 409, 'email_taken');
    assertStatus(await api.patch(`/users/${other.id}`, { email: 'mixed.Case@example.org' }), 409, 'email_taken');
    assert.deepEqual(await api.read(`/users/${other.id}`), other, 'a refused change changes nothing');
  });

  test('a user may change the case of its own', async () => {
    const user = await api.create('/users', newUser({ email: 'own@example.org' }));
    const answer = await api.patch(`/users/${user.id}`, { email: 'OWN@example.org' });
    assertStatus(answer, 200);
    assert.equal(answer.json.email, 'OWN@example.org');
  });

  test('an email is free again after a change and after a deletion', async () => {
    const user = await api.create('/users', newUser({ email: 'free@example.org' }));
    assertStatus(await api.patch(`/users/${user.id}`, { email: 'freed@example.org' }), 200);
    const second = await api.create('/users', newUser({ email: 'FREE@example.org' }));
    assertStatus(await api.post('/users', newUser({ email: 'freed@example.org' })), 409, 'email_taken');
    assertStatus(await api.delete(`/users/${second.id}`), 204);
    await api.create('/users', newUser({ email: 'free@example.org' }));
  });

  test('of many that race for one email exactly one gets it', async () => {
    const email = 'race@example.org';
    const clients = Array.from({ length: 8 }, () => server.client(api.key));
    const answers = await Promise.all(clients.map((c) => c.post('/users', newUser({ email }))));
    assert.deepEqual(answers.map((a) => a.status).sort(), [201, ...Array(7).fill(409)]);
    assert.equal((await api.read(`/users?email=${email}`)).pagination.total, 1);
    clients.forEach((c) => c.close());
  });
});

describe('reading', () => {
  test('a user that is not there is not_found', async () => {
    assertStatus(await api.get(`/users/${missing}`), 404, 'not_found');
  });

  test('the filter email finds the one', async () => {
    const user = await api.create('/users', newUser({ email: 'find+me@example.org' }));
    const list = await api.read(`/users?email=${encodeURIComponent(user.email)}`);
    assert.deepEqual(list.data, [user]);
    assert.equal(list.pagination.total, 1);
    assert.equal(list.pagination.has_more, false);
    assert.deepEqual((await api.read('/users?email=nobody@example.org')).data, []);
  });

  test('include=posts adds the first 100 posts and their pagination', async () => {
    const user = await api.create('/users', newUser());
    const none = await api.read(`/users/${user.id}?include=posts`);
    assert.deepEqual(none.posts, []);
    assert.equal(none.posts_pagination.total, 0);
    assert.equal(none.posts_pagination.has_more, false);
    const posts = [];
    for (let i = 0; i < 103; i += 1) posts.push(await api.create('/posts', { user_id: user.id, title: `post ${i}` }));
    const answer = await api.get(`/users/${user.id}?include=posts`);
    assertStatus(answer, 200);
    const { posts: included, posts_pagination: pagination, ...rest } = answer.json;
    assert.deepEqual(rest, user);
    assert.deepEqual(included, posts.slice(0, 100));
    assert.equal(pagination.total, 103);
    assert.equal(pagination.limit, 100);
    assert.equal(pagination.has_more, true);
    assert.ok('next_cursor' in pagination);
    assert.equal(answer.headers.get('etag'), null);
    assert.deepEqual(Object.keys(await api.read(`/users/${user.id}`)).includes('posts'), false);
  });

  test('include takes posts and nothing else', async () => {
    const user = await api.create('/users', newUser());
    for (const query of ['include=comments', 'include=', 'include=posts,users', 'include=Posts', 'include=posts&include=posts']) {
      assertStatus(await api.get(`/users/${user.id}?${query}`), 400, 'invalid_parameter');
    }
  });

  test('the posts of a user are a list of their own', async () => {
    const user = await api.create('/users', newUser());
    const other = await api.create('/users', newUser());
    const posts = [];
    for (let i = 0; i < 5; i += 1) {
      posts.push(await api.create('/posts', { user_id: user.id, title: `mine ${i}` }));
      await api.create('/posts', { user_id: other.id, title: `other ${i}` });
    }
    const list = await api.read(`/users/${user.id}/posts?limit=3`);
    assert.deepEqual(list.data, posts.slice(0, 3));
    assert.equal(list.pagination.total, 5);
    assert.equal(list.pagination.total_pages, 2);
    assert.deepEqual((await api.read(`/users/${user.id}/posts?limit=3&page=2`)).data, posts.slice(3));
    assert.deepEqual((await api.read(`/users/${user.id}/posts?sort=-id`)).data, [...posts].reverse());
    assertStatus(await api.get(`/users/${missing}/posts`), 404, 'not_found');
  });
});

describe('replacing', () => {
  test('PUT gives the whole user, changed', async () => {
    const user = await api.create('/users', newUser());
    await sleep(3); // the clock passes a millisecond
    const replacement = newUser();
    const answer = await api.put(`/users/${user.id}`, replacement);
    assertStatus(answer, 200);
    assertUser(answer.json);
    assert.deepEqual(answer.json, { ...user, ...replacement, updated_at: answer.json.updated_at });
    assert.ok(answer.json.updated_at > user.updated_at, 'updated_at moves');
    assert.deepEqual(await api.read(`/users/${user.id}`), answer.json);
  });

  test('PUT needs both members', async () => {
    const user = await api.create('/users', newUser());
    assertFields(await api.put(`/users/${user.id}`, {}), { '/name': 'required', '/email': 'required' });
    assertFields(await api.put(`/users/${user.id}`, { name: 'x' }), { '/email': 'required' });
    assertFields(await api.put(`/users/${user.id}`, { email: user.email }), { '/name': 'required' });
    assertFields(await api.put(`/users/${user.id}`, { name: null, email: null }), { '/name': 'null_not_allowed', '/email': 'null_not_allowed' });
    assert.deepEqual(await api.read(`/users/${user.id}`), user);
  });

  test('PUT never creates', async () => {
    assertStatus(await api.put(`/users/${missing}`, newUser()), 404, 'not_found');
    assertStatus(await api.get(`/users/${missing}`), 404);
  });

  test('read-only members may come back as they are', async () => {
    const user = await api.create('/users', newUser());
    const put = await api.put(`/users/${user.id}`, { ...user, name: 'Renamed' });
    assertStatus(put, 200);
    assert.equal(put.json.name, 'Renamed');
    const patch = await api.patch(`/users/${user.id}`, { id: user.id, created_at: user.created_at, name: 'Again' });
    assertStatus(patch, 200);
    assert.equal(patch.json.name, 'Again');
  });

  test('read-only members with another value are refused', async () => {
    const user = await api.create('/users', newUser());
    const other = '2020-01-01T00:00:00.000Z';
    const { name, email } = user;
    assertFields(await api.put(`/users/${user.id}`, { name, email, id: user.id + 1 }), { '/id': 'read_only_field' });
    assertFields(await api.patch(`/users/${user.id}`, { id: user.id + 1 }), { '/id': 'read_only_field' });
    assertFields(await api.patch(`/users/${user.id}`, { created_at: other }), { '/created_at': 'read_only_field' });
    assertFields(await api.patch(`/users/${user.id}`, { updated_at: other }), { '/updated_at': 'read_only_field' });
    assert.deepEqual(await api.read(`/users/${user.id}`), user);
  });
});

describe('patching', () => {
  test('changes what is named and nothing else', async () => {
    const user = await api.create('/users', newUser());
    await sleep(3); // the clock passes a millisecond
    const named = await api.patch(`/users/${user.id}`, { name: 'Only the name' });
    assertStatus(named, 200);
    assert.deepEqual(named.json, { ...user, name: 'Only the name', updated_at: named.json.updated_at });
    assert.ok(named.json.updated_at > user.updated_at);
    const { email } = newUser();
    const mailed = await api.patch(`/users/${user.id}`, { email });
    assert.deepEqual(mailed.json, { ...named.json, email, updated_at: mailed.json.updated_at });
    assert.deepEqual(await api.read(`/users/${user.id}`), mailed.json);
  });

  test('takes application/json too', async () => {
    const user = await api.create('/users', newUser());
    const answer = await api.patch(`/users/${user.id}`, { name: 'As JSON' }, { type: 'application/json' });
    assertStatus(answer, 200);
    assert.equal(answer.json.name, 'As JSON');
  });

  test('with {} changes nothing', async () => {
    const user = await api.create('/users', newUser());
    await sleep(3); // the clock passes a millisecond
    const answer = await api.patch(`/users/${user.id}`, {});
    assertStatus(answer, 200);
    assert.deepEqual(answer.json, user);
  });

  test('null for a required member is refused', async () => {
    const user = await api.create('/users', newUser());
    assertFields(await api.patch(`/users/${user.id}`, { name: null, email: null }), { '/name': 'null_not_allowed', '/email': 'null_not_allowed' });
    assert.deepEqual(await api.read(`/users/${user.id}`), user);
  });

  test('a bad value is refused and nothing of the patch is done', async () => {
    const user = await api.create('/users', newUser());
    assertFields(await api.patch(`/users/${user.id}`, { name: 'good', email: 'bad' }), { '/email': 'invalid_format' });
    assertFields(await api.patch(`/users/${user.id}`, { name: 'good', nick: 'x' }), { '/nick': 'unknown_field' });
    assert.deepEqual(await api.read(`/users/${user.id}`), user);
  });

  test('a patch that is no object is refused', async () => {
    const user = await api.create('/users', newUser());
    for (const body of ['[]', '"x"', 'null', '7']) {
      const answer = await api.patch(`/users/${user.id}`, body);
      assert.ok([400, 422].includes(answer.status), `${body}: ${answer.status}`);
    }
    assert.deepEqual(await api.read(`/users/${user.id}`), user);
  });

  test('a user that is not there is 404', async () => {
    assertStatus(await api.patch(`/users/${missing}`, { name: 'x' }), 404, 'not_found');
    assertStatus(await api.patch(`/users/${missing}`, {}), 404, 'not_found');
  });

  test('patches that race all happen, one after the other', async () => {
    const user = await api.create('/users', newUser());
    const clients = Array.from({ length: 8 }, () => server.client(api.key));
    const answers = await Promise.all(clients.map((c, i) => (i % 2
      ? c.patch(`/users/${user.id}`, { name: `racer ${i}` })
      : c.patch(`/users/${user.id}`, { email: `racer${i}@example.org` }))));
    for (const [i, answer] of answers.entries()) {
      assertStatus(answer, 200);
      if (i % 2) assert.equal(answer.json.name, `racer ${i}`);
      else assert.equal(answer.json.email, `racer${i}@example.org`);
    }
    const last = await api.read(`/users/${user.id}`);
    assert.match(last.name, /^racer [1357]$/);
    assert.match(last.email, /^racer[0246]@example\.org$/);
    clients.forEach((c) => c.close());
  });
});

describe('deleting', () => {
  test('is 204 once and 404 from then on', async () => {
    const user = await api.create('/users', newUser());
    const answer = await api.delete(`/users/${user.id}`);
    assertStatus(answer, 204);
    assert.equal(answer.body.length, 0);
    assertStatus(await api.get(`/users/${user.id}`), 404, 'not_found');
    assertStatus(await api.delete(`/users/${user.id}`), 404, 'not_found');
    assertStatus(await api.put(`/users/${user.id}`, newUser()), 404, 'not_found');
    assertStatus(await api.patch(`/users/${user.id}`, {}), 404, 'not_found');
    assert.equal((await api.read(`/users?email=${user.email}`)).pagination.total, 0);
  });

  test('takes the posts along, and only its own', async () => {
    const user = await api.create('/users', newUser());
    const other = await api.create('/users', newUser());
    const otherPost = await api.create('/posts', { user_id: other.id, title: 'kept' });
    const posts = [];
    for (let i = 0; i < 25; i += 1) {
      posts.push(await api.create('/posts', { user_id: user.id, title: `gone ${i}`, status: i % 2 ? 'published' : 'draft' }));
    }
    const previous = (await api.read('/posts?limit=1')).pagination.total;
    const drafts = (await api.read('/posts?status=draft&limit=1')).pagination.total;
    assertStatus(await api.delete(`/users/${user.id}`), 204);
    for (const post of posts) assertStatus(await api.get(`/posts/${post.id}`), 404, 'not_found');
    assertStatus(await api.get(`/users/${user.id}/posts`), 404, 'not_found');
    assertStatus(await api.get(`/users/${user.id}?include=posts`), 404, 'not_found');
    assert.deepEqual((await api.read(`/posts?author=${user.id}`)).data, []);
    assert.equal((await api.read('/posts?limit=1')).pagination.total, previous - 25);
    assert.equal((await api.read('/posts?status=draft&limit=1')).pagination.total, drafts - 13);
    assertStatus(await api.patch(`/posts/${posts[0].id}`, { title: 'back' }), 404, 'not_found');
    assertStatus(await api.delete(`/posts/${posts[0].id}`), 404, 'not_found');
    assertFields(await api.post('/posts', { user_id: user.id, title: 'late' }), { '/user_id': 'reference_not_found' });
    assert.deepEqual(await api.read(`/posts/${otherPost.id}`), otherPost);
  });
});
