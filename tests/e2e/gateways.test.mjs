// nginx and Caddy, Debian's own, with the recipes of tools/recipes as they are but for ports and the certificate: they
// ask /auth of each request before a toy service sees it (API.md, "Keys").

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sleep, startServer, temporaryFolder } from './harness.mjs';

const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const children = new Set();
process.on('exit', () => { for (const child of children) child.kill('SIGKILL'); });

const server = await startServer({
  listen: ['https://127.0.0.1:0', 'http://127.0.0.1:0'],
  config: 'trusted_proxies = ["127.0.0.1"]\n',
});
const make = (scopes, more = {}) => server.makeKey({ name: 'gateway', scopes, ...more });
const [writer, reader, stranger] = [await make(['posts:*']), await make(['posts:read']), await make(['users:read'])];

// The service behind the gateway answers with what it was sent.
const service = http.createServer({ maxHeaderSize: 1 << 16 }, async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { method, url, headers } = request;
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }));
});
// Between gateway and latchkey, to count the connections and to cut them.
let connections = 0;
const relayed = new Set();
const relay = net.createServer((socket) => {
  connections += 1;
  relayed.add(socket);
  socket.on('close', () => relayed.delete(socket));
  const { host, port } = server.at('http');
  const onward = net.connect({ host, port });
  socket.pipe(onward).pipe(socket);
  for (const each of [socket, onward]) each.on('error', () => { socket.destroy(); onward.destroy(); });
});
const listening = (what) => new Promise((resolve) => {
  what.listen(0, '127.0.0.1', () => resolve(what.address().port));
});
const servicePort = await listening(service);
const relayPort = await listening(relay);
async function freePort() {
  const probe = net.createServer();
  const port = await listening(probe);
  await new Promise((resolve) => { probe.close(resolve); });
  return port;
}
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  service.close();
  relay.close();
  service.closeAllConnections?.();
  await server.stop();
});

function program(name) {
  const places = [path.join(top, 'build/gateways/usr/sbin'), path.join(top, 'build/gateways/usr/bin'), '/usr/sbin', '/usr/bin'];
  const found = places.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
  assert.ok(found, `there is no ${name}; tools/test unpacks it into build/gateways`);
  return found;
}

// The recipe with other words for these, each of which must be there.
function recipe(name, words) {
  let text = fs.readFileSync(path.join(top, 'tools/recipes', name), 'utf8');
  for (const [from, to] of Object.entries(words)) {
    assert.ok(text.includes(from), `${name} has ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

function launch(file, words, options) {
  const child = spawn(file, words, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
  children.add(child);
  child.once('exit', () => children.delete(child));
  child.said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { child.said += text; });
  return child;
}

async function startNginx() {
  const folder = temporaryFolder();
  const port = await freePort();
  const tls = path.dirname(server.certificateFile);
  fs.writeFileSync(path.join(folder, 'recipe.conf'), recipe('nginx.conf', {
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '127.0.0.1:8080;\n': `127.0.0.1:${relayPort};\n`,
    '127.0.0.1:3000': `127.0.0.1:${servicePort}`,
    '/etc/ssl/certs/gateway.pem': server.certificateFile,
    '/etc/ssl/private/gateway.key': path.join(tls, 'key.pem'),
  }));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((what) => `${what}_temp_path ${folder}/${what};`);
  fs.writeFileSync(path.join(folder, 'nginx.conf'), `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
user ${os.userInfo().username};
events {}
http { access_log off; ${temporary.join(' ')} include ${folder}/recipe.conf; }\n`);
  const child = launch(program('nginx'), ['-p', folder, '-c', path.join(folder, 'nginx.conf'), '-e', 'stderr']);
  return { child, port, ca: () => server.ca };
}

async function startCaddy() {
  const folder = temporaryFolder();
  const port = await freePort();
  const text = recipe('Caddyfile', {
    'gateway.example.com {': `https://localhost:${port} {`,
    '127.0.0.1:8080 {': `127.0.0.1:${relayPort} {`,
    '127.0.0.1:3000': `127.0.0.1:${servicePort}`,
  });
  const file = path.join(folder, 'Caddyfile');
  const global = 'admin off\n\tauto_https disable_redirects\n\tlocal_certs\n\tskip_install_trust\n\tdefault_bind 127.0.0.1';
  fs.writeFileSync(file, `{\n\t${global}\n}\n${text}`);
  const child = launch(program('caddy'), ['run', '--config', file, '--adapter', 'caddyfile'],
    { env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder } });
  const root = path.join(folder, 'caddy/pki/authorities/local/root.crt');
  return { child, port, ca: () => fs.existsSync(root) && fs.readFileSync(root) };
}

for (const [name, start] of Object.entries({ nginx: startNginx, Caddy: startCaddy })) {
  describe(name, () => {
    let gateway;
    // A client of the gateway; from another address than the gateway's, which is a trusted proxy.
    const ask = (method, target, { key, headers = {}, body, from = '127.0.0.5' } = {}) => new Promise((resolve, reject) => {
      const request = https.request({ method, host: '127.0.0.1', servername: 'localhost', port: gateway.port, path: target,
        ca: gateway.ca(), localAddress: from,
        headers: { Host: 'localhost', ...(key ? { Authorization: `Bearer ${key}` } : {}), ...headers } }, (response) => {
        const parts = [];
        response.on('data', (part) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          const json = /json/.test(response.headers['content-type'] ?? '') && text ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode, headers: response.headers, text, json });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
    before(async () => {
      gateway = await start();
      for (const limit = Date.now() + 15_000; ; await sleep(50)) {
        if (gateway.ca() && await ask('GET', '/').catch(() => null)) return;
        assert.ok(Date.now() < limit && gateway.child.exitCode === null, `${name} does not serve: ${gateway.child.said}`);
      }
    });

    test('lets a key through and tells the service whose it is, and not the key', async () => {
      for (const headers of [{ Authorization: `Bearer ${writer.key}` }, { 'X-API-Key': writer.key }]) {
        const answer = await ask('GET', '/things?page=2', { headers: { ...headers, 'X-Auth-Key-Id': '1', 'X-Auth-Scopes': '*',
          'X-Auth-Project': 'theirs', RateLimit: 'mine' } });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.json.url, '/things?page=2');
        const { headers: seen } = answer.json;
        assert.deepEqual([seen['x-auth-key-id'], seen['x-auth-project'], seen['x-auth-scopes']],
          [String(writer.id), 'default', 'posts:*']);
        assert.ok(!answer.text.includes(writer.key), 'the service sees no key');
        assert.equal(answer.headers.ratelimit, undefined, 'a key without limits');
      }
    });

    test('passes bodies on, asks OPTIONS and HEAD like GET, and other methods for another scope', async () => {
      const body = JSON.stringify({ text: 'x'.repeat(100_000) });
      const post = await ask('POST', '/things', { key: writer.key, headers: { 'Content-Type': 'application/json' }, body });
      assert.deepEqual([post.status, post.json.method, post.json.body], [200, 'POST', body]);
      const chunks = await ask('PUT', '/things', { key: writer.key, headers: { 'Transfer-Encoding': 'chunked' }, body });
      assert.deepEqual([chunks.status, chunks.json.method, chunks.json.body], [200, 'PUT', body]);
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const answer = await ask(method, '/things', { key: reader.key });
        assert.equal(answer.status, 200, `${method} ${answer.text}`);
        if (method !== 'HEAD') assert.equal(answer.json.method, method);
      }
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        assert.equal((await ask(method, '/things', { key: reader.key })).status, 403, method);
      }
    });

    test('answers 401 with the challenge', async () => {
      const without = await ask('GET', '/things');
      assert.deepEqual([without.status, without.headers['www-authenticate']], [401, 'Bearer realm="api"']);
      for (const key of ['x', `${writer.key.slice(1)}x`]) {
        const wrong = await ask('POST', '/things', { key, body: 'x' });
        assert.deepEqual([wrong.status, wrong.headers['www-authenticate']],
          [401, 'Bearer realm="api", error="invalid_token"']);
      }
    });

    test('asks with what latchkey needs, however much the client sends', async () => {
      // More than latchkey takes; nginx takes no line beyond 8 KiB.
      const bulk = name === 'nginx' ? Object.fromEntries(['Cookie', 'X-One', 'X-Two'].map((field) => [field, 'x'.repeat(6000)]))
        : { Cookie: 'x'.repeat(20_000) };
      const id = `gateway-${name}-0001`;
      const agent = `gateway-test/${name}`;
      const answer = await ask('GET', '/things', { key: reader.key,
        headers: { ...bulk, 'X-Request-Id': id, 'User-Agent': agent } });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.headers.cookie, bulk.Cookie, 'the service has the cookies');
      const twice = await ask('GET', '/things', { headers: { 'X-API-Key': [reader.key, writer.key] } });
      assert.notEqual(twice.status, 500);
      assert.ok(!twice.text.includes(reader.key) && !twice.text.includes(writer.key));
      for (const limit = Date.now() + 5000; ; await sleep(50)) {
        const line = server.logLines().find((each) => each.user_agent === agent);
        if (line) {
          assert.deepEqual([line.request_id, line.ip, line.route, line.key_id], [id, '127.0.0.5', '/auth', reader.id]);
          break;
        }
        assert.ok(Date.now() < limit, 'latchkey logs the request of the client');
      }
    });

    test('answers 403 to a key that may not, at once when it is turned off', async () => {
      const lacks = await ask('GET', '/things', { key: stranger.key });
      assert.deepEqual([lacks.status, lacks.headers['www-authenticate']],
        [403, 'Bearer realm="api", error="insufficient_scope", scope="posts:read"']);
      const admin = server.client((await server.makeKey()).key);
      const made = await admin.post('/keys', { name: 'off', scopes: ['posts:read'] }, { headers: { 'X-Forwarded-Proto': 'https' } });
      assert.equal(made.status, 201);
      assert.equal((await ask('GET', '/things', { key: made.json.key })).status, 200);
      await admin.post(`/keys/${made.json.id}/deactivate`, undefined, { headers: { 'X-Forwarded-Proto': 'https' } });
      assert.equal((await ask('GET', '/things', { key: made.json.key })).status, 403);
      admin.close();
    });

    test('hands on the limits, and 429 with them', async () => {
      const { key } = await make(['posts:read'], { limits: ['few=2/3600'] });
      const first = await ask('GET', '/things', { key });
      assert.deepEqual([first.status, first.headers['ratelimit-policy'], first.headers.ratelimit],
        [200, '"few";q=2;w=3600', '"few";r=1;t=1800']);
      assert.equal((await ask('GET', '/things', { key })).status, 200);
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const refused = await ask(method, '/things', { key });
        assert.equal(refused.status, 429, refused.text);
        assert.equal(refused.headers['ratelimit-policy'], '"few";q=2;w=3600');
        assert.match(refused.headers.ratelimit, /^"few";r=0;t=3[56]\d\d$/);
        assert.ok(Number(refused.headers['retry-after']) > 1000);
      }
    });

    test('answers 429 to an address that tries keys, and not to others', async () => {
      const from = name === 'nginx' ? '127.0.0.6' : '127.0.0.7';
      const statuses = [];
      for (let i = 0; i < 32; i++) statuses.push((await ask('GET', '/things', { key: 'x', from })).status);
      assert.deepEqual([...new Set(statuses.slice(0, 30))], [401]);
      assert.deepEqual(statuses.slice(30), [429, 429]);
      const refused = await ask('GET', '/things', { key: 'x', from });
      assert.ok(Number(refused.headers['retry-after']) > 30);
      assert.equal((await ask('GET', '/things', { key: reader.key, from })).status, 200);
      assert.equal((await ask('GET', '/things', { key: 'x' })).status, 401);
    });

    test('knows the client by its address', async () => {
      const admin = server.client((await server.makeKey()).key, { headers: { 'X-Forwarded-Proto': 'https' } });
      const inside = await admin.create('/keys', { name: 'inside', scopes: ['posts:read'], ip_allowlist: ['127.0.0.5/32'] });
      admin.close();
      assert.equal((await ask('GET', '/things', { key: inside.key })).status, 200);
      for (const headers of [{}, { 'X-Forwarded-For': '127.0.0.5' }]) {
        assert.equal((await ask('GET', '/things', { key: inside.key, from: '127.0.0.8', headers })).status, 403);
      }
    });

    test('keeps its connections to latchkey', async () => {
      const before = connections;
      for (let i = 0; i < 50; i++) assert.equal((await ask('GET', '/things', { key: reader.key })).status, 200);
      for (let i = 0; i < 10; i++) assert.equal((await ask('POST', '/things', { key: writer.key, body: 'x' })).status, 200);
      assert.ok(connections - before <= 3, `${connections - before} connections for 60 requests`);
    });

    test('lets nobody through when latchkey is not there', async () => {
      const { port } = relay.address();
      relay.close();
      for (const socket of relayed) socket.destroy();
      const answer = await ask('GET', '/things', { key: reader.key });
      assert.ok([500, 502].includes(answer.status), answer.text);
      assert.equal(answer.json, undefined);
      await new Promise((resolve) => { relay.listen(port, '127.0.0.1', resolve); });
      assert.equal((await ask('GET', '/things', { key: reader.key })).status, 200);
    });
  });
}
