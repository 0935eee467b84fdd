// The sandbox of the running service (src/server/process/confine_service.hpp). tests/server/process/confine_test.cpp tests that forbidden calls fail;
// here the service does all its work inside the sandbox, and can be started without it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { childrenOf } from '../helpers/cluster_postgres.mjs';
import { assertStatus, binary, newUser, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';

// A sanitizer's build runs without the filter.
const sanitized = ['__asan_init', '__tsan_init'].some((name) => fs.readFileSync(binary).includes(name));

// The version of Landlock, below 1 if the kernel has none (landlock_create_ruleset is 444 everywhere).
const landlock = Number(execFileSync('perl', ['-e', 'print syscall(444, 0, 0, 1)'], { encoding: 'utf8' }));
const unconfined = sanitized || !(landlock >= 1);

async function reload(server, config) {
  if (config !== undefined) fs.writeFileSync(path.join(path.dirname(server.data), 'latchkey.toml'), config);
  const logOffset = server.stderr.length;
  server.child.kill('SIGHUP');
  for (let i = 0; i < 1000; i += 1) {
    const output = server.stderr.slice(logOffset);
    if (/(reloaded the certificate|nothing was reloaded).*\n/.test(output)) return output;
    await sleep(5);
  }
  throw new Error(`no word of the reload: ${server.stderr.slice(logOffset)}`);
}

const threads = (pid) => fs.readdirSync(`/proc/${pid}/task`);
function status(pid, thread = pid) {
  const lines = fs.readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2)));
}

async function withServer(options, act) {
  const server = await startServer(options);
  try {
    await act(server);
  } finally {
    await server.stop();
  }
}

function assertConfined(pid, thread) {
  const { CapEff, CapPrm, CapInh, CapAmb, NoNewPrivs, Seccomp, Name } = status(pid, thread);
  for (const set of [CapEff, CapPrm, CapInh, CapAmb]) assert.match(set, /^0+$/, Name);
  assert.equal(NoNewPrivs, '1', Name);
  assert.equal(Seccomp, '2', Name);
}

describe('the process', () => {
  test('has no capability, can get none, and is filtered in every thread', { skip: sanitized }, () => withServer({}, (server) => {
    const all = threads(server.pid);
    assert.ok(all.length >= 6, `threads: ${all.length}`);
    for (const thread of all) assertConfined(server.pid, thread);
  }));

  test('and so is the helper that sends to webhooks', { skip: sanitized }, () => withServer({}, async (server) => {
    const [supervisor] = childrenOf(server.pid);
    const helper = await until(() => childrenOf(supervisor).find((each) => status(each).Seccomp === '2'), 'it has a filter');
    for (const thread of threads(helper)) assertConfined(helper, thread);
    assert.equal(fs.statSync(`/proc/${helper}/environ`).uid, 0);
  }));

  test('hides its memory from all but root', { skip: sanitized }, () => withServer({}, (server) => {
    assert.equal(fs.statSync(`/proc/${server.pid}/mem`).uid, 0);
    if (process.getuid() === 0) return;
    assert.throws(() => fs.readFileSync(`/proc/${server.pid}/maps`), /EACCES|EPERM/);
  }));

  test('does all that it must under the filter: writes, reloads, reopens its log, stops', () => withServer(
    { management: '127.0.0.1:0', config: '[http]\nbody_bytes = 65536\n' }, async (server) => {
      const { key } = await server.makeKey();
      const client = server.client(key);
      for (let i = 0; i < 20; i += 1) assertStatus(await client.post('/users', newUser()), 201);
      fs.renameSync(server.log, `${server.log}.1`);
      server.child.kill('SIGHUP');
      await until(() => /reloaded the configuration/.test(server.stderr), 'it is reloaded');
      assertStatus(await client.get('/users'), 200);
      client.close();
      await until(() => fs.existsSync(server.log), 'the log was opened anew');
    },
  ));

  test('reaches no other directory, and says so when a reload names one', { skip: unconfined }, async () => {
    const elsewhere = temporaryFolder();
    await withServer({ config: '', log: null }, async (server) => {
      const tls = path.join(server.data, 'tls');
      for (const name of fs.readdirSync(tls)) fs.copyFileSync(path.join(tls, name), path.join(elsewhere, name));
      for (const config of [
        `access_log = "${elsewhere}/access.log"\n`,
        `[tls]\ncertificate = "${elsewhere}/certificate.pem"\nkey = "${elsewhere}/key.pem"\n`,
      ]) {
        const stderrText = await reload(server, config);
        assert.match(stderrText, /nothing was reloaded.*Permission denied \(a confined service reaches the directories that it was started with; a restart/);
        assertStatus(await server.ask('GET', '/healthz', { scheme: 'http' }), 200);
      }
      assert.ok(!fs.existsSync(path.join(elsewhere, 'access.log')));
    });
    fs.rmSync(elsewhere, { recursive: true });
  });

  test('finds a certificate that was renewed behind links, and its log behind one', async () => {
    const root = temporaryFolder();
    for (const name of ['live', 'archive', 'logs', 'links']) fs.mkdirSync(path.join(root, name));
    await withServer({}, (server) => {
      for (const [source, target] of [['certificate.pem', 'cert'], ['key.pem', 'key']])
        for (const version of [1, 2]) fs.copyFileSync(path.join(server.data, 'tls', source), path.join(root, 'archive', `${target}${version}.pem`));
    });
    // As certbot does: a renewal creates new files and changes the links.
    const link = (version) => ['cert', 'key'].forEach((name) => {
      fs.rmSync(path.join(root, 'live', `${name}.pem`), { force: true });
      fs.symlinkSync(`../archive/${name}${version}.pem`, path.join(root, 'live', `${name}.pem`));
    });
    link(1);
    fs.symlinkSync(path.join(root, 'logs', 'access.log'), path.join(root, 'links', 'log'));
    const config = `access_log = "${root}/links/log"\n[tls]\ncertificate = "${root}/live/cert.pem"\nkey = "${root}/live/key.pem"\n`;
    await withServer({ config, log: null }, async (server) => {
      link(2);
      fs.rmSync(path.join(root, 'archive', 'cert1.pem'));
      fs.renameSync(path.join(root, 'logs', 'access.log'), path.join(root, 'logs', 'access.log.1'));
      assert.doesNotMatch(await reload(server), /nothing was reloaded/);
      assertStatus(await server.ask('GET', '/healthz', { scheme: 'http' }), 200);
      await until(() => fs.statSync(path.join(root, 'logs', 'access.log'), { throwIfNoEntry: false })?.size > 0, 'the log was opened anew');
    });
    fs.rmSync(root, { recursive: true });
  });

  test('is not filtered and can be looked at with confined = false, but has no capability then either', () => withServer(
    { config: 'confined = false\n' }, (server) => {
      const { CapEff, NoNewPrivs, Seccomp } = status(server.pid);
      assert.match(CapEff, /^0+$/);
      assert.equal(NoNewPrivs, '1');
      assert.equal(Seccomp, status(process.pid).Seccomp, 'what it was started with');
      assert.equal(fs.statSync(`/proc/${server.pid}/mem`).uid, process.getuid());
    },
  ));
});
