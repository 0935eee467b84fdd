// HTTP/2 as the contract has it (docs/api.md §14): how it is switched on, what the server announces, and where its use shows.
// What holds over both protocols is in the other files (run.mjs --protocol h2).

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import tls from 'node:tls';
import { message, startServer } from '../helpers/harness.mjs';
import { FrameReader, headers, preface, request, types } from '../helpers/http2_frames.mjs';
import { connectHttp2 } from '../helpers/http2_wire.mjs';
import { hostile, metric } from '../helpers/load_clients.mjs';

const server = await startServer({ management: '127.0.0.1:0' });
after(() => server.stop());
const { key } = await server.makeKey();

const selected = (one) => new Promise((resolve, reject) => {
  const { host, port, ca } = one.at('https');
  const socket = tls.connect({ host, port, ca, ALPNProtocols: ['http/1.1', 'h2'] }, () => {
    resolve(socket.alpnProtocol);
    socket.destroy();
  });
  socket.on('error', reject);
});

// The frames that a connection without TLS gets for these bytes, once `enough(reader)`.
async function framesFor(bytes, enough) {
  const reader = new FrameReader();
  const one = await hostile(server.at('http'), (socket) => {
    socket.on('data', (part) => {
      reader.feed(part);
      if (enough(reader)) socket.destroy();
    });
    socket.write(bytes);
  });
  await one.over;
  return reader;
}

test('can be switched off', async () => {
  const plain = await startServer({ args: ['--http2=false'] });
  assert.equal(await selected(plain), 'http/1.1');
  const one = await hostile(plain.at('http'), (socket) => socket.write(preface()));
  await one.over;
  assert.match(one.text, /^HTTP\/1\.1 505 /);
  await plain.stop();
});

test('is preferred to HTTP/1.1 by ALPN', async () => {
  assert.equal(await selected(server), 'h2');
});

test('announces its settings', async () => {
  const reader = await framesFor(preface(), ({ frames }) => frames.some(({ type, flags }) => type === types.settings && (flags & 1) === 0));
  const [{ payload }] = reader.frames.filter(({ type, flags }) => type === types.settings && (flags & 1) === 0);
  const values = {};
  for (let i = 0; i < payload.length; i += 6) values[payload.readUInt16BE(i)] = payload.readUInt32BE(i + 2);
  // HEADER_TABLE_SIZE and MAX_FRAME_SIZE keep their defaults, whether said or not (RFC 9113 §6.5.2).
  assert.deepEqual({ 1: 4096, 5: 16_384, ...values }, { 1: 4096, 2: 0, 3: 128, 4: 512 * 1024, 5: 16_384, 6: 16 * 1024, 9: 1 });
});

test('answers CONNECT with 405 and an empty Allow, as HTTP/1.1 does', async () => {
  const reader = await framesFor(Buffer.concat([preface(), headers(1, [[':method', 'CONNECT'], [':authority', 'a:443']], { end: true })]),
    ({ ended }) => ended.has(1));
  assert.equal(reader.goaway(), null);
  const wire = await server.connect({ scheme: 'http' });
  await wire.send('CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n');
  const answer = await wire.response({ method: 'CONNECT' });
  assert.equal(answer.status, 405);
  assert.equal(answer.headers.get('allow'), '');
  wire.close();
});

test('shows in the access log and in the metrics', async () => {
  const before = await metric(server, 'latchkey_http2_connections_total');
  const requests = await metric(server, 'latchkey_requests_by_protocol_total\\{protocol="HTTP/2"\\}');
  const newer = await server.connectBy(connectHttp2, { scheme: 'https' });
  const older = await server.connect({ scheme: 'https' });
  for (const [wire, name] of [[newer, 'newer'], [older, 'older']]) {
    await wire.send(message('GET', '/api/v1/users', { key, headers: { 'X-Request-Id': `protocol-${name}` } }));
    assert.equal((await wire.response()).status, 200);
  }
  older.close();
  await server.ask('GET', '/api/v1/users', { key, version: '1.0', headers: { 'X-Request-Id': 'protocol-oldest' } });
  newer.close();
  assert.equal(await metric(server, 'latchkey_http2_connections_total'), before + 1);
  assert.equal(await metric(server, 'latchkey_requests_by_protocol_total\\{protocol="HTTP/2"\\}'), requests + 1);
  const until = Date.now() + 2000;
  let lines = [];
  while (lines.length < 3 && Date.now() < until) {
    lines = server.logLines().filter((line) => line.request_id.startsWith('protocol-'));
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  assert.deepEqual(Object.fromEntries(lines.map((line) => [line.request_id.slice(9), line.protocol])),
    { newer: 'HTTP/2', older: 'HTTP/1.1', oldest: 'HTTP/1.0' });
});

test('announces the end of the server and answers what is in progress', async () => {
  const ending = await startServer();
  const own = await ending.makeKey();
  const reader = new FrameReader();
  const one = await hostile(ending.at('http'), (socket, state) => {
    state.bytes = [];
    socket.on('data', (part) => {
      reader.feed(part);
      for (const { type, flags, payload } of reader.frames.splice(0)) {
        if (type === types.ping && (flags & 1) === 0) {
          // A request that the client sent before it heard of the end.
          socket.write(Buffer.concat([headers(3, request('GET', '/api/v1/users', [['x-api-key', own.key]]), { end: true }),
            Buffer.from([0, 0, 8, types.ping, 1, 0, 0, 0, 0]), payload]));
        }
        state.bytes.push([type, type === types.goaway ? payload.readUInt32BE(0) : null]);
      }
    });
    socket.write(Buffer.concat([preface(), headers(1, request('GET', '/api/v1/users', [['x-api-key', own.key]]), { end: true })]));
  });
  const until = Date.now() + 5000;
  while (!reader.ended.has(1) && Date.now() < until) await new Promise((resolve) => { setTimeout(resolve, 10); });
  await ending.stop();
  await one.over;
  const last = one.bytes.filter(([type]) => type === types.goaway).map(([, stream]) => stream);
  assert.deepEqual(last, [0x7fffffff, 3]);
  assert.ok(reader.ended.has(3), 'the late request was answered');
});
