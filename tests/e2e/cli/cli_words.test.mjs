// The words of the command line: what it says of those that it does not understand, what it asks, and how it prints.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, command, commandOf, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const data = path.join(folder, 'data');
const here = ['--data', data];
const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;

// The command in a terminal of its own, with an answer that is typed; its output has the line ends of a terminal.
async function inTerminal(words, { answer = '', env = {} } = {}) {
  const line = [binary, ...words].map(quote).join(' ');
  const typed = path.join(folder, 'typed');
  fs.writeFileSync(typed, answer);
  const settings = Object.entries({ TERM: 'xterm', ...env }).map(([name, value]) => `${name}=${quote(value)}`).join(' ');
  return commandOf('sh', '-c', `env ${settings} script -qec ${quote(line)} /dev/null < ${quote(typed)}`);
}

async function refused(words, pattern, code = 2) {
  const ended = await command(...words);
  assert.equal(ended.code, code, ended.stderr);
  assert.match(ended.stderr, pattern);
  assert.equal(ended.stdout, '');
}

describe('words that are not understood', () => {
  test('are named, with the nearest that is', async () => {
    await refused(['serv'], /does not understand 'serv': did you mean latchkey serve\?/);
    await refused(['version'], /did you mean latchkey --version\?/);
    await refused(['keys', '--bogus'], /latchkey keys does not understand '--bogus'; it has the commands create, list/);
    await refused(['keys', 'list', '--jsn'], /did you mean latchkey keys list --json\?/);
    await refused(['keys', 'revoke', '3'], /did you mean latchkey keys deactivate\?/);
    await refused(['keys', 'list', 'more'], /latchkey keys list does not understand 'more'/);
    await refused([], /latchkey needs a command: serve, keys/);
    await refused(['keys', 'show'], /ID is required/);
  });

  test('of a value say what is wanted', async () => {
    await refused(['keys', 'create', '--name', 'n', '--expires-in', '90', ...here],
      /--expires-in 90 has no unit: write 90d for days, 90h for hours/);
    await refused(['keys', 'create', '--name', 'n', '--expires-in', '9y', ...here], /a number with a unit/);
    await refused(['keys', 'create', '--name', 'n', '--limit', 'minute=5', ...here], /--limit must be NAME=LIMIT\/SECONDS/);
    await refused(['keys', 'create', '--name', 'n', '--scope', 'nothing', ...here], /scopes\/0 is not a scope; scopes are users:read, /);
    await refused(['keys', 'create', '--name', 'n', '--scope', 'posts:read,user:read', ...here],
      /scopes\/1 is not a scope: did you mean `users:read`\?/);
    await refused(['keys', 'create', '--name', 'n', '--ip-allow', '10.0.0.1/8', ...here], /ip_allowlist\/0 must be a network/);
    await refused(['keys', 'create', '--name', 'n', '--not-before', 'soon', ...here], /--not-before must be a time/);
    await refused(['keys', 'create', '--name', 'n', '--metadata', 'plan', ...here], /--metadata must be NAME=VALUE/);
    await refused(['keys', 'update', '1', ...here], /say what to change/);
    assert.equal(fs.existsSync(data), false, 'nothing was made for them');
  });

  test('of the help and of the manual pages have every exit code', async () => {
    const declared = fs.readFileSync(new URL('../../../src/cli/frame/command_line.hpp', import.meta.url), 'utf8').match(/enum exit_code[^}]*/)[0];
    const codes = [...declared.matchAll(/= (\d+)/g)].map(([, code]) => code);
    assert.ok(codes.length > 5, codes.join(' '));
    const texts = [(await command('--help')).stdout, (await command('man')).stdout, (await command('man', 'keys', 'create')).stdout]
      .map((text) => text.slice(text.search(/Exit codes|EXIT STATUS/)));
    for (const code of codes)
      for (const text of texts) assert.match(text, new RegExp(`(^|[\\s,])${code} [a-z]`), text);
  });

  test('of the field are in the help', async () => {
    const { stdout } = await command('--help');
    for (const word of ['verify', 'revoke', 'webhook', 'rate limit']) assert.match(stdout, new RegExp(word));
  });
});

describe('keys', () => {
  test('create shows expiry, limits, addresses and environment', async () => {
    const made = await command('keys', 'create', '--name', 'shop', '--scope', '*', '--environment', 'production', '--expires-in', '90d',
      '--limit', 'minute=600/60/50', '--ip-allow', '10.0.0.0/8', '--ip-allow', '::1', '--metadata', 'plan=pro', '--not-before', '2020-01-01T00:00:00Z', ...here);
    assert.equal(made.code, 0, made.stderr);
    for (const line of [/^ {2}environment: production$/m, /^ {2}expires: 20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ$/m,
      /^ {2}rate limits: minute 600 in 60 s, burst 50$/m, /^ {2}allowed from: 10\.0\.0\.0\/8 ::1\/128$/m, /^ {2}metadata plan: pro$/m,
      /^ {2}works from: 2020-01-01 00:00:00Z$/m]) assert.match(made.stderr, line);
    assert.match(made.stdout, /^[0-9A-Za-z]{48}\n$/);
    const plain = await command('keys', 'create', '--name', 'plain', ...here);
    assert.match(plain.stderr, /expires: never/);
    assert.match(plain.stderr, /rate limits: minute 600 in 60 s; hour 20000 in 3600 s/);
    const shown = JSON.parse((await command('keys', 'show', '1', '--json', ...here)).stdout);
    assert.deepEqual([shown.environment, shown.ip_allowlist, shown.metadata, shown.rate_limits[0].burst],
      ['production', ['10.0.0.0/8', '::1/128'], { plan: 'pro' }, 50]);
  });

  test('update changes what is given, and removes what is none', async () => {
    const update = async (...words) => {
      const ended = await command('keys', 'update', '2', ...words, '--json', ...here);
      assert.equal(ended.code, 0, ended.stderr);
      return JSON.parse(ended.stdout);
    };
    const first = await update('--name', 'other', '--limit', 'hour=5/3600', '--ip-allow', '127.0.0.0/8', '--metadata', 'a=1', '--metadata', 'b=2',
      '--expires-in', '1h', '--environment', 'staging', '--scope', 'posts:read');
    assert.deepEqual([first.name, first.environment, first.scopes, first.ip_allowlist, first.metadata],
      ['other', 'staging', ['posts:read'], ['127.0.0.0/8'], { a: '1', b: '2' }]);
    assert.deepEqual(first.rate_limits, [{ name: 'hour', limit: 5, window_seconds: 3600, burst: 5 }]);
    assert.ok(Math.abs(new Date(first.expires_at) - Date.now() - 3600_000) < 60_000);
    const second = await update('--unlimited', '--ip-anywhere', '--metadata', 'a', '--expires-at', 'none', '--not-before', '2020-01-01T00:00:00Z');
    assert.deepEqual([second.name, second.rate_limits, second.ip_allowlist, second.metadata, second.expires_at, second.not_before],
      ['other', [], [], { b: '2' }, null, '2020-01-01T00:00:00.000Z']);
    assert.equal((await update('--not-before', 'none')).not_before, null);
    assert.equal((await command('keys', 'update', '99', '--name', 'x', ...here)).code, 1);
  });

  test('lists show when a key ends, also one whose overlap does before it expires', async () => {
    const old = JSON.parse((await command('keys', 'create', '--name', 'replaced', '--json', ...here)).stdout);
    const row = async () => (await command('keys', 'list', ...here)).stdout.split('\n').find((line) => line.startsWith(`${old.id} `));
    assert.match(await row(), / active +\S+ +never /);
    assert.equal((await command('keys', 'rotate', String(old.id), '--overlap', '1h', ...here)).code, 0);
    assert.match(await row(), / active +\S+ +\d{4}-\d\d-\d\d /);
  });

  test('verify reads the key from a file or standard input, never from the command line', async () => {
    const made = JSON.parse((await command('keys', 'create', '--name', 'verified', '--scope', 'users:read', '--metadata', 'plan=free', '--json', ...here)).stdout);
    const file = path.join(folder, 'key');
    fs.writeFileSync(file, `${made.key}\n`);
    const verified = await command('keys', 'verify', file, '--scope', 'users:read', ...here);
    assert.equal(verified.code, 0, verified.stderr);
    assert.match(verified.stdout, /^state +VALID\n/);
    assert.match(verified.stdout, new RegExp(`^id +${made.id}$`, 'm'));
    assert.match(verified.stdout, /^metadata plan +free$/m);
    const shown = await command('keys', 'verify', made.key, ...here);
    assert.equal(shown.code, 2);
    assert.match(shown.stderr, /is read from a file, or from standard input with -: there is no file of that name, which is as long as a key/);
    assert.ok(!shown.stderr.includes(made.key.slice(0, 12)), 'a key in the place of a path is not repeated');
    const refusals = [[['--scope', 'posts:write'], 'INSUFFICIENT_SCOPE'], [['--method', 'DELETE', '--path', '/api/v1/users/1'], 'INSUFFICIENT_SCOPE'],
      [['--method', 'GET', '--path', '/nowhere'], 'ROUTE_NOT_FOUND']];
    for (const [words, code] of refusals) {
      const ended = await command('keys', 'verify', file, ...words, '--json', ...here);
      assert.deepEqual([ended.code, JSON.parse(ended.stdout).code], [4, code]);
    }
    const piped = await commandOf('sh', '-c', `${quote(binary)} keys verify --json --data ${quote(data)} < ${quote(file)}`);
    assert.equal(JSON.parse(piped.stdout).key_id, made.id);
    assert.equal(JSON.parse((await command('keys', 'verify', '--id', String(made.id), '--json', ...here)).stdout).valid, true);
    fs.writeFileSync(file, 'rubbish');
    const unknown = await command('keys', 'verify', file, '--json', ...here);
    assert.deepEqual([unknown.code, JSON.parse(unknown.stdout).code], [4, 'NOT_FOUND']);
    const impossible = await command('keys', 'verify', file, '--data', path.join(folder, 'no store'));
    assert.deepEqual([impossible.code, impossible.stdout], [1, ''], 'a failure is no verdict');
    assert.match((await command('keys', 'verify', '--help')).stdout, /0 the key is valid, 4 it would be refused,\s+1 it could not be\s+verified/);
    assert.ok(!`${verified.stdout}${verified.stderr}${piped.stdout}`.includes(made.key), 'the key is not printed');
  });
});

describe('what cannot be taken back easily', () => {
  const make = async (name, ...words) => JSON.parse((await command('keys', 'create', '--name', name, ...words, '--json', ...place)).stdout);
  const place = ['--data', path.join(folder, 'asked')];
  const state = async (id) => JSON.parse((await command('keys', 'show', String(id), '--json', ...place)).stdout).state;

  test('is not done without a terminal and without --yes', async () => {
    const admin = await make('admin', '--scope', '*');
    const shop = [await make('one', '--project', 'shop'), await make('two', '--project', 'shop')];
    await refused(['keys', 'deactivate', String(admin.id), ...place], /no other key can manage keys.*--yes/, 3);
    await refused(['keys', 'update', String(admin.id), '--scope', 'users:read', ...place], /no other key can manage keys/, 3);
    await refused(['keys', 'deactivate', '--project', 'shop', ...place], /this deactivates 2 keys of project shop.*--yes/, 3);
    assert.deepEqual([await state(admin.id), await state(shop[0].id)], ['active', 'active']);
    const many = await command('keys', 'deactivate', '--project', 'shop', '--yes', ...place);
    assert.equal(many.code, 0, many.stderr);
    assert.match(many.stderr, /2 keys of project shop were deactivated/);
    const another = await make('another', '--scope', 'keys:*');
    assert.equal((await command('keys', 'deactivate', String(admin.id), ...place)).code, 0, 'another one can manage keys');
    assert.equal((await command('keys', 'deactivate', String(another.id), '--yes', ...place)).code, 0);
  });

  test('is asked at a terminal', async () => {
    const admin = await make('admin', '--scope', '*');
    const no = await inTerminal(['keys', 'deactivate', String(admin.id), ...place], { answer: 'n\n' });
    assert.equal(no.code, 3, no.stdout);
    assert.match(no.stdout, /Go on\? \[y\/N\]/);
    assert.equal(await state(admin.id), 'active');
    const yes = await inTerminal(['keys', 'deactivate', String(admin.id), ...place], { answer: 'y\n' });
    assert.equal(yes.code, 0, yes.stdout);
    assert.equal(await state(admin.id), 'deactivated');
  });

  test('of a key that was used within a day is asked at a terminal', async () => {
    const server = await startServer();
    const of = ['--data', server.data];
    try {
      const key = await server.makeKey({ name: 'in use', scopes: ['users:read'] });
      assert.equal((await server.client(key).get('/users')).status, 200);
      const { id } = key;
      const shown = async () => JSON.parse((await command('keys', 'show', String(id), '--json', ...of)).stdout);
      await until(async () => (await shown()).last_used_at !== null, 'its use is stored');
      const no = await inTerminal(['keys', 'deactivate', String(id), ...of], { answer: 'n\n' });
      assert.equal(no.code, 3, no.stdout);
      assert.match(no.stdout, /key \d+ 'in use' was used at .*its clients would be refused; latchkey keys reactivate \d+ undoes it/s);
      assert.equal((await shown()).state, 'active');
      const yes = await inTerminal(['keys', 'deactivate', String(id), ...of], { answer: 'y\n' });
      assert.equal(yes.code, 0, yes.stdout);
      assert.match(yes.stdout, /latchkey keys reactivate \d+ undoes it/);
      assert.equal((await shown()).state, 'deactivated');
      assert.equal((await command('keys', 'reactivate', String(id), ...of)).code, 0);
      const script = await command('keys', 'deactivate', String(id), ...of);
      assert.equal(script.code, 0, 'a script is not asked');
      assert.match(script.stderr, /latchkey keys reactivate \d+ undoes it/);
    } finally {
      await server.stop();
    }
  });

  test('seed asks where the store has other records', async () => {
    const seeded = ['--data', path.join(folder, 'seeded'), '--quiet'];
    const first = await command('seed', '--users', '1', '--posts', '1', ...seeded);
    assert.match(first.stderr, /1 user and 1 post created/);
    await refused(['seed', '--users', '2', '--posts', '0', ...seeded], /adds 2 users and 0 posts to a store that has 1 user and 1 post/, 3);
    assert.equal((await command('seed', '--users', '1', '--posts', '1', ...seeded)).code, 0, 'the same command again adds nothing');
    assert.match((await command('seed', '--users', '2', '--posts', '0', '--random-seed', '2', '--yes', ...seeded)).stderr, /2 users and 0 posts created/);
  });
});

describe('output', () => {
  test('is counted in plain words', async () => {
    const one = ['--data', path.join(folder, 'one')];
    const users = path.join(folder, 'one.ndjson');
    fs.writeFileSync(users, '{"name": "Ada", "email": "ada@example.org"}\n');
    assert.match((await command('import', users, '--quiet', ...one)).stderr, /1 user and 0 posts created/);
    assert.match((await command('export', path.join(folder, 'u1'), '--quiet', ...one)).stderr, /: 1 user exported/);
    assert.match((await command('check', ...one)).stderr, /1 user, 0 posts, 0 keys, 0 entries of the audit log/);
  });

  test('of a backup whose name is taken says what happened', async () => {
    const file = path.join(folder, 'copy.mdb');
    const first = await command('backup', file, ...here);
    assert.match(first.stderr, /backed up the store into .*copy\.mdb, \d+ [KM]iB/);
    const before = fs.readFileSync(file);
    const again = await command('backup', file, ...here);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /copy\.mdb exists already and was left as it is; nothing was written/);
    assert.deepEqual(fs.readFileSync(file), before);
  });

  test('of the configuration comes as JSON too', async () => {
    const shown = JSON.parse((await command('config', 'show', '--json', '--workers', '3', '--store-map-mib', '64', '--data', data)).stdout);
    assert.deepEqual([shown.data, shown.workers, shown.store.map_mib, shown.console], [data, 3, 64, true]);
    assert.deepEqual(shown.listen, ['https://127.0.0.1:8443']);
    const toml = (await command('config', 'show')).stdout;
    const names = [...toml.matchAll(/^(\w+) = /gm)].length;
    const count = Object.values(shown).reduce((sum, value) => sum + (value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value).length : 1), 0);
    assert.equal(count, names, 'it has every setting');
    const file = path.join(folder, 'latchkey.toml');
    fs.writeFileSync(file, toml);
    assert.equal((await command('config', 'show', '--config', file)).stdout, toml, 'it is a file for --config');
  });

  test('has colours on a terminal alone, and none with NO_COLOR', async () => {
    const words = ['keys', 'list', ...here];
    const table = (await command(...words)).stdout;
    assert.match(table, /^ID {2}NAME +PROJECT +STATE +KEY +EXPIRES +LAST USED +SCOPES\n/);
    const column = table.indexOf('STATE');
    for (const line of table.trimEnd().split('\n').slice(1)) assert.match(line.slice(column), /^(active|scheduled|expired|deactivated) /);
    assert.doesNotMatch(table, /\x1b/);
    const coloured = (await inTerminal(words)).stdout;
    assert.match(coloured, /\x1b\[1mID\x1b\[0m/);
    assert.match(coloured, /\x1b\[32mactive\x1b\[0m/);
    assert.doesNotMatch((await inTerminal(words, { env: { NO_COLOR: '1' } })).stdout, /\x1b\[\d+m/);
    assert.doesNotMatch((await inTerminal(words, { env: { TERM: 'dumb' } })).stdout, /\x1b\[\d+m/);
    assert.equal(coloured.replaceAll(/\x1b\[\d+m/g, '').replaceAll('\r', ''), table, 'it is the same table');
  });
});
