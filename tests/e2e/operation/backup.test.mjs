// Backup of a live store, restore, the nightly unit of the package, and `check` of a configuration and a store.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertStatus, binary, command, makeKey, startServer, temporaryFolder } from '../helpers/harness.mjs';

const data = () => path.join(temporaryFolder(), 'data');
const seeded = async (users = 200) => {
  const directory = data();
  assert.equal((await command('seed', '--users', String(users), '--posts', String(users), '--data', directory, '--quiet')).code, 0);
  return directory;
};
const checked = async (dataFolder) => {
  const { code, stdout, stderr } = await command('check', '--data', dataFolder, '--json');
  return { code, stderr, ...JSON.parse(stdout) };
};

describe('backup and restore', () => {
  test('bring everything back, on another machine too', async () => {
    const source = await seeded();
    const key = await makeKey(source);
    const file = path.join(temporaryFolder(), 'backup.mdb');
    const { code, stdout } = await command('backup', file, '--data', source, '--json');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { file, bytes: fs.statSync(file).size });
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    const again = await command('backup', file, '--data', source);
    assert.equal(again.code, 1, 'no file is replaced');
    assert.deepEqual(fs.readdirSync(path.dirname(file)), ['backup.mdb'], 'and nothing half done is left');
    assert.match(again.stderr, /exists already and was left as it is; nothing was written/);
    const { stdout: help } = await command('backup', '--help');
    for (const [option] of again.stderr.matchAll(/--[a-z-]+/g)) assert.ok(help.includes(option), `backup has ${option}`);

    const target = data();
    const restored = await command('restore', file, '--data', target);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stderr, /a new one was made/);
    assert.notDeepEqual(fs.readFileSync(path.join(target, 'master.key')), fs.readFileSync(path.join(source, 'master.key')));
    const server = await startServer({ data: target });
    const list = await server.client(key).get('/users?limit=1');
    assertStatus(list, 200);
    assert.equal(list.json.pagination.total, 200);
    await server.stop();
  });

  test('into a directory get a name of their own, compact or not', async () => {
    const source = await seeded(2000);
    const folder = temporaryFolder();
    const { code } = await command('backup', folder, '--data', source, '--compact');
    assert.equal(code, 0);
    const [name] = fs.readdirSync(folder);
    assert.match(name, /^latchkey-\d{8}T\d{6}Z\.mdb$/);
    const target = data();
    assert.equal((await command('restore', path.join(folder, name), '--data', target)).code, 0);
    assert.equal((await checked(target)).store.users, 2000);
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
      const backup = await command('backup', file, '--data', server.data, ...(i % 2 ? ['--compact'] : []));
      assert.equal(backup.code, 0, backup.stderr);
      files.push(file);
    }
    done = true;
    assert.ok(await writing > 0);
    await server.stop();
    let lastTotal = 0;
    for (const file of files) {
      const target = data();
      const { code, stderr } = await command('restore', file, '--data', target);
      assert.equal(code, 0, stderr);
      const { code: fine, store } = await checked(target);
      assert.equal(fine, 0);
      // Of five users that are created four stay; the deleted one may be in one backup and not in the next.
      assert.ok(store.users >= lastTotal - 1, `a later backup has no less: ${store.users} users, ${lastTotal} before`);
      lastTotal = Math.max(lastTotal, store.users);
    }
  });

  test('restore replaces only when told, keeps what was there, and never under a server', async () => {
    const [old, young] = [await seeded(50), await seeded(70)];
    const file = path.join(temporaryFolder(), 'young.mdb');
    await command('backup', file, '--data', young);
    const refusal = await command('restore', file, '--data', old);
    assert.equal(refusal.code, 1);
    assert.match(refusal.stderr, /--force/);
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
    const source = await seeded(3000);
    const file = path.join(temporaryFolder(), 'backup.mdb');
    await command('backup', file, '--data', source);
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
      const target = await seeded(10);
      const { code, stderr } = await command('restore', wrong, '--data', target, '--force');
      assert.equal(code, 1, `${name}: ${stderr}`);
      assert.match(stderr, /error: .*(damaged|no usable backup)/, name);
      assert.equal((await checked(target)).store.users, 10, name);
      assert.ok(!fs.existsSync(path.join(target, 'restore.part')), 'nothing is left behind');
    }
  });
});

describe('the nightly backup of the package', () => {
  const top = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../..');
  const lines = fs.readFileSync(path.join(top, 'tools/packaging/latchkey-backup.service'), 'utf8').split('\n').filter((line) => line.startsWith('ExecStart='));

  // Runs the commands of the unit one after the other, until one fails, with folders of this test in the place of the machine's.
  function backUp(folder, dataFolder) {
    const configuration = path.join(folder, 'latchkey.toml');
    fs.writeFileSync(configuration, `data = "${dataFolder}"\n`);
    for (const part of ['store', 'key']) fs.mkdirSync(path.join(folder, part), { recursive: true });
    const text = lines.map((line) => line.slice('ExecStart='.length)).join('\n').replaceAll('/usr/bin/latchkey', binary)
      .replaceAll('/etc/latchkey/latchkey.toml', configuration).replaceAll('/var/lib/latchkey-backup', folder).replaceAll('/var/lib/latchkey/', `${dataFolder}/`);
    const { status, stderr } = spawnSync('bash', ['-ec', `umask 077\n${text}`], { encoding: 'utf8' });
    return { status, stderr, backups: fs.readdirSync(path.join(folder, 'store')), keys: fs.readdirSync(path.join(folder, 'key')).sort() };
  }
  const fileOfAge = (folder, name, days) => {
    const file = path.join(folder, 'store', name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, '');
    const time = Date.now() / 1000 - days * 86400;
    fs.utimesSync(file, time, time);
    return name;
  };

  test('is what the page says', () => {
    const page = fs.readFileSync(path.join(top, 'docs/operations/back-up.md'), 'utf8');
    assert.equal(lines.length, 3);
    assert.ok(page.includes(`\`\`\`ini\n[Service]\n${lines.join('\n')}\n\`\`\``));
  });

  test('keeps the store, its key and former keys, and no file older than two weeks', async () => {
    const server = await startServer();
    const [folder, key] = [temporaryFolder(), path.join(server.data, 'master.key')];
    await server.client(await server.makeKey()).post('/webhooks', { url: 'https://hooks.example.com/' });
    const [old, young] = [fileOfAge(folder, 'latchkey-20260101T000000Z.mdb', 15), fileOfAge(folder, 'latchkey-20260103T000000Z.mdb', 13)];
    const first = backUp(folder, server.data);
    assert.equal(first.status, 0, first.stderr);
    assert.ok(!first.backups.includes(old) && first.backups.includes(young));
    assert.deepEqual(first.keys, ['master.key']);
    await server.stop();

    // Both together are the whole store: its secrets can be read.
    const target = data();
    fs.mkdirSync(target, { mode: 0o700 });
    fs.copyFileSync(path.join(folder, 'key/master.key'), path.join(target, 'master.key'));
    const [backup] = first.backups.filter((name) => name !== young);
    assert.equal((await command('restore', path.join(folder, 'store', backup), '--data', target)).code, 0);
    const { code, stderr } = await checked(target);
    assert.equal(code, 0, stderr);

    for (const name of first.backups) fs.rmSync(path.join(folder, 'store', name)); // the next one has the name of its second
    assert.deepEqual(backUp(folder, server.data).keys, ['master.key'], 'the same key is kept once');
    const former = fs.readFileSync(key);
    fs.writeFileSync(key, Buffer.alloc(32, 7));
    for (const name of fs.readdirSync(path.join(folder, 'store'))) fs.rmSync(path.join(folder, 'store', name));
    const second = backUp(folder, server.data);
    assert.deepEqual(second.keys, ['master.key', 'master.key.~1~']);
    assert.deepEqual(fs.readFileSync(path.join(folder, 'key/master.key.~1~')), former);
  });

  test('removes nothing while backups fail', () => {
    const [folder, dataFolder] = [temporaryFolder(), data()];
    fs.mkdirSync(dataFolder, { mode: 0o700 });
    fs.writeFileSync(path.join(dataFolder, 'master.key'), Buffer.alloc(32, 7), { mode: 0o600 });
    const old = fileOfAge(folder, 'latchkey-20260101T000000Z.mdb', 30);
    const { status, backups, keys } = backUp(folder, dataFolder);
    assert.notEqual(status, 0);
    assert.deepEqual([backups, keys], [[old], ['master.key']]);
  });
});

describe('check', () => {
  test('says 0 for what is right, beside a server too', async () => {
    const directory = await seeded(100);
    await makeKey(directory);
    const server = await startServer({ data: directory });
    const { code, configuration, store } = await checked(directory);
    assert.equal(code, 0);
    assert.deepEqual(configuration, { valid: true, wrong: [] });
    assert.deepEqual(store, { valid: true, users: 100, posts: 100, keys: 1, audit_entries: 1, wrong: [] });
    await server.stop();
    const plain = await command('check', '--data', directory);
    assert.match(plain.stderr, /the store is intact: 100 users, 100 posts, 1 key, 1 entry/);
    const none = await command('check', '--data', data());
    assert.equal(none.code, 0);
    assert.match(none.stderr, /no store/);
  });

  test('says 78 for a wrong configuration and 1 for a store that is not whole', async () => {
    const file = path.join(temporaryFolder(), 'wrong.toml');
    fs.writeFileSync(file, 'workers = "two"\n');
    const wrong = await command('check', '--config', file, '--json');
    assert.equal(wrong.code, 78);
    assert.deepEqual(JSON.parse(wrong.stdout).configuration.wrong,
      [{ file, line: 1, source: null, setting: 'workers', message: 'workers must be a whole number' }]);
    const certificate = await command('check', '--tls-certificate', file, '--tls-key', file, '--data', data());
    assert.equal(certificate.code, 78);

    const directory = await seeded(3000);
    const store = path.join(directory, 'store.mdb');
    fs.truncateSync(store, 65536);
    const damaged = await checked(directory);
    assert.equal(damaged.code, 1);
    assert.equal(damaged.store.valid, false);
    assert.equal((await command('check', '--data', directory, '--configuration-only')).code, 0);
  });
});

describe('help', () => {
  const words = ['serve', 'config show', 'usage', 'completion', 'events list', 'audit', 'import', 'export', 'seed', 'backup', 'restore', 'check', 'health', 'reset-time',
    'changes', ...['create', 'update', 'list', 'show', 'delete', 'enable', 'disable', 'rotate-secret', 'test', 'deliveries', 'replay']
      .map((w) => `webhooks ${w}`),
    ...['create', 'list', 'show', 'update', 'usage', 'verify', 'rotate', 'deactivate', 'reactivate', 'import'].map((w) => `keys ${w}`)];

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
    assert.match(quiet.stderr, /^.*a new one is made\n.*\n$/, 'that it makes a store, and what is in it');
  });
});
