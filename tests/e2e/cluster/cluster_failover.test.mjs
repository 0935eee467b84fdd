// Three nodes over a PostgreSQL that fails over (cluster_patroni.mjs), under writes and reads, in rounds with one fault each:
// what was acknowledged is there once on every node, what was refused is nowhere, the stores are equal, and reads go on
// (docs/api.md §15). Prints for how long no write was acknowledged.
//
// E2E_SEED draws the same faults again; `run.mjs --rounds 60 cluster_failover` runs more of them than three, also those that
// need a file system of their own. E2E_FAULT='kill the primary' draws that one alone.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Cluster, postsOf, until } from '../helpers/cluster_harness.mjs';
import { Load, readAll } from '../helpers/cluster_load.mjs';
import { Patroni } from '../helpers/cluster_patroni.mjs';
import { signal } from '../helpers/cluster_postgres.mjs';
import { below, drawn, newUser, seed, sleep } from '../helpers/harness.mjs';

const rounds = Number(process.env.E2E_ROUNDS ?? 3);
const long = rounds > 3;
const names = ['one', 'two', 'three'];

const patroni = await Patroni.begin({ clients: names, mounts: long });
const cluster = await Cluster.begin(patroni, { leaseSeconds: 30, names, disks: true });
after(() => patroni.end());

const writes = async (node) => (await node.ask('POST', '/users', { body: newUser(), timeout: 60_000 })).status === 201;
const writesGoOn = () => until(async () => (await Promise.all(cluster.nodes.filter((each) => each.server && !each.paused).map(writes))).some(Boolean),
  'writes go on', 60_000);

// Posts through another node until the disk of this one has no room for them.
async function fillStore(node) {
  node.disk.set({ fallocate: 'ENOSPC', free: 0 });
  const other = cluster.nodes.find((each) => each !== node);
  const author = await other.ask('POST', '/users', { body: newUser() });
  const post = { user_id: author.json.id, title: 'fills', body: 'b'.repeat(60_000) };
  for (let i = 0; i < 30; i += 1) {
    await Promise.all(Array.from({ length: 20 }, () => other.ask('POST', '/posts', { body: post })));
    if ((await node.ask('POST', '/posts', { body: post })).status !== 201) break;
  }
  return async () => {
    node.disk.set();
    await until(async () => [204, 404].includes((await other.ask('DELETE', `/users/${author.json.id}`)).status), 'its posts are deleted');
  };
}

// Each begins and returns what ends it. `unread`: the node does not answer meanwhile. `lasting`: it ends only when writes have
// gone on, else after some seconds.
const faults = {
  'kill the primary': { lasting: true, async begin({ primary }) {
    await primary.kill();
    return () => primary.start();
  } },
  // It goes on before it was replaced, just then, or later.
  'stop the primary': { async begin({ primary }) {
    primary.pause();
    await sleep(below(9000)); // it goes on at a moment that is drawn
    return () => primary.resume();
  } },
  'kill PostgreSQL of the primary': { lasting: true, async begin({ primary }) {
    await primary.killServer();
    return () => {};
  } },
  'stop the standby': { lasting: true, async begin({ standby }) {
    standby.pause();
    return () => standby.resume();
  } },
  'kill the standby': { lasting: true, async begin({ standby }) {
    await standby.kill();
    return () => standby.start();
  } },
  // The nodes reach the old primary alone for longer than a statement may take, then the new one alone.
  'part the primary from all but the nodes': { lasting: true, async begin({ primary, standby }) {
    standby.pause();
    primary.pause({ supervisor: true });
    await sleep(7000); // a statement may take five seconds
    await primary.kill();
    standby.resume();
    return () => primary.start();
  } },
  // It answers with errors, or ends; Patroni may leave it the primary until there is room.
  'fill the disk of the primary': { needsMounts: true, async begin({ primary }) {
    primary.fillDisk();
    return () => primary.emptyDisk();
  } },
  'kill a node': { unread: true, async begin({ node }) {
    await node.kill();
    return () => node.start({ ready: false });
  } },
  'stop a node': { unread: true, async begin({ node }) {
    node.pause();
    return () => node.resume();
  } },
  'kill the helper of a node': { async begin({ node }) {
    signal(node.processes().helper, 'SIGKILL');
    return () => {};
  } },
  'fill the disk of a node': { begin: ({ node }) => fillStore(node) },
  'cut a node off': { async begin({ node }) {
    patroni.network(node.name).cut();
    return () => patroni.network(node.name).mend();
  } },
  'hold all packets of a node': { async begin({ node }) {
    patroni.network(node.name).hold();
    return () => patroni.network(node.name).mend();
  } },
  'cut all connections': { async begin() {
    await patroni.ask(cluster.database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'latchkey'");
    return () => {};
  } },
};

// One promotion in every three; the others as they come.
function drawFaults() {
  if (process.env.E2E_FAULT) return Array.from({ length: rounds }, () => process.env.E2E_FAULT);
  const able = Object.keys(faults).filter((each) => (long || !faults[each].lasting) && (patroni.canFillDisks || !faults[each].needsMounts));
  let rest = [];
  return Array.from({ length: rounds }, (_, i) => {
    if (i % 3 === 2) return long ? drawn(['kill the primary', 'stop the primary']) : 'kill the primary';
    if (rest.length === 0) rest = able.filter((each) => !/^(kill|stop) the primary$/.test(each));
    return rest.splice(below(rest.length), 1)[0];
  });
}

const gaps = new Map();
const loads = [];

async function strike(name) {
  const primary = await patroni.primary();
  const standby = patroni.members.find((each) => each !== primary);
  const node = drawn(cluster.nodes);
  const fault = faults[name];
  const load = new Load(cluster, { patience: 60_000, writersPerNode: 2 });
  await load.prepare();
  load.begin();
  const readings = cluster.nodes.filter((each) => !fault.unread || each !== node).map((each) => readAll(each, cluster.key));
  let whole;
  try {
    await load.goesOn();
    const start = performance.now();
    const mend = await fault.begin({ node, primary, standby });
    try {
      if (fault.lasting) await writesGoOn();
      else await sleep(500 + below(long ? 5000 : 1500)); // it lasts for a time that is drawn
    } finally {
      await mend();
    }
    // Every node writes again, also the one that was away.
    await Promise.all(cluster.nodes.map((each) => until(() => writes(each), `${each.name} writes`, 30_000)));
    whole = Math.round(performance.now() - start);
    await load.goesOn();
  } finally {
    await load.end();
    for (const each of readings) await each.stop();
  }
  return { load, answers: readings.flatMap((each) => each.answers), whole, node: node.name, primary: primary.name };
}

describe('three nodes over a PostgreSQL that fails over', () => {
  after(() => cluster.stop());
  let failed = false;
  drawFaults().forEach((name, i) => test(`lose and double no write, and read on: ${name} (round ${i + 1}, seed ${seed})`, async (t) => {
    if (failed) return t.skip('a round before it has failed');
    failed = true;
    const { load, answers, whole, node, primary } = await strike(name).catch(async (error) => {
      for (const each of cluster.nodes) t.diagnostic(`${each.name}: ${each.server ? (await each.look('/readyz')).body : 'killed'}`);
      throw error;
    });
    const gap = Math.round(load.longest);
    gaps.set(name, [...(gaps.get(name) ?? []), gap]);
    loads.push(load);
    t.diagnostic(`no write for ${gap} ms, on all nodes after ${whole} ms; node ${node}, primary ${primary}; ${answers.length} reads; ${load.summary()}`);
    await Promise.all(cluster.nodes.map((each) => each.ready()));
    load.check(postsOf(await cluster.assertEqual()));
    assert.deepEqual(answers.filter(({ status }) => status !== 200), [], 'every read was answered');
    if (i + 1 < rounds) await patroni.redundant();
    failed = false;
  }));

  test('have at the end what was acknowledged in all rounds', async (t) => {
    const posts = postsOf(await cluster.assertEqual());
    for (const each of loads) each.check(posts);
    for (const [name, list] of gaps) {
      list.sort((a, b) => a - b);
      t.diagnostic(`${name}: ${list.length} rounds, no write for ${list[list.length >> 1]} ms (median), ${list.at(-1)} ms (most)`);
    }
    const sum = (what) => loads.reduce((total, { counts }) => total + counts[what], 0);
    t.diagnostic(`${sum('acknowledged')} writes acknowledged, ${sum('refused')} refused, ${sum('unknown')} of unknown fate`);
  });
});
