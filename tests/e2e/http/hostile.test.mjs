// Hostile clients: slow, endless and absent ones. Each connection is closed within its limit and a second (docs/api.md §1),
// costs bounded memory, and a well-behaved client beside them loses no request.
//
//     node run.mjs --binary FILE --rounds 4000 hostile      crowds of 4,000 instead of 200; then p99 is checked too

import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { after, describe, test } from 'node:test';
import tls from 'node:tls';
import { message, newUser, sleep, startServer, until } from '../helpers/harness.mjs';
import { withNeighbour, graceMs, connections, crowd, descriptors, drip, endWithin, hostiles, measured, openSockets, resident }
  from '../helpers/load_clients.mjs';

const seconds = { header: 1, body: 2, idle: 3, handshake: 2, send: 2 };

// A service of its own for what runs beside others, since each test counts the connections and the memory of its own.
async function startTarget() {
  const server = await startServer({
    management: '127.0.0.1:0',
    config: `[http]\n${Object.entries(seconds).map(([name, value]) => `${name}_seconds = ${value}\n`).join('')}[auth]\nfailures_per_minute = 0\n`,
  });
  const { key } = await server.makeKey();
  const client = server.client(key, { scheme: 'http' });
  const { id } = await client.create('/users', newUser());
  assert.equal(id, 1, 'the user that the client beside them reads');
  client.close();
  return { server, key, plain: server.at('http'), secure: server.at('https') };
}
const targets = await Promise.all([1, 2, 3].map(startTarget));
const [first, second, third] = targets;
after(() => Promise.all(targets.map(({ server }) => server.stop())));
const lines = (...all) => `${all.join('\r\n')}\r\n`;

// Checks the bytes of process memory per connection; kernel memory is not counted.
async function assertMemory({ server }, bytesEach, count, act) {
  const baseline = resident(server.pid);
  const most = { bytes: baseline };
  const timer = setInterval(() => { most.bytes = Math.max(most.bytes, resident(server.pid)); }, 20);
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  const each = Math.round((most.bytes - baseline) / count);
  // The allocator's own overhead.
  assert.ok(most.bytes - baseline <= bytesEach * count + (16 << 20), `${each} bytes of memory for each connection, and it may have ${bytesEach}`);
  return each;
}

// An attack on a target by a crowd: the listener (`where`), what each connection does, and the seconds after which it must be
// closed.
function attack(target, label, { where = 'plain', act, limit, expected, each = 32 << 10, count = crowd, judged = true }) {
  test(label, async (t) => {
    const { server, key } = target;
    let longest;
    let cost;
    const report = await withNeighbour(server, key, async () => {
      cost = await assertMemory(target, each, count, async () => {
        const all = await hostiles(count, target[where], act);
        longest = await endWithin(all, limit, label);
        for (const one of all) if (expected) assert.match(one.text, expected);
      });
    }, { judged });
    t.diagnostic(`${count} connections, the last gone after ${longest} ms, ${cost} bytes each; ${report}`);
    assert.equal(await connections(server, 0), 0, 'connections that are still there');
  });
}

// Three attacks at a time, each on a service of its own; latencies are judged one attack after the other.
const inTurn = { concurrency: false };
describe('side by side', { concurrency: !measured }, () => {
  describe('slow clients', inTurn, () => {
    attack(first, 'nothing is ever sent', { limit: seconds.header });
    attack(first, 'a head drips in', { limit: seconds.header, expected: /^HTTP\/1\.1 408 /,
      act: (socket, state) => {
        socket.write(lines('GET /api/v1/users HTTP/1.1', 'Host: x'));
        drip(socket, state, 'X-A: b\r\n', 100);
      } });
    attack(first, 'a head drips in by single bytes', { limit: seconds.header, expected: /^HTTP\/1\.1 408 /,
      act: (socket, client) => {
        socket.write('GET /api/v1/users HTTP/1.1\r\nX-A: ');
        drip(socket, client, 'a', 50);
      } });
    attack(first, 'a head drips in by single bytes after a request on the same connection', { limit: seconds.header, expected: /HTTP\/1\.1 408 /,
      act: (socket, client) => {
        socket.write(message('GET', '/healthz'));
        drip(socket, client, 'G', 100);
        socket.write('G');
      } });
    for (const [form, field, piece] of [['sized', 'Content-Length: 100000', ' '], ['chunked', 'Transfer-Encoding: chunked', '1\r\n \r\n']]) {
      attack(first, `a ${form} body drips in`, { limit: seconds.body, expected: /^HTTP\/1\.1 408 /,
        act: (socket, client) => {
          socket.write(lines('POST /api/v1/users HTTP/1.1', 'Host: x', `X-API-Key: ${first.key}`, 'Content-Type: application/json', field, ''));
          drip(socket, client, piece, 100);
        } });
      attack(first, `a ${form} body that may have the key drips in`, { limit: seconds.body, expected: /^HTTP\/1\.1 (408|503) /,
        act: (socket, client) => {
          socket.write(lines('POST /api/v1/users HTTP/1.1', 'Host: x', 'Content-Type: application/json', field, ''));
          drip(socket, client, piece, 100);
        } });
      attack(first, `a ${form} body of a refused request drips in`, { limit: seconds.body, expected: /^HTTP\/1\.1 401 /,
        act: (socket, client) => {
          socket.write(lines('POST /api/v1/users HTTP/1.1', 'Host: x', `X-API-Key: ${first.key.slice(1)}x`, 'Content-Type: application/json', field, ''));
          drip(socket, client, piece, 100);
        } });
    }
  });

  describe('clients', inTurn, () => {
    describe('that do not read', () => {
      const { server, key, plain } = second;
      // The largest answer that takes no key, again and again: 64 KiB of it must be read in time.
      const flood = Buffer.concat(Array.from({ length: 64 }, () => message('GET', '/openapi.json')));
      // A client that does not read does not see the end, so the test asks the server and its kernel.
      function unread(title, limit, each, target) {
        test(title, async (t) => {
          let took;
          let cost;
          const clientReport = await withNeighbour(server, key, async () => {
            cost = await assertMemory(second, each, crowd, async () => {
              const all = await hostiles(crowd, plain, (socket) => {
                socket.pause();
                socket.write(target);
              });
              const startTime = Date.now();
              while (openSockets(plain.port) > 0 && Date.now() < startTime + 1000 * limit + 10_000) await sleep(50);
              took = Date.now() - startTime;
              for (const each of all) each.socket.destroy();
            });
          });
          assert.ok(took <= 1000 * limit + graceMs, `they were kept for ${took} ms, and may be for ${limit} s and a second`);
          t.diagnostic(`${crowd} connections, the last gone after ${took} ms, ${cost} bytes each; ${clientReport}`);
          assert.equal(await connections(server, 0), 0, 'connections that are still there');
        });
      }
      unread('responses that the client does not read', seconds.send, 768 << 10, flood);
      // All of it fits into the client's receive buffer, so the connection is idle; closing lingers for two seconds.
      unread('a small response that the client does not read', seconds.idle + 2, 64 << 10, message('GET', '/healthz'));
      unread('a last response that the client does not read', 2, 64 << 10, message('GET', '/healthz', { headers: { Connection: 'close' } }));

      test('an endless pipeline is answered in turns, and a client that reads gets all of it', async (t) => {
        const request = message('GET', '/api/v1/users/1', { key });
        const batch = Buffer.concat(Array.from({ length: 500 }, () => request));
        const report = await withNeighbour(server, key, async () => {
          const all = await hostiles(20, plain, (socket, client) => {
            client.bytes = 0;
            socket.on('data', (part) => { client.bytes += part.length; });
            const more = () => { while (!client.stop && socket.write(batch)); };
            socket.on('drain', more);
            more();
          });
          await sleep(3000); // longer than any limit but that of an idle connection
          for (const each of all) {
            assert.equal(each.ended, 0, 'no connection was cut off');
            assert.ok(each.bytes > 100_000, `${each.bytes} bytes of answers`);
            each.stop = true;
            each.socket.destroy();
          }
        }, { judged: false });
        t.diagnostic(report);
      });
    });

    describe('that go away', () => {
      const { server, key, plain, secure } = second;
      const half = lines('POST /api/v1/users HTTP/1.1', 'Host: x', `X-API-Key: ${key}`, 'Content-Type: application/json', 'Content-Length: 100', '');
      for (const [description, leave] of [['end', (socket) => socket.end()], ['reset', (socket) => socket.resetAndDestroy()]]) {
        test(`in the middle of anything, by ${description}`, async (t) => {
          const previous = { descriptors: descriptors(server.pid), resident: resident(server.pid) };
          const report = await withNeighbour(server, key, async () => {
            for (let round = 0; round < 5; round += 1) {
              for (const [where, text] of [[plain, ''], [plain, 'GET /api'], [plain, half], [plain, `${half}{"name"`], [secure, ''],
                [secure, Buffer.from('160301020001', 'hex')], [plain, message('GET', '/openapi.json')],
                [plain, message('POST', '/api/v1/users', { key, body: newUser() })]]) {
                const all = await hostiles(Math.ceil(crowd / 8), where, (socket) => { if (text.length) socket.write(text); });
                for (const { socket } of all) leave(socket);
              }
            }
          });
          t.diagnostic(report);
          // A half-closed client still gets its responses; then all connections are closed.
          assert.equal(await connections(server, 0), 0, 'connections that are still there');
          await until(() => descriptors(server.pid) <= previous.descriptors + 2, 'no more descriptors are open', 5000);
          // Freed memory is given back once little has been used for a while.
          const held = () => resident(server.pid) - previous.resident;
          await until(() => held() < 32 << 20, () => `${held()} bytes of memory are not held any more`);
        });
      }
    });
  });

  describe('TLS', inTurn, () => {
    const { server, key, secure } = third;
    attack(third, 'a handshake that does not begin', { where: 'secure', limit: seconds.header });
    attack(third, 'a handshake that stops in the middle of its first message', { where: 'secure', limit: seconds.handshake, act: (socket) => {
      socket.write(Buffer.from('16030102000100', 'hex'));
    } });
    attack(third, 'a handshake that drips in', { where: 'secure', limit: seconds.handshake, act: (socket, client) => {
      socket.write(Buffer.from('160301020001', 'hex'));
      drip(socket, client, '\0', 100);
    } });
    attack(third, 'a first message of which every record is empty', { where: 'secure', limit: seconds.handshake, count: Math.min(crowd, 50), judged: false, act: (socket) => {
      const all = Buffer.from('1603010000'.repeat(10_000), 'hex');
      const more = () => { while (socket.writable && socket.write(all)); };
      socket.on('drain', more);
      more();
    } });
    test('a handshake, and then nothing', async () => {
      // Few at a time, since this process has to finish each handshake within the limit too.
      const handshake = (each) => new Promise((resolve, reject) => {
        const inner = tls.connect({ socket: each.socket, rejectUnauthorized: false });
        inner.on('error', () => {}).once('secureConnect', () => {
          each.begun = Date.now();
          resolve();
        }).once('close', () => reject(new Error('closed during its handshake'))).resume();
      });
      const all = [];
      while (all.length < crowd) {
        const some = await hostiles(Math.min(25, crowd - all.length), secure);
        await Promise.all(some.map(handshake));
        all.push(...some);
      }
      await endWithin(all, seconds.header, 'a connection that sends nothing');
      assert.equal(await connections(server, 0), 0, 'connections that are still there');
    });
    test('a handshake that stops after the server has spoken', async () => {
      // The client's last message is held back.
      const all = await hostiles(Math.min(crowd, 400), secure);
      for (const each of all) {
        const inner = tls.connect({ socket: new HeldBack(each.socket, 1), rejectUnauthorized: false });
        inner.on('error', () => {});
      }
      await endWithin(all, seconds.handshake, 'a handshake that stops');
    });
    for (const [version, label] of [['TLSv1.2', 'is refused'], ['TLSv1.3', 'does not exist']]) {
      test(`renegotiation ${label} in ${version}, and costs other clients nothing`, async () => {
        const report = withNeighbour(server, key, async () => {
          for (let i = 0; i < 20; i += 1) {
            const socket = tls.connect({ ...secure, minVersion: version, maxVersion: version });
            await new Promise((resolve) => { socket.once('secureConnect', resolve); });
            const refusal = await new Promise((resolve) => {
              socket.on('error', resolve);
              socket.on('close', () => resolve(new Error('closed')));
              if (!socket.renegotiate({}, (error) => resolve(error))) resolve(new Error('not even begun'));
            });
            assert.ok(refusal instanceof Error, 'the server renegotiated');
            socket.destroy();
          }
        });
        await report;
      });
    }
  });
});

describe('endless clients', () => {
  // As much as the server accepts.
  const endless = (head, piece) => (socket) => {
    socket.write(head);
    const all = Buffer.from(piece.repeat(Math.ceil(65536 / piece.length)));
    const more = () => { while (socket.writable && socket.write(all)); };
    socket.on('drain', more);
    more();
  };
  const post = lines('POST /api/v1/users HTTP/1.1', 'Host: x', `X-API-Key: ${first.key}`, 'Content-Type: application/json', 'Transfer-Encoding: chunked', '');
  // Lingering close: after its last response the server reads for two seconds, so that the client can read it.
  const lingering = 2;
  const few = { count: Math.min(crowd, 50), limit: lingering, each: 128 << 10, judged: false };
  attack(first, 'fields without end', { ...few, act: endless(lines('GET / HTTP/1.1', 'Host: x'), 'X-A: b\r\n') });
  attack(first, 'a field without end', { ...few, act: endless('GET / HTTP/1.1\r\nX-A: ', 'a') });
  attack(first, 'a target without end', { ...few, act: endless('GET /', 'a') });
  attack(first, 'a method without end', { ...few, act: endless('', 'A') });
  attack(first, 'empty lines without end', { ...few, act: endless('', '\r\n') });
  attack(first, 'a chunk extension without end', { ...few, act: endless(`${post}1;a=`, 'b') });
  attack(first, 'chunk extensions without end', { ...few, act: endless(post, '1;a=bcdefghijklmn\r\n \r\n') });
  attack(first, 'a chunk size without end', { ...few, act: endless(post, '0') });
  attack(first, 'trailers without end', { ...few, act: endless(`${post}0\r\n`, 'X-A: b\r\n') });
  attack(first, 'a body without end', { ...few, limit: seconds.body + lingering, each: (1 << 20) + (256 << 10), act: endless(post, '100\r\n'.padEnd(0x105, ' ') + '\r\n') });
});

// A stream over a socket that passes only a number of writes.
class HeldBack extends Duplex {
  constructor(socket, writes) {
    super();
    Object.assign(this, { socket, left: writes });
    socket.on('data', (bytes) => this.push(bytes));
    socket.on('close', () => this.push(null));
  }

  _read() {}

  _write(bytes, encoding, done) {
    this.left -= 1;
    if (this.left >= 0 && this.socket.writable) this.socket.write(bytes);
    done();
  }
}
