// A key's limits hold over all nodes together (docs/api.md §15): never more than promised, nearly all of it whatever node is
// asked, and without PostgreSQL what was leased ahead, then a node's share, then nothing.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Cluster, consistent, tokenOf, until } from '../helpers/cluster_harness.mjs';
import { Demand } from '../helpers/cluster_demand.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { assertStatus, newUser, sleep } from '../helpers/harness.mjs';

const leaseSeconds = 4;
const limit = { name: 'second', limit: 6000, window_seconds: 60, burst: 128 };
const promise = { rate: limit.limit / limit.window_seconds, burst: limit.burst };
const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres, { leaseSeconds });
const [one, two, three] = cluster.nodes;
after(() => postgres.stop());

// {id, key}, known to all nodes.
async function newKey(limits = [limit]) {
  const answer = await one.ask('POST', '/keys', { body: { name: 'limited', scopes: ['users:read', 'keys:verify'], rate_limits: limits } });
  assertStatus(answer, 201);
  const { json } = answer;
  for (const each of cluster.nodes) assertStatus(await each.ask('GET', '/users?limit=1', consistent(tokenOf(answer))), 200);
  return json;
}

const makeKey = async (limits) => (await newKey(limits)).key;

async function metric(node, name) {
  const { body } = await node.look('/metrics');
  return Number(new RegExp(`^${name} ([0-9.e+-]+)$`, 'm').exec(body)?.[1]);
}

describe('of what a key may use', () => {
  const cases = [
    ['0.95 are admitted where all nodes are asked alike', [1 / 3, 1 / 3, 1 / 3], 0.95],
    ['0.9 are admitted where one node is asked nine times of ten', [0.9, 0.05, 0.05], 0.9],
  ];
  for (const [name, parts, least] of cases) {
    test(`${name}, and never more than all`, async (t) => {
      const demand = await new Demand(cluster.nodes.map((node, i) => [node, parts[i] * promise.rate * 2.5]), await makeKey()).run(4);
      demand.assertWithin(promise);
      for (const each of demand.answers) assert.ok([200, 429].includes(each.status), `${each.status} ${each.code}`);
      const part = demand.part(promise.rate, 1.5);
      t.diagnostic(`${part.toFixed(3)} of the rate`);
      assert.ok(part >= least, `${part} of the rate`);
    });
  }
});

const ask = (node, key) => node.ask('GET', '/users?limit=1', { key });

test('one limit is one on all nodes: what is used up on one is used up on the others', async () => {
  const key = await makeKey([{ name: 'day', limit: 4, window_seconds: 86400 }]);
  for (const node of cluster.nodes) {
    const answer = await ask(node, key);
    assertStatus(answer, 200);
    assert.match(answer.headers.get('ratelimit'), /^"day";r=[0-3];/);
  }
  await sleep(1500); // the last token counts once those before it can certainly not be spent any more
  assertStatus(await ask(two, key), 200);
  for (const node of cluster.nodes) {
    const answer = await ask(node, key);
    assertStatus(answer, 429, 'rate_limited');
    assert.ok(Number(answer.headers.get('retry-after')) > 21000);
  }
});

test('a key that is verified is charged in the same way, by its cost', async () => {
  const key = await makeKey([{ name: 'day', limit: 12, window_seconds: 86400 }]);
  const verify = async (node, cost) => {
    const answer = await node.ask('POST', '/keys/verify', { body: { key, cost } });
    assertStatus(answer, 200);
    return answer.json.code;
  };
  assert.equal(await verify(one, 7), 'VALID');
  // At most 5 are left, and fewer where the first node has leased some ahead, which are lost if it does not spend them.
  assert.equal(await verify(two, 6), 'RATE_LIMITED');
  assert.equal(await verify(three, 0), 'VALID');
  assert.equal(await verify(three, 6), 'RATE_LIMITED');
});

test('a request waits for tokens and for its position, and a key in use waits for none, which the metrics tell', async () => {
  const key = await makeKey();
  const waits = () => metric(two, 'latchkey_cluster_token_wait_seconds_count');
  const begin = await waits();
  const written = await one.ask('POST', '/users', { body: newUser() });
  const read = await two.ask('GET', `/users/${written.json.id}`, { key, ...consistent(tokenOf(written)) });
  assertStatus(read, 200);
  assert.equal(await waits(), begin + 1);
  await new Demand([[two, 50]], key).run(1);
  const middle = await waits();
  await new Demand([[two, 50]], key).run(1);
  assert.ok((await waits()) - middle <= 1, 'what is leased ahead is there in time');
  for (const name of ['token_asks', 'tokens_granted']) assert.ok((await metric(two, `latchkey_cluster_${name}_total`)) > 0, name);
});

test('a limit that was changed holds from the next request on, on every node', async () => {
  const { id, key } = await newKey();
  for (const node of cluster.nodes) assertStatus(await ask(node, key), 200);
  const change = { rate_limits: [{ ...limit, limit: 1, window_seconds: 3600, burst: 1 }] };
  assertStatus(await one.ask('PATCH', `/keys/${id}`, { body: change, type: 'application/merge-patch+json' }), 200);
  const statuses = [];
  for (const node of [...cluster.nodes, ...cluster.nodes]) {
    const { status, headers } = await ask(node, key);
    assert.equal(headers.get('ratelimit-policy'), '"second";q=1;w=3600');
    statuses.push(status);
  }
  assert.ok(statuses.filter((each) => each === 200).length <= 1, statuses.join());
});

test('without PostgreSQL: what was leased ahead, the share of the node, then 503', async (t) => {
  const [key, small] = [await makeKey(), await makeKey([{ name: 'minute', limit: 60, window_seconds: 60 }])];
  await new Demand([[one, 50]], key).run(1);
  assertStatus(await one.ask('GET', '/users?limit=1', { key: small }), 200);
  const demand = new Demand([[one, 150]], key);
  const running = demand.run(leaseSeconds + 2.5);
  await sleep(500); // tokens are leased ahead for what is asked
  const away = performance.now();
  await postgres.kill();
  const gone = performance.now(); // on a busy machine its end takes a while
  await sleep(1500); // what it has of the other key is used up
  const share = await one.ask('GET', '/users?limit=1', { key: small });
  assertStatus(share, 503, 'behind');
  assert.equal(share.headers.get('retry-after'), '1');
  await running;
  demand.assertWithin(promise);
  // From a second after the last question until the lease ends, from a bucket with a 32nd part of the burst.
  const [from, to] = [gone + 1200, away + (leaseSeconds - 1) * 1000];
  const admitted = demand.admitted(from, to);
  const most = promise.burst / 32 + ((promise.rate / 3) * (to - from)) / 1000;
  t.diagnostic(`${admitted} requests of the share's ${most.toFixed(0)}`);
  assert.ok(admitted <= most && admitted > most * 0.8, `${admitted} requests of the share's ${most}`);
  const last = demand.answers.filter((each) => each.sent > away + leaseSeconds * 1000 + 300);
  assert.ok(last.length > 50);
  for (const each of last) assert.equal(`${each.status} ${each.code}`, '503 behind');
  assert.ok((await metric(one, 'latchkey_cluster_share_requests_total')) >= admitted);
  await postgres.start();
  await until(async () => (await one.ask('GET', '/users?limit=1', { key })).status === 200, 'the key is admitted again');
});

test('a node that stops answers the requests that wait for tokens', async () => {
  await Promise.all(cluster.nodes.map((each) => each.ready()));
  const [small, left, used] = [await makeKey([{ name: 'minute', limit: 60, window_seconds: 60 }]), await makeKey(), await makeKey()];
  await until(async () => (await ask(three, used)).status === 200, 'tokens are granted again');
  postgres.pause();
  const begin = performance.now();
  const leaver = three.client(left);
  const lost = leaver.get('/users?limit=1').catch(() => 'lost');
  const waiting = ask(three, small);
  await sleep(100); // both requests wait for tokens
  leaver.close();
  const stop = three.stop();
  assertStatus(await waiting, 503, 'behind');
  assert.ok(performance.now() - begin > 500, 'it has waited');
  postgres.resume();
  await stop;
  await lost;
});
