// HTTP/1.1 and 1.0 as bytes (docs/api.md §1), over TLS and over plain loopback alike.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertStatus, assertUser, chunked, links, message, newUser, sleep, startServer } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();
const api = server.client(key);
const ada = await api.create('/users', newUser({ name: 'Ada Lovelace' }));
const adaPath = `/api/v1/users/${ada.id}`;
const mebibyte = 1024 * 1024;

const get = (target, options = {}) => message('GET', target, { key, ...options });

for (const scheme of ['https', 'http']) {
  const open = (options) => server.connect({ scheme, ...options });

  describe(`on ${scheme}`, () => {
    test('a connection stays open for the next request', async () => {
      const wire = await open();
      for (let i = 0; i < 3; i += 1) {
        await wire.send(get(adaPath));
        const answer = await wire.response();
        assertStatus(answer, 200);
        assert.deepEqual(answer.json, ada);
        assert.doesNotMatch(answer.headers.get('connection') ?? '', /close/i);
      }
      wire.finish();
    });

    test('Connection: close is said back and done', async () => {
      const wire = await open();
      await wire.send(get(adaPath, { headers: { Connection: 'close' } }));
      const answer = await wire.response();
      assertStatus(answer, 200);
      assert.match(answer.headers.get('connection') ?? '', /\bclose\b/i);
      await wire.ending();
    });

    test('100 pipelined requests are answered in their order', async () => {
      const wire = await open();
      const ids = Array.from({ length: 100 }, (_, i) => `pipelined-${scheme}-${i}`);
      await wire.send(Buffer.concat(ids.map((id, i) => get(i % 3 === 2 ? '/api/v1/users/9007199254740991' : adaPath,
        { headers: { 'X-Request-Id': id } }))));
      for (const [i, id] of ids.entries()) {
        const answer = await wire.response();
        assert.equal(answer.headers.get('x-request-id'), id);
        assertStatus(answer, i % 3 === 2 ? 404 : 200);
      }
      wire.finish();
    });

    test('a pipelined write is seen by the read behind it', async () => {
      const wire = await open();
      const users = Array.from({ length: 8 }, () => newUser());
      await wire.send(Buffer.concat(users.flatMap((user) => [
        message('POST', '/api/v1/users', { key, body: user }),
        get(`/api/v1/users?email=${user.email}`),
      ])));
      for (const user of users) {
        const creation = await wire.response({ method: 'POST' });
        assertStatus(creation, 201);
        const list = await wire.response();
        assertStatus(list, 200);
        assert.deepEqual(list.json.data, [creation.json]);
        assert.equal(creation.json.name, user.name);
      }
      wire.finish();
    });

    test('pipelined writes, chunked ones among them, keep their order', async () => {
      const wire = await open();
      const users = Array.from({ length: 6 }, () => newUser());
      await wire.send(Buffer.concat(users.map((user, i) => (i % 2
        ? Buffer.concat([message('POST', '/api/v1/users', { key, headers: { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' } }),
          chunked(JSON.stringify(user).slice(0, 9), JSON.stringify(user).slice(9))])
        : message('POST', '/api/v1/users', { key, body: user })))));
      let last = 0;
      for (const user of users) {
        const creation = await wire.response({ method: 'POST' });
        assertStatus(creation, 201);
        assert.equal(creation.json.email, user.email);
        assert.ok(creation.json.id > last, 'ids follow the order of the requests');
        last = creation.json.id;
      }
      wire.finish();
    });

    test('a request that comes byte by byte is the same request', async () => {
      const wire = await open();
      const user = newUser();
      for (const byte of message('POST', '/api/v1/users', { key, body: user })) await wire.send(Buffer.of(byte));
      const creation = await wire.response({ method: 'POST' });
      assertStatus(creation, 201);
      assert.equal(creation.json.email, user.email);
      wire.finish();
    });

    test('a request whose body comes later than its head is about the record of its target', async () => {
      const first = await api.create('/users', newUser());
      const second = await api.create('/users', newUser());
      const post = await api.create('/posts', { user_id: second.id, title: 'mine' });
      const wire = await open();
      for (const chunks of [false, true]) {
        for (const cut of [-9, 0, 1, 9]) { // the second packet begins so many bytes after the head
          for (const [method, target, body] of [
            ['PATCH', `/api/v1/users/${second.id}`, { name: `Cut at ${cut}` }],
            ['PUT', `/users/${second.id}`, { name: `${first.id} cut at ${cut}`, email: second.email }],
            ['PATCH', `/api/v1/posts/${post.id}`, { title: `Cut at ${cut}`, body: 'b'.repeat(3000) }],
          ]) {
            const head = message(method, target, { key, body, headers: chunks ? { 'Transfer-Encoding': 'chunked' } : {} });
            const offset = head.indexOf('\r\n\r\n') + 4;
            const bytes = chunks ? Buffer.concat([head.subarray(0, offset), chunked(head.subarray(offset))]) : head;
            await wire.send(bytes.subarray(0, offset + cut));
            await sleep(10); // the parts come apart
            await wire.send(bytes.subarray(offset + cut));
            const answer = await wire.response({ method });
            assertStatus(answer, 200);
            assert.equal(answer.json.id, Number(target.split('/').at(-1)));
            for (const [name, value] of Object.entries(body)) assert.equal(answer.json[name], value);
          }
        }
      }
      wire.finish();
      assert.deepEqual(await api.read(`/users/${first.id}`), first, 'no other record was changed');
    });

    test('a large body is taken on every method, alone and after other requests', async () => {
      const owner = await api.create('/users', newUser());
      const post = await api.create('/posts', { user_id: owner.id, title: 'large' });
      const large = (fill) => ({ user_id: owner.id, title: 'large', body: fill.repeat(65536), status: 'draft' });
      for (const pipelined of [0, 3]) {
        for (const method of ['PUT', 'PATCH', 'POST']) {
          const wire = await open();
          for (let i = 0; i < pipelined; i += 1) {
            await wire.send(get(adaPath));
            assertStatus(await wire.response(), 200);
          }
          const body = JSON.stringify(large(String(pipelined)));
          await wire.send(message(method, method === 'POST' ? '/api/v1/posts' : `/api/v1/posts/${post.id}`, { key, body: body + ' '.repeat(200_000) }));
          const answer = await wire.response({ method });
          assertStatus(answer, method === 'POST' ? 201 : 200);
          assert.ok(answer.json.body === large(String(pipelined)).body);
          wire.finish();
        }
      }
      await api.delete(`/users/${owner.id}`);
    });

    test('3000 pipelined requests in one burst are all answered', async () => {
      const wire = await open();
      const burst = wire.send(Buffer.concat(Array.from({ length: 3000 }, (_, i) => get(adaPath, { headers: { 'X-Request-Id': `burst-${String(i).padStart(4, '0')}` } }))));
      for (let i = 0; i < 3000; i += 1) {
        const answer = await wire.response();
        assertStatus(answer, 200);
        assert.equal(answer.headers.get('x-request-id'), `burst-${String(i).padStart(4, '0')}`);
      }
      await burst;
      wire.finish();
    });

    test('a chunked body is put together, also when its chunks come in pieces', async () => {
      const wire = await open();
      const user = newUser({ name: 'Chunky Ünïcode 🙂' });
      const body = chunked(...JSON.stringify(user).match(/.{1,5}/gsu));
      await wire.send(message('POST', '/api/v1/users', { key, headers: { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' } }));
      for (let index = 0; index < body.length; index += 7) {
        await wire.send(body.subarray(index, index + 7));
        if (index % 3 === 0) await sleep(1); // some parts come apart
      }
      const creation = await wire.response({ method: 'POST' });
      assertStatus(creation, 201);
      assert.equal(creation.json.name, user.name);
      await wire.send(get(`/api/v1/users/${creation.json.id}`));
      assert.deepEqual((await wire.response()).json, creation.json);
      wire.finish();
    });

    test('Expect: 100-continue is answered with 100 before the body comes', async () => {
      const wire = await open();
      const user = newUser();
      const body = Buffer.from(JSON.stringify(user));
      await wire.send(message('POST', '/api/v1/users', { key,
        headers: { 'Content-Type': 'application/json', 'Content-Length': body.length, Expect: '100-continue' } }));
      const interim = await wire.response({ method: 'POST' });
      assert.equal(interim.status, 100);
      await wire.send(body);
      const creation = await wire.response({ method: 'POST' });
      assertStatus(creation, 201);
      assert.equal(creation.json.email, user.email);
      wire.finish();
    });

    test('HEAD is GET without the body', async () => {
      const wire = await open();
      for (const target of [adaPath, '/api/v1/users', '/api/v1/posts', `${adaPath}/posts`, `${adaPath}?include=posts`]) {
        await wire.send(get(target));
        const full = await wire.response();
        await wire.send(message('HEAD', target, { key }));
        const bare = await wire.response({ method: 'HEAD' });
        assertStatus(full, 200);
        assertStatus(bare, 200);
        for (const name of ['content-length', 'content-type', 'cache-control', 'link', 'vary']) {
          const isLeftOut = Number(full.headers.get('content-length')) > 65_536 && ['content-length', 'link'].includes(name);
          if (!isLeftOut) assert.equal(bare.headers.get(name), full.headers.get(name), `${name} of HEAD ${target}`);
        }
      }
      await wire.send(message('HEAD', '/api/v1/users/9007199254740991', { key }));
      assertStatus(await wire.response({ method: 'HEAD' }), 404);
      await wire.send(get(adaPath));
      assertStatus(await wire.response(), 200);
      wire.finish();
    });

    test('HTTP/1.0 is answered and the connection ended', async () => {
      const wire = await open();
      await wire.send(get(adaPath, { version: '1.0' }));
      const answer = await wire.response();
      assertStatus(answer, 200);
      assert.deepEqual(answer.json, ada);
      await wire.ending();
    });

    test('HTTP/1.0 with Connection: keep-alive stays open and says so', async () => {
      const wire = await open();
      for (let i = 0; i < 2; i += 1) {
        await wire.send(get(adaPath, { version: '1.0', headers: { Connection: 'keep-alive' } }));
        const answer = await wire.response();
        assertStatus(answer, 200);
        assert.match(answer.headers.get('connection') ?? '', /\bkeep-alive\b/i, 'a 1.0 client must be told');
      }
      wire.finish();
    });

    test('the body may be exactly 1 MiB', async () => {
      const user = newUser();
      const text = JSON.stringify(user);
      const answer = await server.ask('POST', '/api/v1/users', { scheme, key, body: text + ' '.repeat(mebibyte - text.length) });
      assertStatus(answer, 201);
      assert.equal(answer.json.email, user.email);
    });

    test('a declared body of 1 MiB and a byte is refused without waiting for it', async () => {
      const wire = await open();
      await wire.send(message('POST', '/api/v1/users', { key, headers: { 'Content-Type': 'application/json', 'Content-Length': mebibyte + 1 } }));
      assertStatus(await wire.response({ method: 'POST' }), 413, 'body_too_large');
      wire.close();
    });

    test('a chunked body is refused once its chunks are over 1 MiB', async () => {
      const wire = await open();
      await wire.send(message('POST', '/api/v1/users', { key, headers: { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' } }));
      const chunk = Buffer.concat([Buffer.from(`${(mebibyte / 16).toString(16)}\r\n`), Buffer.alloc(mebibyte / 16, 0x20), Buffer.from('\r\n')]);
      for (let i = 0; i < 16; i += 1) await wire.send(chunk);
      await sleep(50); // nothing comes
      assert.equal(wire.size, 0, '1 MiB is not too much');
      await wire.send('1\r\n \r\n');
      assertStatus(await wire.response({ method: 'POST' }), 413, 'body_too_large');
      await wire.ending();
    });

    // RFC 9112, 9.6: closing while the client still sends would destroy the answer before it was read.
    test('a client that sends too large a body to its end can read the 413', async () => {
      for (let i = 0; i < 12; i += 1) {
        const wire = await open();
        wire.send(message('POST', '/api/v1/users', { key, body: Buffer.alloc(mebibyte + 1 + (i % 3) * 1_000_000, 0x20) }));
        assertStatus(await wire.response({ method: 'POST' }), 413, 'body_too_large');
        wire.close();
      }
    });

    test('a reader that is slow gets every byte of a large answer', async () => {
      const owner = await api.create('/users', newUser());
      const text = 'ß'.repeat(32768);
      for (let i = 0; i < 40; i += 1) await api.create('/posts', { user_id: owner.id, title: `long ${i}`, body: text });
      const wire = await open();
      await wire.send(Buffer.concat([get(`/api/v1/posts?author=${owner.id}&limit=100`), get(adaPath)]));
      for (let i = 0; i < 10; i += 1) {
        wire.socket.pause();
        await sleep(20); // it does not read
        wire.socket.resume();
        await sleep(2); // it reads a part
      }
      const answer = await wire.response();
      assertStatus(answer, 200);
      assert.ok(answer.json.data.length >= 15 && answer.json.pagination.has_more !== false, 'a page of about 1 MiB');
      for (const [i, post] of answer.json.data.entries()) {
        assert.equal(post.title, `long ${i}`);
        assert.ok(post.body === text, 'the body of the post is whole');
      }
      assert.deepEqual((await wire.response()).json, ada);
      wire.finish();
      await api.delete(`/users/${owner.id}`);
    });
  });
}

describe('requests', () => {
  test('an absolute-form target is the same path', async () => {
    for (const target of [`http://api.example.org${adaPath}`, `https://api.example.org:8443${adaPath}`]) {
      const answer = await server.ask('GET', target, { key });
      assertStatus(answer, 200);
      assert.deepEqual(answer.json, ada);
    }
  });

  test('the authority is never echoed', async () => {
    const wire = await server.connect();
    await wire.send(message('POST', 'http://evil.example.org/api/v1/users', { key, body: newUser(), host: 'other.example.org' }));
    const creation = await wire.response({ method: 'POST' });
    assertStatus(creation, 201);
    await wire.send(get('/api/v1/users?limit=1', { host: 'other.example.org' }));
    const list = await wire.response();
    await wire.send(get('/api/v1/users/0', { host: 'other.example.org' }));
    const missing = await wire.response();
    for (const answer of [creation, list, missing]) {
      assert.doesNotMatch(answer.head + answer.body, /(evil|other)\.example\.org/);
    }
    assert.equal(creation.headers.get('location'), `/api/v1/users/${creation.json.id}`);
    wire.finish();
  });

  test('an empty line before a request line is skipped', async () => {
    const wire = await server.connect();
    for (let i = 0; i < 2; i += 1) {
      await wire.send(Buffer.concat([Buffer.from('\r\n'), get(adaPath)]));
      assertStatus(await wire.response(), 200);
    }
    wire.finish();
  });

  test('names of header fields and the Bearer scheme have no case', async () => {
    const wire = await server.connect();
    await wire.send(`GET ${adaPath} HTTP/1.1\r\nhOsT: localhost\r\nx-aPi-kEy:\t ${key} \r\nX-REQUEST-ID:caseless-1\r\n\r\n`);
    const answer = await wire.response();
    assertStatus(answer, 200);
    assert.equal(answer.headers.get('x-request-id'), 'caseless-1');
    wire.finish();
  });

  test('no answer is compressed, whatever the client would take', async () => {
    const answer = await server.ask('GET', '/api/v1/users', { key, headers: { 'Accept-Encoding': 'gzip, br, zstd' } });
    assertStatus(answer, 200);
    assert.ok(Array.isArray(answer.json.data));
  });

  test('no CORS header is sent, not to a preflight either', async () => {
    const origin = { Origin: 'https://app.example.org', 'Access-Control-Request-Method': 'POST' };
    assertStatus(await server.ask('GET', adaPath, { key, headers: origin }), 200); // the reader refuses CORS headers
    assertStatus(await server.ask('OPTIONS', adaPath, { key, headers: origin }), 204);
    assertStatus(await server.ask('OPTIONS', adaPath, { headers: origin }), 401, 'key_missing');
  });

  test('an upgrade is not taken up', async () => {
    const answer = await server.ask('GET', adaPath, { key, headers: { Connection: 'Upgrade, close', Upgrade: 'h2c' } });
    assertStatus(answer, 200);
  });

  test('HTTP/1.0 needs no Host, and its Expect is ignored', async () => {
    const wire = await server.connect();
    const body = JSON.stringify(newUser());
    await wire.send(`POST /api/v1/users HTTP/1.0\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
    await sleep(100); // nothing comes
    assert.equal(wire.size, 0, 'no 100 for HTTP/1.0 (RFC 9110, 10.1.1)');
    await wire.send(body);
    assertStatus(await wire.response({ method: 'POST' }), 201);
    await wire.ending();
  });

  test('an expectation other than 100-continue is 417', async () => {
    assertStatus(await server.ask('POST', '/api/v1/users', { key, body: newUser(), headers: { Expect: 'a-miracle' } }), 417, 'expectation_failed');
  });

  test('Expect: 100-continue with too large a body is refused, not invited', async () => {
    const wire = await server.connect();
    await wire.send(message('POST', '/api/v1/users', { key, headers: { 'Content-Type': 'application/json', 'Content-Length': mebibyte + 1, Expect: '100-continue' } }));
    assertStatus(await wire.response({ method: 'POST' }), 413, 'body_too_large');
    wire.close();
  });

  test('Expect: 100-continue with a bad key ends in 401', async () => {
    const wire = await server.connect({ from: '127.0.0.20' });
    await wire.send(message('POST', '/api/v1/users', { key: 'wrong', headers: { 'Content-Type': 'application/json', 'Content-Length': 2, Expect: '100-continue' } }));
    let answer = await wire.response({ method: 'POST' });
    if (answer.status === 100) {
      await wire.send('{}');
      answer = await wire.response({ method: 'POST' });
    }
    assertStatus(answer, 401, 'key_invalid');
    wire.close();
  });

  test('what follows a request with Connection: close is not carried out', async () => {
    const user = newUser();
    const wire = await server.connect();
    await wire.send(Buffer.concat([
      get(adaPath, { headers: { Connection: 'close' } }),
      message('POST', '/api/v1/users', { key, body: user }),
    ]));
    await wire.response();
    await wire.ending();
    assert.equal((await api.read(`/users?email=${user.email}`)).pagination.total, 0);
  });
});

describe('methods and paths', () => {
  const users = ['GET', 'HEAD', 'OPTIONS', 'POST'];
  const one = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT'];
  const read = ['GET', 'HEAD', 'OPTIONS'];
  const paths = {
    '/api/v1/users': users,
    '/api/v1/posts': users,
    [adaPath]: one,
    '/api/v1/posts/1': one,
    [`${adaPath}/posts`]: read,
  };

  for (const [target, allowed] of Object.entries(paths)) {
    const name = target.replace(/\/[0-9]+(?=\/|$)/, '/{id}');
    test(`OPTIONS ${name} is 204 with its methods`, async () => {
      const answer = await server.ask('OPTIONS', target, { key });
      assertStatus(answer, 204);
      assert.deepEqual(answer.headers.list('allow').sort(), allowed);
    });

    test(`another method on ${name} is 405 with Allow`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((m) => !allowed.includes(m))) {
        const answer = await server.ask(method, target, { key, body: method === 'GET' ? undefined : {} });
        assertStatus(answer, 405, 'method_not_allowed');
        assert.deepEqual(answer.headers.list('allow').sort(), allowed, `Allow for ${method}`);
      }
    });
  }

  test('an unknown method is 405 on a known path, and 501 where it is too long', async () => {
    for (const method of ['QUERY', 'BREW', 'get', 'FOOBAR']) {
      assertStatus(await server.ask(method, '/api/v1/users', { key }), 405, 'method_not_allowed');
    }
    assertStatus(await server.ask('M'.repeat(33), '/api/v1/users', { key }), 501, 'method_not_implemented');
  });

  test('a path that is none is 404', async () => {
    for (const target of ['/', '/api', '/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v2/users', '/api/v01/users',
      '/API/v1/users', '/api/v1/Users', '/api/v1//users', '/api/v1/users/1/comments', '/api/v1/posts/1/posts',
      '/keys', '/api/v1/api/v1/users']) {
      assertStatus(await server.ask('GET', target, { key }), 404, 'route_not_found');
    }
  });

  test('a trailing slash is another path: 404', async () => {
    for (const target of ['/api/v1/users/', '/api/v1/posts/', `${adaPath}/`, `${adaPath}/posts/`, '/users/']) {
      assertStatus(await server.ask('GET', target, { key }), 404, 'route_not_found');
    }
    assertStatus(await server.ask('POST', '/api/v1/users/', { key, body: newUser() }), 404, 'route_not_found');
  });

  test('a path id that is no id is 404', async () => {
    const ids = ['0', '01', '-1', '+1', '1.0', '1e0', 'abc', '0x1', '1a', ' 1'.replace(' ', '%20'), '12345678901234567', '9007199254740991', '9999999999999999'];
    for (const id of ids) {
      for (const target of [`/api/v1/users/${id}`, `/api/v1/posts/${id}`, `/api/v1/users/${id}/posts`]) {
        assertStatus(await server.ask('GET', target, { key }), 404);
      }
      assertStatus(await server.ask('DELETE', `/api/v1/users/${id}`, { key }), 404);
    }
  });

  test('the user and post paths also answer without the prefix, with the canonical link', async () => {
    const owner = await api.create('/users', newUser());
    const post = await api.create('/posts', { user_id: owner.id, title: 'short path' });
    const pairs = {
      [`/users/${owner.id}`]: owner,
      [`/posts/${post.id}`]: post,
    };
    for (const [target, document] of Object.entries(pairs)) {
      const answer = await server.ask('GET', target, { key });
      assertStatus(answer, 200);
      assert.deepEqual(answer.json, document);
      assert.equal(links(answer).canonical, `/api/v1${target}`);
    }
    for (const target of ['/users', '/posts', `/users/${owner.id}/posts`]) {
      const answer = await server.ask('GET', `${target}?limit=1`, { key });
      assertStatus(answer, 200);
      for (const [rel, href] of Object.entries(links(answer))) {
        assert.equal(href.split('?')[0], `/api/v1${target}`, `the ${rel} link uses the prefix`);
      }
      assert.ok('canonical' in links(answer));
    }
  });

  test('writes without the prefix work too, and Location uses the prefix', async () => {
    const creation = await server.ask('POST', '/users', { key, body: newUser() });
    assertStatus(creation, 201);
    assertUser(creation.json);
    assert.equal(creation.headers.get('location'), `/api/v1/users/${creation.json.id}`);
    assert.equal(links(creation).canonical, '/api/v1/users');
    const post = await server.ask('POST', '/posts', { key, body: { user_id: creation.json.id, title: 'x' } });
    assertStatus(post, 201);
    assert.equal(post.headers.get('location'), `/api/v1/posts/${post.json.id}`);
    assertStatus(await server.ask('PATCH', `/posts/${post.json.id}`, { key, body: { title: 'y' } }), 200);
    assertStatus(await server.ask('DELETE', `/users/${creation.json.id}`, { key }), 204);
  });

  test('the prefixed path names no canonical one', async () => {
    assert.equal(links(await server.ask('GET', adaPath, { key })).canonical, undefined);
  });

  test('healthz needs no key', async () => {
    assertStatus(await server.ask('GET', '/healthz'), 200);
  });
});

describe('headers of every response', () => {
  test('a good X-Request-Id is echoed', async () => {
    for (const id of ['abcdefgh', 'A-b_9'.repeat(12), 'x'.repeat(64)]) {
      assert.equal((await server.ask('GET', adaPath, { key, headers: { 'X-Request-Id': id } })).headers.get('x-request-id'), id);
      const refusal = await server.ask('GET', adaPath, { headers: { 'X-Request-Id': id } });
      assertStatus(refusal, 401);
      assert.equal(refusal.headers.get('x-request-id'), id);
      assert.equal(refusal.json.request_id, id);
    }
  });

  test('any other X-Request-Id is replaced by one of ours', async () => {
    for (const id of [undefined, 'abcdefg', 'x'.repeat(65), 'with space', 'with.dot.s', 'quote"quote', '']) {
      const answer = await server.ask('GET', adaPath, { key, headers: id === undefined ? {} : { 'X-Request-Id': id } });
      assertStatus(answer, 200);
      assert.match(answer.headers.get('x-request-id'), /^req_[0-9A-Za-z]{22}$/);
    }
  });

  test('made request ids differ', async () => {
    const ids = new Set();
    for (let i = 0; i < 50; i += 1) ids.add((await api.get('/users/1')).headers.get('x-request-id'));
    assert.equal(ids.size, 50);
  });

  test('a resource is private and varies by the key', async () => {
    for (const target of [adaPath, '/api/v1/users', '/api/v1/posts', `${adaPath}/posts`]) {
      const answer = await server.ask('GET', target, { key });
      const cache = answer.headers.list('cache-control').sort();
      assert.deepEqual(cache, ['no-cache', 'private'], target);
      const vary = answer.headers.list('vary').map((v) => v.toLowerCase());
      assert.ok(vary.includes('authorization') && vary.includes('x-api-key'), `Vary of ${target}: ${vary}`);
    }
  });

  test('there is no Strict-Transport-Security with a certificate that was made here', async () => {
    for (const scheme of ['https', 'http']) {
      const answer = await server.ask('GET', adaPath, { key, scheme });
      assert.equal(answer.headers.get('strict-transport-security'), null, scheme);
    }
  });
});

describe('limits', () => {
  const line = (length) => {
    const fixed = 'GET /api/v1/ HTTP/1.1'.length;
    return `/api/v1/${'n'.repeat(length - fixed)}`;
  };

  test('a request line of nearly 8 KiB is read', async () => {
    assertStatus(await server.ask('GET', line(8192 - 16), { key }), 404, 'route_not_found');
  });

  test('a request line over 8 KiB is 414', async () => {
    for (const length of [8192 + 16, 12000, 40000]) {
      const wire = await server.connect();
      wire.send(`GET ${line(length)} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
      assertStatus(await wire.response(), 414, 'uri_too_long');
      wire.close();
    }
  });

  const fields = (count) => Array.from({ length: count }, (_, i) => `X-Field-${i}: v\r\n`).join('');

  test('100 header fields are read, 101 are 431', async () => {
    const wire = await server.connect();
    await wire.send(`GET ${adaPath} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${fields(98)}\r\n`);
    assertStatus(await wire.response(), 200);
    await wire.send(`GET ${adaPath} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${fields(99)}\r\n`);
    assertStatus(await wire.response(), 431, 'headers_too_large');
    await wire.ending();
  });

  test('a header section of nearly 16 KiB is read, a larger one is 431', async () => {
    const wire = await server.connect();
    await wire.send(get(adaPath, { headers: { 'X-Large': 'v'.repeat(15 * 1024) } }));
    assertStatus(await wire.response(), 200);
    await wire.send(get(adaPath, { headers: { 'X-Large': 'v'.repeat(16 * 1024 + 1) } }));
    assertStatus(await wire.response(), 431, 'headers_too_large');
    wire.close();
  });

  test('a header section without an end is refused at its limit', async () => {
    const wire = await server.connect();
    wire.socket.on('error', () => {});
    wire.send(`GET ${adaPath} HTTP/1.1\r\nHost: x\r\nX-Large: ${'v'.repeat(64 * 1024)}`);
    assertStatus(await wire.response(), 431, 'headers_too_large');
    wire.close();
  });
});

describe('what is slow is cut off', { concurrency: true }, () => {
  const assertElapsed = (startTime, least, most) => {
    const seconds = (Date.now() - startTime) / 1000;
    assert.ok(seconds >= least && seconds <= most, `after ${seconds.toFixed(1)} s, not ${least} to ${most}`);
  };

  test('half a header section is 408 after 10 s', async () => {
    const wire = await server.connect();
    const beginTime = Date.now();
    await wire.send(`GET ${adaPath} HTTP/1.1\r\nHost: x\r\nX-API`);
    assertStatus(await wire.response(), 408, 'request_timeout');
    assertElapsed(beginTime, 9, 13);
    await wire.ending();
  });

  test('a header section that drips in is 408 after 10 s all the same', async () => {
    const wire = await server.connect();
    const startTime = Date.now();
    wire.send('GET ');
    const drip = setInterval(() => wire.send('/'), 500);
    const answer = await wire.response().finally(() => clearInterval(drip));
    assertStatus(answer, 408, 'request_timeout');
    assertElapsed(startTime, 9, 13);
    wire.close();
  });

  test('a TLS handshake that does not begin is ended after 10 s', async () => {
    const { default: net } = await import('node:net');
    const { host, port } = server.at('https');
    const startTime = Date.now();
    const socket = net.connect(port, host);
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the connection is still open after 14 s')), 14_000);
      socket.resume().once('close', () => {
        clearTimeout(timer);
        resolve();
      }).once('error', () => {});
    });
    assertElapsed(startTime, 9, 13);
  });

  test('others are served meanwhile', async () => {
    await sleep(5000); // the others are half way to their limits
    assertStatus(await server.ask('GET', adaPath, { key }), 200);
  });
});

describe('malformed requests', () => {
  const h = `X-API-Key: ${key}\r\n`;
  const post = `POST /api/v1/users HTTP/1.1\r\nHost: x\r\n${h}Content-Type: application/json\r\n`;
  const refusals = {
    'a bare LF after the request line': `GET ${adaPath} HTTP/1.1\nHost: x\r\n${h}\r\n`,
    'a bare LF after a field': `GET ${adaPath} HTTP/1.1\r\nHost: x\n${h}\r\n`,
    'a bare CR in a field': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X-A: b\rX-C: d\r\n\r\n`,
    'a bare CR before Transfer-Encoding': `${post}X-A: \rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'a folded line': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X-A: b\r\n c\r\n\r\n`,
    'a space before the colon': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X-A : b\r\n\r\n`,
    'a field without a colon': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X-A\r\n\r\n`,
    'an empty field name': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}: b\r\n\r\n`,
    'a field name that is no token': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X(A): b\r\n\r\n`,
    'NUL in a field': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X-A: b\0c\r\n\r\n`,
    'no Host on 1.1': `GET ${adaPath} HTTP/1.1\r\n${h}\r\n`,
    'two Hosts': `GET ${adaPath} HTTP/1.1\r\nHost: x\r\nHost: x\r\n${h}\r\n`,
    'a Host that is none': `GET ${adaPath} HTTP/1.1\r\nHost: a b\r\n${h}\r\n`,
    'no version': `GET ${adaPath}\r\n${h}\r\n`,
    'two spaces before the version': `GET ${adaPath}  HTTP/1.1\r\nHost: x\r\n${h}\r\n`,
    'a target that is no path': `GET api/v1/users HTTP/1.1\r\nHost: x\r\n${h}\r\n`,
    'bytes outside of the URI set in the target': `GET /api/v1/us\xe9rs HTTP/1.1\r\nHost: x\r\n${h}\r\n`,
    'a fragment in the target': `GET ${adaPath}#top HTTP/1.1\r\nHost: x\r\n${h}\r\n`,
    'a star with GET': `GET * HTTP/1.1\r\nHost: x\r\n${h}\r\n`,
    'Content-Length with Transfer-Encoding': `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'two different Content-Lengths': `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    'a Content-Length with a sign': `${post}Content-Length: +2\r\n\r\n{}`,
    'a negative Content-Length': `${post}Content-Length: -2\r\n\r\n{}`,
    'a hexadecimal Content-Length': `${post}Content-Length: 0x2\r\n\r\n{}`,
    'an empty Content-Length': `${post}Content-Length:\r\n\r\n{}`,
    'a Transfer-Encoding on 1.0': `POST /api/v1/users HTTP/1.0\r\n${h}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'two Transfer-Encodings': `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'chunked twice': `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
    'a chunk size that is none': `${post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n`,
    'a chunk size with a sign': `${post}Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n`,
    'a chunk that is longer than its size': `${post}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
    'a bare LF after a chunk size': `${post}Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n`,
    'a bare LF after the last chunk': `${post}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\n\r\n`,
  };

  for (const [name, bytes] of Object.entries(refusals)) {
    test(`${name}: 400 and the end, and nothing behind it is read`, async () => {
      const user = newUser();
      const wire = await server.connect();
      wire.send(bytes);
      const answer = await wire.response();
      assertStatus(answer, 400, 'malformed_request');
      assert.match(answer.headers.get('connection') ?? '', /\bclose\b/i);
      wire.send(message('POST', '/api/v1/users', { key, body: user }));
      await wire.ending();
      assert.equal((await api.read(`/users?email=${user.email}`)).pagination.total, 0, 'a smuggled request was carried out');
    });
  }

  test('a transfer coding other than chunked is 400 or 501 and the end', async () => {
    for (const coding of ['gzip', 'gzip, chunked', 'identity', 'xchunked', 'chunked;q=1']) {
      const wire = await server.connect();
      wire.send(`${post}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`);
      const answer = await wire.response();
      assert.ok([400, 501].includes(answer.status), `${coding}: ${answer.status}`);
      await wire.ending();
    }
  });

  test('a version other than 1.x is 505', async () => {
    for (const version of ['2.0', '0.9', '3.0']) {
      const wire = await server.connect();
      wire.send(`GET ${adaPath} HTTP/${version}\r\nHost: x\r\n${h}\r\n`);
      assertStatus(await wire.response(), 505, 'http_version_not_supported');
      await wire.ending();
    }
  });

  test('a malformed request is refused before the key is looked at', async () => {
    const wire = await server.connect();
    wire.send(`GET ${adaPath} HTTP/1.1\r\n\r\n`);
    assertStatus(await wire.response(), 400, 'malformed_request');
    await wire.ending();
  });

  test('the refusal of a HEAD has no body either', async () => {
    for (const bytes of [`HEAD ${adaPath} HTTP/1.1\r\n${h}\r\n`, `HEAD ${adaPath} HTTP/1.1\r\nHost: x\r\n${h}X A: b\r\n\r\n`]) {
      const wire = await server.connect();
      wire.send(bytes);
      assertStatus(await wire.response({ method: 'HEAD' }), 400);
      await wire.ending(); // RFC 9110, 9.3.2: no content in the answer to HEAD
    }
  });

  test('the good requests before a bad one are answered first', async () => {
    const wire = await server.connect();
    await wire.send(Buffer.concat([get(adaPath), get(adaPath), Buffer.from('nonsense\r\n\r\n')]));
    assertStatus(await wire.response(), 200);
    assertStatus(await wire.response(), 200);
    const last = await wire.response();
    assert.ok([400, 501].includes(last.status), `${last.status}`);
    await wire.ending();
  });

  test('a client that goes away in the middle of its body leaves nothing behind', async () => {
    const user = newUser();
    const wire = await server.connect({ scheme: 'http' });
    const bytes = message('POST', '/api/v1/users', { key, body: user });
    await wire.send(bytes.subarray(0, bytes.length - 3));
    await sleep(50); // the part arrives
    wire.close();
    await sleep(100); // nothing comes of it
    assert.equal((await api.read(`/users?email=${user.email}`)).pagination.total, 0);
  });
});
