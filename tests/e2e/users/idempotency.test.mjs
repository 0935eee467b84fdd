// Idempotency-Key (docs/api.md §9) over the wire:
//
//   - a write that is retried across kill -9 at any moment happens exactly once, and every later repeat gets the same
//     answer;
//   - of many simultaneous repeats over connections of both workers one is carried out, and the others get its answer or
//     409 idempotency_in_progress;
//   - a new key is shown once, and is nowhere in the data directory.
//
// `--rounds` sets how many times the server is killed (25 by default).

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { assertUser, below, chunked, filesIn, message, newUser, sleep, startServer } from '../helpers/harness.mjs';

const rounds = Number(process.env.E2E_ROUNDS ?? 25);
const clientCount = 8;
const replayed = (answer) => answer.headers.get('idempotency-replayed');

let serial = 0;
const freshKey = () => `key-${process.pid}-${++serial}`;

// Compares two answers, except for what belongs to each request.
function assertReplay(first, again) {
  assert.equal(replayed(again), 'true', `not a replay: ${again.status} ${again.body}`);
  assert.equal(again.status, first.status);
  for (const name of ['location', 'etag', 'cache-control', 'content-type']) assert.equal(again.headers.get(name), first.headers.get(name), name);
  assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
  if (first.status < 400) return assert.deepEqual(again.body, first.body);
  const { instance: i1, request_id: r1, ...was } = first.json;
  const { instance: i2, request_id: r2, ...is } = again.json;
  return assert.deepEqual(is, was);
}

test(`retried across ${rounds} kills until answered: one post each, and the same answer ever after`, async (t) => {
  let server = await startServer();
  const { key } = await server.makeKey();
  const author = await server.client(key).create('/users', newUser());
  let running = true; // the present server has not been killed yet
  let stopping = false;
  const outcomes = [];
  const counts = { sent: 0, cut: 0, fresh: 0, replayed: 0 };

  // One write after the other, each with its own Idempotency-Key and repeated until it is answered.
  async function client(number) {
    for (let i = 0; !stopping; i += 1) {
      const write = { id: freshKey(), body: { user_id: author.id, title: `post ${number}-${i}`, body: 'b'.repeat(below(3000)) } };
      for (;;) {
        while (!running && !stopping) await sleep(2);
        if (stopping) return;
        let wire = null;
        try {
          wire = await server.connect({ scheme: number % 2 ? 'https' : 'http' });
          counts.sent += 1;
          await wire.send(message('POST', '/api/v1/posts', { key, headers: { 'Idempotency-Key': write.id }, body: write.body }));
          write.answer = await wire.response({ method: 'POST' });
        } catch (error) {
          if (running && !/the connection ended|ECONN|EPIPE|socket/.test(error.message)) throw error;
        } finally {
          wire?.close();
        }
        if (write.answer?.status === 409) {
          assert.equal(write.answer.json.code, 'idempotency_in_progress');
          write.answer = undefined;
        }
        if (write.answer) break;
        counts.cut += 1;
      }
      assert.equal(write.answer.status, 201, `${write.answer.body}`);
      counts[replayed(write.answer) ? 'replayed' : 'fresh'] += 1;
      outcomes.push(write);
    }
  }

  const clients = Array.from({ length: clientCount }, (_, i) => client(i));
  const all = Promise.all(clients);
  // The moment of a kill is random: the test continues until one hit between a commit and its response.
  for (let round = 0; round < rounds || (counts.replayed === 0 && round < 10 * rounds); round += 1) {
    await Promise.race([sleep(30 + below(120)), all]); // the kill comes at a moment that is drawn
    running = false;
    await server.kill();
    server = await server.again();
    running = true;
  }
  await sleep(100); // what was under way is sent again
  stopping = true;
  await all;

  const api = server.client(key);
  const posts = new Map(); // by title
  let count = 0;
  for (let page = 1, more = true; more; page += 1) {
    const list = await api.read(`/posts?limit=100&page=${page}`);
    for (const post of list.data) posts.set(post.title, [...(posts.get(post.title) ?? []), post]);
    count += list.data.length;
    more = list.pagination.has_more;
    assert.ok(list.pagination.total >= outcomes.length);
  }
  for (const { body, answer } of outcomes) assert.deepEqual(posts.get(body.title), [answer.json], `${body.title} is there once, as it was answered`);
  for (const [title, duplicates] of posts) assert.equal(duplicates.length, 1, `${title} was made ${duplicates.length} times`);
  assert.ok(count - outcomes.length <= clientCount, 'beyond what was answered there is at most what was under way at the end');
  for (const { id, body, answer } of outcomes) {
    const again = await api.post('/posts', body, { headers: { 'Idempotency-Key': id } });
    assert.equal(replayed(again), 'true');
    assert.equal(again.status, 201);
    assert.deepEqual(again.body, answer.body);
    assert.equal(again.headers.get('location'), answer.headers.get('location'));
  }
  assert.ok(counts.cut >= rounds, `the kills met too few requests: ${JSON.stringify(counts)}`);
  assert.ok(counts.replayed > 0, `no write was carried out and cut off before its answer: ${JSON.stringify(counts)}`);
  t.diagnostic(`${counts.sent} requests, ${counts.cut} cut off; ${outcomes.length} posts, ${counts.replayed} of them made by a request whose answer was lost`);
  api.close();
  await server.stop();
});

describe('Idempotency-Key', () => {
  let server;
  let api;
  let key;
  before(async () => {
    server = await startServer();
    ({ key } = await server.makeKey());
    api = server.client(key);
  });
  after(async () => {
    api.close();
    await server.stop();
  });
  const once = (id, target, body, options = {}) => api.post(target, body, { ...options, headers: { 'Idempotency-Key': id, ...options.headers } });

  test('of many that come at once over both workers one is carried out', async (t) => {
    const wires = await Promise.all(Array.from({ length: 24 }, (_, i) => server.connect({ scheme: i % 2 ? 'https' : 'http' })));
    const tally = { fresh: 0, replayed: 0, busy: 0 };
    let turns = 0;
    for (; turns < 200 && (turns < 40 || tally.busy === 0 || tally.replayed === 0); turns += 1) {
      const body = newUser();
      const bytes = message('POST', '/api/v1/users', { key, headers: { 'Idempotency-Key': freshKey() }, body });
      const answers = await Promise.all(wires.map(async (wire) => {
        wire.send(bytes);
        return wire.response({ method: 'POST' });
      }));
      const done = answers.filter((a) => a.status === 201);
      const fresh = done.filter((a) => !replayed(a));
      assert.equal(fresh.length, 1, 'one of them did it');
      assertUser(fresh[0].json);
      for (const answer of done) assert.deepEqual(answer.body, fresh[0].body);
      for (const answer of answers.filter((a) => a.status !== 201)) {
        assert.equal(answer.status, 409);
        assert.equal(answer.json.code, 'idempotency_in_progress');
        assert.equal(replayed(answer), null);
      }
      tally.fresh += 1;
      tally.replayed += done.length - 1;
      tally.busy += answers.length - done.length;
      assert.equal((await api.read(`/users?email=${body.email}`)).data.length, 1);
    }
    for (const wire of wires) wire.close();
    assert.equal((await api.read('/users?limit=1')).pagination.total, turns);
    assert.ok(tally.busy > 0 && tally.replayed > 0, `both happened: ${JSON.stringify(tally)}`);
    t.diagnostic(JSON.stringify(tally));
  });

  test('is answered in order when the repeat is right behind it', async () => {
    const wire = await server.connect();
    const body = newUser();
    const bytes = message('POST', '/api/v1/users', { key, headers: { 'Idempotency-Key': '"pipelined"' }, body });
    await wire.send(Buffer.concat([bytes, bytes, bytes]));
    const answers = [];
    for (let i = 0; i < 3; i += 1) answers.push(await wire.response({ method: 'POST' }));
    assert.equal(answers[0].status, 201);
    assert.equal(replayed(answers[0]), null);
    for (const answer of answers.slice(1)) assertReplay(answers[0], answer);
    wire.close();
  });

  test('is the same request chunked, on another connection, after a restart', async () => {
    const id = freshKey();
    const body = newUser();
    const first = await once(id, '/users', body);
    assert.equal(first.status, 201);
    const text = JSON.stringify(body);
    const parts = await server.ask('POST', '/api/v1/users', { key, headers: { 'Idempotency-Key': id, 'Transfer-Encoding': 'chunked' }, body: chunked(text.slice(0, 5), text.slice(5)) });
    assertReplay(first, parts);
    const inBody = await server.ask('POST', '/users', { headers: { 'Idempotency-Key': id }, body: { api_key: key, ...body } });
    assertReplay(first, inBody);
    api.close();
    await server.stop();
    server = await server.again();
    api = server.client(key);
    assertReplay(first, await once(id, '/users', body));
  });

  test('keeps what was refused, and not what could not be read', async () => {
    const id = freshKey();
    const body = newUser();
    assert.equal((await once(id, '/users', '{')).json.code, 'invalid_json');
    const missing = await once(id, '/posts', { user_id: 999999, title: 't' });
    assert.equal(missing.json.code, 'validation_failed');
    assertReplay(missing, await once(id, '/posts', { user_id: 999999, title: 't' }));
    assert.equal((await once(id, '/users', body)).json.code, 'idempotency_key_reused');
    assert.equal((await once('not valid', '/users', body)).json.code, 'idempotency_key_invalid');
    assert.equal((await once([freshKey(), freshKey()], '/users', body)).json.code, 'idempotency_key_invalid');
    const notFound = await api.patch('/users/999999', { name: 'x' }, { headers: { 'Idempotency-Key': freshKey() } });
    assert.equal(notFound.status, 404);
  });

  test('shows a new key once, and the store never has it', async () => {
    const id = freshKey();
    const first = await once(id, '/keys', { name: 'once' });
    assert.equal(first.status, 201);
    const again = await once(id, '/keys', { name: 'once' });
    assert.equal(replayed(again), 'true');
    assert.deepEqual(again.json, { ...first.json, key: null });
    const next = await once('rotate-once', `/keys/${first.json.id}/rotate`);
    assert.equal(next.status, 201);
    const repeated = await once('rotate-once', `/keys/${first.json.id}/rotate`);
    assert.deepEqual(repeated.json, { ...next.json, key: null });
    // The successor of a rotation is the same caller.
    const successor = server.client(next.json.key);
    assert.equal((await successor.get('/keys/current')).json.id, next.json.id);
    successor.close();
    for (const name of filesIn(server.data)) {
      const bytes = fs.readFileSync(name);
      for (const secret of [first.json.key, next.json.key, key]) assert.equal(bytes.indexOf(secret), -1, `${name} holds a key`);
    }
  });
});
