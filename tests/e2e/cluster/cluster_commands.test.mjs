// What the commands and the metrics of a cluster say (docs/operations/cluster.md) against what is so: who delivers, what a node lacks,
// which records differ, how far a node is that joins.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Cluster, Node, until } from '../helpers/cluster_harness.mjs';
import { Postgres, signal } from '../helpers/cluster_postgres.mjs';
import { assertStatus, command, newUser, sleep, temporaryFolder, timeForm } from '../helpers/harness.mjs';

const leaseSeconds = 10;
const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres, { leaseSeconds, settings: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n' });
const [one, two] = cluster.nodes;
after(() => postgres.stop());

const ask = (text) => postgres.ask(cluster.database, text);
const lineOf = (status, node) => status.nodes.find(({ name }) => name === node.name);

async function metric(node, name) {
  const { body } = await node.look('/metrics');
  const found = new RegExp(`^${name} ([0-9.]+)$`, 'm').exec(body);
  assert.ok(found, `${node.name} has ${name}`);
  return Number(found[1]);
}
const metrics = (name) => Promise.all(cluster.nodes.map((each) => metric(each, name)));

// The status once every node has told that it is at the head of the log.
async function settled() {
  let status;
  await until(async () => {
    status = await one.status();
    return status.nodes.every(({ position }) => position === status.head);
  }, 'all nodes are at the head of the log');
  return status;
}

// The same with the rows that each node has appended, all at one position: nodes write what was used, and when, on their own.
async function counted() {
  for (;;) {
    const status = await settled();
    const [tries, losses] = [await metrics('latchkey_cluster_appends_total'), await metrics('latchkey_cluster_appends_lost_total')];
    const appends = tries.map((each, i) => each - losses[i]); // another node was first in the others, and they are tried again
    if ((await one.status()).head === status.head) return { status, appends };
  }
}

async function addUsers(node, count) {
  const client = node.client();
  const ids = [];
  for (let i = 0; i < count; i += 1) ids.push((await client.create('/users', newUser())).id);
  return ids;
}

describe('the metrics of a node', () => {
  test('have the position that cluster status shows, and count each row of the log once', async () => {
    const before = await counted();
    for (const [i, node] of cluster.nodes.entries()) await addUsers(node, 3 + i);
    const { status, appends } = await counted();
    const written = status.head - before.status.head;
    assert.ok(written >= 12, `${written} rows`); // each write was answered before the next one, so none shares a row
    for (const node of cluster.nodes) {
      assert.equal(lineOf(status, node).lag, 0);
      await until(async () => {
        const [position, shown] = [await metric(node, 'latchkey_cluster_position'), lineOf(await one.status(), node).position];
        assert.ok(position >= status.head);
        return position === shown;
      }, `${node.name} has the position that is shown`);
      await until(async () => await metric(node, 'latchkey_cluster_lag') === 0, `${node.name} has all rows`);
    }
    assert.deepEqual(await metrics('latchkey_cluster_appends_unknown_total'), [0, 0, 0]);
    const gains = appends.map((each, i) => each - before.appends[i]);
    assert.equal(gains.reduce((sum, each) => sum + each), written);
    for (const [i, gain] of gains.entries()) assert.ok(gain >= 3 + i, `${cluster.nodes[i].name} appended ${gain}`);
    assert.deepEqual(await metrics('latchkey_cluster_nodes'), [3, 3, 3]);
    for (const rest of await metrics('latchkey_cluster_lease_seconds')) assert.ok(rest > 0 && rest <= leaseSeconds, `${rest} s`);
  });

  test('and cluster status show the rows that a node lacks whose helper stands still, and none once it goes on', async () => {
    const before = await settled();
    const { helper } = two.processes();
    signal(helper, 'SIGSTOP');
    try {
      await addUsers(one, 5);
      const status = await one.status();
      assert.ok(status.head >= before.head + 5);
      const { position, lag } = lineOf(status, two);
      assert.ok(position >= before.head && lag >= 5, `${position}, ${lag}`);
      assert.equal(lag, status.head - position);
      assert.ok(await metric(two, 'latchkey_cluster_position') <= status.head - 5);
      assert.ok(await metric(one, 'latchkey_cluster_position') >= status.head);
    } finally {
      signal(helper, 'SIGCONT');
    }
    const status = await settled();
    assert.ok(await metric(two, 'latchkey_cluster_position') >= status.head);
  });
});

describe('cluster check', () => {
  // Without a write of its own, which the state in PostgreSQL would lack until it is folded into it.
  const check = async (node) => {
    const { code, stderr } = await node.command('cluster', 'check', '--json');
    return { code, lines: stderr.trim().split('\n').map((line) => line.replace(/^latchkey: (?:error: )?/, '')) };
  };
  const keyOf = (id) => id.toString(16).padStart(16, '0');

  test('names each record that PostgreSQL has changed, lost or made up, and exits with 1', async () => {
    const [changed, removed] = await addUsers(one, 2);
    const strange = 2 ** 40; // no user has that id
    await cluster.assertEqual(); // all rows of the log are folded into the records
    const users = (id) => `part = 0 AND key = '\\x${keyOf(id)}'`;
    const record = async (id) => ask(`SELECT encode(value, 'hex') FROM latchkey_record WHERE ${users(id)}`);
    const values = [await record(changed), await record(removed)];
    for (const each of values) assert.match(each, /^([0-9a-f]{2})+$/);
    const damage = [
      [`UPDATE latchkey_record SET value = value || '\\x00' WHERE ${users(changed)}`, `users ${keyOf(changed)} differs in this store`],
      [`DELETE FROM latchkey_record WHERE ${users(removed)}`, `users ${keyOf(removed)} is in this store alone`],
      [`INSERT INTO latchkey_record VALUES (0, '\\x${keyOf(strange)}', '\\x${values[0]}')`, `users ${keyOf(strange)} is not in this store`],
    ];
    const told = [];
    for (const [statement, sentence] of damage) {
      await ask(statement);
      told.push(sentence);
      for (const node of [one, two]) {
        const { code, lines } = await check(node);
        assert.equal(code, 1, lines.join('\n'));
        assert.deepEqual(lines.slice(0, -1), told);
        assert.match(lines.at(-1), /the store differs from the cluster's state: stop this node, empty its data directory/);
      }
    }
    await ask(`UPDATE latchkey_record SET value = '\\x${values[0]}' WHERE ${users(changed)}`);
    await ask(`INSERT INTO latchkey_record VALUES (0, '\\x${keyOf(removed)}', '\\x${values[1]}')`);
    await ask(`DELETE FROM latchkey_record WHERE ${users(strange)}`);
    await cluster.assertEqual();
  });
});

describe('commands that turn something off while a node does not answer', () => {
  test('say until when it may be accepted there, as a warning and with --json', async () => {
    const begin = Date.now();
    const makeKeys = (project) => Promise.all([1, 2].map(async () => JSON.parse(
      await one.done('keys', 'create', '--name', 'short-lived', '--project', project, '--scope', 'users:read', '--json')).id));
    const [single, rotated, changed] = [...await makeKeys('single'), ...await makeKeys('single')];
    await makeKeys('several');
    await makeKeys('listed');
    const keyFile = path.join(one.folder, 'operator');
    fs.writeFileSync(keyFile, `${cluster.key}\n`, { mode: 0o600 });
    const { helper } = cluster.nodes[2].processes();
    let ends;
    signal(helper, 'SIGSTOP');
    try {
      ends = await Promise.all([
        one.command('keys', 'deactivate', String(single)),
        one.command('keys', 'rotate', String(rotated), '--overlap', '0', '--json'),
        one.command('keys', 'update', String(changed), '--scope', 'posts:read', '--json'),
        one.command('keys', 'deactivate', '--project', 'several', '--yes'),
        command('keys', 'deactivate', '--project', 'listed', '--yes', '--json', '--url', one.server.base('http'), '--key-file', keyFile),
        one.command('events', 'secret', 'set', 'shop', '--format', 'standard', '--json'),
      ]);
    } finally {
      signal(helper, 'SIGCONT');
    }
    const told = ends.map(({ code, stdout, stderr }) => {
      assert.equal(code, 0, stderr);
      const [, time] = /a node does not answer: it may accept what was turned off until ([0-9TZ:.-]+)$/m.exec(stderr) ?? assert.fail(stderr);
      assert.ok(Date.parse(time) > begin + 5000 && Date.parse(time) < begin + 40_000, time);
      return { time, stdout };
    });
    for (const place of [1, 2, 4, 5]) assert.equal(JSON.parse(told[place].stdout).effective_by, told[place].time);
    assert.equal(JSON.parse(told[4].stdout).deactivated, 2);
    // With all nodes there is nothing to say.
    await settled();
    const later = await one.command('keys', 'deactivate', String(rotated), '--json');
    assert.deepEqual([later.code, later.stderr, JSON.parse(later.stdout).effective_by], [0, '', undefined]);
  });
});

describe('a node that joins', () => {
  test('says how many records it has copied, while that takes seconds', async () => {
    await one.done('seed', '--users', '4000', '--posts', '8000', '--yes');
    await cluster.assertEqual(); // all rows of the log are folded into the records
    const countRecords = async () => Number(await ask('SELECT count(*) FROM latchkey_record'));
    const before = await countRecords();
    const four = new Node(cluster, 'four');
    four.takeMasterKey(one);
    // The copy waits for the lock, so that its first part comes later than the first word is due.
    const lock = ask('BEGIN; LOCK TABLE latchkey_record; SELECT pg_sleep(3); COMMIT');
    const isLocked = "SELECT 1 FROM pg_locks WHERE relation = 'latchkey_record'::regclass AND mode = 'AccessExclusiveLock' AND granted";
    await until(async () => (await ask(isLocked)) === '1', 'the records are locked');
    await four.start();
    await lock;
    const now = await countRecords(); // a node may have added its own, of what was used
    const said = [...four.server.stderr.matchAll(/^latchkey: joining the cluster: (.*)$/gm)].map(([, words]) => words);
    assert.equal(said[0], 'its state is copied');
    const count = Number(/^all ([0-9]+) records are there$/.exec(said.at(-1))?.[1]);
    assert.ok(count >= before && count <= now, `${said.at(-1)}: ${before} to ${now}`);
    const numbers = said.slice(1, -1).map((line) => Number(/^([0-9]+) records$/.exec(line)?.[1]));
    assert.ok(numbers.length > 0, said.join('\n'));
    assert.ok(numbers[0] > 0 && numbers[0] < count, `${numbers[0]} of ${count}`); // the first part
    assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
    assert.match(four.server.stderr, /node four of the cluster is at position [0-9]+, the log at [0-9]+/);
    await cluster.assertEqual([one, four]);
    await four.stop();
  });
});

describe('cluster status', () => {
  const delivery = async (node) => (await node.status()).delivery;

  test('says that nobody has delivered a webhook yet, and is told by the store of the node alone', async () => {
    const status = await one.status();
    const { position, ...rest } = status.delivery;
    assert.deepEqual(rest, { node: null, active: false, expires_at: null });
    assert.ok(Math.abs(position - status.head) <= 5, `${position} of ${status.head}`);
    assert.match(await one.done('cluster', 'status'), /^webhooks +not delivered by any node yet \(this store, at position [0-9,]+\)$/m);
    // A store beside the cluster, with its key.
    const data = path.join(temporaryFolder(), 'data');
    fs.mkdirSync(data, { mode: 0o700 });
    fs.copyFileSync(path.join(one.data, 'master.key'), path.join(data, 'master.key'));
    assert.equal((await command('keys', 'create', '--data', data, '--name', 'x')).code, 0);
    const look = async (...more) => {
      const { code, stdout, stderr } = await command('cluster', 'status', '--config', one.configuration, '--data', data, ...more);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    assert.equal(JSON.parse(await look('--json')).delivery, null);
    assert.match(await look(), /^webhooks +not known: the store in the data directory is no node of the cluster$/m);
  });

  // No standby has that name: commits wait until the setting is empty again.
  test('says whether PostgreSQL is to wait for a standby', async () => {
    const set = async (change) => {
      await ask(`ALTER SYSTEM ${change}`);
      await ask('SELECT pg_reload_conf()');
    };
    assert.equal((await one.status()).engine.synchronous_standby, false);
    assert.match(await one.done('cluster', 'status'), /^engine .*, synchronous_standby_names is empty$/m);
    try {
      await set("SET synchronous_standby_names = 'nobody'");
      await until(async () => (await one.status()).engine.synchronous_standby, 'the setting counts', 3000);
      assert.match(await one.done('cluster', 'status'), /^engine .*, synchronous_standby_names is set$/m);
    } finally {
      await set('RESET synchronous_standby_names');
    }
    await until(async () => !(await one.status()).engine.synchronous_standby, 'the setting is empty', 3000);
    await addUsers(one, 1);
  });

  test('names the node that delivers, until when, and the one that takes over when it stops', async () => {
    assertStatus(await one.ask('POST', '/webhooks', { body: { url: 'http://127.0.0.1:9/', types: ['user.created'] } }), 201);
    await until(async () => (await delivery(one)).active, 'a node delivers');
    const first = await delivery(one);
    const deliverer = cluster.nodes.find(({ name }) => name === first.node);
    assert.ok(deliverer, `${first.node} is a node`);
    assert.match(first.expires_at, timeForm);
    const rest = Date.parse(first.expires_at) - Date.now();
    assert.ok(rest > 0 && rest <= leaseSeconds * 1000, `${rest} ms`);
    assert.match(await one.done('cluster', 'status'),
      new RegExp(`^webhooks +delivered by ${first.node}, whose lease ends at [-0-9]+ [:0-9]+Z \\(this store, at`, 'm'));
    const others = cluster.nodes.filter((each) => each !== deliverer);
    await deliverer.stop();
    await until(async () => {
      const { node, active } = await delivery(others[0]);
      return active && others.some(({ name }) => name === node);
    }, 'another one delivers', (leaseSeconds + 5) * 1000);
    const line = lineOf(await others[0].status(), deliverer);
    assert.deepEqual([line.state, line.lease_ms_left], ['left', 0]);
    assert.match(await others[0].done('cluster', 'status'), new RegExp(`^${deliverer.name} +left +[0-9,]+ +[0-9,]+ +ended +\\S+$`, 'm'));
    await deliverer.start();
  });

  test('says who has delivered last, once nobody does', async () => {
    const { node } = await delivery(one);
    const last = cluster.nodes.find(({ name }) => name === node);
    for (const each of cluster.nodes) if (each !== last) await each.stop();
    await last.stop(); // gives its lease back
    await sleep(5); // the clock passes the millisecond in which the lease ended
    const status = await last.status();
    assert.deepEqual([status.delivery.node, status.delivery.active], [last.name, false]);
    assert.ok(Date.parse(status.delivery.expires_at) <= Date.now(), status.delivery.expires_at);
    assert.deepEqual(status.nodes.map(({ state, lease_ms_left: rest }) => [state, rest]), status.nodes.map(() => ['left', 0]));
    assert.match(await last.done('cluster', 'status'),
      new RegExp(`^webhooks +delivered by nobody now: the lease of ${last.name} ended at [-0-9]+ [:0-9]+Z \\(this`, 'm'));
  });
});
