// Spans of requests by OTLP/HTTP in JSON: sampling, attributes, endpoints that fail, and the life of the helper.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { assertStatus, command, message, newUser, run, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { connectHttp2 } from '../helpers/http2_wire.mjs';
import { metric } from '../helpers/load_clients.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';

// Collectors that a test which failed has left.
const running = new Set();
after(() => Promise.all([...running].map((each) => each.stop())));

// A collector: answers as `answer(number)` says, {status, headers, body} or never where it is null, and keeps the spans of requests
// that it accepted.
async function startCollector(answer = () => ({}), port = 0) {
  const collector = { spans: [], requests: [], resources: [] };
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks));
      const number = collector.requests.push({ url: request.url, method: request.method, headers: request.headers, at: Date.now() });
      const reply = answer(number);
      if (reply === null) return;
      const { status = 200, headers = {}, body: text = '{}' } = reply ?? {};
      if (status === 200) {
        for (const { resource, scopeSpans } of body.resourceSpans) {
          collector.resources.push(attributes(resource));
          for (const { spans } of scopeSpans) collector.spans.push(...spans);
        }
      }
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(text);
    });
  });
  await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
  collector.port = server.address().port;
  collector.url = `http://127.0.0.1:${collector.port}/v1/traces`;
  collector.stop = () => { running.delete(collector); server.closeAllConnections(); return new Promise((resolve) => { server.close(resolve); }); };
  running.add(collector);
  return collector;
}

const attributes = ({ attributes: list }) => Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

// The helper of a service, which is the child of a supervisor; undefined: there is none now.
function helperOf(pid) {
  const childrenOf = (parent) => fs.readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').filter(Boolean);
  const nameOf = (each) => fs.readFileSync(`/proc/${each}/comm`, 'utf8').trim();
  const supervisor = childrenOf(pid).find((each) => nameOf(each) === 'super-trace');
  const helper = supervisor && childrenOf(supervisor).find((each) => nameOf(each) === 'latchkey-trace');
  return helper && Number(helper);
}

const isRunning = (pid) => fs.existsSync(`/proc/${pid}`);
const pageOf = async (server) => (await fetch(`http://${/management on ([^ ]+):/.exec(server.stderr)[1]}/metrics`)).text();
const dropped = (where, page) => Number(new RegExp(`^latchkey_trace_spans_dropped_total\\{where="${where}"\\} ([0-9]+)$`, 'm').exec(page)[1]);
const traceparent = (trace, flags) => `00-${trace.padEnd(32, '0')}-00f067aa0ba902b7-${flags}`;
const listSpans = ({ spans }) => spans.filter(({ name }) => name === 'GET /api/v1/users');

async function reload(server, config) {
  fs.writeFileSync(path.join(path.dirname(server.data), 'latchkey.toml'), config);
  const offset = server.stderr.length;
  server.child.kill('SIGHUP');
  await until(() => /(reloaded the configuration|nothing was reloaded).*\n/.test(server.stderr.slice(offset)), 'a reload');
  return server.stderr.slice(offset);
}

const tracing = (endpoint, rest = '') => `[tracing]\nendpoint = "${endpoint}"\n${rest}`;
const traceOf = (spans, traceId) => spans.filter((span) => span.traceId === traceId);

async function withTracing(config, act, options = {}) {
  const server = await startServer({ config, management: '127.0.0.1:0', ...options });
  try {
    const { key, id } = await server.makeKey();
    await act(server, key, id);
  } finally {
    await server.stop();
  }
}

describe('tracing', () => {
  test('exports a span of each sampled request, with the attributes of the conventions', async () => {
    const collector = await startCollector();
    await withTracing(tracing(collector.url, 'sample_ratio = 1\nservice_name = "keys"\n'), async (server, key, id) => {
      const began = BigInt(Date.now()) * 1_000_000n;
      const api = server.client(key);
      const user = await api.create('/users', newUser());
      const read = await api.get(`/users/${user.id}`, { headers: { traceparent: traceparent('aaaa', '01'), 'X-Request-Id': 'request_12345678' } });
      assertStatus(read, 200);
      assertStatus(await api.get('/users', { headers: { traceparent: traceparent('bbbb', '00') } }), 200);
      assertStatus(await server.ask('GET', '/api/v1/users?api_key=secret', { scheme: 'http', headers: { traceparent: traceparent('cccc', '01') } }), 401);
      api.close();
      await until(() => traceOf(collector.spans, 'cccc'.padEnd(32, '0')).length === 1, 'the last span');
      assert.equal(traceOf(collector.spans, 'bbbb'.padEnd(32, '0')).length, 0, 'its parent is not sampled');
      const [span] = traceOf(collector.spans, 'aaaa'.padEnd(32, '0'));
      assert.equal(span.parentSpanId, '00f067aa0ba902b7');
      assert.match(span.spanId, /^[0-9a-f]{16}$/);
      assert.equal(span.name, 'GET /api/v1/users/{id}');
      assert.equal(span.kind, 2);
      const { port } = server.at('https');
      assert.deepEqual(attributes(span), {
        'http.request.method': 'GET', 'http.route': '/api/v1/users/{id}', 'url.path': '/api/v1/users/{id}', 'url.scheme': 'https',
        'http.response.status_code': 200, 'network.protocol.version': '1.1', 'server.address': '127.0.0.1', 'server.port': port,
        'latchkey.key.id': Number(id), 'latchkey.request.id': 'request_12345678',
      });
      const [start, end] = [BigInt(span.startTimeUnixNano), BigInt(span.endTimeUnixNano)];
      assert.ok(start >= began - 50_000_000n && end >= start && end <= BigInt(Date.now()) * 1_000_000n + 50_000_000n, `${start} to ${end}`);
      const [refused] = traceOf(collector.spans, 'cccc'.padEnd(32, '0'));
      assert.deepEqual([attributes(refused)['http.response.status_code'], attributes(refused)['latchkey.key.id'], attributes(refused)['url.scheme'], refused.status],
        [401, undefined, 'http', undefined]);
      const root = collector.spans.find(({ name }) => name === 'POST /api/v1/users');
      assert.equal(root.parentSpanId, undefined);
      assert.match(root.traceId, /^(?!0{32})[0-9a-f]{32}$/);
      const { 'service.name': name, 'service.version': version, 'service.instance.id': instance } = collector.resources[0];
      assert.equal(name, 'keys');
      assert.match((await command('--version')).stdout, new RegExp(`\\b${version.replaceAll('.', '\\.')}\\b`));
      assert.ok(instance.endsWith(`/${server.pid}`), instance);
      const text = JSON.stringify(collector.spans);
      for (const secret of ['secret', key, user.email, '127.0.0.1:', 'node']) assert.ok(!text.includes(secret), `${secret} is in no span`);
      assert.equal(collector.requests[0].headers['content-type'], 'application/json');
      assert.equal(collector.requests[0].url, '/v1/traces');
      await until(async () => (await metric(server, 'latchkey_trace_spans_exported_total')) === collector.spans.length, 'a count of all spans');
    });
    await collector.stop();
  });

  test('exports spans of HTTP/2 too, and of what has no route or no method that is known', async () => {
    const collector = await startCollector();
    await withTracing(tracing(collector.url, 'sample_ratio = 0.0\n'), async (server, key) => {
      const traced = (trace) => ({ key, headers: { traceparent: traceparent(trace, '01') } });
      const wire = await server.connectBy(connectHttp2, { scheme: 'https' });
      // Three streams at once, each with its own trace.
      for (const trace of ['a1', 'a2', 'a3']) wire.send(message('GET', '/api/v1/users?limit=1', traced(trace)));
      for (let i = 0; i < 3; i += 1) assertStatus(await wire.response(), 200);
      wire.send(message('GET', '/api/v1/users', { key }));
      assertStatus(await wire.response(), 200);
      wire.send(message('GET', '/nothing/token-in-a-path', traced('b1')));
      assertStatus(await wire.response(), 404);
      await wire.ending();
      const plain = await server.connect({ scheme: 'http' });
      plain.contract = null;
      await plain.send(message('PROPFIND', '/api/v1/users', traced('c1')));
      const odd = await plain.response();
      plain.close();
      await until(() => traceOf(collector.spans, 'c1'.padEnd(32, '0')).length === 1, 'the last span');
      const of = (trace) => collector.spans.find(({ traceId }) => traceId === trace.padEnd(32, '0'));
      for (const trace of ['a1', 'a2', 'a3']) {
        const span = attributes(of(trace));
        assert.deepEqual([span['network.protocol.version'], span['http.route'], span['url.scheme'], span['http.response.status_code']],
          ['2', '/api/v1/users', 'https', 200]);
      }
      assert.equal(of('b1').name, 'GET');
      assert.equal(attributes(of('b1'))['http.route'], undefined);
      assert.equal(of('c1').name.split(' ')[0], 'HTTP', 'as the conventions name an unknown method');
      assert.deepEqual([attributes(of('c1'))['http.request.method'], attributes(of('c1'))['http.response.status_code']], ['_OTHER', odd.status]);
      assert.ok(!JSON.stringify(collector.spans).includes('token-in-a-path'), 'no path');
      assert.equal(collector.spans.length, 5, 'with a ratio of 0 only those that their clients sample');
    });
    await collector.stop();
  });

  test('samples by the ratio, and sends the last spans when the service stops', async () => {
    const collector = await startCollector();
    const requests = 2000;
    await withTracing(tracing(collector.url, 'sample_ratio = 0.25\n'), async (server, key) => {
      const api = server.client(key);
      for (let i = 0; i < requests; i += 1) assertStatus(await api.get('/users?limit=1'), 200);
      api.close();
    });
    const count = collector.spans.filter(({ name }) => name === 'GET /api/v1/users').length;
    // Five standard deviations of the binomial distribution.
    assert.ok(Math.abs(count - requests / 4) < 5 * Math.sqrt(requests * 0.25 * 0.75), `${count} of ${requests}`);
    assert.equal(new Set(collector.spans.map(({ spanId }) => spanId)).size, collector.spans.length);
    await collector.stop();
  });

  test('repeats what is refused for now, after Retry-After, and drops and counts what is refused for good', async () => {
    const answers = [{ status: 503, headers: { 'Retry-After': '2' } }, { status: 429 }, {}, { status: 400 }];
    const collector = await startCollector((number) => answers[number - 1]);
    await withTracing(tracing(collector.url, 'sample_ratio = 1.0\n'), async (server, key) => {
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => collector.requests.length === 3 && collector.spans.length > 0, 'a third request');
      const [first, second, third] = collector.requests.map(({ at }) => at);
      assert.ok(second - first >= 1900, `Retry-After: ${second - first} ms`);
      assert.ok(third - second >= 900, `a pause of its own: ${third - second} ms`);
      assert.match(server.stderr, /spans cannot be exported: the endpoint answered 503/);
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => collector.requests.length >= 4, 'a fourth request');
      await until(async () => dropped('helper', await pageOf(server)) === 1, 'a count of what was dropped');
      assert.equal(dropped('ring', await pageOf(server)), 0);
    });
    await collector.stop();
  });

  test('sends header fields from a file, and no secret of it is seen elsewhere', async () => {
    const collector = await startCollector();
    const file = path.join(temporaryFolder(), 'headers');
    fs.writeFileSync(file, '# of the collector\nAuthorization: Bearer open-sesame\nX-Tenant: seven\n', { mode: 0o600 });
    await withTracing(tracing(collector.url, `sample_ratio = 1.0\nheaders_file = "${file}"\n`), async (server, key) => {
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => collector.requests.length > 0, 'a request');
      assert.equal(collector.requests[0].headers.authorization, 'Bearer open-sesame');
      assert.equal(collector.requests[0].headers['x-tenant'], 'seven');
      assert.ok(!server.stderr.includes('sesame'));
      assert.ok(!(await pageOf(server)).includes('sesame'));
      const helper = helperOf(server.pid);
      for (const pid of [server.pid, helper]) {
        for (const kind of ['cmdline', 'environ']) assert.ok(!fs.readFileSync(`/proc/${pid}/${kind}`, 'latin1').includes('sesame'), kind);
      }
      assert.ok(!(await command('config', 'show', '--config', path.join(path.dirname(server.data), 'latchkey.toml'))).stdout.includes('sesame'));
    });
    fs.writeFileSync(file, 'Authorization: Bearer x\nopen sesame\n');
    const wrong = await command('serve', '--data', path.join(temporaryFolder(), 'data'), '--management', 'off', '--listen', 'http://127.0.0.1:0',
      '--tracing-endpoint', collector.url, '--tracing-headers-file', file);
    assert.equal(wrong.code, 78);
    assert.match(wrong.stderr, /tracing\.headers_file: .*headers, line 2 is no header field/);
    assert.ok(!wrong.stderr.includes('sesame'));
    // A credential of the service manager.
    const credentials = temporaryFolder();
    fs.writeFileSync(path.join(credentials, 'tracing.headers'), 'Authorization: Bearer passed-in\n');
    const before = collector.requests.length;
    await withTracing(tracing(collector.url, 'sample_ratio = 1.0\n'), async (server, key) => {
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => collector.requests.length > before, 'a request');
      assert.equal(collector.requests.at(-1).headers.authorization, 'Bearer passed-in');
    }, { env: { CREDENTIALS_DIRECTORY: credentials } });
    await collector.stop();
  });

  test('verifies the certificate of an endpoint', async () => {
    const trust = makeTrust();
    const receiver = await startReceiver(trust, () => ({ status: 200, body: '{}' }));
    const config = tracing(receiver.url, 'sample_ratio = 1.0\n');
    await withTracing(config, async (server, key) => {
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => /spans cannot be exported: .*certificate/.test(server.stderr), 'a warning');
      assert.equal(receiver.requests.length, 0);
    });
    await withTracing(config, async (server, key) => {
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await receiver.heard(1);
      assert.ok(receiver.requests[0].json.resourceSpans.length > 0);
    }, { env: trust.env });
    await receiver.stop();
  });

  test('takes another ratio, name and header fields by a reload, all or nothing', async () => {
    const collector = await startCollector();
    const file = path.join(temporaryFolder(), 'headers');
    fs.writeFileSync(file, 'Authorization: Bearer one\n', { mode: 0o600 });
    const config = (rest) => tracing(collector.url, `headers_file = "${file}"\n${rest}`);
    await withTracing(config('sample_ratio = 0.0\n'), async (server, key) => {
      const api = server.client(key);
      const helper = helperOf(server.pid);
      assertStatus(await api.get('/users'), 200);
      fs.writeFileSync(file, 'Authorization: Bearer two\n');
      assert.match(await reload(server, config('sample_ratio = 1.0\nservice_name = "renamed"\n')), /changed tracing\.sample_ratio, tracing\.service_name\n/);
      assertStatus(await api.get('/users?limit=2'), 200);
      await until(() => listSpans(collector).length === 1, 'a span of the second request alone');
      assert.equal(collector.requests.at(-1).headers.authorization, 'Bearer two');
      assert.equal(collector.resources.at(-1)['service.name'], 'renamed');
      fs.writeFileSync(file, 'three\n');
      assert.match(await reload(server, config('sample_ratio = 0.0\n')), /nothing was reloaded .*line 1 is no header field/);
      assertStatus(await api.get('/users?limit=3'), 200);
      await until(() => listSpans(collector).length === 2, 'a span by the ratio of before');
      fs.writeFileSync(file, 'Authorization: Bearer four\n');
      assert.match(await reload(server, config('sample_ratio = 1.0\nservice_name = "renamed"\n').replace(collector.url, 'http://127.0.0.1:9/')),
        /only a restart changes tracing\.endpoint/);
      assertStatus(await api.get('/users?limit=4'), 200);
      await until(() => listSpans(collector).length === 3, 'a span at the same endpoint');
      assert.equal(collector.requests.at(-1).headers.authorization, 'Bearer four', 'it is read though no setting has changed');
      assert.equal(helperOf(server.pid), helper, 'the same helper');
      api.close();
    });
    await collector.stop();
  });

  test('loses no request while the endpoint is away, and exports again when it is back', async () => {
    let collector = await startCollector();
    const { port, url } = collector;
    await collector.stop();
    await withTracing(tracing(url, 'sample_ratio = 1.0\n'), async (server, key) => {
      for (let i = 0; i < 20; i += 1) assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => /spans cannot be exported/.test(server.stderr), 'a warning');
      collector = await startCollector(() => ({}), port);
      await until(() => listSpans(collector).length === 20, 'all of them');
    });
    await collector.stop();
  });

  test('waits for no endpoint that does not answer: not with a response, and two seconds at a stop', async () => {
    const collector = await startCollector(() => null);
    await withTracing(tracing(collector.url, 'sample_ratio = 1.0\n'), async (server, key) => {
      const api = server.client(key);
      assertStatus(await api.get('/users?limit=1'), 200);
      await until(() => collector.requests.length === 1, 'a request that is not answered');
      const start = performance.now();
      await Promise.all(Array.from({ length: 8 }, async () => {
        const client = server.client(key);
        for (let i = 0; i < 250; i += 1) assertStatus(await client.get('/users?limit=1'), 200);
        client.close();
      }));
      assert.ok(performance.now() - start < 60_000);
      api.close();
      const stopTime = performance.now();
      await server.stop();
      assert.ok(performance.now() - stopTime < 5000, `${performance.now() - stopTime} ms`);
    });
    await collector.stop();
  });

  test('exports or counts as dropped each span of a burst that is too much', async () => {
    const collector = await startCollector();
    const requests = 100_000;
    await withTracing(tracing(collector.url, 'sample_ratio = 1.0\n'), async (server) => {
      const counts = async () => {
        const page = await pageOf(server);
        const exported = Number(/^latchkey_trace_spans_exported_total ([0-9]+)$/m.exec(page)[1]);
        return { exported, all: exported + dropped('ring', page) + dropped('helper', page) };
      };
      await until(async () => (await counts()).exported === 1, "the span of the harness' own request");
      const { stdout } = await run('h2load', ['-n', String(requests), '-c', '20', '-m', '20', `${server.base('http')}/healthz`]);
      assert.match(stdout, new RegExp(`status codes: ${requests} 2xx`));
      await until(async () => (await counts()).all >= 1 + requests, 'a count of all');
      const { exported, all } = await counts();
      assert.equal(all, 1 + requests);
      assert.equal(exported, collector.spans.length);
    });
    await collector.stop();
  });

  test('starts the helper again when it has died, confines it, and ends it with the service', async () => {
    const collector = await startCollector();
    let second;
    await withTracing(tracing(collector.url, 'sample_ratio = 1.0\n'), async (server, key) => {
      const first = helperOf(server.pid);
      const status = fs.readFileSync(`/proc/${first}/status`, 'utf8');
      for (const line of [/^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m, /^CapEff:\t0+$/m, /^Threads:\t1$/m]) assert.match(status, line);
      assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      await until(() => listSpans(collector).length === 1, 'a span by the first helper');
      process.kill(first, 'SIGKILL');
      await until(() => (second = helperOf(server.pid)) !== undefined && second !== first, 'another helper');
      assert.match(server.stderr, /the helper latchkey-trace has ended and is started again/);
      for (let i = 0; i < 5; i += 1) assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200);
      // What went to the socket before the second helper greeted was lost with the first, and is counted.
      await until(async () => listSpans(collector).length + dropped('helper', await pageOf(server)) >= 6, 'spans by the second');
      assert.ok(listSpans(collector).length > 1, 'by the second');
    });
    await until(() => !isRunning(second), 'the end of the helper');
    const killed = await startServer({ config: tracing(collector.url) });
    const third = helperOf(killed.pid);
    assert.ok(isRunning(third));
    await killed.kill();
    await until(() => !isRunning(third), 'its end with a service that was killed');
    await collector.stop();
  });

  test('loses no span when another process takes over', async () => {
    const collector = await startCollector();
    const first = await startServer({ config: tracing(collector.url, 'sample_ratio = 1.0\n'), management: '127.0.0.1:0' });
    const { key } = await first.makeKey();
    const ask = async (server) => { for (let i = 0; i < 10; i += 1) assertStatus(await server.ask('GET', '/api/v1/users', { key }), 200); };
    await ask(first);
    const second = await first.again({ args: ['--take-over'] });
    await ask(second);
    assert.deepEqual(await first.exited, { code: 0, signal: null }, first.stderr);
    // A helper may send those again whose answer did not come.
    await until(() => new Set(listSpans(collector).map(({ spanId }) => spanId)).size === 20, 'spans of both');
    assert.equal(new Set(collector.resources.map((each) => each['service.instance.id'])).size, 2);
    await second.stop();
    await collector.stop();
  });

  test('is off by default: no helper, no metrics', async () => {
    const server = await startServer({ management: '127.0.0.1:0' });
    assert.ok(!(await pageOf(server)).includes('latchkey_trace_'));
    assert.equal(helperOf(server.pid), undefined);
    await server.stop();
    for (const [setting, value] of [['endpoint', '"ftp://x"'], ['sample_ratio', '1.5'], ['sample_ratio', '"all"']]) {
      const file = path.join(temporaryFolder(), 'latchkey.toml');
      fs.writeFileSync(file, `[tracing]\n${setting} = ${value}\n`);
      const refused = await command('config', 'show', '--config', file);
      assert.equal(refused.code, 78);
      assert.match(refused.stderr, new RegExp(`tracing\\.${setting} must`));
    }
  });
});
