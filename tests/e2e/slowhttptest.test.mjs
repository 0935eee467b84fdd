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
import { besieged, connections, crowd, measured, resident } from './siege.mjs';

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

async function slow(scheme, name, words, target) {
  const report = path.join(folder, `${scheme}-${name}`);
  const { host, port } = server.at(scheme);
  const { stdout } = await run('slowhttptest', [...words, '-c', String(crowd), '-r', String(rate), '-i', '1', '-p', '5', '-l', '150',
    '-u', `${scheme}://${host}:${port}${target}`, '-g', '-o', report], { maxBuffer: 64 << 20, timeout: 200_000 });
  const text = stdout.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '');
  const rows = fs.readFileSync(`${report}.csv`, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map(Number));
  return { why: /Exit status: *(.*)/.exec(text)?.[1]?.trim(), most: Math.max(...rows.map(([, , , connected]) => connected)),
    lasted: Number(/Test ended on ([0-9]+)/.exec(text)?.[1]), available: rows.every((row) => row[4] === 100) };
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
      const beside = await besieged(server, key, async () => { seen = await slow(scheme, name, words, target); });
      clearInterval(timer);
      t.diagnostic(`${crowd} connections, ${seen.most} at once, over after ${seen.lasted} s (${seen.why}), ${Math.round((most - before) / crowd)} bytes each; ${beside}`);
      assert.equal(seen.why, 'No open connections left', 'all were closed by the server');
      // It takes a while to open them, and counts in whole seconds.
      assert.ok(seen.lasted <= limit + 1 + Math.ceil(crowd / rate) + 1, `closed within their limit of ${limit} s and a second`);
      assert.ok(seen.available, 'the service was there all the time');
      assert.ok(most - before < crowd * (384 << 10) + (16 << 20), `${most - before} bytes of memory for all of them`);
      assert.equal(await connections(server, 0), 0, 'connections that are still there');
    });
  }
}
