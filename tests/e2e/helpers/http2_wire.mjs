// A connection of HTTP/2 with the interface of a Wire, so that one suite runs over both protocols. It is given requests as
// the bytes of HTTP/1.1 and sends each on a stream of its own; answers come in the order of the requests.
//
//   const wire = await connectHttp2({ scheme, host, port, ca });
//   wire.send(message('GET', '/api/v1/users', { key }));
//   const answer = await wire.response();

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';
import { RequestFollower } from './contract.mjs';
import { Headers, checkEveryResponse } from './wire.mjs';

const patience = 15_000;

// Fields about the connection, which HTTP/2 does not have (RFC 9113 §8.2.2).
const connectionFields = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'host']);

export class Http2Wire {
  constructor(session) {
    this.session = session;
    this.contract = null;
    this.requests = new RequestFollower();
    this.answers = []; // promises, in the order of the requests
    this.error = null;
    session.on('error', (error) => { this.error = error; });
  }

  get ended() {
    return this.session.closed || this.session.destroyed;
  }

  send(bytes) {
    this.requests.feed(bytes);
    const { fields, body } = translate(bytes);
    const answer = this.exchange(fields, body);
    answer.catch(() => {}); // `response` tells
    this.answers.push(answer);
    return Promise.resolve();
  }

  exchange(fields, body) {
    return new Promise((resolve, reject) => {
      const stream = this.session.request(fields, { endStream: body.length === 0 });
      const parts = [];
      let answer = null;
      stream.on('response', (headers, flags, raw) => { answer = parse(headers[':status'], raw, fields[':method']); });
      stream.on('data', (part) => parts.push(part));
      stream.on('error', (error) => { this.error ??= error; });
      stream.on('close', () => {
        if (answer === null || ![http2.constants.NGHTTP2_NO_ERROR].includes(stream.rstCode)) {
          reject(new Error(`the stream ended with code ${stream.rstCode} (${this.error?.message ?? 'no error'})`));
          return;
        }
        answer.body = Buffer.concat(parts);
        resolve(answer);
      });
      if (body.length > 0) stream.end(body);
    });
  }

  async response({ timeout = patience, check = true } = {}) {
    let timer;
    const late = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`nothing came in ${timeout} ms while waiting for a response`)), timeout);
    });
    const answer = await Promise.race([this.answers.shift(), late]).finally(() => clearTimeout(timer));
    const length = answer.headers.get('content-length');
    const hasContent = answer.method !== 'HEAD' && ![204, 304].includes(answer.status);
    if (answer.status === 204) assert.equal(length, null, '204 has no Content-Length (RFC 9110, 8.6)');
    if (hasContent) assert.equal(String(answer.body.length), length, 'the content has its announced length');
    const request = this.requests.next();
    if (check) checkEveryResponse(answer);
    if (check) this.contract?.check(request, answer);
    return answer;
  }

  // A connection of HTTP/2 ends when its client wants it to.
  async ending() {
    await new Promise((resolve) => this.session.close(resolve));
  }

  finish() {
    this.close();
  }

  close() {
    this.session.destroy();
  }
}

// The bytes of one request of HTTP/1.1 as header fields and a body.
function translate(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  assert.ok(end > 0, 'a whole request');
  const [start, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method, target] = start.split(' ');
  const fields = { ':method': method, ':path': target };
  let isChunked = false;
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'host') fields[':authority'] = value;
    if (name === 'transfer-encoding') isChunked = true;
    if (connectionFields.has(name)) continue;
    fields[name] = name in fields ? [fields[name], value].flat() : value;
  }
  const rest = bytes.subarray(end + 4);
  return { fields, body: isChunked ? withoutChunks(rest) : rest };
}

// Node refuses to send some fields twice.
export function canSend(bytes) {
  const { fields } = translate(bytes);
  return !Array.isArray(fields.authorization);
}

function withoutChunks(bytes) {
  const parts = [];
  for (let rest = bytes; ;) {
    const lineEnd = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.subarray(0, lineEnd).toString('latin1'), 16);
    if (size === 0) return Buffer.concat(parts);
    parts.push(rest.subarray(lineEnd + 2, lineEnd + 2 + size));
    rest = rest.subarray(lineEnd + 4 + size);
  }
}

function parse(status, raw, method) {
  const fields = [];
  for (let i = 0; i < raw.length; i += 2) if (!raw[i].startsWith(':')) fields.push([raw[i], raw[i + 1]]);
  for (const [name] of fields) {
    assert.equal(name, name.toLowerCase(), 'a field name of HTTP/2 is in lower case');
    assert.ok(!connectionFields.has(name), `${name} is no field of HTTP/2`);
  }
  const head = [`HTTP/2 ${status}`, ...fields.map(([name, value]) => `${name}: ${value}`)].join('\n');
  return { status, reason: '', headers: new Headers(fields), head, method };
}

export function connectHttp2({ scheme, host, port, ca, from }) {
  const common = { host, port, localAddress: from };
  const socket = scheme === 'https' ? tls.connect({ ...common, ca, ALPNProtocols: ['h2'] }) : net.connect(common);
  socket.setNoDelay(true);
  return new Promise((resolve, reject) => {
    const fail = (error) => {
      socket.destroy();
      reject(error);
    };
    socket.once('error', fail);
    socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => {
      socket.off('error', fail);
      if (scheme === 'https' && socket.alpnProtocol !== 'h2') return fail(new Error('the server does not select h2'));
      const session = http2.connect(`${scheme}://localhost:${port}`, { createConnection: () => socket, maxSendHeaderBlockLength: 1 << 20 });
      return resolve(new Http2Wire(session));
    });
  });
}
