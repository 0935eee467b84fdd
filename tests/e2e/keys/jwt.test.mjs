// JWTs as bearer tokens (docs/api.md §19), signed by jose, against the real program: every algorithm, tokens in the shape of
// Keycloak, Auth0 and Entra, reloads of keys, and what a token's record decides.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import * as jose from 'jose';
import { openStream } from '../helpers/event_stream.mjs';
import { connectHttp2 } from '../helpers/http2_wire.mjs';
import { searchMemory } from '../helpers/memory.mjs';
import { assertStatus, binary, command, message, newUser, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'];
const folder = temporaryFolder();
const data = path.join(folder, 'data');
const main = 'https://id.example.org';
const now = () => Math.floor(Date.now() / 1000);

// A key pair of an issuer; `members`: of the JWK beside its own.
async function makePair(alg, members = {}) {
  const pair = await jose.generateKeyPair(alg, { extractable: true, modulusLength: 2048, crv: alg === 'EdDSA' ? 'Ed25519' : undefined });
  const jwk = { ...await jose.exportJWK(pair.publicKey), kid: `${alg}-${Math.random().toString(36).slice(2, 8)}`, alg, use: 'sig', ...members };
  return { alg, jwk, privateKey: pair.privateKey };
}
// Written beside and renamed, as programs that renew such files do.
function writeKeys(file, ...pairs) {
  fs.writeFileSync(`${file}.new`, JSON.stringify({ keys: pairs.map(({ jwk }) => jwk) }), { mode: 0o644 });
  fs.renameSync(`${file}.new`, file);
}
function sign(pair, claims, header = {}) {
  const all = { iss: main, aud: 'latchkey', iat: now(), exp: now() + 300, ...claims };
  for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name];
  return new jose.SignJWT(all).setProtectedHeader({ alg: pair.alg, kid: pair.jwk.kid, typ: 'JWT', ...header }).sign(pair.privateKey);
}
const bearer = (token) => ({ Authorization: `Bearer ${token}` });

const pairs = await Promise.all(algorithms.map((alg) => makePair(alg)));
const [rsa] = pairs;
const mainFile = path.join(folder, 'jwks.json');
writeKeys(mainFile, ...pairs);

const providers = {
  keycloak: {
    issuer: 'https://sso.example.org/realms/shop', pair: await makePair('RS256'), audience: 'latchkey', settings: 'subject = "azp"', subject: 'billing-job',
    header: {},
    claims: () => ({ jti: 'a7c5ad2b-6c0e-4c1c-9a3e-4f3a3ce1c0de', aud: ['latchkey', 'account'], sub: 'f3b1c1d2-7a35-4d8e-9d3e-0a4b7c1f9e11', typ: 'Bearer',
      azp: 'billing-job', acr: '1', 'allowed-origins': ['/*'], realm_access: { roles: ['offline_access', 'uma_authorization'] },
      resource_access: { account: { roles: ['manage-account', 'view-profile'] } }, scope: 'email profile users:read', clientHost: '203.0.113.9',
      email_verified: false, preferred_username: 'service-account-billing-job', clientAddress: '203.0.113.9', client_id: 'billing-job' }),
  },
  auth0: {
    issuer: 'https://example.eu.auth0.com/', pair: await makePair('RS256', { x5t: 'abc' }), audience: 'https://api.example.org', settings: '',
    subject: 'Zm9vYmFyYmF6@clients', header: {},
    claims: () => ({ sub: 'Zm9vYmFyYmF6@clients', aud: 'https://api.example.org', azp: 'Zm9vYmFyYmF6', gty: 'client-credentials', scope: 'users:read',
      permissions: ['users:read'] }),
  },
  // Its JWKS names no algorithm, and calls the issuer of each key.
  entra: {
    issuer: 'https://login.microsoftonline.com/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0', pair: await makePair('RS256', { alg: undefined, x5t: 'nOo3Z', issuer: 'x' }),
    audience: '00001111-aaaa-2222-bbbb-3333cccc4444', settings: 'scopes = "scp"\nalgorithms = ["RS256"]', subject: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', header: {},
    claims: () => ({ aud: '00001111-aaaa-2222-bbbb-3333cccc4444', nbf: now() - 5, aio: 'E2ZgYHhxqJ3', azp: '11112222-bbbb-3333-cccc-4444dddd5555', azpacr: '1',
      name: 'Ada', oid: 'ebbbbbbb-0000-4444-bbbb-eeeeffffffff', preferred_username: 'ada@example.org', rh: '0.AAAA', scp: 'users:read openid',
      sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', tid: '8eaef023-2b34-4da1-9baa-8bc8c9d6a490', uti: 'fqiBqXLPj0eQa82S-IYFAA', ver: '2.0' }),
  },
};

const table = ({ issuer = main, audience = 'latchkey', file = mainFile, more = '' } = {}) => `
[[jwt]]
issuer = ${JSON.stringify(issuer)}
audience = ${JSON.stringify(audience)}
jwks = ${JSON.stringify(file)}
${more}
`;
for (const [name, provider] of Object.entries(providers)) {
  provider.file = path.join(folder, `${name}.json`);
  writeKeys(provider.file, provider.pair);
}
const allAlgorithms = `algorithms = ${JSON.stringify(algorithms)}`;
const config = (more = allAlgorithms) => table({ more })
  + Object.values(providers).map(({ issuer, audience, file, settings }) => table({ issuer, audience, file, more: settings })).join('');

const server = await startServer({ data, config: config() });
after(() => server.stop());
const { key: admin } = await server.makeKey({ name: 'admin' });
let count = 0;
async function makeRecord(subject = `job-${count += 1}`, { issuer = main, scopes = ['users:read'], limits = [], at = server } = {}) {
  const outcome = await command('keys', 'create', '--data', at.data, '--name', subject, '--jwt-issuer', issuer, '--jwt-subject', subject,
    ...scopes.flatMap((each) => ['--scope', each]), ...(limits.length ? limits.flatMap((each) => ['--limit', each]) : ['--unlimited']), '--json');
  assert.equal(outcome.code, 0, outcome.stderr);
  return JSON.parse(outcome.stdout);
}
const read = (token, { at = server, ...more } = {}) => at.ask('GET', '/api/v1/users', { headers: bearer(token), ...more });

async function reload(at, text) {
  const logOffset = at.stderr.length;
  if (text !== undefined) fs.writeFileSync(path.join(path.dirname(at.data), 'latchkey.toml'), text);
  at.child.kill('SIGHUP');
  for (let i = 0; i < 1000; i += 1) {
    const output = at.stderr.slice(logOffset);
    if (/(reloaded the configuration|nothing was reloaded).*\n/.test(output)) return output;
    await sleep(5);
  }
  throw new Error(`no word of the reload: ${at.stderr.slice(logOffset)}`);
}

describe('a token of jose', () => {
  for (const pair of pairs) {
    test(`with ${pair.alg} is accepted, and no other one`, async () => {
      const { id, subject } = await makeRecord();
      const token = await sign(pair, { sub: subject });
      for (let i = 0; i < 3; i += 1) {
        const answer = await server.ask('GET', '/api/v1/keys/current', { headers: bearer(token) });
        assertStatus(answer, 200);
        assert.equal(answer.json.id, id);
      }
      const [head, payload, signature] = token.split('.');
      const middle = Math.floor(signature.length / 2);
      const wrong = `${signature.slice(0, middle)}${signature[middle] === 'A' ? 'B' : 'A'}${signature.slice(middle + 1)}`;
      assertStatus(await read(`${head}.${payload}.${wrong}`, { from: '127.0.0.9' }), 401, 'token_invalid');
      const other = pairs.find(({ alg }) => alg !== pair.alg);
      assertStatus(await read(await sign({ ...pair, jwk: other.jwk }, { sub: subject }), { from: '127.0.0.9' }), 401, 'token_invalid');
    });
  }

  test('must not be signed by a secret, nor by nobody', async () => {
    const { subject } = await makeRecord();
    const claims = { iss: main, aud: 'latchkey', sub: subject, exp: now() + 300 };
    const secret = new TextEncoder().encode(await jose.exportSPKI(await jose.importJWK(rsa.jwk)));
    const symmetric = await new jose.SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: rsa.jwk.kid }).sign(secret);
    for (const token of [symmetric, new jose.UnsecuredJWT(claims).encode()]) {
      assertStatus(await read(token, { from: '127.0.0.10' }), 401, 'token_invalid');
    }
  });
});

describe('a token as it comes from', () => {
  for (const [name, provider] of Object.entries(providers)) {
    test(`${name} is that of its record, with the scopes that both have`, async () => {
      const { id } = await makeRecord(provider.subject, { issuer: provider.issuer, scopes: ['users:*', 'posts:read'] });
      const token = await sign(provider.pair, { iss: provider.issuer, ...provider.claims() }, provider.header);
      assertStatus(await read(token), 200);
      const gateway = await server.ask('GET', '/auth', { headers: bearer(token) });
      assertStatus(gateway, 200);
      assert.deepEqual([gateway.headers.get('x-auth-key-id'), gateway.headers.get('x-auth-scopes')], [String(id), 'users:read']);
      const writing = await server.ask('POST', '/api/v1/users', { headers: bearer(token), body: newUser() });
      assertStatus(writing, 403, 'insufficient_scope');
      const elsewhere = await sign(provider.pair, { iss: provider.issuer, ...provider.claims(), aud: 'another' }, provider.header);
      assertStatus(await read(elsewhere, { from: '127.0.0.11' }), 401, 'token_invalid');
    });
  }
});

describe('the record of a token', () => {
  test('turns it off at once, on every connection', async () => {
    const { id, subject } = await makeRecord();
    const token = await sign(rsa, { sub: subject });
    const wires = await Promise.all(Array.from({ length: 8 }, () => server.connect()));
    const askAll = async (status) => {
      for (const wire of wires) {
        await wire.send(message('GET', '/api/v1/users', { headers: bearer(token) }));
        assert.equal((await wire.response()).status, status);
      }
    };
    await askAll(200);
    assertStatus(await server.ask('POST', `/api/v1/keys/${id}/deactivate`, { key: admin }), 200);
    await askAll(403);
    assertStatus(await server.ask('POST', `/api/v1/keys/${id}/reactivate`, { key: admin }), 200);
    await askAll(200);
    for (const wire of wires) wire.close();
  });

  test('limits all of its tokens together', async () => {
    const { subject } = await makeRecord(undefined, { limits: ['minute=3/60'] });
    for (let i = 0; i < 3; i += 1) assertStatus(await read(await sign(rsa, { sub: subject, jti: String(i) })), 200);
    const refused = await read(await sign(rsa, { sub: subject, jti: 'more' }));
    assertStatus(refused, 429, 'rate_limited');
  });

  test('is what the log names, and the token is nowhere', async () => {
    const { id, subject } = await makeRecord();
    const token = await sign(rsa, { sub: subject });
    const requestId = 'jwt-log-00001';
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${token}`, { headers: { ...bearer(token), 'X-Request-Id': requestId } }), 200);
    let line;
    for (const limit = Date.now() + 5000; line === undefined && Date.now() < limit; await sleep(50)) {
      line = server.logLines().find((each) => each.request_id === requestId);
    }
    assert.deepEqual([line.key_id, line.key_source, line.path], [id, 'jwt', '/api/v1/users']);
    const log = fs.readFileSync(server.log, 'utf8');
    for (const part of token.split('.')) assert.ok(!log.includes(part) && !server.stderr.includes(part));
  });

  test('is missing for other subjects', async () => {
    const answer = await read(await sign(rsa, { sub: 'nobody' }), { from: '127.0.0.12' });
    assertStatus(answer, 401, 'key_invalid');
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="api", error="invalid_token"');
  });

  test('is imported, listed and shown by the command line, and not rotated', async () => {
    const file = path.join(folder, 'import.ndjson');
    fs.writeFileSync(file, `${JSON.stringify({ name: 'imported', kind: 'jwt', issuer: main, subject: 'imported-1', scopes: ['users:read'] })}\n`);
    assert.equal((await command('keys', 'import', '--data', data, file)).code, 0);
    assertStatus(await read(await sign(rsa, { sub: 'imported-1' })), 200);
    const again = await command('keys', 'import', '--data', data, file);
    assert.deepEqual([again.code, /nothing was made: 1 key was there already/.test(again.stderr)], [0, true], again.stderr);
    const listed = await command('keys', 'list', '--data', data);
    assert.match(listed.stdout, /\bactive +jwt imported-1 /);
    const { id } = JSON.parse((await command('keys', 'list', '--data', data, '--json')).stdout).data.find(({ subject }) => subject === 'imported-1');
    const rotated = await command('keys', 'rotate', '--data', data, String(id));
    assert.equal(rotated.code, 1);
    assert.match(rotated.stderr, /no secret/);
    assert.equal((await command('keys', 'create', '--data', data, '--name', 'x', '--jwt-issuer', main)).code, 2);
    const checked = await command('check', '--data', data);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
  });
});

describe('a token in time', () => {
  test('expires while it is remembered', async () => {
    const { subject } = await makeRecord();
    const token = await sign(rsa, { sub: subject, exp: now() - 1 }); // within the leeway of 5 s
    assertStatus(await read(token), 200);
    await sleep(5000); // the clock passes the leeway
    const answer = await read(token);
    assertStatus(answer, 401, 'token_expired');
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="api", error="invalid_token", error_description="The token has expired."');
  });

  test('is early or late by no more than the leeway', async () => {
    const { subject } = await makeRecord();
    const at = async (claims, status, code) => assertStatus(await read(await sign(rsa, { sub: subject, ...claims })), status, code);
    await at({ nbf: now() + 3 }, 200);
    await at({ iat: now() + 3 }, 200);
    await at({ nbf: now() + 30 }, 401, 'token_not_yet_valid');
    await at({ iat: now() + 30 }, 401, 'token_not_yet_valid');
    await at({ exp: now() - 10 }, 401, 'token_expired');
    await at({ exp: undefined }, 401, 'token_invalid');
  });
});

describe('a token', () => {
  test('comes in Authorization alone', async () => {
    const { subject } = await makeRecord(undefined, { scopes: ['users:*'] });
    const token = await sign(rsa, { sub: subject });
    assertStatus(await server.ask('GET', '/api/v1/users', { key: token, from: '127.0.0.13' }), 401, 'key_invalid');
    assertStatus(await server.ask('GET', `/api/v1/users?api_key=${token}`, { from: '127.0.0.13' }), 401, 'key_invalid');
    assertStatus(await server.ask('POST', '/api/v1/users', { body: { ...newUser(), api_key: token }, from: '127.0.0.13' }), 401, 'key_invalid');
    assertStatus(await server.ask('POST', '/api/v1/users', { body: newUser(), headers: bearer(token) }), 201);
  });

  test('has up to 8 KiB', async () => {
    const { subject } = await makeRecord();
    const ofSize = async (size) => {
      let largest;
      for (let filler = Math.floor(size * 0.75) - 500; ; filler += 1) {
        const token = await sign(rsa, { sub: subject, filler: 'x'.repeat(filler) });
        if (token.length > size) return largest;
        largest = token;
      }
    };
    const large = await ofSize(8192);
    assert.ok(large.length > 8185);
    for (let i = 0; i < 3; i += 1) assertStatus(await read(large), 200);
    assertStatus(await read(`${large}${'A'.repeat(8)}`, { from: '127.0.0.14' }), 401, 'token_invalid');
  });

  test('narrows nothing where no claim of scopes is configured', async () => {
    const own = temporaryFolder();
    const one = await startServer({ data: path.join(own, 'data'), config: table({ more: 'scopes = ""' }) });
    try {
      const { subject } = await makeRecord('job', { at: one });
      for (const claims of [{ scope: 'openid' }, { '': 'openid' }, { '': 1 }]) {
        assertStatus(await read(await sign(rsa, { sub: subject, ...claims }), { at: one }), 200);
      }
    } finally {
      await one.stop();
    }
  });

  test('begins no session of a browser', async () => {
    const { subject } = await makeRecord();
    assertStatus(await server.ask('POST', '/api/v1/session', { headers: bearer(await sign(rsa, { sub: subject })) }), 401, 'key_missing');
  });

  test('is verified and introspected for others', async () => {
    const { id, subject } = await makeRecord(undefined, { scopes: ['users:*'] });
    const token = await sign(rsa, { sub: subject, scope: 'users:read openid', exp: now() + 100 });
    const verdict = await server.ask('POST', '/api/v1/keys/verify', { key: admin, body: { key: token, scopes: ['users:read'] } });
    assert.deepEqual([verdict.json.valid, verdict.json.key_id, verdict.json.scopes], [true, id, ['users:read']]);
    const introspect = async (text) => {
      const answer = await server.ask('POST', '/api/v1/introspect', { key: admin, type: 'application/x-www-form-urlencoded', body: `token=${encodeURIComponent(text)}` });
      assertStatus(answer, 200);
      return answer.json;
    };
    const good = await introspect(token);
    assert.deepEqual({ ...good, iat: 0, exp: 0 }, { active: true, scope: 'users:read', client_id: String(id), token_type: 'Bearer', sub: subject, iss: main,
      aud: 'latchkey', iat: 0, exp: 0 });
    assert.ok(Math.abs(good.exp - now() - 100) < 5);
    assert.equal((await introspect(admin)).active, true);
    for (const text of [`${token}A`, 'x', await sign(rsa, { sub: 'nobody' }), await sign(rsa, { sub: subject, exp: now() - 60 })]) {
      assert.deepEqual(await introspect(text), { active: false });
    }
    assertStatus(await server.ask('POST', `/api/v1/keys/${id}/deactivate`, { key: admin }), 200);
    assert.deepEqual(await introspect(token), { active: false });
  });

  test('that is wrong ten thousand times takes nothing from others', async () => {
    const { subject } = await makeRecord();
    const good = await sign(rsa, { sub: subject });
    const wrong = `${good.slice(0, -8)}AAAAAAAA`;
    const flood = message('GET', '/api/v1/users', { headers: bearer(wrong) });
    let flooding = true;
    const floods = Array.from({ length: 4 }, async () => {
      const wire = await server.connect({ scheme: 'http', from: '127.0.0.15' });
      let sent = 0;
      while (flooding && sent < 2500) {
        await wire.send(Buffer.concat(Array.from({ length: 32 }, () => flood)));
        for (let i = 0; i < 32; i += 1) assert.ok([401, 429].includes((await wire.response()).status));
        sent += 32;
      }
      wire.close();
    });
    const client = await server.connect();
    for (let i = 0; i < 300; i += 1) {
      await client.send(message('GET', '/api/v1/users', { headers: bearer(good) }));
      assert.equal((await client.response()).status, 200);
    }
    client.close();
    flooding = false;
    await Promise.all(floods);
    assertStatus(await read(wrong, { from: '127.0.0.15', scheme: 'http' }), 429, 'too_many_auth_failures');
    assertStatus(await read(good, { from: '127.0.0.16', scheme: 'http' }), 200);
  });
});

// As of keys (secrets.test.mjs). Only root may read the memory of a confined process.
test('no token is in the memory of the idle service', async () => {
  const own = temporaryFolder();
  const one = await startServer({ data: path.join(own, 'data'), config: `confined = ${process.getuid() === 0}\n${table()}` });
  try {
    const { key } = await one.makeKey();
    const { subject } = await makeRecord('job', { at: one });
    const tokens = [];
    const next = async (claims) => tokens[tokens.push(await sign(rsa, { sub: subject, n: tokens.length, ...claims })) - 1];
    for (let i = 0; i < 20; i += 1) {
      const token = await next();
      for (const scheme of ['https', 'http']) for (let j = 0; j < 2; j += 1) assertStatus(await read(token, { at: one, scheme }), 200);
      assertStatus(await read(await next({ exp: 1 }), { at: one }), 401, 'token_expired');
      assertStatus(await one.ask('POST', '/api/v1/keys/verify', { key, body: { key: await next() } }), 200);
      assertStatus(await one.ask('POST', '/api/v1/introspect', { key, type: 'application/x-www-form-urlencoded', body: `token=${await next()}` }), 200);
      assertStatus(await one.ask('POST', '/api/v1/introspect', { key, body: { token: await next() } }), 200);
      const wire = await one.connectBy(connectHttp2);
      const last = await next();
      for (let j = 0; j < 3; j += 1) {
        await wire.send(message('GET', '/api/v1/users', { headers: bearer(last) }));
        assertStatus(await wire.response({ method: 'GET' }), 200);
      }
      wire.close();
    }
    await sleep(1500); // connections end, and what they held is freed
    const { hits, searched } = searchMemory(one.pid, tokens.map((token) => token.split('.')[2]));
    assert.ok(searched > 1 << 20, `${searched} bytes were searched`);
    assert.deepEqual(hits, []);
  } finally {
    await one.stop();
  }
});

describe('the keys of an issuer', () => {
  test('are exchanged by a reload, and the former ones go on until the next', async () => {
    const own = temporaryFolder();
    const file = path.join(own, 'jwks.json');
    const [first, second] = [await makePair('ES256'), await makePair('ES256')];
    writeKeys(file, first);
    const text = table({ file });
    const one = await startServer({ data: path.join(own, 'data'), config: text });
    try {
      const { subject } = await makeRecord('job', { at: one, scopes: ['users:read', 'changes:read'] });
      const old = await sign(first, { sub: subject });
      assertStatus(await read(old, { at: one }), 200);
      writeKeys(file, second);
      assert.match(await reload(one), /tokens of https:\/\/id\.example\.org are accepted: 1 keys/);
      assertStatus(await read(old, { at: one }), 200);
      assertStatus(await read(await sign(first, { sub: subject, jti: 'new, by the former key' }), { at: one }), 200);
      assertStatus(await read(await sign(second, { sub: subject }), { at: one }), 200);
      await reload(one);
      assertStatus(await read(old, { at: one }), 401, 'token_invalid');
      assertStatus(await read(await sign(second, { sub: subject }), { at: one }), 200);
      // Without the issuer a token is an unknown key, and what it began ends.
      const stream = await openStream(one, 'counts after the token', { headers: bearer(await sign(second, { sub: subject })) });
      assert.equal(stream.status, 200);
      await reload(one, '');
      await stream.until(() => stream.hasEnded);
      assertStatus(await read(await sign(second, { sub: subject }), { at: one }), 401, 'key_invalid');
      assert.match(await reload(one, text), /changed jwt/);
      assertStatus(await read(await sign(second, { sub: subject }), { at: one }), 200);
    } finally {
      await one.stop();
    }
  });

  test('are refused with the reason, at the start and by a reload', async () => {
    const own = temporaryFolder();
    const good = await makePair('ES256');
    const file = path.join(own, 'jwks.json');
    const weak = await jose.exportJWK((await import('node:crypto')).generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey);
    const privateJwk = { ...await jose.exportJWK((await jose.generateKeyPair('ES256', { extractable: true })).privateKey), kid: 'private' };
    const cases = [
      [JSON.stringify({ keys: [{ ...weak, kid: 'weak', alg: 'RS256' }] }), /jwks\.json: no key of the set.*keys\[0\] \(kid "weak"\).*1024/],
      [JSON.stringify({ keys: [privateJwk] }), /jwks\.json: no key of the set.*keys\[0\] \(kid "private"\).*private/],
      ['{"keys": []}', /jwks\.json/],
      ['not JSON', /jwks\.json/],
    ];
    writeKeys(file, good);
    const one = await startServer({ data: path.join(own, 'data'), config: table({ file }) });
    try {
      const { subject } = await makeRecord('job', { at: one });
      for (const [text, expected] of cases) {
        fs.writeFileSync(file, text);
        const output = await reload(one);
        assert.match(output, /nothing was reloaded and all stays as it was/);
        assert.match(output, expected);
        assertStatus(await read(await sign(good, { sub: subject }), { at: one }), 200);
      }
      // Beside one that can be used they are passed over, each with a line (RFC 7517 §5).
      fs.writeFileSync(file, JSON.stringify({ keys: [privateJwk, good.jwk, { ...weak, kid: 'weak', alg: 'RS256' }] }));
      const told = await reload(one);
      assert.match(told, /keys\[0\] \(kid "private"\) is a private key.*it is left out/);
      assert.match(told, /keys\[2\] \(kid "weak"\).*1024.*it is left out/);
      assert.match(told, /are accepted: 1 keys/);
      assertStatus(await read(await sign(good, { sub: subject }), { at: one }), 200);
      writeKeys(file, good);
      fs.chmodSync(file, 0o666);
      assert.match(await reload(one), /may be written by everyone/);
      const reasons = [
        [table({ file }).replace('audience = "latchkey"', ''), /jwt 'https:\/\/id\.example\.org': audience must be/],
        [table({ file, more: 'leeway_seconds = 61' }), /leeway_seconds must be from 0 to 60/],
        [table({ file, more: 'algorithms = ["HS256"]' }), /'HS256' is not one of/],
        [table({ file, more: 'subject = "email"' }), /subject must be sub, azp or client_id/],
        [table({ file, more: 'secret = "x"' }), /no setting 'jwt\.secret' \(line 6\)/],
        [table({ file }) + table({ file }), /the issuer is there twice/],
        [table({ file: path.join(own, 'absent.json') }), /absent\.json/],
        ['jwt = 1', /jwt is a list of tables/],
      ];
      for (const [text, expected] of reasons) assert.match(await reload(one, text), expected);
      // The same sentences when it starts, with the exit code of a wrong configuration.
      fs.chmodSync(file, 0o644);
      fs.writeFileSync(file, cases[0][0]);
      fs.writeFileSync(path.join(own, 'other.toml'), table({ file }));
      const child = spawn(binary, ['serve', '--data', path.join(own, 'other'), '--config', path.join(own, 'other.toml')], { stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (part) => { said += part; });
      const code = await new Promise((resolve) => { child.once('exit', resolve); });
      assert.equal(code, 78, said);
      assert.match(said, cases[0][1]);
    } finally {
      await one.stop();
    }
  });

  test('that are for something else are left out with a word', async () => {
    const own = temporaryFolder();
    const file = path.join(own, 'jwks.json');
    const good = await makePair('ES256');
    writeKeys(file, await makePair('ES256', { use: 'enc', kid: 'for-encryption' }), good);
    const one = await startServer({ data: path.join(own, 'data'), config: table({ file }) });
    try {
      assert.match(one.stderr, /warning.*keys\[0\] \(kid "for-encryption"\) is for "enc"/);
      const { subject } = await makeRecord('job', { at: one });
      assertStatus(await read(await sign(good, { sub: subject }), { at: one }), 200);
    } finally {
      await one.stop();
    }
  });

  test('are shown by config show', async () => {
    const file = path.join(folder, 'shown.toml');
    fs.writeFileSync(file, config());
    const shown = await command('config', 'show', '--config', file);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /\[\[jwt\]\]\nissuer = "https:\/\/id\.example\.org"\naudience = \["latchkey"\]\njwks = /);
    fs.writeFileSync(file, shown.stdout);
    assert.equal((await command('config', 'show', '--config', file)).stdout, shown.stdout, 'it can be used as a file');
  });
});
