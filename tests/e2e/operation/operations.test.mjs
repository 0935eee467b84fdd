// Operation: the command line, the access log, stopping, restarting.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, command, makeKey, message, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { connectWire } from '../helpers/wire.mjs';

const filesOf = (dir) => fs.readdirSync(dir, { withFileTypes: true })
  .flatMap((e) => (e.isDirectory() ? filesOf(path.join(dir, e.name)) : [path.join(dir, e.name)]));

describe('the command line', () => {
  test('help is 0, wrong usage is 2', async () => {
    assert.equal((await command('--help')).code, 0);
    assert.equal((await command('serve', '--help')).code, 0);
    for (const words of [['brew'], ['serve', '--nope'], ['keys', 'nope'], ['serve', '--data'], ['keys', 'create', '--json']]) {
      const { code, stderr } = await command(...words);
      assert.equal(code, 2, words.join(' '));
      assert.notEqual(stderr, '', 'it says why');
    }
  });

  test('a wrong configuration is 78 and says what is wrong', async () => {
    const folder = temporaryFolder();
    const serve = (config) => {
      const file = path.join(folder, 'wrong.toml');
      fs.writeFileSync(file, config);
      return command('serve', '--config', file, '--data', path.join(folder, 'data'), '--listen', 'https://127.0.0.1:0');
    };
    for (const [config, named] of [['[auth\n', /wrong\.toml/], ['no_such_key = 1\n', /no_such_key/],
      ['[auth]\nallow_query = "perhaps"\n', /allow_query/]]) {
      const { code, stderr } = await serve(config);
      assert.equal(code, 78, `${config}: ${stderr}`);
      assert.match(stderr, named);
    }
    assert.equal((await command('serve', '--config', path.join(folder, 'absent.toml'))).code, 78);
  });

  test('plain http is refused on anything but loopback', async () => {
    const data = path.join(temporaryFolder(), 'data');
    const { code, stderr } = await command('serve', '--data', data, '--listen', 'http://192.0.2.1:8080');
    assert.ok([2, 78].includes(code), `${code}: ${stderr}`);
  });

  test('one line for each listener, once it accepts', async () => {
    const server = await startServer({ listen: ['https://127.0.0.1:0', 'http://127.0.0.1:0', 'http://127.0.0.1:0'] });
    const lines = server.stderr.split('\n').filter((line) => /https?:\/\//.test(line));
    assert.equal(lines.length, 3, server.stderr);
    assert.equal(new Set(server.urls.map((u) => u.port)).size, 3);
    const { key } = await server.makeKey();
    for (const url of server.urls) {
      const wire = await connectWire({ ...url, ca: server.ca });
      await wire.send(message('GET', '/api/v1/users', { key }));
      assertStatus(await wire.response(), 200);
      wire.finish();
    }
    await server.stop();
  });

  test('IPv6 loopback is served', async () => {
    const server = await startServer({ listen: ['http://[::1]:0'] });
    const { key } = await server.makeKey();
    assertStatus(await server.ask('GET', '/api/v1/users', { key, scheme: 'http' }), 200);
    await server.stop();
  });

  test('keys create works before the first start, and prints one JSON document', async () => {
    const data = path.join(temporaryFolder(), 'data');
    const { key, id } = await makeKey(data);
    assert.ok(Number.isSafeInteger(id));
    const server = await startServer({ data });
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
    await server.stop();
  });

  test('a second server on the same data is refused and does not harm the first', async () => {
    const server = await startServer();
    const { key } = await server.makeKey();
    const { code, stderr } = await command('serve', '--data', server.data, '--listen', 'http://127.0.0.1:0');
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(`another server \\(process ${server.pid}\\) serves ${server.data}: stop it first, or use another data directory`));
    assertStatus(await server.ask('POST', '/api/v1/users', { key, body: newUser() }), 201);
    // However the first server ended, the next one can start.
    await server.kill();
    const next = await server.again();
    assertStatus(await next.ask('POST', '/api/v1/users', { key, body: newUser() }), 201);
    await next.stop();
  });

  test('a port that is taken is refused', async () => {
    const server = await startServer();
    const { code, stderr } = await command('serve', '--data', path.join(temporaryFolder(), 'data'), '--listen', server.base('http'));
    assert.equal(code, 1, stderr);
    await server.stop();
  });

  test('an unknown host or scheme in --listen is refused', async () => {
    const data = path.join(temporaryFolder(), 'data');
    for (const url of ['ftp://127.0.0.1:0', '127.0.0.1', 'https://127.0.0.1:99999', 'https://']) {
      const { code } = await command('serve', '--data', data, '--listen', url);
      assert.ok([2, 78].includes(code), `${url}: ${code}`);
    }
  });

  test('the key is nowhere in the data folder', async () => {
    const server = await startServer();
    const { key } = await server.makeKey();
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 200);
    assertStatus(await server.ask('POST', '/api/v1/users', { body: { ...newUser(), api_key: key } }), 201);
    await server.stop();
    const files = filesOf(server.data);
    assert.ok(files.length > 0);
    for (const file of files) assert.equal(fs.readFileSync(file).includes(key), false, path.basename(file));
  });
});

describe('the access log', () => {
  const members = ['ts', 'request_id', 'trace_id', 'key_id', 'project', 'method', 'route', 'path', 'status', 'code',
    'bytes_in', 'bytes_out', 'duration_us', 'ip', 'user_agent', 'key_source', 'protocol'];

  test('has one JSON line for each request, with its key, and never the key itself', async () => {
    const server = await startServer();
    const keyDocument = await server.makeKey({ name: 'logged' });
    const { key } = keyDocument;
    const little = await server.makeKey({ name: 'little', scopes: ['posts:read'] });
    const limited = await server.makeKey({ name: 'limited', limits: ['one=1/3600'] });
    const bad = `${key.slice(0, 40)}zzzzzzzz`;
    const trace = '0af7651916cd43dd8448eb211c80319c';
    let count = 0;
    const requests = new Map();
    const ask = async (expected, method, target, options = {}) => {
      const id = `logged-${++count}`;
      const answer = await server.ask(method, target, { ...options, headers: { 'X-Request-Id': id, ...options.headers } });
      assertStatus(answer, expected.status);
      requests.set(id, { method, path: target.split('?')[0], code: answer.json?.code, answer, ...expected });
    };
    await ask({ status: 200, key: keyDocument }, 'GET', '/api/v1/users', { key, headers: { traceparent: `00-${trace}-b7ad6b7169203331-01`, 'User-Agent': 'e2e/1.0' } });
    await ask({ status: 200, key: keyDocument }, 'GET', '/api/v1/users', { headers: { Authorization: `Bearer ${key}` } });
    await ask({ status: 200, key: keyDocument }, 'GET', `/api/v1/users?limit=1&api_key=${key}`);
    await ask({ status: 201, key: keyDocument }, 'POST', '/api/v1/users', { body: { ...newUser(), api_key: key } });
    await ask({ status: 422, key: keyDocument }, 'POST', `/api/v1/users?api_key=${key}`, { body: { api_key: key } });
    await ask({ status: 404, key: keyDocument }, 'GET', '/api/v1/users/999999', { key });
    await ask({ status: 404, key: keyDocument }, 'GET', '/nothing/here', { key });
    await ask({ status: 405, key: keyDocument }, 'PUT', '/api/v1/users', { key, body: {} });
    await ask({ status: 403, key: little }, 'GET', '/api/v1/users', { key: little.key });
    await ask({ status: 200, key: limited }, 'GET', '/api/v1/users', { key: limited.key });
    await ask({ status: 429, key: limited }, 'GET', '/api/v1/users', { key: limited.key });
    await ask({ status: 401, key: null }, 'GET', '/api/v1/users');
    await ask({ status: 401, key: null }, 'GET', '/api/v1/users', { key: bad });
    await ask({ status: 401, key: null }, 'GET', `/api/v1/users?api_key=${bad}`);
    await ask({ status: 400, key: null }, 'GET', `/api/v1/users?api_key=${key}&api_key=${key}`);
    await ask({ status: 200, key: keyDocument }, 'GET', '/api/v1/users', { key, headers: { 'User-Agent': 'quote " backslash \\ tab \t byte \xe9\xff' } });
    await ask({ status: 200, key: keyDocument }, 'GET', '/api/v1/users', { key, scheme: 'http' });
    await server.stop();

    const text = fs.readFileSync(server.log, 'utf8');
    for (const secret of [key, bad, little.key, limited.key]) assert.equal(text.includes(secret), false, 'a key is in the log');
    const lines = server.logLines();
    assert.equal(lines.length, count, 'a line for each request and no other');
    for (const line of lines) {
      for (const name of members) assert.ok(name in line, `${name} is missing: ${JSON.stringify(line)}`);
      const request = requests.get(line.request_id);
      assert.ok(request, `no request had the id ${line.request_id}`);
      assert.ok(Math.abs(Date.parse(line.ts) - Date.now()) < 60_000, `ts ${line.ts}`);
      assert.equal(line.status, request.status);
      assert.equal(line.method, request.method);
      assert.equal(line.path, request.path, 'the path has no query');
      assert.equal(line.key_id, request.key?.id ?? null, `key_id of a ${request.status}`);
      assert.equal(line.code ?? undefined, request.code, 'the code of the problem');
      assert.equal(line.ip, '127.0.0.1');
      assert.ok(Number.isInteger(line.bytes_in) && line.bytes_in > 0);
      assert.ok(Number.isInteger(line.bytes_out) && line.bytes_out >= request.answer.body.length);
      assert.ok(Number.isFinite(line.duration_us) && line.duration_us >= 0 && line.duration_us < 10_000_000);
      if (request.key !== null) assert.equal(line.project, 'default');
    }
    const first = lines.find((l) => l.request_id === 'logged-1');
    assert.equal(first.trace_id, trace);
    assert.equal(first.user_agent, 'e2e/1.0');
    const sources = Object.fromEntries(lines.map((l) => [l.request_id, l.key_source]));
    const ways = ['logged-1', 'logged-2', 'logged-3', 'logged-4'].map((id) => sources[id]);
    assert.match(String(ways[2]), /query/);
    assert.match(String(ways[3]), /body/);
    for (const way of ways) assert.equal(typeof way, 'string');
    const routes = Object.fromEntries(lines.map((l) => [l.request_id, l.route]));
    assert.equal(routes['logged-1'], routes['logged-3'], 'a route is the same for all of its requests');
    assert.match(routes['logged-6'], /\{id\}/, 'a route names its parameter, not the value');
  });

  test('can be switched off', async () => {
    const server = await startServer({ log: 'off' });
    const { key } = await server.makeKey();
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
    await server.stop();
    assert.equal(fs.existsSync(path.join(process.cwd(), 'off')), false);
  });

  test('loses no line of 2000 requests on 8 connections', async () => {
    const server = await startServer();
    const { key, id } = await server.makeKey();
    await Promise.all(Array.from({ length: 8 }, async (_, c) => {
      const wire = await server.connect({ scheme: 'http' });
      for (let i = 0; i < 250; i += 25) {
        await wire.send(Buffer.concat(Array.from({ length: 25 }, (_, j) => message('GET', '/api/v1/users', { key, headers: { 'X-Request-Id': `many-${c}-${i + j}` } }))));
        for (let j = 0; j < 25; j += 1) assertStatus(await wire.response(), 200);
      }
      wire.finish();
    }));
    await server.stop();
    const lines = server.logLines();
    assert.equal(lines.length, 2000);
    assert.equal(new Set(lines.map((l) => l.request_id)).size, 2000);
    assert.ok(lines.every((l) => l.key_id === id && l.status === 200));
  });

  // By then the server's buffers have been reused, twice over.
  test('tells a request right whose body came later and that waited for a commit', async () => {
    const server = await startServer();
    const { key } = await server.makeKey();
    for (const scheme of ['http', 'https']) {
      const wire = await server.connect({ scheme });
      const bytes = message('POST', '/api/v1/users', { key, body: newUser(), headers: { 'User-Agent': 'slow/1.0', 'X-Request-Id': `later-${scheme}` } });
      const head = bytes.indexOf('\r\n\r\n') + 4;
      await wire.send(bytes.subarray(0, head + 5));
      await sleep(100); // the body comes after the header section
      await wire.send(bytes.subarray(head + 5));
      assertStatus(await wire.response({ method: 'POST' }), 201);
      wire.finish();
    }
    await server.stop();
    const lines = server.logLines();
    // Each worker submits its own lines, so their order is not defined.
    assert.deepEqual(lines.map((l) => l.request_id).sort(), ['later-http', 'later-https']);
    for (const { method, path: requestPath, user_agent: agent, status } of lines)
      assert.deepEqual([method, requestPath, agent, status], ['POST', '/api/v1/users', 'slow/1.0', 201]);
  });
});

describe('stopping and starting again', () => {
  test('SIGTERM ends an idle server with 0 and its connections with it', async () => {
    const server = await startServer();
    const { key } = await server.makeKey();
    const wires = [];
    for (const scheme of ['https', 'http']) {
      const wire = await server.connect({ scheme });
      await wire.send(message('GET', '/api/v1/users', { key }));
      assertStatus(await wire.response(), 200);
      wires.push(wire);
    }
    wires.push(await server.connect({ scheme: 'http' })); // one that never said anything
    const startTime = Date.now();
    await server.stop();
    assert.ok(Date.now() - startTime < 15_000, 'idle connections hold nothing up');
    for (const wire of wires) await wire.ending();
  });

  test('everything is there after a restart, and ids go on', async () => {
    let server = await startServer();
    const keyDocument = await server.makeKey();
    let api = server.client(keyDocument);
    const user = await api.create('/users', newUser());
    const deletedUser = await api.create('/users', newUser());
    const post = await api.create('/posts', { user_id: user.id, title: 'stays', body: 'b'.repeat(3000), status: 'published' });
    await api.delete(`/users/${deletedUser.id}`);
    await server.stop();
    server = await server.again();
    api = server.client(keyDocument);
    assert.deepEqual(await api.read(`/users/${user.id}`), user);
    assert.deepEqual(await api.read(`/posts/${post.id}`), post);
    assertStatus(await api.get(`/users/${deletedUser.id}`), 404);
    assert.ok((await api.create('/users', newUser())).id > deletedUser.id, 'not even the last id comes back');
    assertStatus(await api.post('/users', { name: 'x', email: user.email }), 409, 'email_taken');
    api.close();
    await server.stop();
  });

  test('the buckets of the rate limits outlive a graceful restart', async () => {
    let server = await startServer();
    const { key } = await server.makeKey({ limits: ['five=5/3600'] });
    for (let i = 0; i < 5; i += 1) assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 429, 'rate_limited');
    await server.stop();
    server = await server.again();
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 429, 'rate_limited');
    await server.stop();
  });

  // Writers that record what was acknowledged, and whether a response was cut.
  async function underWriters(server, key, act) {
    const acknowledged = [];
    const cut = [];
    let stop = false;
    const writers = Array.from({ length: 16 }, async (_, w) => {
      let wire;
      for (let i = 0; !stop; i += 1) {
        const user = newUser({ name: `writer ${w} write ${i}` });
        try {
          wire ??= await server.connect({ scheme: w % 2 ? 'https' : 'http' });
        } catch {
          return; // it does not accept any more
        }
        wire.send(message('POST', '/api/v1/users', { key, body: user }));
        let answer;
        try {
          answer = await wire.response({ method: 'POST', allowClose: true });
        } catch (error) {
          if (error.partial || !/before a response/.test(error.message)) cut.push(error.message);
          wire.close();
          wire = undefined;
          continue;
        }
        if (answer === null) {
          wire.close();
          wire = undefined;
          continue;
        }
        if (answer.status === 201) acknowledged.push({ sent: user, user: answer.json });
        else if (answer.status !== 503) cut.push(`status ${answer.status}`);
        if (/close/i.test(answer.headers.get('connection') ?? '')) {
          try {
            await wire.ending();
          } catch (error) {
            cut.push(error.message);
          }
          wire = undefined;
        }
      }
      wire?.close();
    });
    await until(() => acknowledged.length > 50, 'they write');
    await act();
    stop = true;
    await Promise.all(writers);
    return { acknowledged, cut };
  }

  for (let round = 1; round <= 3; round += 1) {
    test(`SIGTERM under 16 writers loses nothing and cuts no response (${round})`, async () => {
      let server = await startServer();
      const { key } = await server.makeKey();
      const { acknowledged, cut } = await underWriters(server, key, () => server.stop());
      assert.deepEqual(cut, [], 'no answer was cut');
      assert.ok(acknowledged.length > 50, `${acknowledged.length} writes were acknowledged`);
      server = await server.again();
      const api = server.client(key);
      const { pagination } = await api.read('/users?limit=1');
      assert.ok(pagination.total >= acknowledged.length, `${pagination.total} of ${acknowledged.length} are there`);
      const entries = new Map();
      for (let page = 1; page <= Math.ceil(pagination.total / 100); page += 1) {
        for (const user of (await api.read(`/users?limit=100&page=${page}`)).data) entries.set(user.id, user);
      }
      for (const { sent, user } of acknowledged) {
        assert.deepEqual(entries.get(user.id), user, 'an acknowledged write is there after the restart');
        assert.equal(user.email, sent.email);
      }
      api.close();
      await server.stop();
    });
  }

  test('SIGTERM lets a large answer that is on its way arrive whole', async () => {
    const server = await startServer();
    const { key } = await server.makeKey();
    const api = server.client(key);
    const owner = await api.create('/users', newUser());
    for (let i = 0; i < 90; i += 1) await api.create('/posts', { user_id: owner.id, title: `large ${i}`, body: 'x'.repeat(60_000) });
    api.close();
    const wires = [];
    for (const scheme of ['https', 'http']) {
      const wire = await server.connect({ scheme });
      await wire.send(message('GET', '/api/v1/posts?limit=100', { key }));
      await wire.until(() => wire.size > 0, 'the first bytes');
      wire.socket.pause();
      wires.push(wire);
    }
    const stopped = server.stop();
    stopped.catch(() => {}); // it is awaited below
    try {
      await sleep(200); // it stops while they do not read
      for (const wire of wires) wire.socket.resume();
      for (const wire of wires) {
        const answer = await wire.response();
        assertStatus(answer, 200);
        assert.ok(answer.json.data.length >= 17, 'a page of about 1 MiB');
      }
      for (const wire of wires) await wire.ending(5000);
    } finally {
      wires.forEach((wire) => wire.close());
      await stopped;
    }
  });

  test('SIGTERM twice is no worse than once', async () => {
    const server = await startServer();
    server.child.kill('SIGTERM');
    await server.stop();
  });

  test('SIGTERM right after the start ends with 0', async () => {
    for (let i = 0; i < 5; i += 1) {
      const server = await startServer();
      await server.stop();
    }
  });

  test('SIGINT ends it as well', async () => {
    const server = await startServer();
    server.child.kill('SIGINT');
    await server.exited;
    assert.equal(server.child.exitCode, 0);
  });
});
