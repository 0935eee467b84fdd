// The changes as a stream of events (docs/api.md §16), with real clients over both protocols.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import net from 'node:net';
import { after, test } from 'node:test';
import { Agent, EventSource } from 'undici';
import { command, message, startServer, until } from '../helpers/harness.mjs';
import { openStream, overHttp2, overs } from '../helpers/event_stream.mjs';
import { metric } from '../helpers/load_clients.mjs';

const server = await startServer({ management: '127.0.0.1:0' });
after(() => server.stop());
const key = await server.makeKey();
const api = server.client(key);
let users = 0;
const addUser = async () => (await api.post('/users', { name: 'Ada', email: `ada${++users}@example.org` })).json.id;
const gauge = () => metric(server, 'latchkey_event_streams');
const untilGauge = (value) => {
  let last;
  return until(async () => (last = await gauge()) === value, () => `the gauge becomes ${value}, from ${last},`);
};

for (const over of overs) {
  test(`a write appears (${over})`, async () => {
    const stream = await openStream(server, key, { over });
    assert.equal(stream.status, 200);
    assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(stream.headers.get('cache-control'), 'no-store');
    assert.equal(stream.headers.get('content-length'), null);
    await stream.until(() => stream.retry === 2000);
    const id = await addUser();
    await stream.until(() => stream.events.length === 1);
    const [event] = stream.events;
    assert.equal(event.event, 'user.created');
    assert.equal(event.data.type, 'user.created');
    assert.equal(event.data.sequence, event.id);
    assert.equal(event.data.data.id, id);
    assert.equal(stream.hasEnded, false);
    stream.close();
    await untilGauge(0);
  });

  test(`what the command line does appears (${over})`, async () => {
    const stream = await openStream(server, key, { over, query: 'after=latest&type=key.*' });
    const made = await server.makeKey({ name: 'from the command line' });
    await stream.until(() => stream.events.length === 1);
    assert.equal(stream.events[0].event, 'key.created');
    assert.equal(stream.events[0].data.data.id, made.id);
    assert.equal(stream.events[0].data.key_id, null);
    stream.close();
  });

  test(`Last-Event-ID goes on without a gap (${over})`, async () => {
    const first = await openStream(server, key, { over });
    for (let i = 0; i < 5; i++) await addUser();
    await first.until(() => first.events.length >= 3);
    const { id } = first.events[2];
    first.close();
    for (let i = 0; i < 5; i++) await addUser();
    const second = await openStream(server, key, { over, headers: { 'last-event-id': String(id) } });
    await second.until(() => second.events.length === 7);
    assert.deepEqual(second.events.map((event) => event.id), Array.from({ length: 7 }, (_, i) => id + 1 + i));
    second.close();
    const wrong = await openStream(server, key, { over, headers: { 'last-event-id': 'x' } });
    assert.equal(wrong.status, 400);
    wrong.close();
  });

  test(`ends with its key (${over})`, async () => {
    const own = await server.makeKey({ scopes: ['changes:read'] });
    const stream = await openStream(server, own, { over });
    const others = await openStream(server, key, { over });
    const before = Date.now();
    assert.equal((await api.post(`/keys/${own.id}/deactivate`)).status, 200);
    await stream.until(() => stream.hasEnded, 20_000);
    assert.equal(stream.failure, null, 'in order');
    console.log(`# ended after ${Date.now() - before} ms`);
    await others.until(() => others.events.some((event) => event.event === 'key.deactivated'));
    assert.equal(others.hasEnded, false);
    others.close();
  });

  test(`ends when its key is deactivated by another process (${over})`, async () => {
    const own = await server.makeKey({ scopes: ['changes:read'] });
    const stream = await openStream(server, own, { over });
    assert.equal((await command('keys', 'deactivate', String(own.id), '--data', server.data)).code, 0);
    await stream.until(() => stream.hasEnded, 20_000);
    assert.equal(stream.failure, null);
  });

  test(`ends in order when the service drains (${over})`, async () => {
    const ending = await startServer();
    const own = await ending.makeKey();
    const streams = [];
    for (let i = 0; i < 5; i++) streams.push(await openStream(ending, own, { over }));
    await ending.stop();
    for (const stream of streams) assert.equal(await stream.ended, null);
  });
}

test("undici's EventSource follows, and goes on where it was cut off", async () => {
  const { host, port } = server.at('https');
  const dispatcher = new Agent({ connect: { ca: server.ca, servername: 'localhost' } });
  // An EventSource sends no fields of its own, so the key comes by query.
  const source = new EventSource(`https://${host}:${port}/api/v1/changes?after=latest&api_key=${key.key}`, { dispatcher });
  const seen = [];
  source.addEventListener('user.created', ({ data, lastEventId }) => seen.push([JSON.parse(data).data.id, lastEventId]));
  await new Promise((resolve, reject) => { source.onopen = resolve; source.onerror = reject; });
  source.onerror = null;
  const first = await addUser();
  const sees = (count) => until(() => seen.length >= count, () => `${seen.length} of ${count} are seen`);
  await sees(1);
  await dispatcher.destroy();
  source.close();
  const missed = await addUser();
  const rest = new EventSource(`https://${host}:${port}/api/v1/changes?after=${seen[0][1]}&api_key=${key.key}`,
    { dispatcher: new Agent({ connect: { ca: server.ca, servername: 'localhost' } }) });
  rest.addEventListener('user.created', ({ data, lastEventId }) => seen.push([JSON.parse(data).data.id, lastEventId]));
  await sees(2);
  rest.close();
  assert.deepEqual(seen.map(([id]) => id), [first, missed]);
  // That the key came by query is told within seconds, and not in the middle of another test.
  const isTold = async () => (await api.get('/changes?type=key.exposed')).json.data.length > 0;
  await until(isTold, 'key.exposed is told');
});

test('curl reads it', async () => {
  const { host, port } = server.at('https');
  const child = spawn('curl', ['-sN', '--cacert', server.certificateFile, '--connect-to', `::${host}:${port}`, '-H', `X-API-Key: ${key.key}`,
    '-H', 'Accept: text/event-stream', `https://localhost:${port}/api/v1/changes?after=latest`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => { text += part; });
  const prints = (pattern) => until(() => pattern.test(text), () => `it prints ${pattern} (${text})`);
  await prints(/^retry: 2000\n\n/);
  await addUser();
  await prints(/\n\nid: \d+\nevent: user.created\ndata: \{"sequence":.*\}\n\n$/);
  child.kill();
});

test('several streams and other requests share a connection of HTTP/2', async () => {
  const fields = { accept: 'text/event-stream', 'x-api-key': key.key };
  const first = await overHttp2(server, '/api/v1/changes?after=latest', fields);
  const second = await overHttp2(server, '/api/v1/changes?after=latest&type=post.*', fields, first.session);
  const third = await overHttp2(server, '/api/v1/users', { ...fields, accept: 'application/json' }, first.session);
  assert.equal(third.status, 200);
  const user = await addUser();
  await api.post('/posts', { user_id: user, title: 'A title', body: 'Text' });
  await second.until(() => second.events.length === 1);
  await first.until(() => first.events.length === 2);
  assert.equal(second.events[0].event, 'post.created');
  second.close();
  first.close();
});

test('input waits while it goes on, and a close ends it', async () => {
  await untilGauge(0);
  const wire = await server.connect({ scheme: 'http' });
  await wire.send(message('GET', '/api/v1/changes?after=latest', { key: key.key, headers: { Accept: 'text/event-stream' } }));
  await wire.send(message('GET', '/api/v1/users', { key: key.key }));
  await untilGauge(1);
  wire.close();
  await untilGauge(0);
});

test('a client that does not read is closed, and others go on', async () => {
  const small = await startServer({ management: '127.0.0.1:0', config: '[http]\nsend_seconds = 1\n' });
  const own = await small.makeKey();
  const writer = small.client(own);
  const { host, port } = small.at('http');
  const socket = net.connect({ host, port, highWaterMark: 1 });
  const closed = new Promise((resolve) => { socket.on('close', resolve).on('error', () => {}); });
  socket.write(message('GET', '/api/v1/changes?after=0', { key: own.key, headers: { Accept: 'text/event-stream' } }));
  socket.pause();
  const reader = await openStream(small, own, { query: 'after=0&type=post.*' });
  const user = (await writer.post('/users', { name: 'Ada', email: 'ada@example.org' })).json.id;
  const posts = 300;
  for (let i = 0; i < posts; i++) await writer.post('/posts', { user_id: user, title: 'A title', body: 'x'.repeat(60_000) });
  await reader.until(() => reader.events.length === posts, 60_000);
  await until(async () => await metric(small, 'latchkey_event_streams') === 1, 'the stream that is not read is closed');
  assert.equal(reader.hasEnded, false);
  socket.resume();
  await closed;
  reader.close();
  await small.stop();
});

test('200 streams get every sequence in order', async () => {
  const count = 200;
  const streams = [];
  const session = (await overHttp2(server, '/api/v1/users', { 'x-api-key': key.key })).session;
  const fields = { accept: 'text/event-stream', 'x-api-key': key.key };
  for (let i = 0; i < count; i++) {
    streams.push(await (i % 2 === 0 ? openStream(server, key) : overHttp2(server, '/api/v1/changes?after=latest', fields, session)));
  }
  await Promise.all(Array.from({ length: 200 }, () => addUser()));
  for (const stream of streams) {
    await stream.until(() => stream.events.length >= 200);
    const first = stream.events[0].id;
    assert.deepEqual(stream.events.map((event) => event.id), Array.from({ length: 200 }, (_, i) => first + i));
  }
  assert.equal(new Set(streams.map((stream) => stream.events[0].id)).size, 1);
  await untilGauge(count);
  for (const stream of streams) stream.close();
  await untilGauge(0);
});

test('is charged, logged and counted once', async () => {
  const own = await server.makeKey({ limits: ['minute=5/60'] });
  const stream = await openStream(server, own, { headers: { 'x-request-id': 'one-stream-only' } });
  for (let i = 0; i < 10; i++) await addUser();
  await stream.until(() => stream.events.length === 10);
  stream.close();
  const written = () => server.logLines().filter((line) => line.request_id === 'one-stream-only');
  await until(() => written().length > 0, 'its line is written');
  const lines = written();
  assert.equal(lines.length, 1);
  assert.equal(lines[0].status, 200);
  const answer = await server.ask('GET', '/api/v1/users', { key: own.key });
  assert.match(answer.headers.get('ratelimit') ?? '', /"minute";r=3/);
});
