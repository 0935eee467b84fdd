// Debian's slowhttptest in each of its modes: slow headers, slow bodies, many ranges, slow reading. Every connection is closed
// within its limit and a second, and a well-behaved client beside them loses no request.
//
//     node run.mjs --binary FILE --rounds 4000 slowhttptest     4,000 connections instead of 200, and with the default limits of
//                                                               the service; then p99 is checked too

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newUser, run, startServer, temporaryFolder } from '../helpers/harness.mjs';
import { accepted, withNeighbour, connections, crowd, openSockets, measured, resident } from '../helpers/load_clients.mjs';

// The limits of docs/api.md, or a fifth of them.
const seconds = measured ? { header: 10, body: 30, idle: 60, handshake: 10, send: 30 } : { header: 2, body: 4, idle: 6, handshake: 2, send: 4 };
const folder = temporaryFolder();

async function startTarget() {
  const server = await startServer({
    management: '127.0.0.1:0',
    config: `[http]\n${Object.entries(seconds).map(([name, value]) => `${name}_seconds = ${value}\n`).join('')}`,
  });
  const { key } = await server.makeKey();
  const client = server.client(key);
  await client.create('/users', newUser());
  client.close();
  return { server, key };
}

// All connections are opened within a second or, measured, within four.
const rate = measured ? 1000 : crowd;
const opening = Math.ceil(crowd / rate);

// The program does not always notice the end of a connection, so the test asks the server's kernel. A few connections belong
// to the client beside them, and to the program's own health checks.
const others = 4;
async function slow(server, scheme, name, words, target, limit) {
  const report = path.join(folder, `${scheme}-${name}`);
  const { host, port } = server.at(scheme);
  const startTime = Date.now();
  const statistics = { most: 0, lasted: 0, opened: 0 };
  const acceptedBefore = await accepted(server);
  const timer = setInterval(async () => {
    const open = openSockets(port);
    statistics.most = Math.max(statistics.most, open);
    const now = (Date.now() - startTime) / 1000;
    if (open > others) statistics.lasted = now;
    if (statistics.opened === 0 && await accepted(server) - acceptedBefore >= crowd) statistics.opened = now;
  }, 100);
  await run('slowhttptest', [...words, '-c', String(crowd), '-r', String(rate), '-i', '1', '-p', '5', '-l', String(limit + 3 * opening + 3),
    '-u', `${scheme}://${host}:${port}${target}`, '-g', '-o', report], { maxBuffer: 64 << 20, timeout: 200_000 });
  clearInterval(timer);
  // Connections that are answered at once end before the first look.
  if (statistics.opened === 0 && await accepted(server) - acceptedBefore >= crowd) statistics.opened = (Date.now() - startTime) / 1000;
  const rows = fs.readFileSync(`${report}.csv`, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map(Number));
  return { ...statistics, available: rows.every((row) => row[4] > 0) };
}

const modes = [
  // Its name, the program's arguments, the target, and the limit that applies.
  ['headers', ['-H', '-x', '24'], '/api/v1/users', seconds.header],
  ['bodies', ['-B', '-s', '8192', '-x', '10', '-f', 'application/json'], '/api/v1/users', seconds.body],
  ['ranges', ['-R', '-a', '10', '-b', '3000'], '/openapi.json', seconds.body],
  ['reading', ['-X', '-w', '512', '-y', '1024', '-n', '5', '-z', '32', '-k', '3'], '/openapi.json', seconds.send],
];
// Over both at once, each on a service of its own; latencies are judged one after the other.
describe('slowhttptest', { concurrency: !measured }, () => {
  for (const scheme of ['http', 'https']) {
    describe(scheme, { concurrency: false }, () => {
      let server, key;
      before(async () => {
        ({ server, key } = await startTarget());
      });
      after(() => server.stop());
      for (const [name, words, target, limit] of modes) {
        test(`slow ${name}, ${scheme}`, async (t) => {
          const baseline = resident(server.pid);
          let most = baseline;
          const timer = setInterval(() => { most = Math.max(most, resident(server.pid)); }, 50);
          let outcome;
          const clientReport = await withNeighbour(server, key, async () => { outcome = await slow(server, scheme, name, words, target, limit); });
          clearInterval(timer);
          t.diagnostic(`${crowd} connections, ${outcome.most} at once, all there after ${outcome.opened} s and gone after ${outcome.lasted} s, ${Math.round((most - baseline) / crowd)} bytes each; ${clientReport}`);
          assert.ok(outcome.opened > 0, 'all of them came');
          // They are polled ten times a second, by a process with other work.
          assert.ok(outcome.lasted - outcome.opened <= limit + 1.5, `the last was there ${outcome.opened} s after the first and gone after ${outcome.lasted} s, and may ${limit} s and a second`);
          assert.ok(outcome.available, 'the service was there all the time');
          assert.ok(most - baseline < crowd * (768 << 10) + (16 << 20), `${most - baseline} bytes of memory for all of them`);
          assert.equal(await connections(server, 0), 0, 'connections that are still there');
        });
      }
    });
  }
});
