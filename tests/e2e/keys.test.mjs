// The life of keys against the real program (API.md, "Keys", "Operations"): over HTTP and over the command line
// beside it, whose effect the next request must see.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { assertNow, assertStatus, command, keyForm, sleep, startServer, temporaryFolder } from './harness.mjs';

let server = await startServer();
after(() => server.stop());
const { data } = server;
const { key } = await server.makeKey({ name: 'admin' });
const api = server.client(key);
const users = '/api/v1/users';
const status = async (text, target = users) => (await server.ask('GET', target, { key: text })).status;
const cli = async (...args) => {
  const ran = await command(...args, '--data', data);
  return { ...ran, json: args.includes('--json') && ran.stdout ? JSON.parse(ran.stdout) : undefined };
};

describe('over HTTP', () => {
  test('a key is made, used, narrowed, turned off, and never shown again', async () => {
    const made = await api.create('/keys', { name: 'a', scopes: ['users:read', 'posts:read'] });
    assert.match(made.key, keyForm);
    assert.equal(await status(made.key), 200);
    assertStatus(await api.patch(`/keys/${made.id}`, { scopes: ['posts:read'] }), 200);
    assert.equal(await status(made.key), 403);
    assertStatus(await api.post(`/keys/${made.id}/deactivate`), 200);
    assertStatus(await server.ask('GET', users, { key: made.key }), 403, 'key_deactivated');
    const seen = await api.read(`/keys/${made.id}`);
    assert.equal(seen.state, 'deactivated');
    assert.ok(!JSON.stringify(seen).includes(made.key));
    assertStatus(await api.delete('/keys/1'), 409, 'last_admin_key');
  });

  test('a rotation ends by the clock', async () => {
    const old = await api.create('/keys', { name: 'r', scopes: ['users:read'] });
    const next = await api.create(`/keys/${old.id}/rotate`, { overlap_seconds: 1 });
    assert.deepEqual([await status(old.key), await status(next.key)], [200, 200]);
    await sleep(1100);
    assert.deepEqual([await status(old.key), await status(next.key)], [403, 200]);
    const seen = await api.read(`/keys/${old.id}`);
    assert.deepEqual([seen.state, seen.deactivation_reason, seen.replaced_by], ['deactivated', 'rotated', next.id]);
  });

  test('/auth and /keys/verify tell others about a key', async () => {
    const made = await api.create('/keys', { name: 'v', scopes: ['posts:read'], project: 'shop' });
    const passed = await server.ask('PROPFIND', '/auth?scope=posts:read', { key: made.key, body: 'x', type: 'text/plain' });
    assertStatus(passed, 200);
    assert.equal(passed.headers.get('x-auth-project'), 'shop');
    assert.equal(passed.headers.get('x-auth-key-id'), String(made.id));
    assertStatus(await server.ask('GET', '/auth?scope=users:read', { key: made.key }), 403, 'insufficient_scope');
    const verified = await api.post('/keys/verify', { key: made.key, scopes: ['posts:read'] });
    assert.deepEqual([verified.json.valid, verified.json.code, verified.json.key_id], [true, 'VALID', made.id]);
    assert.equal((await api.post('/keys/verify', { key: 'x' })).json.code, 'NOT_FOUND');
  });
});

describe('over the command line, beside the server', () => {
  test('what it does holds for the next request', async () => {
    const made = (await cli('keys', 'create', '--name', 'c', '--scope', 'users:read', '--json')).json;
    assert.equal(await status(made.key), 200);
    assert.equal((await cli('keys', 'deactivate', String(made.id), '--json')).json.state, 'deactivated');
    assert.equal(await status(made.key), 403);
    assert.equal((await cli('keys', 'reactivate', String(made.id), '--json')).json.state, 'active');
    assert.equal(await status(made.key), 200);
    const next = (await cli('keys', 'rotate', String(made.id), '--overlap', '0', '--json')).json;
    assert.deepEqual([await status(made.key), await status(next.key)], [403, 200]);
    const again = await cli('keys', 'rotate', String(made.id));
    assert.equal(again.code, 1);
    assert.match(again.stderr, /not active/);
  });

  test('list and show, for people and for programs', async () => {
    const list = (await cli('keys', 'list', '--json')).json;
    assert.equal(list.pagination.total, list.data.length);
    const page = await api.read('/keys?limit=100');
    assert.deepEqual(list.data.map(({ id }) => id), page.data.map(({ id }) => id));
    const table = await cli('keys', 'list', '--project', 'shop');
    assert.match(table.stdout, /^ID +NAME +PROJECT .*\n\d+ +v +shop +development +active/);
    assert.equal((await cli('keys', 'show', '1', '--json')).json.name, 'admin');
    assert.match((await cli('keys', 'show', '1')).stdout, /^id +1\nname +admin\n/);
    assert.equal((await cli('keys', 'show', '999')).code, 1);
    assert.equal((await cli('keys', 'list', '--state', 'odd')).code, 2);
    assert.ok(!table.stdout.includes(key) && !JSON.stringify(list).includes(key));
  });

  test('a project is turned off as a whole', async () => {
    const made = [];
    for (let i = 0; i < 70; i++) made.push(await api.create('/keys', { name: `l${i}`, project: 'leaked' }));
    assert.equal((await cli('keys', 'deactivate', '--project', 'leaked', '--reason', 'compromised', '--json')).json.deactivated, 70);
    for (const each of made) assert.equal(await status(each.key), 403);
    assertStatus(await api.post(`/keys/${made[0].id}/reactivate`), 409, 'key_not_reactivatable');
    assert.equal((await cli('keys', 'deactivate', '--project', 'leaked', '--json')).json.deactivated, 0);
  });

  test('keys of any form move in by their digests', async () => {
    const texts = Array.from({ length: 100 }, (_, i) => `sk_live_0123456789abcdefghijklmnop.${i}`);
    const lines = texts.map((text, i) => JSON.stringify(
      { sha256: createHash('sha256').update(text).digest('hex'), name: `i${i}`, scopes: ['users:read'], project: 'moved' }));
    lines.splice(3, 0, 'rubbish', '{"sha256":"00","name":"n"}', '', lines[0]);
    const file = path.join(temporaryFolder(), 'keys.ndjson');
    fs.writeFileSync(file, lines.join('\n'));
    const ran = await cli('keys', 'import', file, '--json');
    assert.deepEqual(ran.json, { imported: 100, refused: 3 }, ran.stderr);
    assert.equal(ran.code, 1);
    for (const number of [4, 5, 7]) assert.match(ran.stderr, new RegExp(`line ${number}: `));
    for (const text of [texts[0], texts[99]]) assert.equal(await status(text), 200);
    assert.equal(await status(`${texts[0]}x`), 401);
    const seen = (await api.read('/keys?project=moved&limit=1')).data[0];
    assert.deepEqual([seen.start, seen.last4], [null, null]);
  });
});

describe('a key that is turned off', () => {
  // On eight connections, so on all workers: no request that starts after the answer is accepted.
  async function hammer(text, turnOff) {
    const seen = [];
    let running = true;
    const clients = Array.from({ length: 8 }, () => server.client(text, { scheme: 'http' }));
    const loops = clients.map(async (client) => {
      while (running) {
        const begun = performance.now();
        seen.push({ begun, status: (await client.get('/users?limit=1')).status });
      }
    });
    while (seen.length === 0) await sleep(1);
    await turnOff();
    const off = performance.now();
    await sleep(10);
    running = false;
    await Promise.all(loops);
    for (const client of clients) client.close();
    assert.ok(seen.some((each) => each.status === 200), 'it worked before');
    const late = seen.filter((each) => each.begun > off);
    assert.ok(late.length > 0, 'there were requests afterwards');
    assert.deepEqual(late.filter((each) => each.status !== 403), []);
  }
  const fresh = () => api.create('/keys', { name: 'h', scopes: ['users:read'], rate_limits: [] });

  test('over HTTP', async () => {
    for (let round = 0; round < 50; round++) {
      const made = await fresh();
      await hammer(made.key, () => api.post(`/keys/${made.id}/deactivate`));
    }
  });

  test('by losing its scope', async () => {
    for (let round = 0; round < 20; round++) {
      const made = await fresh();
      await hammer(made.key, () => api.patch(`/keys/${made.id}`, { scopes: ['posts:read'] }));
    }
  });

  test('by another process', async () => {
    for (let round = 0; round < 10; round++) {
      const made = await fresh();
      await hammer(made.key, () => cli('keys', 'deactivate', String(made.id)));
    }
  });
});

describe('the audit log', () => {
  test('tells who did what, and holds together', async () => {
    const made = await api.create('/keys', { name: 'audited' });
    const { data: [entry] } = await api.read('/audit?sort=-id&limit=1');
    assert.deepEqual([entry.action, entry.key_id, entry.actor_key_id, entry.address],
      ['key.create', made.id, 1, '127.0.0.1']);
    assertNow(entry.created_at);
    const verified = (await cli('audit', '--verify', '--json')).json;
    assert.deepEqual([verified.valid, verified.entries, verified.last_hash], [true, entry.id, entry.hash]);
    const all = (await cli('audit', '--json')).json;
    assert.equal(all.data.length, entry.id);
    assert.deepEqual(all.data.at(-1), entry);
    assert.match((await cli('audit')).stdout, /key\.create +key 1 in default +by the command line/);
  });
});

describe('the last use of a key', () => {
  test('is on disk when the server has stopped', async () => {
    const made = await api.create('/keys', { name: 'used' });
    assert.equal((await cli('keys', 'show', String(made.id), '--json')).json.last_used_at, null);
    assert.equal(await status(made.key), 200);
    api.close();
    await server.stop();
    assertNow((await cli('keys', 'show', String(made.id), '--json')).json.last_used_at);
    server = await server.again();
    assert.equal(await status(made.key), 200);
  });
});
