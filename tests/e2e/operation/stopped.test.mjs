// Commands that are stopped (SIGSTOP, a paused container) while they hold the store's write lock: the service reports it and
// refuses writes, reads continue, and it recovers by itself.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, below, binary, message, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const hasLock = (pid, data) => {
  const lockPattern = new RegExp(`FLOCK +ADVISORY +WRITE ${pid} [0-9a-f]+:[0-9a-f]+:${fs.statSync(data).ino} `);
  return lockPattern.test(fs.readFileSync('/proc/locks', 'utf8'));
};

const isStopped = (pid) => /^State:\s+T/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));

// A command that is stopped within a transaction.
async function stoppedWriter(data, ...words) {
  const child = spawn(binary, [...words, '--data', data, '--quiet'], { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let tries = 0; tries < 5000; tries += 1) {
    assert.equal(child.exitCode, null, 'it is still at work');
    child.kill('SIGSTOP');
    await until(() => isStopped(child.pid), 'it stands still');
    if (hasLock(child.pid, data)) return child;
    child.kill('SIGCONT');
    await sleep(1 + below(10)); // the next stop comes at a moment that is drawn
  }
  throw new Error('it was never stopped within a transaction');
}

async function end(child) {
  child.kill('SIGKILL');
  child.kill('SIGCONT');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function look(server, target) {
  const [, host, port] = /management on ([0-9.]+):([0-9]+)/.exec(server.stderr);
  const [answer] = await once(http.get({ host, port, path: target, agent: false }), 'response');
  return { status: answer.statusCode, body: Buffer.concat(await answer.toArray()).toString() };
}

const inFlight = async (server) => Number(/^latchkey_requests_in_flight ([0-9]+)$/m.exec((await look(server, '/metrics')).body)[1]);

// A file of users, far more than are read before the test ends.
function manyUsers() {
  const file = path.join(temporaryFolder(), 'users');
  const lines = Array.from({ length: 300_000 }, (_, i) => `{"name":"n${i}","email":"n${i}@stopped.example.org"}\n`);
  fs.writeFileSync(file, lines.join(''));
  return file;
}

describe('a command that is stopped while it writes', () => {
  for (const words of [['import', manyUsers()], ['seed', '--yes', '--users', '300000', '--posts', '0']]) {
    test(`(${words[0]}) costs writes a 503 and nothing else, and then nothing`, async (t) => {
      const server = await startServer({ management: '127.0.0.1:0' });
      const { key } = await server.makeKey();
      const api = server.client(key);
      const writers = Array.from({ length: 8 }, () => server.client(key));
      const command = await stoppedWriter(server.data, ...words);
      const startTime = Date.now();
      const waiting = writers.map(async (each) => assertStatus(await each.post('/users', newUser()), 503, 'store_busy'));
      // And some whose client does not wait.
      for (let i = 0; i < 200; i += 1) {
        const wire = await server.connect();
        wire.send(message('POST', '/api/v1/users', { key, body: newUser() }));
        wire.close();
      }
      assertStatus(await api.get('/users?limit=1'), 200);
      await Promise.all(waiting);
      const waited = Date.now() - startTime;
      assert.ok(waited > 4000 && waited < 20_000, `${waited} ms`);

      for (let i = 0; i < 50; i += 1) {
        const requestTime = Date.now();
        const answer = await api.post('/users', newUser());
        assertStatus(answer, 503, 'store_busy');
        assert.ok(Number(answer.headers.get('retry-after')) >= 1);
        assert.ok(Date.now() - requestTime < 4000, 'at once');
        assertStatus(await api.get('/users?limit=1'), 200);
      }
      assert.ok(await inFlight(server) <= 1, 'nothing piles up');
      const ready = await look(server, '/readyz');
      assert.equal(ready.status, 503);
      assert.match(ready.body, new RegExp(`"store":"process ${command.pid} has held the write lock for [0-9]+ s"`));
      assert.equal((await look(server, '/livez')).status, 200);
      assert.match(server.stderr, new RegExp(`process ${command.pid} has been writing to the store`));

      command.kill('SIGCONT');
      const free = Date.now();
      for (;;) {
        const answer = await api.post('/users', newUser());
        if (answer.status === 201) break;
        assertStatus(answer, 503, 'store_busy');
        assert.ok(Date.now() - free < 15_000, 'it is well again');
        await sleep(10);
      }
      t.diagnostic(`refused after ${waited} ms, well again after ${Date.now() - free} ms`);
      assert.equal((await look(server, '/readyz')).status, 200);
      await end(command);
      for (const each of [api, ...writers]) each.close();
      await server.stop();
    });
  }

  test('keeps no service from ending in time, or from starting', async () => {
    let server = await startServer({ args: ['--stop-grace-seconds', '1'] });
    const { key } = await server.makeKey();
    const api = server.client(key);
    const user = await api.create('/users', newUser());
    const command = await stoppedWriter(server.data, 'seed', '--yes', '--users', '300000', '--posts', '0');
    const waiting = server.client(key);
    const lost = waiting.post('/users', newUser()).then((answer) => answer.status, () => 'ended');
    await sleep(200); // the request waits for the command
    const requestTime = Date.now();
    await server.stop({ within: 10_000 });
    const took = Date.now() - requestTime;
    assert.ok(took < 9000, `${took} ms`);
    assert.ok([503, 'ended'].includes(await lost), 'what was not stored is not acknowledged');
    server = await server.again();
    const laterClient = server.client(key);
    assert.deepEqual(await laterClient.read(`/users/${user.id}`), user);
    await end(command);
    await laterClient.create('/users', newUser());
    for (const each of [api, waiting, laterClient]) each.close();
    await server.stop();
  });
});
