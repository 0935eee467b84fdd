// Clients of a stream of events (WHATWG HTML §9.2): Node's fetch over HTTP/1.1 and node:http2 over TLS.
//
//   const stream = await openStream(server, key, { query: 'after=latest', headers: {}, over: 'h2' });
//   await stream.until(() => stream.events.length === 2);   // [{id, event, data}]
//   await stream.ended;                                     // the server has ended it, in order
//   stream.close();

import http2 from 'node:http2';
import { sleep } from './harness.mjs';

export const overs = ['http1', 'h2'];

class EventStream {
  constructor() {
    this.events = [];
    this.comments = 0;
    this.retry = null;
    this.failure = null; // how it ended, if not in order
    this.hasEnded = false;
    this.rest = '';
    this.ended = new Promise((resolve) => { this.end = (failure = null) => { this.hasEnded = true; this.failure ??= failure; resolve(failure); }; });
  }

  feed(text) {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop();
    for (const block of blocks) {
      const event = {};
      for (const line of block.split('\n')) {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        if (name === '') this.comments++;
        else if (name === 'retry') this.retry = Number(value);
        else event[name] = name === 'data' ? JSON.parse(value) : name === 'id' ? Number(value) : value;
      }
      if ('data' in event) this.events.push(event);
    }
  }

  // Throws where that is not so in time.
  async until(condition, timeout = 20_000) {
    const limit = Date.now() + timeout;
    while (!condition()) {
      if (Date.now() > limit) throw new Error(`waited ${timeout} ms in vain; ${this.events.length} events, ended: ${this.hasEnded}`);
      await sleep(5);
    }
  }
}

const pathOf = (query) => `/api/v1/changes${query ? `?${query}` : ''}`;
const fieldsOf = (key, headers) => ({ accept: 'text/event-stream', 'x-api-key': key.key ?? key, ...headers });

export function openStream(server, key, { query = 'after=latest', headers = {}, over = 'http1' } = {}) {
  return over === 'h2' ? overHttp2(server, pathOf(query), fieldsOf(key, headers)) : byFetch(server, pathOf(query), fieldsOf(key, headers));
}

// It is closed by its reader: the signal of a fetch is without effect in Node 18 once its memory was collected.
async function byFetch(server, path, headers) {
  const stream = new EventStream();
  const response = await fetch(`${server.base('http')}${path}`, { headers });
  stream.status = response.status;
  stream.headers = response.headers;
  const reader = response.body.getReader();
  stream.close = () => { reader.cancel().catch(() => {}); };
  const read = async () => {
    const decoder = new TextDecoder();
    for (let part; !(part = await reader.read()).done;) stream.feed(decoder.decode(part.value, { stream: true }));
  };
  read().then(() => stream.end(), (error) => stream.end(error));
  return stream;
}

// Several streams of one connection: `session` of the first is the option of the others.
export function overHttp2(server, path, headers, session = http2.connect(server.base('https'), { ca: server.ca, servername: 'localhost' })) {
  const stream = new EventStream();
  stream.session = session;
  session.on('error', (error) => stream.end(error));
  const request = session.request({ ':path': path, ...headers });
  stream.close = () => { request.close(http2.constants.NGHTTP2_CANCEL); session.close(); };
  request.setEncoding('utf8').on('data', (text) => stream.feed(text));
  request.on('end', () => stream.end()).on('error', (error) => stream.end(error));
  return new Promise((resolve, reject) => {
    request.on('error', reject).on('response', (fields) => {
      stream.status = fields[':status'];
      stream.headers = new Headers(Object.entries(fields).filter(([name]) => !name.startsWith(':')));
      resolve(stream);
    });
  });
}
