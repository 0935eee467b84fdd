// A node that was away for longer than the log in PostgreSQL reaches back (docs/operations/cluster.md): it says so, answers nothing that
// needs a key, and joins anew with an empty data directory.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Cluster, consistent, tokenOf, until } from '../helpers/cluster_harness.mjs';
import { Postgres, signal } from '../helpers/cluster_postgres.mjs';
import { assertStatus, newUser, sleep } from '../helpers/harness.mjs';

const lease = 3000;
const kept = 10_000; // rows that have been folded, at least
const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres, { leaseSeconds: lease / 1000 });
const [one, two, three] = cluster.nodes;
after(() => postgres.stop());

const complaint = new RegExp('the log in the engine no longer has the rows after the position of this node, which was away for '
  + 'too long: it has to join anew with an empty data directory');

const ask = (text) => postgres.ask(cluster.database, text);
const firstRow = async () => Number(await ask('SELECT min(position) FROM latchkey_log'));
const headRow = async () => Number(await ask('SELECT max(position) FROM latchkey_log'));
const positionOf = async (node) => (await node.status()).delivery.position; // of its store, whether it runs or not
const lineOf = async (node) => (await one.status()).nodes.find(({ name }) => name === node.name);

// A node writes once it has applied the rows of `addRows`.
async function addUser(node) {
  let answer;
  await until(async () => (answer = await node.ask('POST', '/users', { body: newUser() })).status === 201, 'it writes', 5000);
  return answer;
}

async function assertUser(node, answer) {
  assert.deepEqual((await node.ask('GET', `/users/${answer.json.id}`, consistent(tokenOf(answer)))).json, answer.json);
}

// Rows without effects, such as take the place of a row whose fate was not known. 2,000 of them make a node fold the log.
const addRows = (count) => ask(`SELECT 1 FROM latchkey_cluster WHERE id = 1 FOR UPDATE;
  INSERT INTO latchkey_log SELECT shard, position + i, node, decode(md5(random()::text), 'hex'), schema, 0, ''
  FROM (SELECT * FROM latchkey_log ORDER BY position DESC LIMIT 1) AS head, generate_series(1, ${count}) AS i`);

// A fold removes rows up to the least position that nodes have told, so the first one may come too early.
async function removeRowsAfter(position) {
  await addRows(kept);
  const end = performance.now() + 30_000;
  do {
    assert.ok(performance.now() < end, 'the rows are removed in time');
    await addRows(2100);
    await sleep(1000);
  } while (await firstRow() <= position);
}

async function assertGone(node) {
  await until(async () => complaint.test((await node.look('/readyz')).body), `${node.name} says so`, 5000);
  assert.equal((await node.look('/readyz')).status, 503);
  assert.equal((await node.look('/livez')).status, 200);
  await until(() => complaint.test(node.server.stderr), 'so does its standard error', 1000);
  const begin = performance.now();
  do {
    assertStatus(await node.ask('GET', '/users?limit=1'), 503, 'behind');
    assertStatus(await node.ask('POST', '/users', { body: newUser() }), 503, 'behind');
    await sleep(200); // it keeps to that for half a lease
  } while (performance.now() - begin < lease / 2);
  assert.equal(node.server.stderr.split('no longer has the rows').length, 2, 'it says so once');
}

async function joinAnew(node, users) {
  node.empty();
  await node.start();
  for (const each of users) await assertUser(node, each);
  await assertUser(one, await addUser(node));
  assert.equal((await lineOf(node)).state, 'serving');
  await cluster.assertEqual();
}

test('a node that was stopped while the rows after its own were removed says so, refuses all keys, and joins anew', async () => {
  const users = [await addUser(three)];
  await three.stop();
  const position = await positionOf(three);
  for (let i = 0; i < 5; i += 1) users.push(await addUser(two));
  assert.ok(await firstRow() <= position);
  await removeRowsAfter(position);
  // Nor does a command write to it.
  const { code, stderr } = await three.command('keys', 'create', '--name', 'unwelcome');
  assert.equal(code, 1, stderr);
  assert.match(stderr, /the key was not created/);
  assert.equal((await lineOf(three)).state, 'left');
  await three.start({ ready: false });
  await assertGone(three);
  // Another start makes it no better.
  await three.stop();
  await three.start({ ready: false });
  await assertGone(three);
  await three.stop();
  await joinAnew(three, users);
  for (const each of cluster.nodes) assert.doesNotMatch(await each.done('keys', 'list'), /unwelcome/);
});

test('the rows after those of a node whose helper stands still are kept for its lease, and then it says so', async (t) => {
  const before = await addUser(one);
  await assertUser(three, before);
  const { helper } = three.processes();
  const position = await positionOf(three);
  const start = performance.now();
  signal(helper, 'SIGSTOP');
  let later;
  try {
    const folded = async () => Number(await ask('SELECT folded FROM latchkey_fold'));
    await addRows(kept + 2100);
    const took = await until(async () => await folded() > position, 'the log is folded', 30_000);
    const first = await firstRow();
    const since = performance.now() - start;
    assert.ok(since > lease || first <= position, `the first row was ${first} after ${since} ms, the node at ${position}`);
    t.diagnostic(`folded after ${took} ms`);
    await sleep(lease + 1000 - since); // the clock passes the end of its lease
    later = await addUser(two);
    await removeRowsAfter(position);
  } finally {
    signal(helper, 'SIGCONT');
  }
  await assertGone(three);
  await three.stop();
  await joinAnew(three, [before, later]);
});

test('a node whose position is that of the first row in the log goes on', async () => {
  assert.ok(await firstRow() < await headRow());
  await addUser(three);
  await three.stop();
  const position = await positionOf(three);
  const user = await addUser(one);
  await one.done('cluster', 'check'); // folds the log
  await ask(`DELETE FROM latchkey_log WHERE position < ${position}`);
  assert.ok(position < await headRow());
  await three.start();
  await assertUser(three, user);
  await addUser(three);
  await cluster.assertEqual();
});

test('nodes of which one has joined anew end when they are asked to', () => cluster.stop());
