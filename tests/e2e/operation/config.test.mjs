// What the configuration file changes: trusted proxies, the base URL, the limits (docs/api.md §1, §2; the names are those
// that `latchkey config show` prints).

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertStatus, command, links, makeKey, message, newUser, sleep, startServer, until } from '../helpers/harness.mjs';
import { descriptors } from '../helpers/load_clients.mjs';

async function withConfig(config, act) {
  const server = await startServer({ config });
  try {
    const { key } = await server.makeKey();
    await act(server, key);
  } finally {
    await server.stop();
  }
}

describe('a trusted proxy', () => {
  const config = 'trusted_proxies = ["127.0.0.1/32", "192.0.2.0/24"]\n';
  const users = '/api/v1/users';

  test('must say that its client came by https, before anything else counts', () => withConfig(config, async (server, key) => {
    const ask = (headers, options = {}) => server.ask('GET', users, { scheme: 'http', key, headers, ...options });
    assertStatus(await ask({ 'X-Forwarded-Proto': 'https' }), 200);
    for (const headers of [{}, { 'X-Forwarded-Proto': 'http' }, { 'X-Forwarded-Proto': '' }, { 'X-Forwarded-Proto': 'https, http' }]) {
      const answer = await ask(headers);
      assertStatus(answer, 403, 'https_required');
      assert.equal(answer.headers.get('location'), null, 'never redirected');
    }
    assertStatus(await ask({}, { key: null }), 403, 'https_required');
    assertStatus(await ask({}, { key: 'wrong' }), 403, 'https_required');
    assertStatus(await ask({}, { from: '127.0.0.2' }), 200); // loopback that is no proxy
  }));

  test('names the client: the right-most entry that is no trusted proxy', async () => {
    const server = await startServer({ config });
    const { key } = await server.makeKey();
    const expected = {
      '198.51.100.7': '198.51.100.7',
      '203.0.113.9, 198.51.100.7': '198.51.100.7',
      '198.51.100.7, 192.0.2.44': '198.51.100.7',
      '198.51.100.7,127.0.0.1 , 192.0.2.1': '198.51.100.7',
      '2001:db8::17': '2001:db8::17',
    };
    let i = 0;
    for (const value of Object.keys(expected)) {
      i += 1;
      assertStatus(await server.ask('GET', users, { scheme: 'http', key, headers: { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': value, 'X-Request-Id': `forwarded-${i}` } }), 200);
    }
    assertStatus(await server.ask('GET', users, { scheme: 'http', from: '127.0.0.2', key, headers: { 'X-Forwarded-For': '198.51.100.7', 'X-Request-Id': 'stranger-1' } }), 200);
    await server.stop();
    const ips = Object.fromEntries(server.logLines().map((l) => [l.request_id, l.ip]));
    Object.values(expected).forEach((ip, index) => assert.equal(ips[`forwarded-${index + 1}`], ip, Object.keys(expected)[index]));
    assert.equal(ips['stranger-1'], '127.0.0.2', 'an untrusted peer is not believed');
  });
});

test('base_url is before every link and type', () => withConfig('base_url = "https://api.example.org"\n', async (server, key) => {
  const api = server.client(key);
  const user = await api.post('/users', newUser());
  assertStatus(user, 201);
  assert.match(user.headers.get('location'), /^(https:\/\/api\.example\.org)?\/api\/v1\/users\/1$/);
  await api.create('/users', newUser());
  const urls = Object.values(links(await api.get('/users?limit=1')));
  assert.ok(urls.length >= 2);
  for (const href of urls) assert.ok(href.startsWith('https://api.example.org/api/v1/users?'), href);
  const refusal = await api.get('/users/999999');
  assert.equal(refusal.json.type, 'https://api.example.org/problems/not_found');
  api.close();
}));

describe('limits', () => {
  test('of time: header section, body, idle connection', () => withConfig('[http]\nheader_seconds = 1\nbody_seconds = 1\nidle_seconds = 1\n', async (server, key) => {
    const timed = async (act) => {
      const startTime = Date.now();
      await act();
      const seconds = (Date.now() - startTime) / 1000;
      assert.ok(seconds > 0.7 && seconds < 4, `after ${seconds.toFixed(1)} s`);
    };
    const slow = async (scheme) => {
      const header = await server.connect({ scheme });
      await header.send('GET /api/v1/users HTTP/1.1\r\nHost: x\r\n');
      const body = await server.connect({ scheme });
      await body.send(message('POST', '/api/v1/users', { key, headers: { 'Content-Type': 'application/json', 'Content-Length': 40 } }) + '{"name":');
      const drip = await server.connect({ scheme });
      await drip.send(message('POST', '/api/v1/users', { key, headers: { 'Content-Type': 'application/json', 'Content-Length': 4000 } }));
      const drops = setInterval(() => drip.send(' '), 100);
      const idle = await server.connect({ scheme });
      await idle.send(message('GET', '/api/v1/users', { key }));
      assertStatus(await idle.response(), 200);
      await Promise.all([
        timed(async () => assertStatus(await header.response(), 408, 'request_timeout')),
        timed(async () => assertStatus(await body.response({ method: 'POST' }), 408, 'request_timeout')),
        timed(async () => assertStatus(await drip.response({ method: 'POST' }), 408, 'request_timeout')),
        timed(() => idle.ending()),
      ]).finally(() => clearInterval(drops));
      for (const wire of [header, body, drip]) wire.close();
    };
    await Promise.all([slow('http'), slow('https')]);
  }));

  test('of a client that does not read its answer', () => withConfig('[http]\nsend_seconds = 1\n', async (server, key) => {
    const api = server.client(key);
    const owner = await api.create('/users', newUser());
    for (let i = 0; i < 100; i += 1) await api.create('/posts', { user_id: owner.id, title: `p${i}`, body: 'x'.repeat(65536) });
    for (const scheme of ['http', 'https']) {
      const others = descriptors(server.pid);
      const wire = await server.connect({ scheme });
      wire.socket.pause();
      await wire.send(Buffer.concat(Array.from({ length: 10 }, () => message('GET', '/api/v1/posts?limit=100', { key }))));
      await until(() => descriptors(server.pid) > others, 'it is accepted');
      await until(() => descriptors(server.pid) <= others, 'it is ended');
      assertStatus(await api.get('/users'), 200);
      wire.socket.resume();
      await assert.rejects(async () => {
        for (let i = 0; i < 10; i += 1) await wire.response();
      }, /the connection ended/, `${scheme}: 65 MB were kept`);
      wire.close();
    }
    api.close();
  }));

  test('of size', () => withConfig('[http]\nbody_bytes = 4096\nheader_bytes = 4096\nrequest_line_bytes = 1024\n', async (server, key) => {
    const padded = (size) => {
      const text = JSON.stringify(newUser());
      return text + ' '.repeat(size - text.length);
    };
    assertStatus(await server.ask('POST', '/api/v1/users', { key, body: padded(4096) }), 201);
    assertStatus(await server.ask('POST', '/api/v1/users', { key, body: padded(4097) }), 413, 'body_too_large');
    assertStatus(await server.ask('GET', '/api/v1/users', { key, headers: { 'X-Large': 'x'.repeat(4097) } }), 431, 'headers_too_large');
    assertStatus(await server.ask('GET', `/api/v1/${'n'.repeat(1100)}`, { key }), 414, 'uri_too_long');
  }));
});

test('stop.drain_delay_seconds: after SIGTERM the server still answers for a while, with Connection: close', async () => {
  const server = await startServer({ config: '[stop]\ndrain_delay_seconds = 2\n' });
  const { key } = await server.makeKey();
  const connection = await server.connect();
  await connection.send(message('GET', '/api/v1/users', { key }));
  assertStatus(await connection.response(), 200);
  const beginTime = Date.now();
  const stopped = server.stop();
  stopped.catch(() => {}); // it is awaited below
  await sleep(300); // the signal is seen, and the two seconds are not over
  await connection.send(message('GET', '/api/v1/users', { key }));
  const answer = await connection.response();
  assertStatus(answer, 200);
  assert.match(answer.headers.get('connection') ?? '', /\bclose\b/i);
  await connection.ending();
  const fresh = await server.connect();
  await fresh.send(message('POST', '/api/v1/users', { key, body: newUser() }));
  const response = await fresh.response({ method: 'POST' });
  assertStatus(response, 201);
  assert.match(response.headers.get('connection') ?? '', /\bclose\b/i);
  await fresh.ending();
  await stopped;
  const seconds = (Date.now() - beginTime) / 1000;
  assert.ok(seconds > 1.5 && seconds < 6, `it ended after ${seconds.toFixed(1)} s`);
});

test('keys.prefix begins every new key', async () => {
  const server = await startServer({ config: '[keys]\nprefix = "abcd"\n' });
  const keyDocument = await makeKey(server.data, { args: ['--config', `${server.data}/../latchkey.toml`] });
  assert.equal(keyDocument.key.slice(0, 4), 'abcd');
  assert.equal(keyDocument.start, keyDocument.key.slice(0, 8));
  assertStatus(await server.ask('GET', '/api/v1/users', { key: keyDocument.key }), 200);
  await server.stop();
});

test('config show prints the configuration as TOML', async () => {
  const { code, stdout } = await command('config', 'show');
  assert.equal(code, 0);
  for (const name of ['data', 'listen', 'base_url', 'allow_query', 'allow_body']) assert.match(stdout, new RegExp(`^${name} = `, 'm'));
});
