// The management listener: liveness, readiness and metrics (docs/api.md §13), and what the access log does when its disk is full.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertStatus, command, message, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { utf8 } from '../helpers/wire.mjs';

const promtool = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../build/packages/usr/bin/promtool');
const managed = (options = {}) => startServer({ management: '127.0.0.1:0', ...options });

function managementOf(server) {
  const matches = /management on ([0-9.]+):([0-9]+)/.exec(server.stderr);
  assert.ok(matches, `it says where: ${server.stderr}`);
  return { scheme: 'http', host: matches[1], port: Number(matches[2]) };
}

// Not through wire.mjs: the API's rules for responses do not apply to the management listener.
async function look(server, target, { method = 'GET' } = {}) {
  const { host, port } = managementOf(server);
  const request = http.request({ host, port, path: target, method, agent: false });
  request.end();
  const [answer] = await once(request, 'response');
  const body = Buffer.concat(await answer.toArray());
  let json;
  if (answer.headers['content-type'].startsWith('application/json') && body.length > 0) json = JSON.parse(body);
  return { status: answer.statusCode, headers: new Headers(answer.headers), body, json };
}

// {'name{labels}': number}
async function metrics(server) {
  const answer = await look(server, '/metrics');
  assertStatus(answer, 200);
  const lines = utf8(answer.body).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

describe('the management listener', () => {
  test('counts a commit every few seconds, not one for each request, while there are only reads', async () => {
    const server = await managed();
    const { key } = await server.makeKey();
    const client = server.client(key);
    const baseline = (await metrics(server)).latchkey_commits_total;
    const deadline = Date.now() + 7000;
    let requestCount = 0;
    for (; Date.now() < deadline; requestCount += 1) assertStatus(await client.get('/users?limit=1'), 200);
    const commits = (await metrics(server)).latchkey_commits_total - baseline;
    assert.ok(requestCount > 100 && commits >= 1 && commits <= 8, `${commits} commits for ${requestCount} requests`);
    client.close();
    await server.stop();
  });

  test('answers while there are more connections than files that may be open', async () => {
    const server = await managed({ workers: 1, under: ['sh', '-c', 'ulimit -n 160; exec "$@"', 'sh'] });
    const [, fitting] = /of 8192 connections per worker only (\d+) fit, since at most 160 files may be open/.exec(server.stderr) ?? [];
    assert.ok(Number(fitting) > 0 && Number(fitting) < 120, server.stderr);
    const { host, port } = server.at('http');
    const sockets = Array.from({ length: 300 }, () => net.connect({ host, port }).on('error', () => {}));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => { socket.once('connect', resolve).once('close', resolve); })));
    for (const page of ['/livez', '/readyz']) assertStatus(await look(server, page), 200);
    const count = (await metrics(server)).latchkey_connections;
    assert.ok(count <= Number(fitting), `${count} connections`);
    sockets.forEach((socket) => socket.destroy());
    await server.stop();
  });

  test('tells that the process lives and whether it takes requests', async () => {
    const server = await managed();
    const live = await look(server, '/livez');
    assertStatus(live, 200);
    assert.deepEqual(live.json, { status: 'live' });
    const ready = await look(server, '/readyz');
    assertStatus(ready, 200);
    assert.deepEqual(ready.json, { status: 'ready', checks: { workers: 'ok', store: 'ok', accepting: 'ok' } });
    assert.equal(ready.headers.get('cache-control'), 'no-store');
    assertStatus(await look(server, '/'), 404);
    assertStatus(await look(server, '/api/v1/users'), 404);
    const wrong = await look(server, '/readyz', { method: 'DELETE' });
    assertStatus(wrong, 405);
    assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
    assert.equal((await look(server, '/readyz', { method: 'HEAD' })).body.length, 0);
    await server.stop();
  });

  test('says 503 and why while it drains, and still serves metrics', async () => {
    const server = await managed({ args: ['--stop-drain-delay-seconds', '2'] });
    server.child.kill('SIGTERM');
    let answer;
    await until(async () => (answer = await look(server, '/readyz')).status === 503, 'it drains', 2000);
    assert.equal(answer.json.status, 'not ready');
    assert.equal(answer.json.checks.accepting, 'draining');
    assert.equal(answer.json.checks.workers, 'ok');
    assertStatus(await look(server, '/livez'), 200);
    assert.ok((await metrics(server)).latchkey_workers === 2);
    assertStatus(await server.ask('GET', '/healthz'), 200);
    await server.stop();
  });

  test('does not hold up a signal, whatever its callers do', async () => {
    const server = await managed();
    const address = managementOf(server);
    const callers = await Promise.all(Array.from({ length: 40 }, async () => {
      const wire = net.connect(address.port, address.host);
      wire.on('error', () => {});
      await new Promise((done) => { wire.once('connect', done); });
      wire.write('GET /metrics HTTP/1.1\r\nHost: x\r\n');
      return wire;
    }));
    const deaf = net.connect(address.port, address.host);
    deaf.on('error', () => {});
    deaf.pause();
    for (let i = 0; i < 200; i += 1) deaf.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    await sleep(100); // what they sent has arrived
    assertStatus(await look(server, '/livez'), 200);
    const startTime = Date.now();
    await server.stop();
    assert.ok(Date.now() - startTime < 3000, 'SIGTERM was obeyed at once');
    for (const wire of [...callers, deaf]) wire.destroy();
  });

  test('is off where that is wanted, and an address that is taken is an error only if it was chosen', async () => {
    const unmanaged = await startServer({ management: 'off' });
    assert.doesNotMatch(unmanaged.stderr, /management/);
    await unmanaged.stop();
    const first = await managed();
    const { port } = managementOf(first);
    const serve = (address) => command('serve', '--data', path.join(temporaryFolder(), 'data'), '--listen', 'http://127.0.0.1:0', '--management', address);
    const secondServer = await serve(`127.0.0.1:${port}`);
    assert.equal(secondServer.code, 1, secondServer.stderr);
    assert.match(secondServer.stderr, new RegExp(`127\\.0\\.0\\.1:${port}`));
    for (const wrong of ['9464', 'localhost', '127.0.0.1:x', 'off:1']) assert.equal((await serve(wrong)).code, 78, wrong);
    await first.stop();
    const blocker = net.createServer().listen(9464, '127.0.0.1');
    await new Promise((done) => { blocker.once('listening', done).once('error', done); });
    const fallback = await startServer({ management: null });
    assert.match(fallback.stderr, /warning: there is no management listener/);
    await fallback.stop();
    await new Promise((done) => { blocker.close(done); });
  });
});

describe('/metrics', () => {
  test('is what promtool takes, and counts each thing where it belongs', async () => {
    const server = await managed();
    const { key } = await server.makeKey();
    const { key: limited } = await server.makeKey({ limits: ['one=1/3600'] });
    const previous = await metrics(server);
    const api = server.client(key);
    for (let i = 0; i < 20; i += 1) await api.create('/users', newUser());
    for (let i = 0; i < 30; i += 1) await api.read('/users/1');
    api.close();
    assertStatus(await server.ask('GET', '/users/1', { key, scheme: 'http' }), 200); // the same route without its prefix
    assertStatus(await server.ask('HEAD', '/api/v1/users/1', { key }), 200);
    assertStatus(await server.ask('GET', '/api/v1/users/secret-looking-id', { key }), 404);
    assertStatus(await server.ask('GET', '/api/v1/client-chosen-path', { key }), 404);
    assertStatus(await server.ask('PUT', '/api/v1/users', { key, body: {} }), 405);
    assertStatus(await server.ask('BREW'.repeat(9), '/api/v1/users', { key }), 501);
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${key}`), 200);
    assertStatus(await server.ask('POST', '/api/v1/users', { body: { ...newUser(), api_key: key } }), 201);
    assertStatus(await server.ask('GET', '/api/v1/users', { headers: { Authorization: `Bearer ${key}` } }), 200);
    assertStatus(await server.ask('GET', '/api/v1/users'), 401);
    assertStatus(await server.ask('GET', '/api/v1/users', { key: 'nobody' }), 401);
    assertStatus(await server.ask('GET', '/api/v1/users', { key: limited }), 200);
    assertStatus(await server.ask('GET', '/api/v1/users', { key: limited }), 429);
    const answer = await look(server, '/metrics');
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    const latest = await metrics(server);
    const grew = (name) => (latest[name] ?? 0) - (previous[name] ?? 0);

    const requests = (route, method, status) => grew(`latchkey_requests_total{route="${route}",method="${method}",status="${status}"}`);
    assert.equal(requests('/api/v1/users', 'POST', '2xx'), 21);
    assert.equal(requests('/api/v1/users/{id}', 'GET', '2xx'), 31);
    assert.equal(requests('/api/v1/users/{id}', 'GET', '4xx'), 1);
    assert.equal(requests('/api/v1/users/{id}', 'HEAD', '2xx'), 1);
    assert.equal(requests('none', 'GET', '4xx'), 1);
    assert.equal(requests('/api/v1/users', 'PUT', '4xx'), 1);
    assert.equal(requests('none', 'OTHER', '5xx'), 1);
    assert.equal(requests('/api/v1/users', 'GET', '4xx'), 3);
    const duration = (suffix, more = '') => grew(`latchkey_request_duration_seconds_${suffix}{route="/api/v1/users/{id}",method="GET"${more}}`);
    assert.equal(duration('count'), 33); // GET, HEAD and the 404
    assert.equal(duration('bucket', ',le="+Inf"'), 33);
    assert.equal(duration('bucket', ',le="10"'), 33);
    assert.ok(duration('sum') > 0 && duration('sum') < 1);

    const source = (name) => grew(`latchkey_credentials_total{source="${name}"}`);
    assert.deepEqual(['bearer', 'query', 'body'].map(source), [1, 1, 1]);
    assert.ok(source('header') >= 55);
    const problems = (code) => grew(`latchkey_problems_total{code="${code}"}`);
    assert.deepEqual(['key_missing', 'key_invalid', 'rate_limited', 'method_not_allowed', 'method_not_implemented', 'overloaded'].map(problems),
      [1, 1, 1, 1, 1, 0]);
    assert.equal(grew('latchkey_commands_total'), 21);
    assert.equal(grew('latchkey_commit_commands_sum'), 21);
    assert.ok(grew('latchkey_commits_total') >= grew('latchkey_commit_commands_count'));
    assert.ok(grew('latchkey_commit_commands_count') >= 1 && grew('latchkey_commit_commands_count') <= 21);
    const lookups = (result) => grew(`latchkey_key_lookups_total{result="${result}"}`);
    assert.ok(lookups('hit') > 40 && lookups('miss') >= 2 && lookups('malformed') === 1);
    assert.ok(grew('latchkey_tls_handshakes_total{result="full"}') >= 1);
    assert.ok(grew('latchkey_connections_accepted_total') >= 10);
    for (const name of ['latchkey_connections_passed_on_total', 'latchkey_requests_foreseen_total'])
      assert.ok(Number.isInteger(latest[name]), name);
    assert.ok(grew('latchkey_received_bytes_total') > 5000 && grew('latchkey_sent_bytes_total') > 10_000);
    assert.ok(latest.latchkey_store_used_bytes > 0 && latest.latchkey_store_map_bytes === 64 * 2 ** 30);
    assert.ok(latest.latchkey_receive_buffers_free > 1000);
    assert.equal(latest.latchkey_log_entries_dropped_total, 0);
    assert.ok(Math.abs(latest.process_start_time_seconds - Date.now() / 1000) < 60);
    assert.ok(latest.latchkey_uptime_seconds > 0 && latest.latchkey_uptime_seconds < 60);
    const text = utf8(answer.body);
    for (const needle of ['client-chosen', 'secret-looking', 'BREW', key, 'nobody']) assert.equal(text.includes(needle), false, needle);

    assert.ok(fs.existsSync(promtool), `tests/e2e/install puts promtool at ${promtool}`);
    execFileSync(promtool, ['check', 'metrics'], { input: answer.body, stdio: ['pipe', 'pipe', 'pipe'] });
    await server.stop();
  });

  test('counts sessions that are resumed, and handshakes that fail', async () => {
    const server = await managed({ workers: 1 });
    const baseline = await metrics(server);
    const first = await server.connect();
    let session = null;
    first.socket.on('session', (ticket) => { session = ticket; });
    await first.send(message('GET', '/healthz', {}));
    assertStatus(await first.response(), 200);
    await until(() => session, 'a session to resume');
    first.close();
    const second = await server.connect({ options: { session } });
    await second.send(message('GET', '/healthz', {}));
    assertStatus(await second.response(), 200);
    second.close();
    const { host, port } = server.at();
    const plain = net.connect(port, host, () => plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    await once(plain.resume(), 'close');
    const finalMetrics = await metrics(server);
    const grew = (result) => finalMetrics[`latchkey_tls_handshakes_total{result="${result}"}`] - baseline[`latchkey_tls_handshakes_total{result="${result}"}`];
    assert.deepEqual(['full', 'resumed', 'failed'].map(grew), [1, 1, 1]);
    await server.stop();
  });

  test('counts what the access log could not take', async () => {
    const server = await managed({ log: '/dev/full' });
    const dropped = async () => (await metrics(server)).latchkey_log_entries_dropped_total;
    await sleep(500); // a worker hands its lines over after 250 ms
    const baseline = await dropped();
    for (let i = 0; i < 5; i += 1) assertStatus(await server.ask('GET', '/healthz'), 200);
    await until(async () => await dropped() >= baseline + 5, 'all are counted');
    assert.equal(await dropped(), baseline + 5);
    await server.stop();
  });
});
