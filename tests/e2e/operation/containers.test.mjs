// Two containers over one data directory: each has a first process with id 1, and LMDB identifies its readers by process id.
// A process id namespace is all that these tests need of a container.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, command, makeKey, newUser, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';

const container = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const tried = spawnSync(container[0], [...container.slice(1), 'true'], { encoding: 'utf8' });
const skip = tried.status === 0 ? false : `no namespace of process numbers: ${tried.error?.code ?? tried.stderr.trim()}`;

// The process id of the program itself, below `unshare`, outside of the namespace.
function firstOf(pid) {
  return Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

async function stop(server) {
  process.kill(firstOf(server.pid), 'SIGTERM');
  assert.deepEqual(await server.exited, { code: 0, signal: null }, server.stderr);
}

function start(...words) {
  const [program, ...rest] = [...container, binary, ...words];
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  const instance = { child, stderr: '', stdout: '', exited: once(child, 'exit') };
  child.stderr.setEncoding('utf8').on('data', (text) => { instance.stderr += text; });
  instance.read = () => child.stdout.setEncoding('utf8').on('data', (text) => { instance.stdout += text; });
  return instance;
}

async function run(...words) {
  const instance = start(...words);
  instance.read();
  const [code] = await once(instance.child, 'close'); // it has ended, and all that it wrote is there
  return { ...instance, code };
}

// An export that keeps the store open until its output is read.
async function blockedExport(data) {
  const blocked = start('export', '-', '--data', data, '--quiet');
  const file = fs.realpathSync(path.join(data, 'store.mdb-lock'));
  for (const limit = Date.now() + 30_000; ;) {
    assert.equal(blocked.child.exitCode, null, blocked.stderr);
    const first = firstOf(blocked.child.pid);
    const storeOpen = first > 0 && fs.readdirSync(`/proc/${first}/fd`).some((fd) => fs.readlinkSync(`/proc/${first}/fd/${fd}`) === file);
    const waits = first > 0 && /pipe|sock|unix/.test(fs.readFileSync(`/proc/${first}/wchan`, 'utf8'));
    if (storeOpen && waits) return blocked;
    assert.ok(Date.now() < limit, 'the export waits for its reader');
    await sleep(20);
  }
}

async function filled() {
  const data = path.join(temporaryFolder(), 'data');
  await makeKey(data);
  assert.equal((await command('seed', '--data', data, '--users', '20000', '--posts', '0')).code, 0);
  return data;
}

describe('two containers over one store', { skip }, () => {
  test('report the conflict, and work within one namespace', async () => {
    const data = path.join(temporaryFolder(), 'data');
    const { key } = await makeKey(data);
    const server = await startServer({ data, under: container });
    const user = await server.client(key).create('/users', newUser());
    for (const words of [['keys', 'list'], ['backup', path.join(temporaryFolder(), 'copy')], ['export', '-'], ['audit'],
      ['keys', 'create', '--name', 'second']]) {
      const startTime = Date.now();
      const { code, stdout, stderr } = await run(...words, '--data', data);
      assert.equal(code, 1, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /a process of another container has the store in .* open and the same number as this one, 1, .*podman exec.*--pid=container:NAME/);
      assert.ok(Date.now() - startTime < 5000, 'no command waits for a server to end');
    }
    // It reads the store in a separate process, which has another id.
    assert.equal((await run('check', '--data', data)).code, 0);
    const second = await run('serve', '--data', data, '--listen', 'http://127.0.0.1:0', '--management', 'off');
    assert.equal(second.code, 1);
    assert.match(second.stderr, /another server \(process 1\) serves/);

    // With separate process ids, and with shared ones.
    assert.equal((await command('export', '-', '--data', data, '--quiet')).stdout.split('\n').length, 2);
    const insideRun = spawnSync('nsenter', ['--target', String(firstOf(server.pid)), '--pid', '--mount', binary, 'export', '-', '--data', data, '--quiet'],
      { encoding: 'utf8' });
    assert.equal(insideRun.status, 0, insideRun.stderr);
    assert.equal(JSON.parse(insideRun.stdout).email, user.email);
    await stop(server);
  });

  test('wait for a command to end', async () => {
    const data = await filled();
    const blocked = await blockedExport(data);
    const list = run('keys', 'list', '--data', data);
    const starting = startServer({ data, under: container });
    await sleep(2000); // both have begun, and wait
    assert.equal(blocked.child.exitCode, null);
    blocked.read();
    assert.deepEqual(await blocked.exited, [0, null]);
    const listed = await list;
    assert.match(listed.stderr, /waiting for a process of another container that has the store in .* open and the same number, 1/);
    const server = await starting.catch((error) => assert.fail(error));
    // The list may have come after the server.
    assert.ok(listed.code === 0 || /the same number as this one/.test(listed.stderr), listed.stderr);
    assert.match(server.stderr, /waiting for a process of another container/);
    assert.doesNotMatch(server.stderr, /bug/);
    await stop(server);
  });
});
