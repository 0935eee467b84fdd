// serve --take-over: a new process gets the listening sockets of the running one, and no request is lost.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, command, message, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { connectWire } from '../helpers/wire.mjs';

const rounds = Number(process.env.E2E_ROUNDS ?? 10);
const takingOver = ['--take-over'];

async function withServer(options, act) {
  const servers = [await startServer(options)];
  const current = () => servers[servers.length - 1];
  const takeOver = async (changes = {}) => {
    const { args } = current().options;
    const options = { ...changes, args: [...new Set([...args, ...changes.args ?? [], ...takingOver])] };
    servers.push(await current().again(options));
    return current();
  };
  try {
    await act(current, takeOver);
  } finally {
    await current().stop();
    for (const each of servers) {
      const end = await each.exited;
      assert.deepEqual(end, { code: 0, signal: null }, each.stderr);
      assert.doesNotMatch(each.stderr, /Sanitizer|runtime error:/);
    }
  }
}

// A client in a loop: reads and creates users by turns, and throws at the first request without its answer.
class LoadClient {
  constructor(key) {
    Object.assign(this, { key, stopped: false, reads: 0, created: [] });
  }

  async run() {
    while (!this.stopped) {
      const user = newUser();
      const made = await this.request('POST', '/api/v1/users', JSON.stringify(user));
      assert.equal(made.status, 201, made.text);
      const { id } = JSON.parse(made.text);
      this.created.push({ id, email: user.email });
      // What was answered is there, whichever process answers.
      const read = await this.request('GET', `/api/v1/users/${id}`);
      assert.equal(read.status, 200, read.text);
      assert.equal(JSON.parse(read.text).email, user.email);
      this.reads += 1;
    }
  }
}

// Keeps its connection alive, and sends nothing twice.
class Http1Client extends LoadClient {
  constructor(key, { scheme, host, port, ca }) {
    super(key);
    this.protocol = scheme === 'https' ? https : http;
    this.agent = new this.protocol.Agent({ keepAlive: true, maxSockets: 1 });
    this.address = { host, port, ca };
  }

  request(method, target, body) {
    return new Promise((resolve, reject) => {
      const headers = { 'X-API-Key': this.key, ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }) };
      const request = this.protocol.request({ ...this.address, method, path: target, headers, agent: this.agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part) => { text += part; });
        answer.on('end', () => resolve({ status: answer.statusCode, text }));
        answer.on('error', reject);
      });
      request.on('error', (error) => reject(new Error(`${method} ${target}: ${error.message}`, { cause: error })));
      request.end(body);
    });
  }

  close() { this.agent.destroy(); }
}

// Three requests at once on one connection; a new one after GOAWAY.
class Http2Client extends LoadClient {
  constructor(key, { scheme, host, port, ca }) {
    super(key);
    this.url = `${scheme}://${host}:${port}`;
    this.ca = ca;
    this.sessions = 0;
  }

  connected() {
    if (this.session && !this.session.closed && !this.session.destroyed) return this.session;
    const session = http2.connect(this.url, { ca: this.ca });
    session.on('error', () => {}); // each request tells of its own
    session.lastStream = Infinity;
    session.on('goaway', (code, lastStream) => { session.lastStream = lastStream; });
    this.session = session;
    this.sessions += 1;
    return session;
  }

  // What was not processed goes to the next connection (RFC 9113 §8.7): it was not sent yet when GOAWAY came, and the client's own
  // library refuses or ends it, or it is beyond the last stream that GOAWAY names.
  async request(method, target, body) {
    for (;;) {
      const answer = await this.attempt(method, target, body);
      if (answer !== null) return answer;
    }
  }

  attempt(method, target, body) {
    return new Promise((resolve, reject) => {
      const headers = { ':method': method, ':path': target, 'x-api-key': this.key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
      const session = this.connected();
      const stream = session.request(headers, { endStream: body === undefined });
      let status = 0;
      let text = '';
      let problem = 'no response';
      stream.setEncoding('utf8');
      stream.on('response', (fields) => { status = fields[':status']; });
      stream.on('data', (part) => { text += part; });
      stream.on('end', () => { if (status) resolve({ status, text }); });
      stream.on('error', (error) => { problem = error.message; });
      stream.on('close', () => {
        const refused = stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM;
        const perhapsProcessed = !refused && stream.id !== undefined && stream.id <= session.lastStream;
        if (!perhapsProcessed) session.close();
        perhapsProcessed ? reject(new Error(`${method} ${target}: ${problem}`)) : resolve(null);
      });
      if (body !== undefined) stream.end(body);
    });
  }

  run() {
    return Promise.all([super.run(), super.run(), super.run()]);
  }

  close() { this.session?.close(); }
}

// Another process of the same user that speaks the words of the handover: prints what it hears as a line of JSON for each
// packet, with the number of descriptors.
const speaker = `
import json, socket, sys
peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
peer.connect(sys.argv[1])
for word in sys.argv[2:]: peer.send(word.encode())
while True:
    text, fds, flags, address = socket.recv_fds(peer, 4096, 64)
    print(json.dumps([text.decode(), len(fds)]), flush=True)
    if not text: break`;
const socketOf = (server) => path.join(server.data, 'handover.socket');

function speak(server, ...words) {
  return new Promise((resolve, reject) => {
    execFile('python3', ['-c', speaker, socketOf(server), ...words], { timeout: 20_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr));
      else resolve(stdout.trimEnd().split('\n').map((line) => JSON.parse(line)));
    });
  });
}

describe('serve --take-over', () => {
  test(`loses no request of busy clients in ${rounds} restarts, with other numbers of workers`, async (t) => {
    const listen = ['https://127.0.0.1:0', 'http://127.0.0.1:0'];
    await withServer({ listen, management: '127.0.0.1:0' }, async (current, takeOver) => {
      const { key } = await current().makeKey();
      const before = [current().at('https').port, current().at('http').port];
      const clients = [
        ...[1, 2, 3].map(() => new Http1Client(key, current().at('https'))),
        ...[1, 2, 3].map(() => new Http1Client(key, current().at('http'))),
        ...[1, 2].map(() => new Http2Client(key, current().at('https'))),
        new Http2Client(key, current().at('http')),
      ];
      const running = clients.map((client) => client.run());
      let failed = null;
      running.forEach((each) => each.catch((error) => { failed ??= error; }));
      try {
        for (let round = 1; round <= rounds && failed === null; round += 1) {
          const old = current();
          const successor = await takeOver({ workers: [3, 1, 2][round % 3] });
          assert.deepEqual([successor.at('https').port, successor.at('http').port], before, 'the ports stay');
          const end = await Promise.race([old.exited, sleep(20_000)]);
          assert.deepEqual(end, { code: 0, signal: null }, `the old process ends: ${old.stderr}`);
          assert.doesNotMatch(old.stderr, /ending connections/, 'no connection had to be cut');
          await sleep(20 * (round % 4)); // the next comes at once or later
        }
      } finally {
        clients.forEach((client) => { client.stopped = true; });
      }
      await Promise.all(running);
      clients.forEach((client) => client.close());
      const created = clients.flatMap((client) => client.created);
      assert.ok(created.length >= rounds * clients.length, `${created.length} users`);
      for (const client of clients.filter(({ sessions }) => sessions)) assert.ok(client.sessions > rounds, `${client.sessions} sessions`);
      // Each answered write is there, once.
      const file = path.join(temporaryFolder(), 'users.ndjson');
      const exported = await command('export', file, '--data', current().data);
      assert.equal(exported.code, 0, exported.stderr);
      const emails = fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line).email);
      assert.deepEqual(emails.sort(), created.map(({ email }) => email).sort());
      t.diagnostic(`${created.length} writes and ${clients.reduce((sum, { reads }) => sum + reads, 0)} reads`);
    });
  });

  test('answers idle connections once more, and uploads to their end, beside the successor', () => withServer({}, async (current, takeOver) => {
    const old = current();
    const { key } = await old.makeKey();
    const idle = await old.connect();
    await idle.send(message('GET', '/api/v1/users', { key }));
    assertStatus(await idle.response(), 200);
    const silent = await old.connect({ scheme: 'http' });
    const slow = await old.connect();
    const body = JSON.stringify(newUser());
    const whole = message('POST', '/api/v1/users', { key, body });
    await slow.send(whole.subarray(0, whole.length - 5));
    await sleep(100); // what was sent has arrived
    const successor = await takeOver();
    const api = successor.client(key);
    await api.create('/users', newUser());
    await slow.send(whole.subarray(whole.length - 5));
    const uploaded = await slow.response();
    assertStatus(uploaded, 201);
    assert.equal(uploaded.headers.get('connection'), 'close');
    await slow.ending();
    assert.equal(old.child.exitCode, null, 'the old process waits for its idle connections');
    for (const wire of [idle, silent]) {
      await wire.send(message('GET', '/api/v1/users', { key }));
      const last = await wire.response();
      assertStatus(last, 200);
      assert.equal(last.headers.get('connection'), 'close');
      assert.equal(last.json.data.length, 2, 'what the successor has written is seen');
      await wire.ending();
    }
    assert.deepEqual(await old.exited, { code: 0, signal: null });
    await until(() => /has ended/.test(successor.stderr), 'the successor says so');
    assert.match(successor.stderr, new RegExp(`process ${old.pid}, which handed over, has ended`));
    api.close();
  }));

  test('keeps rate limits, a Unix socket and the management listener', async () => {
    const folder = temporaryFolder();
    const unix = path.join(folder, 'socket');
    await withServer({ args: ['--listen', `unix:${unix}`], management: '127.0.0.1:0' }, async (current, takeOver) => {
      const { key } = await current().makeKey({ limits: ['hour=5/3600'] });
      const where = (server) => /management on ([^ ]+):/.exec(server.stderr)[1];
      const first = where(current());
      for (let round = 0; round < 3; round += 1) {
        assertStatus(await current().ask('GET', '/api/v1/users', { key }), 200);
        const old = current();
        await takeOver();
        assert.deepEqual(await old.exited, { code: 0, signal: null });
        assert.equal(where(current()), first);
        assert.equal((await fetch(`http://${first}/livez`, { headers: { Connection: 'close' } })).status, 200);
        const wire = await connectWire({ scheme: 'http', options: { path: unix } });
        await wire.send(message('GET', '/api/v1/me', { headers: { Connection: 'close' } }));
        assertStatus(await wire.response(), 401);
        await wire.ending();
      }
      for (let i = 0; i < 2; i += 1) assertStatus(await current().ask('GET', '/api/v1/users', { key }), 200);
      assertStatus(await current().ask('GET', '/api/v1/users', { key }), 429);
    });
    assert.ok(!fs.existsSync(unix), 'the last one takes the socket away');
  });

  test('opens the addresses that are new, and closes those that are gone', () => withServer({}, async (current, takeOver) => {
    const old = current();
    const { key } = await old.makeKey();
    const { port } = old.at('http');
    const successor = await takeOver({ listen: ['https://127.0.0.1:0', 'https://[::1]:0'] });
    assert.match(successor.stderr, /took over from process [0-9]+; no longer listening on http:\/\/127\.0\.0\.1:0\n/);
    assert.equal(successor.at('https').port, old.at('https').port);
    const six = successor.urls.find(({ host }) => host === '::1');
    const wire = await connectWire({ ...six, ca: successor.ca, options: { servername: 'localhost' } });
    await wire.send(message('GET', '/api/v1/users', { key, headers: { Connection: 'close' } }));
    assertStatus(await wire.response(), 200);
    await wire.ending();
    await old.exited;
    await assert.rejects(connectWire({ scheme: 'http', host: '127.0.0.1', port }), /ECONNREFUSED/);
  }));

  test('of one that fails leaves the running service as it was', () => withServer({}, async (current, takeOver) => {
    const server = current();
    const { key } = await server.makeKey();
    const idle = await server.connect();
    const stays = async () => {
      await idle.send(message('GET', '/api/v1/users', { key }));
      const answer = await idle.response();
      assertStatus(answer, 200);
      assert.notEqual(answer.headers.get('connection'), 'close');
      for (const scheme of ['http', 'https']) assertStatus(await server.ask('GET', '/api/v1/users', { key, scheme }), 200);
    };
    const tries = (...args) => command('serve', '--data', server.data, '--access-log', 'off', '--management', 'off', ...takingOver, ...args);
    const listen = ['--listen', 'https://127.0.0.1:0'];
    // After it has the sockets: its certificate is no certificate, its address is in use.
    const file = path.join(temporaryFolder(), 'broken.pem');
    fs.writeFileSync(file, 'no certificate\n');
    const broken = await tries(...listen, '--tls-certificate', file, '--tls-key', file);
    assert.notEqual(broken.code, 0);
    assert.match(broken.stderr, /broken\.pem/);
    await stays();
    const other = http.createServer();
    await new Promise((resolve) => { other.listen(0, '127.0.0.1', resolve); });
    const taken = await tries(...listen, '--listen', `http://127.0.0.1:${other.address().port}`);
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /cannot listen on http:\/\/127\.0\.0\.1:[0-9]+: .*another program has it/);
    await stays();
    other.close();
    // Killed before it is ready; another version; words that are none.
    const child = spawn('python3', ['-c', speaker, socketOf(server), 'hello 1 process 1, test'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => { child.stdout.on('data', (text) => { if (String(text).includes('"all ')) resolve(); }); });
    child.kill('SIGKILL');
    const end = /process 1, test ended before it was ready to take over: this process goes on serving/;
    await until(() => end.test(server.stderr), () => `it says so (${server.stderr})`);
    await stays();
    const [[older]] = await speak(server, 'hello 99 process 1, test');
    assert.match(older, /^refusal it speaks another version of the handover than this service, which is 1/);
    const packets = await speak(server, 'hello 1 process 1, test', 'ready 99');
    assert.deepEqual(packets.map(([text]) => text.split(' ')[0]), ['socket', 'socket', 'socket', 'claim', 'all', 'refusal', '']);
    assert.deepEqual(packets.map(([, count]) => count), [2, 2, 1, 1, 0, 0, 0], 'one descriptor for each worker');
    await stays();
    idle.close();
    // And then one that succeeds.
    const successor = await takeOver();
    assertStatus(await successor.ask('GET', '/api/v1/users', { key }), 200);
  }));

  // With each amount of memory that it may lock some more of its workers start, until all do.
  test('of one whose workers cannot all start leaves the clients that wait to the running service', (t) => withServer({}, async (current) => {
    const server = current();
    const { key } = await server.makeKey();
    const words = ['serve', '--data', server.data, '--workers', '4', '--access-log', 'off', '--management', 'off', '--listen', 'https://127.0.0.1:0', '--listen', 'http://127.0.0.1:0', ...takingOver];
    const failures = [];
    for (let kib = 256; kib < 4096; kib += 128) {
      const child = spawn('bash', ['-c', `ulimit -l ${kib}; exec "$0" "$@"`, binary, ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
      const exited = new Promise((resolve) => { child.once('exit', resolve); });
      let text = '';
      const tookOver = new Promise((resolve) => { child.stderr.on('data', (chunk) => { text += chunk; if (/took over/.test(text)) resolve('took over'); }); });
      if (await Promise.race([exited, tookOver]) === 'took over') {
        child.kill('SIGTERM');
        await exited;
        break;
      }
      assert.match(text, /memory/);
      failures.push(kib);
      for (let i = 0; i < 5; i += 1)
        for (const scheme of ['http', 'https']) assertStatus(await server.ask('GET', '/api/v1/users', { key, scheme }), 200);
    }
    assert.ok(failures.length > 0, 'with 256 KiB of memory to lock not all workers have a ring');
    t.diagnostic(`it could not start with ${failures.join(', ')} KiB`);
  }));

  test('says why there is nothing to take over', async () => {
    const data = path.join(temporaryFolder(), 'data');
    const serve = ['serve', '--data', data, '--listen', 'http://127.0.0.1:0', '--management', 'off', ...takingOver];
    const none = await command(...serve);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /there is nothing to take over: no service that can hand over runs with the data directory .*data; start this one without --take-over/);
    await withServer({ data, env: { NOTIFY_SOCKET: path.join(path.dirname(data), 'notify') } }, async () => {
      const managed = await command(...serve);
      assert.equal(managed.code, 1);
      assert.match(managed.stderr, /does not hand over: a service manager started it, which keeps its sockets: restart its unit/);
      assert.equal(fs.statSync(path.join(data, 'handover.socket')).mode & 0o777, 0o600);
      if (process.getuid() !== 0) return;
      // The directory is the other user's to enter, but the socket is not.
      fs.chmodSync(path.dirname(data), 0o755);
      fs.chmodSync(data, 0o755);
      const copy = path.join(path.dirname(data), 'latchkey');
      fs.copyFileSync(binary, copy);
      fs.chmodSync(copy, 0o755);
      const stranger = await new Promise((resolve) => {
        execFile('setpriv', ['--reuid=65534', '--clear-groups', copy, ...serve], (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stderr }));
      });
      fs.chmodSync(data, 0o700);
      assert.equal(stranger.code, 1, stranger.stderr);
      assert.match(stranger.stderr, /belongs to another user: only its own user may take over/);
    });
    const ended = await command(...serve);
    assert.match(ended.stderr, /there is nothing to take over/);
    assert.ok(!fs.existsSync(path.join(data, 'handover.socket')), 'the socket is taken away');
  });
});
