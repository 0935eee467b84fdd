// Nodes that are killed or stand still, helpers that are killed, and PostgreSQL that is killed, away or set back, under writes,
// where leases are short: what was acknowledged is there once on every node, what was refused is nowhere, and no node answers
// with a key that was turned off once that was answered (docs/api.md §15). cluster_leases.test.mjs has longer leases.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Cluster, Node, consistent, postsOf, tokenOf, until } from '../helpers/cluster_harness.mjs';
import { Load, readAll, underLoad } from '../helpers/cluster_load.mjs';
import { Postgres, signal } from '../helpers/cluster_postgres.mjs';
import { assertStatus, newUser, sleep } from '../helpers/harness.mjs';

const postgres = await Postgres.begin();
after(() => postgres.stop());

describe('three nodes with leases of 3 s', () => {
  let cluster, one, two, three;
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 3 });
    [one, two, three] = cluster.nodes;
  });
  after(() => cluster.stop());

  test('lose no acknowledged write when a node is killed, which comes back by itself', async (t) => {
    const load = await underLoad(cluster, async (load) => {
      await two.kill();
      await load.goesOn();
      await two.start();
      await load.goesOn();
      await one.kill();
      await one.start();
    });
    t.diagnostic(load.summary());
  });

  test('lose nothing when the helper of a node is killed, and writes go on within seconds', async (t) => {
    const load = await underLoad(cluster, async () => {
      for (const each of cluster.nodes) {
        const { helper } = each.processes();
        signal(helper, 'SIGKILL');
        const begin = performance.now();
        await until(async () => (await each.ask('POST', '/users', { body: newUser() })).status === 201, 'writes go on', 5000);
        t.diagnostic(`writes on ${each.name} after ${Math.round(performance.now() - begin)} ms`);
        assert.notEqual(each.processes().helper, helper);
      }
    });
    t.diagnostic(load.summary());
  });

  test('lose nothing when they are restarted one by one', async (t) => {
    const load = await underLoad(cluster, async () => {
      for (const each of cluster.nodes) {
        const { server } = each;
        each.server = null; // no more is sent to it
        each.closeClients();
        await server.stop();
        await each.start();
      }
    });
    t.diagnostic(load.summary());
  });

  test('lose nothing when their connections to PostgreSQL are cut again and again', async (t) => {
    const load = await underLoad(cluster, async () => {
      const end = Date.now() + 2000;
      while (Date.now() < end) {
        await postgres.ask(cluster.database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'latchkey'");
        await sleep(100); // between two cuts some writes are made
      }
    });
    t.diagnostic(load.summary());
  });

  test('take what the command line of one of them loads, under writes on all', async (t) => {
    const load = await underLoad(cluster, async () => {
      await Promise.all([
        one.done('seed', '--yes', '--users', '3000', '--posts', '3000', '--random-seed', '1'),
        two.done('seed', '--yes', '--users', '1000', '--posts', '1000', '--random-seed', '2'),
      ]);
    });
    t.diagnostic(load.summary());
  });

  test('know a key that one of them has just created, where its Consistency-Token is sent with it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const answer = await one.ask('POST', '/keys', { body: { name: 'new', scopes: ['users:read'] } });
      assertStatus(await two.ask('GET', '/users?limit=1', { key: answer.json.key, ...consistent(tokenOf(answer)) }), 200);
    }
  });

  test('stay ready when nothing but a command has written to the store of one of them', async () => {
    for (const each of cluster.nodes) await each.done('keys', 'create', '--name', 'cli', '--unlimited');
    await sleep(4000); // longer than a lease: none of them may lag for so long
    // The uses of keys in the test before are a row, seconds later.
    await until(async () => (await one.status()).nodes.every(({ lag }) => lag === 0), 'none lags', 3000);
    for (const each of cluster.nodes) {
      assert.equal((await each.look('/readyz')).status, 200, (await each.look('/readyz')).body);
      assertStatus(await each.ask('GET', '/users?limit=1'), 200);
    }
  });

  test('refuse another node under the name of one of them', async () => {
    const twin = new Node(cluster, 'two', 'twin');
    twin.takeMasterKey(one);
    await twin.start({ ready: false });
    await until(async () => /another node runs under the name two/.test((await twin.look('/readyz')).body), 'it says so', 5000);
    assertStatus(await twin.ask('GET', '/users?limit=1'), 503, 'behind');
    assertStatus(await two.ask('GET', '/users?limit=1'), 200);
    assert.equal((await one.status()).nodes.find((each) => each.name === 'two').state, 'serving');
    await twin.stop();
    await two.ready();
  });

  test('end without a node that was killed, once it was let go', async () => {
    const four = cluster.addNode('four');
    four.takeMasterKey(one);
    await four.start();
    await four.kill();
    cluster.nodes.pop();
    await one.done('cluster', 'leave', 'four');
    const { nodes } = await one.status();
    assert.equal(nodes.find((each) => each.name === 'four').state, 'left');
  });

  test('answer a deactivation once the lease of a node that stands still has ended, and that node refuses when it goes on', async (t) => {
    const { id, key } = await cluster.makeKey();
    const client = three.client(key);
    assertStatus(await client.get('/users?limit=1'), 200);
    three.pause();
    const begin = performance.now();
    const early = client.get('/users?limit=1');
    const answer = await one.ask('POST', `/keys/${id}/deactivate`);
    const took = performance.now() - begin;
    assertStatus(answer, 200);
    assert.ok(took > 2000 && took < 4800, `answered after ${took} ms`);
    t.diagnostic(`answered after ${Math.round(took)} ms`);
    assertStatus(await two.ask('GET', '/users?limit=1', { key }), 403, 'key_deactivated');
    const reading = readAll(three, key);
    three.resume();
    assertStatus(await early, 503, 'behind');
    await three.ready();
    assertStatus(await three.ask('GET', '/users?limit=1', { key }), 403, 'key_deactivated');
    for (const each of await reading.stop()) assert.ok(each.code === 'behind' || each.code === 'key_deactivated', `${each.status} ${each.code}`);
    await cluster.assertEqual();
  });

  test('are not ready without PostgreSQL while they still answer, and refuse once their leases have ended', async (t) => {
    const user = await one.ask('POST', '/users', { body: newUser() });
    for (const each of cluster.nodes) assertStatus(await each.ask('GET', `/users/${user.json.id}`, consistent(tokenOf(user))), 200);
    await postgres.kill();
    t.after(() => postgres.start());
    const begin = performance.now();
    const since = () => Math.round(performance.now() - begin);
    // Refused, or answered once it is known whether PostgreSQL has it.
    const writes = [one, two].map((each) => each.ask('POST', '/users', { body: newUser(), timeout: 60_000 }));
    const unready = await until(async () => (await one.look('/readyz')).status === 503, 'it is not ready', 3000);
    assert.match((await one.look('/readyz')).body, /"cluster":/);
    assertStatus(await one.ask('GET', '/users?limit=1'), 200);
    const refused = await until(async () => (await one.ask('GET', '/users?limit=1')).status === 503, 'it refuses', 4000);
    t.diagnostic(`not ready after ${unready} ms, refused after ${unready + refused} ms`);
    assert.ok(since() > 2000 && since() < 3500, `refused after ${since()} ms`);
    for (const each of cluster.nodes) {
      await until(async () => (await each.ask('GET', '/users?limit=1')).status === 503, `${each.name} refuses`, 3000);
      const answer = await each.ask('GET', '/users?limit=1');
      assertStatus(answer, 503, 'behind');
      assert.match(answer.headers.get('retry-after'), /^[1-9][0-9]*$/);
      assert.equal((await each.look('/livez')).status, 200);
      assertStatus(await each.server.ask('GET', '/healthz', { scheme: 'http' }), 200);
    }
    // A node may start without it, and a command says what is wrong.
    await three.kill();
    const [{ code, stderr }] = await Promise.all([one.command('keys', 'create', '--name', 'x'), three.start({ ready: false })]);
    assert.equal(code, 1);
    assert.match(stderr, /engine/);
    assertStatus(await three.ask('GET', '/users?limit=1'), 503, 'behind');
    await postgres.start();
    await Promise.all(cluster.nodes.map((each) => each.ready()));
    t.diagnostic(`ready again after ${since()} ms`);
    for (const each of await Promise.all(writes)) if (each.status !== 201) assertStatus(each, 503, 'behind');
    await until(async () => (await three.ask('POST', '/users', { body: newUser() })).status === 201, 'it writes', 2000);
    await cluster.assertEqual();
  });

  test('end in time when PostgreSQL is killed under writes and stays away, and lose nothing of what it has', async (t) => {
    const load = new Load(cluster);
    await load.prepare();
    load.begin();
    await load.goesOn();
    await postgres.kill();
    await sleep(300); // writes wait for it when they are stopped
    const stops = cluster.nodes.map(async (node) => {
      const { server } = node;
      node.server = null; // no more is sent to it
      const begin = performance.now();
      await server.stop({ within: 10_000 });
      return Math.round(performance.now() - begin);
    });
    const ends = await Promise.allSettled(stops);
    await postgres.start();
    for (const each of cluster.nodes) await each.start();
    await load.end();
    load.check(postsOf(await cluster.assertEqual()));
    for (const each of ends) assert.equal(each.reason, undefined);
    t.diagnostic(`ended after ${ends.map((each) => each.value).join(', ')} ms`);
  });
});

// At the end, since PostgreSQL goes back for all.
describe('PostgreSQL that goes back in time', () => {
  let cluster;
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 3 });
  });
  after(() => cluster.stop());

  test('is refused by the nodes that have applied more, and they join it anew with empty data directories', async () => {
    const [one, two] = cluster.nodes;
    const kept = await one.ask('POST', '/users', { body: newUser() });
    await postgres.stop();
    postgres.save();
    await postgres.start();
    await Promise.all(cluster.nodes.map((each) => each.ready()));
    let lost;
    await until(async () => (lost = await two.ask('POST', '/users', { body: newUser() })).status === 201, 'it writes', 3000);
    for (const each of cluster.nodes) assertStatus(await each.ask('GET', `/users/${lost.json.id}`, consistent(tokenOf(lost))), 200);
    await postgres.kill();
    postgres.restore();
    await postgres.start();
    for (const each of cluster.nodes) {
      await until(async () => /the engine has lost rows/.test((await each.look('/readyz')).body), 'it says so', 5000);
      assertStatus(await each.ask('POST', '/users', { body: newUser() }), 503, 'behind');
    }
    await cluster.stop();
    await Promise.all(cluster.nodes.map(async (each) => {
      each.empty();
      await each.start();
      assert.deepEqual((await each.ask('GET', `/users/${kept.json.id}`)).json, kept.json);
    }));
    await until(async () => (await one.ask('GET', `/users/${lost.json.id}`)).status === 404, 'it is not there');
    assertStatus(await two.ask('POST', '/users', { body: newUser() }), 201);
    await cluster.assertEqual();
  });
});
