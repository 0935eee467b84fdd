// Shared by the tests of hostile clients: crowds of raw connections, a well-behaved client beside them, and measurements of
// the server.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sleep } from './harness.mjs';

const testFolder = path.dirname(fileURLToPath(import.meta.url));

// Connections of a crowd: 200, or as many as `--rounds` says. From 1,000 on latencies are checked too, which needs an idle
// machine.
export const crowd = Number(process.env.E2E_ROUNDS ?? 200);
export const measured = crowd >= 1000;
const p99Milliseconds = 20;

// How long a connection may outlive its limit: a second, and the time that this process needs to notice it for a crowd, on a
// machine that is busy with other things too unless it is measured.
export const graceMs = 1000 + (measured ? 1000 : 4000);

// At least so many requests of the client beside them are answered: two writes, which are every tenth, among them.
const leastBeside = 20;
const idle = []; // neighbours that have reported, and may begin again

function startNeighbour() {
  const child = fork(path.join(testFolder, 'neighbour_process.mjs'), [], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const neighbour = { child, heard: null };
  child.on('message', (message) => neighbour.heard?.resolve(message));
  child.once('exit', () => {
    neighbour.hasEnded = true;
    neighbour.heard?.reject(new Error('the neighbour ended without a report'));
  });
  neighbour.next = () => new Promise((resolve, reject) => {
    neighbour.heard = { resolve, reject };
    if (neighbour.hasEnded) reject(new Error('the neighbour has ended'));
  });
  return neighbour;
}

after(() => {
  for (const { child } of idle) child.disconnect();
});

// Runs `attack` beside a well-behaved client, which must lose no request; returns the client's measurements. `judged`: check
// its latency too; an attack that saturates the client's cores makes that meaningless.
export async function withNeighbour(server, key, attack, { scheme = 'https', judged = true } = {}) {
  const { host, port, ca } = server.at(scheme);
  const neighbour = idle.pop() ?? startNeighbour();
  try {
    const readiness = neighbour.next();
    neighbour.child.send({ host, port, key, ca: scheme === 'https' ? String(ca) : null, least: leastBeside });
    await readiness;
    const startTime = Date.now();
    await attack();
    // A percentile is one of many requests.
    if (measured) await sleep(Math.max(0, 2000 - (Date.now() - startTime)));
    const report = neighbour.next();
    neighbour.child.send('stop');
    const result = await report;
    idle.push(neighbour);
    assert.ok(result.requests >= leastBeside, `the client beside them asked only ${result.requests} times`);
    assert.deepEqual(result.failed, [], 'the client beside them lost requests');
    if (measured && judged) assert.ok(result.p99 < p99Milliseconds, `p99 of the client beside them: ${result.p99} ms`);
    return `${result.requests} requests beside them, p50 ${result.p50} ms, p99 ${result.p99} ms, worst ${result.worst} ms`;
  } finally {
    if (!idle.includes(neighbour)) neighbour.child.kill();
  }
}

// A connection that records what it receives and when it ended, in any way. Calls `act(socket)` once connected.
export function hostile({ host, port }, act) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const client = { socket, begun: Date.now(), ended: 0, text: '', reset: false };
    socket.on('data', (part) => { if (client.text.length < 4096) client.text += part.toString('latin1'); });
    socket.on('error', (error) => { client.reset = error.code === 'ECONNRESET' || error.code === 'EPIPE'; });
    client.over = new Promise((done) => {
      socket.on('close', () => {
        client.ended = Date.now();
        clearInterval(client.timer);
        resolve(client);
        done();
      });
    });
    socket.on('connect', () => {
      client.begun = Date.now();
      act?.(socket, client);
      resolve(client);
    });
  });
}

// That many of them, 200 at a time so that no backlog overflows.
export async function hostiles(count, address, act) {
  const all = [];
  while (all.length < count) {
    all.push(...await Promise.all(Array.from({ length: Math.min(200, count - all.length) }, () => hostile(address, act))));
  }
  return all;
}

// Sends a piece every `milliseconds` while the connection is open.
export function drip(socket, client, piece, milliseconds) {
  client.timer = setInterval(() => { if (socket.writable) socket.write(piece); }, milliseconds);
}

// Each must end within `seconds` from its start, and a second.
export async function endWithin(all, seconds, label) {
  const limit = Date.now() + seconds * 1000 + 10_000;
  await Promise.race([Promise.all(all.map((each) => each.over)), sleep(limit - Date.now())]);
  const longest = Math.max(...all.map((each) => (each.ended || Infinity) - each.begun));
  for (const each of all) each.socket.destroy();
  assert.ok(longest <= seconds * 1000 + graceMs, `${label}: the longest lived ${longest} ms, and may ${seconds} s and a second`);
  return longest;
}

// Resident bytes of the process.
export function resident(pid) {
  return 1024 * Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

// Seconds of CPU that the process has used.
export function cpuSeconds(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

export function descriptors(pid) {
  return fs.readdirSync(`/proc/${pid}/fd`).length;
}

// Connections to a local port for which the kernel still holds data: also those that the process has closed while their data
// waits for the client.
export function openSockets(port) {
  const localPort = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const nothing = ['0A', '06', '05']; // LISTEN, TIME_WAIT, FIN_WAIT2: no bytes of an answer
  return fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(localPort) && !nothing.includes(state)).length;
}

// A metric of the server's management listener.
export async function metric(server, name) {
  const address = /management on ([^ ]+):/.exec(server.stderr)[1];
  const text = await (await fetch(`http://${address}/metrics`)).text();
  return Number(new RegExp(`^${name} ([0-9]+)$`, 'm').exec(text)[1]);
}

// The server's open connections; waits up to 5 s for `expected` of them.
export async function connections(server, expected) {
  const limit = Date.now() + 5000;
  for (;;) {
    const open = await metric(server, 'latchkey_connections');
    if (open === expected || Date.now() > limit) return open;
    await sleep(50);
  }
}

// All connections that the server has accepted.
export const accepted = (server) => metric(server, 'latchkey_connections_accepted_total');
