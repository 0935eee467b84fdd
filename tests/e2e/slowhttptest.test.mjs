// The program that is made for it (Debian's slowhttptest), in each of its modes: slow headers, slow bodies, many ranges, slow
// reading. Every connection is closed within its limit and a second, and a client that behaves beside them loses nothing.
//
//     node run.mjs --binary FILE --rounds 4000 slowhttptest     4,000 connections instead of 200, and with the limits that the
//                                                               service has by itself; then p99 is judged too

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { newUser, run, startServer, temporaryFolder } from './harness.mjs';
import { accepted, besieged, connections, crowd, kept, measured, resident } from './siege.mjs';

// What API.md names, or a fifth of it.
const seconds = measured ? { header: 10, body: 30, idle: 60, handshake: 10, send: 30 } : { header: 2, body: 4, idle: 6, handshake: 2, send: 4 };
const folder = temporaryFolder();
const server = await startServer({
  management: '127.0.0.1:0',
  config: `[http]\n${Object.entries(seconds).map(([name, value]) => `${name}_seconds = ${value}\n`).join('')}`,
});
after(() => server.stop());
const { key } = await server.makeKey();
const client = server.client(key);
await client.create('/users', newUser());
client.close();

// All the connections come within a second or, measured, within four.
const rate = measured ? 1000 : crowd;
const opening = Math.ceil(crowd / rate);

// The program does not always notice the end of a connection, so the kernel is asked at our side. A few are those of the
// client beside them, and the ones by which the program looks whether the service is still there.
const others = 4;
async function slow(scheme, name, words, target, limit) {
  const report = path.join(folder, `${scheme}-${name}`);
  const { host, port } = server.at(scheme);
  const begun = Date.now();
  const seen = { most: 0, lasted: 0, opened: 0 };
  const came = await accepted(server);
  const timer = setInterval(async () => {
    const open = kept(port);
    seen.most = Math.max(seen.most, open);
    const now = (Date.now() - begun) / 1000;
    if (open > others) seen.lasted = now;
    if (seen.opened === 0 && await accepted(server) - came >= crowd) seen.opened = now;
  }, 100);
  await run('slowhttptest', [...words, '-c', String(crowd), '-r', String(rate), '-i', '1', '-p', '5', '-l', String(limit + 3 * opening + 3),
    '-u', `${scheme}://${host}:${port}${target}`, '-g', '-o', report], { maxBuffer: 64 << 20, timeout: 200_000 });
  clearInterval(timer);
  // What is answered at once is over before anybody looked.
  if (seen.opened === 0 && await accepted(server) - came >= crowd) seen.opened = (Date.now() - begun) / 1000;
  const rows = fs.readFileSync(`${report}.csv`, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map(Number));
  return { ...seen, available: rows.every((row) => row[4] > 0) };
}

const modes = [
  // Its name, what the program is told, whom it asks, and the limit that holds.
  ['headers', ['-H', '-x', '24'], '/api/v1/users', seconds.header],
  ['bodies', ['-B', '-s', '8192', '-x', '10', '-f', 'application/json'], '/api/v1/users', seconds.body],
  ['ranges', ['-R', '-a', '10', '-b', '3000'], '/openapi.json', seconds.body],
  ['reading', ['-X', '-w', '512', '-y', '1024', '-n', '5', '-z', '32', '-k', '3'], '/openapi.json', seconds.send],
];
for (const scheme of ['http', 'https']) {
  for (const [name, words, target, limit] of modes) {
    test(`slow ${name}, ${scheme}`, async (t) => {
      const before = resident(server.pid);
      let most = before;
      const timer = setInterval(() => { most = Math.max(most, resident(server.pid)); }, 50);
      let seen;
      const beside = await besieged(server, key, async () => { seen = await slow(scheme, name, words, target, limit); });
      clearInterval(timer);
      t.diagnostic(`${crowd} connections, ${seen.most} at once, all there after ${seen.opened} s and gone after ${seen.lasted} s, ${Math.round((most - before) / crowd)} bytes each; ${beside}`);
      assert.ok(seen.opened > 0, 'all of them came');
      // They are looked at ten times a second, by a process that has others to look at.
      assert.ok(seen.lasted - seen.opened <= limit + 1.5, `the last was there ${seen.opened} s after the first and gone after ${seen.lasted} s, and may ${limit} s and a second`);
      assert.ok(seen.available, 'the service was there all the time');
      assert.ok(most - before < crowd * (768 << 10) + (16 << 20), `${most - before} bytes of memory for all of them`);
      assert.equal(await connections(server, 0), 0, 'connections that are still there');
    });
  }
}
