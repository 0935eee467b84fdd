// Users and posts in bulk: import, export, seed (`latchkey import --help`), beside a running service and without.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, command, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const lines = (...records) => records.map((r) => `${typeof r === 'string' ? r : JSON.stringify(r)}\n`).join('');

function folder() {
  const place = temporaryFolder();
  return {
    data: path.join(place, 'data'),
    path: (name) => path.join(place, name),
    file(name, ...records) {
      fs.writeFileSync(path.join(place, name), lines(...records));
      return path.join(place, name);
    },
    read: (name) => fs.readFileSync(path.join(place, name), 'utf8'),
  };
}

async function json(...words) {
  const { code, stdout, stderr } = await command(...words, '--json');
  return { code, stderr, document: JSON.parse(stdout) };
}

const whole = async (data) => assert.equal((await command('check', '--data', data)).code, 0, 'the store is whole');

describe('import', () => {
  test('keeps ids and times, makes up what is missing, and export gives it back byte for byte', async () => {
    const workspace = folder();
    const users = workspace.file('users', { id: 7, name: 'Ada', email: 'ada@example.org', created_at: '2020-01-02T03:04:05.678Z' },
      '', { name: 'Zoë "Z" \\ \u2028', email: 'zoe@example.org' }, { id: 3, name: 'Bob', email: 'bob@example.org' });
    const posts = workspace.file('posts', { id: 5, user_id: 7, title: 'Notes', status: 'published' },
      { user_id: 3, title: 'Draft', body: 'line\nline\t\u0001' });
    const first = await json('import', users, posts, '--data', workspace.data);
    assert.equal(first.code, 0, first.stderr);
    assert.deepEqual(first.document, {
      users: { created: 3, moved: 0, unchanged: 0, refused: 0 }, posts: { created: 2, moved: 0, unchanged: 0, refused: 0 },
      imported_before: null, complete: true, resumed: false, bad_lines: [],
    });
    const exported = await json('export', workspace.path('u1'), workspace.path('p1'), '--data', workspace.data);
    assert.deepEqual(exported.document, { users: 3, posts: 2 });
    assert.equal(fs.statSync(workspace.path('u1')).mode & 0o777, 0o600);
    const ids = workspace.read('u1').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(ids.map((u) => u.id), [3, 7, 8]);
    assert.equal(ids[1].updated_at, '2020-01-02T03:04:05.678Z');
    const told = await json('export', workspace.path('u2'), '--changes', workspace.path('c1'), '--data', workspace.data);
    assert.deepEqual(told.document, { users: 3, changes: 5 });
    const changes = workspace.read('c1').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(changes.map((change) => change.sequence), [1, 2, 3, 4, 5]);
    assert.deepEqual(changes.slice(0, 3).map((change) => change.data).sort((a, b) => a.id - b.id), ids);
    assert.deepEqual(changes.map((change) => change.type), [...Array(3).fill('user.created'), ...Array(2).fill('post.created')]);
    const again = folder();
    assert.equal((await command('import', workspace.path('u1'), workspace.path('p1'), '--data', again.data)).code, 0);
    assert.equal((await command('export', again.path('u1'), again.path('p1'), '--data', again.data)).code, 0);
    assert.equal(again.read('u1'), workspace.read('u1'));
    assert.equal(again.read('p1'), workspace.read('p1'));
    const exportResult = await command('export', workspace.path('u1'), '--data', workspace.data);
    assert.equal(exportResult.code, 1, 'no file is replaced unasked');
    const standard = await command('export', '-', '--data', workspace.data, '--quiet');
    assert.equal(standard.stdout, workspace.read('u1'));
    await whole(again.data);
  });

  test('keeps names and titles of white space alone, which earlier versions took, and the API refuses', async () => {
    const place = folder();
    const users = place.file('users', { id: 1, name: '   ', email: 'ada@example.org' });
    const posts = place.file('posts', { id: 1, user_id: 1, title: '\u00a0' });
    const result = await json('import', users, posts, '--data', place.data);
    assert.equal(result.code, 0, result.stderr);
    await json('export', place.path('u1'), place.path('p1'), '--data', place.data);
    assert.equal(JSON.parse(place.read('u1')).name, '   ');
    assert.equal(JSON.parse(place.read('p1')).title, '\u00a0');
    const server = await startServer({ data: place.data });
    const api = server.client(await server.makeKey());
    const user = await api.read('/users/1');
    assert.equal(user.name, '   ');
    assertStatus(await api.put('/users/1', { name: user.name, email: user.email }), 422, 'validation_failed');
    assertStatus(await api.patch('/users/1', { email: 'eve@example.org' }), 200);
    assertStatus(await api.post('/keys', { name: ' ' }), 422, 'validation_failed');
    await server.stop();
    const key = await command('keys', 'create', '--name', '  ', '--data', place.data);
    assert.equal(key.code, 2, key.stderr);
  });

  test('reports every bad line by number, with the error codes of the API, and imports the others', async () => {
    const place = folder();
    const users = place.file('users', { id: 1, name: 'Ada', email: 'ada@example.org' }, '{"id": 2,', '[]',
      { id: 3, name: '', email: 'nonsense', age: 7, created_at: '2999-01-01T00:00:00Z' },
      { id: 4, name: 'Ada', email: 'ADA@example.org' }, { id: 1, name: 'Eve', email: 'eve@example.org' },
      { id: 2 ** 53 - 1, name: 'Far', email: 'far@example.org' }, { id: 5, name: 'Bob', email: 'bob@example.org' }, 'x'.repeat(600_000));
    const posts = place.file('posts', { user_id: 1, title: 'good' }, { user_id: 4, title: 'of one who was refused' }, { title: 'of nobody' },
      { user_id: 5, title: 'x', status: 'gone' }, { user_id: 5, title: 'x', published_at: '2020-01-01T00:00:00Z' });
    const report = place.path('report');
    const { code, document } = await json('import', users, posts, '--data', place.data, '--report', report);
    assert.equal(code, 1);
    assert.equal(document.users.created, 2);
    assert.equal(document.posts.created, 1);
    const linesOf = (file) => document.bad_lines.filter((b) => b.file === file);
    const faultsByLine = (file) => Object.fromEntries(linesOf(file).map((b) => [b.line, b.errors.map((e) => `${e.pointer} ${e.code}`).sort()]));
    assert.equal(linesOf(users).find(({ line }) => line === 5).code, 'email_taken');
    assert.deepEqual(faultsByLine(users), {
      2: [], 3: [], 4: ['/age unknown_field', '/created_at out_of_range', '/email invalid_format', '/name too_short'],
      5: [], 6: ['/id out_of_range'], 7: ['/id out_of_range'], 9: [],
    });
    assert.deepEqual(faultsByLine(posts), {
      2: ['/user_id reference_not_found'], 3: ['/user_id required'], 4: ['/status not_in_enum'], 5: ['/published_at out_of_range'],
    });
    assert.ok(linesOf(users).every((b) => b.errors.length > 0 || b.detail !== ''));
    assert.equal(fs.readFileSync(report, 'utf8').trim().split('\n').length, document.bad_lines.length);
    const humanReport = await command('import', users, posts, '--data', folder().data);
    assert.match(humanReport.stderr, /users, line 4: .*\/email must be an email address/);
    await whole(place.data);
  });

  test('shows a hundred bad lines at most, and all of them in the report', async () => {
    const place = folder();
    const users = place.file('users', ...Array.from({ length: 250 }, () => 'nonsense'), { name: 'Ada', email: 'ada@example.org' });
    const { code, stderr } = await command('import', users, '--data', place.data, '--report', place.path('report'));
    assert.equal(code, 1);
    assert.equal(stderr.match(/, line \d+: /g).length, 100);
    assert.match(stderr, /150 more lines were refused/);
    assert.match(stderr, /1 user and 0 posts created, 250 lines refused/);
    assert.equal(place.read('report').trim().split('\n').length, 250);
  });

  test('gives users whose id is taken another one, and their posts follow', async () => {
    const place = folder();
    await command('import', place.file('old', { id: 1, name: 'Old', email: 'old@example.org' }), '--data', place.data);
    const users = place.file('users', { id: 1, name: 'New', email: 'new@example.org' }, { id: 2, name: 'Two', email: 'two@example.org' });
    const posts = place.file('posts', { user_id: 1, title: 'by new' }, { user_id: 2, title: 'by two' });
    const { code, document } = await json('import', users, posts, '--data', place.data);
    assert.equal(code, 0);
    assert.equal(document.users.moved, 1);
    await command('export', place.path('u'), place.path('p'), '--data', place.data);
    const byEmail = Object.fromEntries(place.read('u').trim().split('\n').map((l) => JSON.parse(l)).map((u) => [u.email, u.id]));
    const byTitle = Object.fromEntries(place.read('p').trim().split('\n').map((l) => JSON.parse(l)).map((p) => [p.title, p.user_id]));
    assert.deepEqual(byEmail, { 'old@example.org': 1, 'two@example.org': 2, 'new@example.org': 3 });
    assert.deepEqual(byTitle, { 'by new': 3, 'by two': 2 });
  });

  test('of the same files is done once, unless --again is given', async () => {
    const place = folder();
    const words = ['import', place.file('users', { id: 1, name: 'Ada', email: 'ada@example.org' }), place.file('posts', { user_id: 1, title: 'x' }), '--data', place.data];
    assert.equal((await json(...words)).document.posts.created, 1);
    const second = await command(...words);
    assert.equal(second.code, 0);
    assert.match(second.stderr, /nothing was made: these files were imported 20/);
    assert.equal((await command('export', '-', '--data', place.data, '--quiet')).stdout.trim().split('\n').length, 1);
    const third = await json(...words, '--again');
    assert.deepEqual([third.document.users.unchanged, third.document.posts.created], [1, 1]);
  });

  test('wrong usage is 2, a missing file 1', async () => {
    const place = folder();
    assert.equal((await command('import', '--data', place.data)).code, 2);
    assert.equal((await command('import', place.path('none'), '--data', place.data)).code, 1);
    assert.equal((await command('export', '-', '-', '--data', place.data)).code, 2);
    assert.equal((await command('seed', '--users', '0', '--posts', '1', '--data', place.data)).code, 2);
  });
});

describe('an import that is ended', () => {
  // Enough records that the import cannot finish before the signal.
  const count = 60_000;
  function prepare() {
    const place = folder();
    const file = (name, line) => place.file(name, Array.from({ length: count }, (_, i) => line(i)).join('\n'));
    const users = file('users', (i) => `{"id":${i + 1},"name":"User ${i}","email":"u${(i * 7919) % count}@example.org"}`);
    const posts = file('posts', (i) => `{"user_id":${((i * 31) % count) + 1},"title":"Post ${i}"}`);
    return { ...place, words: ['import', users, posts, '--data', place.data] };
  }
  async function endedAt(words, moment, signal) {
    const child = spawn(binary, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text; });
    const exit = once(child, 'exit');
    await moment;
    child.kill(signal);
    const [code, endSignal] = await exit;
    return { code, by: endSignal, stderr };
  }
  async function assertAllOnce(place) {
    await command('export', place.path('u'), place.path('p'), '--data', place.data);
    const users = place.read('u').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(users.map((u) => u.id), Array.from({ length: count }, (_, i) => i + 1));
    const titles = place.read('p').trim().split('\n').map((line) => JSON.parse(line).title);
    assert.equal(titles.length, count);
    assert.equal(new Set(titles).size, count);
    await whole(place.data);
  }

  test('by kill -9 continues and duplicates nothing, however often', async () => {
    const place = prepare();
    let kills = 0;
    for (let ms = 30; ; ms = Math.ceil(ms * 1.4)) {
      const { by: signal } = await endedAt(place.words, sleep(ms), 'SIGKILL'); // each kill comes later
      if (signal === null) break;
      kills += 1;
    }
    assert.ok(kills >= 2, `it was killed ${kills} times`);
    const { code, document } = await json(...place.words);
    assert.equal(code, 0);
    assert.deepEqual([document.users.created, document.posts.created, document.complete], [0, 0, true], 'nothing is left to be made');
    await assertAllOnce(place);
  });

  test('by SIGINT says how to continue, and does', async () => {
    const place = prepare();
    const server = await startServer({ data: place.data }); // beside which it takes small steps
    const api = server.client(await server.makeKey());
    const firstStep = () => until(async () => (await api.get('/users?limit=1')).json.pagination.total > 0, 'a step is made');
    const end = await endedAt(place.words, firstStep(), 'SIGINT');
    assert.deepEqual([end.code, end.by], [1, null], end.stderr);
    assert.match(end.stderr, /run the same command again to continue from here/);
    await server.stop();
    const again = await command(...place.words);
    assert.equal(again.code, 0, again.stderr);
    await assertAllOnce(place);
  });
});

describe('beside a running service', () => {
  test('an import holds up no request for long, and its users are there at once', async () => {
    const place = folder();
    const server = await startServer({ data: place.data });
    const api = server.client(await server.makeKey());
    const done = command('seed', '--users', '30000', '--posts', '30000', '--data', place.data, '--json', '--yes');
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
    await whole(place.data);
  });
});

describe('seed', () => {
  test('creates the same records for the same number, and more for another', async () => {
    const [a, b] = [folder(), folder()];
    for (const place of [a, b]) {
      assert.equal((await json('seed', '--users', '500', '--posts', '1500', '--data', place.data)).code, 0);
      await command('export', place.path('u'), place.path('p'), '--data', place.data);
    }
    assert.equal(a.read('u'), b.read('u'));
    assert.equal(a.read('p'), b.read('p'));
    assert.equal(a.read('u').trim().split('\n').length, 500);
    assert.equal(a.read('p').trim().split('\n').length, 1500);
    assert.match((await command('seed', '--users', '500', '--posts', '1500', '--data', a.data)).stderr, /another --random-seed/);
    const more = await json('seed', '--users', '500', '--posts', '10', '--random-seed', '2', '--data', a.data, '--yes');
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
