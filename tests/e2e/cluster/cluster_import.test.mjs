// latchkey import and latchkey keys import on one node of a running cluster: all of it is on the other nodes, once, whatever
// else is written meanwhile; and an import may go on, or be repeated, on another node.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Cluster, until } from '../helpers/cluster_harness.mjs';
import { underLoad } from '../helpers/cluster_load.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { assertStatus, binary, temporaryFolder } from '../helpers/harness.mjs';

const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres);
const [one, two, three] = cluster.nodes;
after(() => postgres.stop());

const folder = temporaryFolder();
function write(name, records) {
  const file = path.join(folder, name);
  fs.writeFileSync(file, records.map((each) => `${JSON.stringify(each)}\n`).join(''));
  return file;
}

// Users, each with posts, none of which has an id: a post that is made twice is there twice. The ids of the users are above
// all that others get meanwhile.
let last = 0;
function makeFiles(name, { users, postsPerUser }) {
  last += 1_000_000;
  const list = (length, make) => Array.from({ length }, (_, i) => make(i));
  const people = list(users, (i) => ({ id: last += 1, name: `${name} ${i}`, email: `${name}.${i}@example.org` }));
  const texts = people.flatMap(({ id }, i) => list(postsPerUser, (j) => ({ user_id: id, title: `${name} ${i} ${j}`, body: '' })));
  return { name, people, texts, words: [write(`${name}.users`, people), write(`${name}.posts`, texts)] };
}

// Every node has each record of the files once, with its id and its author.
async function assertThere({ name, people, texts }) {
  const [users, posts] = (await cluster.assertEqual()).split('---\n')
    .map((text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line)));
  const own = (list, member) => list.filter((each) => each[member].startsWith(`${name} `));
  const sorted = (list) => list.map((each) => each.join('|')).sort();
  assert.deepEqual(sorted(own(users, 'name').map((each) => [each.id, each.name, each.email])),
    sorted(people.map((each) => [each.id, each.name, each.email])));
  assert.deepEqual(sorted(own(posts, 'title').map((each) => [each.user_id, each.title])),
    sorted(texts.map((each) => [each.user_id, each.title])));
}

// Another node may read some ms later than the one that wrote.
const untilAccepted = (ask, label) => until(async () => (await ask()).status === 200, label, 2000);
const importOn = async (node, { words }) => JSON.parse(await node.done('import', ...words, '--quiet', '--json'));
const made = ({ users, posts }) => [users.created, posts.created];

describe('import on one node', () => {
  test('makes each record once on all nodes, under writes on all, and nothing when any node repeats it', async (t) => {
    const files = makeFiles('busy', { users: 2000, postsPerUser: 2 });
    const load = await underLoad(cluster, async () => {
      assert.deepEqual(made(await importOn(two, files)), [2000, 4000]);
      const { id } = files.people.at(-1);
      for (const each of cluster.nodes) await untilAccepted(() => each.ask('GET', `/users/${id}`), `${each.name} has the last`);
    });
    t.diagnostic(load.summary());
    await assertThere(files);
    for (const each of cluster.nodes) {
      const repeat = await importOn(each, files);
      assert.match(repeat.imported_before ?? '', /^20/, `${each.name} knows that they were imported`);
      assert.deepEqual(made(repeat), [0, 0]);
    }
    await assertThere(files);
  });

  test('that was killed goes on on another node, and makes nothing twice', async (t) => {
    const files = makeFiles('killed', { users: 10_000, postsPerUser: 3 });
    const words = ['import', ...files.words, '--quiet', '--config', one.configuration, '--data', one.data];
    const child = spawn(binary, words, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const count = async () => (await three.ask('GET', `/posts?author=${files.people[3000].id}&limit=1`)).json?.pagination?.total;
    await until(async () => await count() === 3 || child.exitCode !== null, 'some posts are there', 30_000);
    child.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    const { code, stderr } = await two.command('import', ...files.words);
    assert.equal(code, 0, stderr);
    const resumption = /resuming an interrupted import after line 10,000 of the users and ([0-9,]+) of the posts/.exec(stderr);
    assert.ok(resumption, stderr);
    const before = Number(resumption[1].replaceAll(',', ''));
    t.diagnostic(`killed after ${before} posts`);
    assert.ok(before > 9000 && before < 30_000, `${before} posts were there`);
    await assertThere(files);
  });

  test('and on another at the same time, of the same files, makes each record once', async (t) => {
    const files = makeFiles('both', { users: 3000, postsPerUser: 3 });
    const ends = await Promise.all([one, two, three].map((each) => each.command('import', ...files.words, '--quiet', '--json')));
    assert.ok(ends.some(({ code }) => code === 0), 'one of them ends well');
    for (const { code, stdout, stderr } of ends) {
      if (code === 0) assert.equal(JSON.parse(stdout).complete, true);
      else assert.match(stderr, /another process loads the same files at this moment; this one ends/);
    }
    t.diagnostic(`they ended with ${ends.map(({ code }) => code).join(', ')}`);
    await assertThere(files);
  });
});

describe('keys import on one node', () => {
  const texts = Array.from({ length: 60 }, (_, i) => `old-key-${i}-${crypto.randomBytes(12).toString('hex')}`);
  const target = (i) => (i % 2 ? '/users?limit=1' : '/posts?limit=1');
  const digest = (text) => crypto.createHash('sha256').update(text).digest('hex');
  const records = texts.map((text, i) => ({
    sha256: digest(text), name: `taken over ${i}`, scopes: [i % 2 ? 'users:read' : 'posts:read'], project: 'moved',
    rate_limits: i % 3 ? [] : [{ name: 'm', limit: 1000, window_seconds: 60 }],
  }));
  const file = write('keys', records);
  const importOn = async (node) => JSON.parse(await node.done('keys', 'import', file, '--json'));
  const use = (node, i) => node.ask('GET', target(i), { key: texts[i] });

  test('makes each key once, which works on every node with its scopes and limits, and none when they repeat it', async () => {
    const body = { name: 'beside', scopes: ['users:read'] };
    const busy = [one, three].map(async (node) => {
      for (let i = 0; i < 10; i += 1) assertStatus(await node.ask('POST', '/keys', { body }), 201);
    });
    assert.deepEqual(await importOn(two), { imported: 60, existing: 0, refused: 0 });
    await Promise.all(busy);
    for (const node of cluster.nodes) {
      for (const [i] of texts.entries()) {
        await untilAccepted(() => use(node, i), `${node.name} knows key ${i}`);
        assertStatus(await node.ask('GET', target(i + 1), { key: texts[i] }), 403, 'insufficient_scope');
      }
      assert.match((await use(node, 0)).headers.get('ratelimit') ?? '', /"m"/, 'its limit is there');
    }
    for (const node of cluster.nodes) assert.deepEqual(await importOn(node), { imported: 0, existing: 60, refused: 0 });
    const lists = await Promise.all(cluster.nodes.map(async (node) => {
      const { data } = JSON.parse(await node.done('keys', 'list', '--project', 'moved', '--json'));
      return data.map(({ id, name, scopes, rate_limits: limits }) => ({ id, name, scopes, limits }));
    }));
    for (const each of lists) assert.deepEqual(each, lists[0]);
    assert.deepEqual(lists[0].map(({ name }) => name).sort(), records.map(({ name }) => name).sort());
  });

  test('and on the others at the same time makes each key once', async () => {
    const numbers = Array.from({ length: 300 }, (_, i) => i);
    const more = numbers.map((i) => ({ sha256: digest(`another ${i}`), name: `again ${i}`, project: 'twice' }));
    const again = write('more keys', more);
    const outputs = await Promise.all(cluster.nodes.map((each) => each.done('keys', 'import', again, '--json')));
    const ends = outputs.map((text) => JSON.parse(text));
    assert.equal(ends.reduce((sum, { imported }) => sum + imported, 0), 300, JSON.stringify(ends));
    assert.equal(ends.reduce((sum, { existing }) => sum + existing, 0), 600, JSON.stringify(ends));
    const { data } = JSON.parse(await three.done('keys', 'list', '--project', 'twice', '--json'));
    assert.deepEqual(data.map(({ name }) => name).sort(), more.map(({ name }) => name).sort());
    await cluster.assertEqual();
  });

  test('takes over a key of another system, which works on all nodes until one of them has turned it off', async () => {
    const text = `uk_${crypto.randomBytes(16).toString('hex')}`;
    const hash = Buffer.from(digest(text), 'hex').toString('base64');
    const foreign = path.join(folder, 'unkey.json');
    fs.writeFileSync(foreign, JSON.stringify([{ id: 'key_1', name: 'Customer', hash, enabled: true }]));
    await one.done('keys', 'import', '--from', 'unkey', foreign, '--scope', 'users:read', '--project', 'unkey');
    const [{ id }] = JSON.parse(await two.done('keys', 'list', '--project', 'unkey', '--json')).data;
    const read = (node) => node.ask('GET', '/users?limit=1', { key: text });
    for (const each of cluster.nodes) await untilAccepted(() => read(each), `${each.name} knows it`);
    assertStatus(await three.ask('POST', `/keys/${id}/deactivate`), 200);
    for (const each of cluster.nodes) assertStatus(await read(each), 403, 'key_deactivated');
  });
});

test('nodes that took an import end when they are asked to', () => cluster.stop());
