// Stores that programs of earlier versions have written (kept_store.mjs): this one serves, checks and exports each, and what
// was there is there.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';
import { assertStatus, command, startServer, temporaryFolder } from '../helpers/harness.mjs';

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), '../kept_stores');

// These are of the answer, not of the store.
const changing = ['last_used_at', 'next_cursor'];

// Answers only get more members (docs/api.md §13).
function assertHas(value, kept, place) {
  if (Array.isArray(kept)) {
    assert.equal(value?.length, kept.length, `${place}: as many`);
    kept.forEach((each, i) => assertHas(value[i], each, `${place}/${i}`));
  } else if (kept !== null && typeof kept === 'object') {
    for (const [name, member] of Object.entries(kept)) {
      if (!changing.includes(name)) assertHas(value?.[name], member, `${place}/${name}`);
    }
  } else {
    assert.equal(value, kept, place);
  }
}

for (const name of fs.readdirSync(folder)) {
  describe(`the store of ${name}`, () => {
    const kept = JSON.parse(zlib.brotliDecompressSync(fs.readFileSync(path.join(folder, name))));
    const data = path.join(temporaryFolder(), 'data');
    fs.mkdirSync(data, { mode: 0o700 });
    for (const [file, bytes] of [['store.mdb', kept.store], ['master.key', kept.masterKey]]) {
      fs.writeFileSync(path.join(data, file), Buffer.from(bytes, 'base64'), { mode: 0o600 });
    }
    const done = async (...words) => {
      const { code, stdout, stderr } = await command(...words, '--data', data);
      assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
      return stdout;
    };

    test('is served, with all that was in it, and written', async () => {
      // Of time alone no change comes, however old the store is.
      const server = await startServer({ data, config: '[changes]\nunused_days = 0\n' });
      const ask = (method, place, more) => server.ask(method, `/api/v1${place}`, { key: kept.keys.admin, scheme: 'http', ...more });
      for (const [place, answer] of Object.entries(kept.answers)) assertHas((await ask('GET', place)).json, answer, place);
      for (const [key, status] of Object.entries(kept.statuses)) {
        assertStatus(await ask('GET', '/users?limit=1', { key: kept.keys[key] }), status);
      }
      const files = ['users', 'posts', 'changes'].map((each) => path.join(data, '..', each));
      await done('export', files[0], files[1], '--changes', files[2], '--quiet');
      const lines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
      files.forEach((file, i) => assertHas(lines(fs.readFileSync(file, 'utf8')), lines(kept.exports[i]), file));

      const { users, keys } = Object.fromEntries(['users', 'keys'].map((each) => [each, kept.answers[`/${each}?limit=100`].data]));
      const user = await ask('POST', '/users', { body: { name: 'Later', email: 'later@example.org' } });
      assertStatus(user, 201);
      assert.ok(user.json.id > users.at(-1).id, 'no id is used again');
      const key = await ask('POST', '/keys', { body: { name: 'new', scopes: ['users:read'] } });
      assertStatus(key, 201);
      assert.equal(key.json.id, keys.at(-1).id + 1);
      const body = '{"signed": true}';
      const signature = `sha256=${crypto.createHmac('sha256', 'a secret of twenty-four bytes').update(body).digest('hex')}`;
      const sign = (text) => ask('POST', '/events/signed', { body: Buffer.from(body), type: 'application/json',
        headers: { 'X-Hub-Signature-256': text, 'X-GitHub-Delivery': 'kept' } });
      assertStatus(await sign(signature.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))), 401);
      assertStatus(await sign(signature), 202);
      await server.stop();
    });

    test('is whole after that', async () => {
      await done('check');
      await done('audit', '--verify');
      assert.match(await done('webhooks', 'rotate-secret', '1'), /whsec_/);
    });
  });
}
