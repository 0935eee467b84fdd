// Clients of others over HTTP/2: curl, nghttp, h2load, Go's net/http, Node's http2 and a browser's fetch.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startBrowser } from '../helpers/browser.mjs';
import { newUser, run, startServer, temporaryFolder } from '../helpers/harness.mjs';

const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();
const folder = temporaryFolder();
const file = (name, text) => {
  const filePath = path.join(folder, name);
  fs.writeFileSync(filePath, text, { mode: 0o600 });
  return filePath;
};

describe('curl', () => {
  const config = file('curlrc', `header = "Authorization: Bearer ${key}"\n`);
  const json = ['-H', 'Content-Type: application/json'];
  const curl = async (...words) => {
    const { stdout } = await run('curl', ['-q', '-sS', '--max-time', '20', '--noproxy', '*', '--config', config, '--cacert', server.certificateFile,
      '-w', '\n%{http_code} %{http_version} %{num_connects} %{size_upload}', ...words]);
    const end = stdout.lastIndexOf('\n');
    const [status, version, connects, uploaded] = stdout.slice(end + 1).split(' ').map(Number);
    return { status, version, connects, uploaded, text: stdout.slice(0, end) };
  };
  for (const [scheme, flag] of [['https', '--http2'], ['http', '--http2-prior-knowledge']]) {
    const users = `${server.base(scheme)}/api/v1/users`;
    test(`${flag}: creates and reads`, async () => {
      const created = await curl(flag, ...json, '-d', JSON.stringify(newUser()), users);
      assert.equal(created.status, 201, created.text);
      assert.equal(created.version, 2);
      const read = await curl(flag, `${users}/${JSON.parse(created.text).id}`);
      assert.equal(read.status, 200);
      assert.equal(read.text, created.text);
      if (scheme === 'http') return; // curl 7.88 fails at a second request, with nghttpd too
      const twice = await curl(flag, users, users);
      assert.deepEqual([twice.status, twice.version, twice.connects], [200, 2, 0], 'the second one over the same connection');
    });
    test(`${flag}: a large body is sent, and one that is too large refused`, async () => {
      const text = JSON.stringify({ ...newUser(), name: 'Large' });
      const large = file('large', text + ' '.repeat(1024 * 1024 - text.length));
      assert.equal((await curl(flag, ...json, '--data-binary', `@${large}`, users)).status, 201);
      for (const bytes of [1024 * 1024 + 1, 8 * 1024 * 1024]) {
        const refused = await curl(flag, ...json, '--data-binary', `@${file('larger', ' '.repeat(bytes))}`, users);
        assert.equal(refused.status, 413, refused.text);
        assert.match(refused.text, /"body_too_large"/);
      }
      // Its size is not announced.
      const streamed = await curl(flag, ...json, '-X', 'POST', '-T', file('streamed', ' '.repeat(3 * 1024 * 1024)), users);
      assert.equal(streamed.status, 413, streamed.text);
    });
    test(`${flag}: a body that is not needed does not hide the response`, async () => {
      const body = file('unneeded', ' '.repeat(100_000));
      for (const [status, ...words] of [[404, `${server.base(scheme)}/api/v1/nothing`], [405, '-X', 'PUT', users], [415, '-H', 'Content-Type: text/plain', users]]) {
        const answer = await curl(flag, ...json, '--data-binary', `@${body}`, ...words);
        assert.equal(answer.status, status, answer.text);
      }
    });
    test(`${flag}: asks before a large upload`, async () => {
      const body = file('asked', ' '.repeat(3 * 1024 * 1024));
      const refused = await curl(flag, ...json, '-H', 'Expect: 100-continue', '--expect100-timeout', '10', '--data-binary', `@${body}`, users);
      assert.equal(refused.status, 413);
    });
  }
  test('offers HTTP/2 by itself', async () => {
    assert.equal((await curl(`${server.base()}/api/v1/users`)).version, 2);
  });
});

describe('nghttp', () => {
  const nghttp = (...words) => run('nghttp', ['-v', '--no-verify-peer', '-H', `x-api-key: ${key}`, ...words]).then(({ stdout }) => stdout);
  test('reads, over TLS and without', async () => {
    for (const scheme of ['https', 'http']) {
      const output = await nghttp(`${server.base(scheme)}/api/v1/users`, `${server.base(scheme)}/api/v1/posts`);
      assert.equal(output.match(/:status: 200/g)?.length, 2, output);
      assert.doesNotMatch(output, /RST_STREAM|ENHANCE_YOUR_CALM|PROTOCOL_ERROR/);
    }
  });
  test('creates, with trailers and padding', async () => {
    const body = file('user.json', JSON.stringify(newUser()));
    const output = await nghttp('-d', body, '-H', 'content-type: application/json', '--trailer', 'x-checksum: none', '--padding', '200', `${server.base()}/api/v1/users`);
    assert.match(output, /:status: 201/);
  });
  test('gets 431 for a header block in two frames that is too large', async () => {
    const output = await nghttp('--continuation', `${server.base()}/api/v1/users`);
    assert.match(output, /send HEADERS frame <length=1[6-9][0-9]{3}/);
    assert.match(output, /:status: 431/);
    assert.doesNotMatch(output, /recv (GOAWAY|RST_STREAM)/);
  });
  test('with a small window gets a large response whole', async () => {
    const output = await nghttp('-w', '10', '-W', '12', `${server.base()}/openapi.json`);
    assert.match(output, /:status: 200/);
    assert.match(output, /END_STREAM/);
    assert.doesNotMatch(output, /RST_STREAM/);
  });
  test('upgrades nothing', async () => {
    const { stdout } = await run('curl', ['-q', '-sS', '--http2', '--noproxy', '*', '-H', `X-API-Key: ${key}`, '-o', '/dev/null', '-w', '%{http_code} %{http_version}',
      `${server.base('http')}/api/v1/users`]);
    assert.equal(stdout, '200 1.1', 'Upgrade: h2c is ignored');
  });
});

describe('h2load', () => {
  for (const scheme of ['https', 'http']) {
    test(`20,000 requests by 8 connections of 32 streams each, ${scheme}`, async () => {
      const user = await server.client(key).create('/users', newUser());
      const { stdout } = await run('h2load', ['-n', '20000', '-c', '8', '-m', '32', '-H', `authorization: Bearer ${key}`, `${server.base(scheme)}/api/v1/users/${user.id}`],
        { maxBuffer: 1 << 24 });
      assert.match(stdout, /20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout/);
      assert.match(stdout, /status codes: 20000 2xx, 0 3xx, 0 4xx, 0 5xx/);
      assert.match(stdout, /Application protocol: h2/);
    });
  }
});

describe('Node', () => {
  const connect = (t) => {
    const session = http2.connect(server.base(), { ca: fs.readFileSync(server.certificateFile) });
    t.after(() => session.close());
    return session;
  };
  const ask = (session, fields, body) => new Promise((resolve, reject) => {
    const stream = session.request({ authorization: `Bearer ${key}`, ...fields });
    let status;
    let text = '';
    stream.setEncoding('utf8');
    stream.on('response', (head) => { status = head[':status']; });
    stream.on('data', (part) => { text += part; });
    stream.on('end', () => resolve({ status, text }));
    stream.on('error', reject);
    stream.end(body);
  });
  test('500 requests at once over one connection, some of which write', async (t) => {
    const session = connect(t);
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => (i % 5 === 0
      ? ask(session, { ':method': 'POST', ':path': '/api/v1/users', 'content-type': 'application/json' }, JSON.stringify(newUser()))
      : ask(session, { ':path': '/api/v1/users?limit=1' }))));
    assert.deepEqual([...new Set(answers.map(({ status }, i) => (i % 5 === 0 ? 'POST ' : 'GET ') + status))].sort(), ['GET 200', 'POST 201']);
  });
  test('a body that is still being sent when it is refused', async (t) => {
    const session = connect(t);
    const large = Buffer.alloc(4 << 20, 0x20);
    for (const [fields, status] of [[{ ':path': '/api/v1/users' }, 413], [{ ':path': '/api/v1/nothing' }, 404]]) {
      const answer = await ask(session, { ':method': 'POST', 'content-type': 'application/json', ...fields }, large);
      assert.equal(answer.status, status, answer.text);
      assert.equal((await ask(session, { ':path': '/api/v1/users' })).status, 200);
    }
  });
});

test("Go's net/http", { timeout: 120_000 }, async () => {
  const program = path.join(folder, 'http2_client');
  const source = path.join(path.dirname(fileURLToPath(import.meta.url)), '../http2_client.go');
  await run('go', ['build', '-o', program, source], { env: { ...process.env, GOCACHE: path.join(folder, 'go'), GOFLAGS: '-mod=mod', GO111MODULE: 'off' }, timeout: 100_000 });
  const { stdout } = await run(program, [server.base(), server.certificateFile, '200'], { env: { ...process.env, LATCHKEY_KEY: key }, timeout: 60_000 });
  const seen = JSON.parse(stdout);
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.statuses, { 'first 200': 1, 'create 201': 200, 'read 200': 200, 'large 413': 25, 'unknown 404': 25 });
  assert.deepEqual(Object.keys(seen.protocols), ['HTTP/2.0']);
});

test("a browser's fetch", { timeout: 120_000 }, async () => {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ bypassesCsp: true });
    await page.open(`${server.base()}/docs`);
    const user = newUser();
    const seen = JSON.parse(await page.evaluate(`(async () => {
      const headers = { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' };
      const created = await fetch('/api/v1/users', { method: 'POST', headers, body: ${JSON.stringify(JSON.stringify(user))} });
      const { id } = await created.json();
      const read = await Promise.all(Array.from({ length: 60 }, () => fetch('/api/v1/users/' + id, { headers, cache: 'no-store' }).then((one) => one.json())));
      const wrong = await fetch('/api/v1/users', { method: 'POST', headers, body: ' '.repeat(2 << 20) });
      const problem = await wrong.json();
      return JSON.stringify({ created: created.status, emails: [...new Set(read.map(({ email }) => email))], wrong: wrong.status, code: problem.code,
        protocols: [...new Set(performance.getEntriesByType('resource').map(({ nextHopProtocol }) => nextHopProtocol))] });
    })()`));
    assert.deepEqual(seen, { created: 201, emails: [user.email], wrong: 413, code: 'body_too_large', protocols: ['h2'] });
  } finally {
    await browser.stop();
  }
});
