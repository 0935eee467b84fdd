// A live store's backup, putting it back, and looking whether a configuration and a store are right.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, command, makeKey, startServer, temporaryFolder } from './harness.mjs';

const data = () => path.join(temporaryFolder(), 'data');
const seeded = async (users = 200) => {
  const at = data();
  assert.equal((await command('seed', '--users', String(users), '--posts', String(users), '--data', at, '--quiet')).code, 0);
  return at;
};
const checked = async (at) => {
  const { code, stdout, stderr } = await command('check', '--data', at, '--json');
  return { code, stderr, ...JSON.parse(stdout) };
};

describe('backup and restore', () => {
  test('bring everything back, on another machine too', async () => {
    const from = await seeded();
    const key = await makeKey(from);
    const file = path.join(temporaryFolder(), 'backup.mdb');
    const { code, stdout } = await command('backup', file, '--data', from, '--json');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { file, bytes: fs.statSync(file).size });
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    assert.equal((await command('backup', file, '--data', from)).code, 1, 'no file is replaced');
    assert.deepEqual(fs.readdirSync(path.dirname(file)), ['backup.mdb'], 'and nothing half done is left');

    const to = data();
    const restored = await command('restore', file, '--data', to);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stderr, /a new one was made/);
    assert.notDeepEqual(fs.readFileSync(path.join(to, 'master.key')), fs.readFileSync(path.join(from, 'master.key')));
    const server = await startServer({ data: to });
    const list = await server.client(key).get('/users?limit=1');
    assertStatus(list, 200);
    assert.equal(list.json.pagination.total, 200);
    await server.stop();
  });

  test('into a directory get a name of their own, compact or not', async () => {
    const from = await seeded(2000);
    const folder = temporaryFolder();
    const { code } = await command('backup', folder, '--data', from, '--compact');
    assert.equal(code, 0);
    const [name] = fs.readdirSync(folder);
    assert.match(name, /^latchkey-\d{8}T\d{6}Z\.mdb$/);
    const to = data();
    assert.equal((await command('restore', path.join(folder, name), '--data', to)).code, 0);
    assert.equal((await checked(to)).store.users, 2000);
  });

  test('under a load of writes: the copy is of one moment and whole', async () => {
    const server = await startServer();
    const api = server.client(await server.makeKey());
    const folder = temporaryFolder();
    let done = false;
    const writing = (async () => {
      let count = 0;
      for (; !done; count += 1) {
        const user = await api.post('/users', { name: 'Ada', email: `ada${count}@example.org` });
        assertStatus(user, 201);
        assertStatus(await api.post('/posts', { user_id: user.json.id, title: 'x' }), 201);
        if (count % 5 === 4) assertStatus(await api.delete(`/users/${user.json.id}`), 204);
      }
      return count;
    })();
    const files = [];
    for (let i = 0; i < 6; i += 1) {
      const file = path.join(folder, `${i}.mdb`);
      const made = await command('backup', file, '--data', server.data, ...(i % 2 ? ['--compact'] : []));
      assert.equal(made.code, 0, made.stderr);
      files.push(file);
    }
    done = true;
    assert.ok(await writing > 0);
    await server.stop();
    let before = 0;
    for (const file of files) {
      const to = data();
      const { code, stderr } = await command('restore', file, '--data', to);
      assert.equal(code, 0, stderr);
      const { code: fine, store } = await checked(to);
      assert.equal(fine, 0);
      // Four users stay of five that are made; the one that is deleted may be in one backup and not in the next.
      assert.ok(store.users >= before - 1, `a later backup has no less: ${store.users} users, ${before} before`);
      before = Math.max(before, store.users);
    }
  });

  test('restore replaces only when told, keeps what was there, and never under a server', async () => {
    const [old, young] = [await seeded(50), await seeded(70)];
    const file = path.join(temporaryFolder(), 'young.mdb');
    await command('backup', file, '--data', young);
    const refused = await command('restore', file, '--data', old);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /--force/);
    const server = await startServer({ data: old });
    const busy = await command('restore', file, '--data', old, '--force');
    assert.equal(busy.code, 1);
    assert.match(busy.stderr, new RegExp(`process ${server.pid}\\)`));
    await server.stop();
    const key = fs.readFileSync(path.join(old, 'master.key'));
    const forced = await command('restore', file, '--data', old, '--force');
    assert.equal(forced.code, 0, forced.stderr);
    assert.deepEqual(fs.readFileSync(path.join(old, 'master.key')), key, 'the key stays');
    assert.equal((await checked(old)).store.users, 70);
    const back = data();
    assert.equal((await command('restore', path.join(old, 'store.mdb.before-restore'), '--data', back)).code, 0);
    assert.equal((await checked(back)).store.users, 50);
  });

  test('a damaged backup replaces nothing', async () => {
    const from = await seeded(3000);
    const file = path.join(temporaryFolder(), 'backup.mdb');
    await command('backup', file, '--data', from);
    const bytes = fs.readFileSync(file);
    const damage = {
      empty: Buffer.alloc(0),
      short: bytes.subarray(0, bytes.length / 2),
      noise: Buffer.concat([bytes.subarray(0, 16384), Buffer.alloc(bytes.length - 16384, 0xa5)]),
      other: Buffer.from('SQLite format 3\0'.repeat(4096)),
    };
    for (const [name, content] of Object.entries(damage)) {
      const wrong = path.join(temporaryFolder(), name);
      fs.writeFileSync(wrong, content);
      const to = await seeded(10);
      const { code, stderr } = await command('restore', wrong, '--data', to, '--force');
      assert.equal(code, 1, `${name}: ${stderr}`);
      assert.match(stderr, /error: .*(damaged|no usable backup)/, name);
      assert.equal((await checked(to)).store.users, 10, name);
      assert.ok(!fs.existsSync(path.join(to, 'restore.part')), 'nothing is left behind');
    }
  });
});

describe('check', () => {
  test('says 0 for what is right, beside a server too', async () => {
    const at = await seeded(100);
    await makeKey(at);
    const server = await startServer({ data: at });
    const { code, configuration, store } = await checked(at);
    assert.equal(code, 0);
    assert.deepEqual(configuration, { valid: true, wrong: [] });
    assert.deepEqual(store, { valid: true, users: 100, posts: 100, keys: 1, audit_entries: 1, wrong: [] });
    await server.stop();
    const plain = await command('check', '--data', at);
    assert.match(plain.stderr, /the store is whole: 100 users, 100 posts, 1 keys/);
    const none = await command('check', '--data', data());
    assert.equal(none.code, 0);
    assert.match(none.stderr, /no store/);
  });

  test('says 78 for a wrong configuration and 1 for a store that is not whole', async () => {
    const file = path.join(temporaryFolder(), 'wrong.toml');
    fs.writeFileSync(file, 'workers = "two"\n');
    const wrong = await command('check', '--config', file, '--json');
    assert.equal(wrong.code, 78);
    assert.match(JSON.parse(wrong.stdout).configuration.wrong[0], /workers must be a whole number \(line 1\)/);
    const certificate = await command('check', '--tls-certificate', file, '--tls-key', file, '--data', data());
    assert.equal(certificate.code, 78);

    const at = await seeded(3000);
    const store = path.join(at, 'store.mdb');
    fs.truncateSync(store, 65536);
    const damaged = await checked(at);
    assert.equal(damaged.code, 1);
    assert.equal(damaged.store.valid, false);
    assert.equal((await command('check', '--data', at, '--configuration-only')).code, 0);
  });
});

describe('help', () => {
  const words = ['serve', 'config show', 'audit', 'import', 'export', 'seed', 'backup', 'restore', 'check',
    ...['create', 'list', 'show', 'rotate', 'deactivate', 'reactivate', 'import'].map((w) => `keys ${w}`)];

  test('of every command shows an example', async () => {
    for (const each of words) {
      const { code, stdout } = await command(...each.split(' '), '--help');
      assert.equal(code, 0, each);
      assert.match(stdout, new RegExp(`Example: latchkey ${each}`), each);
    }
    const { stdout } = await command('--help');
    for (const each of words) assert.match(stdout, new RegExp(`^ +${each.split(' ')[0]} `, 'm'));
  });

  test('nothing is coloured or drawn over itself where there is no terminal', async () => {
    const { stdout, stderr } = await command('seed', '--users', '5000', '--posts', '5000', '--data', data());
    assert.doesNotMatch(stdout + stderr, /[\r\x1b]/);
    const quiet = await command('seed', '--users', '10', '--posts', '0', '--data', data(), '--quiet');
    assert.equal(quiet.stderr.trim().split('\n').length, 1);
  });
});
