// Bearer tokens over a cluster (docs/api.md §15, §19): records of kind jwt come once every node can read them, and one that was
// made on one node admits its tokens on the others until it is turned off, also where the token is remembered.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as jose from 'jose';
import { Cluster, installVersion, until } from '../helpers/cluster_harness.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { assertStatus, binary, message, temporaryFolder } from '../helpers/harness.mjs';

const issuer = 'https://id.example.org';
const { privateKey, publicKey } = await jose.generateKeyPair('ES256', { extractable: true });
const jwks = path.join(temporaryFolder(), 'jwks.json');
fs.writeFileSync(jwks, JSON.stringify({ keys: [{ ...await jose.exportJWK(publicKey), kid: '1', alg: 'ES256' }] }), { mode: 0o644 });
const settings = `[[jwt]]\nissuer = "${issuer}"\naudience = "latchkey"\njwks = ${JSON.stringify(jwks)}\n`;

const sign = (claims) => new jose.SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: '1' })
  .setIssuer(issuer).setAudience('latchkey').setIssuedAt().setExpirationTime('5m').sign(privateKey);
const bearer = (token) => ({ Authorization: `Bearer ${token}` });

describe('a cluster of two nodes that were of an older version', () => {
  let postgres, cluster, one, two;
  before(async () => {
    postgres = await Postgres.begin();
    cluster = await Cluster.begin(postgres, { names: ['one', 'two'], settings, program: installVersion('previous') });
    [one, two] = cluster.nodes;
    for (const each of cluster.nodes) await each.replace(binary);
  });
  after(async () => {
    await cluster?.stop();
    await postgres?.stop();
  });

  const create = (node, subject) => node.ask('POST', '/keys', { body: { name: subject, kind: 'jwt', issuer, subject, scopes: ['users:read'], rate_limits: [] } });
  const read = (node, token) => node.ask('GET', '/users?limit=1', { key: undefined, headers: bearer(token) });

  test('has no records for tokens until it is upgraded', async () => {
    const refused = await create(one, 'early');
    assertStatus(refused, 503, 'behind');
    assert.match(refused.json.detail, /latchkey cluster upgrade/);
    assert.ok(refused.headers.has('retry-after'));
    const outcome = await one.command('keys', 'create', '--name', 'early', '--jwt-issuer', issuer, '--jwt-subject', 'early', '--scope', 'users:read');
    assert.notEqual(outcome.code, 0);
    assertStatus(await read(one, await sign({ sub: 'early' })), 401, 'key_invalid');
    // Nor has it keys with a scope that the older version does not know.
    const verifier = () => one.ask('POST', '/keys', { body: { name: 'verifier', scopes: ['keys:verify_all'], rate_limits: [] } });
    assertStatus(await verifier(), 503, 'behind');
    await two.done('cluster', 'upgrade');
    await until(async () => (await create(one, 'early')).status === 201, 'the first node hears of it', 2000);
    assertStatus(await verifier(), 201);
    await cluster.assertEqual();
  });

  test('admits on one node the token of a record that the other one made, until that is off', async () => {
    for (const [maker, other] of [[one, two], [two, one]]) {
      const subject = `job-${maker.name}`;
      const token = await sign({ sub: subject, jti: 'remembered' });
      assertStatus(await read(other, token), 401, 'key_invalid');
      const record = await create(maker, subject);
      assertStatus(record, 201);
      // Every worker of the other node may remember it.
      const wires = await Promise.all(Array.from({ length: 8 }, () => other.server.connect({ scheme: 'http' })));
      const askAll = async (status) => {
        for (const wire of wires) {
          await wire.send(message('GET', '/api/v1/users?limit=1', { headers: bearer(token) }));
          assert.equal((await wire.response()).status, status);
        }
      };
      await askAll(200);
      await askAll(200);
      assertStatus(await maker.ask('POST', `/keys/${record.json.id}/deactivate`), 200);
      await askAll(403);
      assertStatus(await read(other, token), 403, 'key_deactivated');
      assertStatus(await read(other, await sign({ sub: subject, jti: 'fresh' })), 403, 'key_deactivated');
      assertStatus(await other.ask('POST', `/keys/${record.json.id}/reactivate`), 200);
      assertStatus(await read(maker, token), 200);
      await askAll(200);
      for (const wire of wires) wire.close();
    }
  });
});
