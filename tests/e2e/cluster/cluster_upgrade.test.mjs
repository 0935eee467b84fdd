// Nodes are upgraded one by one, under writes, to a program whose rows may have the next schema (other_row_schema.cpp): until
// `latchkey cluster upgrade` both versions read what the other writes, after it the older one refuses.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Cluster, installVersion, postsOf } from '../helpers/cluster_harness.mjs';
import { Load } from '../helpers/cluster_load.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { assertStatus, binary, newUser } from '../helpers/harness.mjs';

const postgres = await Postgres.begin();
after(() => postgres.stop());

const schemasOf = async (cluster) => (await postgres.ask(cluster.database, 'SELECT DISTINCT schema FROM latchkey_log ORDER BY 1')).trim().split('\n').map(Number);

describe('three nodes that are upgraded one by one', () => {
  let cluster, one, two, three, next, old;
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 3 });
    [one, two, three] = cluster.nodes;
    next = installVersion('next');
    [old] = await schemasOf(cluster);
  });
  after(() => cluster.stop());

  test('write on, lose nothing and read what the others write, also where one goes back', async (t) => {
    const load = new Load(cluster);
    await load.prepare();
    load.begin();
    await one.replace(next);
    await two.replace(next);
    assertStatus(await three.ask('POST', '/users', { body: newUser() }), 201);
    assert.match((await one.command('cluster', 'upgrade')).stderr, /nodes of an older version are there: three/);
    await two.replace(binary);
    await two.replace(next);
    await three.replace(next);
    await load.goesOn();
    await load.end();
    load.check(postsOf(await cluster.assertEqual()));
    t.diagnostic(load.summary());
    assert.deepEqual(await schemasOf(cluster), [old]);
    assert.deepEqual((await one.status()).nodes.map((each) => each.schema), [old + 1, old + 1, old + 1]);
  });

  test('use the next schema once they are told to, under writes', async () => {
    const load = new Load(cluster);
    await load.prepare();
    load.begin();
    await two.done('cluster', 'upgrade');
    await two.done('cluster', 'upgrade');
    await load.goesOn();
    await load.end();
    load.check(postsOf(await cluster.assertEqual()));
    const [last] = (await schemasOf(cluster)).reverse();
    assert.equal(last, old + 1);
  });

  test('refuse one that goes back after that, and a new one of the old version', async () => {
    const { server } = three;
    three.server = null;
    three.closeClients();
    await server.stop();
    three.program = binary;
    await assert.rejects(three.start(), /newer version of latchkey.*upgrade this node/s);
    const four = cluster.addNode('four');
    four.takeMasterKey(one);
    await assert.rejects(four.start(), /newer version of latchkey.*upgrade this node/s);
    cluster.nodes.pop();
    three.program = next;
    fs.rmSync(three.data, { recursive: true });
    fs.mkdirSync(three.data, { mode: 0o700 });
    three.takeMasterKey(one);
    await three.start();
    await cluster.assertEqual();
  });
});
