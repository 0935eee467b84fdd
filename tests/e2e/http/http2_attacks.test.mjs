// Hostile clients of HTTP/2: floods, resets, stalled windows, header blocks without end. Each connection is ended or answered
// as docs/api.md §14 says, costs bounded memory, and a well-behaved client beside them loses no request.
//
//     node run.mjs --binary FILE --rounds 1000 http2_attacks     crowds of 1,000 instead of 200; then p99 is checked too

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { newUser, sleep, startServer } from '../helpers/harness.mjs';
import { block, data, errors, frame, FrameReader, headers, indexed, literal, ping, preface, priority, request, reset, settings,
  tableSize, types, windowUpdate } from '../helpers/http2_frames.mjs';
import { connections, crowd, endWithin, hostiles, measured, resident, withNeighbour } from '../helpers/load_clients.mjs';

const seconds = { header: 1, body: 2, idle: 3, send: 2 };
const server = await startServer({
  management: '127.0.0.1:0',
  config: `[http]\n${Object.entries(seconds).map(([name, value]) => `${name}_seconds = ${value}\n`).join('')}[auth]\nfailures_per_minute = 0\n`,
});
after(() => server.stop());
const { key } = await server.makeKey();
const client = server.client(key, { scheme: 'http' });
await client.create('/users', newUser());
client.close();
const plain = server.at('http');
const authorized = ['x-api-key', key];
const get = request('GET', '/api/v1/users/1', [authorized]);
const openPost = (more = []) => request('POST', '/api/v1/users', [authorized, ['content-type', 'application/json'], ...more]);
const connectionBytesMax = 256 << 10;
// The largest answer without a key: each stream that asks for it without a window has the service keep a copy.
const documentBytes = (await (await fetch(`http://${plain.host}:${plain.port}/openapi.json`)).arrayBuffer()).byteLength;

// The neighbour alone; the yardstick of the latencies beside an attack.
let aloneP99 = 0;
test('a client alone', async (t) => {
  const report = await withNeighbour(server, key, async () => {}, { judged: false });
  aloneP99 = Number(/p99 ([0-9.]+) ms/.exec(report)[1]);
  t.diagnostic(report);
});

// `act(socket, next)` writes what one connection sends, where `next()` is the next stream. `codes`: with which the server may end
// the connection; null: the server does not, and `check(reader)` says what must have come after `limit` seconds. `bodies`:
// bytes of content that wait, which the memory budget counts.
function attack(label, { act, values, codes = [errors.calm], limit = 30, count = Math.min(crowd, 100), check, judged = true, bodies = 0 }) {
  test(label, async (t) => {
    let most = 0;
    const baseline = resident(server.pid);
    const timer = setInterval(() => { most = Math.max(most, resident(server.pid)); }, 20);
    const readers = [];
    const bytes = bytesOf(values, act); // made before a time limit begins
    const report = await withNeighbour(server, key, async () => {
      const all = await hostiles(count, plain, (socket) => {
        const reader = new FrameReader();
        readers.push(reader);
        socket.on('data', (part) => {
          const credit = reader.feed(part);
          if (values?.[4] !== 0 && credit > 0 && socket.writable) socket.write(windowUpdate(0, credit));
        });
        socket.write(bytes);
      });
      if (codes !== null) {
        await endWithin(all, limit, label);
        return;
      }
      const until = Date.now() + 1000 * limit;
      while (Date.now() < until && !readers.every((reader) => check(reader))) await sleep(20);
      for (const one of all) one.socket.destroy();
    }, { judged });
    clearInterval(timer);
    for (const reader of readers) {
      if (codes === null) assert.ok(check(reader), `GOAWAY ${reader.goaway()}, resets ${[...reader.resets()].slice(0, 3)}, ended ${readers.map((each) => each.ended.size)}`);
      else assert.ok(codes.includes(reader.goaway()), `GOAWAY ${reader.goaway()} instead of one of ${codes}`);
    }
    const each = Math.round((most - baseline) / count);
    assert.ok(most - baseline <= (connectionBytesMax + bodies) * count + (16 << 20), `${each} bytes of memory for each connection`);
    assert.equal(await connections(server, 0), 0, 'connections that are still there');
    const p99 = Number(/p99 ([0-9.]+) ms/.exec(report)[1]);
    if (measured && judged) assert.ok(p99 <= 3 * aloneP99 + 1, `p99 ${p99} ms beside it, ${aloneP99} ms alone`);
    t.diagnostic(`${count} connections, ${each} bytes each; ${report}`);
  });
}

function bytesOf(values, act) {
  const parts = [preface(values)];
  let last = -1;
  act({ write: (part) => parts.push(part) }, () => (last += 2));
  return Buffer.concat(parts);
}

// Sends `piece()` again and again, more often than any connection may.
function flood(socket, piece, count = 5000) {
  socket.write(Buffer.concat(Array.from({ length: count }, piece)));
}

describe('resets', () => {
  attack('requests that are reset at once', { act: (socket, next) => flood(socket, () => {
    const stream = next();
    return Buffer.concat([headers(stream, openPost()), reset(stream)]);
  }, 1000) });
  attack('writes that are reset while they are committed', { codes: null, count: 10,
    act: (socket, next) => {
      for (let i = 0; i < 100; i++) {
        const stream = next();
        const body = JSON.stringify(newUser());
        socket.write(Buffer.concat([headers(stream, openPost()), data(stream, body, { end: true }), reset(stream)]));
      }
      const stream = next();
      socket.write(headers(stream, get, { end: true }));
    },
    check: (reader) => reader.goaway() === null && reader.ended.has(201) });
  // Six ways to make the server reset a stream (CVE-2025-8671).
  const provoked = (label, wrong, codes = [errors.calm]) => attack(label, { codes, act: (socket, next) => flood(socket, () => {
    const stream = next();
    return Buffer.concat([headers(stream, openPost([['content-length', '5']])), wrong(stream)]);
  }, 1000) });
  provoked('a window that grows by nothing', (stream) => windowUpdate(stream, 0));
  provoked('a window beyond 2^31-1', (stream) => Buffer.concat([windowUpdate(stream, 0x7fffffff), windowUpdate(stream, 0x7fffffff)]));
  provoked('more content than announced', (stream) => data(stream, '123456'));
  provoked('less content than announced', (stream) => data(stream, '1', { end: true }));
  provoked('trailers that do not end the stream', (stream) => headers(stream, [['x-a', 'b']]));
  provoked('a stream that depends on itself', (stream) => priority(stream, stream));
  attack('requests that are malformed', { act: (socket, next) => flood(socket, () => headers(next(), [...get, ['Upper', 'case']], { end: true }), 1000) });
  attack('more streams than allowed', { act: (socket, next) => flood(socket, () => headers(next(), openPost()), 1000) });
});

describe('floods', () => {
  const floods = (label, piece) => attack(label, { act: (socket) => flood(socket, piece) });
  floods('SETTINGS', () => settings({ 4: 65535 }));
  floods('PING', ping);
  floods('PRIORITY', () => priority(1));
  floods('unknown frames', () => frame(0x42, 0, 0, Buffer.from('?')));
  floods('WINDOW_UPDATE by one', () => windowUpdate(0, 1));
  // The client has said that it goes, and nothing of it is in progress.
  attack('GOAWAY', { codes: [null], act: (socket) => flood(socket, () => frame(types.goaway, 0, 0, Buffer.alloc(8))) });
  attack('empty DATA', { act: (socket, next) => {
    const stream = next();
    socket.write(headers(stream, openPost()));
    flood(socket, () => data(stream, ''));
  } });
  attack('padding without content', { act: (socket, next) => {
    const stream = next();
    socket.write(headers(stream, openPost()));
    flood(socket, () => frame(types.data, 8, stream, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)])));
  } });
});

describe('header blocks', () => {
  attack('CONTINUATION without end', { act: (socket, next) => {
    socket.write(headers(next(), get, { endHeaders: false }));
    flood(socket, () => frame(types.continuation, 0, 1, literal('x-a', 'b')));
  } });
  attack('empty CONTINUATION without end', { act: (socket, next) => {
    socket.write(headers(next(), get, { endHeaders: false }));
    flood(socket, () => frame(types.continuation, 0, 1));
  } });
  attack('a block that does not end', { limit: seconds.header + 1, act: (socket, next) => {
    socket.write(headers(next(), get, { endHeaders: false }));
  } });
  attack('a table that grows beyond its bound', { codes: [errors.compression], act: (socket, next) => {
    socket.write(headers(next(), [tableSize(4097), ...get], { end: true }));
  } });
  attack('an index that is not there', { codes: [errors.compression], act: (socket, next) => {
    socket.write(headers(next(), [...get, indexed(200)], { end: true }));
  } });
  const answered = (label, fields) => attack(label, { codes: null, limit: 8, count: 20,
    act: (socket, next) => {
      for (let i = 0; i < 50; i++) socket.write(headers(next(), fields(i), { end: true }));
      socket.write(headers(next(), get, { end: true }));
    },
    check: (reader) => reader.goaway() === null && reader.ended.has(101) });
  // One large entry and thousands of references to it; the table's newest entry has index 62.
  const references = Buffer.concat(Array.from({ length: 12_000 }, () => indexed(62)));
  attack('an HPACK bomb', { count: 20, act: (socket, next) => {
    for (let i = 0; i < 50; i++) {
      const bomb = i === 0 ? [literal('x-bomb', 'b'.repeat(3900), { indexed: true })] : [];
      socket.write(headers(next(), [...get, ...bomb, references], { end: true }));
    }
  } });
  answered('a table that is resized again and again', () => [tableSize(0), tableSize(4096), ...get, literal('x-a', 'b'.repeat(1000), { indexed: true })]);
  answered('header lists at the limit', (i) => [...get, ['x-long', 'a'.repeat(15_800 + i)]]);
  answered('header lists above the limit', () => [...get, ['x-long', 'a'.repeat(16_384 - block(get).length - 32)]]);
});

describe('clients that stall', () => {
  attack('no window for a response', { values: { 4: 0 }, limit: seconds.send + 1, bodies: 20 * documentBytes, count: 20, act: (socket, next) => {
    for (let i = 0; i < 20; i++) socket.write(headers(next(), request('GET', '/openapi.json'), { end: true }));
  } });
  attack('a window that grows by one byte at a time', { values: { 4: 0 }, limit: 20, act: (socket, next) => {
    const stream = next();
    socket.write(headers(stream, request('GET', '/openapi.json'), { end: true }));
    flood(socket, () => windowUpdate(stream, 1));
  } });
  attack('bodies that do not come', { codes: [errors.none], limit: seconds.body + seconds.idle + 1, count: 20, act: (socket, next) => {
    for (let i = 0; i < 100; i++) socket.write(headers(next(), openPost([['content-length', '100']])));
  } });
  attack('nothing after the preface', { codes: [errors.none], limit: seconds.idle + 1, act: () => {} });
});

test('10,000 streams on one connection', async (t) => {
  const [one] = await hostiles(1, plain, (socket, state) => {
    state.reader = new FrameReader();
    socket.on('data', (bytes) => {
      const credit = state.reader.feed(bytes);
      if (credit > 0) socket.write(windowUpdate(0, credit));
      socket.emit('answers');
    });
    socket.write(preface());
    let last = -1;
    const most = 100;
    const more = () => {
      while (last < 19_999 && (last + 1) / 2 - state.reader.ended.size < most) socket.write(headers((last += 2), get, { end: true }));
    };
    socket.on('answers', more);
    more();
  });
  const until = Date.now() + 20_000;
  while (one.reader.ended.size < 10_000 && Date.now() < until && !one.ended) await sleep(10);
  one.socket.destroy();
  assert.equal(one.reader.ended.size, 10_000);
  assert.equal(one.reader.resets().size, 0);
  t.diagnostic(`${one.reader.contentBytes} bytes of content`);
});
