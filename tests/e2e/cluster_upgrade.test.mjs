// Nodes are upgraded one by one, under writes, to a program whose rows may have the next schema (next_row_schema.cpp): until
// `latchkey cluster upgrade` both versions read what the other writes, after it the older one refuses.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Cluster, postsOf } from './cluster_harness.mjs';
import { Load } from './cluster_load.mjs';
import { Postgres } from './cluster_postgres.mjs';
import { assertStatus, binary, newUser, sleep, temporaryFolder } from './harness.mjs';

const postgres = await Postgres.begin();
after(() => postgres.stop());

// The next version as it would be installed: beside its helper.
function installNext() {
  const build = path.join(path.dirname(binary), '..');
  const folder = temporaryFolder();
  fs.copyFileSync(path.join(build, 'tests/e2e/latchkey-next'), path.join(folder, 'latchkey'));
  fs.symlinkSync(path.join(build, 'src/replicate/latchkey-replicate'), path.join(folder, 'latchkey-replicate'));
  return path.join(folder, 'latchkey');
}

async function replace(node, program) {
  const { server } = node;
  node.server = null; // no more is sent to it
  node.closeClients();
  await server.stop();
  node.program = program;
  await node.start();
}

const schemasOf = async (cluster) => (await postgres.ask(cluster.database, 'SELECT DISTINCT schema FROM latchkey_log ORDER BY 1')).trim().split('\n').map(Number);

describe('three nodes that are upgraded one by one', () => {
  let cluster, one, two, three, next, old;
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 3 });
    [one, two, three] = cluster.nodes;
    next = installNext();
    [old] = await schemasOf(cluster);
  });
  after(() => cluster.stop());

  test('write on, lose nothing and read what the others write, also where one goes back', async (t) => {
    const load = new Load(cluster);
    await load.prepare();
    load.begin();
    await replace(one, next);
    await replace(two, next);
    assertStatus(await three.ask('POST', '/users', { body: newUser() }), 201);
    assert.match((await one.command('cluster', 'upgrade')).stderr, /nodes of an older version are there: three/);
    await replace(two, binary);
    await replace(two, next);
    await replace(three, next);
    await sleep(300);
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
    await sleep(300);
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
