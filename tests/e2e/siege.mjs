// What the tests of hostile clients share: crowds of raw connections, a client that behaves beside them, and how the
// server bears it.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from './harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

// Connections of a crowd: some hundreds, or as many as `--rounds` says. From a thousand on times are judged too: they say
// something where nothing else runs on the machine.
export const crowd = Number(process.env.E2E_ROUNDS ?? 200);
export const measured = crowd >= 1000;
const p99Milliseconds = 20;

// How long a connection may live beyond its limit: a second, and what this process needs to notice it for a crowd.
export const beyond = 1000 + (measured ? 1000 : 500);

// Runs `attack` while a client that behaves goes on beside it, which loses nothing. Gives what it measured.
// `judged`: whether the time that its answers take is; what uses up whole cores at the client's end says nothing of ours.
export async function besieged(server, key, attack, { scheme = 'https', judged = true } = {}) {
  const { host, port, ca } = server.at(scheme);
  const neighbour = fork(path.join(here, 'neighbour_process.mjs'), [], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  let ready;
  const there = new Promise((resolve) => { ready = resolve; });
  const report = new Promise((resolve, reject) => {
    neighbour.on('message', (said) => (said === 'ready' ? ready() : resolve(said)));
    neighbour.once('exit', () => {
      ready();
      reject(new Error('the neighbour ended without a report'));
    });
  });
  report.catch(() => {});
  neighbour.send({ host, port, key, ca: scheme === 'https' ? String(ca) : null });
  try {
    await there;
    const begun = Date.now();
    await attack();
    await sleep(Math.max(0, 2000 - (Date.now() - begun)));
    neighbour.send('stop');
    const seen = await report;
    assert.ok(seen.asked > 1, `the client beside them asked only ${seen.asked} times`);
    assert.deepEqual(seen.failed, [], 'the client beside them lost requests');
    if (measured && judged) assert.ok(seen.p99 < p99Milliseconds, `p99 of the client beside them: ${seen.p99} ms`);
    return `${seen.asked} requests beside them, p50 ${seen.p50} ms, p99 ${seen.p99} ms, worst ${seen.worst} ms`;
  } finally {
    neighbour.kill();
  }
}

// A connection of its own that notes what comes and when it ended, in whichever way. `act(socket)` once it is there.
export function hostile({ host, port }, act) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const seen = { socket, begun: Date.now(), ended: 0, text: '', reset: false };
    socket.on('data', (part) => { if (seen.text.length < 4096) seen.text += part.toString('latin1'); });
    socket.on('error', (error) => { seen.reset = error.code === 'ECONNRESET' || error.code === 'EPIPE'; });
    seen.over = new Promise((done) => {
      socket.on('close', () => {
        seen.ended = Date.now();
        clearInterval(seen.timer);
        resolve(seen);
        done();
      });
    });
    socket.on('connect', () => {
      seen.begun = Date.now();
      act?.(socket, seen);
      resolve(seen);
    });
  });
}

// As many of them, a few hundred at a time so that no backlog overflows.
export async function hostiles(count, where, act) {
  const all = [];
  while (all.length < count) {
    all.push(...await Promise.all(Array.from({ length: Math.min(200, count - all.length) }, () => hostile(where, act))));
  }
  return all;
}

// Every `milliseconds` a piece, while the connection is there.
export function drip(socket, seen, piece, milliseconds) {
  seen.timer = setInterval(() => { if (socket.writable) socket.write(piece); }, milliseconds);
}

// Each must have ended by itself within `seconds`, counted from its own beginning, and a second.
export async function endWithin(all, seconds, what) {
  const limit = Date.now() + seconds * 1000 + 10_000;
  await Promise.race([Promise.all(all.map((each) => each.over)), sleep(limit - Date.now())]);
  const longest = Math.max(...all.map((each) => (each.ended || Infinity) - each.begun));
  for (const each of all) each.socket.destroy();
  assert.ok(longest <= seconds * 1000 + beyond, `${what}: the longest lived ${longest} ms, and may ${seconds} s and a second`);
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

// Connections to a port of ours for which the kernel still keeps something: also those that the process has closed, while
// what it sent waits for the client.
export function kept(port) {
  const here = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const nothing = ['0A', '06', '05']; // LISTEN, TIME_WAIT, FIN_WAIT2: no bytes of an answer
  return fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(here) && !nothing.includes(state)).length;
}

// What the server says of itself on its management listener.
async function metric(server, name) {
  const where = /management on ([^ ]+):/.exec(server.stderr)[1];
  const text = await (await fetch(`http://${where}/metrics`)).text();
  return Number(new RegExp(`^${name} ([0-9]+)$`, 'm').exec(text)[1]);
}

// Connections that the server has, once it has `expected` of them or some seconds have passed.
export async function connections(server, expected) {
  const limit = Date.now() + 5000;
  for (;;) {
    const open = await metric(server, 'latchkey_connections');
    if (open === expected || Date.now() > limit) return open;
    await sleep(50);
  }
}

// Connections that it ever had.
export const accepted = (server) => metric(server, 'latchkey_connections_accepted_total');
