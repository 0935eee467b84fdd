// What the process gives up when it has started (src/server/confine.hpp). That what is forbidden is refused is asked in
// tests/server/confine_test.cpp; here, that the service runs so, whatever it does, and that it can be told not to.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { assertStatus, binary, newUser, sleep, startServer } from './harness.mjs';

// A sanitizer's build runs without the filter.
const sanitized = ['__asan_init', '__tsan_init'].some((name) => fs.readFileSync(binary).includes(name));

const threads = (pid) => fs.readdirSync(`/proc/${pid}/task`);
function status(pid, thread = pid) {
  const lines = fs.readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2)));
}

async function withServer(options, act) {
  const server = await startServer(options);
  try {
    await act(server);
  } finally {
    await server.stop();
  }
}

describe('the process', () => {
  test('has no capability, can get none, and is filtered in every thread', { skip: sanitized }, () => withServer({}, (server) => {
    const all = threads(server.pid);
    assert.ok(all.length >= 6, `threads: ${all.length}`);
    for (const thread of all) {
      const { CapEff, CapPrm, CapInh, CapAmb, NoNewPrivs, Seccomp, Name } = status(server.pid, thread);
      for (const set of [CapEff, CapPrm, CapInh, CapAmb]) assert.match(set, /^0+$/, Name);
      assert.equal(NoNewPrivs, '1', Name);
      assert.equal(Seccomp, '2', Name);
    }
  }));

  test('hides its memory from all but root', { skip: sanitized }, () => withServer({}, (server) => {
    assert.equal(fs.statSync(`/proc/${server.pid}/mem`).uid, 0);
    if (process.getuid() === 0) return;
    assert.throws(() => fs.readFileSync(`/proc/${server.pid}/maps`), /EACCES|EPERM/);
  }));

  test('does all that it must under the filter: writes, reloads, reopens its log, stops', () => withServer(
    { management: '127.0.0.1:0', config: '[http]\nbody_bytes = 65536\n' }, async (server) => {
      const { key } = await server.makeKey();
      const client = server.client(key);
      for (let i = 0; i < 20; i += 1) assertStatus(await client.post('/users', newUser()), 201);
      fs.renameSync(server.log, `${server.log}.1`);
      server.child.kill('SIGHUP');
      for (let i = 0; i < 400 && !/reloaded the configuration/.test(server.stderr); i += 1) await sleep(10);
      assert.match(server.stderr, /reloaded the configuration/);
      assertStatus(await client.get('/users'), 200);
      client.close();
      await sleep(500);
      assert.ok(fs.existsSync(server.log), 'the log was opened anew');
    },
  ));

  test('is not filtered and can be looked at with confined = false, but has no capability then either', () => withServer(
    { config: 'confined = false\n' }, (server) => {
      const { CapEff, NoNewPrivs, Seccomp } = status(server.pid);
      assert.match(CapEff, /^0+$/);
      assert.equal(NoNewPrivs, '1');
      assert.equal(Seccomp, status(process.pid).Seccomp, 'what it was started with');
      assert.equal(fs.statSync(`/proc/${server.pid}/mem`).uid, process.getuid());
    },
  ));
});
