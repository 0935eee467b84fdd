// Three nodes over one PostgreSQL are one service (docs/api.md §15): what one node has answered holds on the others, whoever
// asks first wins once, and a key that was turned off is refused everywhere from the answer on. And how nodes come and go.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Cluster, Node, consistent, postsOf, tokenOf, until } from '../helpers/cluster_harness.mjs';
import { Load } from '../helpers/cluster_load.mjs';
import { Postgres, signal } from '../helpers/cluster_postgres.mjs';
import { assertStatus, command, newUser, sleep, startServer, temporaryFolder } from '../helpers/harness.mjs';

const rounds = Number(process.env.E2E_ROUNDS ?? 40);
const postgres = await Postgres.begin();
const cluster = await Cluster.begin(postgres);
const [one, two, three] = cluster.nodes;
after(() => postgres.stop());

const others = (node) => [one, two, three].filter((each) => each !== node);
const nodeOf = (round) => [one, two, three][round % 3];
const count = (answers, status) => answers.filter((each) => each.status === status).length;

describe('what one node has answered', () => {
  test('is read on the others at once with its Consistency-Token', async () => {
    const clients = new Map([one, two, three].map((node) => [node, node.client()]));
    let last = 0;
    for (let round = 0; round < rounds; round += 1) {
      const node = nodeOf(round);
      const answer = await clients.get(node).post('/users', newUser());
      assertStatus(answer, 201);
      const token = tokenOf(answer);
      assert.ok(Number(token) > last, 'tokens ascend');
      last = Number(token);
      for (const each of others(node)) {
        const read = await clients.get(each).get(`/users/${answer.json.id}`, consistent(token));
        assertStatus(read, 200);
        assert.deepEqual(read.json, answer.json);
      }
    }
  });

  test('is read on the others soon without one', async (t) => {
    const [writer, reader] = [one.client(), two.client()];
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
      const user = await writer.create('/users', newUser());
      times.push(await until(async () => (await reader.get(`/users/${user.id}`)).status === 200, 'it is there', 1000));
    }
    t.diagnostic(`seen after ${times.sort((a, b) => a - b)[times.length >> 1]} ms, at most ${times.at(-1)} ms`);
  });

  test('is told from what was not yet written: a token of the future is 503 behind after a second, a malformed one 400', async () => {
    const client = two.client();
    const begin = performance.now();
    assertStatus(await client.get('/users?limit=1', consistent('1000000000')), 503, 'behind');
    const took = performance.now() - begin;
    assert.ok(took > 900 && took < 2000, `${took} ms`);
    for (const token of ['', '-1', '1.5', 'x', '99999999999999999999']) {
      assertStatus(await client.get('/users?limit=1', consistent(token)), 400, 'malformed_request');
    }
    assertStatus(await client.get('/users?limit=1', { headers: { 'Consistency-Token': ['1', '1'] } }), 400, 'malformed_request');
  });
});

describe('a race of three nodes', () => {
  const clients = [];
  before(() => clients.push(...[one, two, three].map((node) => node.client())));

  test('for an e-mail address has one winner', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const user = newUser();
      const answers = await Promise.all(clients.map((each) => each.post('/users', user)));
      assert.equal(count(answers, 201), 1, answers.map((each) => each.status).join());
      for (const each of answers) if (each.status !== 201) assertStatus(each, 409, 'email_taken');
    }
  });

  test('with If-Match has one winner, whose change is what is kept', async () => {
    const created = await clients[0].post('/users', newUser());
    assertStatus(created, 201);
    let [tag, token] = [created.headers.get('etag'), tokenOf(created)];
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(clients.map((each, i) => each.patch(`/users/${created.json.id}`, { name: `${round} by ${i}` },
        { headers: { 'If-Match': tag, 'Consistency-Token': token } })));
      const winners = answers.filter((each) => each.status === 200);
      assert.equal(winners.length, 1, answers.map((each) => each.status).join());
      for (const each of answers) if (each.status !== 200) assertStatus(each, 412, 'precondition_failed');
      [tag, token] = [winners[0].headers.get('etag'), tokenOf(winners[0])];
      for (const each of clients) {
        assert.deepEqual((await each.get(`/users/${created.json.id}`, consistent(token))).json, winners[0].json);
      }
    }
  });

  test('with one Idempotency-Key is carried out once, and all get its answer', async () => {
    const author = await clients[0].post('/users', newUser());
    const headers = (round) => ({ 'Idempotency-Key': `race-${round}`, 'Consistency-Token': tokenOf(author) });
    for (let round = 0; round < rounds; round += 1) {
      const body = { user_id: author.json.id, title: `race ${round}`, body: '' };
      const send = (client) => client.post('/posts', body, { headers: headers(round) });
      const answers = await Promise.all([...clients, ...clients].map(send)); // the second of a node waits for the first
      for (const each of answers) assertStatus(each, 201);
      assert.equal(new Set(answers.map((each) => each.json.id)).size, 1, 'one record');
      const fresh = answers.filter((each) => !each.headers.has('idempotency-replayed'));
      assert.equal(fresh.length, 1, 'the others are repeats');
    }
    const { data, pagination } = await clients[1].read(`/posts?author=${author.json.id}&limit=100`);
    assert.equal(pagination.total, rounds);
    assert.equal(new Set(data.map((each) => each.title)).size, rounds);
  });
});

// No standby has the name, so commits wait for it. One whose wait is cancelled is there, and a failover may still lose it.
test('a write whose wait for the standby was cancelled is answered once a standby may have it, and is there once', async () => {
  const ask = (text) => postgres.ask(cluster.database, text);
  const set = async (change) => {
    await ask(`ALTER SYSTEM ${change}`);
    await ask('SELECT pg_reload_conf()');
  };
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  const user = newUser();
  const read = async (node) => (await node.ask('GET', `/users?email=${encodeURIComponent(user.email)}`)).json.data.length;
  let answer = null, change;
  await set("SET synchronous_standby_names = 'nobody'");
  try {
    // The server takes the setting up some time after it was told to; a commit waits only from then on.
    for (let waits = false; !waits;) {
      let hasEnded = false;
      const probe = ask("SELECT pg_logical_emit_message(true, 'probe', '')").then(() => { hasEnded = true; });
      await until(async () => {
        waits = await ask(`SELECT count(*) ${waiting} AND query ~ 'probe'`) === '1';
        return waits || hasEnded;
      }, 'a commit ends or waits');
      await ask(`SELECT pg_cancel_backend(pid) ${waiting}`);
      await probe;
    }
    change = one.ask('POST', '/users', { body: user }).then((each) => { answer = each; });
    await until(async () => {
      await ask(`SELECT pg_cancel_backend(pid) ${waiting}`);
      return await read(two) === 1;
    }, 'the other node has it');
    await sleep(700); // nothing comes meanwhile
    assert.equal(answer, null, 'it was not answered');
  } finally {
    await set('RESET synchronous_standby_names');
  }
  await change;
  assertStatus(answer, 201);
  for (const node of cluster.nodes) assert.equal(await read(node), 1);
});

test('mixed writes on all three at the same time leave the same store everywhere', async (t) => {
  const load = new Load(cluster, { writersPerNode: 4 });
  await load.prepare();
  load.begin();
  await load.goesOn(500);
  await load.end();
  const exported = await cluster.assertEqual();
  load.check(postsOf(exported));
  const trails = await Promise.all(cluster.nodes.map((each) => each.done('audit', '--verify', '--json')));
  for (const each of trails) assert.equal(each, trails[0], 'one audit chain');
  t.diagnostic(load.summary());
});

describe('a key', () => {
  const makeKey = async (node, more = {}) => {
    const answer = await node.ask('POST', '/keys', { body: { name: 'short-lived', scopes: ['users:read'], rate_limits: [], ...more } });
    assertStatus(answer, 201);
    await Promise.all(others(node).map((each) => until(
      async () => (await each.ask('GET', '/users?limit=1', consistent(tokenOf(answer)))).status === 200, 'the key is known')));
    return answer.json;
  };

  // Uses the key on a node all the time, until it was refused often enough. What was sent after the answer must be refused.
  const hammer = async (node, key, state, code) => {
    const client = node.client(key);
    for (let refusals = 0; refusals < 3;) {
      const { answered } = state;
      const { status, json } = await client.get('/users?limit=1');
      if (status === 403) assert.equal(json.code, code);
      else assert.equal(status, 200);
      if (answered) assert.equal(status, 403, `${node.name} accepted the key after the answer`);
      if (answered) refusals += 1;
      state.requests += 1;
    }
    client.close();
  };

  const ways = [
    ['is deactivated', 'key_deactivated', (client, id) => client.post(`/keys/${id}/deactivate`, {}), 200],
    ['is deleted', 'key_deactivated', (client, id) => client.delete(`/keys/${id}`), 204],
    ['loses a scope', 'insufficient_scope', (client, id) => client.patch(`/keys/${id}`, { scopes: ['posts:read'] }), 200],
    ['is rotated without an overlap', 'key_deactivated', (client, id) => client.post(`/keys/${id}/rotate`, { overlap_seconds: 0 }), 201],
    ['may be used elsewhere only', 'ip_not_allowed', (client, id) => client.patch(`/keys/${id}`, { ip_allowlist: ['192.0.2.0/24'] }), 200],
  ];
  for (const [deed, code, turnOff, status] of ways) {
    test(`that ${deed} is refused by every node from the answer on`, async (t) => {
      const state = { requests: 0, answered: false };
      const times = [];
      for (let round = 0; round < Math.ceil(rounds / 4); round += 1) {
        const node = nodeOf(round);
        const { id, key } = await makeKey(node);
        state.answered = false;
        const hammers = [...others(node), ...others(node), node].map((each) => hammer(each, key, state, code));
        await until(() => state.requests >= hammers.length, 'all of them ask');
        const begin = performance.now();
        const answer = await turnOff(node.client(), id);
        state.answered = true;
        times.push(performance.now() - begin);
        assertStatus(answer, status);
        await Promise.all(hammers);
        node.closeClients();
      }
      times.sort((a, b) => a - b);
      t.diagnostic(`answered after ${times[times.length >> 1].toFixed(1)} ms, at most ${times.at(-1).toFixed(1)} ms, under ${state.requests} requests`);
    });
  }

  test('whose sessions end has none at any node from the answer on, which waits for nodes that have not heard of it', async () => {
    const { key } = await makeKey(one);
    const login = await one.ask('POST', '/session', { key });
    assertStatus(login, 200);
    const headers = { Cookie: login.headers.get('set-cookie').replace(/;.*/, ''), 'Sec-Fetch-Site': 'same-origin' };
    const read = (node) => node.ask('GET', '/users?limit=1', { key: undefined, headers });
    await until(async () => (await read(two)).status === 200, 'the key is known there');
    const { helper } = two.processes();
    let answer = null, change;
    signal(helper, 'SIGSTOP');
    try {
      change = one.ask('DELETE', '/sessions', { key }).then((each) => { answer = each; });
      await sleep(1000); // nothing comes meanwhile
      assert.equal(answer, null, 'it was not answered');
      assertStatus(await read(two), 200);
    } finally {
      signal(helper, 'SIGCONT');
    }
    await change;
    assertStatus(answer, 204);
    for (const node of cluster.nodes) assertStatus(await read(node), 401, 'session_invalid');
  });

  // The others apply it only when their helpers go on; the key's new end has passed long before.
  test('that ends sooner is refused by every node from the answer on, which waits for nodes that have not heard of it', async () => {
    const soon = 600;
    for (const node of [one, two, three]) {
      const { id, key } = await makeKey(node, { expires_in: 3600 });
      const helpers = others(node).map((each) => each.processes().helper);
      const state = { requests: 0, answered: false };
      const hammers = [...others(node), node].map((each) => hammer(each, key, state, 'key_expired'));
      let answer = null;
      for (const each of helpers) signal(each, 'SIGSTOP');
      try {
        const end = new Date(Date.now() + soon).toISOString();
        const change = node.client().patch(`/keys/${id}`, { expires_at: end }).then((each) => { answer = each; });
        await sleep(2 * soon); // the clock passes the end of the key
        assert.equal(answer, null, 'it was not answered');
        assertStatus(await node.ask('GET', '/users?limit=1', { key }), 403, 'key_expired');
        for (const each of others(node)) assertStatus(await each.ask('GET', '/users?limit=1', { key }), 200);
        for (const each of helpers) signal(each, 'SIGCONT');
        await change;
      } finally {
        for (const each of helpers) signal(each, 'SIGCONT');
        state.answered = true;
      }
      assertStatus(answer, 200);
      await Promise.all(hammers);
      for (const each of cluster.nodes) assertStatus(await each.ask('GET', '/users?limit=1', { key }), 403, 'key_expired');
      node.closeClients();
    }
  });

  test('that is off can be turned off again on every node, which need not wait for the others', async () => {
    const { id } = await makeKey(one);
    assertStatus(await one.ask('POST', `/keys/${id}/deactivate`), 200);
    assertStatus(await one.ask('POST', '/users', { body: newUser() }), 201);
    for (const node of [two, three, one]) assertStatus(await node.ask('POST', `/keys/${id}/deactivate`), 200);
  });

  test('of the command line of one node works on the others, and is refused by all once the command has turned it off', async () => {
    for (const node of [one, two, three]) {
      const { id, key } = JSON.parse(await node.done('keys', 'create', '--name', 'cli', '--scope', 'users:read', '--unlimited', '--json'));
      for (const each of cluster.nodes) {
        await until(async () => (await each.ask('GET', '/users?limit=1', { key })).status === 200, `${each.name} knows the key`, 2000);
      }
      await node.done('keys', 'deactivate', String(id));
      for (const each of cluster.nodes) assertStatus(await each.ask('GET', '/users?limit=1', { key }), 403, 'key_deactivated');
    }
  });
});

test('the secret of a source holds on every node from the answer on, and so does its end', async () => {
  for (const [round, node] of [one, two, three].entries()) {
    const source = `shop-${round}`;
    assertStatus(await node.ask('PUT', `/events/${source}/secret`), 201);
    for (const each of cluster.nodes) assertStatus(await each.ask('POST', `/events/${source}`, { body: {} }), 401, 'signature_invalid');
    assertStatus(await node.ask('DELETE', `/events/${source}/secret`), 204);
    for (const each of cluster.nodes) assertStatus(await each.ask('POST', `/events/${source}`, { body: {} }), 202);
  }
});

describe('a node', () => {
  const alone = (name, { from = one } = {}) => {
    const node = new Node(cluster, name);
    if (from !== null) node.takeMasterKey(from);
    return node;
  };
  // What the start of a node that has to be refused says.
  const refusal = async (node) => {
    try {
      await node.start({ ready: false });
    } catch (error) {
      return error.message;
    }
    await node.stop();
    throw new Error(`${node.name} was not refused`);
  };
  const stateOf = async (name) => (await one.status()).nodes.find((each) => each.name === name)?.state;

  test('is shown by cluster status, with its position', async () => {
    const status = await two.status();
    assert.deepEqual(status.nodes.map((each) => each.name), ['one', 'three', 'two']);
    for (const each of status.nodes) {
      assert.deepEqual(Object.keys(each), ['name', 'state', 'position', 'lag', 'lease_ms', 'lease_ms_left', 'version', 'schema']);
      assert.equal(each.state, 'serving');
      assert.equal(each.lease_ms, 30_000);
      assert.ok(each.lease_ms_left > 0 && each.lease_ms_left <= 31_000, `${each.lease_ms_left} ms`); // with the margin of clocks
      assert.equal(each.schema, 5);
      assert.ok(each.lag <= 10, `lag ${each.lag}`);
    }
    assert.match(status.engine.server, /PostgreSQL/);
    assert.equal(status.engine.synchronous_standby, false);
    const text = await three.done('cluster', 'status');
    assert.match(text, /^engine +PostgreSQL .*, synchronous_standby_names is empty$/m);
    assert.match(text, /^webhooks +not delivered by any node yet/m); // cluster_commands.test.mjs has what else it may say
    assert.match(text, /^NODE +STATE +POSITION +LAG +LEASE +VERSION$/m);
    assert.match(text, /^two +serving +[0-9,]+ +[0-9]+ +at most 3[01] s +\S+$/m);
  });

  test('joins with an empty directory and master.key, and leaves at its end', async (t) => {
    const four = alone('four');
    const begin = performance.now();
    await four.start();
    t.diagnostic(`served after ${Math.round(performance.now() - begin)} ms`);
    const answer = await four.ask('POST', '/users', { body: newUser() });
    assertStatus(answer, 201);
    assertStatus(await one.ask('GET', `/users/${answer.json.id}`, consistent(tokenOf(answer))), 200);
    await cluster.assertEqual([one, four]);
    assert.equal(await stateOf('four'), 'serving');
    await four.stop();
    assert.equal(await stateOf('four'), 'left');
    await four.start();
    assert.equal(await stateOf('four'), 'serving');
    await cluster.assertEqual([one, four]);
    await four.stop();
  });

  test('goes on alone with what it has, once it was detached, and may begin another cluster', async () => {
    const five = await alone('five').start();
    const user = await five.ask('POST', '/users', { body: newUser() });
    assert.match((await five.command('cluster', 'detach')).stderr, /stop it for this command/);
    // A backup of a node is a store that can stand alone too, with another master.key as well.
    const copy = path.join(temporaryFolder(), 'data');
    await five.done('backup', path.join(five.folder, 'copy.mdb'));
    assert.equal((await command('restore', path.join(five.folder, 'copy.mdb'), '--data', copy)).code, 0);
    assert.equal((await command('cluster', 'detach', '--data', copy)).code, 0);
    assert.equal(JSON.parse((await command('keys', 'list', '--data', copy, '--json')).stdout).data[0].name, 'all');
    await five.stop();
    await five.done('cluster', 'detach');
    assert.match((await five.command('cluster', 'detach')).stderr, /no node of a cluster/);
    const server = await startServer({ data: five.data, listen: ['http://127.0.0.1:0'] });
    const read = await server.ask('GET', `/api/v1/users/${user.json.id}`, { key: cluster.key, scheme: 'http' });
    assert.deepEqual(read.json, user.json);
    await server.stop();
    five.settings = five.settings.replace(/dbname=\w+/, `dbname=${(await postgres.makeDatabase('other')).split('dbname=')[1]}`);
    fs.writeFileSync(five.configuration, five.settings);
    await five.done('cluster', 'init');
    await five.start();
    assert.deepEqual((await five.ask('GET', `/users/${user.json.id}`)).json, user.json);
    assert.deepEqual((await five.status()).nodes.map((each) => each.name), ['five']);
    await five.done('cluster', 'check');
    await five.stop();
  });

  test('that runs cannot be let go', async () => {
    const refused = await one.command('cluster', 'leave', 'two');
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(refused.stderr, /two is running: stop it first/);
    assert.match((await one.command('cluster', 'leave', 'nobody')).stderr, /no node is called nobody/);
    assert.equal(await stateOf('two'), 'serving');
  });

  test('is refused without master.key, with another one, and with a store that has data', async () => {
    assert.match(await refusal(alone('six', { from: null })), /a node needs the master key of its cluster: copy master\.key/);

    const strange = alone('six', { from: null });
    const elsewhere = path.join(temporaryFolder(), 'data');
    await command('keys', 'create', '--data', elsewhere, '--name', 'x');
    fs.copyFileSync(path.join(elsewhere, 'master.key'), path.join(strange.data, 'master.key'));
    assert.match(await refusal(strange), /master\.key is not the one of the cluster/);

    const full = alone('seven');
    assert.equal((await command('seed', '--data', full.data, '--users', '10', '--posts', '0')).code, 0);
    assert.match(await refusal(full), /is not empty: a node that joins a cluster begins with an empty data directory/);
  });
});

// Not a hook: the harness's own hook ends what still runs, in no order with others.
describe('all nodes of a cluster', () => {
  test('end when they are asked to', () => cluster.stop());
});
