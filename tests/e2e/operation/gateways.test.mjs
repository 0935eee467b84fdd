// Debian's nginx and Caddy with the recipes of tools/recipes, of which only ports and the certificate are changed: they ask
// /auth about each request before a toy service receives it (docs/api.md §4).

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
import * as jose from 'jose';
import { rawRequest } from '../helpers/raw_client.mjs';
import { assertStatus, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';

const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const children = new Set();
process.on('exit', () => { for (const child of children) child.kill('SIGKILL'); });

// An issuer whose JWTs latchkey verifies, so that a gateway need not.
const issuer = 'https://id.example.org';
const { privateKey, publicKey } = await jose.generateKeyPair('ES256');
const jwks = path.join(temporaryFolder(), 'jwks.json');
fs.writeFileSync(jwks, JSON.stringify({ keys: [{ ...await jose.exportJWK(publicKey), kid: '1', alg: 'ES256' }] }), { mode: 0o644 });
const sign = (claims) => new jose.SignJWT({ iss: issuer, aud: 'things', sub: 'job', ...claims }).setExpirationTime('5m')
  .setProtectedHeader({ alg: 'ES256', kid: '1' }).sign(privateKey);

const server = await startServer({
  listen: ['https://127.0.0.1:0', 'http://127.0.0.1:0'],
  config: `trusted_proxies = ["127.0.0.1"]\n[[jwt]]\nissuer = "${issuer}"\naudience = "things"\njwks = "${jwks}"\n`,
});
const make = (scopes, more = {}) => server.makeKey({ name: 'gateway', scopes, ...more });
const [writer, reader, stranger] = [await make(['posts:*']), await make(['posts:read']), await make(['users:read'])];

// The service behind the gateway echoes the request and records it as received.
const arrived = [];
const service = http.createServer({ maxHeaderSize: 1 << 16 }, async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const { method, url, headers } = request;
  arrived.push({ method, url, fields: request.rawHeaders, trailers: request.rawTrailers });
  if (url === '/stuck') return;
  if (url === '/gone') return request.socket.destroy();
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }));
});
service.on('upgrade', ({ method, url, rawHeaders }, socket) => {
  arrived.push({ method, url, fields: rawHeaders, trailers: [], upgraded: true });
  socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
});
// A relay between gateway and latchkey, to count connections and to cut them.
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
const listening = (listener) => new Promise((resolve) => {
  listener.listen(0, '127.0.0.1', () => resolve(listener.address().port));
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
  const programFile = places.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
  assert.ok(programFile, `there is no ${name}; tools/test unpacks it into build/gateways`);
  return programFile;
}

// The recipe with these words replaced, each of which must occur.
function recipe(name, words) {
  let text = fs.readFileSync(path.join(top, 'tools/recipes', name), 'utf8');
  for (const [placeholder, value] of Object.entries(words)) {
    assert.ok(text.includes(placeholder), `${name} has ${placeholder}`);
    text = text.replaceAll(placeholder, value);
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
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  fs.writeFileSync(path.join(folder, 'nginx.conf'), `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
user ${os.userInfo().username};
events {}
http { access_log off; proxy_read_timeout 5s; ${temporary.join(' ')} include ${folder}/recipe.conf; }\n`);
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

// The variables that CGI and similar interfaces derive from a request's field lines, with all their values. lighttpd takes any character but
// letters and digits for `_`, most others only the hyphen.
function variablesOf({ fields, trailers }) {
  const variables = {};
  const lines = [...fields, ...trailers];
  for (let i = 0; i < lines.length; i += 2) {
    const name = `HTTP_${lines[i].toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
    (variables[name] ??= []).push(lines[i + 1]);
  }
  return variables;
}

const identity = ['X-Auth-Key-Id', 'X-Auth-Project', 'X-Auth-Scopes'];
const believed = [...identity, 'X-Auth-Status', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Forwarded-Port',
  'X-Forwarded-Server', 'X-Forwarded-Prefix', 'X-Forwarded-User', 'X-Forwarded-Ssl', 'X-Forwarded-Uri', 'X-Real-IP', 'Forwarded',
  'X-HTTP-Method-Override', 'Proxy', 'X-Auth-User', 'X-Auth-Request-Email', 'X-Forwarded-Client-Cert', 'X-Forwarded-Anything'];
// Every character of a token (RFC 9110 §5.6.2) that is neither letter nor digit, some mixed, and cases.
const spellings = {
  'as it is': (text) => text,
  'in capitals': (text) => text.toUpperCase(),
  'in small letters': (text) => text.toLowerCase(),
  'in mixed case': (text) => text.replace(/[a-z]/gi, (letter, i) => (i % 2 ? letter.toUpperCase() : letter.toLowerCase())),
  'with one underscore': (text) => text.replace('-', '_'),
  'with the last one an underscore': (text) => text.replace(/-(?=[^-]*$)/, '_'),
  ...Object.fromEntries(Array.from('_.!#$%&\'*+^`|~', (other) => [`with ${other}`, (text) => text.replaceAll('-', other)])),
};
const nominations = {
  'not nominated': () => [],
  'nominated with close': (names) => [['Connection', `close, ${names.join(', ')}`]],
  'nominated with keep-alive': (names) => [['Connection', `keep-alive,${names.join(',').toLowerCase()}`]],
  'nominated line by line': (names) => names.map((each) => ['Connection', each]),
  'nominated in spite of Proxy-Connection': (names) => [['Proxy-Connection', 'keep-alive'], ['Connection', names.join(' , ')]],
};

for (const [name, start] of Object.entries({ nginx: startNginx, Caddy: startCaddy })) {
  describe(name, () => {
    let gateway;
    // A client of the gateway, with another address than the gateway, which is a trusted proxy.
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
        const { headers: forwarded } = answer.json;
        assert.deepEqual([forwarded['x-auth-key-id'], forwarded['x-auth-project'], forwarded['x-auth-scopes']],
          [String(writer.id), 'default', 'posts:*']);
        assert.ok(!answer.text.includes(writer.key), 'the service sees no key');
        assert.equal(answer.headers.ratelimit, undefined, 'a key without limits');
      }
    });

    test('lets a JWT through as the record of its subject, with the scopes that both have', async () => {
      const admin = await make(['*']);
      const headers = { 'X-Forwarded-Proto': 'https' }; // this test's own address is that of a trusted proxy
      const made = await server.ask('POST', '/api/v1/keys', { key: admin.key, headers,
        body: { name: 'job', kind: 'jwt', issuer, subject: `job-${name}`, scopes: ['posts:*'], rate_limits: [] } });
      assertStatus(made, 201);
      const { id } = made.json;
      const token = await sign({ sub: `job-${name}`, scope: 'posts:read openid' });
      const answer = await ask('GET', '/things', { key: token });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual([answer.json.headers['x-auth-key-id'], answer.json.headers['x-auth-scopes']], [String(id), 'posts:read']);
      assert.ok(!answer.text.includes(token), 'the service sees no token');
      assert.equal((await ask('POST', '/things', { key: token, body: 'x' })).status, 403);
      assert.equal((await ask('POST', '/things', { key: await sign({ sub: `job-${name}` }), body: 'x' })).status, 200);
      const refused = await ask('GET', '/things', { key: `${token}A`, from: '127.0.0.21' });
      assert.equal(refused.status, 401);
      assert.match(refused.headers['www-authenticate'], /error="invalid_token", error_description="The /);
      assertStatus(await server.ask('POST', `/api/v1/keys/${id}/deactivate`, { key: admin.key, headers }), 200);
      assert.equal((await ask('GET', '/things', { key: token })).status, 403);
    });

    // Sends these lines with the writer's key; returns what the service received, if anything.
    let count = 0;
    const send = async (version, method, fields, body) => {
      const url = `/${name}/${count += 1}`;
      const target = { port: gateway.port, ca: gateway.ca(), from: '127.0.0.5' };
      const status = await rawRequest(version, target, method, url, [['Authorization', `Bearer ${writer.key}`], ...fields], body);
      const requests = arrived.filter((each) => each.url === url);
      assert.ok(requests.length <= 1, 'one request is passed on once');
      return { status, request: requests[0] };
    };
    const expectTruth = (request, label) => {
      const variables = variablesOf(request);
      assert.deepEqual(identity.map((each) => variables[`HTTP_${each.toUpperCase().replaceAll('-', '_')}`]),
        [[String(writer.id)], ['default'], ['posts:*']], label);
      assert.deepEqual([variables.HTTP_X_FORWARDED_FOR, variables.HTTP_X_FORWARDED_PROTO, variables.HTTP_X_FORWARDED_HOST, variables.HTTP_X_REAL_IP],
        [['127.0.0.5'], ['https'], ['localhost'], ['127.0.0.5']], label);
      for (const [variable, values] of Object.entries(variables)) assert.ok(!values.join().includes('forged'), `${label}: ${variable}`);
      for (const absentVariable of ['HTTP_FORWARDED', 'HTTP_AUTHORIZATION', 'HTTP_X_API_KEY', 'HTTP_PROXY', 'HTTP_UPGRADE', 'HTTP_KEEP_ALIVE',
        'HTTP_PROXY_CONNECTION', 'HTTP_PROXY_AUTHORIZATION']) assert.equal(variables[absentVariable], undefined, `${label}: ${absentVariable}`);
      // Caddy itself announces that it accepts trailers.
      assert.ok(['trailers', undefined].includes(variables.HTTP_TE?.join()), `${label}: ${variables.HTTP_TE}`);
    };

    for (const version of ['1.1', '2']) {
      test(`lets no client claim an identity, in any spelling, over HTTP/${version}`, async () => {
        for (const [spelling, spell] of Object.entries(spellings)) {
          for (const [nomination, nominate] of Object.entries(nominations)) {
            const title = `${spelling}, ${nomination}`;
            const names = believed.map(spell);
            // Twice each, so that taking the first or last line is not enough.
            const forged = names.flatMap((each) => [[each, 'forged'], [each, 'forged, too']]);
            const { status, request } = await send(version, 'GET', [...forged, ...nominate([...identity, ...names])]);
            // HTTP/2 has no field `connection` (RFC 9113 §8.2.2), so a gateway may refuse the request for it.
            if (version === '1.1' || nomination === 'not nominated') assert.equal(status, 200, title);
            assert.equal(request !== undefined, status === 200, title);
            if (request) expectTruth(request, title);
          }
        }
      });

      test(`passes on no fields of a single connection and upgrades none, over HTTP/${version}`, async () => {
        const settings = ['HTTP2-Settings', 'AAMAAABkAAQAAP__'];
        const cases = {
          'fields of a connection': [['TE', 'trailers, forged;q=0.5'], ['Keep-Alive', 'timeout=5'], ['Proxy-Connection', 'keep-alive'],
            ['Proxy-Authorization', 'Basic Zm9yZ2Vk']],
          'TE, nominated': [['TE', 'trailers'], ['Connection', 'TE, X-Auth-Key-Id']],
          'an upgrade to HTTP/2': [['Upgrade', 'h2c'], settings, ['Connection', 'Upgrade, HTTP2-Settings']],
          'an upgrade to HTTP/2 that nominates': [['Upgrade', 'h2c'], settings, ['Connection', 'Upgrade, HTTP2-Settings, X-Auth-Key-Id']],
          'a WebSocket': [['Upgrade', 'websocket'], ['Connection', 'Upgrade'], ['Sec-WebSocket-Version', '13'],
            ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ==']],
        };
        for (const [description, fields] of Object.entries(cases)) {
          const { status, request } = await send(version, 'GET', fields);
          if (version === '1.1') assert.equal(status, 200, description);
          if (request) expectTruth(request, description);
          assert.ok(!request?.upgraded, description);
        }
      });
    }

    test('passes on no identity behind a body', async () => {
      const trailers = identity.map((each) => `${each}: forged\r\n`).join('');
      const { status, request } = await send('1.1', 'POST', [['Transfer-Encoding', 'chunked'], ['Trailer', identity.join(', ')]],
        `3\r\nabc\r\n0\r\n${trailers}\r\n`);
      assert.equal(status, 200);
      expectTruth(request, 'trailers');
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
      const anonymous = await ask('GET', '/things');
      assert.deepEqual([anonymous.status, anonymous.headers['www-authenticate']], [401, 'Bearer realm="api"']);
      for (const key of ['x', `${writer.key.slice(1)}x`]) {
        const wrong = await ask('POST', '/things', { key, body: 'x' });
        assert.deepEqual([wrong.status, wrong.headers['www-authenticate']],
          [401, 'Bearer realm="api", error="invalid_token"']);
      }
    });

    // A problem document without request_id, which only latchkey's own have.
    const expectProblem = (answer, status, code) => {
      assert.deepEqual([answer.status, answer.headers['content-type']], [status, 'application/problem+json'], answer.text);
      assert.deepEqual(Object.keys(answer.json), ['type', 'title', 'status', 'code', 'detail']);
      assert.deepEqual([answer.json.type, answer.json.status, answer.json.code], ['about:blank', status, code]);
      assert.match(answer.json.detail, /^[A-Z].*\.$/);
    };

    test('answers problem documents of its own where the service fails', async () => {
      expectProblem(await ask('GET', '/gone', { key: reader.key }), 502, 'bad_gateway');
      const { text, headers } = await ask('HEAD', '/gone', { key: reader.key });
      assert.deepEqual([text, headers['content-type']], ['', 'application/problem+json']);
    });

    test('answers problem documents of its own to what it refuses', { skip: name !== 'nginx' && 'Caddy passes on what latchkey answers' }, async () => {
      expectProblem(await ask('GET', '/things'), 401, 'key_missing');
      expectProblem(await ask('GET', '/things', { key: 'x' }), 401, 'key_invalid');
      expectProblem(await ask('GET', '/things', { key: await sign({ sub: 'nobody', aud: 'others' }) }), 401, 'token_invalid');
      expectProblem(await ask('GET', '/things', { key: stranger.key }), 403, 'insufficient_scope');
      const admin = server.client((await server.makeKey()).key, { headers: { 'X-Forwarded-Proto': 'https' } });
      const elsewhere = await admin.create('/keys', { name: 'elsewhere', scopes: ['posts:read'], ip_allowlist: ['127.0.0.99/32'] });
      admin.close();
      expectProblem(await ask('GET', '/things', { key: elsewhere.key }), 403, 'forbidden');
      const { key } = await make(['posts:read'], { limits: ['once=1/3600'] });
      assert.equal((await ask('GET', '/things', { key })).status, 200);
      expectProblem(await ask('GET', '/things', { key }), 429, 'rate_limited');
      for (let i = 0; i < 30; i++) await ask('GET', '/things', { key: 'x', from: '127.0.0.31' });
      expectProblem(await ask('GET', '/things', { key: 'x', from: '127.0.0.31' }), 429, 'too_many_auth_failures');
      expectProblem(await ask('GET', '/_problem', { key: reader.key }), 404, 'route_not_found');
      expectProblem(await ask('POST', '/things', { key: writer.key, headers: { 'Content-Length': '2000000' } }), 413, 'body_too_large');
      expectProblem(await ask('GET', `/${'x'.repeat(40_000)}`, { key: reader.key }), 414, 'uri_too_long');
      expectProblem(await ask('GET', '/things', { key: reader.key, headers: { 'X-Long': 'x'.repeat(40_000) } }), 431, 'headers_too_large');
      expectProblem(await ask('TRACE', '/things', { key: reader.key }), 405, 'method_not_allowed');
      expectProblem(await ask('GET', '/things', { key: reader.key, headers: { Host: 'a b' } }), 400, 'malformed_request');
      expectProblem(await ask('GET', '/stuck', { key: reader.key }), 504, 'gateway_timeout');
    });

    test('asks with what latchkey needs, however much the client sends', async () => {
      // More than latchkey accepts; nginx accepts no line beyond 8 KiB.
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
      const creation = await admin.post('/keys', { name: 'off', scopes: ['posts:read'] }, { headers: { 'X-Forwarded-Proto': 'https' } });
      assert.equal(creation.status, 201);
      assert.equal((await ask('GET', '/things', { key: creation.json.key })).status, 200);
      await admin.post(`/keys/${creation.json.id}/deactivate`, undefined, { headers: { 'X-Forwarded-Proto': 'https' } });
      assert.equal((await ask('GET', '/things', { key: creation.json.key })).status, 403);
      admin.close();
    });

    test('hands on the limits, and 429 with them', async () => {
      const { key } = await make(['posts:read'], { limits: ['few=2/3600'] });
      const first = await ask('GET', '/things', { key });
      assert.deepEqual([first.status, first.headers['ratelimit-policy'], first.headers.ratelimit],
        [200, '"few";q=2;w=3600', '"few";r=1;t=1800']);
      assert.equal((await ask('GET', '/things', { key })).status, 200);
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const refusal = await ask(method, '/things', { key });
        assert.equal(refusal.status, 429, refusal.text);
        assert.equal(refusal.headers['ratelimit-policy'], '"few";q=2;w=3600');
        assert.match(refusal.headers.ratelimit, /^"few";r=0;t=1[78]\d\d$/);
        assert.ok(Number(refusal.headers['retry-after']) > 1000);
      }
    });

    test('answers 429 to an address that tries keys, and not to others', async () => {
      const clientAddress = name === 'nginx' ? '127.0.0.6' : '127.0.0.7';
      const statuses = [];
      for (let i = 0; i < 32; i++) statuses.push((await ask('GET', '/things', { key: 'x', from: clientAddress })).status);
      assert.deepEqual([...new Set(statuses.slice(0, 30))], [401]);
      assert.deepEqual(statuses.slice(30), [429, 429]);
      const rejection = await ask('GET', '/things', { key: 'x', from: clientAddress });
      assert.ok(Number(rejection.headers['retry-after']) > 30);
      assert.equal((await ask('GET', '/things', { key: reader.key, from: clientAddress })).status, 200);
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
      const connectionCount = connections;
      for (let i = 0; i < 50; i++) assert.equal((await ask('GET', '/things', { key: reader.key })).status, 200);
      for (let i = 0; i < 10; i++) assert.equal((await ask('POST', '/things', { key: writer.key, body: 'x' })).status, 200);
      assert.ok(connections - connectionCount <= 3, `${connections - connectionCount} connections for 60 requests`);
    });

    test('lets no request through when latchkey is not running', async () => {
      const { port } = relay.address();
      relay.close();
      for (const socket of relayed) socket.destroy();
      const answer = await ask('GET', '/things', { key: reader.key });
      if (name === 'nginx') expectProblem(answer, 500, 'internal_error');
      else expectProblem(answer, 502, 'bad_gateway');
      await new Promise((resolve) => { relay.listen(port, '127.0.0.1', resolve); });
      assert.equal((await ask('GET', '/things', { key: reader.key })).status, 200);
    });
  });
}
