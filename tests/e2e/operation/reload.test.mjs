// SIGHUP: the configuration is read again, validated as a whole, and applied as a whole or not at all.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, command, commandOf, links, message, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

// Replaces the file, sends the signal, and waits for the line with the result.
async function reload(server, config) {
  const file = path.join(path.dirname(server.data), 'latchkey.toml');
  if (config === null) fs.rmSync(file);
  else if (config !== undefined) fs.writeFileSync(file, config);
  const logOffset = server.stderr.length;
  server.child.kill('SIGHUP');
  for (let i = 0; i < 1000; i += 1) {
    const output = server.stderr.slice(logOffset);
    if (/(reloaded the configuration|nothing was reloaded).*\n/.test(output)) return output;
    await sleep(5);
  }
  throw new Error(`no word of the reload: ${server.stderr.slice(logOffset)}`);
}

async function withServer(config, act, options = {}) {
  const server = await startServer({ config, ...options });
  try {
    const { key } = await server.makeKey();
    await act(server, key);
  } finally {
    await server.stop();
  }
}

describe('SIGHUP', () => {
  test('applies what changed, for connections that are open too', () => withServer('', async (server, key) => {
    const old = await server.connect();
    const ask = async (target, options = {}) => {
      await old.send(message('GET', target, options));
      return old.response();
    };
    assertStatus(await ask(`/api/v1/users?api_key=${key}`), 200);
    const again = async () => { old.contract = server.contract = await server.described(); };
    const stderrText = await reload(server, `base_url = "https://api.example.org"
deprecated = ["GET /api/v1/users since=2026-01-01T00:00:00Z sunset=2027-01-01T00:00:00Z link=https://example.org/why"]
[auth]
allow_query = false
allow_body = false
failures_per_minute = 1
[http]
body_bytes = 2048
header_bytes = 2048
`);
    for (const name of ['base_url', 'deprecated', 'auth.allow_query', 'auth.failures_per_minute', 'http.body_bytes']) assert.ok(stderrText.includes(name), `${name}: ${stderrText}`);
    await again();
    assertStatus(await ask(`/api/v1/users?api_key=${key}`), 401, 'key_missing');
    const listed = await ask('/api/v1/users', { key });
    assertStatus(listed, 200);
    assert.equal(listed.headers.get('deprecation'), '@1767225600');
    assert.equal(listed.headers.get('sunset'), 'Fri, 01 Jan 2027 00:00:00 GMT');
    assert.equal(links(listed).deprecation, 'https://example.org/why');
    assert.ok(links(listed).first.startsWith('https://api.example.org/'), 'base_url');
    assertStatus(await server.ask('POST', '/api/v1/users', { body: { ...newUser(), api_key: key } }), 401, 'key_missing');
    assertStatus(await server.ask('POST', '/api/v1/users', { key, body: `${JSON.stringify(newUser())}${' '.repeat(2048)}` }), 413);
    assertStatus(await ask('/api/v1/users', { headers: { 'X-Long': 'x'.repeat(3000) }, key }), 431);
    assertStatus(await server.ask('GET', '/api/v1/users', { key: 'wrong', from: '127.0.0.9', scheme: 'http' }), 401);
    assertStatus(await server.ask('GET', '/api/v1/users', { key: 'wrong', from: '127.0.0.9', scheme: 'http' }), 429, 'too_many_auth_failures');
    old.close();
    await reload(server, '');
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 200);
  }));

  test('changes nothing if any part is invalid, and names it', () => withServer('[auth]\nallow_query = true\n', async (server, key) => {
    const data = path.dirname(server.data);
    fs.writeFileSync(path.join(data, 'broken.pem'), 'no certificate\n');
    for (const [config, named] of [
      ['[auth]\nallow_query = false\n[auth\n', /latchkey\.toml.*line 3/],
      ['[auth]\nallow_query = false\nno_such = 1\n', /auth\.no_such.*line 3/],
      ['[auth]\nallow_query = false\n[http]\nidle_seconds = 0\n', /http\.idle_seconds/],
      ['[auth]\nallow_query = "no"\n', /allow_query/],
      ['deprecated = ["GET /nothing since=2026-01-01T00:00:00Z"]\n[auth]\nallow_query = false\n', /deprecated/],
      [`[auth]\nallow_query = false\n[tls]\ncertificate = "${data}/broken.pem"\nkey = "${data}/broken.pem"\n`, /broken\.pem/],
      [`[auth]\nallow_query = false\n[tls]\ncertificate = "${data}/absent.pem"\nkey = "${data}/absent.pem"\n`, /absent\.pem/],
      [null, /latchkey\.toml/],
    ]) {
      const output = await reload(server, config);
      assert.match(output, /nothing was reloaded and all stays as it was/);
      assert.match(output, named);
      assert.equal(output.trimEnd().split('\n').length, 1, `one line: ${output}`);
      assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 200);
    }
    await reload(server, '[auth]\nallow_query = false\n');
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 401, 'key_missing');
  }));

  test('leaves all as it was when the file cannot be read', () => withServer('', async (server, key) => {
    const file = path.join(path.dirname(server.data), 'latchkey.toml');
    fs.rmSync(file);
    fs.mkdirSync(file); // root may read whatever has no other reason
    assert.match(await reload(server), /nothing was reloaded.*latchkey\.toml/);
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
    fs.rmdirSync(file);
    await reload(server, '[auth]\nallow_query = false\n');
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 401, 'key_missing');
  }));

  test('names what only a restart changes, and applies the rest', () => withServer('', async (server, key) => {
    const output = await reload(server, 'connections = 9\n[store]\nmap_mib = 128\n[auth]\nallow_query = false\n');
    assert.match(output, /only a restart changes connections, store\.map_mib/);
    assert.match(output, /changed auth\.allow_query\n/);
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 401, 'key_missing');
  }));

  test('lets a request whose body is still arriving finish with the old settings', () => withServer('', async (server, key) => {
    const body = JSON.stringify(newUser());
    const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length, 'X-Long': 'x'.repeat(3000) };
    const waiting = [];
    for (const text of [body, `{"api_key": "${key}", ${body.slice(1)}`]) {
      const wire = await server.connect({ scheme: 'http' });
      await wire.send(message('POST', '/api/v1/users', { key: text === body ? key : undefined, headers: { ...headers, 'Content-Length': text.length } }));
      await wire.send(text.slice(0, 5));
      waiting.push({ wire, text });
    }
    await sleep(100); // what was sent has arrived
    await reload(server, '[http]\nheader_bytes = 1024\n');
    assertStatus(await server.ask('GET', '/api/v1/users', { headers: { 'X-Long': 'x'.repeat(3000) }, key }), 431);
    const answers = [];
    for (const { wire, text } of waiting) {
      await wire.send(text.slice(5));
      answers.push((await wire.response({ method: 'POST' })).status);
      wire.close();
    }
    assert.deepEqual(answers, [201, 409], 'the same address twice');
  }));

  test('keeps the precedence of flags', () => withServer('', async (server, key) => {
    const output = await reload(server, 'workers = 9\nlisten = ["http://127.0.0.1:1"]\n[auth]\nallow_query = false\n[http]\nidle_seconds = 7\n');
    assert.match(output, /changed http\.idle_seconds\n/);
    assert.doesNotMatch(output, /only a restart/);
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 200);
  }, { args: ['--auth-allow-query', 'true'] }));

  test('moves the access log to another file, and reopens the same one', async () => {
    const server = await startServer({ config: '', log: '' });
    const pathOf = (name) => path.join(path.dirname(server.data), name);
    const ask = (id) => server.ask('GET', '/healthz', { headers: { 'X-Request-Id': id } });
    const ids = (file) => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l).request_id)
      .filter((id) => id.startsWith('request-'));
    await ask('request-1');
    const first = path.join(server.data, 'access.log');
    await until(() => ids(first).length === 1, 'its line is written');
    fs.renameSync(first, pathOf('old.log'));
    await reload(server);
    await ask('request-2');
    await server.stop();
    assert.deepEqual(ids(pathOf('old.log')), ['request-1']);
    assert.deepEqual(ids(first), ['request-2']);
  });

  test('lets go of a log that was rotated away, though the configuration is wrong', async () => {
    const server = await startServer({ config: '' });
    fs.renameSync(server.log, `${server.log}.1`);
    assert.match(await reload(server, 'workers = "two"\n'), /nothing was reloaded/);
    await until(() => fs.existsSync(server.log), 'the log is a new file');
    await server.stop();
  });

  test('and other signals end nothing, whenever they come', async () => {
    const folder = temporaryFolder();
    const pipe = path.join(folder, 'latchkey.toml');
    await commandOf('mkfifo', pipe);
    const words = ['serve', '--config', pipe, '--data', path.join(folder, 'data'), '--management', 'off', '--listen', 'http://127.0.0.1:0'];
    const child = spawn(binary, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { output += text; });
    const file = await fs.promises.open(pipe, 'w'); // once the service reads its configuration, and waits for it
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) child.kill(signal);
    fs.unlinkSync(pipe);
    fs.writeFileSync(pipe, ''); // for the reload
    await file.close();
    await until(() => output.includes('listening on'), () => `it listens (${output})`);
    for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGTERM']) child.kill(signal);
    assert.deepEqual(await once(child, 'exit'), [0, null], output);
  });

  test('applies the new limits to a partial header section, and the connection continues', () => withServer('', async (server) => {
    const wire = await server.connect();
    await wire.send(`POST /api/v1/users?x=${'A'.repeat(6000)} HTTP/1.1\r\nHost: a\r\n`);
    await sleep(100); // what was sent has arrived
    await reload(server, '[http]\nrequest_line_bytes = 1024\n');
    await wire.send('Content-Type: application/json\r\nContent-Length: 20\r\n\r\n');
    assertStatus(await wire.response({ check: false }), 414);
    assertStatus(await server.ask('GET', '/healthz'), 200);
  }));

  test('under load no request fails, whatever is exchanged how often', () => withServer('', async (server, key) => {
    let stop = false;
    let done = 0;
    const load = Array.from({ length: 8 }, async (_, i) => {
      const api = server.client(key, { scheme: i % 2 ? 'https' : 'http' });
      while (!stop) {
        const answer = i % 4 === 0 ? await api.post('/users', newUser()) : await api.get('/users?limit=5');
        assertStatus(answer, i % 4 === 0 ? 201 : 200);
        done += 1;
      }
      api.close();
    });
    for (let i = 0; i < 30; i += 1) {
      await reload(server, i % 3 === 2 ? '[http]\nidle_seconds = 0\n' : `base_url = "https://host${i}.example.org"\n[http]\nidle_seconds = ${10 + i}\nbody_bytes = ${4096 + i}\n`);
    }
    for (let i = 0; i < 50; i += 1) server.child.kill('SIGHUP');
    await sleep(200); // the last of them are seen under load
    stop = true;
    await Promise.all(load);
    assert.ok(done > 50, `${done} requests`);
    assertStatus(await server.ask('GET', '/healthz'), 200);
  }));

  test('config show says what takes a restart', async () => {
    const { stdout } = await command('config', 'show');
    assert.match(stdout, /restart\)\nlisten = /);
    assert.doesNotMatch(stdout, /restart\)\nallow_query = /);
  });
});
