// A well-behaved client: one request after the other on a persistent connection, every tenth a write. A separate process,
// so that it measures the server and not its parent's event loop. It reads and writes the socket's bytes itself: the work of
// a client library would be measured too.
//
//   const child = fork('neighbour_process.mjs');  child.send({ host, port, ca, key, least })   // ca: null without TLS
//   'ready' comes after the first answer
//   child.send('stop') → after at least `least` requests it ends its connection and answers { requests, failed: [text…], p50,
//   p99, worst } in milliseconds; then it may begin again

import net from 'node:net';
import tls from 'node:tls';

let stopping = false;
let writeCount = 0;

process.on('message', (message) => {
  if (message === 'stop') stopping = true;
  else run(message);
});
process.on('disconnect', () => process.exit(1));

async function run(address) {
  const startTime = Date.now();
  const took = [];
  const failed = [];
  let requestCount = 0;
  stopping = false;
  const read = `GET /api/v1/users/1 HTTP/1.1\r\nHost: x\r\nX-API-Key: ${address.key}\r\n\r\n`;
  let socket = null;
  while (!stopping || (requestCount < address.least && failed.length === 0)) {
    const requestStart = process.hrtime.bigint();
    requestCount += 1;
    try {
      socket ??= await connect(address);
      const text = requestCount % 10 === 0 ? write(address.key) : read;
      const answer = await exchange(socket, text);
      if (!/^HTTP\/1\.1 20[01] /.test(answer)) throw new Error(answer.split('\r\n\r\n').join(' ').slice(0, 300));
    } catch (error) {
      failed.push(`${Date.now() - startTime} ms: ${error.message}`);
      socket?.destroy();
      socket = null;
    }
    if (requestCount === 1) process.send('ready');
    took.push(Number(process.hrtime.bigint() - requestStart) / 1e6);
    // Every hundredth on a new connection, since hostile clients exhaust those.
    if (requestCount % 100 === 0) {
      socket?.destroy();
      socket = null;
    }
    await new Promise((resolve) => { setTimeout(resolve, 2); });
  }
  took.sort((a, b) => a - b);
  const share = (part) => Number((took[Math.floor((took.length - 1) * part)] ?? 0).toFixed(2));
  if (socket !== null && !socket.closed) {
    const closed = new Promise((resolve) => { socket.once('close', resolve); });
    socket.destroy();
    await closed;
  }
  process.send({ requests: requestCount, failed, p50: share(0.5), p99: share(0.99), worst: share(1) });
}

function write(key) {
  const body = JSON.stringify({ name: 'Neighbour', email: `n${process.pid}.${writeCount += 1}@example.com` });
  return `POST /api/v1/users HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function connect({ host, port, ca }) {
  return new Promise((resolve, reject) => {
    const socket = ca === null ? net.connect({ host, port }) : tls.connect({ host, port, ca });
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once(ca === null ? 'connect' : 'secureConnect', () => resolve(socket));
  });
}

function exchange(socket, text) {
  return new Promise((resolve, reject) => {
    let all = '';
    const done = (act, value) => {
      clearTimeout(patience);
      socket.removeAllListeners();
      socket.on('error', () => {});
      act(value);
    };
    const patience = setTimeout(() => done(reject, new Error('no answer within 10 s')), 10_000);
    socket.on('error', (error) => done(reject, error));
    socket.on('close', () => done(reject, new Error('the connection ended')));
    socket.on('data', (part) => {
      all += part.toString('latin1');
      const head = all.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/content-length: *([0-9]+)/i.exec(all)?.[1] ?? 0);
      if (all.length >= head + 4 + length) done(resolve, all);
    });
    socket.write(text);
  });
}
