// Authentication and authorization (docs/api.md §2, §3, §4): the four ways of sending a key, their order, what counts as a
// key, and what its scopes allow.
//
// Failed authentications are limited per address, so tests with bad keys use separate addresses in 127/8.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertFields, assertStatus, keyForm, links, message, newUser, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const keyDocument = await server.makeKey({ name: 'everything' });
const { key } = keyDocument;
const api = server.client(key);
const owner = await api.create('/users', newUser());
const post = await api.create('/posts', { user_id: owner.id, title: 'first' });
const bad = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
const users = '/api/v1/users';
const ask = (method, target, options) => server.ask(method, target, options);

const challenge = (answer) => answer.headers.get('www-authenticate');
const missing = (answer) => {
  assertStatus(answer, 401, 'key_missing');
  assert.equal(challenge(answer), 'Bearer realm="api"');
};
const invalid = (answer) => {
  assertStatus(answer, 401, 'key_invalid');
  assert.match(challenge(answer), /^Bearer realm="api", ?error="invalid_token"/);
};
const bearer = (token) => ({ Authorization: `Bearer ${token}` });

describe('the four ways', () => {
  test('Authorization: Bearer, its scheme in any case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
      assertStatus(await ask('GET', users, { headers: { Authorization: `${scheme} ${key}` } }), 200);
    }
  });

  test('X-API-Key', async () => {
    assertStatus(await ask('GET', users, { headers: { 'X-API-Key': key } }), 200);
  });

  test('the query parameter api_key, alone and among others', async () => {
    assertStatus(await ask('GET', `${users}?api_key=${key}`), 200);
    for (const query of [`api_key=${key}&limit=1`, `limit=1&api_key=${key}`, `limit=1&api_key=${key}&page=1`]) {
      const answer = await ask('GET', `${users}?${query}`);
      assertStatus(answer, 200);
      assert.equal(answer.json.pagination.limit, 1);
    }
    const user = newUser();
    const creation = await ask('POST', `${users}?api_key=${key}`, { body: user });
    assertStatus(creation, 201);
    assertStatus(await ask('DELETE', `${users}/${creation.json.id}?api_key=${key}`), 204);
  });

  test('a percent-encoded query parameter is the same key', async () => {
    const encoded = [...key].map((c, i) => (i % 5 ? c : `%${c.charCodeAt(0).toString(16)}`)).join('');
    assertStatus(await ask('GET', `${users}?api_key=${encoded}`), 200);
  });

  test('the member api_key of a POST body, which is then gone from it', async () => {
    for (const user of [{ api_key: key, ...newUser() }, { ...newUser(), api_key: key }]) {
      const answer = await ask('POST', users, { body: user });
      assertStatus(answer, 201);
      assert.equal('api_key' in answer.json, false);
      assert.equal(answer.json.email, user.email);
    }
  });

  test('the member api_key of a chunked body', async () => {
    const user = { ...newUser(), api_key: key };
    const text = JSON.stringify(user);
    const answer = await ask('POST', users, { headers: { 'Transfer-Encoding': 'chunked' }, body: `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n` });
    assertStatus(answer, 201);
  });

  test('the member api_key of a body is no way for PUT and PATCH', async () => {
    for (const method of ['PUT', 'PATCH']) {
      missing(await ask(method, `${users}/${owner.id}`, { body: { name: 'x', email: 'x@example.org', api_key: key } }));
      const strict = await ask(method, `${users}/${owner.id}`, { key, body: { name: 'x', email: 'x@example.org', api_key: key } });
      assertFields(strict, { '/api_key': 'unknown_field' });
    }
  });

  test('loopback needs no TLS, and X-Forwarded-Proto of an untrusted peer is ignored', async () => {
    assertStatus(await ask('GET', users, { scheme: 'http', key }), 200);
    assertStatus(await ask('GET', users, { scheme: 'http', key, headers: { 'X-Forwarded-Proto': 'http' } }), 200);
    missing(await ask('GET', users, { scheme: 'http' }));
  });

  test('Link never carries api_key', async () => {
    for (let i = 0; i < 3; i += 1) await api.create('/users', newUser());
    const answer = await ask('GET', `${users}?api_key=${key}&limit=1&page=2`);
    const linkUrls = links(answer);
    assert.ok('next' in linkUrls && 'prev' in linkUrls);
    assert.doesNotMatch(answer.headers.get('link'), /api_key/);
    assert.ok(!answer.head.includes(key), 'the key is in no header');
    const short = await ask('GET', `/users?api_key=${key}&limit=1&page=2`);
    assert.doesNotMatch(short.headers.get('link'), /api_key/);
  });

  test('a key that came along by query or body is removed there, whichever way decided', async () => {
    assertStatus(await ask('GET', `${users}?api_key=${bad}`, { key }), 200);
    assertStatus(await ask('POST', users, { key, body: { ...newUser(), api_key: bad } }), 201);
    assertStatus(await ask('POST', users, { key, body: { ...newUser(), api_key: 17 } }), 201);
    assertStatus(await ask('POST', `${users}?api_key=${key}`, { body: { ...newUser(), api_key: bad } }), 201);
  });
});

describe('no way', () => {
  test('no credential at all is key_missing', async () => {
    missing(await ask('GET', users));
    missing(await ask('POST', users, { body: newUser() }));
    missing(await ask('DELETE', `${users}/${owner.id}`));
    assertStatus(await ask('HEAD', users), 401);
  });

  test('a body that is no JSON object with the member is key_missing', async () => {
    const bodies = ['', '[]', '"x"', '{', 'api_key', '{"a":{"api_key":"x"}}', `["api_key","${key}"]`];
    for (const body of bodies) missing(await ask('POST', users, { body }));
    missing(await ask('POST', users));
  });

  test('another scheme counts as no credential', async () => {
    const basic = { Authorization: `Basic ${Buffer.from(`x:${key}`).toString('base64')}` };
    missing(await ask('GET', users, { headers: basic }));
    missing(await ask('GET', users, { headers: { Authorization: key } }));
    missing(await ask('GET', users, { headers: { Authorization: `BearerX ${key}` } }));
    assertStatus(await ask('GET', users, { headers: basic, key }), 200);
    assertStatus(await ask('GET', `${users}?api_key=${key}`, { headers: basic }), 200);
  });

  test('without a key nothing is learned, not even which routes exist', async () => {
    const requests = [['GET', '/api/v1'], ['GET', '/api/v1/nothing'], ['PUT', users], ['OPTIONS', users],
      ['GET', `${users}/999999`], ['GET', '/api/v1/keys'], ['GET', `${users}?limit=x`], ['PATCH', '/api/v2/users']];
    const bodies = new Set();
    for (const [method, target] of requests) {
      const answer = await ask(method, target);
      missing(answer);
      const { instance, request_id, ...rest } = answer.json;
      bodies.add(JSON.stringify(rest));
    }
    assert.equal(bodies.size, 1, 'all of these answers are alike');
    const { instance, request_id, ...rest } = (await ask('GET', users, { headers: { Accept: 'text/html' } })).json;
    assert.ok(bodies.has(JSON.stringify(rest)), 'Accept changes nothing');
  });
});

describe('the first way that is present decides', () => {
  const address = '127.0.0.31';
  const send = ({ authorization, xkey, query, body }) => ask('POST', query === undefined ? users : `${users}?api_key=${query}`, {
    from: address,
    headers: { ...(authorization === undefined ? {} : bearer(authorization)), ...(xkey === undefined ? {} : { 'X-API-Key': xkey }) },
    body: { ...newUser(), ...(body === undefined ? {} : { api_key: body }) },
  });

  test('a bad key is not made good by a later way', async () => {
    invalid(await send({ authorization: bad, xkey: key, query: key, body: key }));
    invalid(await send({ xkey: bad, query: key, body: key }));
    invalid(await send({ query: bad, body: key }));
    invalid(await send({ body: bad }));
  });

  test('a good key is not made bad by a later way', async () => {
    assertStatus(await send({ authorization: key, xkey: bad, query: bad, body: bad }), 201);
    assertStatus(await send({ xkey: key, query: bad, body: bad }), 201);
    assertStatus(await send({ query: key, body: bad }), 201);
  });

  test('an empty one is present and invalid', async () => {
    invalid(await send({ xkey: '', query: key, body: key }));
    invalid(await send({ query: '', body: key }));
    invalid(await send({ body: '' }));
    invalid(await ask('GET', `${users}?api_key=${key}`, { from: address, headers: { Authorization: 'Bearer ' } }));
    invalid(await ask('GET', users, { from: address, headers: { Authorization: 'Bearer' } }));
    invalid(await ask('GET', `${users}?api_key`, { from: address }));
  });
});

describe('the same way twice is duplicate_credentials', () => {
  const twice = (answer) => assertStatus(answer, 400, 'duplicate_credentials');

  test('two Authorization fields', async () => {
    twice(await ask('GET', users, { headers: { Authorization: [`Bearer ${key}`, `Bearer ${key}`] } }));
    twice(await ask('GET', users, { headers: { Authorization: [`Bearer ${key}`, `Bearer ${bad}`] } }));
  });

  test('two X-API-Key fields', async () => {
    twice(await ask('GET', users, { headers: { 'X-API-Key': [key, key] } }));
    twice(await ask('GET', users, { headers: { 'X-API-Key': [key, ''] } }));
  });

  test('two query parameters', async () => {
    twice(await ask('GET', `${users}?api_key=${key}&api_key=${key}`));
    twice(await ask('GET', `${users}?api_key=${key}&limit=1&api_key=`));
  });

  test('a repeated member of the body', async () => {
    const user = JSON.stringify(newUser()).slice(1);
    twice(await ask('POST', users, { body: `{"api_key":"${key}","api_key":"${key}",${user}` }));
    twice(await ask('POST', users, { body: `{"api_key":"${key}","\\u0061pi_key":"${key}",${user}` }));
  });

  test('two ways, once each, are not', async () => {
    assertStatus(await ask('GET', `${users}?api_key=${key}`, { headers: { ...bearer(key), 'X-API-Key': key } }), 200);
  });
});

describe('the body as a way has its own limit', () => {
  const padded = (size) => {
    const text = JSON.stringify({ ...newUser(), api_key: key });
    return text + ' '.repeat(size - text.length);
  };

  test('128 KiB are read before authentication', async () => {
    assertStatus(await ask('POST', users, { body: padded(128 * 1024) }), 201);
  });

  test('a byte more is 413', async () => {
    const wire = await server.connect();
    await wire.send(message('POST', users, { body: padded(128 * 1024 + 1) }));
    assertStatus(await wire.response({ method: 'POST' }), 413, 'body_too_large');
    wire.close();
  });

  test('the same body is fine with the key in a header', async () => {
    assertStatus(await ask('POST', users, { key, body: padded(128 * 1024 + 1) }), 201);
  });
});

describe('switches', () => {
  test('auth.allow_query = false: the parameter is no way any more', async () => {
    const strict = await startServer({ config: '[auth]\nallow_query = false\n' });
    try {
      const mine = await strict.makeKey();
      missing(await strict.ask('GET', `${users}?api_key=${mine.key}`));
      assertStatus(await strict.ask('GET', `${users}?api_key=${mine.key}`, { key: mine.key }), 200);
      assertStatus(await strict.ask('GET', users, { headers: bearer(mine.key) }), 200);
      assertStatus(await strict.ask('POST', users, { body: { ...newUser(), api_key: mine.key } }), 201);
    } finally {
      await strict.stop();
    }
  });

  test('auth.allow_body = false: the member is no way any more', async () => {
    const strict = await startServer({ config: '[auth]\nallow_body = false\n' });
    try {
      const mine = await strict.makeKey();
      missing(await strict.ask('POST', users, { body: { ...newUser(), api_key: mine.key } }));
      assertStatus(await strict.ask('POST', users, { key: mine.key, body: { ...newUser(), api_key: mine.key } }), 201);
      assertStatus(await strict.ask('GET', `${users}?api_key=${mine.key}`), 200);
    } finally {
      await strict.stop();
    }
  });
});

describe('what a key is', () => {
  test('48 characters of base62 with a prefix that all share', async () => {
    const keys = [keyDocument];
    for (let i = 0; i < 5; i += 1) keys.push(await server.makeKey({ name: `form ${i}` }));
    assert.equal(new Set(keys.map((k) => k.key)).size, keys.length);
    assert.equal(new Set(keys.map((k) => k.key.slice(0, 4))).size, 1);
    assert.equal(new Set(keys.map((k) => k.id)).size, keys.length);
    for (const document of keys) {
      assert.match(document.key, keyForm);
      assert.ok(Number.isSafeInteger(document.id) && document.id > 0);
    }
  });

  test('any other string is key_invalid, by header and by query', async () => {
    const clientAddress = '127.0.0.32';
    const middle = `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}`;
    const swapped = [...key].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('');
    const strings = [bad, middle, swapped, key.slice(0, 47), `${key}0`, key.slice(1), `${key.slice(0, 47)}-`,
      '0'.repeat(48), 'x', 'x'.repeat(300), `${key}${key}`];
    for (const text of strings) {
      invalid(await ask('GET', users, { from: clientAddress, headers: bearer(text) }));
      if (strings.indexOf(text) % 2) invalid(await ask('GET', `${users}?api_key=${text}`, { from: clientAddress }));
    }
  });

  test('a JWT is an unknown key', async () => {
    const jwt = ['{"alg":"none"}', '{"sub":"1"}'].map((s) => Buffer.from(s).toString('base64url')).join('.');
    invalid(await ask('GET', users, { from: '127.0.0.33', headers: bearer(`${jwt}.c2lnbmF0dXJl`) }));
  });

  test('the error never repeats the key', async () => {
    const answer = await ask('GET', `${users}?api_key=${bad}`, { from: '127.0.0.33' });
    invalid(answer);
    assert.ok(!(answer.head + answer.body).includes(bad));
  });

  test('a key made while the server runs works at once', async () => {
    const fresh = await server.makeKey({ name: 'fresh' });
    assertStatus(await ask('GET', users, { key: fresh.key }), 200);
  });
});

describe('scopes', () => {
  const id = owner.id;
  const user = () => newUser();
  // [method, path, body, scopes that together open it, what it answers then]
  const routes = [
    ['GET', '/users', null, ['users:read'], 200],
    ['HEAD', '/users', null, ['users:read'], 200],
    ['GET', `/users/${id}`, null, ['users:read'], 200],
    ['GET', `/users/${id}?include=posts`, null, ['users:read', 'posts:read'], 200],
    ['GET', `/users/${id}/posts`, null, ['users:read', 'posts:read'], 200],
    ['POST', '/users', user, ['users:write'], 201],
    ['PUT', '/users/999999', user, ['users:write'], 404],
    ['PATCH', `/users/${id}`, () => ({}), ['users:write'], 200],
    ['DELETE', '/users/999999', null, ['users:write'], 404],
    ['GET', '/posts', null, ['posts:read'], 200],
    ['GET', `/posts/${post.id}`, null, ['posts:read'], 200],
    ['POST', '/posts', () => ({ user_id: id, title: 't' }), ['posts:write'], 201],
    ['PUT', '/posts/999999', () => ({ user_id: id, title: 't', body: '', status: 'draft' }), ['posts:write'], 404],
    ['PATCH', `/posts/${post.id}`, () => ({}), ['posts:write'], 200],
    ['DELETE', '/posts/999999', null, ['posts:write'], 404],
  ];
  const single = ['users:read', 'users:write', 'posts:read', 'posts:write'];
  const covers = {
    '*': single,
    'users:*': ['users:read', 'users:write'],
    'posts:*': ['posts:read', 'posts:write'],
    '*:read': ['users:read', 'posts:read'],
    '*:write': ['users:write', 'posts:write'],
    ...Object.fromEntries(single.map((s) => [s, [s]])),
    'users:read posts:read': ['users:read', 'posts:read'],
    'keys:read': [],
  };

  for (const [scopes, allowedRoutes] of Object.entries(covers)) {
    test(`a key with ${scopes} opens its routes and no other`, async () => {
      const client = server.client(await server.makeKey({ name: 'scoped', scopes: scopes.split(' ') }));
      for (const [method, target, body, needed, status] of routes) {
        const answer = await client.call(method, target, body === null ? {} : { body: body() });
        if (needed.every((s) => allowedRoutes.includes(s))) {
          assertStatus(answer, status);
          continue;
        }
        assertStatus(answer, 403, method === 'HEAD' ? undefined : 'insufficient_scope');
        const challengeMatch = /^Bearer realm="api", ?error="insufficient_scope", ?scope="([^"]+)"$/.exec(challenge(answer));
        assert.ok(challengeMatch, `${method} ${target}: ${challenge(answer)}`);
        const named = challengeMatch[1].split(' ');
        assert.ok(named.every((s) => needed.includes(s)), `${method} ${target} asks for ${named}`);
        assert.ok(named.some((s) => !allowedRoutes.includes(s)), 'the scope that is missing is named');
      }
      client.close();
    });
  }

  test('deleting a user needs users:write alone, though its posts go too', async () => {
    const victim = await api.create('/users', newUser());
    const deletedPost = await api.create('/posts', { user_id: victim.id, title: 'goes too' });
    const writer = server.client(await server.makeKey({ name: 'w', scopes: ['users:write'] }));
    assertStatus(await writer.delete(`/users/${victim.id}`), 204);
    assertStatus(await api.get(`/posts/${deletedPost.id}`), 404);
    writer.close();
  });

  test('keys create refuses a scope that is none', async () => {
    await assert.rejects(server.makeKey({ scopes: ['users:fly'] }), /keys create failed/);
  });
});

describe('the order of checks', () => {
  const address = '127.0.0.34';
  const oversized = { 'Content-Length': 1024 * 1024 + 1, 'Content-Type': 'application/json' };
  const first = async (bytes) => {
    const wire = await server.connect({ from: address });
    await wire.send(bytes);
    const answer = await wire.response({ method: 'POST' });
    wire.close();
    return answer;
  };

  test('the declared size comes before the credential', async () => {
    assertStatus(await first(message('POST', users, { headers: oversized })), 413, 'body_too_large');
    assertStatus(await first(message('POST', users, { key: bad, headers: oversized })), 413, 'body_too_large');
  });

  test('the key comes before the route', async () => {
    invalid(await ask('GET', '/api/v1/nothing', { key: bad, from: address }));
    invalid(await ask('PUT', users, { key: bad, from: address }));
    assertStatus(await ask('GET', '/api/v1/nothing', { headers: { 'X-API-Key': [key, key] } }), 400, 'duplicate_credentials');
  });

  test('the route comes before the scope', async () => {
    const none = await server.makeKey({ name: 'little', scopes: ['posts:read'] });
    assertStatus(await ask('GET', '/api/v1/nothing', { key: none.key }), 404, 'route_not_found');
    assertStatus(await ask('PUT', users, { key: none.key, body: {} }), 405, 'method_not_allowed');
  });

  test('the scope comes before Accept, Content-Type, body, query and existence', async () => {
    const none = await server.makeKey({ name: 'little', scopes: ['posts:read'] });
    const refusals = [
      ['GET', users, { headers: { Accept: 'text/html' } }],
      ['POST', users, { body: 'x', type: 'text/plain' }],
      ['POST', users, { body: '{' }],
      ['GET', `${users}?limit=x`, {}],
      ['GET', `${users}/999999`, {}],
    ];
    for (const [method, target, options] of refusals) {
      assertStatus(await ask(method, target, { key: none.key, ...options }), 403, 'insufficient_scope');
    }
  });

  test('Accept and Content-Type come before the body, the query and existence', async () => {
    assertStatus(await ask('POST', users, { key, body: '{', headers: { Accept: 'text/html' } }), 406);
    assertStatus(await ask('POST', users, { key, body: '{', type: 'text/plain' }), 415);
    assertStatus(await ask('GET', `${users}?limit=x`, { key, headers: { Accept: 'text/html' } }), 406);
    assertStatus(await ask('PATCH', `${users}/999999`, { key, body: '{}', type: 'text/plain' }), 415);
  });

  test('body and query come before existence', async () => {
    assertStatus(await ask('PUT', `${users}/999999`, { key, body: {} }), 422, 'validation_failed');
    assertStatus(await ask('PATCH', `${users}/999999`, { key, body: '{' }), 400, 'invalid_json');
    assertStatus(await ask('GET', `${users}/999999?nope=1`, { key }), 400, 'invalid_parameter');
  });

  test('existence comes before conflicts', async () => {
    assertStatus(await ask('PUT', `${users}/999999`, { key, body: { name: 'x', email: owner.email } }), 404, 'not_found');
  });
});

describe('too many failures', () => {
  test('after 30 bad keys in a minute the address is told to wait; a good key passes, and so do others', async () => {
    const address = '127.0.0.77';
    const client = server.client(bad, { from: address });
    for (let i = 0; i < 30; i += 1) invalid(await client.get('/users'));
    const answer = await client.get('/users');
    assertStatus(answer, 429, 'too_many_auth_failures');
    const wait = Number(answer.headers.get('retry-after'));
    assert.ok(wait >= 1 && wait <= 60, `Retry-After ${wait}`);
    assertStatus(await client.get('/users', { key }), 200);
    missing(await client.get('/users', { key: null }));
    client.close();
    invalid(await ask('GET', users, { from: '127.0.0.78', key: bad }));
  });

  test('an address that continues is answered in order, a thousand times a second, and others at once', async () => {
    const address = '127.0.0.76';
    const wire = await server.connect({ from: address });
    const began = process.hrtime.bigint();
    const send = (credential) => wire.send(message('GET', '/api/v1/users?limit=1', { key: credential }));
    for (let i = 0; i < 330; i += 1) send(bad);
    let others = false;
    const reply = server.client(key).get('/users?limit=1').then((answer) => {
      others = true;
      return answer;
    });
    let sent = 330;
    let answered = 0;
    const refused = async () => {
      assert.equal((await wire.response({ method: 'GET' })).status, answered < 30 ? 401 : 429);
      answered += 1;
    };
    // The address has 330 requests wait until another client is answered: if that one had to wait for them, it would for ever.
    while (!others) {
      assert.ok(sent < 20_000, 'another client waits for an address that is told to wait');
      await refused();
      send(bad);
      sent += 1;
    }
    send(key);
    while (answered < sent) await refused();
    assertStatus(await wire.response({ method: 'GET' }), 200);
    const milliseconds = Number((process.hrtime.bigint() - began) / 1_000_000n);
    assert.ok(milliseconds >= 200, `${sent - 30} refusals within ${milliseconds} ms`);
    assertStatus(await reply, 200);
    wire.close();
  });

  test('a missing key does not count', async () => {
    const address = '127.0.0.79';
    const client = server.client(null, { from: address });
    for (let i = 0; i < 40; i += 1) missing(await client.get('/users'));
    invalid(await client.get('/users', { key: bad }));
    client.close();
  });
});
