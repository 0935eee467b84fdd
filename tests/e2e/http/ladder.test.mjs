// No byte of a client ends the service. Every parameter, header field and member of a body that the OpenAPI document of the
// binary names, and the fields that it leaves out, is sent with a ladder of lengths, of characters and of numbers at each
// bound, accepted or refused, alone and in pairs. Each request is answered, with a status that the document lists for its
// operation, and never with 500.
//
// Query parameters climb the whole ladder of lengths; of everything else a sample is drawn. E2E_SEED draws the same one
// again, E2E_LADDER is its size (`long`: 250,000, which takes E2E_FILE_SECONDS=3600 or so).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { drawn, newUser, overHttp2, random, seed, startServer } from '../helpers/harness.mjs';

const isLong = process.env.E2E_LADDER === 'long';
const sampleSize = isLong ? 250_000 : Number(process.env.E2E_LADDER ?? 2_500);
const laneCount = 8;

const range = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const lengths = [0, 1, 2, 4, 8, 9, ...range(32, 34), ...range(63, 66), ...range(100, 102), ...range(200, 400), ...range(511, 514),
  ...range(1023, 1026), ...range(2047, 2049), ...range(4095, 4097), ...range(65534, 65537)];
const limits = { line: 8192, section: 16384, body: 1 << 20, event: 256 << 10, block: 65536 };
const edges = [-2, -1, 0, 1]; // around the largest that is let through

const numbers = ['0', '-0', '-1', '1', '1.5', '1.0', '1e2', '2147483647', '2147483648', '4294967295', '4294967296', '9007199254740991',
  '9007199254740992', '9223372036854775807', '9223372036854775808', '18446744073709551615', '18446744073709551616', '1e308', '1e400'];
const words = ['null', 'true', '[]', '{}', '""', '[[]]', '{"a":{}}', '[null]'];
const texts = ['1969-12-31T23:59:59Z', '9999-12-31T23:59:59.999-23:59', '0000-01-01T00:00:00+23:59', '2030-02-30T00:00:00Z', '::', '0.0.0.0/0', '::/0',
  '::ffff:1.2.3.4', '1.2.3.4/33', 'latest', '*', '*,*', '-id', 'W/"a"', '"a"', 'events:write:a', 'Bearer ', '/', '/%', '//', '/a?b'];
const escapes = ['a', '0', '-', '%00', '%0A', '%20', '+', '%22', '%25', '%2F', '%C3%A9', '%E2%80%AE', '%F0%9F%98%80', '%FF', '%', ',', ':', '*', '='];
const fieldFills = ['a', '0', '-', '"', ',', ';', '=', '*', ':', '%', '\xe9', 'a ', 'a\t', '",', '="'];
const bodyFills = ['a', '0', '-', ' ', '\0', '\n', '"', '\\', '\x7f', 'é', '\u202e', '\ufeff', '😀', '\ud800', 'a.', 'a@', '::'];
// Fields of requests that the document leaves out, since they belong to HTTP, to a security scheme or to a proxy.
const otherFields = ['Accept', 'Accept-Encoding', 'Authorization', 'X-API-Key', 'Content-Type', 'Content-Encoding', 'Cookie', 'User-Agent', 'Host',
  'Origin', 'Sec-Fetch-Site', 'X-Forwarded-For', 'X-Forwarded-Proto', 'Forwarded', 'Consistency-Token', 'tracestate', 'Priority', 'Range',
  'webhook-id', 'webhook-timestamp', 'webhook-signature', 'X-Hub-Signature-256', 'X-GitHub-Delivery', 'Stripe-Signature', 'X-Unknown'];

let server;
let admin; // a key with all scopes
let operations;
let sites;
const counts = new Map(); // by status

before(async () => {
  server = await startServer({ listen: ['http://127.0.0.1:0'], config: '[auth]\nfailures_per_minute = 0\n[webhooks]\nallow_private = ["127.0.0.0/8"]\n' });
  // Ids that are drawn as numbers (1, and the bounds of the schema beside it) are not of the key that asks.
  for (let i = 0; i < 3; i += 1) await server.makeKey();
  admin = (await server.makeKey()).key;
  operations = [...operationsOf(server.contract)];
  sites = operations.flatMap(({ places }) => places);
});
after(() => server.stop());

// ---- what there is to send

function* operationsOf(contract) {
  for (const { pattern, item } of contract.paths) {
    for (const method of ['get', 'head', 'post', 'put', 'patch', 'delete', 'options']) {
      const described = item[method];
      if (!described) continue;
      const parameters = [...(item.parameters ?? []), ...(described.parameters ?? [])].map((each) => contract.resolved(each));
      const content = described.requestBody ? contract.resolved(described.requestBody).content : { none: null };
      for (const [type, body] of Object.entries(content)) {
        const operation = { name: `${method.toUpperCase()} ${pattern}`, method: method.toUpperCase(), pattern, type };
        const schema = body && contract.resolved(body.schema);
        operation.body = schema && schema.examples[0];
        const fields = [...parameters.filter((each) => each.in === 'header').map(({ name }) => name), ...otherFields];
        operation.places = [
          ...parameters.filter((each) => each.in !== 'header').map((each) => ({ operation, kind: each.in, name: each.name, schema: each.schema })),
          ...fields.map((name) => ({ operation, kind: 'header', name, schema: {} })),
          ...(schema ? membersOf(contract, operation, schema) : []),
        ];
        yield operation;
      }
    }
  }
}

// The members of a body, of its objects and of the elements of its lists; and one of each object that takes any.
function* membersOf(contract, operation, schema, route = []) {
  const member = (name, inner) => ({ operation, kind: 'body', name: [...route, name].join('.'), route: [...route, name], schema: inner });
  for (const [name, node] of Object.entries(schema.properties ?? {})) {
    const inner = contract.resolved(node);
    yield member(name, inner);
    if (inner.items) {
      const items = contract.resolved(inner.items);
      yield { ...member(name, items), route: [...route, name, 0] };
      yield* membersOf(contract, operation, items, [...route, name, 0]);
    }
    yield* membersOf(contract, operation, inner, [...route, name]);
  }
  if (schema.additionalProperties) yield member('text', { type: 'string' });
}

// ---- what is sent there: {text, fill} of a length, {raw} as it is, {list} or {members} so often, {edge} of all that may be sent

const fillsOf = ({ kind }) => ({ header: fieldFills, body: bodyFills }[kind] ?? escapes);
function boundsOf({ schema }) {
  const { minimum, maximum, minLength, maxLength } = schema;
  return {
    numbers: [minimum, maximum].filter(Number.isFinite).flatMap((bound) => [-1, 0, 1].map((step) => String(BigInt(bound) + BigInt(step)))),
    lengths: [minLength, maxLength].filter(Number.isFinite).flatMap((bound) => range(Math.max(0, bound - 1), bound + 1)),
  };
}

function drawnValue(site) {
  const bounds = boundsOf(site);
  const dice = random();
  if (dice < 0.5) return { text: drawn(lengths), fill: random() < 0.5 ? 'a' : drawn(fillsOf(site)) };
  if (dice < 0.6) return { text: drawn(bounds.lengths.length ? bounds.lengths : lengths), fill: drawn(fillsOf(site)) };
  if (dice < 0.75) return { raw: drawn(bounds.numbers.length ? bounds.numbers : numbers) };
  if (dice < 0.8) return { raw: drawn(numbers) };
  if (dice < 0.86) return site.kind === 'body' ? { raw: JSON.stringify(drawn(site.schema.enum ?? texts)) } : { raw: drawn(site.schema.enum ?? texts) };
  if (dice < 0.93) return site.kind === 'body' ? { raw: drawn(words) } : { text: drawn([1, 2, 3]), fill: drawn(fillsOf(site)) };
  if (dice < 0.98) return site.kind === 'body' ? { [drawn(['list', 'members'])]: drawn([1, 2, 8, 9, 16, 17, 32, 33, 50, 51, 64, 65, 100, 101, 128, 129, 513]) } : { raw: '' };
  return { edge: drawn(edges) };
}

// Of one parameter, the whole ladder of lengths; in the long form of all else too.
function* ladderOf(site) {
  for (const text of [...lengths, ...boundsOf(site).lengths]) yield { text, fill: 'a' };
  for (const edge of edges) yield { edge };
  if (!isLong) return;
  for (const fill of escapes) for (const text of [1, 3, 65]) yield { text, fill };
  for (const raw of [...numbers, ...boundsOf(site).numbers, ...texts.map(encodeURIComponent)]) yield { raw };
}

// As long as sent: two of the longest still fit the frames that a header block may take.
const textOf = ({ text, fill, raw }) => raw ?? fill.repeat(Math.ceil(text / fill.length));

// The token of JSON for a value in the place of `example`.
function tokenOf({ text, fill, raw, list, members }, { name }, example) {
  if (raw !== undefined) return raw;
  if (list !== undefined) return JSON.stringify(Array.from({ length: list }, (_, i) => (Array.isArray(example) ? example[0] : i) ?? 'a'));
  if (members !== undefined) return JSON.stringify(Object.fromEntries(range(1, members).map((i) => [`m${i}`, 'a'])));
  const whole = fill.repeat(text);
  if (/(^|\.)email$/.test(name)) return JSON.stringify(`${whole}@example.org`);
  if (/(^|\.)url$/.test(name)) return JSON.stringify(`https://127.0.0.1:9/${whole}`);
  return JSON.stringify(whole);
}

// One lane has things of its own, so that what another one deletes is there.
class Lane {
  async prepare(key) {
    this.api = server.client(key, { scheme: 'http' });
    this.spare = server.client(null, { scheme: 'http' });
    this.ids = {};
    for (const kind of ['users', 'posts', 'keys', 'webhooks', 'events', 'spare']) await this.renew(kind);
    return this;
  }

  async renew(kind) {
    const make = {
      users: () => this.api.create('/users', newUser()),
      posts: () => this.api.create('/posts', { user_id: this.ids.users, title: 'a post' }),
      keys: () => this.api.create('/keys', { name: 'a target', rate_limits: [] }),
      spare: () => this.api.create('/keys', { name: 'a caller', scopes: ['*'], rate_limits: [] }),
      webhooks: () => this.api.create('/webhooks', { url: 'https://127.0.0.1:9/', types: ['key.unused'] }),
      events: async () => (await this.api.post('/events/shop', { a: 1 }, { root: true })).json,
    };
    const made = await make[kind]();
    this.ids[kind] = made.id;
    if (kind === 'spare') this.spare.key = made.key;
  }

  // The request of an operation with `values` in their places.
  request(operation, values) {
    const { method, pattern, type } = operation;
    const kind = /^\/api\/v1\/([a-z]+)/.exec(pattern)?.[1];
    const path = { id: String(this.ids[kind]), event_source: 'shop', code: 'not_found' };
    const query = [];
    const headers = {};
    const tokens = [];
    let document = operation.body && structuredClone(operation.body);
    if (document?.url) document.url = 'https://127.0.0.1:9/';
    if (document?.user_id) document.user_id = this.ids.users;
    if (document?.email) document.email = newUser().email;
    for (const [site, value] of values) {
      if (site.kind === 'path') path[site.name] = textOf(value);
      if (site.kind === 'query') query.push(`${site.name}=${textOf(value)}`);
      if (site.kind === 'header') headers[site.name] = textOf(value);
      if (site.kind !== 'body') continue;
      const place = site.route.slice(0, -1).reduce((node, name, i) => {
        if (node[name] === null || typeof node[name] !== 'object') node[name] = typeof site.route[i + 1] === 'number' ? [] : {};
        return node[name];
      }, document);
      const name = site.route.at(-1);
      tokens.push(tokenOf(value, site, place[name]));
      place[name] = `@token${tokens.length - 1}@`;
    }
    const target = pattern.replace(/\{(\w+)\}/g, (_, name) => path[name]) + (query.length ? `?${query.join('&')}` : '');
    let body;
    if (type === 'application/x-www-form-urlencoded') {
      body = Object.entries(document).map(([name, value]) => `${name}=${String(value).replace(/@token(\d+)@/, (_, i) => encodeURIComponent(tokens[i]).slice(0, 60_000))}`).join('&');
    } else if (document) {
      body = JSON.stringify(document).replace(/"@token(\d+)@"/g, (_, i) => tokens[i]);
    }
    return { method, target, headers, body, type: body === undefined ? undefined : type };
  }

  // An edge is what is left of the line, of the section or of the body.
  sized(operation, values) {
    return values.map(([site, value]) => {
      if (value.edge === undefined) return [site, value];
      const blank = this.request(operation, values.map(([each, other]) => [each, each === site ? { text: 0, fill: 'a' } : other.edge === undefined ? other : { text: 0, fill: 'a' }]));
      const key = this.api.key.length;
      const used = {
        header: Object.entries({ Host: 'localhost', 'X-API-Key': 'x'.repeat(key), ...blank.headers }).reduce((sum, [name, text]) => sum + name.length + text.length + 4, 2),
        body: Buffer.byteLength(blank.body ?? ''),
      }[site.kind] ?? `${blank.method} ${blank.target} HTTP/1.1`.length;
      const most = { header: limits.section, body: operation.pattern.startsWith('/events') ? limits.event : limits.body }[site.kind] ?? limits.line;
      return [site, { text: Math.max(0, most - used + value.edge), fill: 'a' }];
    });
  }

  async send(operation, drawnValues) {
    const { method, target, headers, body, type } = this.request(operation, this.sized(operation, drawnValues));
    const own = operation.pattern.endsWith('/current/deactivate');
    const sent = (own ? this.spare : this.api).call(method, target, { root: true, headers, body, type });
    const answer = await sent.catch((error) => {
      if (!overHttp2 || !/code 11/.test(error.message) || longestBlock(target, headers) <= limits.block) throw error;
      return { status: 'calm' };
    });
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
    assert.notEqual(answer.status, 500);
    if (answer.status < 300 && method !== 'GET') await this.tidy(operation, answer, own);
  }

  // What was made goes, so that lists stay short; what has gone is made anew.
  async tidy({ method, pattern }, answer, own) {
    const kind = /^\/api\/v1\/([a-z]+)/.exec(pattern)?.[1];
    if (own) await this.renew('spare');
    else if (answer.status === 201 && ['users', 'posts', 'webhooks'].includes(kind) && !pattern.includes('{')) await this.api.delete(`/${kind}/${answer.json.id}`);
    else if (method === 'DELETE' && pattern === '/api/v1/users/{id}') { await this.renew('users'); await this.renew('posts'); }
    else if (kind in this.ids && (method === 'DELETE' || /\/(rotate|deactivate)$/.test(pattern))) await this.renew(kind);
  }

  close() {
    this.api.close();
    this.spare.close();
  }
}

// The size of a header block without compression, which may be the smallest: a connection does not outlive one beyond its limit.
const longestBlock = (target, headers) => Object.entries(headers).reduce((sum, [name, text]) => sum + name.length + text.length + 8, target.length + 256);

const shown = (values) => values.map(([{ kind, name }, value]) => `${kind} ${name} = ${JSON.stringify(value).slice(0, 100)}`).join(', ');

// Sends what `cases` yields, in some lanes, and tells which were not answered as they must.
async function sendAll(cases) {
  const wrong = new Map(); // by operation and reason, one example each
  const lanes = await Promise.all(range(1, laneCount).map(() => new Lane().prepare(admin)));
  await Promise.all(lanes.map(async (lane) => {
    for (const [operation, values] of cases) {
      if (wrong.size >= 10) break;
      try {
        await lane.send(operation, values);
      } catch (error) {
        const reason = `${operation.name}: ${error.message.slice(0, 500)}`;
        wrong.set(reason.replace(/\d+/g, '0'), `${reason} (${shown(values)})`);
      }
    }
    lane.close();
  }));
  assert.equal(server.child.exitCode ?? server.child.signalCode, null, `the service has ended: ${server.stderr.slice(-2000)}\n${[...wrong.values()].join('\n')}`);
  assert.deepEqual([...wrong.values()], [], `seed ${seed}`);
  assert.equal((await server.ask('GET', '/healthz', { scheme: 'http' })).status, 200);
}

test('every query parameter of every length is answered', { timeout: 3_600_000 }, async (t) => {
  function* cases() {
    const climbed = sites.filter(({ kind, operation }) => kind === 'query' && (operation.method === 'GET' || isLong));
    for (const site of climbed) for (const value of ladderOf(site)) yield [site.operation, [[site, value]]];
  }
  await sendAll(cases());
  t.diagnostic(`${[...counts.values()].reduce((a, b) => a + b, 0)} requests`);
});

test(`parameters, fields and members are answered, alone and in pairs`, { timeout: 3_600_000 }, async (t) => {
  counts.clear();
  function* cases() {
    for (let i = 0; i < sampleSize; ++i) {
      const operation = drawn(operations);
      const site = drawn(operation.places);
      const other = drawn(operation.places);
      const values = [[site, drawnValue(site)]];
      if (i % 2 === 1 && other.name !== site.name) values.push([other, drawnValue(other)]);
      yield [operation, values];
    }
  }
  await sendAll(cases());
  const statuses = [...counts].sort(([a], [b]) => a - b);
  t.diagnostic(statuses.map(([status, count]) => `${status}: ${count}`).join(', '));
  for (const status of [200, 400, 404, 422]) assert.ok(counts.has(status), `some are answered with ${status}`);
});
