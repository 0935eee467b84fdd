// Starting with too few resources: the program exits with 1 and an error message, or it runs.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../helpers/cluster_harness.mjs';
import { binary, command, startServer, temporaryFolder } from '../helpers/harness.mjs';

// Serves until it listens, under limits that prlimit(1) sets.
function serveUnder(...limits) {
  const child = spawn('prlimit', [...limits, binary, 'serve', '--data', path.join(temporaryFolder(), 'data'),
    '--listen', 'http://127.0.0.1:0', '--management', 'off', '--access-log', 'off', '--workers', '2'],
  { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  let listened = false;
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text;
    if (!listened && output.includes('listening on')) listened = child.kill('SIGTERM');
  });
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, said: output, listened })));
}

describe('starting', () => {
  // The first descriptor that is not available may be the probe's, the store's, a socket's or a ring's.
  test('with any number of descriptors it runs, or says that it is short of them', async () => {
    let refusals = 0;
    let ran = false;
    for (let count = 4; count < 60 && !ran; count++) {
      const { code, signal, said: output, listened } = await serveUnder(`--nofile=${count}:${count}`);
      assert.equal(signal, null, `${count}: ${output}`);
      assert.equal(code, listened ? 0 : 1, `${count}: ${output}`);
      if (!listened) {
        refusals++;
        assert.match(output, /descriptor|open files/i, `${count}: ${output}`);
      }
      ran = listened;
    }
    assert.ok(ran, 'it never ran');
    assert.ok(refusals > 10, `only ${refusals} were too few`);
  });

  // A service with each of these would wait for a writer, deaf to SIGTERM.
  test('with a pipe into which nobody writes it ends, and names the pipe', async () => {
    const folder = temporaryFolder();
    const pipe = path.join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const serve = (...words) => command('serve', '--data', path.join(temporaryFolder(), 'data'), '--listen', 'https://127.0.0.1:0', '--management', 'off',
      ...words);
    const ends = await Promise.all([['--config', pipe], ['--keys-first-key-file', pipe], ['--store-master-key-file', pipe],
      ['--tls-certificate', pipe, '--tls-key', pipe]].map((words) => serve(...words)));
    for (const { code, stderr } of ends) {
      assert.ok([1, 78].includes(code), `${code}: ${stderr}`);
      assert.match(stderr, new RegExp(`${pipe} is a pipe that nobody has written to its end in time`));
    }
  });
});

// Linux gives the children of processes that ended to the nearest subreaper, as to process 1 of a container.
const subreaper = `
import ctypes, os, sys
if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0: sys.exit('no subreaper')
if os.fork() == 0:
    orphan = os.fork()
    if orphan == 0:
        os.closerange(0, 3)
        os.open(sys.argv[1], os.O_RDONLY)  # waits for a writer
        os._exit(0)
    with open(sys.argv[2], 'w') as file: file.write(str(orphan))
    os._exit(0)
os.wait()
os.execv(sys.argv[3], sys.argv[3:])
`;

test('as process 1 would, it takes orphans and leaves no zombie of them', async () => {
  const folder = temporaryFolder();
  const [pipe, note] = ['pipe', 'note'].map((name) => path.join(folder, name));
  execFileSync('mkfifo', [pipe]);
  const server = await startServer({ under: ['python3', '-c', subreaper, pipe, note] });
  const orphan = Number(fs.readFileSync(note, 'utf8'));
  const parent = () => Number(/^PPid:\s+([0-9]+)$/m.exec(fs.readFileSync(`/proc/${orphan}/status`, 'utf8'))[1]);
  assert.equal(parent(), server.pid, 'it has the orphan');
  fs.writeFileSync(pipe, '');
  await until(() => !fs.existsSync(`/proc/${orphan}`), 'the orphan is gone');
  await server.stop();
});
