// Starting with too few resources: the program exits with 1 and an error message, or it runs.

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
});
