// latchkey import from standard input, again, and of what is there already; and keys from other systems (--from).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, command, commandOf, filesIn, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const folder = temporaryFolder();
let number = 0;
const newData = () => ['--data', path.join(folder, `data${number++}`), '--quiet'];
const lines = (...records) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const write = (name, text) => {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
};
const withInput = (text, ...words) => commandOf('sh', '-c', 'input=$1; shift; cat "$input" | "$@"', 'sh', write('input', text), binary, ...words);
const exported = async (data) => (await command('export', '-', ...data)).stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));

const ada = { name: 'Ada', email: 'ada@example.org' };
const bob = { name: 'Bob', email: 'bob@example.org' };

describe('import', () => {
  test('reads standard input', async () => {
    const data = newData();
    const first = await withInput(lines(ada, { ...bob, id: 7 }), 'import', '-', ...data);
    assert.match(first.stderr, /2 users and 0 posts created/);
    assert.deepEqual((await exported(data)).map(({ id, name }) => [id, name]), [[7, 'Bob'], [8, 'Ada']]);
    const posts = await withInput(lines({ user_id: 7, title: 'piped' }), 'import', '/dev/null', '-', ...data);
    assert.match(posts.stderr, /0 users and 1 post created/);
    const bad = await withInput('nonsense\n', 'import', '-', ...data);
    assert.equal(bad.code, 1);
    assert.match(bad.stderr, /standard input, line 1: invalid_json: /);
    assert.equal((await withInput('', 'import', '-', '-', ...data)).code, 2);
  });

  test('of the same input again says that nothing was made', async () => {
    const data = newData();
    const file = write('again', lines(ada));
    assert.equal((await command('import', file, ...data)).code, 0);
    const again = await command('import', file, ...data);
    assert.equal(again.code, 0);
    assert.match(again.stderr, /nothing was made: these files were imported 20.*--again/);
    assert.doesNotMatch(again.stderr, /created/);
    const document = JSON.parse((await command('import', file, '--json', ...data)).stdout);
    assert.deepEqual(document.users, { created: 0, moved: 0, unchanged: 0, refused: 0 });
    assert.match(document.imported_before, /^20/);
    assert.equal(JSON.parse((await command('import', write('new', lines(bob)), '--json', ...data)).stdout).imported_before, null);
  });

  test('calls a taken address email_taken', async () => {
    const data = newData();
    const file = write('taken', lines(ada, { name: 'Eve', email: 'ADA@example.org' }));
    const ended = await command('import', file, '--json', ...data);
    assert.equal(ended.code, 1);
    assert.deepEqual(JSON.parse(ended.stdout).bad_lines.map(({ line, code, detail, errors }) => [line, code, detail, errors]),
      [[2, 'email_taken', 'Another user has this email address.', []]]);
    assert.match((await command('import', file, '--again', ...data)).stderr, /taken, line 2: email_taken: Another user has/);
    const invalid = await command('import', write('invalid', lines({ name: '', email: 'x' })), '--json', ...data);
    assert.equal(JSON.parse(invalid.stdout).bad_lines[0].code, 'validation_failed');
  });

  test('leaves alone who is there already, with an id, without, and with another', async () => {
    const data = newData();
    await command('import', write('first', lines(bob, { ...ada, id: 3 })), ...data);
    const before = await exported(data);
    const counts = async (...records) => {
      const ended = await command('import', write(`more${number++}`, lines(...records)), '--json', ...data);
      const { users: { created, unchanged, refused } } = JSON.parse(ended.stdout);
      return [created, unchanged, refused];
    };
    assert.deepEqual(await counts({ ...ada, id: 3 }, bob), [0, 2, 0]);
    assert.deepEqual(await counts(ada, { ...bob, id: 40 }), [0, 2, 0]);
    const twice = { name: 'Zoe', email: 'zoe@example.org' };
    assert.deepEqual(await counts(twice, twice), [1, 1, 0], 'also of two lines of one file');
    assert.deepEqual(await counts({ ...ada, name: 'Not Ada' }), [0, 0, 1]);
    assert.deepEqual((await exported(data)).filter(({ name }) => name !== 'Zoe'), before);
    // Posts follow to the user who was there.
    const people = write('people', lines({ ...bob, id: 90 })), posts = write('posts', lines({ user_id: 90, title: 'by Bob' }));
    assert.equal((await command('import', people, posts, ...data)).code, 0);
    await command('export', path.join(folder, 'u'), path.join(folder, 'p'), '--force', ...data);
    assert.equal(JSON.parse(fs.readFileSync(path.join(folder, 'p'), 'utf8')).user_id, before.find(({ name }) => name === 'Bob').id);
    assert.equal((await command('check', ...data.slice(0, 2))).code, 0);
  });

  test('is never written over a file of the store', async () => {
    const data = newData();
    assert.equal((await command('import', write('some', lines(ada)), ...data)).code, 0);
    for (const name of ['store.mdb', 'master.key']) {
      const refused = await command('export', path.join(data[1], name), '--force', ...data);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /is a file of the data directory/);
    }
    assert.equal((await exported(data)).length, 1);
  });

  test('goes on when nobody reads its progress any more', async () => {
    const data = newData();
    const some = write('some', lines(ada, bob));
    const ended = await commandOf('bash', '-c', 'exec 3> >(exec true); wait $!; "$@" 2>&3', 'bash', binary, 'import', some, ...data);
    assert.equal(ended.code, 0);
    assert.equal((await exported(data)).length, 2);
  });
});

describe('the report of an import', () => {
  test('replaces and continues no other file', async () => {
    const data = newData();
    const users = write('reported', lines(ada) + 'nonsense\n');
    const precious = write('precious', 'kept\n');
    for (let i = 0; i < 2; i++) { // the refused import has not begun, so that the second one does not resume it
      const refused = await command('import', users, '--report', precious, ...data);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /precious exists already and was left as it is; nothing was imported/);
      assert.equal(fs.readFileSync(precious, 'utf8'), 'kept\n');
      assert.deepEqual(await exported(data), []);
    }
    const report = path.join(folder, 'report');
    assert.match((await command('import', users, '--report', report, ...data)).stderr, /1 user and 0 posts created, 1 line refused/);
    assert.deepEqual(Object.keys(JSON.parse(fs.readFileSync(report, 'utf8'))), ['file', 'line', 'code', 'detail', 'errors']);
  });

  test('of a resumed import is continued, if it is one', async () => {
    const data = newData();
    const count = 300_000;
    const file = write('long', Array.from({ length: count }, (_, i) => (i % 1000 === 0 ? 'nonsense\n' : `{"name":"N","email":"n${i}@example.org"}\n`)).join(''));
    const report = path.join(folder, 'long report'), precious = write('precious', 'kept\n');
    const child = spawn(binary, ['import', file, '--report', report, ...data], { stdio: ['ignore', 'ignore', 'ignore'] });
    const ended = once(child, 'exit');
    await until(() => fs.statSync(report, { throwIfNoEntry: false })?.size > 0, 'the report is begun');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [1, null]);
    const wrong = await command('import', file, '--report', precious, ...data);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /precious is no report of an import, and was left as it is/);
    assert.equal(fs.readFileSync(precious, 'utf8'), 'kept\n');
    const before = fs.readFileSync(report, 'utf8');
    const resumed = await command('import', file, '--report', report, ...data);
    assert.match(resumed.stderr, /resuming an interrupted import/);
    const text = fs.readFileSync(report, 'utf8');
    assert.ok(text.startsWith(before));
    assert.equal(new Set(text.trim().split('\n').map((line) => JSON.parse(line).line)).size, count / 1000);
  });
});

describe('options that an import does not take', () => {
  const refused = async (words, pattern) => {
    const ended = await command(...words, '--data', path.join(folder, 'untouched'));
    assert.equal(ended.code, 2, ended.stderr);
    assert.match(ended.stderr, pattern);
    assert.equal(fs.existsSync(path.join(folder, 'untouched')), false);
  };

  test('are refused, not ignored', async () => {
    const file = write('empty', '');
    for (const option of [['--scope', '*'], ['--project', 'p'], ['--environment', 'staging']]) {
      await refused(['keys', 'import', file, ...option], /--scope, --project and --environment are for keys of another system \(--from\)/);
      await refused(['import', file, ...option], /are for keys of another system/);
    }
    const foreign = ['import', '--from', 'kong', file];
    await refused([...foreign, '--report', 'r'], /--report and --again are for users and posts/);
    await refused([...foreign, '--again'], /--report and --again are for users and posts/);
    await refused([...foreign, 'posts.ndjson'], /with --from there is one file, the export: 'posts.ndjson' is one too many/);
    assert.match((await command('keys', 'import', '--help')).stdout, /digests and rate limits are taken over/);
  });
});

describe('what is too long', () => {
  test('is a line of more than 64 KiB, which is named', async () => {
    const data = newData().slice(0, 2);
    const line = (name, length) => JSON.stringify({ sha256: createHash('sha256').update(name).digest('hex'), name }).padEnd(length);
    const file = write('long lines', [line('one', 64 * 1024), line('two', 64 * 1024 + 1), 'x'.repeat(5 << 20), line('three', 100)].join('\n'));
    const ended = await command('keys', 'import', file, '--json', ...data);
    assert.equal(ended.code, 1);
    assert.deepEqual(JSON.parse(ended.stdout), { imported: 2, existing: 0, refused: 2 });
    assert.match(ended.stderr, /line 2: it is too long\n.*line 3: it is too long/);
  });

  test('is an export without an end', async () => {
    const ended = await commandOf('sh', '-c', 'ulimit -v 2000000; exec "$@" < /dev/zero', 'sh', binary, 'keys', 'import', '--from', 'kong', '-', ...newData().slice(0, 2));
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /-: the export has more than 256 MiB: take it over in parts/);
  });
});

describe('keys of other systems', () => {
  const texts = { unkey: 'uk_0123456789abcdefghijklmnopqrstuv', kong: 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', apisix: 'apisix-0123456789abcdefghijklmnop' };
  const exports = {
    unkey: [{ id: 'key_1', name: 'Customer', hash: createHash('sha256').update(texts.unkey).digest('base64'), enabled: true,
      meta: { plan: 'pro' }, ratelimits: [{ name: 'requests', limit: 100, duration: 60_000 }], permissions: ['a.read'] }, { id: 'key_2' }],
    kong: { _format_version: '3.0', consumers: [{ username: 'shop', keyauth_credentials: [{ key: texts.kong }, { key: 'short' }],
      plugins: [{ name: 'rate-limiting', config: { minute: 60, hour: 1000, policy: 'local' } }, { name: 'cors', config: {} }] }] },
    apisix: { total: 1, list: [{ key: '/apisix/consumers/jack', value: { username: 'jack',
      plugins: { 'key-auth': { key: texts.apisix }, 'limit-count': { count: 7, time_window: 60 }, 'limit-req': { rate: 1, burst: 1 } } } }] },
  };
  const limits = { unkey: [['requests', 100, 60]], kong: [['minute', 60, 60], ['hour', 1000, 3600]], apisix: [['count', 7, 60]] };
  const remarks = { unkey: /key_2: it has neither a hash/, kong: /its key has 5 characters/, apisix: /limit-req has no counterpart/ };

  for (const system of Object.keys(exports)) {
    test(`of ${system} work, with their limits, and what was left is named`, async () => {
      const server = await startServer();
      const api = server.client(await server.makeKey());
      const file = write(`${system}.json`, JSON.stringify(exports[system]));
      const ended = await command('keys', 'import', '--from', system, file, '--scope', 'users:read', '--project', 'moved', '--data', server.data);
      assert.equal(ended.code, system === 'apisix' ? 0 : 1, ended.stderr);
      assert.match(ended.stderr, remarks[system]);
      assert.match(ended.stderr, /1 key imported/);
      assert.ok(!ended.stderr.includes(texts[system]));
      const answer = await server.client(texts[system]).get('/users');
      assert.equal(answer.status, 200);
      const [key] = (await api.read('/keys?project=moved')).data;
      assert.deepEqual(key.rate_limits.map((limit) => [limit.name, limit.limit, limit.window_seconds]), limits[system]);
      assert.deepEqual([key.scopes, key.start], [['users:read'], null]);
      const again = await command('import', '--from', system, file, '--json', '--data', server.data);
      const document = JSON.parse(again.stdout);
      assert.deepEqual([document.imported, document.existing], [0, 1]);
      assert.match(document.not_taken.join('\n'), remarks[system]);
      await server.stop();
      for (const name of filesIn(server.data)) assert.ok(!fs.readFileSync(name, 'latin1').includes(texts[system]), `${name} has no plain key`);
    });
  }

  test('in another form are refused with what is wanted', async () => {
    const data = newData().slice(0, 2);
    const yaml = await command('keys', 'import', '--from', 'kong', write('kong.yaml', '_format_version: "3.0"\n'), ...data);
    assert.equal(yaml.code, 1);
    assert.match(yaml.stderr, /deck gateway dump --format json/);
    const flat = { keyauth_credentials: [{ id: 'c1', key: texts.kong, consumer: { id: 'gone' } }, { key: texts.unkey }] };
    const strays = await command('keys', 'import', '--from', 'kong', write('flat.json', JSON.stringify(flat)), ...data);
    assert.equal(strays.code, 1);
    assert.match(strays.stderr, /keyauth_credentials c1: its consumer gone is not in the file; this key is not taken over/);
    assert.match(strays.stderr, /keyauth_credentials number 2: it names no consumer; this key is not taken over/);
    assert.match(strays.stderr, /0 keys imported, 2 keys refused/);
    assert.equal((await command('keys', 'import', '--from', 'tyk', write('x', '{}'), ...data)).code, 2);
  });
});
