// Users and posts by the file: import, export, seed (`latchkey import --help`), beside a running service and without.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, command, newUser, sleep, startServer, temporaryFolder } from './harness.mjs';

const lines = (...records) => records.map((r) => `${typeof r === 'string' ? r : JSON.stringify(r)}\n`).join('');

function folder() {
  const at = temporaryFolder();
  return {
    data: path.join(at, 'data'),
    path: (name) => path.join(at, name),
    file(name, ...records) {
      fs.writeFileSync(path.join(at, name), lines(...records));
      return path.join(at, name);
    },
    read: (name) => fs.readFileSync(path.join(at, name), 'utf8'),
  };
}

async function json(...words) {
  const { code, stdout, stderr } = await command(...words, '--json');
  return { code, stderr, document: JSON.parse(stdout) };
}

const whole = async (data) => assert.equal((await command('check', '--data', data)).code, 0, 'the store is whole');

describe('import', () => {
  test('keeps ids and times, makes up what is missing, and export gives it back byte for byte', async () => {
    const at = folder();
    const users = at.file('users', { id: 7, name: 'Ada', email: 'ada@example.org', created_at: '2020-01-02T03:04:05.678Z' },
      '', { name: 'Zoë "Z" \\ \u2028', email: 'zoe@example.org' }, { id: 3, name: 'Bob', email: 'bob@example.org' });
    const posts = at.file('posts', { id: 5, user_id: 7, title: 'Notes', status: 'published' },
      { user_id: 3, title: 'Draft', body: 'line\nline\t\u0001' });
    const first = await json('import', users, posts, '--data', at.data);
    assert.equal(first.code, 0, first.stderr);
    assert.deepEqual(first.document, {
      users: { created: 3, moved: 0, unchanged: 0, refused: 0 }, posts: { created: 2, moved: 0, unchanged: 0, refused: 0 },
      complete: true, resumed: false, bad_lines: [],
    });
    const exported = await json('export', at.path('u1'), at.path('p1'), '--data', at.data);
    assert.deepEqual(exported.document, { users: 3, posts: 2 });
    assert.equal(fs.statSync(at.path('u1')).mode & 0o777, 0o600);
    const ids = at.read('u1').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(ids.map((u) => u.id), [3, 7, 8]);
    assert.equal(ids[1].updated_at, '2020-01-02T03:04:05.678Z');
    const again = folder();
    assert.equal((await command('import', at.path('u1'), at.path('p1'), '--data', again.data)).code, 0);
    assert.equal((await command('export', again.path('u1'), again.path('p1'), '--data', again.data)).code, 0);
    assert.equal(again.read('u1'), at.read('u1'));
    assert.equal(again.read('p1'), at.read('p1'));
    const taken = await command('export', at.path('u1'), '--data', at.data);
    assert.equal(taken.code, 1, 'no file is replaced unasked');
    const standard = await command('export', '-', '--data', at.data, '--quiet');
    assert.equal(standard.stdout, at.read('u1'));
    await whole(again.data);
  });

  test('tells every bad line by number, with the faults of the API, and keeps the others', async () => {
    const at = folder();
    const users = at.file('users', { id: 1, name: 'Ada', email: 'ada@example.org' }, '{"id": 2,', '[]',
      { id: 3, name: '', email: 'nonsense', age: 7, created_at: '2999-01-01T00:00:00Z' },
      { id: 4, name: 'Ada', email: 'ADA@example.org' }, { id: 1, name: 'Eve', email: 'eve@example.org' },
      { id: 2 ** 53 - 1, name: 'Far', email: 'far@example.org' }, { id: 5, name: 'Bob', email: 'bob@example.org' }, 'x'.repeat(600_000));
    const posts = at.file('posts', { user_id: 1, title: 'good' }, { user_id: 4, title: 'of one who was refused' }, { title: 'of nobody' },
      { user_id: 5, title: 'x', status: 'gone' }, { user_id: 5, title: 'x', published_at: '2020-01-01T00:00:00Z' });
    const report = at.path('report');
    const { code, document } = await json('import', users, posts, '--data', at.data, '--report', report);
    assert.equal(code, 1);
    assert.equal(document.users.created, 2);
    assert.equal(document.posts.created, 1);
    const of = (file) => document.bad_lines.filter((b) => b.file === file);
    const seen = (file) => Object.fromEntries(of(file).map((b) => [b.line, b.errors.map((e) => `${e.pointer} ${e.code}`).sort()]));
    assert.deepEqual(seen(users), {
      2: [], 3: [], 4: ['/age unknown_field', '/created_at out_of_range', '/email invalid_format', '/name too_short'],
      5: ['/email invalid_format'], 6: ['/id out_of_range'], 7: ['/id out_of_range'], 9: [],
    });
    assert.deepEqual(seen(posts), {
      2: ['/user_id reference_not_found'], 3: ['/user_id required'], 4: ['/status not_in_enum'], 5: ['/published_at out_of_range'],
    });
    assert.ok(of(users).every((b) => b.errors.length > 0 || b.detail !== ''));
    assert.equal(fs.readFileSync(report, 'utf8').trim().split('\n').length, document.bad_lines.length);
    const told = await command('import', users, posts, '--data', folder().data);
    assert.match(told.stderr, /users, line 4: .*\/email must be an email address/);
    await whole(at.data);
  });

  test('shows a hundred bad lines at most, and all of them in the report', async () => {
    const at = folder();
    const users = at.file('users', ...Array.from({ length: 250 }, () => 'nonsense'), { name: 'Ada', email: 'ada@example.org' });
    const { code, stderr } = await command('import', users, '--data', at.data, '--report', at.path('report'));
    assert.equal(code, 1);
    assert.equal(stderr.match(/, line \d+: /g).length, 100);
    assert.match(stderr, /and 150 lines more/);
    assert.match(stderr, /1 users and 0 posts created, 250 lines refused/);
    assert.equal(at.read('report').trim().split('\n').length, 250);
  });

  test('gives users whose id is taken another one, and their posts follow', async () => {
    const at = folder();
    await command('import', at.file('old', { id: 1, name: 'Old', email: 'old@example.org' }), '--data', at.data);
    const users = at.file('users', { id: 1, name: 'New', email: 'new@example.org' }, { id: 2, name: 'Two', email: 'two@example.org' });
    const posts = at.file('posts', { user_id: 1, title: 'by new' }, { user_id: 2, title: 'by two' });
    const { code, document } = await json('import', users, posts, '--data', at.data);
    assert.equal(code, 0);
    assert.equal(document.users.moved, 1);
    await command('export', at.path('u'), at.path('p'), '--data', at.data);
    const byEmail = Object.fromEntries(at.read('u').trim().split('\n').map((l) => JSON.parse(l)).map((u) => [u.email, u.id]));
    const byTitle = Object.fromEntries(at.read('p').trim().split('\n').map((l) => JSON.parse(l)).map((p) => [p.title, p.user_id]));
    assert.deepEqual(byEmail, { 'old@example.org': 1, 'two@example.org': 2, 'new@example.org': 3 });
    assert.deepEqual(byTitle, { 'by new': 3, 'by two': 2 });
  });

  test('of the same files is done once, unless one insists', async () => {
    const at = folder();
    const words = ['import', at.file('users', { id: 1, name: 'Ada', email: 'ada@example.org' }), at.file('posts', { user_id: 1, title: 'x' }), '--data', at.data];
    assert.equal((await json(...words)).document.posts.created, 1);
    const second = await command(...words);
    assert.equal(second.code, 0);
    assert.match(second.stderr, /were imported 20/);
    assert.equal((await command('export', '-', '--data', at.data, '--quiet')).stdout.trim().split('\n').length, 1);
    const third = await json(...words, '--again');
    assert.deepEqual([third.document.users.unchanged, third.document.posts.created], [1, 1]);
  });

  test('wrong usage is 2, a missing file 1', async () => {
    const at = folder();
    assert.equal((await command('import', '--data', at.data)).code, 2);
    assert.equal((await command('import', at.path('none'), '--data', at.data)).code, 1);
    assert.equal((await command('export', '-', '-', '--data', at.data)).code, 2);
    assert.equal((await command('seed', '--users', '0', '--posts', '1', '--data', at.data)).code, 2);
  });
});

describe('an import that is ended', () => {
  // Enough that it cannot be done before the signal.
  const count = 60_000;
  function prepare() {
    const at = folder();
    const users = at.file('users', ...Array.from({ length: count }, (_, i) => `{"id":${i + 1},"name":"User ${i}","email":"u${(i * 7919) % count}@example.org"}`));
    const posts = at.file('posts', ...Array.from({ length: count }, (_, i) => `{"user_id":${((i * 31) % count) + 1},"title":"Post ${i}"}`));
    return { ...at, words: ['import', users, posts, '--data', at.data] };
  }
  async function endedAfter(words, ms, signal) {
    const child = spawn(binary, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text; });
    const exit = once(child, 'exit');
    await sleep(ms);
    child.kill(signal);
    const [code, by] = await exit;
    return { code, by, stderr };
  }
  async function assertAllOnce(at) {
    await command('export', at.path('u'), at.path('p'), '--data', at.data);
    const users = at.read('u').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(users.map((u) => u.id), Array.from({ length: count }, (_, i) => i + 1));
    const titles = at.read('p').trim().split('\n').map((line) => JSON.parse(line).title);
    assert.equal(titles.length, count);
    assert.equal(new Set(titles).size, count);
    await whole(at.data);
  }

  test('by kill -9 goes on and doubles nothing, however often', async () => {
    const at = prepare();
    let kills = 0;
    for (let ms = 30; ; ms = Math.ceil(ms * 1.4)) {
      const { by } = await endedAfter(at.words, ms, 'SIGKILL');
      if (by === null) break;
      kills += 1;
    }
    assert.ok(kills >= 2, `it was killed ${kills} times`);
    const { code, document } = await json(...at.words);
    assert.equal(code, 0);
    assert.deepEqual([document.users.created, document.posts.created], [count, count]);
    await assertAllOnce(at);
  });

  test('by SIGINT says how to go on, and does', async () => {
    const at = prepare();
    const server = await startServer({ data: at.data }); // beside which it takes small steps
    let end = { code: 0 };
    for (let ms = 200; end.code === 0 && ms > 20; ms -= 60) end = await endedAfter(at.words, ms, 'SIGINT');
    if (end.by === null) {
      assert.equal(end.code, 1, end.stderr);
      assert.match(end.stderr, /the same command goes on from here/);
    }
    await server.stop();
    const again = await command(...at.words);
    assert.equal(again.code, 0, again.stderr);
    await assertAllOnce(at);
  });
});

describe('beside a running service', () => {
  test('an import holds up no request for long, and its users are there at once', async () => {
    const at = folder();
    const server = await startServer({ data: at.data });
    const api = server.client(await server.makeKey());
    const done = command('seed', '--users', '30000', '--posts', '30000', '--data', at.data, '--json');
    let finished = false;
    done.then(() => { finished = true; });
    const waits = [];
    for (let i = 0; !finished; i += 1) {
      const begin = performance.now();
      assertStatus(await api.post('/users', { name: 'Beside', email: `beside${i}@example.org` }), 201);
      waits.push(performance.now() - begin);
    }
    const { code, stdout } = await done;
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).users.created, 30_000);
    waits.sort((a, b) => a - b);
    assert.ok(waits.length > 5, `${waits.length} writes went through meanwhile`);
    assert.ok(waits[Math.floor(waits.length / 2)] < 500, `half of them took ${waits[Math.floor(waits.length / 2)]} ms`);
    const list = await api.get('/users?limit=1');
    assert.equal(list.json.pagination.total, 30_000 + waits.length);
    await server.stop();
    await whole(at.data);
  });
});

describe('seed', () => {
  test('makes the same for the same number, and more for another', async () => {
    const [a, b] = [folder(), folder()];
    for (const at of [a, b]) {
      assert.equal((await json('seed', '--users', '500', '--posts', '1500', '--data', at.data)).code, 0);
      await command('export', at.path('u'), at.path('p'), '--data', at.data);
    }
    assert.equal(a.read('u'), b.read('u'));
    assert.equal(a.read('p'), b.read('p'));
    assert.equal(a.read('u').trim().split('\n').length, 500);
    assert.equal(a.read('p').trim().split('\n').length, 1500);
    assert.match((await command('seed', '--users', '500', '--posts', '1500', '--data', a.data)).stderr, /another --random-seed/);
    const more = await json('seed', '--users', '500', '--posts', '10', '--random-seed', '2', '--data', a.data);
    assert.deepEqual([more.code, more.document.users.created, more.document.users.refused], [0, 500, 0]);
    await whole(a.data);
  });
});

test('a load may outgrow the map that the server was given, and the server goes on', async () => {
  const server = await startServer({ args: ['--store-map-mib', '16'] });
  const api = server.client(await server.makeKey());
  const seeded = await command('seed', '--data', server.data, '--users', '120000', '--posts', '0', '--json');
  assert.equal(seeded.code, 0, seeded.stderr);
  assertStatus(await api.get('/users/100000'), 200);
  assert.ok(fs.statSync(path.join(server.data, 'store.mdb')).size > 16 << 20, 'it has outgrown it');
  assert.ok([201, 507].includes((await api.post('/users', newUser())).status), 'as there is room');
  api.close();
  await server.stop();
});
