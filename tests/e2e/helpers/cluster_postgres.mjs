// PostgreSQL for the tests: a server of its own in a temporary folder, on a Unix socket alone, for a role without rights but
// to its databases.
//
//   const postgres = await Postgres.begin();
//   const text = await postgres.makeDatabase('latchkey');   // for cluster.postgres
//   await postgres.kill();                                  // kill -9 of the server and all of its processes
//   await postgres.start();
//   await postgres.demandPassword('…');                     // of the role, from now on
//
// As root it runs as another user, since it refuses to be root. Processes are ended by their ids only.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { run, sleep, temporaryFolder } from './harness.mjs';

const home = '/usr/lib/postgresql';
export const port = 5432; // a part of the socket's name: no other server sees it

// The folder of the newest server's programs; undefined: there is none.
export const postgresPrograms = (fs.existsSync(home) ? fs.readdirSync(home) : [])
  .map((version) => path.join(home, version, 'bin')).filter((folder) => fs.existsSync(path.join(folder, 'initdb'))).sort().at(-1);

// The user that it runs as, where this one is root.
export function lesserUser() {
  if (process.getuid() !== 0) return {};
  const [, , uid, gid] = fs.readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':')).find(([name]) => name === 'nobody');
  return { uid: Number(uid), gid: Number(gid) };
}

const parentOf = (pid) => Number(/^PPid:\s+([0-9]+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

// The ids of a process's children, of those alone.
export const nameOf = (pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
export function childrenOf(pid) {
  return fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).map(Number).filter((each) => {
    try {
      return parentOf(each) === pid;
    } catch {
      return false; // it has ended
    }
  });
}

export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

export class Postgres {
  static async begin() {
    assert.ok(postgresPrograms, 'PostgreSQL is not installed; tools/test installs it');
    const server = new Postgres();
    server.folder = temporaryFolder();
    server.user = lesserUser();
    fs.chmodSync(server.folder, 0o755); // root without its rights, as helpers have it, has to reach the socket
    if (server.user.uid !== undefined) fs.chownSync(server.folder, server.user.uid, server.user.gid);
    await run(path.join(postgresPrograms, 'initdb'), ['-D', path.join(server.folder, 'data'), '-U', 'owner', '-A', 'trust', '--no-sync',
      '-E', 'UTF8', '--no-locale'], { ...server.user, cwd: server.folder });
    await server.start();
    await server.ask('postgres', 'CREATE ROLE latchkey LOGIN');
    return server;
  }

  get runs() {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  // A server that was killed recovers first. Without fsync, since the system goes on: what was written is there.
  async start() {
    if (this.runs) return;
    const log = fs.openSync(path.join(this.folder, 'log'), 'a');
    this.child = spawn(path.join(postgresPrograms, 'postgres'), ['-D', path.join(this.folder, 'data'), '-k', this.folder, '-p', String(port),
      '-c', 'listen_addresses=', '-c', 'fsync=off', '-c', 'shared_buffers=32MB', '-c', 'max_connections=60', '-c', 'autovacuum=off'],
    { ...this.user, cwd: this.folder, stdio: ['ignore', log, log] });
    fs.closeSync(log);
    const { child } = this;
    process.on('exit', () => child.kill('SIGKILL')); // its processes end when they notice
    for (let tries = 0; ; tries += 1) {
      try {
        await this.ask('postgres', 'SELECT 1');
        return;
      } catch (error) {
        assert.equal(child.exitCode, null, `PostgreSQL ended: ${fs.readFileSync(path.join(this.folder, 'log'), 'utf8').slice(-1000)}`);
        if (tries === 1000) throw error;
        await sleep(20);
      }
    }
  }

  // The rows of one statement as text, columns divided by `|`.
  async ask(database, text, role = 'owner') {
    const { stdout } = await run(path.join(postgresPrograms, 'psql'), ['-h', this.folder, '-p', String(port), '-U', role, '-d', database,
      '-wqAtX', '-v', 'ON_ERROR_STOP=1', '-c', text]);
    return stdout.trim();
  }

  async makeDatabase(name) {
    await this.ask('postgres', `CREATE DATABASE ${name} OWNER latchkey`);
    return `host=${this.folder} port=${port} user=latchkey dbname=${name}`;
  }

  async demandPassword(password) {
    const file = path.join(this.folder, 'data/pg_hba.conf');
    const rules = fs.readFileSync(file, 'utf8');
    const rule = 'local all latchkey scram-sha-256\n'; // the first that fits counts
    if (!rules.startsWith(rule)) fs.writeFileSync(file, rule + rules);
    const literal = password.replaceAll("'", "''");
    await this.ask('postgres', `SET password_encryption = 'scram-sha-256'; ALTER ROLE latchkey PASSWORD '${literal}'`);
    await this.ask('postgres', 'SELECT pg_reload_conf()');
    for (let tries = 0; ; tries += 1) {
      const message = await this.ask('postgres', 'SELECT 1', 'latchkey').catch(({ stderr }) => stderr);
      if (/no password supplied|authentication failed/.test(message)) return;
      assert.ok(tries < 500, `the password is demanded: ${message}`);
      await sleep(20);
    }
  }

  // As a machine that loses power, but for what the system still writes.
  async kill() {
    if (!this.runs) return;
    const others = childrenOf(this.child.pid);
    this.child.kill('SIGKILL');
    for (const each of others) signal(each, 'SIGKILL');
    await once(this.child, 'exit');
  }

  // A copy of its data, while it does not run; and the way back to it.
  save() {
    const data = path.join(this.folder, 'data');
    execFileSync('cp', ['-a', data, `${data}.saved`]);
  }

  restore() {
    const data = path.join(this.folder, 'data');
    fs.rmSync(data, { recursive: true });
    fs.renameSync(`${data}.saved`, data);
  }

  // Nothing of it runs, while its connections stay.
  pause() {
    this.paused = [this.child.pid, ...childrenOf(this.child.pid)];
    for (const each of this.paused) signal(each, 'SIGSTOP');
  }

  resume() {
    for (const each of this.paused ?? []) signal(each, 'SIGCONT');
    this.paused = null;
  }

  async stop() {
    this.resume();
    if (!this.runs) return;
    this.child.kill('SIGQUIT');
    await once(this.child, 'exit');
  }
}
