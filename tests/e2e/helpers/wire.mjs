// A small HTTP/1.1 reader that trusts nothing.
//
//   const wire = await connectWire({ host, port, ca });
//   await wire.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
//   const answer = await wire.response();          // throws on any error in the framing
//   await wire.finish();                           // throws if bytes are left over
//
// Node's client is lenient (it drops stray bytes after a body, for example), so the framing of every response is checked
// here, byte by byte, and with it what docs/api.md promises for every response.

import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';
import { RequestFollower } from './contract.mjs';

const patience = 15_000; // milliseconds, for whatever has no limit of its own

const codes = {
  400: ['malformed_request', 'invalid_json', 'invalid_parameter', 'conflicting_parameters', 'invalid_cursor',
    'duplicate_credentials', 'idempotency_key_invalid'],
  401: ['key_missing', 'key_invalid', 'session_invalid', 'signature_invalid', 'token_expired', 'token_invalid', 'token_not_yet_valid'],
  403: ['key_deactivated', 'key_expired', 'key_not_yet_active', 'insufficient_scope', 'ip_not_allowed',
    'https_required', 'cross_site_request'],
  404: ['not_found', 'route_not_found'],
  405: ['method_not_allowed'],
  406: ['not_acceptable'],
  408: ['request_timeout'],
  409: ['email_taken', 'invalid_state_transition', 'idempotency_in_progress', 'rotation_in_progress',
    'key_not_active', 'key_not_reactivatable', 'key_not_rotatable', 'last_admin_key', 'subject_taken'],
  412: ['precondition_failed'],
  413: ['body_too_large'],
  414: ['uri_too_long'],
  415: ['unsupported_media_type'],
  417: ['expectation_failed'],
  422: ['validation_failed', 'idempotency_key_reused'],
  428: ['precondition_required'],
  429: ['rate_limited', 'too_many_auth_failures'],
  431: ['headers_too_large'],
  500: ['internal_error'],
  501: ['method_not_implemented'],
  503: ['overloaded', 'store_busy', 'behind', 'draining'],
  505: ['http_version_not_supported'],
  507: ['storage_full'],
};

const fieldCodes = ['required', 'invalid_type', 'too_short', 'too_long', 'invalid_format', 'out_of_range',
  'not_in_enum', 'unknown_field', 'read_only_field', 'null_not_allowed', 'reference_not_found',
  'not_unique'];

// Fields that may occur several times in a response; all others may occur once.
const repeatable = new Set(['vary', 'link', 'allow', 'www-authenticate', 'cache-control', 'connection',
  'ratelimit', 'ratelimit-policy', 'accept-patch', 'accept']);

export class Headers {
  constructor(fields) {
    this.fields = fields;
  }
  all(name) {
    return this.fields.filter(([n]) => n.toLowerCase() === name.toLowerCase()).map(([, v]) => v);
  }
  get(name) {
    const values = this.all(name);
    return values.length === 0 ? null : values.join(', ');
  }
  has(name) {
    return this.all(name).length > 0;
  }
  list(name) {
    return (this.get(name) ?? '').split(',').map((s) => s.trim()).filter((s) => s !== '');
  }
}

export class Wire {
  constructor(socket) {
    this.socket = socket;
    this.contract = null; // what answers are judged by, once it is known
    this.requests = new RequestFollower();
    this.chunks = [];
    this.size = 0;
    this.ended = false;
    this.error = null;
    this.wake = () => {};
    socket.on('data', (chunk) => {
      this.chunks.push(chunk);
      this.size += chunk.length;
      this.wake();
    });
    socket.on('end', () => {
      this.ended = true;
      this.wake();
    });
    socket.on('error', (error) => {
      this.error = error;
      this.wake();
    });
    socket.on('close', () => {
      this.ended = true;
      this.wake();
    });
  }

  send(bytes) {
    const data = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1');
    this.requests.feed(data);
    return new Promise((resolve) => this.socket.write(data, () => resolve()));
  }

  // Received bytes that were not consumed yet, as one buffer.
  pending() {
    if (this.chunks.length > 1) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0] ?? Buffer.alloc(0);
  }

  take(count) {
    const all = this.pending();
    this.chunks = count < all.length ? [all.subarray(count)] : [];
    this.size = all.length - count;
    return all.subarray(0, count);
  }

  // Resolves with true once ready() is true, with false if the stream ends first.
  async until(ready, label, timeout = patience) {
    const limit = Date.now() + timeout;
    for (;;) {
      if (ready()) return true;
      if (this.ended || this.error) return false;
      const left = limit - Date.now();
      if (left <= 0) throw new Error(`nothing came in ${timeout} ms while waiting for ${label}`);
      let timer;
      await new Promise((resolve) => {
        this.wake = resolve;
        timer = setTimeout(resolve, left);
      });
      clearTimeout(timer);
      this.wake = () => {};
    }
  }

  // One complete head and its body. `method` is that of the request, because HEAD changes the framing.
  // `allowClose`: null instead of an error when the stream ends before the first byte of an answer.
  async response({ method = 'GET', timeout = patience, allowClose = false, check = true } = {}) {
    let end = -1;
    let searchOffset = 0;
    const complete = () => {
      if (this.size === searchOffset) return false;
      searchOffset = this.size;
      end = this.pending().indexOf('\r\n\r\n');
      return end >= 0;
    };
    if (!(await this.until(complete, 'a response head', timeout))) {
      if (allowClose && this.size === 0) return null;
      throw Object.assign(
        new Error(`the connection ended ${this.size ? `inside a response head: ${this.pending().toString('latin1')}`
          : 'before a response'}${this.error ? ` (${this.error.message})` : ''}`),
        { partial: this.size > 0 });
    }
    const head = this.take(end + 4).toString('latin1');
    const answer = parseHead(head);
    answer.method = method;
    if (answer.status >= 200) {
      const length = bodyLength(answer, method);
      if (!(await this.until(() => this.size >= length, `a body of ${length} bytes`, timeout))) {
        throw Object.assign(new Error(`the connection ended after ${this.size} of ${length} body bytes`),
          { partial: true });
      }
      answer.body = length > 0 ? Buffer.from(this.take(length)) : Buffer.alloc(0);
    } else {
      answer.body = Buffer.alloc(0);
    }
    if (answer.status < 200) return answer;
    const request = this.requests.next();
    if (check) checkEveryResponse(answer);
    if (check) this.contract?.check(request, answer);
    return answer;
  }

  // The server must close the connection now, without sending more.
  async ending(timeout = patience) {
    await this.until(() => false, 'the end of the connection', timeout);
    assert.equal(this.error, null, `the connection was reset, not ended: ${this.error?.message}`);
    assert.equal(this.size, 0, `bytes after the last response: ${this.pending().toString('latin1').slice(0, 200)}`);
    this.close();
  }

  // The client is done; no unsolicited bytes may have arrived.
  finish() {
    assert.equal(this.size, 0, `bytes after the last response: ${this.pending().toString('latin1').slice(0, 200)}`);
    this.close();
  }

  close() {
    this.socket.destroy();
  }
}

// Connects to scheme://host:port; `from` is the local address (all of 127.0.0.0/8 is available).
export function connectWire({ scheme, host, port, ca, from, options = {} }) {
  return new Promise((resolve, reject) => {
    const common = { host, port, localAddress: from };
    const socket = scheme === 'https'
      ? tls.connect({ ...common, ca, ALPNProtocols: ['http/1.1'], ...options })
      : net.connect({ ...common, ...options });
    socket.setNoDelay(true);
    const failed = (error) => {
      socket.destroy();
      reject(error);
    };
    socket.once('error', failed);
    socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => {
      socket.off('error', failed);
      resolve(new Wire(socket));
    });
  });
}

function parseHead(head) {
  const lines = head.slice(0, -4).split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5][0-9][0-9]) ([\t\x20-\x7e]*)$/.exec(lines[0]);
  assert.ok(status, `not a status line: ${JSON.stringify(lines[0])}`);
  const fields = lines.slice(1).map((line) => {
    const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[\t ]*$/.exec(line);
    assert.ok(field, `not a header field: ${JSON.stringify(line)}`);
    return [field[1], field[2]];
  });
  const headers = new Headers(fields);
  for (const [name] of fields) {
    if (repeatable.has(name.toLowerCase())) continue;
    assert.equal(headers.all(name).length, 1, `${name} stands more than once:\n${head}`);
  }
  return { status: Number(status[1]), reason: status[2], headers, head };
}

function bodyLength(answer, method) {
  const { status, headers } = answer;
  assert.equal(headers.has('transfer-encoding'), false, 'Content-Length frames every response, not chunks');
  const length = headers.get('content-length');
  if (length !== null) assert.match(length, /^(0|[1-9][0-9]*)$/, 'Content-Length is a number');
  if (status === 204) {
    assert.equal(length, null, '204 has no Content-Length (RFC 9110, 8.6)');
    return 0;
  }
  if (status === 304) return 0;
  if (method === 'HEAD' && length === null) return 0; // it may be left out (RFC 9110, 9.3.2)
  assert.notEqual(length, null, `a ${status} response has a Content-Length`);
  return method === 'HEAD' ? 0 : Number(length);
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

// How many seconds the clock of the servers under test is ahead of this process; tests that change it set this.
export const theirClock = { ahead: 0 };

// What holds for every response (docs/api.md §1, §11).
export function checkEveryResponse(answer) {
  const { status, headers, body, method, head } = answer;
  const date = headers.get('date');
  assert.ok(date, `a response without Date:\n${head}`);
  assert.match(date, /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] [A-Z][a-z]{2} [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT$/);
  const instant = new Date(date);
  assert.equal(date.slice(0, 3), days[instant.getUTCDay()], 'the weekday belongs to the date');
  assert.ok(Math.abs(Date.now() + theirClock.ahead * 1000 - instant) < 10_000, `Date is now: ${date}`);

  const id = headers.get('x-request-id');
  assert.ok(id, `a response without X-Request-Id:\n${head}`);
  assert.match(id, /^[A-Za-z0-9_-]{8,64}$/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff', `X-Content-Type-Options on ${status}`);
  for (const [name] of headers.fields) {
    assert.doesNotMatch(name, /^access-control-/i, 'no CORS header is sent');
    if (name.toLowerCase() === 'content-encoding') assert.equal(headers.get('vary'), 'Accept-Encoding', 'only pages for people are compressed');
  }
  if (status === 401) assert.ok(headers.has('www-authenticate'), '401 carries WWW-Authenticate');
  if (status === 405) assert.ok(headers.has('allow'), '405 carries Allow');
  if (status === 429 || status === 503) {
    assert.match(headers.get('retry-after') ?? '', /^[1-9][0-9]*$/, `${status} carries Retry-After of at least 1`);
  }
  if (status === 204 || status === 304) return;

  const type = headers.get('content-type');
  if (status >= 400) {
    assert.match(type ?? '', /^application\/problem\+json(; charset=utf-8)?$/, `errors are problem+json:\n${head}`);
    assert.match(headers.get('cache-control') ?? '', /\bno-store\b/, 'errors are not stored');
    if (method !== 'HEAD') answer.json = checkProblem(answer, id);
  } else if (type === 'application/json; charset=utf-8') {
    if (method !== 'HEAD') answer.json = JSON.parse(utf8(body));
  } else if (body.length > 0) {
    assert.match(type ?? '', /^(text\/(html|plain|javascript|css)|application\/(json|gzip|zip)|image\/svg\+xml)\b/i, `an unexpected Content-Type:\n${head}`);
  }
}

export function utf8(body) {
  return new TextDecoder('utf-8', { fatal: true }).decode(body);
}

// A whole sentence begins with a capital letter or with a name in backquotes.
const sentences = /^[A-Z`].*[.?]$/s;

function checkProblem({ status, body }, id) {
  const problem = JSON.parse(utf8(body));
  const text = JSON.stringify(problem);
  for (const name of ['type', 'title', 'detail', 'instance', 'code', 'request_id']) {
    assert.equal(typeof problem[name], 'string', `a problem has the string "${name}": ${text}`);
    assert.notEqual(problem[name], '', `"${name}" of a problem is not empty: ${text}`);
  }
  assert.equal(problem.status, status, 'the problem repeats the status');
  assert.match(problem.detail, sentences, 'the detail is made of sentences');
  assert.ok(codes[status]?.includes(problem.code), `${problem.code} is no code of ${status}`);
  assert.ok(problem.type.endsWith(`/problems/${problem.code}`), `type names the code: ${text}`);
  assert.equal(problem.request_id, id, 'request_id is X-Request-Id');
  assert.equal(problem.instance, `urn:request:${id}`, 'instance is made of the request id');
  if ('errors' in problem) {
    assert.ok(Array.isArray(problem.errors), `errors is a list: ${text}`);
    assert.ok(problem.errors.length >= 1 && problem.errors.length <= 50, 'errors holds 1 to 50 entries');
    for (const error of problem.errors) {
      const places = ['pointer', 'parameter', 'header'].filter((p) => typeof error[p] === 'string');
      assert.equal(places.length, 1, `an error says where, in one way: ${JSON.stringify(error)}`);
      assert.equal(typeof error.code, 'string', `an error has a code: ${JSON.stringify(error)}`);
      assert.match(error.detail ?? '', sentences, `the detail of an error is a sentence: ${JSON.stringify(error)}`);
      if (status === 422) {
        assert.ok(fieldCodes.includes(error.code), `${error.code} is a field code`);
        if (error.pointer !== undefined) assert.match(error.pointer, /^(\/([^~/]|~0|~1)*)*$/, 'a JSON pointer');
      }
    }
  }
  return problem;
}
