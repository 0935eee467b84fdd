// tools/cluster as a reader would run it: the line that it prints works as printed, also after a node was killed, Ctrl-C ends
// everything, and the next start goes on with the same data.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../helpers/cluster_harness.mjs';
import { binary, run, temporaryFolder } from '../helpers/harness.mjs';

const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const offsets = [0, 1, 2, 3, 11, 12, 13, 21, 22, 23]; // of the ports that it takes

const isFree = (port) => new Promise((resolve) => {
  const probe = net.createServer().once('error', () => resolve(false));
  probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
});
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if ((await Promise.all(offsets.map((each) => isFree(port + each)))).every(Boolean)) return port;
  }
}

async function start(data, port) {
  const child = spawn(path.join(top, 'tools/cluster'), ['--port', String(port), '--program', binary], {
    env: { ...process.env, LATCHKEY_CLUSTER: data }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  process.on('exit', () => child.kill('SIGTERM'));
  const script = { child, text: '' };
  child.stderr.setEncoding('utf8').on('data', (text) => { script.text += text; });
  await until(() => /Stop with Ctrl-C/.test(script.text) || child.exitCode !== null, 'the cluster serves', 120_000);
  assert.equal(child.exitCode, null, script.text);
  script.curl = /^ {2}(curl .*)$/m.exec(script.text)[1];
  script.status = /^ {2}(\S+ cluster status .*)$/m.exec(script.text)[1];
  return script;
}

async function stop({ child }) {
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
}

const shell = async (line) => (await run('bash', ['-c', line])).stdout;
const create = (script, name) => shell(`${script.curl} -fsS --json '{"name":"${name}","email":"${name}@example.org"}'`);
// A killed process listens on for some ms, until the kernel has taken its ring apart. The proxy may hand a client to it in that time,
// and the client sees its handshake end (curl's codes 7 and 35): nothing was sent, so it may ask again.
const createBeside = (script, name) => until(() => create(script, name).then(() => true, (error) => {
  if (error.code !== 7 && error.code !== 35) throw error;
  return false;
}), `${name} is created`);
// Another node may read some ms later than the one that was written to.
const shows = (script, list) => until(async () => `${await names(script)}` === list, `${list} is read`);
const names = async (script) => JSON.parse(await shell(`${script.curl} -fsS`)).data.map((each) => each.name);

test('one command starts a cluster, whose lines work as printed, and Ctrl-C ends it', async (t) => {
  const folder = temporaryFolder();
  fs.chmodSync(folder, 0o755); // for root's PostgreSQL, which runs as another user
  const data = path.join(folder, 'cluster');
  const port = await freePort();
  const begin = performance.now();
  let script = await start(data, port);
  t.diagnostic(`served after ${Math.round(performance.now() - begin)} ms`);
  assert.match(script.text, /Your first key, shown only once[^\n]*:\n\n {2}[0-9A-Za-z]{48}\n/);
  t.after(() => script.child.kill('SIGINT')); // where something has failed
  await create(script, 'ada');
  await shows(script, 'ada');
  assert.match(await shell(script.status), /^two +serving/m);

  const [, two] = /^ {2}([0-9]+), the node two$/m.exec(script.text);
  process.kill(Number(two), 'SIGKILL');
  await createBeside(script, 'grace'); // by another node
  await until(() => /the node two has ended, and is started again/.test(script.text), 'it is started again');
  await until(async () => (await run('curl', ['-sS', `http://127.0.0.1:${port + 12}/readyz`]).catch(() => ({ stdout: '' }))).stdout.includes('"ready"'), 'it is ready');
  await stop(script);
  assert.ok((await Promise.all(offsets.map((each) => isFree(port + each)))).every(Boolean), 'nothing of it runs any more');

  script = await start(data, port);
  assert.doesNotMatch(script.text, /first key/);
  await shows(script, 'ada,grace');
  await stop(script);
});
