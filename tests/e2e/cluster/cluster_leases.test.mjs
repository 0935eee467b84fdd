// Nodes whose leases outlast a failover: they read on while PostgreSQL is killed or frozen, and a deactivation is answered 202
// with the time from which no node accepts the key, where a node stands still for longer than the answer may wait
// (docs/api.md §15).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Cluster, until } from '../helpers/cluster_harness.mjs';
import { readAll, underLoad } from '../helpers/cluster_load.mjs';
import { Postgres, signal } from '../helpers/cluster_postgres.mjs';
import { assertStatus, sleep } from '../helpers/harness.mjs';

const postgres = await Postgres.begin();
after(() => postgres.stop());

describe('three nodes with leases of 15 s', () => {
  let cluster, one, two, three;
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 15 });
    [one, two, three] = cluster.nodes;
  });
  after(() => cluster.stop());

  const replays = []; // of deactivations, under their Idempotency-Key
  // A deactivation while `three` stands still. It is resumed as soon as that was answered.
  const deactivateWhile = async (pause, resume) => {
    const { id, key } = await cluster.makeKey();
    const client = three.client(key);
    assertStatus(await client.get('/users?limit=1'), 200);
    await sleep(100); // nothing of it is under way any more
    pause();
    const begin = performance.now();
    const target = `/keys/${id}/deactivate`;
    const once = { headers: { 'Idempotency-Key': `off-${id}` } };
    const first = one.ask('POST', target, once);
    await sleep(300); // the first of them is in progress
    // The same again, on both other nodes: what they answer must hold everywhere too.
    const repeats = [one, two].map(async (each) => {
      const answer = await each.ask('POST', target);
      return { name: each.name, answer, time: Date.now() };
    });
    const answer = await first;
    const took = performance.now() - begin;
    const replay = await one.ask('POST', target, once);
    const replayTime = Date.now();
    assertStatus(answer, 202);
    assert.equal(answer.json.state, 'deactivated');
    assert.ok(took > 4900 && took < 6000, `answered after ${took} ms`);
    const end = Date.parse(answer.json.effective_by);
    const left = end - Date.now();
    assert.ok(left > 0 && left < 17_000, `${left} ms are left`);
    const reading = readAll(three, key);
    resume();
    await until(async () => (await three.ask('GET', '/users?limit=1', { key })).status === 403, 'it is refused', left + 1000);
    await sleep(Math.max(0, Math.min(end - Date.now(), 100))); // some reads are refused
    const accepted = (await reading.stop()).filter((each) => each.status === 200);
    const lastAccepted = accepted.at(-1)?.begin ?? 0;
    assert.ok(lastAccepted < end, 'accepted only before effective_by');
    const holds = ({ answer: { status, json }, time }) => (status === 202 ? Date.parse(json.effective_by) > lastAccepted : time > lastAccepted);
    for (const each of await Promise.all(repeats)) assert.ok(holds(each), `${each.name} answered ${each.answer.status} too early`);
    replays.push({ status: replay.status, holds: holds({ answer: replay, time: replayTime }) });
    await cluster.assertEqual();
    return `answered after ${Math.round(took)} ms, ${left} ms before effective_by`;
  };

  test('answer a deactivation with 202 and effective_by where a node stands still', async (t) => {
    t.diagnostic(await deactivateWhile(() => three.pause(), () => three.resume()));
  });

  test('answer it so where the service of a node stands still beside its helper', async (t) => {
    const { service } = three.processes();
    t.diagnostic(await deactivateWhile(() => signal(service, 'SIGSTOP'), () => signal(service, 'SIGCONT')));
  });

  test('say 200 to the repeat of such a deactivation under its Idempotency-Key only once it holds everywhere', () => {
    assert.equal(replays.length, 2);
    for (const { status, holds } of replays) assert.ok(holds, `a repeat was answered ${status} while a node accepted the key`);
  });

  test('answer the end of the sessions of a key so, and the node that stood still has none of them by then', async () => {
    const { key } = await cluster.makeKey();
    const login = await one.ask('POST', '/session', { key });
    assertStatus(login, 200);
    const headers = { Cookie: login.headers.get('set-cookie').replace(/;.*/, ''), 'Sec-Fetch-Site': 'same-origin' };
    const read = () => three.ask('GET', '/users?limit=1', { key: undefined, headers });
    assertStatus(await read(), 200);
    const { helper } = three.processes();
    signal(helper, 'SIGSTOP');
    try {
      const answer = await one.ask('DELETE', '/sessions', { key });
      assertStatus(answer, 202);
      const left = Date.parse(answer.json.effective_by) - Date.now();
      assert.ok(left > 0 && left < 17_000, `${left} ms are left`);
      await sleep(left); // the clock passes effective_by
      const { status } = await read();
      assert.ok(status === 401 || status === 503, `${status} after effective_by`);
    } finally {
      signal(helper, 'SIGCONT');
    }
    await until(async () => (await read()).status === 401, 'it is refused as one that has ended');
  });

  for (const [deed, disturb] of [
    ['is killed and started again', async () => {
      await postgres.kill();
      await sleep(1500); // writes wait for it meanwhile
      await postgres.start();
    }],
    ['freezes for longer than an append may take', async () => {
      postgres.pause();
      await sleep(6000); // an append may take five seconds
      postgres.resume();
    }],
  ]) {
    test(`read on while PostgreSQL ${deed}, and lose no acknowledged write`, async (t) => {
      const readings = cluster.nodes.map((each) => readAll(each, cluster.key));
      const load = await underLoad(cluster, disturb);
      for (const each of readings) {
        const answers = await each.stop();
        assert.deepEqual(answers.filter(({ status }) => status !== 200), [], 'every read was answered');
        assert.ok(answers.length > 100);
      }
      t.diagnostic(load.summary());
    });
  }
});
