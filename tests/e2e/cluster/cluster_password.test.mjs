// The password of a cluster's role in PostgreSQL (docs/operations/cluster.md): where it comes from, and where it goes. First with a
// program in the place of latchkey-replicate, which tells what it was given, then with a PostgreSQL that demands one.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Cluster, consistent, tokenOf, until } from '../helpers/cluster_harness.mjs';
import { Postgres, childrenOf, nameOf, signal } from '../helpers/cluster_postgres.mjs';
import { assertStatus, binary, commandOf, filesIn, makeKey, newUser, temporaryFolder } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const data = path.join(folder, 'data');
const program = path.join(folder, 'latchkey');
const told = path.join(folder, 'told');
const passwordFile = path.join(folder, 'password');
const config = path.join(folder, 'latchkey.toml');
fs.writeFileSync(config, `[cluster]\npassword_file = "${passwordFile}"\n`);
fs.copyFileSync(binary, program); // helpers are looked for beside the program
fs.writeFileSync(path.join(folder, 'latchkey-replicate'), `#!/bin/sh\necho "$PGPASSWORD|$*" >> '${told}'\nexit 0\n`, { mode: 0o755 });

async function status() {
  const words = ['--config', config, '--cluster-postgres', 'host=/nowhere user=latchkey', '--data', data];
  const ended = await commandOf(program, 'cluster', 'status', ...words);
  assert.equal(ended.code, 1, ended.stderr);
  assert.equal(ended.stdout, '');
  return ended.stderr;
}

test('the first line of the file is the password of the helper, and of no other place', async () => {
  await makeKey(data);
  fs.writeFileSync(passwordFile, 'pass word=1\nanother line\n', { mode: 0o600 });
  const message = await status();
  assert.deepEqual(fs.readFileSync(told, 'utf8').split('\n')[0], 'pass word=1|--descriptor 3');
  assert.ok(!message.includes('pass word'), 'no message has it');
});

test('a file without a password, or none, is an error that names it', async () => {
  fs.rmSync(told, { force: true });
  for (const text of ['', '\nsecond line\n']) {
    fs.writeFileSync(passwordFile, text);
    assert.match(await status(), new RegExp(`cluster\\.password_file: ${passwordFile} has no password in its first line, or cannot be read`));
  }
  fs.rmSync(passwordFile);
  assert.match(await status(), /cluster\.password_file: .* has no password in its first line, or cannot be read/);
  assert.equal(fs.existsSync(told), false, 'the helper was not started');
});

const postgres = await Postgres.begin();
after(() => postgres.stop());

// With what has to be escaped in a password file, a shell or a connection string.
const password = String.raw`Zür"ich: 'a\b' $x %20 =&;`;
const wrong = 'not-the-password-4711';
await postgres.demandPassword(password);

// A folder that has nothing but a file, which its owner alone may read.
function folderOf(name, text) {
  const place = temporaryFolder();
  fs.writeFileSync(path.join(place, name), text, { mode: 0o600 });
  return place;
}
const fileOf = (text) => path.join(folderOf('file', text), 'file');
const passwordLine = (text) => `*:*:*:latchkey:${text.replace(/[:\\]/g, '\\$&')}\n`;

// How a password is told: lines of [cluster], an addition to the address, or variables of the environment.
const ways = {
  'cluster.password_file': (text) => ({ lines: `password_file = "${fileOf(`${text}\n`)}"\n` }),
  'the credential cluster.password': (text) => ({ variables: { CREDENTIALS_DIRECTORY: folderOf('cluster.password', text) } }),
  'passfile=FILE in the address': (text) => ({ addition: ` passfile=${fileOf(passwordLine(text))}` }),
  '~/.pgpass': (text) => ({ variables: { HOME: folderOf('.pgpass', passwordLine(text)) } }),
  'PGPASSWORD': (text) => ({ variables: { PGPASSWORD: text } }),
};

// The environment of what is started until it is set again; nothing else there tells a password.
const initial = { ...process.env };
const home = temporaryFolder();
function setEnvironment(variables = {}) {
  const values = { ...initial, HOME: home, ...variables };
  for (const name of ['PGPASSWORD', 'PGPASSFILE', 'HOME', 'CREDENTIALS_DIRECTORY']) {
    if (values[name] === undefined) delete process.env[name];
    else process.env[name] = values[name];
  }
}
setEnvironment();

const engine = (addition = '') => Object.assign(Object.create(postgres), {
  addressFor: (name, database) => `host=${postgres.folder} port=5432 user=latchkey dbname=${database}${addition}`,
});
const begin = ({ lines, addition }, names) => Cluster.begin(engine(addition), { engineSettings: lines, names, leaseSeconds: 3 });

const read = (pid, name) => {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return ''; // it has ended
  }
};
const bytes = (text) => Buffer.from(text).toString('latin1');
const descendants = (pid) => [pid, ...childrenOf(pid).flatMap(descendants)];
const linesWith = (text) => fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map((pid) => read(pid, 'cmdline'))
  .filter((line) => line.includes(bytes(text)));

// Command lines while something is done.
async function watch(text, act) {
  const found = [];
  const timer = setInterval(() => found.push(...linesWith(text)), 5);
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  assert.deepEqual([...new Set(found)], [], 'no command line has it');
}

function assertHidden({ server, data }, text) {
  assert.deepEqual(linesWith(text), [], 'no command line has it');
  assert.ok(!server.stderr.includes(text), 'standard error has it not');
  const files = filesIn(data);
  assert.ok(files.length >= 3);
  for (const name of [server.log, ...files]) assert.ok(!fs.readFileSync(name, 'latin1').includes(bytes(text)), `${name} has it not`);
}

describe('a PostgreSQL that demands the password of the role', () => {
  after(() => setEnvironment());

  for (const [way, tell] of Object.entries(ways)) {
    test(`gets it from ${way}, and no command line, log or file has it`, async (t) => {
      const told = tell(password);
      setEnvironment(told.variables);
      let cluster;
      t.after(() => cluster?.stop());
      await watch(password, async () => {
        cluster = await begin(told, ['one']);
        assert.equal((await cluster.nodes[0].status()).nodes[0].state, 'serving');
      });
      const [node] = cluster.nodes;
      assertStatus(await node.ask('POST', '/users', { body: newUser() }), 201);
      assertHidden(node, password);
      const { service, helper } = node.processes();
      assert.deepEqual(read(helper, 'cmdline').split('\0'), ['latchkey-replicate', '--descriptor', '3', '']);
      for (const pid of descendants(service)) {
        if (pid === helper || way === 'PGPASSWORD') continue;
        assert.ok(!read(pid, 'environ').includes(bytes(password)), `the environment of ${nameOf(pid)} has it not`);
      }
      // A helper that is started again has it too.
      signal(helper, 'SIGKILL');
      await until(async () => (await node.ask('POST', '/users', { body: newUser() })).status === 201, 'it writes again', 5000);
      assert.notEqual(node.processes().helper, helper);
      assertHidden(node, password);
    });
  }

  test('refuses a wrong one, wherever it comes from, and the error of the command says so without it', async () => {
    const database = 'refused';
    const address = await postgres.makeDatabase(database);
    const data = temporaryFolder();
    const ended = Object.entries(ways).map(async ([way, tell], i) => {
      const { lines = '', addition = '', variables } = tell(wrong);
      const file = fileOf(`[cluster]\npostgres = "${address}${addition}"\n${lines}`);
      setEnvironment(variables); // until it was started
      const words = ['cluster', 'init', '--config', file, '--data', path.join(data, String(i))];
      const { code, stdout, stderr } = await commandOf(binary, ...words);
      assert.equal(code, 1, `${way}: ${stderr}`);
      assert.match(stderr, /error: .*password authentication failed for user "latchkey"/, way);
      assert.ok(!`${stdout}${stderr}`.includes(wrong), `${way}: it is not shown`);
    });
    setEnvironment();
    await watch(wrong, () => Promise.all(ended));
    assert.equal(await postgres.ask(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), '0');
  });

  test('is told none where there is none, or where others may read the password file, which the error says', async () => {
    const address = await postgres.makeDatabase('untold');
    const place = folderOf('.pgpass', passwordLine(password));
    fs.chmodSync(path.join(place, '.pgpass'), 0o644);
    const file = fileOf(`[cluster]\npostgres = "${address}"\n`);
    const data = temporaryFolder();
    const ends = [{}, { HOME: place }].map((variables, i) => {
      setEnvironment(variables);
      return commandOf(binary, 'cluster', 'init', '--config', file, '--data', path.join(data, String(i)));
    });
    setEnvironment();
    const [none, open] = await Promise.all(ends);
    for (const { code, stderr } of [none, open]) {
      assert.equal(code, 1, stderr);
      assert.match(stderr, /error: .*no password supplied/);
    }
    assert.match(open.stderr, /\.pgpass" has group or world access/);
    assert.ok(!open.stderr.includes(password));
  });

  test('refuses a wrong one: a node that joins ends, one that had joined waits, and both say so without it', async (t) => {
    const told = ways['cluster.password_file'](password);
    setEnvironment();
    const cluster = await begin(told, ['one', 'two']);
    t.after(() => cluster.stop());
    const [one, two] = cluster.nodes;
    const [, file] = /"(.*)"/.exec(told.lines);
    const complaint = /password authentication failed for user "latchkey"/;
    await two.stop();
    fs.writeFileSync(file, `${wrong}\n`);
    const three = cluster.addNode('three');
    three.takeMasterKey(one);
    const refused = assert.rejects(() => three.start({ ready: false }), ({ message }) => {
      assert.match(message, complaint);
      assert.ok(![wrong, password].some((each) => message.includes(each)));
      return true;
    });
    await Promise.all([refused, two.start({ ready: false })]);
    cluster.nodes.pop();
    await until(async () => complaint.test((await two.look('/readyz')).body), '/readyz says so', 5000);
    const { status, body } = await two.look('/readyz');
    assert.equal(status, 503);
    assert.match(two.server.stderr, complaint);
    for (const each of [wrong, password]) {
      assert.ok(!body.includes(each));
      assertHidden(two, each);
    }
    assertStatus(await two.ask('GET', '/users?limit=1'), 503, 'behind');
    assertStatus(await one.ask('POST', '/users', { body: newUser() }), 201);
    // With the right one it goes on.
    await two.stop();
    fs.writeFileSync(file, `${password}\n`);
    await two.start();
    const answer = await two.ask('POST', '/users', { body: newUser() });
    assertStatus(answer, 201);
    assertStatus(await one.ask('GET', `/users/${answer.json.id}`, consistent(tokenOf(answer))), 200);
  });
});
