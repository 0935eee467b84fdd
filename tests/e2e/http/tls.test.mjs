// TLS: versions, ALPN, tickets, the self-signed certificate, a configured one, and its reload.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import tls from 'node:tls';
import { assertStatus, command, message, newUser, run, sleep, startFetch, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();

// Creates a certificate for 127.0.0.1 with the openssl command, as an operator would.
async function makeCertificate(name, kind = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']) {
  const certificate = path.join(folder, `${name}.pem`);
  const privateKey = path.join(folder, `${name}.key`);
  await run('openssl', ['req', '-x509', '-newkey', ...kind, '-nodes', '-days', '30', '-subj', `/CN=${name}`,
    '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost', '-keyout', privateKey, '-out', certificate]);
  return { certificate, privateKey, pem: fs.readFileSync(certificate) };
}

// An established TLS connection, or the error.
function handshake(options = {}, address = server.at('https')) {
  return new Promise((resolve) => {
    const socket = tls.connect({ host: address.host, port: address.port, ca: address.ca, ...options });
    socket.once('secureConnect', () => resolve({ socket }));
    socket.once('error', (error) => resolve({ error }));
  });
}

// One request on a TLS socket, to its end, so that tickets that follow the handshake have arrived.
async function askOn(socket) {
  const text = await new Promise((resolve, reject) => {
    let all = '';
    socket.on('data', (chunk) => { all += chunk; }).on('end', () => resolve(all)).on('error', reject);
    socket.write(message('GET', '/api/v1/users?limit=1', { key, headers: { Connection: 'close' } }));
  });
  assert.match(text, /^HTTP\/1\.1 200 /);
}

// Between client and server stands what shows the bytes: a close_notify is a record.
test('a client that closes without close_notify, with nothing in flight, is sent nothing more', async (t) => {
  const listenerAddress = server.at('https');
  let upstream;
  let answerTime = null;
  const relay = net.createServer((client) => {
    upstream = net.connect({ host: listenerAddress.host, port: listenerAddress.port, allowHalfOpen: true });
    upstream.on('data', (bytes) => { if (answerTime === null) client.write(bytes); else answerTime += bytes.length; });
    client.on('data', (bytes) => upstream.write(bytes)).on('error', () => {});
    upstream.on('error', () => {});
  });
  await new Promise((resolve) => { relay.listen(0, '127.0.0.1', resolve); });
  const { socket, error } = await handshake({}, { ...listenerAddress, host: '127.0.0.1', port: relay.address().port });
  assert.equal(error, undefined);
  t.after(() => { socket.destroy(); upstream.destroy(); relay.close(); });
  const firstBytes = new Promise((resolve) => { socket.once('data', resolve); });
  socket.write(message('GET', '/api/v1/users?limit=1', { key }));
  assert.match(String(await firstBytes), /^HTTP\/1\.1 200 /);
  answerTime = 0;
  const upstreamEnd = new Promise((resolve) => { upstream.once('end', resolve); });
  upstream.end();
  await upstreamEnd;
  assert.equal(answerTime, 0);
});

describe('versions and ALPN', () => {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    test(`${version} is spoken`, async () => {
      const { socket, error } = await handshake({ minVersion: version, maxVersion: version });
      assert.equal(error, undefined);
      assert.equal(socket.getProtocol(), version);
      assert.equal(socket.authorized, true);
      await askOn(socket);
    });
  }

  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' };

  test('TLS 1.1 is refused, by the server', async () => {
    // First shows that this client supports it, so that the refusal below is the server's.
    const { privateKey, pem } = await makeCertificate('old', ['rsa:2048']);
    const willing = tls.createServer({ ...old, cert: pem, key: fs.readFileSync(privateKey) }, (s) => s.end());
    await new Promise((resolve) => { willing.listen(0, '127.0.0.1', resolve); });
    const control = await handshake({ ...old, ca: pem }, { host: '127.0.0.1', port: willing.address().port });
    assert.equal(control.error, undefined);
    assert.equal(control.socket.getProtocol(), 'TLSv1.1');
    control.socket.destroy();
    willing.close();

    const { socket, error } = await handshake(old);
    socket?.destroy();
    assert.ok(error, 'the handshake fails');
    assert.match(`${error.code} ${error.message}`, /ALERT_PROTOCOL_VERSION|alert protocol version/i);
  });

  test('ALPN chooses h2 where it is offered, else http/1.1', async () => {
    for (const [offer, choice] of [[['http/1.1'], 'http/1.1'], [['spdy/3', 'http/1.1'], 'http/1.1'],
      [['h2', 'http/1.1'], 'h2'], [['spdy/3', 'http/1.1', 'h2'], 'h2'], [['h2'], 'h2']]) {
      const { socket, error } = await handshake({ ALPNProtocols: offer });
      assert.equal(error, undefined);
      assert.equal(socket.alpnProtocol, choice, `of ${offer}`);
      socket.destroy();
    }
  });

  test('a client without ALPN is served', async () => {
    const { socket } = await handshake();
    assert.equal(socket.alpnProtocol, false);
    await askOn(socket);
  });
});

// Node's sockets have Nagle's algorithm on: a request waits until the last message of the handshake is acknowledged,
// which the server's kernel delays by 40 ms if the server has nothing to send.
describe('a client with Nagle\'s algorithm gets its first answer at once', () => {
  const rounds = 15;
  const firstAnswer = async (options) => {
    const { socket, error } = await handshake(options);
    assert.equal(error, undefined);
    socket.setNoDelay(false);
    await new Promise((resolve) => { setImmediate(resolve); }); // so that the request is a packet of its own
    const startTime = performance.now();
    const ticket = new Promise((resolve) => { socket.once('session', resolve); }); // TLS 1.3; that of 1.2 is there
    const firstBytes = new Promise((resolve) => { socket.once('data', resolve); });
    socket.write(message('GET', '/api/v1/users?limit=1', { key }));
    assert.match(String(await firstBytes), /^HTTP\/1\.1 200 /);
    const milliseconds = performance.now() - startTime;
    const resumed = socket.isSessionReused();
    const session = socket.getProtocol() === 'TLSv1.3' ? await ticket : socket.getSession();
    socket.destroy();
    return { milliseconds, resumed, session };
  };
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    for (const resumes of [false, true]) {
      test(`over ${version}, ${resumes ? 'resumed' : 'new'}`, async (t) => {
        const options = { minVersion: version, maxVersion: version };
        let { session } = await firstAnswer(options);
        const took = [];
        for (let i = 0; i < rounds; i += 1) {
          const handshakeResult = await firstAnswer(resumes ? { ...options, session } : options);
          assert.equal(handshakeResult.resumed, resumes);
          session = handshakeResult.session;
          took.push(handshakeResult.milliseconds);
        }
        took.sort((a, b) => a - b);
        // Delays of a busy machine are not the server's; a delayed acknowledgement would be there each time.
        const usual = took[rounds >> 2];
        t.diagnostic(`${usual.toFixed(1)} ms, at most ${took.at(-1).toFixed(1)} ms`);
        assert.ok(usual <= 5, `the first answer takes ${usual} ms`);
      });
    }
  }
});

describe('tickets', () => {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    test(`a ${version} session is resumed, on whichever worker takes the connection`, async () => {
      const sessions = [];
      const first = await handshake({ minVersion: version, maxVersion: version });
      assert.equal(first.error, undefined);
      first.socket.on('session', (s) => sessions.push(s));
      assert.equal(first.socket.isSessionReused(), false);
      await askOn(first.socket);
      if (version === 'TLSv1.2') sessions.push(first.socket.getSession());
      let session = sessions.at(-1);
      assert.ok(session, 'a ticket came');
      for (let i = 0; i < 12; i += 1) {
        const { socket, error } = await handshake({ minVersion: version, maxVersion: version, session });
        assert.equal(error, undefined);
        assert.equal(socket.isSessionReused(), true, `connection ${i}`);
        socket.on('session', (s) => { session = s; });
        await askOn(socket);
      }
    });
  }

  test('a ticket of another life of the server falls back to a full handshake', async () => {
    let other = await startServer();
    const otherAddress = () => other.at('https');
    const { socket } = await handshake({ maxVersion: 'TLSv1.2' }, otherAddress());
    const session = socket.getSession();
    socket.destroy();
    await other.stop();
    other = await other.again();
    const second = await handshake({ maxVersion: 'TLSv1.2', session }, otherAddress());
    assert.equal(second.error, undefined);
    assert.equal(second.socket.isSessionReused(), false);
    second.socket.destroy();
    await other.stop();
  });
});

describe('the self-signed certificate', () => {
  test('verifies for Node\'s fetch with NODE_EXTRA_CA_CERTS, and not without', async () => {
    const url = `${server.base()}/api/v1/users`;
    const trusting = await startFetch(server);
    const answer = await trusting.fetch(url, { headers: { 'X-API-Key': key } });
    assert.equal(answer.status, 200);
    assert.ok(Array.isArray(answer.json.data));
    trusting.stop();
    const stranger = await startFetch({ certificateFile: '' });
    await assert.rejects(stranger.fetch(url), /SELF_SIGNED|UNABLE_TO_VERIFY|self.signed/);
    stranger.stop();
  });

  test('verifies for node:https, which keeps its connection', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: server.ca });
    const ports = new Set();
    for (let i = 0; i < 5; i += 1) {
      const status = await new Promise((resolve, reject) => {
        https.get(`${server.base()}/api/v1/users`, { agent, headers: { Authorization: `Bearer ${key}` } }, (response) => {
          ports.add(response.socket.localPort);
          response.resume().on('end', () => resolve(response.statusCode));
        }).on('error', reject);
      });
      assert.equal(status, 200);
    }
    assert.equal(ports.size, 1, 'one connection served them all');
    agent.destroy();
  });

  test('stays the same over a restart', async () => {
    const first = await startServer();
    await first.stop();
    const second = await first.again();
    assert.deepEqual(second.ca, first.ca);
    await second.stop();
  });

  test('its private key, and all of the data, is for the owner alone', () => {
    assert.equal(fs.statSync(server.data).mode & 0o777, 0o700);
    const walk = (dir) => fs.readdirSync(dir, { withFileTypes: true })
      .flatMap((e) => (e.isDirectory() ? walk(path.join(dir, e.name)) : [path.join(dir, e.name)]));
    const files = walk(server.data);
    assert.ok(files.length > 2);
    for (const file of files.filter((f) => f !== server.certificateFile)) {
      assert.equal(fs.statSync(file).mode & 0o077, 0, `${path.basename(file)} is readable by others`);
    }
  });
});

describe('input that is not TLS', () => {
  const raw = (bytes) => new Promise((resolve) => {
    const { host, port } = server.at('https');
    let all = Buffer.alloc(0);
    const socket = net.connect(port, host, () => socket.write(bytes));
    socket.setTimeout(5000, () => socket.destroy(new Error('still open')));
    socket.on('data', (chunk) => { all = Buffer.concat([all, chunk]); });
    socket.on('error', (error) => resolve({ all, error }));
    socket.on('close', () => resolve({ all }));
  });

  test('plain HTTP on the TLS port is answered 400 and a sentence, in plain HTTP', async () => {
    for (const bytes of [message('GET', '/api/v1/users', { key }), message('PATCH', '/api/v1/users/1', { key, body: '{}' }),
      message('POST', '/api/v1/users', { key, body: JSON.stringify({ name: 'x'.repeat(300_000) }) })]) {
      const { all, error } = await raw(bytes);
      assert.equal(error, undefined, String(error));
      const [head, body] = all.toString('latin1').split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\nDate: .* GMT\r\nContent-Type: text\/plain/);
      assert.match(head, /Connection: close$/);
      assert.equal(body.length, Number(/Content-Length: (\d+)/.exec(head)[1]));
      assert.match(body, /Use https:\/\//);
      assert.ok(!body.includes(key), 'the key does not come back');
    }
  });

  test('a request in plain HTTP may arrive byte by byte', async () => {
    const { host, port } = server.at('https');
    const text = await new Promise((resolve, reject) => {
      let received = '';
      const socket = net.connect(port, host, async () => {
        socket.setNoDelay(true);
        for (const byte of 'HEAD / HTTP/1.1\r\n') {
          socket.write(byte);
          await new Promise((wake) => { setTimeout(wake, 2); });
          if (socket.destroyed || received) break;
        }
      });
      socket.on('data', (chunk) => { received += chunk; }).on('error', reject).on('close', () => resolve(received));
    });
    assert.match(text, /^HTTP\/1\.1 400 /);
    assert.ok(text.endsWith('\r\n\r\n'), 'HEAD: no content');
  });

  test('HTTP/2 with prior knowledge on the TLS port is told so by GOAWAY', async () => {
    const error = await new Promise((resolve) => {
      const { host, port } = server.at('https');
      const client = http2.connect(`http://${host}:${port}`);
      let debug;
      client.on('goaway', (code, last, data) => { debug = { code, text: String(data) }; });
      client.on('error', () => {}).on('close', () => resolve(debug));
      client.request({ ':path': '/api/v1/users', authorization: `Bearer ${key}` }).on('error', () => {}).end();
    });
    assert.equal(error.code, http2.constants.NGHTTP2_INADEQUATE_SECURITY);
    assert.match(error.text, /Use https:\/\//);
  });

  test('noise does no harm', async () => {
    const noise = [Buffer.alloc(3000, 0xff), Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 9]), Buffer.alloc(70_000, 0x16),
      Buffer.from([0x16, 3, 1, 0xff, 0xff, ...Buffer.alloc(300, 1)])];
    await Promise.all(noise.map((bytes) => new Promise((resolve) => {
      const { host, port } = server.at('https');
      const socket = net.connect(port, host, () => socket.write(bytes));
      socket.on('error', () => {}).on('close', resolve).resume();
      setTimeout(() => socket.destroy(), 300);
    })));
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
  });

  test('clients that leave in the middle of the handshake do no harm', async () => {
    const { host, port } = server.at('https');
    await Promise.all(Array.from({ length: 20 }, (_, i) => new Promise((resolve) => {
      const socket = tls.connect({ host, port, rejectUnauthorized: false });
      socket.on('error', () => {}).on('close', resolve);
      setTimeout(() => socket.destroy(), i % 5);
    })));
    assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
  });
});

describe('a configured certificate', () => {
  const start = async (name, kind) => {
    const files = await makeCertificate(name, kind);
    const configured = await startServer({ args: ['--tls-certificate', files.certificate, '--tls-key', files.privateKey] });
    configured.ca = files.pem;
    return { files, configured, mine: (await configured.makeKey()).key };
  };
  const subject = async (server, ca) => {
    const { socket, error } = await handshake({ ca }, server.at('https'));
    if (error) return error.code;
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };
  const put = (source, target) => {
    fs.copyFileSync(source.certificate, target.certificate);
    fs.copyFileSync(source.privateKey, target.privateKey);
  };

  test('is shown, and brings Strict-Transport-Security over TLS', async () => {
    const { configured, mine, files } = await start('first');
    try {
      assert.equal(await subject(configured, files.pem), 'first');
      const answer = await configured.ask('GET', '/api/v1/users', { key: mine });
      assertStatus(answer, 200);
      assert.match(answer.headers.get('strict-transport-security') ?? '', /^max-age=[1-9][0-9]*/);
      const refusal = await configured.ask('GET', '/api/v1/users');
      assertStatus(refusal, 401);
      assert.match(refusal.headers.get('strict-transport-security') ?? '', /^max-age=/);
      const plain = await configured.ask('GET', '/api/v1/users', { key: mine, scheme: 'http' });
      assert.equal(plain.headers.get('strict-transport-security'), null, 'not without TLS (RFC 6797, 7.2)');
    } finally {
      await configured.stop();
    }
  });

  test('may be RSA, for both versions', async () => {
    const { configured, mine, files } = await start('rsa', ['rsa:2048']);
    try {
      for (const version of ['TLSv1.2', 'TLSv1.3']) {
        const { socket, error } = await handshake({ minVersion: version, maxVersion: version, ca: files.pem }, configured.at('https'));
        assert.equal(error, undefined);
        socket.destroy();
      }
      assertStatus(await configured.ask('GET', '/api/v1/users', { key: mine }), 200);
    } finally {
      await configured.stop();
    }
  });

  test('is exchanged by SIGHUP for new connections, while old ones go on', async () => {
    const { configured, mine, files } = await start('before');
    const next = await makeCertificate('after', ['rsa:2048']);
    try {
      const old = await configured.connect();
      await old.send(message('GET', '/api/v1/users', { key: mine }));
      assertStatus(await old.response(), 200);

      put(next, files);
      assert.equal(await subject(configured, files.pem), 'before', 'nothing is reloaded without a signal');
      configured.child.kill('SIGHUP');
      await until(async () => await subject(configured, next.pem) === 'after', 'the new certificate is there', 5000);
      for (let i = 0; i < 10; i += 1) assert.equal(await subject(configured, next.pem), 'after', 'on every worker');

      await old.send(message('POST', '/api/v1/users', { key: mine, body: newUser() }));
      assertStatus(await old.response({ method: 'POST' }), 201);
      old.finish();
      configured.ca = next.pem;
      assertStatus(await configured.ask('GET', '/api/v1/users', { key: mine }), 200);
    } finally {
      await configured.stop();
    }
  });

  test('that is broken is not taken by SIGHUP: the old one stays', async () => {
    const { configured, mine, files } = await start('good');
    const other = await makeCertificate('other');
    try {
      const breaks = [
        () => fs.writeFileSync(files.certificate, 'no certificate at all\n'),
        () => fs.copyFileSync(other.certificate, files.certificate), // the key belongs to another one
        () => fs.rmSync(files.certificate),
      ];
      for (const breakIt of breaks) {
        breakIt();
        const told = configured.stderr.length;
        configured.child.kill('SIGHUP');
        await until(() => configured.stderr.slice(told).includes('nothing was reloaded'), 'nothing is reloaded');
        assert.equal(await subject(configured, files.pem), 'good');
        assertStatus(await configured.ask('GET', '/api/v1/users', { key: mine }), 200);
      }
      put(other, files);
      configured.child.kill('SIGHUP');
      await until(async () => await subject(configured, other.pem) === 'other', 'a later good one is taken');
    } finally {
      await configured.stop();
    }
  });

  test('no request fails while it is exchanged again and again', async () => {
    const { configured, mine, files } = await start('busy');
    const second = await makeCertificate('busy2');
    const pems = Buffer.concat([files.pem, second.pem]);
    configured.ca = pems;
    const first = { certificate: path.join(folder, 'busy.copy'), privateKey: path.join(folder, 'busy.copy.key') };
    put(files, first);
    try {
      let stop = false;
      let done = 0;
      const workers = Promise.all(Array.from({ length: 4 }, async () => {
        while (!stop) {
          assertStatus(await configured.ask('GET', '/api/v1/users?limit=1', { key: mine }), 200);
          done += 1;
        }
      }));
      workers.catch(() => {}); // it is awaited below
      for (let i = 0; i < 10; i += 1) {
        put(i % 2 ? first : second, files);
        configured.child.kill('SIGHUP');
        await sleep(50); // some requests are made between two of them
      }
      stop = true;
      await workers;
      assert.ok(done > 20, `${done} requests`);
    } finally {
      await configured.stop();
    }
  });

  test('without its key, or not there, is a wrong configuration', async () => {
    const { certificate, privateKey } = await makeCertificate('lonely');
    const data = path.join(temporaryFolder(), 'data');
    const serve = (...args) => command('serve', '--data', data, '--listen', 'https://127.0.0.1:0', ...args);
    assert.ok([2, 78].includes((await serve('--tls-certificate', certificate)).code), 'a certificate without a key');
    const absent = await serve('--tls-certificate', path.join(folder, 'absent.pem'), '--tls-key', privateKey);
    assert.equal(absent.code, 78, absent.stderr);
    assert.match(absent.stderr, /absent\.pem/, 'it says which file');
  });
});
