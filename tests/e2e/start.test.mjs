// Starting where something is short: the program ends with a sentence and 1, or it runs.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, temporaryFolder } from './harness.mjs';

// Serves until it listens, under limits that prlimit(1) sets.
function serveUnder(...limits) {
  const child = spawn('prlimit', [...limits, binary, 'serve', '--data', path.join(temporaryFolder(), 'data'),
    '--listen', 'http://127.0.0.1:0', '--management', 'off', '--access-log', 'off', '--workers', '2'],
  { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  let listened = false;
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
    if (!listened && said.includes('listening on')) listened = child.kill('SIGTERM');
  });
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, said, listened })));
}

describe('starting', () => {
  // Whichever descriptor is the first that cannot be had: the probe's, the store's, a socket's, a worker's ring.
  test('with any number of descriptors it runs, or says that it is short of them', async () => {
    let refused = 0;
    let ran = false;
    for (let count = 4; count < 60 && !ran; count++) {
      const { code, signal, said, listened } = await serveUnder(`--nofile=${count}:${count}`);
      assert.equal(signal, null, `${count}: ${said}`);
      assert.equal(code, listened ? 0 : 1, `${count}: ${said}`);
      if (!listened) {
        refused++;
        assert.match(said, /descriptor|open files/i, `${count}: ${said}`);
      }
      ran = listened;
    }
    assert.ok(ran, 'it never ran');
    assert.ok(refused > 10, `only ${refused} were too few`);
  });
});
