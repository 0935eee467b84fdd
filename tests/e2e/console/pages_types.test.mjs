// The TypeScript of the console and the documents is bundled by esbuild, which looks at no type; the compiler does here.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

test('the pages compile in strict mode', () => {
  const { status, stdout } = spawnSync(path.join(here, 'node_modules/.bin/tsc'), ['-p', path.join(here, '../../src/web'), '--noEmit'],
    { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});
