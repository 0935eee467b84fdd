// A service that nobody attends: set up by its environment, by credentials and by a first key in a file, asked by `latchkey
// health`, and telling of itself in JSON lines and metrics (docs/operations/monitor.md).

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, command, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const users = '/api/v1/users';

// With variables of the environment: {code, stdout, stderr}.
function commandWith(env, ...args) {
  return new Promise((resolve) => {
    execFile(binary, args, { timeout: 20_000, env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr });
    });
  });
}

const addressOf = (server) => /management on ([0-9.]+:[0-9]+)/.exec(server.stderr)[1];
const health = (server, ...args) => command('health', '--management', addressOf(server), ...args);

async function metrics(server) {
  const page = await (await fetch(`http://${addressOf(server)}/metrics`)).text();
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

describe('the environment', () => {
  test('has every setting, between the file and the flags', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'latchkey.toml');
    fs.writeFileSync(file, 'workers = 3\nconnections = 100\n[store]\nmap_mib = 64\n');
    const env = { LATCHKEY_CONFIG: file, LATCHKEY_STORE_MAP_MIB: '128', LATCHKEY_WORKERS: '4', LATCHKEY_TRUSTED_PROXIES: '10.0.0.0/8,::1' };
    const { code, stdout } = await commandWith(env, 'config', 'show', '--workers', '2');
    assert.equal(code, 0);
    for (const line of ['workers = 2', 'map_mib = 128', 'connections = 100', 'trusted_proxies = ["10.0.0.0/8", "::1"]'])
      assert.ok(stdout.includes(`\n${line}\n`), line);
  });

  test('is what a service starts from, and a wrong value is named with its variable', async () => {
    const server = await startServer({ env: { LATCHKEY_AUTH_ALLOW_QUERY: 'false', LATCHKEY_KEYS_PREFIX: 'acme' } });
    const { key } = await server.makeKey();
    const refusal = await server.ask('GET', `${users}?api_key=${key}`);
    assertStatus(refusal, 401, 'key_missing');
    assert.match(refusal.json.detail, /Keys in the query are not read here/);
    await server.stop();
    const wrong = await commandWith({ LATCHKEY_STORE_MAP_MIB: 'much', LATCHKEY_HTTP_IDLE_SECONDS: '0' }, 'serve', '--data', temporaryFolder());
    assert.equal(wrong.code, 78);
    assert.match(wrong.stderr, /LATCHKEY_STORE_MAP_MIB: store\.map_mib must be a whole number/);
    assert.match(wrong.stderr, /LATCHKEY_HTTP_IDLE_SECONDS: http\.idle_seconds must be from 1 to 86400/);
  });

  test('is named by check where no setting has it', async () => {
    const checked = await commandWith({ LATCHKEY_WORKRS: '2', LATCHKEY_VERIFIER: 'of the guides' }, 'check', '--data', temporaryFolder());
    assert.equal(checked.code, 0);
    assert.match(checked.stderr, /LATCHKEY_WORKRS belongs to no setting and has no effect; did you mean LATCHKEY_WORKERS\?/);
    assert.doesNotMatch(checked.stderr, /LATCHKEY_VERIFIER/);
  });

  test('that names a service says so where the key to ask it with is missing', async () => {
    const asked = await commandWith({ LATCHKEY_URL: 'https://127.0.0.1:1' }, 'keys', 'list');
    assert.equal(asked.code, 2);
    assert.match(asked.stderr, /LATCHKEY_URL is set, so the service there is asked: give --key-file .* or unset LATCHKEY_URL for the store of this machine/);
    assert.match((await command('keys', 'list', '--url', 'https://127.0.0.1:1')).stderr, /--url needs --key-file/);
  });
});

test('a file with several wrong lines is told all of them at once', async () => {
  const file = path.join(temporaryFolder(), 'latchkey.toml');
  fs.writeFileSync(file, 'workers = "two"\n[auth]\nallow_quer = true\n\n[http]\nidle_seconds = 0\n');
  const { code, stderr } = await command('serve', '--config', file);
  assert.equal(code, 78);
  for (const part of ['workers must be a whole number (line 1)', "there is no setting 'auth.allow_quer'; did you mean auth.allow_query? (line 3)",
    'http.idle_seconds must be from 1 to 86400 (line 6)']) assert.ok(stderr.includes(`${file}: ${part}`), part);
});

describe('credentials of the service manager', () => {
  test('are the certificate, the master key and the first key', async () => {
    const folder = temporaryFolder();
    const credentials = path.join(folder, 'credentials');
    fs.mkdirSync(credentials);
    const first = await startServer();
    fs.copyFileSync(first.certificateFile, path.join(credentials, 'tls.certificate'));
    fs.copyFileSync(path.join(first.data, 'tls/key.pem'), path.join(credentials, 'tls.key'));
    await first.stop();
    const masterKey = path.join(credentials, 'store.master_key');
    fs.writeFileSync(masterKey, Buffer.alloc(32, 7));
    const text = 'b64bf2e9a1f3c44d0f6e8b1a7c5d3e2f';
    fs.writeFileSync(path.join(credentials, 'keys.first_key'), `${text}\n`);
    const server = await startServer({ env: { CREDENTIALS_DIRECTORY: credentials } });
    assertStatus(await server.ask('GET', users, { key: text, scheme: 'http' }), 200);
    assert.ok(!fs.existsSync(path.join(server.data, 'master.key')), 'the data directory has no secret');
    assert.ok(!fs.existsSync(path.join(server.data, 'tls')));
    server.child.kill('SIGHUP');
    await until(() => /reloaded the certificate/.test(server.stderr), `confined, it reads them again: ${server.stderr}`);
    assert.ok(!server.stderr.includes(text));
    assert.equal((await command('keys', 'list', '--data', server.data)).code, 0, 'what is only read needs no master key');
    const create = ['keys', 'create', '--data', server.data, '--name', 'x'];
    const blind = await command(...create);
    assert.equal(blind.code, 1);
    assert.match(blind.stderr, /the master key of .* is kept elsewhere: name its file with store\.master_key_file/);
    assert.ok(!fs.existsSync(path.join(server.data, 'master.key')), 'it makes no other one');
    assert.equal((await command(...create, '--store-master-key-file', masterKey)).code, 0);
    await server.stop();
  });
});

describe('the first key', () => {
  test('is made into a file, once', async () => {
    const file = path.join(temporaryFolder(), 'first.key');
    const server = await startServer({ env: { LATCHKEY_KEYS_FIRST_KEY_FILE: file } });
    const key = fs.readFileSync(file, 'utf8').trim();
    assert.match(key, /^lkey[0-9A-Za-z]{44}$/);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    const answer = await server.ask('GET', '/api/v1/keys/current', { key });
    assertStatus(answer, 200);
    assert.deepEqual(answer.json.scopes, ['*']);
    await server.stop();
    const again = await server.again();
    assert.equal(fs.readFileSync(file, 'utf8').trim(), key);
    assert.equal((await again.ask('GET', '/api/v1/keys', { key })).json.pagination.total, 1);
    await again.stop();
  });

  test('that the file does not have is an error without its text', async () => {
    const file = path.join(temporaryFolder(), 'first.key');
    fs.writeFileSync(file, 'too short');
    const { code, stderr } = await command('serve', '--data', path.join(temporaryFolder(), 'data'), '--keys-first-key-file', file,
      '--listen', 'https://127.0.0.1:0', '--management', 'off');
    assert.equal(code, 1);
    assert.match(stderr, /keys\.first_key_file: .* has no key in it: that is 32 to 256 of/);
    assert.ok(!stderr.includes('too short'));
  });
});

describe('latchkey health', () => {
  test('asks whether the service is ready', async () => {
    const server = await startServer({ management: '0.0.0.0:0' });
    const ready = await health(server);
    assert.deepEqual([ready.code, JSON.parse(ready.stdout).status], [0, 'ready'], 'a listener on all addresses is asked on loopback');
    const live = await health(server, '--live');
    assert.deepEqual([live.code, JSON.parse(live.stdout).status], [0, 'live']);
    assert.equal((await health(server, '--quiet')).stdout, '');
    const byVariable = await commandWith({ LATCHKEY_MANAGEMENT: addressOf(server) }, 'health');
    assert.equal(byVariable.code, 0);
    const address = addressOf(server);
    await server.stop();
    const gone = await command('health', '--management', address);
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /cannot connect to the management listener 127\.0\.0\.1:[0-9]+: Connection refused/);
    const off = await command('health', '--management', 'off');
    assert.equal(off.code, 1);
    assert.match(off.stderr, /management is off/);
  });

  test('is 1 while the service drains', async () => {
    const server = await startServer({ management: '127.0.0.1:0', args: ['--stop-drain-delay-seconds', '3'] });
    server.child.kill('SIGTERM');
    let answer;
    await until(async () => {
      answer = await health(server);
      return answer.code === 1 && answer.stdout !== '';
    }, 'it says that it drains');
    assert.equal(JSON.parse(answer.stdout).checks.accepting, 'draining');
    await server.stop();
  });

  test('waits no longer than it is told, and knows what is no management listener', async () => {
    const silent = net.createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
    const strange = net.createServer((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n')).listen(0, '127.0.0.1');
    await Promise.all([silent, strange].map((each) => each.listening || once(each, 'listening')));
    const startTime = Date.now();
    const late = await command('health', '--management', `127.0.0.1:${silent.address().port}`, '--timeout', '1');
    assert.equal(late.code, 1);
    assert.match(late.stderr, /there is no answer from the management listener/);
    assert.ok(Date.now() - startTime < 4000);
    const other = await command('health', '--management', `127.0.0.1:${strange.address().port}`);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /no management listener/);
    silent.close();
    strange.close();
  });
});

test("the service's own messages are JSON lines by choice, of a level by choice, which a reload changes", async () => {
  const folder = temporaryFolder();
  const server = await startServer({ data: path.join(folder, 'data'), config: '[log]\nformat = "json"\n' });
  const lines = server.stderr.trim().split('\n').map((line) => JSON.parse(line));
  assert.ok(lines.length >= 2);
  for (const line of lines) {
    assert.deepEqual(Object.keys(line), ['ts', 'level', 'message']);
    assert.match(line.ts, /^20[0-9]{2}-.*Z$/);
    assert.ok(['info', 'warning', 'error'].includes(line.level));
  }
  assert.ok(lines.some((line) => line.message.startsWith('listening on https://')));
  fs.writeFileSync(path.join(folder, 'latchkey.toml'), '[log]\nlevel = "error"\n');
  const before = server.stderr.length;
  server.child.kill('SIGHUP');
  await sleep(500); // a message of the reload, which is below that level, is not written
  fs.writeFileSync(path.join(folder, 'latchkey.toml'), 'nothing = 1\n');
  server.child.kill('SIGHUP');
  await until(() => /there is no setting 'nothing'/.test(server.stderr), 'an error is written');
  assert.match(server.stderr.slice(before), /^latchkey: error: nothing was reloaded[^\n]*\n$/, 'and nothing else since');
  await server.stop();
});

test('metrics tell of the process, the certificate, reloads, backups and exact statuses', async () => {
  const folder = temporaryFolder();
  const server = await startServer({ data: path.join(folder, 'data'), management: '127.0.0.1:0', config: '' });
  const { key } = await server.makeKey();
  for (let i = 0; i < 3; i += 1) assertStatus(await server.ask('GET', '/api/v1/users/7', { key }), 404);
  assertStatus(await server.ask('GET', users), 401);
  let page = await metrics(server);
  assert.equal(page['latchkey_http_responses_total{code="404"}'], 3);
  assert.equal(page['latchkey_http_responses_total{code="401"}'], 1);
  assert.equal(page['latchkey_http_responses_total{code="409"}'], 0);
  assert.ok(page['latchkey_http_responses_total{code="200"}'] >= 1);
  assert.ok(page.process_cpu_seconds_total > 0 && page.process_cpu_seconds_total < 60);
  assert.ok(page.process_resident_memory_bytes > 1e6 && page.process_virtual_memory_bytes > 64 * 2 ** 30);
  assert.ok(page.process_open_fds > 10 && page.process_max_fds > page.process_open_fds);
  const fds = fs.readdirSync(`/proc/${server.pid}/fd`).length;
  assert.ok(Math.abs(page.process_open_fds - fds) <= 3, `${page.process_open_fds} of ${fds}`);
  const now = Date.now() / 1000;
  assert.ok(page.latchkey_certificate_expires_seconds > now + 86_400);
  assert.ok(Math.abs(page.latchkey_reload_success_timestamp_seconds - now) < 60 && page.latchkey_reload_successful === 1);
  assert.equal(page.latchkey_backup_successful, undefined, 'none was made');

  const started = page.latchkey_reload_success_timestamp_seconds;
  fs.writeFileSync(path.join(folder, 'latchkey.toml'), 'workers = "x"\n');
  server.child.kill('SIGHUP');
  await until(async () => (await metrics(server)).latchkey_reload_successful === 0, 'a reload that failed');
  assert.equal((await metrics(server)).latchkey_reload_success_timestamp_seconds, started);
  fs.writeFileSync(path.join(folder, 'latchkey.toml'), '[http]\nidle_seconds = 50\n');
  server.child.kill('SIGHUP');
  await until(async () => (await metrics(server)).latchkey_reload_successful === 1, 'a reload');
  assert.ok((await metrics(server)).latchkey_reload_success_timestamp_seconds > started);

  const file = path.join(folder, 'copy.mdb');
  assert.equal((await command('backup', file, '--data', server.data)).code, 0);
  page = await metrics(server);
  assert.equal(page.latchkey_backup_successful, 1);
  assert.ok(Math.abs(page.latchkey_backup_success_timestamp_seconds - Date.now() / 1000) < 60);
  assert.equal((await command('backup', file, '--data', server.data)).code, 1, 'it never replaces a file');
  page = await metrics(server);
  assert.equal(page.latchkey_backup_successful, 0);
  await server.stop();
});

describe('commands whose descriptors are closed', () => {
  // Cron jobs and service managers start them so: a message must not go into a file that was opened in place of one of the three.
  const closed = (how, ...args) => new Promise((resolve) => {
    execFile('/bin/sh', ['-c', `"$@" ${how}`, 'sh', binary, ...args], { timeout: 20_000 }, (error) => resolve(error === null ? 0 : error.code ?? error.signal));
  });

  for (const how of ['<&- >&- 2>&-', '>&- 2>&-', '<&- 2>&-'])
    test(`${how} leave the store as it is`, async () => {
      const folder = temporaryFolder();
      const data = path.join(folder, 'data');
      const lost = how.includes('>&- 2') ? 1 : 0; // the exit code of what prints to standard output
      const commands = [
        ['keys', 'create', '--name', 'first', '--scope', '*'],
        ['keys', 'create', '--json', '--name', 'second'],
        ['keys', 'rotate', '1'],
        ['keys', 'list'],
        ['webhooks', 'create', 'https://hooks.example.com/in'],
        ['events', 'secret', 'set', 'shop'],
        ['seed', '--users', '5', '--posts', '5'],
        ['audit'],
        ['changes'],
      ].map((words) => [lost, words]);
      const quiet = [
        ['seed', '--users', '20', '--posts', '20', '--random-seed', '2', '--yes'],
        ['export', path.join(folder, 'users'), path.join(folder, 'posts')],
        ['backup', path.join(folder, 'backup.mdb')],
        ['keys', 'deactivate', '2'],
        ['check'],
        ['restore', path.join(folder, 'backup.mdb'), '--force'],
        ['check'],
      ].map((words) => [0, words]);
      commands[6][0] = 0; // messages alone
      for (const [code, words] of [...commands, ...quiet]) assert.equal(await closed(how, ...words, '--data', data), code, words.join(' '));
      const check = await command('check', '--json', '--data', data);
      const { users, posts, keys } = JSON.parse(check.stdout).store;
      assert.deepEqual({ code: check.code, users, posts, keys }, { code: 0, users: 25, posts: 25, keys: 3 });
      for (const name of ['users', 'posts'])
        for (const line of fs.readFileSync(path.join(folder, name), 'utf8').trimEnd().split('\n')) JSON.parse(line);
    });

  test('a service is not started whose access log would be a closed standard output', async () => {
    const words = ['serve', '--data', path.join(temporaryFolder(), 'data'), '--listen', 'http://127.0.0.1:0', '--access-log', '-'];
    assert.equal(await closed('<&- >&- 2>/dev/null', ...words), 1);
  });
});
