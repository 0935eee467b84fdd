// latchkey import from standard input, again, and of what is there already; and keys from other systems (--from).

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, command, commandOf, startServer, temporaryFolder } from './harness.mjs';

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
const users = async (data) => (await command('export', '-', ...data)).stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));

const ada = { name: 'Ada', email: 'ada@example.org' };
const bob = { name: 'Bob', email: 'bob@example.org' };

describe('import', () => {
  test('reads standard input', async () => {
    const data = newData();
    const first = await withInput(lines(ada, { ...bob, id: 7 }), 'import', '-', ...data);
    assert.match(first.stderr, /2 users and 0 posts created/);
    assert.deepEqual((await users(data)).map(({ id, name }) => [id, name]), [[7, 'Bob'], [8, 'Ada']]);
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
      [[2, 'email_taken', 'another user has this e-mail address', []]]);
    assert.match((await command('import', file, '--again', ...data)).stderr, /taken, line 2: email_taken: another user has/);
    const invalid = await command('import', write('invalid', lines({ name: '', email: 'x' })), '--json', ...data);
    assert.equal(JSON.parse(invalid.stdout).bad_lines[0].code, 'validation_failed');
  });

  test('leaves alone who is there already, with an id, without, and with another', async () => {
    const data = newData();
    await command('import', write('first', lines(bob, { ...ada, id: 3 })), ...data);
    const before = await users(data);
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
    assert.deepEqual((await users(data)).filter(({ name }) => name !== 'Zoe'), before);
    // Posts follow to the user who was there.
    const people = write('people', lines({ ...bob, id: 90 })), posts = write('posts', lines({ user_id: 90, title: 'by Bob' }));
    assert.equal((await command('import', people, posts, ...data)).code, 0);
    await command('export', path.join(folder, 'u'), path.join(folder, 'p'), '--force', ...data);
    assert.equal(JSON.parse(fs.readFileSync(path.join(folder, 'p'), 'utf8')).user_id, before.find(({ name }) => name === 'Bob').id);
    assert.equal((await command('check', ...data.slice(0, 2))).code, 0);
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
      for (const name of fs.readdirSync(server.data, { recursive: true })) {
        const stored = path.join(server.data, name);
        if (fs.statSync(stored).isFile()) assert.ok(!fs.readFileSync(stored, 'latin1').includes(texts[system]), `${name} has no plain key`);
      }
    });
  }

  test('in another form are refused with what is wanted', async () => {
    const data = newData().slice(0, 2);
    const yaml = await command('keys', 'import', '--from', 'kong', write('kong.yaml', '_format_version: "3.0"\n'), ...data);
    assert.equal(yaml.code, 1);
    assert.match(yaml.stderr, /deck gateway dump --format json/);
    assert.equal((await command('keys', 'import', '--from', 'tyk', write('x', '{}'), ...data)).code, 2);
  });
});
