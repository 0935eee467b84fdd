// Webhooks in a cluster (docs/api.md §17): one node delivers, and when it is killed another one takes over within a lease. What
// was delivered is delivered, nothing is lost, and a repeat has its webhook-id. `--rounds` is the number of kills.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Cluster, until } from '../helpers/cluster_harness.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { newUser, sleep } from '../helpers/harness.mjs';
import { startReceiver } from '../helpers/webhook_receiver.mjs';

const rounds = Number(process.env.E2E_ROUNDS ?? 2);
const leaseSeconds = 5;
const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres, { leaseSeconds, names: ['one', 'two'], settings: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n' });
after(() => postgres.stop());

const delivered = async (node) => Number(/^latchkey_webhook_deliveries_total\{outcome="delivered"\} ([0-9]+)$/m.exec((await node.look('/metrics')).body)[1]);
const otherThan = (node) => cluster.nodes.find((each) => each !== node);

async function changesOf(node) {
  const feed = [];
  const client = node.client();
  for (let last = 0, more = true; more;) {
    const page = await client.read(`/changes?after=${last}&limit=1000&type=user.created`);
    feed.push(...page.data.map(({ sequence }) => sequence));
    ({ next_after: last, has_more: more } = page.pagination);
  }
  return feed;
}

// Writes through the node until it is told to stop; returns how many.
function writeTo(node) {
  let goes = true;
  const count = (async () => {
    const client = node.client();
    let number = 0;
    for (; goes; number += 1) await client.create('/users', newUser());
    return number;
  })();
  return () => { goes = false; return count; };
}

test('one node delivers; when it is killed, the other one takes over within a lease and nothing is lost', { timeout: 60_000 + rounds * 40_000 }, async (t) => {
  const [plain, ordered] = [await startReceiver(null), await startReceiver(null)];
  const [first] = cluster.nodes;
  await first.client().create('/webhooks', { url: plain.url, types: ['user.created'] });
  await first.client().create('/webhooks', { url: ordered.url, types: ['user.created'], ordered: true });
  await first.client().create('/users', newUser());
  await Promise.all([plain, ordered].map((each) => each.heard(1)));
  await until(async () => (await Promise.all(cluster.nodes.map(delivered))).some((each) => each > 0), 'one says that it delivers');
  for (let round = 0; round < rounds; round += 1) {
    const before = await Promise.all(cluster.nodes.map(delivered));
    const stopFirst = writeTo(cluster.nodes[0]);
    const gainsNow = async () => (await Promise.all(cluster.nodes.map(delivered))).map((each, i) => each - before[i]);
    await until(async () => Math.max(...await gainsNow()) > 20, 'one of them delivers');
    await stopFirst();
    const gains = await gainsNow();
    assert.ok(gains.filter((each) => each > 0).length === 1, `one of them delivers: ${gains}`);
    const deliverer = cluster.nodes[gains.findIndex((each) => each > 0)];
    const survivor = otherThan(deliverer);
    const stop = writeTo(survivor);
    await sleep(300); // some are delivered and some are not
    await deliverer.kill();
    const heard = plain.requests.length;
    const took = await until(() => plain.requests.length > heard + 1, 'the other one delivers', (2 * leaseSeconds + 10) * 1000);
    t.diagnostic(`taken over after ${took} ms, with a lease of ${leaseSeconds * 1000} ms`);
    await stop();
    const feed = await changesOf(survivor);
    for (const receiver of [plain, ordered]) {
      await receiver.until(({ sequences }) => sequences.length >= feed.length, `all ${feed.length}`, 60_000);
      assert.deepEqual([...receiver.sequences].sort((a, b) => a - b), feed);
    }
    await deliverer.start();
  }
  assert.deepEqual(ordered.sequences, [...ordered.sequences].sort((a, b) => a - b));
  for (const receiver of [plain, ordered]) {
    const ids = new Map();
    for (const { id, json } of receiver.requests) {
      assert.equal(ids.get(json.sequence) ?? id, id, 'one id per change');
      ids.set(json.sequence, id);
    }
    await receiver.stop();
  }
  await cluster.stop();
});
