// Starts the binary under test in a temporary folder, creates keys, sends requests and stops it.
//
//   const server = await startServer();
//   const api = server.client(await server.makeKey());
//   const answer = await api.post('/users', { name: 'Ada', email: 'ada@example.org' });
//   await server.stop();                            // SIGTERM; fails unless the exit code is 0
//
// Processes are ended only through their own handle.

import assert from 'node:assert/strict';
import { execFile, fork, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Contract } from './contract.mjs';
import { canSend, connectHttp2 } from './http2_wire.mjs';
import { Headers, connectWire, utf8 } from './wire.mjs';

export const run = promisify(execFile);
export const binary = path.resolve(process.env.LATCHKEY ?? process.argv[2] ?? '');
if (!fs.statSync(binary, { throwIfNoEntry: false })?.isFile()) {
  throw new Error('name the binary to test: LATCHKEY=/path/to/latchkey');
}

// The protocol of `client` and `ask`; `connect` always speaks HTTP/1.1, byte by byte.
export const overHttp2 = process.env.E2E_PROTOCOL === 'h2';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Waits until `holds()` returns something that is true, and returns that. `what` names the condition, or is a function that does.
export async function until(holds, what, within = 30_000) {
  for (const limit = Date.now() + within; ; await sleep(5)) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > limit) assert.fail(`${typeof what === 'function' ? what() : what} within ${within} ms`);
  }
}

// What a test draws is the same for the same E2E_SEED, which is printed where something is drawn.
export const seed = Number(process.env.E2E_SEED ?? crypto.randomInt(2 ** 31));
let seedIsTold = false;

// Gives numbers from 0 to below 1 (mulberry32), always the same: what draws at times of its own takes its own generator.
export function generator() {
  let state = seed >>> 0;
  return () => {
    if (!seedIsTold) console.log(`            E2E_SEED=${seed} draws the same again`);
    seedIsTold = true;
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
export const random = generator();
export const below = (bound) => Math.floor(random() * bound);
export const drawn = (list) => list[below(list.length)];
export const keyForm = /^[0-9A-Za-z]{48}$/;
export const timeForm = /^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z$/;

const testFolder = path.dirname(fileURLToPath(import.meta.url));
const children = new Set();
const folders = new Set();
const contracts = new Map(); // by the text of the document
const contractId = 'e2e-asks-for-the-contract';

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  if (process.env.LATCHKEY_KEEP) return;
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});
// A failed test may leave its server running, and a running child would keep this process alive. Servers that the file's own
// hooks are stopping are left to them.
after(() => {
  setTimeout(() => {
    for (const child of children) if (!child.stopping) child.kill('SIGKILL');
  }, 50);
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(1));

export function temporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'latchkey-e2e-'));
  folders.add(folder);
  return folder;
}

// The paths of the regular files below a folder. The `recursive` of Node 18 reads sockets as folders.
export const filesIn = (folder) => fs.readdirSync(folder, { withFileTypes: true }).flatMap((each) => {
  const name = path.join(folder, each.name);
  return each.isDirectory() ? filesIn(name) : each.isFile() ? [name] : [];
});

// Runs a command of the binary: {code, stdout, stderr}, without an exception for the exit code.
export function command(...args) {
  return commandOf(binary, ...args);
}
export function commandOf(program, ...args) {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 20_000, killSignal: 'SIGKILL', maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr });
    });
  });
}

// Creates a key and returns its JSON document. It is unlimited by default, so that no test hits the default limits.
export async function makeKey(data, { name = 'e2e', scopes = ['*'], limits = [], args = [], defaults = false } = {}) {
  const limit = limits.length ? limits.flatMap((l) => ['--limit', l]) : defaults ? [] : ['--unlimited'];
  const creation = await command('keys', 'create', '--data', data, '--name', name,
    ...scopes.flatMap((s) => ['--scope', s]), ...limit, ...args, '--json');
  assert.equal(creation.code, 0, `keys create failed: ${creation.stderr}`);
  const key = JSON.parse(creation.stdout);
  assert.match(key.key, keyForm);
  return key;
}

export async function startServer({
  data = path.join(temporaryFolder(), 'data'),
  listen = ['https://127.0.0.1:0', 'http://127.0.0.1:0'],
  args = [],
  config = null,
  workers = 2,
  management = 'off',
  log = path.join(path.dirname(data), 'access.log'), // null: as the configuration says
  under = [], // a program that starts it, with its arguments
  program = binary,
  env = {},
} = {}) {
  const options = { data, listen, args, config, workers, management, log, under, program, env };
  const words = ['serve', '--data', data, '--workers', String(workers), ...(log === null ? [] : ['--access-log', log]),
    ...(management === null ? [] : ['--management', management]),
    ...listen.flatMap((url) => ['--listen', url]), ...args];
  if (config !== null) {
    const file = path.join(path.dirname(data), 'latchkey.toml');
    fs.writeFileSync(file, config);
    words.push('--config', file);
  }
  const [first, ...others] = [...under, program];
  const startTime = performance.now();
  const child = spawn(first, [...others, ...words], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  children.add(child);
  const server = new Server(child, options, startTime);
  await server.accepting();
  return server;
}

class Server {
  constructor(child, options, beginTime) {
    this.child = child;
    this.begun = beginTime;
    this.readyAfter = null; // from its start to its first response, in milliseconds
    this.pid = child.pid;
    this.options = options;
    this.data = options.data;
    this.log = options.log;
    this.stderr = '';
    this.urls = [];
    this.certificateFile = path.join(options.data, 'tls', 'certificate.pem');
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        children.delete(child);
        resolve({ code, signal });
      });
    });
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text) => { this.stderr += text; });
  }

  // `serve` prints one line with the URL for each listener once it accepts.
  async accepting() {
    const limit = Date.now() + 20_000;
    let dead = null;
    this.exited.then((end) => { dead = end; });
    for (;;) {
      this.urls = [...this.stderr.matchAll(/^.*\b(https?):\/\/(\[[0-9a-f:]+\]|[0-9.]+):([1-9][0-9]*)\b.*$/gm)]
        .map(([, scheme, host, port]) => ({ scheme, host: host.replace(/[[\]]/g, ''), port: Number(port) }));
      if (this.urls.length >= this.options.listen.length) break;
      if (dead) throw new Error(`the server ended at its start (${JSON.stringify(dead)}): ${this.stderr}`);
      if (Date.now() > limit) {
        this.child.kill('SIGKILL');
        throw new Error(`the server did not accept within 20 s: ${this.stderr}`);
      }
      await sleep(5);
    }
    this.ca = fs.existsSync(this.certificateFile) ? fs.readFileSync(this.certificateFile) : undefined;
    this.contract = await this.described();
  }

  // The server's OpenAPI document; null if every listener expects a PROXY header.
  async described() {
    const url = this.urls.find(({ scheme }) => scheme === 'http') ?? this.urls[0];
    if (!url || this.options.listen.some((listen) => listen.includes('proxy='))) return null;
    const wire = await connectWire({ ...url, ca: this.ca });
    await wire.send(message('GET', '/openapi.json', { headers: { Connection: 'close', 'X-Forwarded-Proto': 'https', 'X-Request-Id': contractId } }));
    const answer = await wire.response();
    this.readyAfter = performance.now() - this.begun;
    await wire.ending();
    assert.equal(answer.status, 200, `GET /openapi.json: ${utf8(answer.body)}`);
    const text = utf8(answer.body);
    if (!contracts.has(text)) contracts.set(text, new Contract(JSON.parse(text)));
    return contracts.get(text);
  }

  // The address of a listener: {scheme, host, port, ca}.
  at(scheme = 'https') {
    const url = this.urls.find((u) => u.scheme === scheme);
    assert.ok(url, `there is an ${scheme} listener`);
    return { ...url, ca: this.ca };
  }

  base(scheme = 'https') {
    const { host, port } = this.at(scheme);
    return `${scheme}://${host}:${port}`;
  }

  makeKey(options) {
    return makeKey(this.data, options);
  }

  connect(options) {
    return this.connectBy(connectWire, options);
  }

  async connectBy(connector, { scheme = 'https', ...more } = {}) {
    try {
      const wire = await connector({ ...this.at(scheme), ...more });
      wire.contract = this.contract;
      return wire;
    } catch (error) {
      const { exitCode, signalCode } = this.child;
      if (exitCode !== null || signalCode !== null) {
        error.message += `: the server has ended (${exitCode ?? signalCode}): ${this.stderr.slice(-1000)}`;
      }
      throw error;
    }
  }

  // A client with one persistent connection. `key` is the text, or the document of makeKey.
  client(key, options = {}) {
    return new Client(this, typeof key === 'object' && key !== null ? key.key : key, options);
  }

  // One request on a new connection: returns the response, after which the connection must end.
  async ask(method, target, { key, headers = {}, body, type, scheme, from, version = '1.1', timeout } = {}) {
    const bytes = message(method, target, { key, headers: { Connection: 'close', ...headers }, body, type, version });
    const connector = overHttp2 && version === '1.1' && canSend(bytes) ? connectHttp2 : connectWire;
    const wire = await this.connectBy(connector, { scheme, from });
    try {
      await wire.send(bytes);
      const answer = await wire.response({ method, timeout });
      await wire.ending();
      return answer;
    } finally {
      wire.close();
    }
  }

  async stop({ within = 20_000 } = {}) {
    this.child.stopping = true;
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), within);
    const end = await this.exited;
    clearTimeout(timer);
    assert.deepEqual(end, { code: 0, signal: null }, `SIGTERM ends the server with 0: ${this.stderr}`);
    assert.doesNotMatch(this.stderr, /Sanitizer|runtime error:/, 'no sanitizer reports an error');
  }

  async kill() {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  // The same data, a new process; its ports are new too.
  again(changes = {}) {
    return startServer({ ...this.options, ...changes });
  }

  // The access log's entries, without a last one that is being written.
  logLines() {
    return fs.readFileSync(this.log, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line))
      .filter((line) => line.request_id !== contractId);
  }
}

// The bytes of a request. A body that is neither text nor bytes is sent as JSON.
export function message(method, target, { key, headers = {}, body, type, version = '1.1', host = 'localhost' } = {}) {
  const fields = { ...(version === '1.1' ? { Host: host } : {}), ...headers };
  if (key !== undefined && key !== null) fields['X-API-Key'] ??= key;
  let bytes = Buffer.alloc(0);
  if (body !== undefined) {
    bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    if (type !== null) fields['Content-Type'] ??= type ?? 'application/json';
    if (!('Transfer-Encoding' in fields)) fields['Content-Length'] ??= String(bytes.length);
  }
  const head = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((v) => `${name}: ${v}\r\n`)).join('');
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/${version}\r\n${head}\r\n`, 'latin1'), bytes]);
}

export function chunked(...parts) {
  return Buffer.concat([...parts.flatMap((part) => {
    const bytes = Buffer.from(part);
    return [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')];
  }), Buffer.from('0\r\n\r\n')]);
}

class Client {
  constructor(server, key, { scheme = 'https', from, headers = {}, patience } = {}) {
    Object.assign(this, { server, key, scheme, from, headers, patience });
    this.wire = null;
    this.turn = Promise.resolve();
  }

  // `path` is under /api/v1, unless `root` is set.
  call(method, target, { root = false, headers = {}, ...rest } = {}) {
    const bytes = message(method, root ? target : `/api/v1${target}`,
      { key: this.key, ...rest, headers: { ...this.headers, ...headers } });
    const result = this.turn.then(() => this.exchange(method, bytes));
    this.turn = result.catch(() => {});
    return result;
  }

  async exchange(method, bytes) {
    if (this.wire !== null && this.wire.ended) this.close();
    this.wire ??= await this.server.connectBy(overHttp2 ? connectHttp2 : connectWire, { scheme: this.scheme, from: this.from });
    const wire = this.wire;
    try {
      wire.send(bytes);
      const answer = await wire.response({ method, timeout: this.patience });
      if (/\bclose\b/i.test(answer.headers.get('connection') ?? '')) {
        this.wire = null;
        await wire.ending();
      }
      return answer;
    } catch (error) {
      this.wire = null;
      wire.close();
      throw error;
    }
  }

  get(target, options) { return this.call('GET', target, options); }
  head(target, options) { return this.call('HEAD', target, options); }
  post(target, body, options) { return this.call('POST', target, { body, ...options }); }
  put(target, body, options) { return this.call('PUT', target, { body, ...options }); }
  patch(target, body, options) { return this.call('PATCH', target, { body, type: 'application/merge-patch+json', ...options }); }
  delete(target, options) { return this.call('DELETE', target, options); }

  // Like get, but the status must be 200; returns the document.
  async read(target) {
    const answer = await this.get(target);
    assert.equal(answer.status, 200, `GET ${target}: ${utf8(answer.body)}`);
    return answer.json;
  }

  // Like post, but the status must be 201; returns the document.
  async create(target, body) {
    const answer = await this.post(target, body);
    assert.equal(answer.status, 201, `POST ${target}: ${utf8(answer.body)}`);
    return answer.json;
  }

  close() {
    this.wire?.close();
    this.wire = null;
  }
}

// Node's fetch in a separate process: Node reads NODE_EXTRA_CA_CERTS, which makes it trust a certificate, only at its start.
export async function startFetch({ certificateFile, contract = null }) {
  const child = fork(path.join(testFolder, 'fetch_process.mjs'), [], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certificateFile },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  children.add(child);
  const waiting = new Map();
  let last = 0;
  child.on('message', ({ id, answer, error }) => {
    const { resolve, reject, url, method = 'GET' } = waiting.get(id);
    waiting.delete(id);
    if (error) return reject(new Error(error));
    try {
      const fields = new Headers(answer.headers);
      contract?.check({ method, target: url }, { ...answer, method, headers: fields, body: Buffer.from(answer.text) });
      return resolve({ ...answer, headers: new globalThis.Headers(answer.headers), json: parsed(answer.text) });
    } catch (wrong) {
      return reject(wrong);
    }
  });
  child.once('exit', () => {
    children.delete(child);
    for (const { reject } of waiting.values()) reject(new Error('the fetch process ended'));
  });
  return {
    fetch(url, init = {}) {
      return new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject, url, method: init.method });
        child.send({ id: last, url, init });
      });
    },
    stop: () => child.disconnect(),
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// ---- assertions that many files share ----

export function assertStatus(answer, status, code) {
  assert.equal(answer.status, status, `${answer.status} instead of ${status}: ${utf8(answer.body).slice(0, 600)}`);
  if (code !== undefined) assert.equal(answer.json?.code, code, utf8(answer.body).slice(0, 600));
}

// A 422 with exactly these field errors, {pointer: code}, in any order.
export function assertFields(answer, expected) {
  assertStatus(answer, 422, 'validation_failed');
  const codes = Object.fromEntries((answer.json.errors ?? []).map((e) => [e.pointer, e.code]));
  assert.deepEqual(codes, expected, utf8(answer.body));
  assert.equal(answer.json.errors.length, Object.keys(expected).length, 'one error for each field');
}

export function assertTime(text, label = 'a time') {
  assert.match(text, timeForm, `${label} is RFC 3339 UTC with milliseconds: ${text}`);
  assert.equal(new Date(text).toISOString(), text, `${label} exists`);
}

export function assertNow(text, title) {
  assertTime(text, title);
  assert.ok(Math.abs(Date.now() - Date.parse(text)) < 10_000, `${title} is now: ${text}`);
}

export function assertUser(user) {
  assert.deepEqual(Object.keys(user).sort(), ['created_at', 'email', 'id', 'name', 'updated_at']);
  assert.ok(Number.isSafeInteger(user.id) && user.id >= 1, 'id is an integer from 1');
  assertTime(user.created_at, 'created_at');
  assertTime(user.updated_at, 'updated_at');
}

export function assertPost(post) {
  assert.deepEqual(Object.keys(post).sort(),
    ['body', 'created_at', 'id', 'published_at', 'status', 'title', 'updated_at', 'user_id']);
  assert.ok(Number.isSafeInteger(post.id) && post.id >= 1, 'id is an integer from 1');
  assert.ok(Number.isSafeInteger(post.user_id) && post.user_id >= 1, 'user_id is an integer from 1');
  assertTime(post.created_at, 'created_at');
  assertTime(post.updated_at, 'updated_at');
  if (post.published_at !== null) assertTime(post.published_at, 'published_at');
}

// RFC 8288: {rel: target} of the Link header.
export function links(answer) {
  const relations = {};
  const text = answer.headers.get('link') ?? '';
  for (const [, target, parameters] of text.matchAll(/<([^>]*)>((?:\s*;\s*[^,;<]+(?:="[^"]*")?)*)/g)) {
    const rel = /;\s*rel="?([^";,\s]+)"?/.exec(parameters);
    assert.ok(rel, `a link without rel: ${text}`);
    assert.equal(relations[rel[1]], undefined, `rel ${rel[1]} stands once: ${text}`);
    relations[rel[1]] = target;
  }
  return relations;
}

let userCount = 0;
export const newUser = (more = {}) => ({ name: `User ${++userCount}`, email: `user${userCount}@example.org`, ...more });
