// Sessions of browsers (docs/api.md §18) against the real program over HTTPS: who may use the cookie, and when it ends. What the
// console does with it is in console.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { overHttp2 } from '../helpers/event_stream.mjs';
import { assertStatus, command, newUser, sleep, startServer } from '../helpers/harness.mjs';

const server = await startServer();
const other = await startServer();
after(() => Promise.all([server.stop(), other.stop()]));
const { key } = await server.makeKey({ name: 'admin' });

const cookieOf = (answer) => answer.headers.get('set-cookie').replace(/;.*/, '');
const ownPage = (cookie, more = {}) => ({ Cookie: cookie, 'Sec-Fetch-Site': 'same-origin', ...more });
const writing = { Origin: 'https://localhost', 'X-Requested-With': 'latchkey' };

async function logIn(text = key) {
  const answer = await server.ask('POST', '/api/v1/session', { key: text });
  assertStatus(answer, 200);
  return cookieOf(answer);
}
const read = (cookie, headers = ownPage(cookie), at = server) => at.ask('GET', '/api/v1/users', { headers });

test('GET /service counts what was answered, and who was refused', async () => {
  const before = (await server.client(key).read('/service'));
  for (let i = 0; i < 3; i++) assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
  assertStatus(await server.ask('GET', '/api/v1/users', { key: 'unknown' }), 401);
  const later = (await server.client(key).read('/service'));
  assert.ok(later.requests['2xx'] >= before.requests['2xx'] + 3);
  assert.equal(later.failed_authentications, before.failed_authentications + 1);
  assert.ok(later.latency.count >= before.latency.count + 4);
  assert.ok(later.latency.buckets.every(({ count }, i, all) => i === 0 || count >= all[i - 1].count), 'cumulative');
  assert.ok(Date.parse(later.started_at) <= Date.now());
  assert.deepEqual(later.nodes, []);
});

describe('a session', () => {
  test('reads and writes for the pages of its service', async () => {
    const cookie = await logIn();
    assertStatus(await read(cookie), 200);
    assertStatus(await server.ask('POST', '/api/v1/users', { headers: ownPage(cookie, writing), body: newUser() }), 201);
  });

  test('begins and ends whatever body is sent', async () => {
    for (const body of ['{', '{"scopes":["*"]}', 'x'.repeat(100_000)]) {
      const answer = await server.ask('POST', '/api/v1/session', { key, body, type: 'application/json' });
      assertStatus(answer, 200);
      assertStatus(await server.ask('DELETE', '/api/v1/session', { headers: ownPage(cookieOf(answer), writing), body }), 204);
    }
  });

  test('changes nothing without Origin, for another site, or by a form', async () => {
    const cookie = await logIn();
    const refused = [
      { 'X-Requested-With': 'latchkey' },
      { ...writing, Origin: 'https://evil.example' },
      { ...writing, 'Sec-Fetch-Site': 'cross-site' },
      { ...writing, 'Sec-Fetch-Site': 'same-site' },
      { Origin: writing.Origin },
    ];
    for (const more of refused) {
      const answer = await server.ask('POST', '/api/v1/users', { headers: ownPage(cookie, more), body: newUser() });
      assertStatus(answer, 403, 'cross_site_request');
    }
  });

  test('is not read by a page of another site', async () => {
    const cookie = await logIn();
    assertStatus(await read(cookie, { Cookie: cookie }), 403, 'cross_site_request');
    assertStatus(await read(cookie, ownPage(cookie, { 'Sec-Fetch-Site': 'cross-site' })), 403, 'cross_site_request');
  });

  test('is refused when it was altered, or is shown to another service', async () => {
    const cookie = await logIn();
    const last = cookie.at(-1) === '0' ? '1' : '0';
    assertStatus(await read(cookie.slice(0, -1) + last), 401, 'session_invalid');
    assertStatus(await read(cookie, ownPage(cookie), other), 401, 'session_invalid');
  });

  test('ends at once when its key is deactivated', async () => {
    const record = await server.client(key).create('/keys', { name: 'short', scopes: ['users:read'] });
    const cookie = await logIn(record.key);
    assertStatus(await read(cookie), 200);
    await command('keys', 'deactivate', String(record.id), '--data', server.data);
    assertStatus(await read(cookie), 403, 'key_deactivated');
  });

  test('ends everywhere, also the stream that it has opened', async () => {
    const cookie = await logIn();
    const stream = await overHttp2(server, '/api/v1/changes?after=latest',
      { accept: 'text/event-stream', cookie, 'sec-fetch-site': 'same-origin' });
    assert.equal(stream.status, 200);
    await sleep(5); // the end of all holds for those that began in an earlier millisecond
    assertStatus(await server.ask('DELETE', '/api/v1/sessions', { headers: ownPage(cookie, writing) }), 204);
    assertStatus(await read(cookie), 401, 'session_invalid');
    assert.equal(await stream.ended, null);
    stream.session.close();
    await sleep(5); // the next one begins in a later millisecond
    assertStatus(await read(await logIn()), 200);
  });

  test('is in no log', async () => {
    const cookie = await logIn();
    assertStatus(await read(cookie), 200);
    const secret = cookie.replace(/^[^=]*=/, '');
    assert.ok(!server.stderr.includes(secret));
    const log = path.join(server.data, 'access.log');
    assert.ok(!fs.existsSync(log) || !fs.readFileSync(log, 'utf8').includes(secret));
  });
});
