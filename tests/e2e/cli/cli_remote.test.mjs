// The command line against a service elsewhere (`--url`): each command prints what it prints of the store itself, over the
// public API.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, command, commandOf, newUser, run, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const keyFile = path.join(folder, 'key');
let server, admin, api, there, here;

before(async () => {
  server = await startServer();
  admin = await server.makeKey({ name: 'admin' });
  api = server.client(admin);
  fs.writeFileSync(keyFile, `${admin.key}\n`, { mode: 0o600 });
  there = ['--url', server.base('https'), '--key-file', keyFile, '--ca-file', server.certificateFile];
  here = ['--data', server.data];
});
after(() => server.stop());

async function done(...words) {
  const ended = await command(...words);
  assert.equal(ended.code, 0, `${words.join(' ')}: ${ended.stderr}`);
  return ended;
}
const json = async (...words) => JSON.parse((await done(...words, '--json')).stdout);

// What a command prints of the store and of the service is the same. The service records uses of keys and what time brings
// about by itself: what changed in between is compared again.
async function same(...words) {
  for (const form of [[], ['--json']]) {
    const print = (place) => done(...words, ...form, ...place);
    let local, remote, later = await print(here);
    for (let tries = 0; tries < 5 && later.stdout !== local?.stdout; ++tries) [local, remote, later] = [later, await print(there), await print(here)];
    assert.equal(remote.stdout, local.stdout, words.join(' '));
    assert.equal(remote.stderr, local.stderr, words.join(' '));
  }
}

describe('keys', () => {
  test('are created, changed, rotated and turned off', async () => {
    const made = await json('keys', 'create', '--name', 'shop', '--scope', 'users:read', '--limit', 'minute=60/60', '--expires-in', '1h',
      '--metadata', 'plan=pro', '--project', 'far', ...there);
    assert.equal(made.created_by, admin.id);
    assert.deepEqual([made.project, made.metadata, made.rate_limits[0].limit], ['far', { plan: 'pro' }, 60]);
    const id = String(made.id);
    assert.equal((await json('keys', 'update', id, '--name', 'renamed', '--metadata', 'plan', ...there)).name, 'renamed');
    const rotated = await json('keys', 'rotate', id, '--overlap', '0', ...there);
    assert.match(rotated.key, /^[0-9A-Za-z]{48}$/);
    const next = String(rotated.id);
    assert.equal((await json('keys', 'deactivate', next, ...there)).state, 'deactivated');
    assert.equal((await json('keys', 'reactivate', next, ...there)).state, 'active');
    const text = await done('keys', 'create', '--name', 'words', '--expires-in', '1h', ...there);
    assert.match(text.stderr, /^Key \d+ 'words' in project default, active, scopes: users:read posts:read$/m);
    assert.match(text.stderr, /^ {2}rate limits: minute 600 in 60 s; hour 20000 in 3600 s$/m);
    assert.match(text.stdout, /^[0-9A-Za-z]{48}\n$/);
  });

  test('are listed and shown as the store itself shows them', async () => {
    for (let i = 0; i < 130; i++) await api.create('/keys', { name: `listed ${i} "\u202e"`, project: 'many' });
    await same('keys', 'list', '--project', 'many');
    await same('keys', 'list', '--state', 'deactivated');
    await same('keys', 'show', '2');
    assert.equal((await json('keys', 'list', '--project', 'many', ...there)).data.length, 130);
  });

  test('of a project are turned off together, after a question', async () => {
    const asked = await command('keys', 'deactivate', '--project', 'many', ...there);
    assert.equal(asked.code, 3);
    assert.match(asked.stderr, /this deactivates 130 keys of project many/);
    const ended = await json('keys', 'deactivate', '--project', 'many', '--yes', ...there);
    assert.deepEqual(ended, { project: 'many', deactivated: 130 });
  });

  test('are verified by the running service, which charges them', async () => {
    const key = await server.makeKey({ name: 'verified', scopes: ['users:read'], limits: ['minute=2/60'] });
    const file = path.join(folder, 'verified');
    fs.writeFileSync(file, key.key);
    const words = ['keys', 'verify', file, '--cost', '1', ...there];
    const first = await json(...words);
    assert.deepEqual([first.code, first.rate_limits[0].remaining], ['VALID', 1]);
    assert.match((await done(...words)).stdout, /^limit minute +2 in 60 s, 0 left$/m);
    const last = await command(...words, '--json');
    assert.deepEqual([last.code, JSON.parse(last.stdout).code], [4, 'RATE_LIMITED'], 'a verdict');
    const unasked = await command(...words.slice(0, 3), '--url', 'http://127.0.0.1:1', '--key-file', keyFile);
    assert.deepEqual([unasked.code, unasked.stdout], [1, ''], 'a failure');
  });

  test('of a project with the key to ask with are turned off, that one last', async () => {
    const own = await server.makeKey({ name: 'own', args: ['--project', 'mine'] });
    const others = [];
    for (let i = 0; i < 5; i++) others.push(await api.create('/keys', { name: `after ${i}`, project: 'mine' }));
    const file = path.join(folder, 'own');
    fs.writeFileSync(file, own.key);
    const ended = await json('keys', 'deactivate', '--project', 'mine', '--yes', ...there.slice(0, 3), file, ...there.slice(4));
    assert.deepEqual(ended, { project: 'mine', deactivated: 6 });
    for (const { id } of [own, ...others]) assert.equal((await api.read(`/keys/${id}`)).state, 'deactivated');
    const changes = await done('changes', '--type', 'key.deactivated', '--json', ...here);
    assert.equal(JSON.parse(changes.stdout.trim().split('\n').at(-1)).data.id, own.id);
  });

  test('of a project are turned off in spite of a rate limit, and what was not is counted', async () => {
    const limited = await server.makeKey({ name: 'limited', limits: ['second=3/1'] });
    const file = path.join(folder, 'slow');
    fs.writeFileSync(file, limited.key);
    for (let i = 0; i < 8; i++) await api.create('/keys', { name: `slow ${i}`, project: 'slow' });
    const words = ['keys', 'deactivate', '--project', 'slow', '--yes', ...there.slice(0, 3), file, ...there.slice(4)];
    assert.deepEqual(await json(...words), { project: 'slow', deactivated: 8 });
    // The key may turn off those of its scopes alone: the third one has more.
    for (let i = 0; i < 4; i++) await api.create('/keys', { name: `mixed ${i}`, project: 'mixed', scopes: [i === 2 ? '*' : 'users:read'] });
    const lesser = await server.makeKey({ name: 'lesser', scopes: ['keys:read', 'keys:write', 'users:read'], args: ['--project', 'mixed'] });
    fs.writeFileSync(file, lesser.key);
    const refused = await command('keys', 'deactivate', '--project', 'mixed', '--yes', '--json', ...there.slice(0, 3), file, ...there.slice(4));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /2 of 5 keys of project mixed were deactivated, and then: .*\[insufficient_scope\].*The same command again/);
    assert.deepEqual(JSON.parse(refused.stdout), { project: 'mixed', deactivated: 2 });
  });
});

describe('other commands', () => {
  test('print the audit log, and events and their secrets', async () => {
    const secret = await json('events', 'secret', 'set', 'far', '--format', 'github', ...there);
    assert.deepEqual([secret.source, secret.format], ['far', 'github']);
    const file = path.join(folder, 'secret');
    fs.writeFileSync(file, 'a secret of the source\n');
    await done('events', 'secret', 'set', 'far', '--format', 'github', '--secret-file', file, '--overlap', '1h', ...there);
    await same('events', 'secret', 'show', 'far');
    assert.deepEqual(await json('events', 'secret', 'delete', 'far', ...there), { source: 'far', deleted: true });
    for (let i = 0; i < 30; i++) await api.post('/events/builds', { number: i, text: 'x'.repeat(i * 4) });
    await same('events', 'list');
    await same('events', 'list', '--source', 'builds', '--all');
    assert.deepEqual((await json('events', 'list', '--limit', '2', ...there)).data.map(({ payload }) => payload.number), [29, 28]);
    await same('audit');
    assert.equal((await command('audit', '--verify', ...there)).code, 2);
  });

  test('print changes, and follow them', async () => {
    for (let i = 0; i < 3; i++) await api.create('/users', newUser());
    await same('changes');
    await same('changes', '--type', 'user.*,event_secret.changed', '--after', '2', '--limit', '2');
    const { pagination: { next_after: last } } = await api.read('/changes?after=latest');
    const child = spawn(binary, ['changes', '--after', String(last), '--follow', '--type', 'user.*', '--limit', '2', ...there], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part) => { text += part; });
    const exit = once(child, 'exit');
    await sleep(300); // it asks once a second, and has mostly asked once when they are made; it finds them in either case
    const [one, two] = [await api.create('/users', newUser()), await api.create('/users', newUser())];
    assert.deepEqual(await exit, [0, null]);
    assert.deepEqual([...text.matchAll(/user\.created +user (\d+) {2}by key/g)].map(([, id]) => Number(id)), [one.id, two.id]);
  });

  test('manage webhooks', async () => {
    const made = await json('webhooks', 'create', 'https://hooks.example.com/in', '--type', 'user.*', '--description', 'CRM', ...there);
    assert.match(made.secret, /^whsec_/);
    const id = String(made.id);
    const headers = path.join(folder, 'headers');
    fs.writeFileSync(headers, 'X-Trace: on\n');
    assert.equal((await json('webhooks', 'update', id, '--ordered', '--headers-file', headers, ...there)).ordered, true);
    assert.equal((await json('webhooks', 'disable', id, ...there)).enabled, false);
    await same('webhooks', 'list');
    await same('webhooks', 'show', id);
    assert.equal((await json('webhooks', 'enable', id, ...there)).enabled, true);
    assert.match((await json('webhooks', 'rotate-secret', id, '--overlap', '0', ...there)).secret, /^whsec_/);
    assert.equal((await json('webhooks', 'test', id, ...there)).type, 'webhook.test');
    assert.deepEqual(Object.keys(await json('webhooks', 'replay', id, '--from-sequence', '1', ...there)), ['from_sequence', 'to_sequence']);
    assert.ok('next_before' in (await json('webhooks', 'deliveries', id, ...there)).pagination);
    assert.deepEqual(await json('webhooks', 'delete', id, ...there), { id: made.id, deleted: true });
    const gone = await command('webhooks', 'show', id, ...there);
    assert.deepEqual([gone.code, gone.stdout], [1, '']);
  });

  test('show usage as a table and as bars', async () => {
    const busy = server.client(await server.makeKey({ name: 'busy' }));
    for (let i = 0; i < 20; i++) await busy.get('/users');
    const words = ['keys', 'list', '--json', ...here];
    const { id } = JSON.parse((await done(...words)).stdout).data.find(({ name }) => name === 'busy');
    const counted = async () => (await json('keys', 'usage', String(id), ...here)).data.reduce((sum, { requests }) => sum + requests, 0);
    await until(async () => await counted() >= 20, 'all are counted');
    const from = new Date(Date.now() - 7200_000).toISOString();
    const to = new Date(Date.now() + 3600_000).toISOString();
    const table = await done('keys', 'usage', String(id), '--from', from, '--to', to, ...there);
    assert.match(table.stdout, /^START +REQUESTS +2XX +3XX +4XX +5XX +LIMITED\n/);
    assert.match(table.stdout, /^20\d\d-\d\d-\d\d \d\d:\d\d +20 +20 +0 +0 +0 +0$/m);
    assert.match(table.stderr, /20 requests, 0 of them refused/);
    assert.match((await done('keys', 'usage', String(id), '--chart', ...there)).stdout, /^20\d\d-\d\d-\d\d \d\d:\d\d +20 {2}█+$/m);
    const all = await done('usage', '--key', String(id), ...there);
    assert.match(all.stdout, new RegExp(`^KEY +NAME +REQUESTS +LIMITED\n${id} +busy +20 +0\nall keys +20 +0\n\nSTART `));
    assert.match((await done('usage', '--top', '3', '--chart', ...here)).stdout, /^\d+ .+ +[\d,]+ {2}█/m);
    assert.equal((await json('usage', '--top', '1', '--granularity', 'day', ...there)).data.length, 1);
    assert.equal((await command('usage', '--from', 'soon', ...there)).code, 2);
    assert.equal((await command('usage', '--from', 'soon', ...here)).code, 2);
  });
});

describe('the service elsewhere', () => {
  test('is named by the environment too, and --data is nearer', async () => {
    const env = { ...process.env, LATCHKEY_URL: server.base('https'), LATCHKEY_KEY_FILE: keyFile, LATCHKEY_CA_FILE: server.certificateFile };
    const asked = await run(binary, ['keys', 'show', String(admin.id), '--json'], { env });
    assert.equal(JSON.parse(asked.stdout).name, 'admin');
    const empty = path.join(folder, 'empty');
    const nearer = await run(binary, ['keys', 'list', '--json', '--data', empty], { env }).catch((error) => error);
    assert.match(`${nearer.stdout}${nearer.stderr}`, /"total":0|there is no store|no such/i);
    const both = await command('keys', 'list', '--data', empty, ...there);
    assert.equal(both.code, 2);
    assert.match(both.stderr, /--url excludes --data|--data excludes --url/);
    const file = path.join(folder, 'latchkey.toml');
    fs.writeFileSync(file, `data = "${path.join(folder, 'third')}"\n`);
    const configured = await run(binary, ['keys', 'create', '--name', 'near', '--json', '--config', file], { env });
    assert.equal(JSON.parse(configured.stdout).id, 1, 'the first key of that store');
    assert.equal((await command('keys', 'list', '--config', file, ...there)).code, 2);
  });

  test('is not taken for the URL of a webhook', async () => {
    const made = await json('webhooks', 'create', 'https://hooks.example.com/old', ...here);
    const id = String(made.id);
    const hint = new RegExp(`the URL that the webhook posts to is --new-url: latchkey webhooks update ${id} --new-url https://hooks.example.com/new`);
    const old = ['webhooks', 'update', id, '--url', 'https://hooks.example.com/new'];
    for (const words of [old, [...old, ...here], [...old, '--ordered'], [...old, '--key-file', keyFile]]) {
      const refused = await command(...words);
      assert.equal(refused.code, 2, words.join(' '));
      assert.match(refused.stderr, hint, words.join(' '));
    }
    const nothing = await command('webhooks', 'update', id, ...here);
    assert.equal(nothing.code, 2);
    assert.match(nothing.stderr, /say what to change/);
    assert.equal((await json('webhooks', 'update', id, '--new-url', 'https://hooks.example.com/new', ...there)).url, 'https://hooks.example.com/new');
    assert.match((await done('webhooks', 'update', '--help')).stdout, /--new-url \(--url names the service to ask\)/);
  });

  test('and its key leave standard input to one reader', async () => {
    const place = there.slice(0, 2).concat(there.slice(4));
    const env = 'LATCHKEY_KEY_FILE=-';
    const header = path.join(folder, 'header'); // a header field is a key, too
    fs.writeFileSync(header, `X-API-Key: ${admin.key}\n`);
    for (const [words, input] of [[['events', 'secret', 'set', 'twice', '--secret-file', '-'], 'the secret'],
      [['webhooks', 'create', 'https://hooks.example.com/', '--headers-file', '-'], 'the header fields'], [['keys', 'verify'], 'the key to verify']]) {
      const ended = await commandOf('sh', '-c', 'file=$1; shift; exec env "$@" < "$file"', 'sh', words.includes('create') ? header : keyFile, env, binary, ...words, ...place);
      assert.equal(ended.code, 2, ended.stderr);
      assert.match(ended.stderr, new RegExp(`${input} and the key of --key-file cannot both come from standard input: name a file for one`));
    }
    const piped = await commandOf('sh', '-c', 'file=$1; shift; exec env "$@" < "$file"', 'sh', keyFile, env, binary, 'keys', 'show', '1', ...place);
    assert.equal(piped.code, 0, piped.stderr);
  });

  test('must show a certificate that is trusted', async () => {
    const { code, stderr } = await command('keys', 'list', ...there.slice(0, 4));
    assert.equal(code, 1);
    assert.match(stderr, /has a certificate that is not trusted .*--ca-file/);
    const wrong = await command('keys', 'list', ...there.slice(0, 4), '--ca-file', path.join(folder, 'none'));
    assert.equal(wrong.code, 1);
  });

  test('refuses with detail and request id', async () => {
    const unknown = await command('keys', 'show', '99999', ...there);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /\[not_found\] \(request [A-Za-z0-9_-]+\)$/m);
    const wrong = await command('keys', 'create', '--name', ' ', ...there);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /\/name .*\[validation_failed\] \(request /);
    const hook = String((await json('webhooks', 'create', 'https://hooks.example.com/in', ...there)).id);
    for (const words of [['webhooks', 'replay', hook, '--sequence', '999999'], ['webhooks', 'replay', hook, '--from-sequence', '999999'],
      ['changes', '--after', '999999'], ['keys', 'list', '--project', 'No Project'], ['keys', 'update', '2', '--metadata', `a=${'x'.repeat(17_000)}`]])
      for (const place of [here, there]) assert.equal((await command(...words, ...place)).code, 2, `${words[0]} ${words[1]} ${place[0]}`);
    const stranger = path.join(folder, 'stranger');
    fs.writeFileSync(stranger, 'nothing');
    const refused = await command('keys', 'list', '--url', server.base('https'), '--key-file', stranger, '--ca-file', server.certificateFile);
    assert.match(refused.stderr, /\[key_invalid\]/);
    const reader = path.join(folder, 'reader');
    fs.writeFileSync(reader, `X-API-Key: ${(await server.makeKey({ name: 'reader', scopes: ['users:read'] })).key}\n`);
    const lacking = await command('audit', '--url', server.base('https'), '--key-file', reader, '--ca-file', server.certificateFile);
    assert.equal(lacking.code, 1);
    assert.match(lacking.stderr, /audit:read.*\[insufficient_scope\]/);
  });

  test('is waited for when it limits the key', async () => {
    const limited = path.join(folder, 'limited');
    fs.writeFileSync(limited, (await server.makeKey({ name: 'limited', scopes: ['keys:read', '*'], limits: ['second=1/1'] })).key);
    const words = ['keys', 'show', '1', '--json', '--url', server.base('https'), '--key-file', limited, '--ca-file', server.certificateFile];
    for (const each of await Promise.all([command(...words), command(...words)])) assert.equal(each.code, 0, each.stderr);
  });

  test('that is none is said to be none', async () => {
    const other = http.createServer((request, response) => response.end('<html>hello')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const url = `http://127.0.0.1:${other.address().port}`;
    const words = ['keys', 'list', '--key-file', keyFile];
    const page = await command(...words, '--url', url);
    assert.equal(page.code, 1);
    assert.match(page.stderr, /not a JSON object: is this the address of a latchkey service/);
    other.close();
    await once(other, 'close');
    assert.match((await command(...words, '--url', url)).stderr, /cannot be asked: /);
    assert.match((await command(...words, '--url', 'http://example.com')).stderr, /must begin with https:/);
  });

  test('gets the key over a socket: it is in no command line and no environment', async () => {
    // A server that does not answer, so that the processes can be looked at.
    const silent = http.createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const child = spawn(binary, ['keys', 'list', '--url', `http://127.0.0.1:${silent.address().port}`, '--key-file', keyFile], { stdio: 'ignore' });
    await once(silent, 'request');
    const helper = fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    assert.match(fs.readFileSync(`/proc/${helper}/cmdline`, 'utf8'), /^latchkey-remote\0$/);
    for (const pid of [child.pid, helper]) {
      for (const name of ['cmdline', 'environ']) assert.ok(!fs.readFileSync(`/proc/${pid}/${name}`, 'latin1').includes(admin.key));
    }
    // With the command, while its request is under way.
    child.kill('SIGKILL');
    await once(child, 'exit');
    await until(() => !fs.existsSync(`/proc/${helper}`), 'its helper ends, not only when its request does');
    silent.closeAllConnections();
    silent.close();
  });

  test('the service itself links no client', async () => {
    const linked = await commandOf('ldd', binary);
    assert.doesNotMatch(linked.stdout, /libcurl|libssl\.so\.3/);
    const alone = await commandOf('sh', '-c', '"$0" < /dev/null', path.join(path.dirname(binary), 'helpers/remote/latchkey-remote'));
    assert.equal(alone.code, 2);
    assert.match(alone.stderr, /It is started by such a command/);
  });
});
