// The life of keys against the real program (docs/api.md §4, §13): over HTTP and over the command line
// beside it, which takes effect with the next request.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { assertNow, assertStatus, command, keyForm, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';

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
    const record = await api.create('/keys', { name: 'a', scopes: ['users:read', 'posts:read'] });
    assert.match(record.key, keyForm);
    assert.equal(await status(record.key), 200);
    assertStatus(await api.patch(`/keys/${record.id}`, { scopes: ['posts:read'] }), 200);
    assert.equal(await status(record.key), 403);
    assertStatus(await api.post(`/keys/${record.id}/deactivate`), 200);
    assertStatus(await server.ask('GET', users, { key: record.key }), 403, 'key_deactivated');
    const current = await api.read(`/keys/${record.id}`);
    assert.equal(current.state, 'deactivated');
    assert.ok(!JSON.stringify(current).includes(record.key));
    assertStatus(await api.delete('/keys/1'), 409, 'last_admin_key');
  });

  test('a rotation ends by the clock', async () => {
    const old = await api.create('/keys', { name: 'r', scopes: ['users:read'] });
    const next = await api.create(`/keys/${old.id}/rotate`, { overlap_seconds: 1 });
    assert.deepEqual([await status(old.key), await status(next.key)], [200, 200]);
    await sleep(1100); // the clock passes its end
    assert.deepEqual([await status(old.key), await status(next.key)], [403, 200]);
    const oldRecord = await api.read(`/keys/${old.id}`);
    assert.deepEqual([oldRecord.state, oldRecord.deactivation_reason, oldRecord.replaced_by], ['deactivated', 'rotated', next.id]);
  });

  test('/auth and /keys/verify tell others about a key', async () => {
    const newKey = await api.create('/keys', { name: 'v', scopes: ['posts:read'], project: 'shop' });
    const passed = await server.ask('PROPFIND', '/auth?scope=posts:read', { key: newKey.key, body: 'x', type: 'text/plain' });
    assertStatus(passed, 200);
    assert.equal(passed.headers.get('x-auth-project'), 'shop');
    assert.equal(passed.headers.get('x-auth-key-id'), String(newKey.id));
    assertStatus(await server.ask('GET', '/auth?scope=users:read', { key: newKey.key }), 403, 'insufficient_scope');
    const verified = await api.post('/keys/verify', { key: newKey.key, scopes: ['posts:read'] });
    assert.deepEqual([verified.json.valid, verified.json.code, verified.json.key_id], [true, 'VALID', newKey.id]);
    assert.equal((await api.post('/keys/verify', { key: 'x' })).json.code, 'NOT_FOUND');
  });
});

// Each row is an attempt to gain more than the caller has.
describe('a key that manages keys gives no more than its own', () => {
  const limits = [{ name: 'minute', limit: 60, window_seconds: 60 }];
  const soon = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();
  const own = { scopes: ['keys:*', 'users:read', 'audit:read'], project: 'bounded', rate_limits: [{ ...limits[0], limit: 100_000, burst: 1000 }],
    ip_allowlist: ['127.0.0.0/8'], expires_in: 86_400 };
  const allowed = { name: 'w', scopes: ['users:read'], rate_limits: limits, ip_allowlist: ['127.0.0.1'], expires_in: 3600 };
  let bounded; // a client with such a key
  let me;
  let child; // a key that it made
  let strong; // a key of its project that it does not cover
  let foreign; // a key of another project
  before(async () => {
    me = await api.create('/keys', { name: 'bounded', ...own });
    strong = await api.create('/keys', { ...allowed, name: 'strong', project: 'bounded', scopes: ['posts:read'] });
    foreign = await api.create('/keys', { ...allowed, name: 'foreign', project: 'other' });
    bounded = server.client(me.key);
    child = await bounded.create('/keys', allowed);
  });
  after(() => bounded.close());

  test('what it made is within', () => {
    assert.deepEqual([child.project, child.created_by, child.scopes], ['bounded', me.id, ['users:read']]);
  });

  const creations = {
    'all scopes': { scopes: ['*'] },
    'a scope that it lacks': { scopes: ['users:read', 'posts:read'] },
    'a wildcard around its own': { scopes: ['users:*'] },
    'another wildcard around its own': { scopes: ['*:read'] },
    'another project': { project: 'other' },
    'no limits': { rate_limits: [] },
    'more in a minute': { rate_limits: [{ name: 'a', limit: 200_000, window_seconds: 60, burst: 1000 }] },
    'a larger burst': { rate_limits: [{ name: 'a', limit: 60, window_seconds: 60, burst: 1001 }] },
    'any address': { ip_allowlist: [] },
    'a wider network': { ip_allowlist: ['126.0.0.0/7'] },
    'another network beside its own': { ip_allowlist: ['127.0.0.1', '10.0.0.0/8'] },
    'no end': { expires_in: undefined },
    'a later end': { expires_in: 86_500 },
  };
  for (const [label, change] of Object.entries(creations)) {
    test(`POST: ${label}`, async () => {
      assertStatus(await bounded.post('/keys', { ...allowed, ...change }), 403, 'insufficient_scope');
    });
  }

  const patches = {
    'all scopes': () => ({ scopes: ['*'] }),
    'a scope that it lacks': () => ({ scopes: ['posts:read'] }),
    'no limits': () => ({ rate_limits: [] }),
    'looser limits': () => ({ rate_limits: [{ name: 'minute', limit: 200_000, window_seconds: 60 }] }),
    'any address': () => ({ ip_allowlist: [] }),
    'a wider network': () => ({ ip_allowlist: ['0.0.0.0/0'] }),
    'no end': () => ({ expires_at: null }),
    'a later end': () => ({ expires_at: soon(100_000) }),
  };
  for (const [title, change] of Object.entries(patches)) {
    test(`PATCH: ${title}`, async () => {
      for (const id of [child.id, me.id]) assertStatus(await bounded.patch(`/keys/${id}`, change()), 403, 'insufficient_scope');
    });
  }
  test('PATCH: not even less of its own limits, addresses and end', async () => {
    for (const change of [{ rate_limits: limits }, { ip_allowlist: ['127.0.0.1'] }, { expires_at: soon(60) }]) {
      assertStatus(await bounded.patch(`/keys/${me.id}`, change), 403, 'insufficient_scope');
    }
  });

  for (const [description, key, expected] of [['a key that it does not cover', () => strong, [403, 'insufficient_scope']],
    ['a key of another project', () => foreign, [404, 'not_found']]]) {
    test(`${description} is not its own to change, rotate, turn off or on`, async () => {
      const { id } = key();
      assertStatus(await bounded.patch(`/keys/${id}`, { name: 'mine' }), ...expected);
      for (const action of ['rotate', 'deactivate', 'reactivate']) {
        assertStatus(await bounded.post(`/keys/${id}/${action}`), ...expected);
      }
      assertStatus(await bounded.delete(`/keys/${id}`), ...expected);
      assert.equal((await api.read(`/keys/${id}`)).state, 'active');
    });
  }
  test('a key of another project is not to be seen', async () => {
    assertStatus(await bounded.get(`/keys/${foreign.id}`), 404, 'not_found');
    assert.deepEqual((await bounded.read('/keys?project=other')).data, []);
    assert.ok((await bounded.read('/keys?limit=100')).data.every(({ project }) => project === 'bounded'));
    assert.equal((await bounded.post('/keys/verify', { key: foreign.key, ip: '127.0.0.1', cost: 0 })).json.code, 'NOT_FOUND');
    assert.ok((await bounded.read('/audit?limit=100')).data.every(({ project }) => project === 'bounded'));
  });
  test('a key of another project is verified by one with keys:verify_all, which only who has it gives', async () => {
    assertStatus(await bounded.post('/keys', { ...allowed, scopes: ['keys:verify_all'] }), 403, 'insufficient_scope');
    const { key } = await api.create('/keys', { name: 'verifier', project: 'bounded', scopes: ['keys:verify_all', 'keys:read'], rate_limits: [] });
    const verifier = server.client(key);
    const ask = async (body) => (await verifier.post('/keys/verify', { ip: '127.0.0.1', cost: 0, ...body })).json.code;
    assert.deepEqual([await ask({ key: foreign.key }), await ask({ key: child.key }), await ask({ key: 'x' })], ['VALID', 'VALID', 'NOT_FOUND']);
    assert.deepEqual([await ask({ key_id: foreign.id }), await ask({ key_id: child.id })], ['NOT_FOUND', 'VALID']);
    assertStatus(await verifier.get(`/keys/${foreign.id}`), 404, 'not_found');
    verifier.close();
  });
});

describe('over the command line, beside the server', () => {
  test('what it does holds for the next request', async () => {
    const record = (await cli('keys', 'create', '--name', 'c', '--scope', 'users:read', '--json')).json;
    assert.equal(await status(record.key), 200);
    assert.equal((await cli('keys', 'deactivate', String(record.id), '--json')).json.state, 'deactivated');
    assert.equal(await status(record.key), 403);
    assert.equal((await cli('keys', 'reactivate', String(record.id), '--json')).json.state, 'active');
    assert.equal(await status(record.key), 200);
    const next = (await cli('keys', 'rotate', String(record.id), '--overlap', '0', '--json')).json;
    assert.deepEqual([await status(record.key), await status(next.key)], [403, 200]);
    const again = await cli('keys', 'rotate', String(record.id));
    assert.equal(again.code, 1);
    assert.match(again.stderr, /not active/);
  });

  test('list and show, for people and for programs', async () => {
    const list = (await cli('keys', 'list', '--json')).json;
    assert.equal(list.pagination.total, list.data.length);
    const page = await api.read('/keys?limit=100');
    assert.deepEqual(list.data.map(({ id }) => id), page.data.map(({ id }) => id));
    const table = await cli('keys', 'list', '--project', 'shop');
    assert.match(table.stdout, /^ID +NAME +PROJECT +STATE .*\n\d+ +v +shop +active/);
    assert.equal((await cli('keys', 'show', '1', '--json')).json.name, 'admin');
    assert.match((await cli('keys', 'show', '1')).stdout, /^id +1\nname +admin\n/);
    assert.equal((await cli('keys', 'show', '999')).code, 1);
    assert.equal((await cli('keys', 'list', '--state', 'odd')).code, 2);
    assert.ok(!table.stdout.includes(key) && !JSON.stringify(list).includes(key));
  });

  test('a terminal gets nothing to obey from a name', async () => {
    const name = 'a\u202eb\u2066', metadata = { note: '\u001b[2J\n\u009b' };
    const record = await api.create('/keys', { name, metadata, project: 'hidden' });
    assert.deepEqual([record.name, record.metadata], [name, metadata]);
    const texts = [(await cli('keys', 'list', '--project', 'hidden')).stdout, (await cli('keys', 'show', String(record.id))).stdout,
      (await cli('keys', 'deactivate', String(record.id))).stderr];
    for (const text of texts) {
      assert.match(text, /a\\u202eb\\u2066/);
      assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
    }
    assert.match(texts[1], /^metadata note +\\u001b\[2J\\u000a\\u009b$/m);
    const read = await cli('keys', 'show', String(record.id), '--json');
    assert.deepEqual([read.json.name, read.json.metadata], [name, metadata]);
    assert.doesNotMatch(read.stdout, /[\u0080-\u009f\u202a-\u202e\u2066-\u2069]/);
  });

  test('a project is turned off as a whole', async () => {
    const records = [];
    for (let i = 0; i < 70; i++) records.push(await api.create('/keys', { name: `l${i}`, project: 'leaked' }));
    assert.equal((await cli('keys', 'deactivate', '--project', 'leaked', '--reason', 'compromised', '--yes', '--json')).json.deactivated, 70);
    for (const each of records) assert.equal(await status(each.key), 403);
    assertStatus(await api.post(`/keys/${records[0].id}/reactivate`), 409, 'key_not_reactivatable');
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
    assert.deepEqual(ran.json, { imported: 100, existing: 1, refused: 2 }, ran.stderr);
    assert.equal(ran.code, 1);
    for (const number of [4, 5]) assert.match(ran.stderr, new RegExp(`line ${number}: `));
    for (const text of [texts[0], texts[99]]) assert.equal(await status(text), 200);
    assert.equal(await status(`${texts[0]}x`), 401);
    const moved = (await api.read('/keys?project=moved&limit=1')).data[0];
    assert.deepEqual([moved.start, moved.last4], [null, null]);
  });
});

describe('a key that is turned off', () => {
  const connectionsEach = 8;
  const rounds = (usual) => Number(process.env.E2E_ROUNDS ?? usual);

  // On eight connections, so on all workers: no request that starts after the response is accepted. Each connection was
  // accepted before and tries again afterwards.
  async function round(clients, text, turnOff, counts) {
    let revokedAt = Infinity;
    let warm = 0;
    let allWarm;
    const working = new Promise((resolve) => { allWarm = resolve; });
    const loops = clients.map(async (client) => {
      client.key = text;
      for (let earlyCount = 0, late = 0; late < 2;) {
        const startTime = performance.now();
        const { status: replyStatus } = await client.get('/users?limit=1');
        counts.requests += 1;
        if (startTime > revokedAt) {
          late += 1;
          counts.late += 1;
          if (replyStatus !== 403) counts.accepted.push(replyStatus);
        } else if (replyStatus === 200 && earlyCount++ === 0 && ++warm === clients.length) {
          allWarm();
        }
      }
    });
    await working;
    await turnOff();
    revokedAt = performance.now();
    await Promise.all(loops);
  }

  async function hammer(t, count, turnOff) {
    const tally = { requests: 0, late: 0, accepted: [] };
    let clients = [];
    for (let n = 0; n < count; n++) {
      if (n % 50 === 0) { // the kernel deals them out to the workers anew
        for (const client of clients) client.close();
        clients = Array.from({ length: connectionsEach }, () => server.client(null, { scheme: 'http' }));
      }
      const record = await api.create('/keys', { name: 'h', scopes: ['users:read'], rate_limits: [] });
      await round(clients, record.key, () => turnOff(record), tally);
    }
    for (const client of clients) client.close();
    t.diagnostic(`${count} rounds, ${tally.requests} requests, ${tally.late} of them begun after the answer, `
      + `${tally.accepted.length} of these accepted`);
    assert.ok(tally.late >= count * connectionsEach * 2);
    assert.deepEqual(tally.accepted, []);
  }

  test('over HTTP', (t) => hammer(t, rounds(50), async ({ id }) => {
    assertStatus(await api.post(`/keys/${id}/deactivate`), 200);
  }));

  test('by losing its scope', (t) => hammer(t, rounds(50), async ({ id }) => {
    assertStatus(await api.patch(`/keys/${id}`, { scopes: ['posts:read'] }), 200);
  }));

  test('by another process', (t) => hammer(t, rounds(20), async ({ id }) => {
    assert.equal((await cli('keys', 'deactivate', String(id))).code, 0);
  }));
});

describe('the audit log', () => {
  test('names actor and action, and its hash chain is intact', async () => {
    const record = await api.create('/keys', { name: 'audited' });
    const { data: [entry] } = await api.read('/audit?sort=-id&limit=1');
    assert.deepEqual([entry.action, entry.key_id, entry.actor_key_id, entry.address],
      ['key.create', record.id, 1, '127.0.0.1']);
    assertNow(entry.created_at);
    const verified = (await cli('audit', '--verify', '--json')).json;
    assert.deepEqual([verified.valid, verified.entries, verified.last_hash], [true, entry.id, entry.hash]);
    const all = (await cli('audit', '--json')).json;
    assert.equal(all.data.length, entry.id);
    assert.deepEqual(all.data.at(-1), entry);
    const table = (await cli('audit')).stdout.split('\n');
    assert.match(table[0], /^ID +TIME +ACTION +OF +BY +FROM +FIELDS$/);
    assert.match(table[1], /key\.create +key 1 in default +the command line/);
    assert.equal(table[1].indexOf('key.create'), table[0].indexOf('ACTION'), 'the heading stands above its columns');
  });
});

describe('across a restart', () => {
  const again = async () => {
    api.close();
    await server.stop();
    server = await server.again();
    api.server = server;
  };

  test('a rotation goes on and ends', async () => {
    const old = await api.create('/keys', { name: 'r', scopes: ['users:read'] });
    const next = await api.create(`/keys/${old.id}/rotate`, { overlap_seconds: 4 });
    const end = Date.parse((await api.read(`/keys/${old.id}`)).rotation_ends_at);
    await again();
    assert.deepEqual([await status(old.key), await status(next.key)], [200, 200]);
    assert.ok(Date.now() < end, 'the overlap was long enough for this test');
    await sleep(end - Date.now() + 20); // the clock passes its end
    assertStatus(await server.ask('GET', users, { key: old.key }), 403, 'key_deactivated');
    assert.equal(await status(next.key), 200);
    await again();
    assert.deepEqual([await status(old.key), await status(next.key)], [403, 200]);
    assertStatus(await api.post(`/keys/${old.id}/reactivate`), 409, 'key_not_reactivatable');
  });

  test('states stay what they were', async () => {
    const scheduled = await api.create('/keys', { name: 's', not_before: new Date(Date.now() + 3000).toISOString() });
    const expiring = await api.create('/keys', { name: 'e', expires_at: new Date(Date.now() + 3000).toISOString() });
    const disabled = await api.create('/keys', { name: 'o' });
    assertStatus(await api.delete(`/keys/${disabled.id}`), 204);
    await again();
    assertStatus(await server.ask('GET', users, { key: disabled.key }), 403, 'key_deactivated');
    const remainingMs = Date.parse(expiring.expires_at) - Date.now();
    if (remainingMs > 200) {
      assertStatus(await server.ask('GET', users, { key: scheduled.key }), 403, 'key_not_yet_active');
      assert.equal(await status(expiring.key), 200);
    }
    await sleep(Math.max(0, remainingMs) + 50); // the clock passes both times
    assert.equal(await status(scheduled.key), 200);
    const late = await server.ask('GET', users, { key: expiring.key });
    assertStatus(late, 403, 'key_expired');
    assert.ok(late.json.detail.includes(expiring.expires_at), late.json.detail);
    assertStatus(await api.patch(`/keys/${expiring.id}`, { expires_at: new Date(Date.now() + 60_000).toISOString() }), 200);
    assert.equal(await status(expiring.key), 200);
  });
});

describe('the last use of a key', () => {
  test('is on disk when the server has stopped', async () => {
    const record = await api.create('/keys', { name: 'used' });
    assert.equal((await cli('keys', 'show', String(record.id), '--json')).json.last_used_at, null);
    assert.equal(await status(record.key), 200);
    api.close();
    await server.stop();
    assertNow((await cli('keys', 'show', String(record.id), '--json')).json.last_used_at);
    server = await server.again();
    assert.equal(await status(record.key), 200);
  });
});
