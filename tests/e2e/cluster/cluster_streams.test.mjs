// Streams of events (docs/api.md §16) on nodes of a cluster: they tell what any node writes, and end once the lease of their
// node has ended, since a key might have been turned off meanwhile. The node is not ready long before.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { after, test } from 'node:test';
import { Cluster, until } from '../helpers/cluster_harness.mjs';
import { Postgres, signal } from '../helpers/cluster_postgres.mjs';
import { openStream, overHttp2 } from '../helpers/event_stream.mjs';
import { assertStatus, newUser, sleep } from '../helpers/harness.mjs';

const lease = 3000;
const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres, { leaseSeconds: lease / 1000, names: ['one', 'two'] });
const [one, two] = cluster.nodes;
after(() => postgres.stop());

// One over each protocol.
async function openStreams({ server }, query = 'after=latest') {
  const fields = { accept: 'text/event-stream', 'x-api-key': cluster.key };
  const streams = await Promise.all([openStream(server, cluster.key, { query }),
    overHttp2(server, `/api/v1/changes?${query}`, fields, http2.connect(server.base('http')))]);
  for (const each of streams) {
    assert.equal(each.status, 200);
    // Reads the time when it ends.
    each.ended.then(() => { each.endTime = performance.now(); });
  }
  return streams;
}

async function addUser(node) {
  let answer;
  const write = async () => (answer = await node.ask('POST', '/users', { body: newUser() })).status === 201;
  await until(write, `${node.name} writes`, 10_000);
  return answer.json.id;
}

const ids = (stream) => stream.events.map(({ data }) => data.data.id);
const close = (streams) => streams.forEach((each) => each.close());

// A change of the other node comes over all of them, once.
async function tell(streams, writer) {
  const id = await addUser(writer);
  for (const each of streams) {
    await each.until(() => ids(each).includes(id), 5000);
    assert.equal(ids(each).filter((other) => other === id).length, 1);
  }
}

for (const [deed, disturb, mend] of [
  ['stands still', () => postgres.pause(), () => postgres.resume()],
  ['was killed', () => postgres.kill(), () => postgres.start()],
]) {
  test(`where PostgreSQL ${deed}, streams end with the lease of their node, long after /readyz has failed`, async (t) => {
    const streams = [...await openStreams(one), ...await openStreams(two)];
    await tell(streams, two);
    const last = Math.max(...streams.map((each) => each.events.at(-1).id));
    await disturb();
    const start = performance.now();
    t.after(mend);
    const unready = await Promise.all(cluster.nodes.map(async (each) => {
      await until(async () => (await each.look('/readyz')).status === 503, `${each.name} is not ready`, lease);
      assert.match((await each.look('/readyz')).body, /"cluster":"[^"]{10,}"/);
      assertStatus(await each.ask('GET', '/users?limit=1'), 200);
      return performance.now();
    }));
    assert.deepEqual(streams.map((each) => each.hasEnded), [false, false, false, false], 'no stream ends before the lease');
    await Promise.all(streams.map((each) => each.until(() => each.hasEnded, lease)));
    for (const each of streams) assert.equal(each.failure, null, 'it ends in order');
    for (const each of cluster.nodes) {
      // An unlimited key.
      assertStatus(await each.ask('GET', '/users?limit=1'), 503, 'behind');
      const refused = await openStream(each.server, cluster.key);
      assert.equal(refused.status, 503);
      assert.match(refused.headers.get('retry-after'), /^[1-9][0-9]*$/);
      refused.close();
    }
    const end = Math.min(...streams.map((each) => each.endTime));
    const warning = end - Math.max(...unready);
    const took = Math.max(...streams.map((each) => each.endTime)) - start;
    t.diagnostic(`not ready after ${Math.round(Math.max(...unready) - start)} ms, streams ended after ${Math.round(took)} ms`);
    assert.ok(warning > lease / 4, `not ready ${warning} ms before the end of the streams`);
    assert.ok(took > lease / 2 && took < lease + 500, `ended after ${took} ms`);
    close(streams);

    await mend();
    await Promise.all(cluster.nodes.map((each) => each.ready()));
    const id = await addUser(one);
    const query = `after=${last}&type=user.*`;
    const again = [...await openStreams(one, query), ...await openStreams(two, query)];
    for (const each of again) await each.until(() => ids(each).includes(id), 5000);
    for (const each of again) assert.deepEqual(ids(each).filter((other) => other === id), [id], 'it goes on where it was');
    close(again);
  });
}

test('where the helper of one node stands still, the streams of that node end and those of the other go on', async () => {
  const [silent, going] = [await openStreams(one), await openStreams(two)];
  await tell([...silent, ...going], two);
  const { helper } = one.processes();
  signal(helper, 'SIGSTOP');
  try {
    await Promise.all(silent.map((each) => each.until(() => each.hasEnded, lease + 500)));
    for (const each of silent) assert.equal(each.failure, null, 'it ends in order');
    assertStatus(await one.ask('GET', '/users?limit=1'), 503, 'behind');
    await sleep(500); // none of the others ends meanwhile
    assert.deepEqual(going.map((each) => each.hasEnded), [false, false]);
    await tell(going, two);
  } finally {
    signal(helper, 'SIGCONT');
  }
  await one.ready();
  close([...silent, ...going]);
});

test('a stream whose key was turned off while its node stood still tells nothing of what came after the answer', async () => {
  const { id, key } = await cluster.makeKey({ scopes: ['users:read', 'changes:read'] });
  const stream = await openStream(two.server, key);
  assert.equal(stream.status, 200);
  await tell([stream], one);
  two.pause();
  let last;
  try {
    assertStatus(await one.ask('POST', `/keys/${id}/deactivate`), 200); // once the lease has ended
    last = await addUser(one);
  } finally {
    two.resume();
  }
  await stream.until(() => stream.hasEnded, 2000);
  assert.equal(stream.failure, null, 'it ends in order');
  assert.ok(!ids(stream).includes(last));
  stream.close();
  await two.ready();
});

test('nodes with streams end when they are asked to', async () => {
  const streams = [...await openStreams(one), ...await openStreams(two)];
  await cluster.stop();
  for (const each of streams) await each.until(() => each.hasEnded, 2000);
  close(streams);
});
