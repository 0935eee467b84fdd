// Disks that are full or fail, and maps that are full: no 2xx for what is not stored, reads go on, what frees goes on,
// and writing is resumed when there is room again. A failed sync ends the process without an acknowledgement.
//
// The faults are made below the program, by faults.c (ninja -C BUILD tests/e2e/faults.so), which needs no privilege; one
// test fills a real ext4 where it may mount one.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, command, makeKey, message, newUser, run, sleep, startServer, temporaryFolder } from './harness.mjs';

const library = path.join(path.dirname(binary), '../tests/e2e/faults.so');
const skip = fs.existsSync(library) ? false : `there is no ${library}`;
const mib = 1 << 20;

// See `struct faults` of faults.c. Of what the store's file has of the disk already nothing is denied.
class Disk {
  constructor(data) {
    this.data = data;
    this.file = path.join(temporaryFolder(), 'faults');
    this.set();
    this.env = { LD_PRELOAD: library, LATCHKEY_DISK_FAULTS: this.file };
  }

  // What the disk has given to the store's file, in MiB.
  given() {
    const store = path.join(this.data, 'store.mdb');
    return fs.existsSync(store) ? fs.statSync(store).blocks * 512 / mib : 0;
  }

  set({ fallocate, write, sync, through, free = -1 } = {}) {
    const number = (name) => (name === undefined ? 0 : os.constants.errno[name]);
    const words = Int32Array.of(number(fallocate), Math.floor(this.given()), number(write), number(sync), number(through), free);
    if (!fs.existsSync(this.file)) fs.writeFileSync(this.file, words);
    const to = fs.openSync(this.file, 'r+');
    fs.writeSync(to, words);
    fs.closeSync(to);
  }
}

const bigPost = (user) => ({ user_id: user, title: 'fills', body: 'b'.repeat(60_000), status: 'draft' });

// Posts over several connections until there is no room; the ids of those that were stored.
async function fill(server, key, user, body = () => bigPost(user)) {
  const stored = [];
  await Promise.all(Array.from({ length: 8 }, async () => {
    const api = server.client(key);
    // What one commit has freed another may use: it is full when that is over.
    for (let refused = 0; refused < 5;) {
      const answer = await api.post('/posts', body());
      refused = answer.status === 507 ? refused + 1 : 0;
      if (!refused) stored.push((assertStatus(answer, 201), answer.json.id));
      assert.ok(stored.length < 20_000, 'it is never full');
    }
    api.close();
  }));
  return stored;
}

// What is refused and what goes on where there is no room. `posts` may be deleted.
async function expectFull(api, { user, post, turnedOff, posts }) {
  const once = { headers: { 'Idempotency-Key': `full-${posts.length}-${post}` } };
  const body = newUser();
  for (let i = 0; i < 2; i += 1) assertStatus(await api.post('/users', body, once), 507, 'storage_full');
  assertStatus(await api.post('/posts', bigPost(user)), 507, 'storage_full');
  assertStatus(await api.patch(`/posts/${post}`, { body: 'changed' }), 507, 'storage_full');
  assertStatus(await api.put(`/users/${user}`, newUser()), 507, 'storage_full');
  assertStatus(await api.post('/keys', { name: 'one more', scopes: ['users:read'] }), 507, 'storage_full');
  assertStatus(await api.post('/events/shop', { any: 1 }), 507, 'storage_full');
  // What is wrong with a request is told before.
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

describe('a full disk', { skip }, () => {
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
      const stored = await fill(server, key, user);
      assert.ok(stored.length > 20, 'what the file has of the disk is used');
      const { body, once } = await expectFull(api, { user, post, turnedOff: keys[0], posts: stored.splice(0, 2) });
      // The same after a kill: another process finds the disk full.
      await server.kill();
      server = await server.again();
      api = server.client(key);
      await fill(server, key, user).then((more) => stored.push(...more));
      await expectFull(api, { user, post, turnedOff: keys[1], posts: stored.splice(0, 2) });
      const tool = await command('keys', 'create', '--data', data, '--name', 'cli', '--json');
      assert.equal(tool.code, 0, 'this process has another disk');

      // What deletions free is room, however full the disk is.
      for (const id of stored.splice(0, 200)) assertStatus(await api.delete(`/posts/${id}`), 204);
      assertStatus(await api.post('/users', newUser()), 201);
      stored.push(...await fill(server, key, user));
      await expectFull(api, { user, post, turnedOff: keys[2], posts: [] });
      // And then the disk has room again; what was refused was not kept under its Idempotency-Key.
      disk.set();
      const answer = await api.post('/users', body, once);
      assertStatus(answer, 201);
      assert.equal(answer.headers.get('idempotency-replayed'), null);
      for (let i = 0; i < 20; i += 1) await api.create('/posts', bigPost(user));
      await server.kill();
      await whole(data);
      server = await server.again();
      api = server.client(key);
      assert.equal((await api.read('/posts?limit=1')).pagination.total, stored.length + 21);
      t.diagnostic(`${stored.length} posts at the end`);
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
    const given = disk.given();
    disk.set({ free: 0 });
    await fill(server, key, user);
    assert.equal(disk.given(), given, 'what is left was not taken');
    disk.set();
    await server.client(key).create('/users', newUser());
    assert.ok(disk.given() > given);
    await server.stop();
  });

  test('keeps a command from claiming what is not stored', async () => {
    const data = path.join(temporaryFolder(), 'data');
    await makeKey(data);
    const keys = async () => JSON.parse((await command('keys', 'list', '--data', data, '--json')).stdout);
    const before = await keys();
    const disk = new Disk(data);
    for (const fault of [{ sync: 'EIO' }, { through: 'EIO' }, { write: 'ENOSPC' }]) {
      disk.set(fault);
      const made = spawnSync(binary, ['keys', 'create', '--data', data, '--name', 'never', '--json'],
        { env: { ...process.env, ...disk.env }, encoding: 'utf8' });
      assert.equal(made.status, 1, made.stderr);
      assert.equal(made.stdout, '', 'no key is shown');
      assert.match(made.stderr, /cannot be written|cannot write/);
      assert.deepEqual(await keys(), before);
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

// One connection that makes users, one after the other; a user that was answered must be there for ever after.
async function makeUsers(server, key, answered, number) {
  const wire = await server.connect({ scheme: number % 2 ? 'https' : 'http' });
  for (;;) {
    wire.send(message('POST', '/api/v1/users', { key, body: newUser() }));
    let answer;
    try {
      answer = await wire.response({ method: 'POST' });
    } catch (error) {
      assert.match(error.message, /the connection ended/);
      wire.close();
      return;
    }
    assertStatus(answer, 201);
    answered.push(answer.json);
  }
}

describe('a disk that fails', { skip }, () => {
  const faults = { 'fdatasync EIO': { sync: 'EIO' }, 'fdatasync ENOSPC': { sync: 'ENOSPC' }, 'pwrite and writev EIO': { write: 'EIO' },
    'pwrite and writev ENOSPC': { write: 'ENOSPC' }, 'the last page EIO': { through: 'EIO' } };
  for (const [name, fault] of Object.entries(faults)) {
    test(`(${name}) ends the process, and what was answered is there`, async (t) => {
      const data = path.join(temporaryFolder(), 'data');
      const disk = new Disk(data);
      let server = await startServer({ data, env: disk.env });
      const { key } = await server.makeKey();
      const answered = [];
      const clients = Promise.all(Array.from({ length: 8 }, (_, i) => makeUsers(server, key, answered, i)));
      while (answered.length < 40) await sleep(5);
      disk.set(fault);
      const end = await Promise.race([server.exited, sleep(5000)]);
      assert.deepEqual(end, { code: 1, signal: null }, 'it ends by itself');
      await clients;
      assert.match(server.stderr, /the store cannot be written; ending without acknowledging: (Input\/output error|No space left on device)/);

      disk.set();
      await whole(data);
      server = await server.again();
      const api = server.client(key);
      for (const user of answered) assert.deepEqual(await api.read(`/users/${user.id}`), user);
      const { total } = (await api.read('/users?limit=1')).pagination;
      assert.ok(total >= answered.length && total <= answered.length + 8, `${total} users, ${answered.length} answered`);
      const ids = new Set(answered.map(({ id }) => id));
      assert.ok(!ids.has((await api.create('/users', newUser())).id), 'no id is given again');
      t.diagnostic(`${answered.length} users answered, ${total} there`);
      api.close();
      await server.stop();
    });
  }
});

describe('a full map', () => {
  for (const [what, size, seeded] of [['large', 60_000, 10], ['small', 100, 3300]]) {
    test(`of ${what} posts refuses creations early enough for every deletion`, async (t) => {
      const server = await startServer({ args: ['--store-map-mib', '16'] });
      const { key } = await server.makeKey();
      const api = server.client(key);
      const seed = await command('seed', '--data', server.data, '--users', String(seeded), '--posts', String(seeded * 10));
      assert.equal(seed.code, 0, seed.stderr);
      const owners = Array.from({ length: seeded }, (_, i) => i + 1);
      const off = await api.create('/keys', { name: 'off', scopes: ['users:read'] });
      let turn = 0;
      const body = () => ({ ...bigPost(owners[turn++ % owners.length]), body: 'b'.repeat(size) });
      const { id: post } = await api.create('/posts', body());
      const stored = await fill(server, key, 1, body);
      await expectFull(api, { user: 1, post, turnedOff: off, posts: stored.splice(0, 3) });
      stored.push(...await fill(server, key, 1, body));
      const filled = stored.length;

      // Everybody deletes at once, first posts and then users with all of theirs, while others go on creating.
      let gone = false;
      const met = { 202: 0, 507: 0 };
      const creators = Promise.all([0, 1, 2].map(async () => {
        const mine = server.client(key);
        while (!gone) {
          const { status } = await mine.post('/events/shop', { text: 'e'.repeat(size) });
          assert.ok(status in met, `${status}`);
          met[status] += 1;
        }
        mine.close();
      }));
      for (const targets of [stored.slice(0, 500).map((id) => `/posts/${id}`), owners.map((id) => `/users/${id}`)]) {
        await Promise.all(Array.from({ length: 8 }, async () => {
          const mine = server.client(key);
          for (let next = targets.shift(); next !== undefined; next = targets.shift()) assertStatus(await mine.delete(next), 204);
          mine.close();
        }));
      }
      gone = true;
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

// An ext4 of its own at the server's data directory, in a mount namespace that ends with the process.
function mounted(image, data, ...words) {
  return ['unshare', '--mount', 'sh', '-c', 'mount -o loop "$1" "$2" && shift 2 && exec "$@"', 'sh', image, data, ...words];
}

function made(image, data) {
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
  const unable = made(image, data);

  test('that is full refuses what grows, until it has room again', { skip: unable }, async (t) => {
    const inside = async (...words) => {
      const [program, ...rest] = mounted(image, data, binary, ...words, '--data', data, '--json');
      return JSON.parse((await run(program, rest)).stdout);
    };
    const { key } = await inside('keys', 'create', '--name', 'e2e', '--scope', '*', '--unlimited');
    // What is in the data directory is seen by the server alone, the certificate too.
    const there = { data, listen: ['http://127.0.0.1:0'], under: mounted(image, data) };
    let server = await startServer(there);
    let api = server.client(key, { scheme: 'http' });
    const client = server.client;
    server.client = (who, options) => client.call(server, who, { scheme: 'http', ...options });
    const { id: user } = await api.create('/users', newUser());
    const { id: post } = await api.create('/posts', bigPost(user));
    const off = await api.create('/keys', { name: 'off', scopes: ['users:read'] });
    const stored = await fill(server, key, user);
    const { body, once } = await expectFull(api, { user, post, turnedOff: off, posts: stored.splice(0, 2) });
    stored.push(...await fill(server, key, user));
    const filled = stored.length;
    const { bavail, bsize } = fs.statfsSync(`/proc/${server.pid}/root${data}`);
    assert.ok(bavail * bsize > 6 * mib, 'the last of it is left to others');
    fs.unlinkSync(`/proc/${server.pid}/root${data}/ballast`);
    assertStatus(await api.post('/users', body, once), 201);
    stored.push(...await fill(server, key, user));
    assert.ok(stored.length > filled + 50, `${filled}, then ${stored.length}`);
    // Others take the rest: the next server finds no block to write its process id into.
    spawnSync('dd', ['if=/dev/zero', `of=/proc/${server.pid}/root${data}/eaten`, 'bs=4k']);
    fs.rmSync(`/proc/${server.pid}/root${data}/server.lock`);
    api.close();
    await server.kill();

    assert.deepEqual((await inside('check')).store.wrong, []);
    server = await startServer(there);
    api = server.client(key, { scheme: 'http' });
    assert.equal((await api.read('/posts?limit=1')).pagination.total, stored.length + 1);
    assertStatus(await api.post('/posts', bigPost(user)), 507, 'storage_full');
    // What deletions free is room, however full the disk is.
    for (const id of stored.slice(0, 50)) assertStatus(await api.delete(`/posts/${id}`), 204);
    await api.create('/posts', bigPost(user));
    t.diagnostic(`${filled} posts filled it, ${stored.length} without the ballast`);
    api.close();
    await server.stop();
  });
});
