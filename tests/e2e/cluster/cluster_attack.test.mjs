// One key floods one node of a cluster with all that it may, over a PostgreSQL that is slow: what others ask there and at the
// other nodes is answered, and what they write is written (docs/api.md §15).

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Cluster, consistent, tokenOf } from '../helpers/cluster_harness.mjs';
import { Postgres, port } from '../helpers/cluster_postgres.mjs';
import { assertStatus, newUser } from '../helpers/harness.mjs';
import { beginProxyThread } from '../helpers/tcp_proxy_thread.mjs';

const latency = 25; // of each way to PostgreSQL, in milliseconds
const postgres = await Postgres.begin();
let cluster;
let proxy;
before(async () => {
  proxy = await beginProxyThread(path.join(postgres.folder, `.s.PGSQL.${port}`), { latency });
  postgres.addressFor = (name, database) => `host=127.0.0.1 port=${proxy.port} user=latchkey dbname=${database}`;
  cluster = await Cluster.begin(postgres, { leaseSeconds: 15 });
});
after(() => cluster?.stop());
after(() => postgres.stop());
after(() => proxy?.end());

// Asks as fast as it is answered, from several connections, until `stop`.
function flood(node, key, count, request) {
  const statuses = {};
  let stopping = false;
  const clients = Array.from({ length: count }, async () => {
    const client = node.client(key);
    while (!stopping) {
      const { status } = await request(client);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    client.close();
  });
  return async () => {
    stopping = true;
    await Promise.all(clients);
    return statuses;
  };
}

describe('while a key floods a node', () => {
  const body = 'x'.repeat(16_000);
  let user;
  before(async () => {
    const author = await cluster.nodes[0].ask('POST', '/users', { body: newUser() });
    assertStatus(author, 201);
    user = author.json.id;
    for (const each of cluster.nodes) assertStatus(await each.ask('GET', `/users/${user}`, consistent(tokenOf(author))), 200);
  });
  const ways = {
    'with writes': { count: 24, key: {}, request: (client) => client.post('/posts', { user_id: user, title: 't', body }) },
    'beyond its limits': { count: 24, key: { rate_limits: [{ name: 'hour', limit: 3600, window_seconds: 3600, burst: 1 }] },
      request: (client) => client.get('/users?limit=1') },
    'with reads': { count: 24, key: {}, request: (client) => client.get('/users?limit=100') },
  };
  for (const [way, { count, key, request }] of Object.entries(ways)) {
    test(`${way}, others read, write and are limited there and elsewhere`, async (t) => {
      const greedy = await cluster.makeKey({ scopes: ['*'], ...key });
      const modest = await cluster.makeKey({ scopes: ['*'] });
      const limited = await cluster.makeKey({ scopes: ['*'], rate_limits: [{ name: 'second', limit: 600, window_seconds: 60, burst: 60 }] });
      const stop = flood(cluster.nodes[0], greedy.key, count, request);
      const longest = {};
      let statuses;
      try {
        await Promise.all(cluster.nodes.map(async (node) => {
          const ask = async (kind, status, ...words) => {
            const begin = performance.now();
            const answer = await node.ask(...words);
            const label = `${kind} at ${node.name}`;
            longest[label] = Math.max(longest[label] ?? 0, Math.round(performance.now() - begin));
            assert.equal(answer.status, status, `${label}: ${answer.body}`);
            return answer;
          };
          for (let i = 0; i < 20; i += 1) {
            await ask('read', 200, 'GET', '/users?limit=10', { key: modest.key });
            await ask('limited', 200, 'GET', '/users?limit=1', { key: limited.key });
            if (i % 4 === 0) await ask('write', 201, 'POST', '/users', { key: modest.key, body: newUser() });
          }
          const key = await ask('key', 201, 'POST', '/keys', { key: modest.key, body: { name: 'short', scopes: ['users:read'] } });
          await ask('deactivation', 200, 'POST', `/keys/${key.json.id}/deactivate`, { key: modest.key });
        }));
      } finally {
        statuses = await stop();
      }
      t.diagnostic(`${JSON.stringify(statuses)}; at most ${JSON.stringify(longest)} ms`);
    });
  }

  test('nodes agree after that', async () => {
    await cluster.assertEqual();
  });
});
