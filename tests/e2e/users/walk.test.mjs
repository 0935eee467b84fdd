// Walks a long list by cursor while posts are created and deleted: none that existed throughout is skipped, none is listed
// twice. 30,000 posts, or a million with --rounds 1000 and more.

import assert from 'node:assert/strict';
import http from 'node:http';
import path from 'node:path';
import { after, test } from 'node:test';
import { assertStatus, below, command, startServer, temporaryFolder } from '../helpers/harness.mjs';
import { Headers } from '../helpers/wire.mjs';

const count = Number(process.env.E2E_ROUNDS ?? 0) >= 1000 ? 1_000_000 : 30_000;
const data = path.join(temporaryFolder(), 'data');
const seeded = await command('seed', '--data', data, '--users', '1000', '--posts', String(count), '--json');
assert.equal(seeded.code, 0, seeded.stderr);
const server = await startServer({ data });
const { key } = await server.makeKey();
const api = server.client(key);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
after(async () => {
  agent.destroy();
  api.close();
  await server.stop();
});

// On one connection of Node's client; each page is checked against the contract like other responses.
function page(target) {
  const { host, port } = server.urls.find(({ scheme }) => scheme === 'http');
  return new Promise((resolve, reject) => {
    http.get({ host, port, agent, path: `/api/v1${target}`, headers: { 'X-API-Key': key } }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        try {
          const body = Buffer.concat(parts);
          const response = { status: answer.statusCode, method: 'GET', headers: new Headers(Object.entries(answer.headers)), body };
          server.contract.check({ method: 'GET', target: `/api/v1${target}` }, response);
          assert.equal(answer.statusCode, 200);
          resolve(JSON.parse(body));
        } catch (wrong) {
          reject(wrong);
        }
      });
    }).on('error', reject);
  });
}

test(`${count.toLocaleString('en')} posts by cursor, while others come and go`, async (t) => {
  const { pagination: { total } } = await page('/posts?limit=1');
  assert.equal(total, count);
  const deletedIds = new Set();
  let walking = true;
  const changes = (async () => {
    let changeCount = 0;
    while (walking) {
      const { id } = await api.create('/posts', { user_id: 1 + (changeCount % 1000), title: 'a post beside the walk' });
      if (changeCount % 2 === 0) assertStatus(await api.delete(`/posts/${id}`), 204);
      const old = 1 + below(count);
      if (!deletedIds.has(old)) {
        deletedIds.add(old);
        assertStatus(await api.delete(`/posts/${old}`), 204);
      }
      changeCount += 1;
    }
    return changeCount;
  })();

  const visits = new Uint8Array(count + 1);
  const times = [];
  let last = 0;
  for (let cursor = null; ;) {
    const began = performance.now();
    const { data: posts, pagination } = await page(`/posts?limit=100${cursor === null ? '' : `&cursor=${cursor}`}`);
    times.push(performance.now() - began);
    for (const { id } of posts) {
      assert.ok(id > last, `${id} comes behind ${last}`);
      last = id;
      if (id <= count) visits[id] = 1;
    }
    cursor = pagination.next_cursor;
    if (cursor === null) break;
  }
  walking = false;
  const writeCount = await changes;
  const skipped = [];
  for (let id = 1; id <= count; id += 1) if (visits[id] === 0 && !deletedIds.has(id)) skipped.push(id);
  assert.deepEqual(skipped, []);
  assert.ok(writeCount > 0 && deletedIds.size > 0);

  const part = Math.ceil(times.length / 20);
  const typical = (some) => [...some].sort((a, b) => a - b)[Math.floor(some.length / 2)].toFixed(2);
  t.diagnostic(`${times.length} pages, ${writeCount} posts made and ${deletedIds.size} deleted meanwhile; `
    + `a page at the beginning ${typical(times.slice(0, part))} ms, at the end ${typical(times.slice(-part))} ms`);
});
