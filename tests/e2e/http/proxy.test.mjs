// PROXY protocol v2 (HAProxy's specification) on listeners that expect it, from a trusted proxy and from other peers.

import assert from 'node:assert/strict';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { command, message, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const header = (command, family, rest = Buffer.alloc(0)) =>
  Buffer.concat([signature, Buffer.from([command, family, rest.length >> 8, rest.length & 255]), rest]);
const quad = (text) => Buffer.from(text.split('.').map(Number));
const tcp4 = (client, more = '') =>
  header(0x21, 0x11, Buffer.concat([quad(client), quad('10.0.0.1'), Buffer.from([0x12, 0x34, 1, 0xbb]), Buffer.from(more)]));
const tcp6 = header(0x21, 0x21,
  Buffer.concat([Buffer.from('20010db8000000000000000000000007', 'hex'), Buffer.alloc(20, 1)]));
const unknown = header(0x21, 0x00);
const local = header(0x20, 0x00);

// The proxy is 127.0.0.9; 127.0.0.1 is not trusted.
const proxy = '127.0.0.9';
const config = 'trusted_proxies = ["127.0.0.9"]\n\n[http]\nheader_seconds = 2\n';
const socketPath = path.join(temporaryFolder(), 'socket');
let server;
let key;
before(async () => {
  const listen = ['https://127.0.0.1:0?proxy=v2', 'http://127.0.0.1:0?proxy=v2', `unix:${socketPath}?proxy=v2`];
  server = await startServer({ listen: listen.slice(0, 2), args: ['--listen', listen[2]], config });
  key = (await server.makeKey()).key;
});
after(() => server.stop());

// Sends the parts, one by one, and reads to the end: {text, error}.
function speak(socket, parts) {
  return new Promise((resolve) => {
    let text = '';
    socket.setTimeout(8000, () => { resolve({ text, error: new Error('still open') }); socket.destroy(); });
    socket.on('data', (bytes) => { text += bytes.toString('latin1'); });
    socket.on('error', (error) => resolve({ text, error }));
    socket.on('close', () => resolve({ text }));
    (async () => {
      for (const part of parts) {
        if (socket.destroyed) return;
        socket.write(part);
        if (parts.length > 1) await sleep(3); // the parts come apart
      }
    })();
  });
}
const dial = (scheme, source) => {
  const { host, port } = server.at(scheme);
  const socket = net.connect({ host, port, localAddress: source });
  socket.setNoDelay(true);
  return socket;
};
let sequence = 0;
const agent = () => `proxy-test/${sequence += 1}`;
const request = (name, headers = {}) =>
  message('GET', '/api/v1/users', { key, headers: { Connection: 'close', 'User-Agent': name, ...headers } });
const forwarded = { 'X-Forwarded-Proto': 'https' };

// The client address of a request in the access log.
async function logged(name) {
  for (const limit = Date.now() + 5000; Date.now() < limit; await sleep(20)) {
    const line = server.logLines().find((each) => each.user_agent === name);
    if (line) return line.ip;
  }
  throw new Error(`nothing is logged of ${name}`);
}
const status = (text) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);

test('the line of each listener says that it asks for the header', () => {
  assert.match(server.stderr, /listening on https:\/\/127\.0\.0\.1:\d+\?proxy=v2$/m);
  assert.match(server.stderr, new RegExp(`listening on unix:${socketPath}\\?proxy=v2$`, 'm'));
});

describe('over plain HTTP', () => {
  const rows = [
    ['IPv4', tcp4('198.51.100.9'), '198.51.100.9'],
    ['IPv6', tcp6, '2001:db8::7'],
    ['values behind the addresses', tcp4('198.51.100.10', 'x'.repeat(500)), '198.51.100.10'],
    ['a client that the proxy does not know', unknown, null],
    ['a client that says to be near', tcp4('127.0.0.1'), '127.0.0.1'],
  ];
  for (const [label, bytes, ip] of rows) {
    test(`the client is the given one: ${label}`, async () => {
      const name = agent();
      const { text } = await speak(dial('http', proxy), [Buffer.concat([bytes, request(name, forwarded)])]);
      assert.equal(status(text), 200, text);
      assert.equal(await logged(name), ip);
    });
    test(`the proxy must still say https: ${label}`, async () => {
      for (const headers of [{}, { 'X-Forwarded-Proto': 'http' }, { 'X-Forwarded-Proto': ['https', 'http'] }]) {
        const { text } = await speak(dial('http', proxy), [bytes, request(agent(), headers)]);
        assert.equal(status(text), 403);
        assert.match(text, /"https_required"/);
      }
    });
  }

  test('what the client claims about itself is ignored', async () => {
    const name = agent();
    const { text } = await speak(dial('http', proxy),
      [tcp4('198.51.100.9'), request(name, { ...forwarded, 'X-Forwarded-For': '203.0.113.1' })]);
    assert.equal(status(text), 200);
    assert.equal(await logged(name), '198.51.100.9');
  });

  test('the header may come byte by byte', async () => {
    const name = agent();
    const bytes = Buffer.concat([tcp4('198.51.100.11', 'values'), request(name, forwarded)]);
    const parts = [...bytes.subarray(0, 40)].map((byte) => Buffer.from([byte]));
    const { text } = await speak(dial('http', proxy), [...parts, bytes.subarray(40)]);
    assert.equal(status(text), 200);
    assert.equal(await logged(name), '198.51.100.11');
  });

  test('the proxy\'s own connection keeps its address, and its rules', async () => {
    const name = agent();
    const { text } = await speak(dial('http', proxy),
      [local, request(name, { ...forwarded, 'X-Forwarded-For': '198.51.100.12' })]);
    assert.equal(status(text), 200);
    assert.equal(await logged(name), '198.51.100.12');
    const { text: bare } = await speak(dial('http', proxy), [local, request(agent())]);
    assert.equal(status(bare), 403);
  });

  test('a peer on a Unix socket is trusted too', async () => {
    const name = agent();
    const { text } = await speak(net.connect(socketPath), [tcp4('198.51.100.13'), request(name, forwarded)]);
    assert.equal(status(text), 200);
    assert.equal(await logged(name), '198.51.100.13');
    const { text: bare } = await speak(net.connect(socketPath), [tcp4('198.51.100.13'), request(agent())]);
    assert.equal(status(bare), 403);
    const { text: own } = await speak(net.connect(socketPath), [local, request(agent())]);
    assert.equal(status(own), 200);
  });

  test('an allowlist is asked about the given address', async () => {
    const body = { name: 'inside', scopes: ['users:read'], ip_allowlist: ['198.51.100.0/24', '2001:db8::/32'] };
    const { text: creation } = await speak(dial('http', proxy), [Buffer.concat([tcp4('203.0.113.1'),
      message('POST', '/api/v1/keys', { key, headers: { Connection: 'close', ...forwarded }, body })])]);
    assert.equal(status(creation), 201, creation);
    const inside = JSON.parse(creation.slice(creation.indexOf('\r\n\r\n'))).key;
    for (const [bytes, expected] of [[tcp4('198.51.100.9'), 200], [tcp6, 200], [tcp4('203.0.113.1'), 403],
      [tcp4('127.0.0.9'), 403], [unknown, 403]]) {
      const { text } = await speak(dial('http', proxy), [Buffer.concat([bytes,
        message('GET', '/api/v1/users', { key: inside, headers: { Connection: 'close', ...forwarded } })])]);
      assert.equal(status(text), expected, text);
      if (expected === 403) assert.match(text, /"ip_not_allowed"/);
    }
  });

  test('a connection lives on, and the address with it', async () => {
    const [first, second] = [agent(), agent()];
    const keeping = message('GET', '/api/v1/users', { key, headers: { 'User-Agent': first, ...forwarded } });
    const { text } = await speak(dial('http', proxy), [tcp4('198.51.100.14'), keeping, request(second, forwarded)]);
    assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 2, text);
    assert.equal(await logged(first), '198.51.100.14');
    assert.equal(await logged(second), '198.51.100.14');
  });
});

describe('over HTTPS', () => {
  const secure = async (parts, clientAddress = proxy) => {
    const socket = dial('https', clientAddress);
    for (const part of parts) {
      socket.write(part);
      if (parts.length > 1) await sleep(5); // the parts come apart
    }
    return tls.connect({ socket, ca: server.ca, servername: 'localhost' });
  };
  for (const [title, parts] of [['in one piece', [tcp4('198.51.100.20')]],
    ['in two', [tcp4('198.51.100.20').subarray(0, 20), tcp4('198.51.100.20').subarray(20)]]]) {
    test(`the header comes before the handshake, ${title}; TLS is the client's own`, async () => {
      const name = agent();
      const { text, error } = await speak(await secure(parts), [request(name)]);
      assert.equal(error, undefined);
      assert.equal(status(text), 200, text);
      assert.equal(await logged(name), '198.51.100.20');
    });
  }

  test('a client that is unknown to the proxy is served too', async () => {
    const name = agent();
    const { text } = await speak(await secure([unknown]), [request(name)]);
    assert.equal(status(text), 200);
    assert.equal(await logged(name), null);
  });
});

describe('closed without an answer', () => {
  const full = (first) => Buffer.concat([first, request(agent(), forwarded)]);
  const wrong = {
    'no header': full(Buffer.alloc(0)),
    'version 1': full(Buffer.from('PROXY TCP4 198.51.100.9 10.0.0.1 4660 443\r\n')),
    'a family that does not exist': full(header(0x21, 0x13, Buffer.alloc(12))),
    'too short for its addresses': full(header(0x21, 0x11, Buffer.alloc(11))),
    'too long': full(header(0x21, 0x11, Buffer.alloc(4081))),
    noise: Buffer.alloc(3000, 0xff),
  };
  for (const [description, bytes] of Object.entries(wrong)) {
    for (const scheme of ['http', 'https']) {
      test(`${description}, ${scheme}`, async () => {
        const { text, error } = await speak(dial(scheme, proxy), [bytes]);
        assert.ok(!error || error.code === 'ECONNRESET' || error.code === 'EPIPE', String(error));
        assert.equal(text, '');
      });
    }
  }

  for (const scheme of ['http', 'https']) {
    test(`a peer that is no trusted proxy, whatever it sends, ${scheme}`, async () => {
      for (const bytes of [full(tcp4('198.51.100.9')), full(local), full(Buffer.alloc(0))]) {
        const { text, error } = await speak(dial(scheme, '127.0.0.1'), [bytes]);
        assert.ok(!error || error.code === 'ECONNRESET' || error.code === 'EPIPE', String(error));
        assert.equal(text, '');
      }
    });
    test(`a header that does not come to its end in time, ${scheme}`, async () => {
      const began = Date.now();
      const dripping = dial(scheme, proxy);
      const drip = setInterval(() => { if (!dripping.destroyed) dripping.write(Buffer.alloc(1)); }, 300);
      const [silent, named, slow, leaving] = await Promise.all([
        speak(dial(scheme, proxy), []),
        speak(dial(scheme, proxy), [tcp4('198.51.100.9')]),
        speak(dripping, [tcp4('198.51.100.9', 'x'.repeat(400)).subarray(0, 30)]).finally(() => clearInterval(drip)),
        speak(dial(scheme, proxy).on('connect', function end() { this.end(tcp4('198.51.100.9').subarray(0, 20)); }), []),
      ]);
      const took = Date.now() - began;
      assert.ok(took > 1500 && took < 6000, `${took} ms`);
      for (const { text } of [silent, named, slow, leaving]) assert.equal(text, '');
    });
  }

  test('and the server goes on', async () => {
    const { text } = await speak(dial('http', proxy), [full(tcp4('198.51.100.9'))]);
    assert.equal(status(text), 200);
  });
});

test('the connections of each client behind the proxy are counted, and none of the proxy', async () => {
  const limited = await startServer({ listen: ['http://127.0.0.1:0?proxy=v2'],
    config: config.replace('[http]', '[http]\nconnections_per_address = 2') });
  try {
    const mine = (await limited.makeKey()).key;
    const { host, port } = limited.at('http');
    const keeping = message('GET', '/api/v1/users', { key: mine, headers: forwarded });
    const sockets = [];
    const first = (bytes) => new Promise((resolve) => {
      const socket = net.connect({ host, port, localAddress: proxy }, () => socket.write(Buffer.concat([bytes, keeping])));
      sockets.push(socket);
      socket.on('data', (answer) => resolve(status(answer.toString('latin1'))));
      socket.on('error', () => resolve('closed'));
      socket.on('close', () => resolve('closed'));
    });
    const client = tcp4('198.51.100.30');
    assert.equal(await first(client), 200);
    assert.equal(await first(client), 200);
    assert.equal(await first(client), 'closed');
    for (const other of [tcp4('198.51.100.31'), tcp6, unknown, unknown, unknown]) assert.equal(await first(other), 200);
    sockets[0].destroy();
    for (const limit = Date.now() + 5000; await first(client) !== 200; await sleep(20)) {
      assert.ok(Date.now() < limit, 'a connection that ended makes room');
    }
    for (const socket of sockets) socket.destroy();
  } finally {
    await limited.stop();
  }
});

test('without a trusted proxy such a listener is a wrong configuration', async () => {
  const data = path.join(temporaryFolder(), 'data');
  const result = await command('serve', '--data', data, '--listen', 'https://127.0.0.1:0?proxy=v2');
  assert.equal(result.code, 78, result.stderr);
  assert.match(result.stderr, /trusted_proxies/);
});
