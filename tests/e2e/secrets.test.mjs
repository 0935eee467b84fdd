// A key appears once, in the response that made it (API.md, "Keys"): not in the server's files, however it was
// used, and from then on not in the server's memory.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { assertStatus, sleep, startServer } from './harness.mjs';

const server = await startServer();
after(() => server.stop());
const api = server.client((await server.makeKey({ name: 'admin' })).key);
const keys = [];
const untouched = [];  // made and not used here

test('keys are made and used in every way', async () => {
  for (let i = 0; i < 20; i++) keys.push((await api.create('/keys', { name: `k${i}`, scopes: ['users:read', 'users:write'] })).key);
  keys.push((await api.create('/keys/2/rotate')).key);
  for (const [i, key] of keys.entries()) {
    assertStatus(await server.ask('GET', '/api/v1/users', { headers: { Authorization: `Bearer ${key}` } }), 200);
    assertStatus(await server.ask('GET', '/api/v1/users', { key, scheme: 'http' }), 200);
    assertStatus(await server.ask('GET', `/auth?api_key=${key}`), 200);
    const named = await server.ask('POST', '/api/v1/users', { body: { api_key: key, name: 'A', email: `secret${i}@example.org` } });
    assertStatus(named, 201);
    assert.equal((await api.post('/keys/verify', { key })).json.code, 'VALID');
  }
  for (let i = 0; i < 20; i++) untouched.push((await api.create('/keys', { name: `u${i}` })).key);
  untouched.push((await api.create('/keys/3/rotate')).key);
  api.close();
  await sleep(300);
});

test('no file has one', () => {
  const folder = path.dirname(server.data);
  const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  assert.ok(files.length >= 3);
  for (const file of files) {
    const bytes = fs.readFileSync(path.join(file.path, file.name));
    for (const key of [...keys, ...untouched]) assert.ok(!bytes.includes(key), `${file.name} has a key`);
  }
});

// Private memory that can be written; the store's file and the largest, sparse mappings hold no text.
test('the memory of the idle server has none that was only made', (t) => {
  let memory;
  try {
    memory = fs.openSync(`/proc/${server.pid}/mem`);
  } catch (error) {
    return t.skip(`the memory of another process cannot be read here: ${error.code}`);
  }
  const found = new Map();
  for (const line of fs.readFileSync(`/proc/${server.pid}/maps`, 'utf8').split('\n')) {
    const parts = /^([0-9a-f]+)-([0-9a-f]+) rw.p \S+ \S+ 0 *(.*)$/.exec(line);
    if (parts === null) continue;
    const [begin, end] = [Number.parseInt(parts[1], 16), Number.parseInt(parts[2], 16)];
    if (end - begin > 1 << 28) continue;
    const bytes = Buffer.alloc(end - begin);
    try {
      fs.readSync(memory, bytes, 0, bytes.length, begin);
    } catch {
      continue;
    }
    for (const key of untouched) {
      const at = bytes.indexOf(key);
      if (at >= 0) found.set(key, `${parts[3] || 'anonymous'}: ${bytes.toString('latin1', Math.max(0, at - 60), at + 60)}`);
    }
  }
  fs.closeSync(memory);
  assert.deepEqual([...found.values()].slice(0, 5), [], `${found.size} of ${untouched.length} keys are in memory`);
});
