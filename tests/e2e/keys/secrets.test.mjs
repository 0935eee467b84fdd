// A key appears once, in the response that made it (docs/api.md §4): not in the server's files, however it was
// used, and from then on not in the server's memory. So a core dump, a swapped page or a read too far shows none.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { assertStatus, chunked, filesIn, message, sleep, startServer } from '../helpers/harness.mjs';
import { connectHttp2 } from '../helpers/http2_wire.mjs';
import { searchMemory } from '../helpers/memory.mjs';

const count = 1000;
// AddressSanitizer keeps stack frames of functions that have returned; the program cannot wipe those.
process.env.ASAN_OPTIONS ??= 'detect_stack_use_after_return=0';
const server = await startServer({
  http2: true,
  listen: ['https://127.0.0.1:0', 'http://127.0.0.1:0', 'http://127.0.0.1:0?proxy=v2'],
  // Only root may read the memory of a confined process.
  config: `confined = ${process.getuid() === 0}\n`
    + 'trusted_proxies = ["127.0.0.9"]\n\n[http]\nheader_seconds = 2\nbody_seconds = 2\n\n[auth]\nfailures_per_minute = 0\n',
});
after(() => server.stop());
const admin = (await server.makeKey({ name: 'admin' })).key;
const keys = [admin];
const users = '/api/v1/users';
const open = []; // connections that live to the end: the server is idle, not empty

const escaped = (key) => `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}`;
const encoded = (key) => `%${key.charCodeAt(0).toString(16)}${key.slice(1)}`;
const person = (key, more = {}) => JSON.stringify({ api_key: key, name: 'A', email: `${keys.indexOf(key)}@example.org`, ...more });

// Every way (docs/api.md §2), and the status that it has. A user is created once and then refused by its email.
const ways = {
  bearer: (key) => [200, message('GET', users, { headers: { Authorization: `Bearer ${key}` } })],
  header: (key) => [200, message('GET', users, { key })],
  query: (key) => [200, message('GET', `${users}?api_key=${key}&limit=1`)],
  body: (key) => [[201, 409], message('POST', users, { body: person(key) })],
  'and a copy in fields that the service does not read': (key) => [200, message('GET', users, { key, headers: {
    Referer: `https://a.example/?api_key=${key}`, 'X-Forwarded-Uri': `/?api_key=${key}`, 'X-Gitlab-Token': key } })],
  'query, encoded': (key) => [200, message('GET', `/auth?api_key=${encoded(key)}`)],
  'body, escaped': (key) => [[201, 409], message('POST', users, { body: person('KEY').replace('KEY', escaped(key)) })],
  'body, chunked': (key) => {
    const text = person(key);
    return [[201, 409], Buffer.concat([message('POST', users,
      { headers: { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' } }),
    chunked(text.slice(0, 30), text.slice(30))])];
  },
};
// Requests that are refused before the key is checked, or because of it.
const refusals = {
  'two of one way': (key) => [400, message('GET', `${users}?api_key=${key}&api_key=${key}`)],
  'two members': (key) => [400, message('POST', users, { body: `{"api_key":"${key}","x":[1,{"y":2}],"api_key":"${key}"` })],
  'a header twice': (key) => [400, message('GET', users, { headers: { 'X-API-Key': [key, key] } })],
  'an open route': (key) => [200, message('GET', `/healthz?k=${key}&api_key=${encoded(key)}`, { key })],
  'no such route': (key) => [404, message('GET', '/api/v1/nothing', { key })],
  'another scheme': (key) => [401, message('GET', users, { headers: { Authorization: `Basic ${key}` } })],
  'no such route, in the body': (key) => [404, message('POST', '/api/v1/nothing', { body: person(key, { key }) })],
  'an unknown key': (key) => [401, message('GET', users, { key: `${key.slice(1)}x` })],
  'a wrong value of the query': (key) => [400, message('GET', `${users}?limit=${key}`, { key })],
  'a wrong body': (key) => [422, message('POST', users, { key, body: { name: 'A', email: key, more: { [key]: key } } })],
  'a key to be verified': (key) => [200, message('POST', '/api/v1/keys/verify', { key: admin, body: { key } })],
  'wrong members beside one': (key) => [422, message('POST', '/api/v1/keys/verify', { key: admin, body: { key: escaped(key), no: 1 } })],
};
// Refusals that close the connection.
const broken = {
  'a malformed head': (key) => [400, `GET ${users} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nBroken : 1\r\n\r\n`],
  'a malformed body': (key) => [400, `POST ${users} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"api_key":"${key}"`
    + `${' '.repeat(80 - 13 - key.length)}\r\nxyz\r\n`],
  'too large a body': (key) => [413, message('POST', users, { key, body: person(key).padEnd(1 << 21) })],
};

const protocols = [{}, { maxVersion: 'TLSv1.2' }, { ciphers: 'TLS_CHACHA20_POLY1305_SHA256', minVersion: 'TLSv1.3' }];

const worker = async (jobs, run) => {
  const queue = jobs.entries();
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (const [i, job] of queue) await run(job, i);
  }));
};
async function exchange(wire, [status, bytes], pieces = 1) {
  const buffer = Buffer.from(bytes);
  const step = Math.ceil(buffer.length / pieces);
  for (let offset = 0; offset < buffer.length; offset += step) {
    wire.send(buffer.subarray(offset, offset + step));
    if (pieces > 1) await sleep(2); // the pieces come apart
  }
  const method = buffer.toString('latin1', 0, buffer.indexOf(' '));
  const answer = await wire.response({ method });
  if (status) assert.ok([status].flat().includes(answer.status), `${answer.status} ${answer.json?.code} instead of ${status}: ${buffer.toString('latin1', 0, 300)}`);
  return answer;
}

test('a thousand keys are made', async () => {
  const scheme = (i) => (i % 2 ? 'http' : 'https');
  const clients = Array.from({ length: 8 }, (_, i) => server.client(admin, { scheme: scheme(i) }));
  const paths = Array.from({ length: count - 1 }, (_, i) => (i < 900 ? '/keys' : `/keys/${i - 800}/rotate`));
  await worker(paths, async (target, i) => {
    const body = target === '/keys' ? { name: `k${i}`, scopes: ['*'], rate_limits: [] } : {};
    keys.push((await clients[i % clients.length].create(target, body)).key);
  });
  open.push(...clients);
  assert.equal(new Set(keys).size, count);
});

for (const scheme of ['https', 'http']) {
  test(`and used in every way, ${scheme}`, async () => {
    const wires = Array.from({ length: 100 });
    await worker(keys.slice(0, count), async (key, i) => {
      const wire = wires[i % 100] ?? await server.connect({ scheme, options: protocols[i % protocols.length] });
      wires[i % 100] = undefined; // in use
      for (const [n, way] of Object.values(ways).entries()) await exchange(wire, way(key), i % 10 === n ? 3 : 1);
      const all = Object.values(refusals);
      for (let n = 0; n < 3; n++) await exchange(wire, all[(i + n) % all.length](key), i % 7 === n ? 2 : 1);
      if (i < 500) wires[i % 100] = wire;
      else i % 100 === 0 ? open.push(wire) : wire.close();
    });
  });

  // Each key is entered into the table of its connection (HPACK) and named by its place there from then on.
  test(`over HTTP/2, ${scheme}`, async () => {
    await worker(keys.slice(0, 100), async (key) => {
      const wire = await server.connectBy(connectHttp2, { scheme });
      for (let round = 0; round < 3; round++) {
        const requests = [...Object.values(ways), ...Object.values(refusals)].map((way) => way(key));
        for (const [, bytes] of requests) wire.send(bytes);
        for (const [status] of requests) {
          const answer = await wire.response();
          assert.ok([status].flat().includes(answer.status), `${answer.status} instead of ${status}`);
        }
      }
      open.push(wire);
    });
  });

  test(`in pipelines, ${scheme}`, async () => {
    await worker(keys.slice(0, 100), async (key) => {
      const wire = await server.connect({ scheme });
      const requests = [...Object.values(ways), ...Object.values(ways)].map((way) => way(key)[1]);
      const all = Buffer.concat([...requests, message('POST', '/api/v1/keys', { key, body: { name: 'piped', rate_limits: [] } }),
        ...requests]);
      // The last request is incomplete.
      wire.send(all.subarray(0, -20));
      for (let n = 0; n < 2 * requests.length; n++) {
        const { json } = await wire.response({ method: 'POST' });
        if (json?.key) keys.push(json.key);
      }
      open.push(wire);
    });
    assert.ok(keys.length >= count + 100);
  });

  test(`and refused in every way, ${scheme}`, async () => {
    await worker(keys.slice(0, 120), async (key, i) => {
      for (const each of Object.values(broken)) {
        const wire = await server.connect({ scheme });
        await exchange(wire, each(key), i % 3 + 1);
        wire.close();
      }
      const wire = await server.connect({ scheme, from: '127.0.0.9' });
      for (const way of Object.values(ways).slice(0, 3)) await exchange(wire, [403, way(key)[1]]);
      wire.close();
      const left = await server.connect({ scheme });
      left.send(message('POST', users, { body: person(key) }).subarray(0, -5));
      if (i % 2) await sleep(1); // some of it arrives
      left.close();
    });
  });
}

test('and behind a PROXY header', async () => {
  const { port } = server.urls[2];
  const header = Buffer.from('0d0a0d0a000d0a515549540a2111000cc6336409c000020104d201bb', 'hex');
  await worker(keys.slice(0, 100), async (key) => {
    const wire = await server.connect({ scheme: 'http', port, from: '127.0.0.9' });
    const [status, bytes] = [200, message('GET', users, { key, headers: { 'X-Forwarded-Proto': 'https' } })];
    wire.send(header.subarray(0, 20));
    await sleep(1); // the parts come apart
    await exchange(wire, [status, Buffer.concat([header.subarray(20), bytes])]);
    wire.close();
  });
});

test('no file has one', () => {
  const files = filesIn(path.dirname(server.data));
  assert.ok(files.length >= 3);
  for (const name of files) {
    const bytes = fs.readFileSync(name);
    for (const key of keys) assert.ok(!bytes.includes(key), `${name} has a key`);
  }
  for (const key of keys) assert.ok(!server.stderr.includes(key), 'standard error has a key');
});

test('the memory of the idle server has none', async (t) => {
  // A harmless field is cached with the others: this one must be found.
  const harmless = 'thelanguageofaclientthatisnosecret';
  const wire = await server.connect({ scheme: 'http' });
  await exchange(wire, [200, message('GET', users, { key: admin, headers: { 'Accept-Language': harmless } })]);
  // The worker that served that receives this key last, in one burst.
  wire.send(Buffer.concat(Array.from({ length: 3 }, () => message('GET', users, { key: admin }))));
  for (let n = 0; n < 3; n++) assertStatus(await wire.response({ method: 'GET' }), 200);
  open.push(wire);
  await sleep(2500); // requests that were not complete are given up
  let result;
  try {
    assert.equal(searchMemory(server.pid, [harmless]).hits.length, 1, 'fields are not remembered');
    result = searchMemory(server.pid, keys);
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(error.code)) throw error;
    return t.skip(`the memory of another process cannot be read here: ${error.code}`);
  }
  t.diagnostic(`${keys.length} keys, ${(result.searched / 1e6).toFixed(1)} MB, ${result.hits.length} found`);
  assert.deepEqual(result.hits.slice(0, 8), [], `${result.hits.length} of ${keys.length} keys are in memory`);
  assert.ok(result.searched > 1e6, 'memory was read');
  for (const each of open) each.close();
});

test('the search finds what is there', () => {
  const { hits } = searchMemory(process.pid, keys.slice(0, 3));
  assert.equal(hits.length, 3, 'this process has them');
});
