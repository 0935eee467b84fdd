// The client libraries of tools/clients, built from the document of this binary and installed as they would be published, or from
// a service that hands them out: each lives a whole life over HTTPS, and does the same over a network that loses answers, against
// limits, and with the answers of a gateway that fails.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startBrowser } from '../helpers/browser.mjs';
import { assertStatus, binary, run, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';
import { utf8 } from '../helpers/wire.mjs';

const testFolder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const top = path.join(testFolder, '../..');
const built = path.join(top, 'build/clients');
const folder = temporaryFolder();
const site = path.join(folder, 'site');
const tsc = path.join(testFolder, 'node_modules/typescript/bin/tsc');
const samplePages = { 'src/web/guides/client-libraries.md': 'guide_sample', 'tools/clients/typescript/README.md': 'typescript_sample', 'tools/clients/python/README.md': 'python_sample' };
const trust = makeTrust();
const pythonEnv = { PYTHONPATH: site, PYTHONDONTWRITEBYTECODE: '1' };
let server;

const runIn = async (cwd, program, words, env = {}) => {
  try {
    return (await run(program, words, { cwd, env: { ...process.env, ...env }, timeout: 280_000 })).stdout;
  } catch (error) {
    throw new Error(`${path.basename(program)} ${words.join(' ')}:\n${error.stdout}${error.stderr}`);
  }
};
// What a type checker prints of the programs, among which is one that is wrong.
const complaintsOf = (call) => call.then(() => '', ({ message }) => message);
const fileWith = (place, ending) => path.join(place, fs.readdirSync(place).find((name) => name.endsWith(ending)));

before(async () => {
  server = await startServer({ config: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n', env: trust.env });
  await runIn(top, path.join(top, 'tools/clients/build'), ['--binary', binary]);
  const modules = path.join(folder, 'node_modules/latchkey-client');
  fs.mkdirSync(modules, { recursive: true });
  await runIn(folder, 'tar', ['xzf', fileWith(path.join(built, 'typescript'), '.tgz'), '-C', modules, '--strip-components=1']);
  await runIn(folder, 'python3', ['-m', 'zipfile', '-e', fileWith(path.join(built, 'python/dist'), '.whl'), site]);
  for (const name of fs.readdirSync(path.join(testFolder, 'clients'))) fs.copyFileSync(path.join(testFolder, 'clients', name), path.join(folder, name));
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
  for (const { ending } of Object.values(languages)) {
    const { head, lines, right } = wrongCalls[ending];
    fs.writeFileSync(path.join(folder, `wrong.${ending}`), `${head}${lines.join('\n')}\n${right}\n`);
    for (const [page, file] of Object.entries(samplePages)) writeSample(page, `${file}.${ending}`);
  }
  await Promise.all(Object.values(languages).map(async (language) => { language.complaints = await language.check(); }));
}, { timeout: 290_000 });
after(() => server.stop());

const languages = {
  TypeScript: {
    command: (name) => [process.execPath, path.join(folder, `${name}.js`)],
    env: () => ({ NODE_EXTRA_CA_CERTS: server.certificateFile }),
    ending: 'ts',
    check: () => complaintsOf(runIn(folder, process.execPath, [tsc, '--project', '.'])),
    verifiesEd25519: true,
  },
  Python: {
    command: (name) => ['python3', path.join(folder, `${name}.py`)],
    env: () => ({ ...pythonEnv, SSL_CERT_FILE: server.certificateFile }),
    ending: 'py',
    check: () => complaintsOf(runIn(folder, '/usr/bin/mypy', ['--strict', '--cache-dir', path.join(built, 'python/.mypy_cache'), ...programsIn('py')], { MYPYPATH: site })),
    verifiesEd25519: false,
  },
};

const programsIn = (ending) => fs.readdirSync(folder).filter((name) => name.endsWith(`.${ending}`));

// The samples of a page in a language are one program.
function writeSample(page, file) {
  const ending = path.extname(file) === '.ts' ? 'ts' : 'python';
  const blocks = [...fs.readFileSync(path.join(top, page), 'utf8').matchAll(/^```(ts|python)\n([^]*?)\n```$/gm)];
  const text = blocks.filter(([, language]) => language === ending).map(([, , code]) => code).join('\n\n');
  if (text !== '') fs.writeFileSync(path.join(folder, file), `${text}\n`);
}

// What each must refuse before it runs; the other lines are right.
const wrongCalls = {
  ts: {
    head: "import { Latchkey } from 'latchkey-client';\nconst client = new Latchkey({ baseUrl: 'https://example.com', key: '' });\n",
    lines: ["await client.createPost({ user_id: 1 });", "await client.listPosts({ status: 'lost' });", "await client.getUser('ada');",
      "await client.createUser({ name: '', email: '', age: 1 });", "const size: number = (await client.getUser(1)).name;",
      "await client.createKey({ name: 'a', environment: 'moon' });"],
    right: "const title: string = (await client.createPost({ user_id: 1, title: 'One' })).title;",
  },
  py: {
    head: "from latchkey_client import Latchkey\nclient = Latchkey('https://example.com', '')\n",
    lines: ["client.create_post({'user_id': 1})", "client.list_posts(status='lost')", "client.get_user('ada')",
      "client.create_user({'name': '', 'email': '', 'age': 1})", "size: int = client.get_user(1)['name']",
      "client.create_key({'name': 'a', 'environment': 'moon'})"],
    right: "title: str = client.create_post({'user_id': 1, 'title': 'One'})['title']",
  },
};

// A program that makes calls by the library; see clients/agent.ts.
class Agent {
  constructor(language) {
    const [program, ...words] = language.command('agent');
    this.child = spawn(program, words, { env: { ...process.env, ...language.env() }, stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async ask(command) {
    this.child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.lines.next();
    assert.ok(!done, 'the agent answers');
    return JSON.parse(value);
  }

  // The calls that follow are made by a new client.
  connect(options) {
    return this.get({ client: { key: 'x', ...options } });
  }

  // The result of a call that succeeds.
  async get(command) {
    const answer = await this.ask(command);
    assert.equal(answer.error, undefined, JSON.stringify(answer.error));
    return answer;
  }

  // The error of a call that fails; its name is as given.
  async fails(name, command) {
    const answer = await this.ask(command);
    assert.equal(answer.error?.name, name, JSON.stringify(answer));
    return { ...answer.error, attempts: answer.attempts };
  }

  async stop() {
    this.child.stdin.end();
    if (this.child.exitCode === null) await once(this.child, 'exit');
  }
}

// A proxy in front of a port that takes from `plan` what happens to each request: it is passed on, or is lost, or its answer
// is, or nothing ever comes.
class LossyProxy {
  static async begin(port) {
    const proxy = new LossyProxy();
    Object.assign(proxy, { port: 0, plan: [], requests: 0, sockets: new Set() });
    proxy.listener = net.createServer((client) => proxy.accept(client, port)).listen(0, '127.0.0.1');
    await once(proxy.listener, 'listening');
    proxy.port = proxy.listener.address().port;
    return proxy;
  }

  accept(client, port) {
    let fate = 'pass';
    const upstream = net.connect(port, '127.0.0.1');
    for (const end of [client, upstream]) {
      this.sockets.add(end);
      end.on('error', () => {}).on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (/^[A-Z]+ \S+ HTTP\/1\.1\r\n/.test(bytes.toString('latin1'))) {
        this.requests += 1;
        fate = this.plan.shift() ?? 'pass';
      }
      if (fate === 'lose the request') client.resetAndDestroy();
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (fate === 'pass') client.write(bytes);
      else if (fate === 'lose the answer') client.resetAndDestroy();
      else if (fate === 'cut the answer') client.end(bytes.subarray(0, bytes.length - 5));
    });
  }

  stop() {
    for (const each of this.sockets) each.destroy();
    this.listener.close();
  }
}

// A service that gives the answers of a list: [{status, headers, body}]. `requests` has what came, with the time.
async function startScript(answers) {
  const requests = [];
  const script = http.createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      requests.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(parts).toString(), at: performance.now() });
      const { status = 200, headers = {}, body = {} } = answers.shift() ?? { status: 500 };
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'Content-Type': typeof body === 'string' ? 'text/html' : 'application/json', ...headers }).end(text);
    });
  }).listen(0, '127.0.0.1');
  await once(script, 'listening');
  const stop = () => {
    script.closeAllConnections();
    script.close();
  };
  return { requests, baseUrl: `http://127.0.0.1:${script.address().port}`, stop };
}

const problem = (status, code, more = {}) => ({ status, body: { type: `/problems/${code}`, title: code, status, code, detail: code,
  instance: 'urn:request:req_12345678', request_id: 'req_12345678', ...more }, headers: {} });
const quick = { attempts: 4, baseMs: 5, capMs: 20, retryAfterCapMs: 60_000 };
const user = (email) => ({ op: 'createUser', body: { name: 'Ada', email } });

for (const [name, language] of Object.entries(languages)) {
  describe(`the library for ${name}`, () => {
    let agent;
    before(() => { agent = new Agent(language); });
    after(() => agent.stop());

    test('lives a whole life', { timeout: 60_000 }, async () => {
      const own = await startServer(); // whose sequences begin with 1
      const { key } = await own.makeKey();
      const [program, ...words] = language.command('life');
      const env = { ...language.env(), NODE_EXTRA_CA_CERTS: own.certificateFile, SSL_CERT_FILE: own.certificateFile };
      const output = await runIn(folder, program, [...words, own.base(), key], env);
      assert.match(output, /^(ok .*\n)+done\n$/);
      assert.ok(output.split('\n').length > 30, output);
      await own.stop();
    });

    test('has types that refuse what the service would refuse, and nothing else', () => {
      const places = [...language.complaints.matchAll(/^([\w/.-]+\.(?:ts|py))[(:](\d+)/gm)].map(([, file, line]) => `${file}:${line - 2}`);
      const expected = wrongCalls[language.ending].lines.map((_, index) => `wrong.${language.ending}:${index + 1}`);
      assert.deepEqual([...new Set(places)].sort(), expected, language.complaints);
    });

    test('waits as Retry-After says when the limits of its key refuse', { timeout: 60_000 }, async () => {
      const key = await server.makeKey({ limits: ['short=2/2'] });
      await agent.connect({ baseUrl: server.base(), key: key.key });
      const attempts = [];
      for (let i = 0; i < 5; i++) attempts.push(...(await agent.get({ op: 'listUsers', query: { limit: 1 } })).attempts);
      let log = [];
      for (const limit = Date.now() + 10_000; log.length < attempts.length && Date.now() < limit; await sleep(20)) {
        log = server.logLines().filter(({ key_id: id }) => id === key.id);
      }
      assert.deepEqual(log.map(({ status }) => status), attempts.map(({ status }) => status));
      const refused = attempts.flatMap(({ status, retryAfter }, index) => (status === 429 ? [{ index, seconds: Number(retryAfter) }] : []));
      assert.ok(refused.length >= 2, JSON.stringify(attempts));
      for (const { index, seconds } of refused) {
        assert.ok(seconds >= 1);
        const waited = (Date.parse(log[index + 1].ts) - Date.parse(log[index].ts)) / 1000;
        assert.ok(waited >= seconds - 0.01 && waited < seconds * 1.1 + 2, `${waited} s instead of ${seconds}`);
      }
    });

    test('does not wait longer than it may', async () => {
      const key = await server.makeKey({ limits: ['long=1/3600'] });
      await agent.connect({ baseUrl: server.base(), key: key.key });
      await agent.get({ op: 'listUsers', query: {} });
      const error = await agent.fails('RateLimitError', { op: 'listUsers', query: {} });
      assert.equal(error.code, 'rate_limited');
      assert.ok(error.retryAfterMs > 3_500_000, `${error.retryAfterMs} ms`);
      assert.equal(error.attempts.length, 1);
    });

    test('repeats what was lost, and does nothing twice', { timeout: 60_000 }, async () => {
      const proxy = await LossyProxy.begin(server.at('http').port);
      const { key } = await server.makeKey();
      await agent.connect({ baseUrl: `http://127.0.0.1:${proxy.port}`, key, retry: quick });
      const lose = (...plan) => {
        proxy.plan = plan;
        proxy.requests = 0;
      };
      const totalOf = async () => (await server.client(key).read('/users?limit=1')).pagination.total;
      const before = await totalOf();

      lose('lose the answer', 'lose the answer');
      const created = await agent.get(user(`lost-${name}@example.org`));
      assert.deepEqual([created.info.attempts, created.info.isReplayed, proxy.requests], [3, true, 3]);
      lose('lose the request');
      const second = await agent.get(user(`late-${name}@example.org`));
      assert.deepEqual([second.info.attempts, second.info.isReplayed], [2, false]);
      assert.equal(await totalOf(), before + 2, 'each once');

      lose('cut the answer');
      const read = await agent.get({ op: 'getUser', path: [created.result.id], query: {} });
      assert.deepEqual([read.info.attempts, read.result.id], [2, created.result.id], 'half an answer is none');
      lose('lose the answer');
      await agent.get({ op: 'replaceUser', path: [created.result.id], body: { name: 'Augusta', email: created.result.email } });
      lose('lose the answer');
      const patched = await agent.get({ op: 'updateUser', path: [created.result.id], body: { name: 'Ada' } });
      assert.deepEqual([patched.info.isReplayed, patched.result.name], [true, 'Ada']);

      lose('lose the answer');
      const replacement = { op: 'replaceUser', path: [created.result.id], body: { name: 'King', email: created.result.email }, options: { ifMatch: patched.info.etag } };
      await agent.fails('NetworkError', replacement);
      assert.equal(proxy.requests, 1, 'a repeat would be 412, though the first was carried out');

      lose('lose the answer');
      await agent.fails('NetworkError', { op: 'verifyKey', body: { key } });
      assert.equal(proxy.requests, 1, 'nothing recognises the repeat of a verification, which costs');

      lose('lose the answer');
      await agent.get({ op: 'deleteUser', path: [created.result.id] });
      assert.equal(proxy.requests, 2, 'a repeated deletion finds nothing, as was asked for');
      assert.equal(await totalOf(), before + 1);
      lose();
      await agent.fails('NotFoundError', { op: 'deleteUser', path: [created.result.id] });

      lose('hold the answer');
      const late = await agent.get({ op: 'getUser', path: [second.result.id], query: {}, options: { timeoutMs: 300 } });
      assert.equal(late.info.attempts, 2);
      lose('hold the answer', 'hold the answer', 'hold the answer', 'hold the answer');
      await agent.fails('TimeoutError', { op: 'getUser', path: [second.result.id], query: {}, options: { timeoutMs: 100 } });
      assert.equal(proxy.requests, 4);
      proxy.stop();
    });

    // [label, answers, command, what is expected: the number of requests, and the error's name or the result]
    const scripts = [
      ['a gateway that fails, then answers', [{ status: 502, body: '<html>' }, { status: 504, body: '<html>' }, { body: { id: 1 } }], { op: 'getUser', path: [1], query: {} }, 3],
      ['the same for what has an Idempotency-Key', [{ status: 502, body: '<html>' }, { status: 201, body: { id: 1 } }], user('a@example.org'), 2],
      ['a gateway that answers in its own JSON', [{ status: 502, body: ['x'] }, { status: 503, body: { code: 7, detail: [] } },
        { status: 504, body: { code: 'E1', detail: 'no upstream' } }, { body: { id: 1 } }], { op: 'getUser', path: [1], query: {} }, 4],
      ['its refusal, which is no problem of the service', [{ status: 403, body: { code: 'WAF', detail: 'blocked' } }], { op: 'getUser', path: [1], query: {} }, 1, 'PermissionDeniedError'],
      ['its word for an answer', [{ body: ['ok'] }], { op: 'verifyKey', body: { key: 'k' } }, 1, 'NetworkError'],
      ['its object for a page', [{ body: { message: 'ok' } }], { op: 'iterateUsers', query: {}, max: 1 }, 1, 'NetworkError'],
      ['but not where nothing recognises a repeat', [{ status: 502, body: '<html>' }], { op: 'verifyKey', body: { key: 'k' } }, 1, 'ServerError'],
      ['unless the service says that it has done nothing', [problem(503, 'overloaded'), { body: { valid: true } }], { op: 'verifyKey', body: { key: 'k' } }, 2],
      ['a first attempt that still runs', [problem(409, 'idempotency_in_progress'), { status: 201, body: { id: 1 } }], user('a@example.org'), 2],
      ['another conflict', [problem(409, 'email_taken')], user('a@example.org'), 1, 'ConflictError'],
      ['a service that stays away', [problem(503, 'behind'), problem(503, 'behind'), problem(503, 'behind'), problem(503, 'behind')], { op: 'getUser', path: [1], query: {} }, 4, 'ServerError'],
      ['a wait of centuries', [{ ...problem(503, 'draining'), headers: { 'Retry-After': '9999999999' } }], { op: 'getUser', path: [1], query: {} }, 1, 'ServerError'],
      ['an error of the service itself', [problem(500, 'internal_error')], { op: 'getUser', path: [1], query: {} }, 1, 'ServerError'],
      ['an address that is refused for wrong keys', [problem(429, 'too_many_auth_failures')], { op: 'getUser', path: [1], query: {} }, 1, 'RateLimitError'],
      ['what is no JSON, though it says so', [{ body: '{"id"', headers: { 'Content-Type': 'application/json' } }, { body: { id: 1 } }], { op: 'getUser', path: [1], query: {} }, 2],
    ];
    test('retries what is safe to retry, with one Idempotency-Key', { timeout: 60_000 }, async () => {
      const answers = [];
      const script = await startScript(answers);
      await agent.connect({ baseUrl: script.baseUrl, retry: quick });
      for (const [label, given, command, count, error] of scripts) {
        script.requests.length = 0;
        answers.splice(0, answers.length, ...given);
        if (error === undefined) assert.equal((await agent.get(command)).info.attempts, count, label);
        else await agent.fails(error, command);
        assert.equal(script.requests.length, count, label);
        const idempotencyKeys = new Set(script.requests.map(({ headers }) => headers['idempotency-key']));
        assert.equal(idempotencyKeys.size, 1, label);
        if (command.op === 'createUser') assert.match([...idempotencyKeys][0], /^[0-9a-f-]{36}$/, label);
      }
      script.stop();
    });

    test('waits until the date of a Retry-After, and longer each time without one', { timeout: 60_000 }, async () => {
      const late = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2000).toUTCString();
      const script = await startScript([{ ...problem(503, 'draining'), headers: { 'Retry-After': late } }, { body: { id: 1 } },
        { ...problem(503, 'draining'), headers: { 'Retry-After': '1' } }, { body: { id: 1 } }]);
      await agent.connect({ baseUrl: script.baseUrl, retry: quick });
      await agent.get({ op: 'getUser', path: [1], query: {} });
      assert.ok(Date.now() >= Date.parse(late), 'not before that second');
      await agent.get({ op: 'getUser', path: [1], query: {} });
      assert.ok(script.requests[3].at - script.requests[2].at >= 1000);
      script.stop();
    });

    test('sends what it should, and nothing else', async () => {
      const token = (position) => ({ status: 201, body: { id: 1 }, headers: { 'Consistency-Token': position, ETag: '"one"' } });
      const script = await startScript([token('9'), token('10'), token('8'), problem(503, 'behind'), { body: { id: 1 } }, { status: 304, body: '' }]);
      await agent.connect({ baseUrl: `${script.baseUrl}/prefix/`, retry: quick, keys: ['k1', 'k2', 'k3', 'k4', 'k5', 'k6'], headers: { 'X-Team': 'billing' } });
      for (let i = 0; i < 3; i++) await agent.get({ ...user('ü@example.org'), options: { idempotencyKey: `own-${i}` } });
      const { token: last } = await agent.get({ op: 'getUser', path: [1], query: { include: 'posts' } });
      const current = await agent.get({ op: 'getUser', path: [2], query: {}, options: { ifNoneMatch: { record: 0 } } });
      const { requests } = script;
      assert.equal(last, '10');
      assert.deepEqual(requests.map(({ headers }) => headers['consistency-token']), [undefined, '9', '10', '10', '10', '10']);
      assert.deepEqual(requests.map(({ headers }) => headers.authorization), ['k1', 'k2', 'k3', 'k4', 'k5', 'k6'].map((key) => `Bearer ${key}`));
      assert.deepEqual(requests.map(({ headers }) => headers['idempotency-key']), ['own-0', 'own-1', 'own-2', undefined, undefined, undefined]);
      assert.deepEqual(JSON.parse(requests[0].body), { name: 'Ada', email: 'ü@example.org' });
      assert.equal(requests[0].headers['content-type'], 'application/json');
      assert.equal(requests[0].headers['x-team'], 'billing');
      assert.match(requests[0].headers['user-agent'], /^latchkey-client-\w+\/[0-9.]+$/);
      assert.deepEqual(requests.map(({ method, url }) => `${method} ${url}`), [...Array(3).fill('POST /prefix/api/v1/users'),
        ...Array(2).fill('GET /prefix/api/v1/users/1?include=posts'), 'GET /prefix/api/v1/users/2']);
      assert.equal(requests[5].headers['if-none-match'], '"one"');
      assert.deepEqual(current.result, { id: 1 }, 'what the caller has');
      script.stop();
    });

    test('keeps the key from other hosts and from the network', async () => {
      const other = await startScript([{ body: {} }]);
      const script = await startScript([{ status: 302, headers: { Location: `${other.baseUrl}/api/v1/users/1` }, body: '' }]);
      await agent.connect({ baseUrl: script.baseUrl, retry: { attempts: 1 } });
      const answer = await agent.ask({ op: 'getUser', path: [1], query: {} });
      assert.ok(answer.error, 'a redirect is an error');
      assert.equal(other.requests.length, 0);
      other.stop();
      script.stop();
      const refusal = await agent.ask({ client: { baseUrl: 'http://latchkey.example.com', key: 'k' } });
      assert.match(refusal.error?.message, /in clear/);
    });

    test('verifies what the service has sent, and nothing else', { timeout: 60_000 }, async () => {
      const receiver = await startReceiver(trust);
      const key = await server.makeKey();
      await agent.connect({ baseUrl: server.base(), key: key.key });
      const { result: webhook } = await agent.get({ op: 'createWebhook', body: { url: receiver.url, types: ['user.*'], signatures: ['v1', 'v1a'] } });
      const { result: created } = await agent.get(user(`hooked-${name}@example.org`));
      await receiver.heard(1);
      const [{ body, headers }] = receiver.requests;
      const timestamp = Number(headers['webhook-timestamp']);
      const verify = (keys, more = {}, text = body, options = {}) => ({ verify: [keys, { ...headers, ...more }, text, options] });

      const { result } = await agent.get(verify(webhook.secret));
      assert.deepEqual([result.id, result.timestamp, result.change.type, result.change.data.id], [headers['webhook-id'], timestamp, 'user.created', created.id]);
      const otherSecret = `whsec_${crypto.randomBytes(32).toString('base64')}`;
      await agent.get(verify([otherSecret, webhook.secret]));
      await agent.get({ verify: [webhook.secret, Object.fromEntries(Object.entries(headers).map(([field, value]) => [field.toUpperCase(), value])), body] });

      const refusal = async (reason, command) => assert.equal((await agent.fails('WebhookVerificationError', command)).reason, reason);
      await refusal('signature', verify(otherSecret));
      await refusal('signature', verify(webhook.secret, {}, body.replace('user.created', 'user.deleted')));
      await refusal('signature', verify(webhook.secret, { 'webhook-id': 'msg_other' }));
      await refusal('signature', verify(webhook.secret, { 'webhook-timestamp': String(timestamp + 1) }));
      await refusal('signature', verify(webhook.secret, { 'webhook-signature': 'v1, v1,AAAA v2,AAAA v1,=ä' }));
      await refusal('time', verify(webhook.secret, {}, body, { nowMs: (timestamp + 301) * 1000 }));
      await refusal('time', verify(webhook.secret, {}, body, { nowMs: (timestamp - 301) * 1000 }));
      await refusal('time', verify(webhook.secret, { 'webhook-timestamp': 'now' }));
      await refusal('missing_header', verify(webhook.secret, { 'webhook-signature': '' }));
      await agent.get(verify(webhook.secret, {}, body, { nowMs: (timestamp + 299) * 1000 }));

      const [symmetric, asymmetric] = ['v1,', 'v1a,'].map((version) => headers['webhook-signature'].split(' ').find((entry) => entry.startsWith(version)));
      await agent.get(verify(webhook.secret, { 'webhook-signature': symmetric }));
      await refusal('signature', verify(webhook.secret, { 'webhook-signature': asymmetric }));
      if (language.verifiesEd25519) {
        await agent.get(verify(webhook.public_key, { 'webhook-signature': asymmetric }));
        await refusal('signature', verify(webhook.public_key, { 'webhook-signature': asymmetric }, `${body} `));
        await refusal('signature', verify(webhook.public_key, { 'webhook-signature': symmetric.replace('v1,', 'v1a,') }));
      }
      const deliveries = await agent.get({ op: 'iterateDeliveries', path: [webhook.id], query: {}, max: 10 });
      assert.deepEqual(deliveries.result.map(({ type, state }) => [type, state]), [['user.created', 'delivered']]);
      await agent.get({ op: 'deleteWebhook', path: [webhook.id] });
      await receiver.stop();
    });
  });
}

describe('the packages', () => {
  const read = (...words) => fs.readFileSync(path.join(built, ...words), 'utf8');

  test('have each operation of the document that a library can call', async () => {
    const document = (await server.client(null).get('/openapi.json', { root: true })).json;
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item)).filter(({ operationId }) => operationId);
    const isCall = ({ tags, responses }) => !['Gateway', 'Sessions'].includes(tags[0]) && !Object.entries(responses)
      .some(([status, { content }]) => status.startsWith('2') && content?.['text/html']);
    const names = operations.filter(isCall).map(({ operationId }) => operationId);
    assert.ok(names.length >= 40, names.join());
    const [typescript, python] = [read('typescript/dist/generated/operations.d.ts'), read('python/src/latchkey_client/operations.py')];
    for (const name of names) {
      assert.match(typescript, new RegExp(`^    ${name}\\(`, 'm'));
      assert.match(python, new RegExp(`^    def ${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}\\(`, 'm'));
    }
    assert.equal((typescript.match(/^    [a-z]\w*\(/gm) ?? []).filter((line) => !/iterate|constructor/.test(line)).length, names.length);
    assert.equal(JSON.parse(read('typescript/package.json')).version, document.info.version, 'a release of the service is one of its clients');
    assert.ok(fileWith(path.join(built, 'python/dist'), '.whl').endsWith(`/latchkey_client-${document.info.version}-py3-none-any.whl`));
    assert.doesNotMatch(typescript + read('typescript/dist/generated/schema.d.ts') + python, /\bapi_key\b/, 'a key goes in a header field alone');
  });

  test('are complete, and need nothing else', async () => {
    const manifest = JSON.parse(read('typescript/package.json'));
    for (const member of ['name', 'version', 'description', 'license', 'engines', 'exports', 'types', 'files', 'keywords']) assert.ok(manifest[member], member);
    assert.equal(manifest.dependencies, undefined);
    assert.equal(manifest.private, undefined);
    const listing = await runIn(built, 'tar', ['tzf', fileWith(path.join(built, 'typescript'), '.tgz')]);
    const names = listing.trim().split('\n').map((name) => name.replace('package/', ''));
    for (const name of ['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts', 'dist/generated/schema.d.ts']) assert.ok(names.includes(name), name);
    assert.ok(names.every((name) => /^(dist\/[\w/]+\.(js|d\.ts)|LICENSE|README\.md|package\.json)$/.test(name)), names.join());
    const metadata = fs.readFileSync(path.join(site, fs.readdirSync(site).find((name) => name.endsWith('.dist-info')), 'METADATA'), 'utf8');
    for (const line of ['Name: latchkey-client', 'License: Apache-2.0', 'Requires-Python: >=3.11', 'Description-Content-Type: text/markdown']) {
      assert.ok(metadata.split('\n').includes(line), `${line}:\n${metadata.slice(0, 800)}`);
    }
    assert.doesNotMatch(metadata, /^Requires-Dist/m);
    assert.ok(fs.existsSync(path.join(site, 'latchkey_client/py.typed')), 'a type checker reads its types');
  });

  describe('handed out by a service', () => {
    const clients = path.join(folder, 'handed out');
    let files;
    let own;

    before(async () => {
      files = [fileWith(path.join(built, 'typescript'), '.tgz'), fileWith(path.join(built, 'python/dist'), '.whl')];
      fs.mkdirSync(clients);
      for (const file of files) fs.copyFileSync(file, path.join(clients, path.basename(file)));
      fs.writeFileSync(path.join(clients, 'latchkey-client-0.0.1.tgz'), 'another version');
      fs.writeFileSync(path.join(folder, 'outside'), 'what nobody may read');
      own = await startServer({ args: ['--clients-folder', clients] });
    });
    after(() => own.stop());

    test('come whole, with their type, length and tag, and without a key', async () => {
      for (const [index, type] of ['application/gzip', 'application/zip'].entries()) {
        const target = `/docs/clients/${path.basename(files[index])}`;
        const bytes = fs.readFileSync(files[index]);
        const answer = await own.ask('GET', target, { headers: { 'Accept-Encoding': 'gzip, br' } });
        assert.equal(answer.status, 200);
        assert.deepEqual(Buffer.from(answer.body), bytes);
        assert.deepEqual(['content-type', 'content-length', 'content-encoding'].map((name) => answer.headers.get(name) ?? null), [type, String(bytes.length), null]);
        const head = await own.ask('HEAD', target);
        assert.deepEqual([head.status, head.headers.get('content-length'), head.body.length], [200, String(bytes.length), 0]);
        assertStatus(await own.ask('GET', target, { headers: { 'If-None-Match': answer.headers.get('etag') } }), 304);
      }
    });

    test('and nothing else of the folder, or from outside of it, does', async () => {
      const outside = ['../outside', '%2e%2e/outside', '%2e%2e%2foutside', '..%2Foutside', '.%2e/outside', '..%5coutside', '%252e%252e%252foutside',
        `../../../../..${folder}/outside`, `/${folder}/outside`, `${folder}/outside`, encodeURIComponent(path.join(folder, 'outside'))];
      const { key } = await own.makeKey(); // without one, a path of no route is 401
      for (const name of ['latchkey-client-0.0.1.tgz', 'nothing', '', '.', '..', '%00', ...outside]) {
        const answer = await own.ask('GET', `/docs/clients/${name}`, { key });
        assert.deepEqual([answer.status, answer.json.code], [404, 'route_not_found'], name);
      }
    });

    // The command as the page has it, for this service and into a folder of the test.
    const commandFor = async (program) => {
      const page = utf8((await own.ask('GET', '/docs/clients')).body);
      const [, command] = new RegExp(`>(${program} install https://127.0.0.1:8443/\\S+)\n<`).exec(page);
      return command.replace('https://127.0.0.1:8443', own.base()).split(' ').slice(1);
    };

    test('are installed by npm', { timeout: 60_000 }, async () => {
      const project = path.join(folder, 'npm project');
      fs.mkdirSync(project);
      fs.writeFileSync(path.join(project, 'package.json'), '{"name": "project", "type": "module"}');
      await runIn(project, 'npm', [...await commandFor('npm'), '--no-audit', '--no-fund', '--no-update-notifier', '--cache', path.join(folder, 'npm cache')],
        { npm_config_cafile: own.certificateFile });
      const text = "import { Latchkey } from 'latchkey-client';\nconsole.log(typeof Latchkey.prototype.createUser);\n";
      assert.equal(await runIn(project, process.execPath, ['--input-type=module', '--eval', text]), 'function\n');
    });

    test('are installed by pip', { timeout: 60_000 }, async () => {
      const target = path.join(folder, 'pip target');
      await runIn(folder, '/usr/bin/python3', ['-m', 'pip', ...await commandFor('pip'), '--cert', own.certificateFile, '--target', target,
        '--no-cache-dir', '--disable-pip-version-check', '--no-index'], { PIP_CONFIG_FILE: '/dev/null', REQUESTS_CA_BUNDLE: '', CURL_CA_BUNDLE: '' });
      const text = 'import latchkey_client; print(latchkey_client.__version__, latchkey_client.Latchkey.create_user.__name__)';
      const { info } = (await own.client(null).get('/openapi.json', { root: true })).json;
      assert.equal(await runIn(folder, '/usr/bin/python3', ['-c', text], { ...pythonEnv, PYTHONPATH: target }), `${info.version} create_user\n`);
    });

    test('are found by a reload, and only those of the running version', async () => {
      const later = path.join(folder, 'later');
      fs.mkdirSync(later);
      const late = await startServer({ config: '', args: ['--clients-folder', later] });
      const target = `/docs/clients/${path.basename(files[0])}`;
      assertStatus(await late.ask('GET', target), 404, 'route_not_found');
      assert.match(utf8((await late.ask('GET', '/docs/clients')).body), /<code>latchkey-clients<\/code>/);
      fs.copyFileSync(files[0], path.join(later, path.basename(files[0])));
      late.child.kill('SIGHUP');
      await until(() => /reloaded the configuration/.test(late.stderr), 'it is reloaded');
      assert.equal((await late.ask('GET', target)).status, 200);
      await late.stop();
    });
  });

  test('run in a browser without anything of Node', { timeout: 60_000 }, async () => {
    fs.writeFileSync(path.join(folder, 'page.js'), "import * as library from 'latchkey-client';\nglobalThis.library = library;\n");
    await runIn(folder, 'esbuild', ['--bundle', '--platform=browser', '--format=iife', '--outfile=bundle.js', 'page.js']);
    const bundle = fs.readFileSync(path.join(folder, 'bundle.js'), 'utf8');
    assert.doesNotMatch(bundle, /node:|\bprocess\./);
    const { key } = await server.makeKey();
    const browser = await startBrowser();
    try {
      const page = await browser.newPage({ bypassesCsp: true });
      await page.tab.goto(`${server.base()}/docs`);
      await page.tab.addScriptTag({ content: bundle });
      const result = await page.tab.evaluate(async (baseUrl, text) => {
        const { Latchkey, responseOf, verifyWebhook } = globalThis.library;
        const client = new Latchkey({ baseUrl, key: text });
        const created = await client.createUser({ name: 'Ada', email: 'browser@example.org' });
        const users = await client.iterateUsers({ limit: 1 }).toArray(2);
        const refusal = await verifyWebhook('whsec_AAAA', new Headers({ 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA' }), '{}',
          { nowMs: 1000 }).catch(({ reason }) => reason);
        return { status: responseOf(created).status, email: created.email, users: users.length > 0, refusal };
      }, server.base(), key);
      assert.deepEqual(result, { status: 201, email: 'browser@example.org', users: true, refusal: 'signature' });
    } finally {
      await browser.stop();
    }
  });

  test('the samples of their pages run as printed', { timeout: 60_000 }, async () => {
    const { key } = await server.makeKey({ defaults: true });
    const programs = Object.values(samplePages).flatMap((name) => [[`${name}.js`, process.execPath], [`${name}.py`, 'python3']])
      .filter(([file]) => fs.existsSync(path.join(folder, file)));
    assert.equal(programs.length, 4, 'both languages of the guide, and a page for each package');
    const env = { ...pythonEnv, LATCHKEY_URL: server.base(), LATCHKEY_KEY: key, NODE_EXTRA_CA_CERTS: server.certificateFile, SSL_CERT_FILE: server.certificateFile };
    await Promise.all(programs.map(([file, program]) => runIn(folder, program, [file], env)));
  });
});
