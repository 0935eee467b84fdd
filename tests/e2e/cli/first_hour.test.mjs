// docs/first-hour.md, the recording of a first hour at a terminal: each command of it still works, and its exit code and the
// shape of its output are those of the document.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binary, temporaryFolder } from '../helpers/harness.mjs';

const top = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const text = fs.readFileSync(path.join(top, 'docs/first-hour.md'), 'utf8');

function check(document) {
  const file = path.join(temporaryFolder(), 'first-hour.md');
  fs.writeFileSync(file, document);
  return new Promise((resolve) => {
    execFile(path.join(top, 'tools/first-hour'), ['--binary', binary, '--document', file, '--check'], { timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr });
    });
  });
}

test('the recording is what the commands print now', async () => {
  const { code, stdout, stderr } = await check(text);
  assert.deepEqual([code, stdout, stderr], [0, '', '']);
});

test('it has the steps of a first hour', () => {
  for (const words of ['serv\n', 'serve 2>', 'keys create', 'keys verify', 'keys rotate', 'keys deactivate', 'usage --chart', 'webhooks create',
    'webhooks deliveries', 'backup', 'config show', 'health', 'audit --verify', 'changes', 'serve --take-over']) {
    assert.match(text, new RegExp(`^\\$ .*latchkey ${words}`, 'm'), words);
  }
  assert.match(text, /^429 "hour";r=0;t=\d+ \d+$/m, 'the limit is hit');
  assert.doesNotMatch(text, /\b[0-9A-Za-z]{48}\b|whsec_[0-9A-Za-z]/, 'no key is whole');
});

test('another exit code, a missing line and another value are noticed', async () => {
  // Without the long waits: the first two parts are enough.
  const beginning = text.slice(0, text.indexOf('\n## The first requests'));
  const changed = beginning.replace('[exit code 2]', '[exit code 0]').replace(/^latchkey: listening on http:.*\n/m, '').replace("Key 1 'first'", "Key 2 'first'");
  assert.notEqual(changed, beginning);
  const { code, stdout } = await check(changed);
  assert.equal(code, 1);
  assert.match(stdout, /^-\[exit code 0\]\n\+\[exit code 2\]$/m);
  assert.match(stdout, /^\+latchkey: listening on http:/m);
  assert.match(stdout, /^-Key 2 'first'.*\n\+Key 1 'first'/m);
  assert.equal((await check(beginning)).code, 0);
});
