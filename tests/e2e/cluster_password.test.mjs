// The password of a cluster's role in PostgreSQL (cluster.password_file): where it comes from, and where it goes. A program in
// the place of latchkey-replicate tells what it was given.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { binary, commandOf, makeKey, temporaryFolder } from './harness.mjs';

const folder = temporaryFolder();
const data = path.join(folder, 'data');
const program = path.join(folder, 'latchkey');
const told = path.join(folder, 'told');
const passwordFile = path.join(folder, 'password');
const config = path.join(folder, 'latchkey.toml');
fs.writeFileSync(config, `[cluster]\npassword_file = "${passwordFile}"\n`);
fs.copyFileSync(binary, program); // helpers are looked for beside the program
fs.writeFileSync(path.join(folder, 'latchkey-replicate'), `#!/bin/sh\necho "$PGPASSWORD|$*" >> '${told}'\nexit 0\n`, { mode: 0o755 });

async function status() {
  const ended = await commandOf(program, 'cluster', 'status', '--config', config, '--cluster-postgres', 'host=/nowhere user=latchkey', '--data', data);
  assert.equal(ended.code, 1, ended.stderr);
  assert.equal(ended.stdout, '');
  return ended.stderr;
}

test('the first line of the file is the password of the helper, and of no other place', async () => {
  await makeKey(data);
  fs.writeFileSync(passwordFile, 'pass word=1\nanother line\n', { mode: 0o600 });
  const message = await status();
  assert.deepEqual(fs.readFileSync(told, 'utf8').split('\n')[0], 'pass word=1|--descriptor 3');
  assert.ok(!message.includes('pass word'), 'no message has it');
});

test('a file without a password, or none, is an error that names it', async () => {
  fs.rmSync(told, { force: true });
  for (const text of ['', '\nsecond line\n']) {
    fs.writeFileSync(passwordFile, text);
    assert.match(await status(), new RegExp(`cluster\\.password_file: ${passwordFile} has no password in its first line, or cannot be read`));
  }
  fs.rmSync(passwordFile);
  assert.match(await status(), /cluster\.password_file: .* has no password in its first line, or cannot be read/);
  assert.equal(fs.existsSync(told), false, 'the helper was not started');
});
