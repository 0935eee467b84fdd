// Makes a store by a program and keeps it with what that program said about it, for programs to come (kept_stores.test.mjs):
//
//   git worktree add /elsewhere COMMIT                  # of a release; build the program there
//   LATCHKEY=/elsewhere/build/asan/src/latchkey node tests/e2e/helpers/kept_store.mjs tests/e2e/kept_stores/COMMIT.json.br
//
// The file: {store, masterKey} in base64, keys by name, exports, and the answers to GET by path. Nothing is sent to a webhook.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { assertStatus, command, startServer, temporaryFolder } from './harness.mjs';

const target = process.argv[2];
const server = await startServer();
const { data } = server;
const admin = await server.makeKey({ name: 'admin' });
const keys = { admin: admin.key };
const paths = [];

async function send(method, place, body, headers = {}) {
  const answer = await server.ask(method, `/api/v1${place}`, { key: admin.key, scheme: 'http', headers, body });
  assert.ok(answer.status < 300, `${method} ${place}: ${answer.status} ${answer.body}`);
  return answer.json;
}
async function done(...words) {
  const { code, stdout, stderr } = await command(...words, '--data', data);
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  return stdout;
}

// Users, one of them deleted with its posts; posts of each status, one of several pages.
for (const [i, name] of ['Ada', 'Björn', 'Čapek', 'Gone'].entries()) await send('POST', '/users', { name, email: `User${i + 1}@example.org` });
for (const [i, status] of ['draft', 'published', 'archived', 'published', 'draft'].entries()) {
  await send('POST', '/posts', { user_id: 1 + (i % 4), title: `post ${i}`, body: 'long '.repeat(i === 1 ? 2500 : 3), status });
}
await send('DELETE', '/users/4');
await send('PATCH', '/users/2', { name: 'Björn the second' });
await send('DELETE', '/posts/3');
await send('POST', '/users', { name: 'Once', email: 'once@example.org' }, { 'Idempotency-Key': 'kept' });

// Keys of several forms and states.
const makeKey = async (name, body) => {
  const { key, id } = await send('POST', '/keys', { name, ...body });
  keys[name] = key;
  return id;
};
await makeKey('limited', { scopes: ['users:read', 'posts:*'], project: 'alpha', environment: 'production', ip_allowlist: ['127.0.0.0/8', '2001:db8::/32'],
  rate_limits: [{ name: 'second', limit: 100, window_seconds: 1 }, { name: 'day', limit: 1e6, window_seconds: 86400, burst: 1000 }],
  metadata: { plan: 'gold', seats: '12' } });
const replaced = await makeKey('replaced', { scopes: ['users:read'] });
keys.successor = (await send('POST', `/keys/${replaced}/rotate`, { overlap_seconds: 0 })).key;
const off = await makeKey('off', { scopes: ['users:read'] });
await send('POST', `/keys/${off}/deactivate`, { reason: 'compromised' });
assertStatus(await server.ask('DELETE', '/api/v1/sessions', { key: keys.limited, scheme: 'http' }), 204);
await send('POST', '/keys', { kind: 'jwt', issuer: 'https://issuer.example', subject: 'robot', name: 'bearer', scopes: ['users:read'] });

// Events, with and without a signature to be verified.
await send('POST', '/events/plain', { a: 1 }, { 'webhook-id': 'first' });
await send('PUT', '/events/signed/secret', { format: 'github', secret: 'a secret of twenty-four bytes' });
await server.stop();
await done('webhooks', 'create', 'https://hooks.example.com/in', '--type', 'post.*', '--description', 'kept', '--max-per-second', '5', '--signature', 'v1',
  '--signature', 'v1a');
await done('webhooks', 'disable', '1');

// What it says about them, once all is written.
const last = await server.again();
for (const list of ['users', 'posts', 'keys', 'webhooks', 'events', 'changes', 'audit']) paths.push(`/${list}?limit=100`);
for (const one of ['users/2', 'posts/2', 'keys/2', 'webhooks/1', 'events/1', 'users?email=user1@example.org', 'posts?user_id=1', 'keys?project=alpha']) {
  paths.push(`/${one}`);
}
const answers = {};
for (const place of paths) {
  const answer = await last.ask('GET', `/api/v1${place}`, { key: admin.key, scheme: 'http' });
  assertStatus(answer, 200);
  answers[place] = answer.json;
}
const statuses = {};
for (const [name, key] of Object.entries(keys)) {
  statuses[name] = (await last.ask('GET', '/api/v1/users?limit=1', { key, scheme: 'http' })).status;
}
await last.stop();

const folder = temporaryFolder();
const files = ['users', 'posts', 'changes'].map((name) => path.join(folder, name));
await done('export', files[0], files[1], '--changes', files[2], '--quiet');
await done('backup', path.join(folder, 'store.mdb'), '--compact');
const base64 = (file) => fs.readFileSync(file).toString('base64');
const kept = { keys, statuses, answers, exports: files.map((file) => fs.readFileSync(file, 'utf8')),
  masterKey: base64(path.join(data, 'master.key')), store: base64(path.join(folder, 'store.mdb')) };
fs.mkdirSync(path.dirname(target), { recursive: true });
fs.writeFileSync(target, zlib.brotliCompressSync(JSON.stringify(kept)));
console.log(`${fs.statSync(target).size} bytes: ${Object.keys(answers).length} answers, statuses ${JSON.stringify(statuses)}`);
process.exit(0);
