// Errors (docs/api.md §11, §1): what is refused and with which problem. wire.mjs checks the form of every error of every test.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertFields, assertStatus, newUser, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();
const api = server.client(key);
const user = await api.create('/users', newUser());

describe('media types', () => {
  test('a body that is not JSON is 415, and Accept says what would be', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml',
      'application/jsonp', 'application/merge-patch+json', 'json', 'application/vnd.api+json', '']) {
      const answer = await api.post('/users', JSON.stringify(newUser()), { type });
      assertStatus(answer, 415, 'unsupported_media_type');
      assert.deepEqual(answer.headers.list('accept'), ['application/json'], type);
    }
    assertStatus(await api.put(`/users/${user.id}`, newUser(), { type: 'application/merge-patch+json' }), 415, 'unsupported_media_type');
  });

  test('on PATCH it is Accept-Patch', async () => {
    const answer = await api.patch(`/users/${user.id}`, '{}', { type: 'application/json-patch+json' });
    assertStatus(answer, 415, 'unsupported_media_type');
    assert.deepEqual(answer.headers.list('accept-patch').sort(), ['application/json', 'application/merge-patch+json']);
  });

  test('a body without Content-Type is 415', async () => {
    assertStatus(await api.post('/users', newUser(), { type: null }), 415, 'unsupported_media_type');
  });

  test('JSON in any case and with parameters is JSON', async () => {
    for (const type of ['application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json;charset=UTF-8', 'application/json ; charset="utf-8"']) {
      assertStatus(await api.post('/users', newUser(), { type }), 201);
    }
  });

  test('an Accept that rules out JSON is 406', async () => {
    for (const accept of ['text/html', 'application/xml', 'text/*', 'application/json;q=0', 'image/png, text/plain;q=0.5', '*/*;q=0',
      'application/json;q=0, */*']) {
      assertStatus(await api.get('/users', { headers: { Accept: accept } }), 406, 'not_acceptable');
    }
    assertStatus(await api.post('/users', newUser(), { headers: { Accept: 'text/html' } }), 406, 'not_acceptable');
  });

  test('an Accept that leaves room for JSON is served', async () => {
    for (const accept of ['application/json', '*/*', 'application/*', 'text/html, application/json;q=0.1', 'text/html,*/*;q=0.8',
      'APPLICATION/JSON', 'application/json;q=1.000', 'text/html;q=0, */*']) {
      assertStatus(await api.get('/users?limit=1', { headers: { Accept: accept } }), 200);
    }
  });
});

describe('JSON', () => {
  const email = 'json@example.org';
  const invalid = {
    'nothing at all': '',
    'only a space': ' ',
    'half an object': '{"name":"x"',
    'bytes behind the document': `{"name":"x","email":"${email}"} x`,
    'two documents': `{"name":"x","email":"${email}"}{}`,
    'a comma at the end': `{"name":"x","email":"${email}",}`,
    'a comment': `{/* x */"name":"x","email":"${email}"}`,
    'single quotes': `{'name':'x','email':'${email}'}`,
    'a name without quotes': `{name:"x","email":"${email}"}`,
    'NaN': `{"name":NaN,"email":"${email}"}`,
    'a number with a leading zero': `{"name":01,"email":"${email}"}`,
    'a raw line feed in a string': `{"name":"a\nb","email":"${email}"}`,
    'an escape that is none': `{"name":"\\x41","email":"${email}"}`,
    'a lone high surrogate': `{"name":"\\ud83d","email":"${email}"}`,
    'a lone low surrogate': `{"name":"\\ude42","email":"${email}"}`,
    'surrogates the wrong way round': `{"name":"\\ude42\\ud83d","email":"${email}"}`,
    'a duplicate member': `{"name":"x","email":"${email}","name":"y"}`,
    'a duplicate member in another spelling': `{"name":"x","email":"${email}","n\\u0061me":"y"}`,
    'a duplicate member deeper down': `{"name":"x","email":"${email}","z":{"a":1,"a":2}}`,
    'invalid UTF-8': Buffer.concat([Buffer.from('{"name":"'), Buffer.of(0xff), Buffer.from(`","email":"${email}"}`)]),
    'an overlong UTF-8 form': Buffer.concat([Buffer.from('{"name":"'), Buffer.of(0xc0, 0xaf), Buffer.from(`","email":"${email}"}`)]),
    'a surrogate as UTF-8': Buffer.concat([Buffer.from('{"name":"'), Buffer.of(0xed, 0xa0, 0x80), Buffer.from(`","email":"${email}"}`)]),
    'UTF-8 that breaks off': Buffer.concat([Buffer.from('{"name":"'), Buffer.of(0xe2, 0x82), Buffer.from(`","email":"${email}"}`)]),
    'UTF-16': Buffer.from(`{"name":"x","email":"${email}"}`, 'utf16le'),
    'a deep nest': `${'['.repeat(100_000)}`,
  };
  for (const [label, body] of Object.entries(invalid)) {
    test(`${label} is invalid_json`, async () => {
      assertStatus(await api.post('/users', body), 400, 'invalid_json');
      assertStatus(await api.put(`/users/${user.id}`, body), 400, 'invalid_json');
    });
  }

  test('none of that made a user', async () => {
    assert.equal((await api.read(`/users?email=${email}`)).pagination.total, 0);
  });

  test('32 levels are read, 33 are not', async () => {
    const nested = (levels) => `{"name":"x","email":"${email}","z":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    assertFields(await api.post('/users', nested(32)), { '/z': 'unknown_field' });
    assertStatus(await api.post('/users', nested(33)), 400, 'invalid_json');
  });

  test('a document that is no object is refused', async () => {
    for (const body of ['[]', '"x"', '1', 'null', 'true', `[${JSON.stringify(newUser())}]`]) {
      const answer = await api.post('/users', body);
      assert.ok([400, 422].includes(answer.status), `${body}: ${answer.status}`);
    }
  });

  test('white space around the document is fine', async () => {
    assertStatus(await api.post('/users', ` \t\r\n${JSON.stringify(newUser())}\r\n `), 201);
  });
});

describe('field errors', () => {
  test('there are at most 50', async () => {
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`unknown_${i}`, i]));
    const answer = await api.post('/users', { ...newUser(), ...many });
    assertStatus(answer, 422, 'validation_failed');
    assert.equal(answer.json.errors.length, 50);
  });

  test('a member name in an error is escaped as JSON and as a pointer', async () => {
    assertFields(await api.post('/users', { ...newUser(), 'a/b': 1, '~': 2, '"\\\n': 3, 'é🙂': 4, '': 5 }), {
      '/a~1b': 'unknown_field', '/~0': 'unknown_field', '/"\\\n': 'unknown_field', '/é🙂': 'unknown_field', '/': 'unknown_field',
    });
  });

  test('a conflict and a missing record name no field codes of 422', async () => {
    assertStatus(await api.post('/users', { name: 'x', email: user.email }), 409, 'email_taken');
    assertStatus(await api.get('/users/9007199254740991'), 404, 'not_found');
  });
});

describe('problems', () => {
  const kinds = {
    invalid_json: () => api.post('/users', '{'),
    invalid_parameter: () => api.get('/users?limit=x'),
    key_missing: () => api.get('/users', { key: null }),
    not_found: () => api.get('/users/9007199254740991'),
    route_not_found: () => api.get('/nothing'),
    method_not_allowed: () => api.call('PUT', '/users', { body: {} }),
    not_acceptable: () => api.get('/users', { headers: { Accept: 'text/html' } }),
    unsupported_media_type: () => api.post('/users', 'x', { type: 'text/plain' }),
    validation_failed: () => api.post('/users', {}),
    email_taken: () => api.post('/users', { name: 'x', email: user.email }),
  };

  for (const [code, ask] of Object.entries(kinds)) {
    test(`${code} has a relative type, since no base URL is configured, and a request id of its own`, async () => {
      const first = (await ask()).json;
      const second = (await ask()).json;
      assert.equal(first.code, code);
      assert.equal(first.type, `/problems/${code}`);
      assert.equal(first.title, second.title, 'the title belongs to the code');
      assert.notEqual(first.request_id, second.request_id);
    });
  }

  test('the type leads to a page for people, without a key', async () => {
    const answer = await server.ask('GET', '/problems/key_missing');
    assertStatus(answer, 200);
    assert.match(answer.headers.get('content-type'), /^text\/html\b/);
    assert.match(answer.body.toString(), /key_missing/);
  });

  test('an error leaves the connection usable', async () => {
    const wire = await server.connect();
    for (let i = 0; i < 3; i += 1) {
      await wire.send(`GET /api/v1/users?limit=x HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
      assertStatus(await wire.response(), 400, 'invalid_parameter');
    }
    await wire.send(`GET /api/v1/users/${user.id} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
    assertStatus(await wire.response(), 200);
    wire.finish();
  });
});
