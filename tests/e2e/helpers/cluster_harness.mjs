// Starts clusters: nodes over one PostgreSQL (cluster_postgres.mjs).
//
//   const cluster = await Cluster.begin(postgres, { leaseSeconds: 30 });
//   const [first, second] = cluster.nodes;                  // they serve; `cluster.key` may do everything
//   const token = tokenOf(await first.client().post('/users', newUser()));
//   await second.stop(); await second.start();              // the same data, at another address
//   second.empty();                                         // between them: it joins anew
//   await cluster.assertEqual();                            // every node has the state of the cluster
//   second.disk.set({ fallocate: 'ENOSPC' });               // with `disks: true`: see disk_faults.mjs
//   await cluster.stop();

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { once } from 'node:events';
import { childrenOf, nameOf, signal } from './cluster_postgres.mjs';
import { Disk } from './disk_faults.mjs';
import { assertStatus, binary, commandOf, startServer, temporaryFolder, until as waitUntil } from './harness.mjs';

export const consistent = (token) => ({ headers: { 'Consistency-Token': token } });

export function tokenOf(answer) {
  const token = answer.headers.get('consistency-token');
  assert.match(token ?? '', /^[1-9][0-9]*$/, `the answer to a write has a Consistency-Token: ${answer.status} ${answer.body}`);
  return token;
}

// The posts of what assertEqual returned.
export function postsOf(exported) {
  return exported.split('---\n')[1].split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

// Waits as `until` of harness.mjs does, and returns how many milliseconds that took.
export async function until(look, label, limit = 15_000) {
  const start = performance.now();
  await waitUntil(look, label, limit);
  return Math.round(performance.now() - start);
}

// The program of another version, 'next' or 'previous', as it would be installed: beside its helper.
export function installVersion(name) {
  const build = path.join(path.dirname(binary), '..');
  const folder = temporaryFolder();
  fs.copyFileSync(path.join(build, `tests/e2e/latchkey-${name}`), path.join(folder, 'latchkey'));
  fs.symlinkSync(path.join(build, 'src/helpers/replicate/latchkey-replicate'), path.join(folder, 'latchkey-replicate'));
  return path.join(folder, 'latchkey');
}

// Whether each thread of a process stands still.
const isStopped = (pid) => fs.readdirSync(`/proc/${pid}/task`)
  .every((thread) => /\) [Tt] /.test(fs.readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')));

export class Node {
  constructor(cluster, name, folder = name) {
    Object.assign(this, { cluster, name, program: cluster.program, server: null, leaseSeconds: cluster.leaseSeconds });
    this.folder = path.join(cluster.folder, folder);
    this.data = path.join(this.folder, 'data');
    this.configuration = path.join(this.folder, 'latchkey.toml');
    this.clients = [];
    fs.mkdirSync(this.data, { recursive: true, mode: 0o700 });
    if (cluster.disks) this.disk = new Disk(this.data);
    this.configure();
  }

  configure() {
    const { engine, database, postgres } = this.cluster;
    const address = engine.addressFor?.(this.name, database) ?? postgres; // its own way there
    const { engineSettings, settings } = this.cluster;
    this.settings = `[cluster]\npostgres = "${address}"\nname = "${this.name}"\nlease_seconds = ${this.leaseSeconds}\n`
      + `${engineSettings}[stop]\ngrace_seconds = 3\n${settings}`;
    fs.writeFileSync(this.configuration, this.settings);
  }

  // Of its data, master.key stays alone.
  empty() {
    const names = fs.readdirSync(this.data).filter((name) => name !== 'master.key');
    for (const name of names) fs.rmSync(path.join(this.data, name), { recursive: true });
  }

  takeMasterKey(from) {
    fs.copyFileSync(path.join(from.data, 'master.key'), path.join(this.data, 'master.key'));
  }

  // Until it serves; `ready: false`: until it listens.
  async start({ ready = true } = {}) {
    this.server = await startServer({ data: this.data, config: this.settings, listen: ['http://127.0.0.1:0'], management: '127.0.0.1:0',
      program: this.program, env: this.disk?.env });
    if (ready) await this.ready();
    return this;
  }

  async ready() {
    await until(async () => (await this.look('/readyz')).status === 200, `${this.name} is ready`);
  }

  client(key = this.cluster.key) {
    const client = this.server.client(key, { scheme: 'http' });
    this.clients.push(client);
    return client;
  }

  ask(method, target, options = {}) {
    return this.server.ask(method, `/api/v1${target}`, { scheme: 'http', key: this.cluster.key, ...options });
  }

  // A page of the management listener: {status, body}.
  async look(target) {
    const [, host, port] = /management on ([0-9.]+):([0-9]+)/.exec(this.server.stderr);
    const [answer] = await once(http.get({ host, port, path: target, agent: false }), 'response');
    return { status: answer.statusCode, body: Buffer.concat(await answer.toArray()).toString() };
  }

  // A command of the program on this node's store.
  command(...words) {
    return commandOf(this.program, ...words, '--config', this.configuration, '--data', this.data);
  }

  async done(...words) {
    const { code, stdout, stderr } = await this.command(...words);
    assert.equal(code, 0, `${this.name}: ${words.join(' ')}: ${stderr}`);
    return stdout;
  }

  async status() {
    return JSON.parse(await this.done('cluster', 'status', '--json'));
  }

  // The service, the supervisor of the helper that reaches PostgreSQL, and that helper.
  processes() {
    const supervisor = childrenOf(this.server.pid).find((each) => nameOf(each) === 'super-replicate');
    assert.ok(supervisor, `${this.name} has a supervisor`);
    const helper = childrenOf(supervisor).find((each) => nameOf(each) === 'latchkey-replic');
    return { service: this.server.pid, supervisor, helper };
  }

  pause() {
    this.paused = Object.values(this.processes()).filter(Boolean);
    for (const each of this.paused) signal(each, 'SIGSTOP');
    // A thread that runs stops some time after the signal, on a busy machine milliseconds later.
    while (!this.paused.every(isStopped));
  }

  resume() {
    for (const each of this.paused ?? []) signal(each, 'SIGCONT');
    this.paused = null;
  }

  // From now on this program has its data.
  async replace(program) {
    const { server } = this;
    this.server = null; // no more is sent to it
    this.closeClients();
    await server.stop();
    this.program = program;
    await this.start();
  }

  closeClients() {
    for (const each of this.clients.splice(0)) each.close();
  }

  async kill() {
    this.closeClients();
    await this.server.kill();
    this.server = null;
  }

  async stop() {
    this.closeClients();
    this.resume();
    await this.server?.stop();
    this.server = null;
  }
}

export class Cluster {
  // `engineSettings`: further lines of [cluster]; `settings`: tables after it.
  static async begin(postgres, {
    leaseSeconds = 30, names = ['one', 'two', 'three'], disks = false, engineSettings = '', settings = '', program = binary,
  } = {}) {
    const cluster = new Cluster();
    Object.assign(cluster, { engine: postgres, disks, engineSettings, settings, program });
    cluster.database = `c${crypto.randomBytes(6).toString('hex')}`;
    cluster.postgres = await postgres.makeDatabase(cluster.database);
    cluster.leaseSeconds = leaseSeconds;
    cluster.folder = temporaryFolder();
    cluster.nodes = names.map((name) => new Node(cluster, name));
    const [first, ...others] = cluster.nodes;
    await first.done('cluster', 'init');
    cluster.key = JSON.parse(await first.done('keys', 'create', '--name', 'all', '--scope', '*', '--unlimited', '--json')).key;
    for (const each of others) each.takeMasterKey(first);
    await Promise.all(cluster.nodes.map((each) => each.start()));
    return cluster;
  }

  addNode(name) {
    const node = new Node(this, name);
    this.nodes.push(node);
    return node;
  }

  // A key that every node knows.
  async makeKey(more = {}) {
    const body = { name: 'short-lived', scopes: ['users:read'], rate_limits: [], ...more };
    const answer = await this.nodes[0].ask('POST', '/keys', { body });
    assertStatus(answer, 201);
    for (const each of this.nodes) assertStatus(await each.ask('GET', '/users?limit=1', consistent(tokenOf(answer))), 200);
    return answer.json;
  }

  // What every node has: its records against PostgreSQL's, its own rules, and the posts as clients would see them.
  async assertEqual(nodes = this.nodes) {
    const exports = [];
    for (const each of nodes) {
      await each.done('cluster', 'check');
      await each.done('check');
      const output = await each.done('export', path.join(each.folder, 'users'), path.join(each.folder, 'posts'), '--force', '--quiet');
      exports.push(output + ['users', 'posts'].map((name) => fs.readFileSync(path.join(each.folder, name), 'utf8')).join('---\n'));
    }
    for (const each of exports) assert.equal(each, exports[0], 'the exports of all nodes are the same');
    return exports[0];
  }

  async stop() {
    await Promise.all(this.nodes.map((each) => each.stop()));
  }
}
