// The protocols of service managers: sd_notify(3) and socket activation (sd_listen_fds(3)).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { assertStatus, binary, command, makeKey, message, sleep, temporaryFolder } from '../helpers/harness.mjs';
import { connectWire } from '../helpers/wire.mjs';

// A service manager in a few lines of Python, since Node.js has no Unix datagram sockets: it prints each notification as a
// JSON string.
const listener = `
import json, os, socket, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
print("ready", flush=True)
while True: print(json.dumps(heard.recv(4096).decode()), flush=True)`;

async function startManager(folder) {
  const name = path.join(folder, 'notify');
  const child = spawn('python3', ['-c', listener, name], { stdio: ['ignore', 'pipe', 'inherit'] });
  const notifications = [];
  let rest = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    notifications.push(...lines);
  });
  for (let i = 0; i < 500 && notifications[0] !== 'ready'; i += 1) await sleep(10);
  assert.equal(notifications.shift(), 'ready');
  return { name, child, messages: () => notifications.map((line) => JSON.parse(line)) };
}

// Binds the sockets of a list and passes them to each process that it starts, as a manager does: reads "start" and "stop" and
// prints the results. (Node.js would accept on its own sockets itself.)
const launcher = `
import fcntl, json, os, socket, subprocess, sys
spec = json.loads(sys.argv[1])
held = []
for where in spec["sockets"]:
    kind = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET6 if ":" in where[0] else socket.AF_INET
    made = socket.socket(kind, socket.SOCK_STREAM)
    made.bind(where if isinstance(where, str) else tuple(where))
    made.listen(64)
    held.append(made)
where = [each.getsockname() for each in held]
high = [fcntl.fcntl(each.fileno(), fcntl.F_DUPFD, 100) for each in held]
for each in held: each.close()
fds = list(range(3, 3 + len(high)))
for wanted, fd in zip(fds, high): os.dup2(fd, wanted)
print(json.dumps({"where": where}), flush=True)
child = None
for line in sys.stdin:
    if line == "start\\n":
        words = ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh"] + spec["words"]
        child = subprocess.Popen(words, pass_fds=fds, stdin=subprocess.DEVNULL,
            env={**os.environ, "LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": spec["names"], **spec["env"]})
        print(json.dumps({"pid": child.pid}), flush=True)
    else:
        if line == "stop\\n": child.terminate()
        print(json.dumps({"code": child.wait()}), flush=True)
if child is not None and child.poll() is None: child.kill()`;

// Cleans up after a failed test: the manager ends with its standard input, and its server with it.
const launched = new Set();
after(() => launched.forEach((child) => child.stdin.end()));

async function launch({ data, sockets = [], names = '', listen, env = {}, args = [] }) {
  const words = [binary, 'serve', '--data', data, '--workers', '2', '--access-log', 'off', '--management', 'off',
    ...listen.flatMap((url) => ['--listen', url]), ...args];
  const child = spawn('python3', ['-c', launcher, JSON.stringify({ sockets, names, words, env })], { stdio: 'pipe' });
  launched.add(child);
  const outputLines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await outputLines.next()).value);
  const { where: address } = await next();
  const server = { where: address, pid: 0, stderr: '' };
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text) => { server.stderr += text; });
  server.start = async (pattern = /listening on/) => {
    server.stderr = '';
    child.stdin.write('start\n');
    server.pid = (await next()).pid;
    for (let i = 0; i < 4000 && !pattern.test(server.stderr); i += 1) await sleep(5);
    assert.match(server.stderr, pattern);
  };
  server.ended = async () => {
    child.stdin.write('wait\n');
    return (await next()).code;
  };
  server.stop = async () => {
    child.stdin.write('stop\n');
    assert.equal((await next()).code, 0, server.stderr);
    assert.doesNotMatch(server.stderr, /Sanitizer|runtime error:/);
  };
  server.close = () => child.stdin.end();
  return server;
}

describe('a service manager', () => {
  test('is told when the service is ready, reloads and stops, and that it lives', async () => {
    const folder = temporaryFolder();
    const manager = await startManager(folder);
    const config = path.join(folder, 'latchkey.toml');
    fs.writeFileSync(config, '');
    const server = await launch({ data: path.join(folder, 'data'), listen: ['http://127.0.0.1:0'], args: ['--config', config],
      env: { NOTIFY_SOCKET: manager.name, WATCHDOG_USEC: '400000' } });
    await server.start();
    const waitFor = async (expected, count = 1) => {
      for (let i = 0; i < 1000 && manager.messages().filter((m) => expected.test(m)).length < count; i += 1) await sleep(5);
      assert.ok(manager.messages().filter((m) => expected.test(m)).length >= count, `${expected}: ${manager.messages()}`);
    };
    await waitFor(/^READY=1/);
    await waitFor(/^WATCHDOG=1$/, 4);
    process.kill(server.pid, 'SIGHUP');
    await waitFor(/^RELOADING=1\nMONOTONIC_USEC=[0-9]+$/);
    await waitFor(/^READY=1/, 2);
    fs.writeFileSync(config, 'wrong');
    process.kill(server.pid, 'SIGHUP');
    await waitFor(/^RELOADING=1\n/, 2);
    await waitFor(/^READY=1/, 3);
    await server.stop();
    server.close();
    await waitFor(/^STOPPING=1/);
    manager.child.kill();
    const order = manager.messages().filter((m) => m !== 'WATCHDOG=1').map((m) => m.split('=')[0]);
    assert.deepEqual(order, ['READY', 'RELOADING', 'READY', 'RELOADING', 'READY', 'STOPPING']);
  });

  test('passes sockets in, identified by their names, and keeps them when the service ends', async () => {
    const folder = temporaryFolder();
    const data = path.join(folder, 'data');
    const { key } = await makeKey(data);
    const server = await launch({ data, names: 'https:http:https:unix', listen: ['fd:https', 'fd:http', 'fd:unix'],
      sockets: [['127.0.0.1', 0], ['127.0.0.1', 0], ['::1', 0], path.join(folder, 'socket')] });
    const [secure, plain, six] = server.where.map(([, port]) => port);
    const ask = async (address) => {
      const wire = await connectWire(address);
      await wire.send(message('GET', '/api/v1/users', { key, headers: { Connection: 'close' } }));
      assertStatus(await wire.response(), 200);
      await wire.ending();
    };
    await server.start(/fd:unix/);
    assert.ok(server.stderr.includes(`listening on https://127.0.0.1:${secure}`), server.stderr);
    assert.ok(server.stderr.includes(`listening on https://[::1]:${six}`), server.stderr);
    const ca = fs.readFileSync(path.join(data, 'tls/certificate.pem'));
    for (let i = 0; i < 5; i += 1) {
      await ask({ scheme: 'https', host: '127.0.0.1', port: secure, ca });
      await ask({ scheme: 'http', host: '127.0.0.1', port: plain });
      // By its name: Node.js 18 does not find ::1 in a certificate.
      await ask({ scheme: 'https', host: '::1', port: six, ca, options: { servername: 'localhost' } });
      await ask({ scheme: 'http', options: { path: path.join(folder, 'socket') } });
    }
    await server.stop();
    // A client that connects between two runs waits and is served by the next one.
    const early = await connectWire({ scheme: 'http', host: '127.0.0.1', port: plain });
    await early.send(message('GET', '/api/v1/users', { key, headers: { Connection: 'close' } }));
    await server.start(/fd:unix/);
    assertStatus(await early.response(), 200);
    await early.ending();
    await server.stop();
    assert.ok(fs.existsSync(path.join(folder, 'socket')), "the manager's socket is not taken away");
    server.close();
  });

  test('that passes in something else gets an error', async () => {
    const folder = temporaryFolder();
    const data = path.join(folder, 'data');
    const none = await command('serve', '--data', data, '--listen', 'fd:https', '--management', 'off');
    assert.equal(none.code, 1, none.stderr);
    assert.match(none.stderr, /no socket was passed in for fd:https/);
    assert.equal((await command('serve', '--data', data, '--listen', 'fd:ftp')).code, 78);
    for (const [names, form] of [['other', /there are: other/], ['http', /without TLS/]]) {
      const server = await launch({ data, sockets: [['0.0.0.0', 0]], names, listen: ['fd:http'] });
      await server.start(form);
      assert.equal(await server.ended(), 1);
      server.close();
    }
  });
});
