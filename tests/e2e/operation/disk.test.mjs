// Full and failing disks, and full maps: no 2xx for what is not stored, reads and deletions continue, and writes resume when
// there is space again. A failed sync ends the process without an acknowledgement.
//
// The faults are injected below the program, by faults.c (ninja -C BUILD tests/e2e/faults.so), which needs no privilege; one
// test fills a real ext4 where it may mount one.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Disk, noFaults } from '../helpers/disk_faults.mjs';
import { assertStatus, binary, command, makeKey, message, newUser, run, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const mib = 1 << 20;

const bigPost = (user) => ({ user_id: user, title: 'fills', body: 'b'.repeat(60_000), status: 'draft' });

// Creates posts over several connections until the disk is full, then short ones, which may fit where long ones do not;
// returns the ids of the stored ones.
async function fill(server, key, user, body = () => bigPost(user)) {
  const records = await fillWith(server, key, body);
  return records.concat(await fillWith(server, key, () => ({ ...body(), body: '' })));
}

async function fillWith(server, key, body) {
  const documents = [];
  await Promise.all(Array.from({ length: 8 }, async () => {
    const api = server.client(key);
    // A commit may use what another one freed, as the oldest changes that go beside refusals: the disk is full when that is
    // over.
    for (let refusals = 0; refusals < 40;) {
      const answer = await api.post('/posts', body());
      refusals = answer.status === 507 ? refusals + 1 : 0;
      if (!refusals) documents.push((assertStatus(answer, 201), answer.json.id));
      assert.ok(documents.length < 20_000, 'it is never full');
    }
    api.close();
  }));
  return documents;
}

// What a full disk refuses and what still works. `posts` may be deleted.
async function expectFull(api, { user, post, turnedOff, posts }) {
  const once = { headers: { 'Idempotency-Key': `full-${posts.length}-${post}` } };
  const body = newUser();
  for (let i = 0; i < 2; i += 1) assertStatus(await api.post('/users', body, once), 507, 'storage_full');
  assertStatus(await api.post('/posts', bigPost(user)), 507, 'storage_full');
  assertStatus(await api.patch(`/posts/${post}`, { body: 'changed' }), 507, 'storage_full');
  assertStatus(await api.put(`/users/${user}`, newUser()), 507, 'storage_full');
  assertStatus(await api.post('/keys', { name: 'one more', scopes: ['users:read'] }), 507, 'storage_full');
  assertStatus(await api.post('/events/shop', { any: 1 }), 507, 'storage_full');
  // Faults of the request itself are reported first.
  assertStatus(await api.post('/users', { name: 1 }), 422);
  assertStatus(await api.delete('/posts/99999999'), 404);

  const { pagination } = await api.read('/posts?limit=1');
  assert.equal((await api.read(`/posts/${post}`)).id, post);
  assertStatus(await api.get('/healthz', { root: true }), 200);
  for (const id of posts) assertStatus(await api.delete(`/posts/${id}`), 204);
  assert.equal((await api.read('/posts?limit=1')).pagination.total, pagination.total - posts.length);
  assertStatus(await api.post(`/keys/${turnedOff.id}/deactivate`, {}), 200);
  assertStatus(await api.get('/users', { key: turnedOff.key }), 403);
  return { body, once };
}

async function whole(data) {
  const { code, stdout, stderr } = await command('check', '--data', data, '--json');
  assert.equal(code, 0, stdout + stderr);
}

describe('a full disk', { skip: noFaults }, () => {
  for (const error of ['ENOSPC', 'EDQUOT', 'EIO']) {
    test(`(${error}) refuses what grows with 507, and all else goes on`, async (t) => {
      const data = path.join(temporaryFolder(), 'data');
      const disk = new Disk(data);
      let server = await startServer({ data, env: disk.env });
      const { key } = await server.makeKey();
      let api = server.client(key);
      const { id: user } = await api.create('/users', newUser());
      const { id: post } = await api.create('/posts', bigPost(user));
      const keys = [];
      for (let i = 0; i < 3; i += 1) keys.push(await api.create('/keys', { name: `off ${i}`, scopes: ['users:read'] }));

      disk.set({ fallocate: error });
      const records = await fill(server, key, user);
      assert.ok(records.length > 20, 'what the file has of the disk is used');
      const { body, once } = await expectFull(api, { user, post, turnedOff: keys[0], posts: records.splice(0, 2) });
      // The same after a kill: another process finds the disk full.
      await server.kill();
      server = await server.again();
      api = server.client(key);
      await fill(server, key, user).then((more) => records.push(...more));
      await expectFull(api, { user, post, turnedOff: keys[1], posts: records.splice(0, 2) });
      const tool = await command('keys', 'create', '--data', data, '--name', 'cli', '--json');
      assert.equal(tool.code, 0, 'this process has another disk');

      // Deletions free space, however full the disk is.
      for (const id of records.splice(0, 200)) assertStatus(await api.delete(`/posts/${id}`), 204);
      assertStatus(await api.post('/users', newUser()), 201);
      records.push(...await fill(server, key, user));
      await expectFull(api, { user, post, turnedOff: keys[2], posts: [] });
      // The disk has space again; the refusal was not recorded under its Idempotency-Key.
      disk.set();
      const answer = await api.post('/users', body, once);
      assertStatus(answer, 201);
      assert.equal(answer.headers.get('idempotency-replayed'), null);
      for (let i = 0; i < 20; i += 1) await api.create('/posts', bigPost(user));
      await server.kill();
      await whole(data);
      server = await server.again();
      api = server.client(key);
      assert.equal((await api.read('/posts?limit=1')).pagination.total, records.length + 21);
      t.diagnostic(`${records.length} posts at the end`);
      api.close();
      await server.stop();
    });
  }

  test('with too little for the store leaves that to others', async () => {
    const data = path.join(temporaryFolder(), 'data');
    const disk = new Disk(data);
    const server = await startServer({ data, env: disk.env });
    const { key } = await server.makeKey();
    const { id: user } = await server.client(key).create('/users', newUser());
    const fallocated = disk.given();
    disk.set({ free: 0 });
    await fill(server, key, user);
    assert.equal(disk.given(), fallocated, 'what is left was not taken');
    disk.set();
    await server.client(key).create('/users', newUser());
    assert.ok(disk.given() > fallocated);
    await server.stop();
  });

  test('makes a command fail that could not store its key', async () => {
    const data = path.join(temporaryFolder(), 'data');
    await makeKey(data);
    const keys = async () => JSON.parse((await command('keys', 'list', '--data', data, '--json')).stdout);
    const baseline = await keys();
    const disk = new Disk(data);
    for (const fault of [{ sync: 'EIO' }, { through: 'EIO' }, { write: 'ENOSPC' }]) {
      disk.set(fault);
      const attempt = spawnSync(binary, ['keys', 'create', '--data', data, '--name', 'never', '--json'],
        { env: { ...process.env, ...disk.env }, encoding: 'utf8' });
      assert.equal(attempt.status, 1, attempt.stderr);
      assert.equal(attempt.stdout, '', 'no key is shown');
      assert.match(attempt.stderr, /cannot be written|cannot write/);
      assert.deepEqual(await keys(), baseline);
    }
    await whole(data);
  });

  test('at the first start is told, and the next start finds nothing in its way', async () => {
    const data = path.join(temporaryFolder(), 'data');
    const disk = new Disk(data);
    for (const fault of [{ write: 'ENOSPC' }, { sync: 'EIO' }, { through: 'EIO' }]) {
      disk.set(fault);
      await assert.rejects(startServer({ data, env: disk.env }), /No space left on device|Input\/output error/);
    }
    disk.set();
    const server = await startServer({ data, env: disk.env });
    await server.stop();
    await whole(data);
  });
});

// Creates users one after the other on one connection; an acknowledged user must stay.
async function makeUsers(server, key, acknowledgedUsers, number) {
  let wire;
  for (;;) {
    let answer;
    try {
      wire ??= await server.connect({ scheme: number % 2 ? 'https' : 'http' });
      wire.send(message('POST', '/api/v1/users', { key, body: newUser() }));
      answer = await wire.response({ method: 'POST' });
    } catch (error) {
      assert.match(error.message, /the connection ended|ECONNRESET|ECONNREFUSED/);
      wire?.close();
      return;
    }
    assertStatus(answer, 201);
    acknowledgedUsers.push(answer.json);
  }
}

describe('a disk that fails', { skip: noFaults }, () => {
  const faults = { 'fdatasync EIO': { sync: 'EIO' }, 'fdatasync ENOSPC': { sync: 'ENOSPC' }, 'pwrite and writev EIO': { write: 'EIO' },
    'pwrite and writev ENOSPC': { write: 'ENOSPC' }, 'the last page EIO': { through: 'EIO' } };
  for (const [name, fault] of Object.entries(faults)) {
    test(`(${name}) ends the process, and what was answered is there`, async (t) => {
      const data = path.join(temporaryFolder(), 'data');
      const disk = new Disk(data);
      let server = await startServer({ data, env: disk.env });
      const { key } = await server.makeKey();
      const userIds = [];
      const clients = Promise.all(Array.from({ length: 8 }, (_, i) => makeUsers(server, key, userIds, i)));
      await until(() => userIds.length >= 40, 'users are made');
      disk.set(fault);
      const end = await Promise.race([server.exited, sleep(5000)]);
      assert.deepEqual(end, { code: 1, signal: null }, 'it ends by itself');
      await clients;
      assert.match(server.stderr, /the store cannot be written; ending without acknowledging: (Input\/output error|No space left on device)/);

      disk.set();
      await whole(data);
      server = await server.again();
      const api = server.client(key);
      for (const user of userIds) assert.deepEqual(await api.read(`/users/${user.id}`), user);
      const { total } = (await api.read('/users?limit=1')).pagination;
      assert.ok(total >= userIds.length && total <= userIds.length + 8, `${total} users, ${userIds.length} answered`);
      const ids = new Set(userIds.map(({ id }) => id));
      assert.ok(!ids.has((await api.create('/users', newUser())).id), 'no id is given again');
      t.diagnostic(`${userIds.length} users answered, ${total} there`);
      api.close();
      await server.stop();
    });
  }
});

describe('a full map', () => {
  for (const [sizeName, size, seeded] of [['large', 60_000, 10], ['small', 100, 3300]]) {
    test(`of ${sizeName} posts refuses creations early enough for every deletion`, async (t) => {
      // Changes keep what large posts said, so without them deletions make room at once. Those of small ones would give way
      // where room is short, and the store would not stay full.
      const more = size > 1000 ? ['--changes-enabled', 'false'] : ['--changes-max-mib', '1000'];
      const server = await startServer({ args: ['--store-map-mib', '16', ...more] });
      const { key } = await server.makeKey();
      const api = server.client(key);
      const seed = await command('seed', '--data', server.data, '--users', String(seeded), '--posts', String(seeded * 10));
      assert.equal(seed.code, 0, seed.stderr);
      const owners = Array.from({ length: seeded }, (_, i) => i + 1);
      const disabled = await api.create('/keys', { name: 'off', scopes: ['users:read'] });
      let turn = 0;
      const body = () => ({ ...bigPost(owners[turn++ % owners.length]), body: 'b'.repeat(size) });
      const { id: post } = await api.create('/posts', body());
      const records = await fill(server, key, 1, body);
      await expectFull(api, { user: 1, post, turnedOff: disabled, posts: records.splice(0, 3) });
      records.push(...await fill(server, key, 1, body));
      const filled = records.length;

      // Many clients delete at once, first posts and then users with their posts, while others continue to create.
      let diskFree = false;
      const met = { 202: 0, 507: 0 };
      const creators = Promise.all([0, 1, 2].map(async () => {
        const mine = server.client(key);
        while (!diskFree) {
          const { status } = await mine.post('/events/shop', { text: 'e'.repeat(size) });
          assert.ok(status in met, `${status}`);
          met[status] += 1;
        }
        mine.close();
      }));
      for (const targets of [records.slice(0, 500).map((id) => `/posts/${id}`), owners.map((id) => `/users/${id}`)]) {
        await Promise.all(Array.from({ length: 8 }, async () => {
          const mine = server.client(key);
          for (let next = targets.shift(); next !== undefined; next = targets.shift()) assertStatus(await mine.delete(next), 204);
          mine.close();
        }));
      }
      diskFree = true;
      await creators;
      assert.ok(met[202] > 0, 'what the deletions free is used again');
      assert.equal((await api.read('/posts?limit=1')).pagination.total, 0);
      await api.create('/users', newUser());
      t.diagnostic(`beside those that were seeded ${filled} posts filled it; beside the deletions ${met[202]} events were stored, ${met[507]} refused`);
      api.close();
      await server.stop();
      await whole(server.data);
    });
  }
});

// A separate ext4 for the server's data directory, in a mount namespace that ends with the process.
function mounted(image, data, ...words) {
  return ['unshare', '--mount', 'sh', '-c', 'mount -o loop "$1" "$2" && shift 2 && exec "$@"', 'sh', image, data, ...words];
}

function makeFilesystem(image, data) {
  const ran = (program, ...words) => spawnSync(program, words, { encoding: 'utf8' });
  fs.closeSync(fs.openSync(image, 'wx'));
  fs.truncateSync(image, 112 * mib);
  fs.mkdirSync(data, { mode: 0o700 });
  const path = `/sbin:/usr/sbin:${process.env.PATH}`;
  const formatted = spawnSync('mkfs.ext4', ['-q', image], { encoding: 'utf8', env: { ...process.env, PATH: path } });
  if (formatted.status !== 0) return `mkfs.ext4: ${formatted.error?.code ?? formatted.stderr.trim()}`;
  const ballast = ran(...mounted(image, data, 'fallocate', '-l', '12M', `${data}/ballast`));
  return ballast.status === 0 ? false : `no ext4 can be mounted: ${ballast.error?.code ?? ballast.stderr.trim().split('\n')[0]}`;
}

describe('an ext4', () => {
  const data = path.join(temporaryFolder(), 'data');
  const image = path.join(path.dirname(data), 'image');
  const unable = makeFilesystem(image, data);

  test('that is full refuses what grows, until it has room again', { skip: unable }, async (t) => {
    const inside = async (...words) => {
      const [program, ...rest] = mounted(image, data, binary, ...words, '--data', data, '--json');
      return JSON.parse((await run(program, rest)).stdout);
    };
    const { key } = await inside('keys', 'create', '--name', 'e2e', '--scope', '*', '--unlimited');
    // Only the server sees the data directory, with the certificate.
    const placement = { data, listen: ['http://127.0.0.1:0'], under: mounted(image, data) };
    let server = await startServer(placement);
    let api = server.client(key, { scheme: 'http' });
    const client = server.client;
    server.client = (credential, options) => client.call(server, credential, { scheme: 'http', ...options });
    const { id: user } = await api.create('/users', newUser());
    const { id: post } = await api.create('/posts', bigPost(user));
    const inactiveKey = await api.create('/keys', { name: 'off', scopes: ['users:read'] });
    const records = await fill(server, key, user);
    const { body, once } = await expectFull(api, { user, post, turnedOff: inactiveKey, posts: records.splice(0, 2) });
    records.push(...await fill(server, key, user));
    const filled = records.length;
    const { bavail, bsize } = fs.statfsSync(`/proc/${server.pid}/root${data}`);
    assert.ok(bavail * bsize > 6 * mib, 'the last of it is left to others');
    fs.unlinkSync(`/proc/${server.pid}/root${data}/ballast`);
    assertStatus(await api.post('/users', body, once), 201);
    records.push(...await fill(server, key, user));
    assert.ok(records.length > filled + 50, `${filled}, then ${records.length}`);
    // Other files take the rest: the next server finds no block for its process id.
    spawnSync('dd', ['if=/dev/zero', `of=/proc/${server.pid}/root${data}/eaten`, 'bs=4k']);
    fs.rmSync(`/proc/${server.pid}/root${data}/server.lock`);
    api.close();
    await server.kill();

    assert.deepEqual((await inside('check')).store.wrong, []);
    server = await startServer(placement);
    api = server.client(key, { scheme: 'http' });
    assert.equal((await api.read('/posts?limit=1')).pagination.total, records.length + 1);
    assertStatus(await api.post('/posts', bigPost(user)), 507, 'storage_full');
    // Deletions free space, however full the disk is.
    for (const id of records.slice(0, 50)) assertStatus(await api.delete(`/posts/${id}`), 204);
    await api.create('/posts', bigPost(user));
    t.diagnostic(`${filled} posts filled it, ${records.length} without the ballast`);
    api.close();
    await server.stop();
  });
});
