// Checks every response against the OpenAPI document of the server under test: its status is one of the operation's, its
// header fields are documented and required ones are there, its body matches the schema and has no further members.
// harness.mjs reads the document when a server accepts; wire.mjs checks each response.
//
// A response outside of the operations (another method, an unknown path, no request) must be a problem document, unless it
// is a page or a part of one.

import assert from 'node:assert/strict';
import zlib from 'node:zlib';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// Fields of the framing, which OpenAPI leaves out.
const framing = new Set(['date', 'content-type', 'content-length', 'connection']);
// Codes of responses outside of the operations.
const outside = new Set(['route_not_found', 'method_not_allowed', 'method_not_implemented', 'http_version_not_supported',
  'malformed_request']);
// Parts of pages, which OpenAPI leaves out.
const pagePart = /^\/(?:$|favicon\.ico$|assets\/|docs\/|console$)/;
const prefix = '/api/v1';

export class Contract {
  constructor(document) {
    this.document = document;
    this.ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, inlineRefs: false });
    addFormats(this.ajv);
    this.ajv.addSchema(closed(document), 'openapi');
    // A path with a server of its own is below that server's path.
    const serverPath = (item) => (item.servers ? item.servers[0].url.replace(/^[a-z]+:\/\/[^/]*/, '') : '');
    this.paths = Object.entries(document.paths).map(([pattern, item]) => ({
      pattern,
      item,
      form: new RegExp(`^${(serverPath(item) + pattern).split('/').map((part) => (part.startsWith('{') ? '[^/]+' : escaped(part))).join('/')}$`),
    })).sort((a, b) => variables(a.pattern) - variables(b.pattern));
  }

  // {pattern, method, operation}; without `operation` where the path has no such method, nothing where there is no path.
  find(method, target) {
    let path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '').replace(/\?.*$/s, '');
    if (/^\/(users|posts)(\/|$)|^\/events\/[^/]+$/.test(path)) path = prefix + path;
    const name = method.toLowerCase();
    const fitting = this.paths.filter(({ form }) => form.test(path));
    const entry = fitting.find(({ item }) => item[name === 'head' ? 'get' : name]) ?? fitting[0];
    if (!entry) return {};
    const any = entry.item.get?.operationId === 'authorize'; // OpenAPI knows only so many methods
    const used = (name === 'head' || any) && !entry.item[name] ? 'get' : name;
    return { pattern: entry.pattern, method: used, operation: ['parameters', 'servers'].includes(used) ? undefined : entry.item[used] };
  }

  // `request` is {method, target}, or null where what was sent was no request.
  check(request, { status, headers, body, method }) {
    const { pattern, method: used, operation } = request ? this.find(request.method, request.target) : {};
    const label = request ? `${request.method} ${request.target.slice(0, 200)} → ${status}` : `an answer ${status}`;
    const isPage = /^\/(?:docs|problems)\//.test(request?.target) && (headers.get('content-type') ?? '').startsWith('text/html');
    const code = status >= 400 && body.length > 0 && !isPage ? JSON.parse(body).code : null;
    if (!operation) {
      const options = status === 204 && request?.method === 'OPTIONS';
      assert.ok(status >= 400 || options || request === null || pagePart.test(request.target), `${label}: only an operation succeeds`);
      if (code !== null) this.fits('openapi#/components/schemas/Problem', JSON.parse(body), label);
      return;
    }
    if (code !== null && outside.has(code) && !operation.responses[status]) return;
    let place = `/paths/${pointer(pattern)}/${used}/responses/${status}`;
    let response = operation.responses[status];
    assert.ok(response, `${label}: ${operation.operationId} has no such status`);
    if (response.$ref) {
      place = response.$ref.slice(1);
      response = this.at(place);
    }
    this.checkFields(response, headers, label);
    this.checkBody(place, response, { headers, body, method }, label);
  }

  checkFields(response, headers, title) {
    const documented = new Map(Object.entries(response.headers ?? {}).map(([name, node]) => [name.toLowerCase(), this.resolved(node)]));
    for (const [name, node] of documented) {
      if (node.required) assert.ok(headers.has(name), `${title}: the field ${name} is required`);
      if (!headers.has(name)) continue;
      const text = headers.get(name);
      const value = node.schema.type === 'integer' && /^[0-9]+$/.test(text) ? Number(text) : text;
      const validate = this.ajv.compile(node.schema);
      assert.ok(validate(value), `${title}: ${name}: ${text}: ${this.ajv.errorsText(validate.errors)}`);
    }
    for (const [name] of headers.fields) {
      const plain = name.toLowerCase();
      assert.ok(documented.has(plain) || framing.has(plain), `${title}: the field ${name} is not documented`);
    }
  }

  checkBody(place, response, { headers, body, method }, description) {
    if (method === 'HEAD' || headers.get('x-auth-status') !== null) return;
    if (!response.content) {
      assert.equal(body.length, 0, `${description}: content that is not documented`);
      return;
    }
    const type = (headers.get('content-type') ?? '').replace(/;.*/, '');
    const content = response.content[type];
    assert.ok(content, `${description}: the type ${type} is not documented`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(headers.get('content-encoding') === 'gzip' ? zlib.gunzipSync(body) : body);
    this.fits(`openapi#${place}/content/${pointer(type)}/schema`, type === 'text/html' ? text : JSON.parse(text), description);
  }

  fits(schema, value, label) {
    const validate = this.ajv.getSchema(schema);
    assert.ok(validate, `there is a schema at ${schema}`);
    if (validate(value)) return;
    assert.fail(`${label}: ${this.ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 1000)}`);
  }

  resolved(node) {
    return node.$ref ? this.at(node.$ref.slice(1)) : node;
  }
  at(place) {
    return place.slice(1).split('/').reduce((node, part) => node[part.replaceAll('~1', '/').replaceAll('~0', '~')], this.document);
  }
}

const pointer = (text) => text.replaceAll('~', '~0').replaceAll('/', '~1');
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const variables = (pattern) => pattern.split('{').length;

// A copy of the schema that is closed to further members. Clients must accept new members, but the tests must notice an
// undocumented one.
function closed(document) {
  const copy = structuredClone(document);
  const close = (node) => {
    if (Array.isArray(node)) return node.forEach(close);
    if (node === null || typeof node !== 'object') return undefined;
    Object.values(node).forEach(close);
    if (node.allOf || (node.type === 'object' && node.properties && !('additionalProperties' in node))) node.unevaluatedProperties = false;
    return undefined;
  };
  close(copy);
  delete copy.components.schemas.Problem.unevaluatedProperties; // it is narrowed by allOf, and closed there
  return copy;
}

// Follows the bytes that a client sends and lists their requests in order: {method, target}. After bytes that are not HTTP
// it is `lost` and lists nothing more.
export class RequestFollower {
  constructor() {
    this.rest = Buffer.alloc(0);
    this.skip = 0; // bytes of a body
    this.lost = false;
    this.requests = [];
  }

  feed(bytes) {
    if (this.lost) return;
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    while (this.step());
  }

  next() {
    return this.requests.shift() ?? null;
  }

  step() {
    if (this.skip === 'chunks') return this.chunk();
    const skipped = Math.min(this.skip, this.rest.length);
    this.rest = this.rest.subarray(skipped);
    this.skip -= skipped;
    while (this.skip === 0 && this.rest.length >= 2 && this.rest[0] === 13 && this.rest[1] === 10) this.rest = this.rest.subarray(2);
    const end = this.rest.indexOf('\r\n\r\n');
    if (this.skip > 0 || end < 0) return false;
    const head = this.rest.subarray(0, end + 2).toString('latin1');
    const line = /^([A-Z]+) (\S+) HTTP\/1\.[01]\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*\r\n)*$/.exec(head);
    if (!line) return this.lose();
    this.rest = this.rest.subarray(end + 4);
    this.requests.push({ method: line[1], target: line[2] });
    const length = /\r\nContent-Length:[ \t]*([0-9]+)[ \t]*\r\n/i.exec(head);
    this.skip = /\r\nTransfer-Encoding:[ \t]*chunked[ \t]*\r\n/i.test(head) ? 'chunks' : Number(length?.[1] ?? 0);
    return true;
  }

  chunk() {
    const end = this.rest.indexOf('\r\n');
    if (end < 0) return false;
    const size = /^([0-9a-fA-F]+)(;.*)?$/s.exec(this.rest.subarray(0, end).toString('latin1'));
    if (!size) return this.lose();
    const length = parseInt(size[1], 16);
    if (length > 0) {
      if (this.rest.length < end + 2 + length + 2) return false;
      this.rest = this.rest.subarray(end + 2 + length + 2);
      return true;
    }
    const last = this.rest.indexOf('\r\n\r\n', end);
    if (last < 0) return false;
    this.rest = this.rest.subarray(last + 4);
    this.skip = 0;
    return true;
  }

  lose() {
    this.lost = true;
    return false;
  }
}
