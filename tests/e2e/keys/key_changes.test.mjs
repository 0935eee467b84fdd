// What is told of keys that no request changes (docs/api.md §16): what time brings, and how they are used.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';
import { theirClock } from '../helpers/wire.mjs';

const day = 24 * 3600 * 1000;
const inSeconds = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();

// Within a minute; the types of the changes of keys, by key, without those of requests.
async function told(api, wanted) {
  const limit = Date.now() + 60_000;
  for (;;) {
    const { data } = await api.read('/changes?limit=1000&type=key.*');
    const found = data.filter(({ type }) => !['key.created', 'key.updated', 'key.rotated'].includes(type));
    if (wanted.every(([id, type]) => found.some((each) => each.type === type && each.data.id === id))) return found;
    assert.ok(Date.now() < limit, `${JSON.stringify(wanted)} is not told: ${JSON.stringify(found.map(({ type, data: { id } }) => [id, type]))}`);
    await sleep(200);
  }
}
const list = (changes) => changes.map(({ type, data: { id } }) => [id, type]).sort();

describe('what time brings about keys', () => {
  test('is told once, also over a restart', async () => {
    let server = await startServer();
    const admin = await server.makeKey();
    let api = server.client(admin);
    const make = (more) => api.create('/keys', { name: 'a key', scopes: ['users:read'], ...more });
    const expired = await make();
    const expiring = await make();
    const activated = await make({ not_before: inSeconds(3) });
    const rotated = await make();
    const replaced = await make();
    assertStatus(await api.patch(`/keys/${expired.id}`, { expires_at: inSeconds(3) }), 200);
    assertStatus(await api.patch(`/keys/${expiring.id}`, { expires_at: inSeconds(day / 1000 + 3) }), 200);
    assertStatus(await api.post(`/keys/${rotated.id}/rotate`, { overlap_seconds: 2 }), 201);
    assertStatus(await api.post(`/keys/${replaced.id}/rotate`, { overlap_seconds: 0 }), 201);
    const wanted = [[expired.id, 'key.expired'], [expiring.id, 'key.expiring'], [activated.id, 'key.activated'],
      [rotated.id, 'key.deactivated'], [replaced.id, 'key.deactivated']];
    const changes = await told(api, wanted);
    assert.deepEqual(list(changes), wanted.sort());
    for (const change of changes) assert.equal(change.key_id, null);
    const states = Object.fromEntries(changes.map(({ data: { id, state } }) => [id, state]));
    assert.deepEqual([states[expired.id], states[activated.id], states[rotated.id]], ['expired', 'active', 'deactivated']);

    await server.kill();
    server = await server.again();
    api = server.client(admin);
    await sleep(7000); // it has looked at all keys
    assert.deepEqual(list(await told(api, wanted)), wanted);
    await server.stop();
  });

  const library = path.join(path.dirname(binary), '../tests/e2e/faults.so');
  const skip = fs.existsSync(library) ? false : `there is no ${library}`;
  test('follows the settings', { skip }, async () => {
    const faults = path.join(temporaryFolder(), 'faults');
    const setClock = (seconds) => {
      fs.writeFileSync(faults, Int32Array.of(0, 0, 0, 0, 0, -1, seconds));
      theirClock.ahead = seconds;
    };
    setClock(0);
    const env = { LD_PRELOAD: library, LATCHKEY_DISK_FAULTS: faults };
    let server = await startServer({ env, listen: ['http://127.0.0.1:0'], config: '[changes]\nexpiring_days = [20]\nunused_days = 2\n' });
    const admin = await server.makeKey();
    let api = server.client(admin, { scheme: 'http' });
    const key = await api.create('/keys', { name: 'a key', scopes: ['users:read'], expires_in: 22 * day / 1000 });
    await server.stop();
    setClock(5 * day / 1000);
    server = await server.again();
    api = server.client(admin, { scheme: 'http' });
    const changes = await told(api, [[key.id, 'key.expiring'], [key.id, 'key.unused']]);
    assert.deepEqual(list(changes.filter(({ data: { id } }) => id === key.id)), [[key.id, 'key.expiring'], [key.id, 'key.unused']]);
    await server.stop();
    theirClock.ahead = 0;
  });
});

test('keys that are limited and exposed are told once', async () => {
  const config = 'trusted_proxies = ["127.0.0.1/32"]\n';
  const server = await startServer({ config });
  try {
    const ask = (key, { https = true, ...more } = {}) => server.ask('GET', more.target ?? '/api/v1/users', {
      scheme: 'http', headers: { 'X-Forwarded-Proto': https ? 'https' : 'http' }, key: more.target ? null : key.key });
    const admin = await server.makeKey();
    const limited = await server.makeKey({ name: 'limited', limits: ['minute=1/60'] });
    const byQuery = await server.makeKey({ name: 'by query' });
    const byBody = await server.makeKey({ name: 'by body' });
    const plain = await server.makeKey({ name: 'plain' });
    for (let i = 0; i < 3; i += 1) {
      assertStatus(await ask(limited), i === 0 ? 200 : 429);
      assertStatus(await ask(byQuery, { target: `/api/v1/users?api_key=${byQuery.key}` }), 200);
      assertStatus(await ask(plain, { https: false }), 403, 'https_required');
      const body = JSON.stringify({ api_key: byBody.key, name: 'A', email: `a${i}@example.org` });
      assertStatus(await server.ask('POST', '/api/v1/users', { scheme: 'http', headers: { 'X-Forwarded-Proto': 'https' }, key: null, body }), 201);
    }
    const api = server.client(admin, { headers: { 'X-Forwarded-Proto': 'https' } });
    const wanted = [[limited.id, 'key.limited'], [byQuery.id, 'key.exposed'], [byBody.id, 'key.exposed'], [plain.id, 'key.exposed']].sort();
    await told(api, wanted);
    await ask(plain, { https: false });
    await ask(limited);
    await sleep(7000); // uses are stored every five seconds
    assert.deepEqual(list(await told(api, wanted)), wanted);
  } finally {
    await server.stop();
  }
});
