// A changed byte of the store on its disk: no wrong answer, other requests are served, the operator is informed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, command, startServer, temporaryFolder } from '../helpers/harness.mjs';

const name = 'Zebulon Montgomery';

async function damagedReads(server) {
  const [, address] = /management on ([0-9.]+:[0-9]+)/.exec(server.stderr);
  const page = await (await fetch(`http://${address}/metrics`)).text();
  return Number(/^latchkey_store_damaged_reads_total (\d+)$/m.exec(page)[1]);
}

// Every copy of the name: older pages may still contain it.
function rot(data) {
  const file = path.join(data, 'store.mdb');
  const bytes = fs.readFileSync(file);
  let count = 0;
  for (let offset = bytes.indexOf(name); offset !== -1; offset = bytes.indexOf(name, offset + 1), count += 1) bytes[offset] ^= 0x20;
  assert.ok(count > 0, 'the name is in the file');
  fs.writeFileSync(file, bytes);
}

describe('a store that rots', () => {
  test('gives no wrong answer, serves the rest, and reports the damage', async () => {
    const first = await startServer();
    const data = first.data;
    const { key } = await first.makeKey();
    const ids = [];
    for (let i = 0; i < 30; i += 1) {
      const creation = await first.client(key).post('/users', { name: i === 20 ? name : 'Ada', email: `u${i}@example.org` });
      assertStatus(creation, 201);
      ids.push(creation.json.id);
    }
    const wrong = ids[20];
    await first.stop();
    rot(data);

    const server = await startServer({ data, management: '127.0.0.1:0' });
    const api = server.client(key);
    const baseline = await damagedReads(server);
    for (let i = 0; i < 3; i += 1) {
      const answer = await api.get(`/users/${wrong}`);
      assertStatus(answer, 500);
      assert.equal(answer.json.code, 'internal_error');
      assert.doesNotMatch(answer.text ?? JSON.stringify(answer.json), /ebulon/);
    }
    assertStatus(await api.get('/users?limit=100'), 500);
    assertStatus(await api.get('/users?limit=10'), 200);
    assertStatus(await api.patch(`/users/${wrong}`, { name: 'new' }), 500);
    assertStatus(await api.delete(`/users/${wrong}`), 500);
    for (const id of ids.filter((each) => each !== wrong)) assertStatus(await api.get(`/users/${id}`), 200);
    const together = await Promise.all([...Array(20).keys()].map((i) => (i % 2
      ? api.patch(`/users/${wrong}`, { name: 'new' })
      : api.post('/users', { name: 'Ada', email: `beside${i}@example.org` }))));
    together.forEach((answer, i) => assertStatus(answer, i % 2 ? 500 : 201));
    assert.ok(await damagedReads(server) >= baseline + 6);
    assert.match(server.stderr, new RegExp(`error: a record of the store is damaged \\(users, ${wrong}\\)`));
    assert.doesNotMatch(server.stderr, /ebulon/);
    await server.stop();

    const checked = await command('check', '--data', data, '--json');
    assert.equal(checked.code, 1);
    const { store } = JSON.parse(checked.stdout);
    assert.ok(store.wrong.includes(`a record is damaged: users, ${wrong}`), checked.stdout);
    assert.match(store.advice, /latchkey restore/);
    const copy = path.join(temporaryFolder(), 'copy.mdb');
    const backup = await command('backup', copy, '--data', data);
    assert.equal(backup.code, 1);
    assert.match(backup.stderr, new RegExp(`users, ${wrong}[^]*no backup was kept`));
    assert.ok(!fs.existsSync(copy));

    const folder = temporaryFolder();
    const [users, posts] = [path.join(folder, 'users.ndjson'), path.join(folder, 'posts.ndjson')];
    const exportResult = await command('export', users, posts, '--data', data);
    assert.equal(exportResult.code, 1);
    assert.match(exportResult.stderr, /damaged and are not in the files/);
    assert.equal(fs.readFileSync(users, 'utf8').trim().split('\n').length, 39);
    const fresh = path.join(folder, 'fresh');
    assert.equal((await command('import', users, posts, '--data', fresh)).code, 0);
    assert.equal((await command('check', '--data', fresh)).code, 0);
  });
});
