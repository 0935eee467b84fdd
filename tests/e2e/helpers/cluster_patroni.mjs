// PostgreSQL as it is run for a cluster: two servers under Patroni, of which one is the primary and the other its synchronous
// standby, and etcd, where they agree on who is what. All of Debian, on the loopback interface, in a temporary folder.
//
//   const patroni = await Patroni.begin({ clients: ['one', 'two'] });
//   const cluster = await Cluster.begin(patroni, …);         // each node over proxies of its own: patroni.network('one')
//   const primary = await patroni.primary();
//   await primary.kill();                                    // the machine: Patroni and PostgreSQL
//   await primary.start(); await patroni.redundant();
//
// A leader that is not heard of for five seconds is replaced; Patroni's own default is thirty.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './cluster_harness.mjs';
import { childrenOf, lesserUser, postgresPrograms, signal } from './cluster_postgres.mjs';
import { run, temporaryFolder } from './harness.mjs';
import { TcpProxy } from './tcp_proxy.mjs';

const packages = fileURLToPath(new URL('../../../build/patroni/usr', import.meta.url));
const diskMib = 512;

// Why it cannot be started; false: it can.
export const noPatroni = postgresPrograms && ['etcd', 'patroni'].every((each) => fs.existsSync(path.join(packages, 'bin', each))) ? false :
  'Patroni or etcd is not there; tools/test unpacks them';

async function freePorts(count) {
  const probes = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  await Promise.all(probes.map((each) => once(each, 'listening')));
  const ports = probes.map((each) => each.address().port);
  await Promise.all(probes.map((each) => once(each.close(), 'close')));
  return ports;
}

// A program of the packages as the lesser user, which gets `death` when this process ends, however that does.
function launch(words, { programs, user, folder, death, log }) {
  const output = fs.openSync(log, 'a');
  const identity = user.uid === undefined ? [] : ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
  const child = spawn('setpriv', [...identity, '--pdeathsig', death, ...words], { cwd: folder, stdio: ['ignore', output, output],
    env: { PATH: `${programs}/bin:${process.env.PATH}`, PYTHONPATH: `${programs}/lib/python3/dist-packages`, HOME: folder, LC_ALL: 'C.UTF-8' } });
  fs.closeSync(output);
  return child;
}

const descendantsOf = (pid) => childrenOf(pid).flatMap((each) => [each, ...descendantsOf(each)]);
const runs = (child) => child !== undefined && child.exitCode === null && child.signalCode === null;

// One of the two: Patroni, and the PostgreSQL that it starts.
class Member {
  constructor(patroni, name, [port, restPort]) {
    Object.assign(this, { patroni, name, port, restPort });
    this.folder = path.join(patroni.folder, name);
    this.data = path.join(this.folder, 'data');
    this.log = path.join(patroni.folder, `${name}.log`);
    fs.mkdirSync(this.folder);
  }

  configuration(etcdPort) {
    const { name, port, restPort, folder, data } = this;
    const own = (number) => `127.0.0.1:${number}`;
    const parameters = { wal_keep_size: '32MB', min_wal_size: '4MB', max_wal_size: '32MB', shared_buffers: '32MB', fsync: 'off',
      jit: 'off', unix_socket_directories: folder };
    return {
      scope: 'latchkey', name,
      restapi: { listen: own(restPort), connect_address: own(restPort) },
      // By etcd's second protocol: over the third, Patroni 3.0 as a leader that stood still takes the lock from its successor,
      // whose writes are lost.
      etcd: { hosts: own(etcdPort) },
      bootstrap: {
        dcs: { ttl: 5, loop_wait: 1, retry_timeout: 2, maximum_lag_on_failover: 1 << 20, synchronous_mode: true,
          postgresql: { use_pg_rewind: true, parameters: { max_connections: 60, wal_log_hints: 'on' } } },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }, { 'wal-segsize': '1' }, 'no-sync'],
      },
      postgresql: {
        listen: own(port), connect_address: own(port), data_dir: data, bin_dir: postgresPrograms, parameters,
        pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
        authentication: { superuser: { username: 'owner' }, replication: { username: 'standby' } },
        remove_data_directory_on_rewind_failure: true, remove_data_directory_on_diverged_timelines: true,
      },
    };
  }

  // It goes on in the background: with its data, or with those of the primary.
  start() {
    assert.ok(!runs(this.child));
    const { folder, programs, user } = this.patroni;
    this.child = launch(['patroni', path.join(folder, `${this.name}.json`)], { programs, user, folder: this.folder, death: 'SIGTERM', log: this.log });
  }

  // The id of its PostgreSQL, which is no child of Patroni's; undefined: it does not run.
  postmaster() {
    try {
      const pid = Number(fs.readFileSync(path.join(this.data, 'postmaster.pid'), 'utf8').split('\n')[0]);
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(this.data) ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  server() {
    const postmaster = this.postmaster();
    return postmaster === undefined ? [] : [postmaster, ...descendantsOf(postmaster)];
  }

  supervisor() {
    return runs(this.child) ? [this.child.pid, ...descendantsOf(this.child.pid)] : [];
  }

  // As when its machine fails.
  async kill() {
    const { child } = this;
    this.signalAll('SIGSTOP'); // so that nothing is forked meanwhile
    this.signalAll('SIGKILL');
    if (runs(child)) await once(child, 'exit');
    await until(() => this.postmaster() === undefined, `${this.name} has ended`);
  }

  async killServer() {
    for (const each of this.server()) signal(each, 'SIGKILL');
  }

  signalAll(name) {
    for (const each of [...this.supervisor(), ...this.server()]) signal(each, name);
  }

  // Nothing of it runs. `supervisor`: Patroni alone, as when it does not reach etcd.
  pause({ supervisor = false } = {}) {
    this.paused = supervisor ? this.supervisor() : [...this.supervisor(), ...this.server()];
    for (const each of this.paused) signal(each, 'SIGSTOP');
  }

  resume() {
    for (const each of this.paused ?? []) signal(each, 'SIGCONT');
    this.paused = null;
  }

  // The status of a page of Patroni's: 200 for what it asks.
  async look(page) {
    try {
      return (await fetch(`http://127.0.0.1:${this.restPort}${page}`, { signal: AbortSignal.timeout(1000) })).status;
    } catch {
      return 0;
    }
  }

  // A file system of its own, which can be full; false: this process may not mount one.
  mount() {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMib}m,mode=0755`, 'tmpfs', this.folder], { stdio: 'ignore' });
      this.mounted = true;
    } catch {
      this.mounted = false;
    }
    return this.mounted;
  }

  unmount() {
    if (this.mounted) execFileSync('umount', ['--lazy', this.folder]);
    this.mounted = false;
  }

  fillDisk() {
    assert.ok(this.mounted, 'it has a disk of its own');
    const file = fs.openSync(path.join(this.folder, 'ballast'), 'w');
    const mib = Buffer.alloc(1 << 20);
    try {
      for (let size = mib.length; size >= 4096; size /= 2) this.fillBy(file, mib.subarray(0, size));
    } finally {
      fs.closeSync(file);
    }
  }

  fillBy(file, bytes) {
    try {
      for (let i = 0; i < 2 * diskMib; i += 1) assert.equal(fs.writeSync(file, bytes), bytes.length);
    } catch (error) {
      assert.ok(error.code === 'ENOSPC' || error.code === 'ERR_ASSERTION', error);
    }
  }

  emptyDisk() {
    fs.rmSync(path.join(this.folder, 'ballast'), { force: true });
  }
}

export class Patroni {
  // `clients`: the names of those that have a way of their own to it. `mounts`: each server has a disk of its own.
  static async begin({ clients = [], mounts = false } = {}) {
    assert.equal(noPatroni, false, noPatroni);
    const patroni = new Patroni();
    patroni.folder = temporaryFolder();
    patroni.user = lesserUser();
    patroni.programs = path.join(patroni.folder, 'programs'); // that user may not reach the checkout
    fs.cpSync(packages, patroni.programs, { recursive: true });
    const [etcdPort, peerPort, ...ports] = await freePorts(6);
    patroni.members = ['east', 'west'].map((name, i) => new Member(patroni, name, ports.slice(2 * i)));
    process.prependListener('exit', () => patroni.end()); // before folders are removed
    patroni.prepare(etcdPort, mounts);
    patroni.startEtcd(etcdPort, peerPort);
    for (const each of patroni.members) each.start();
    await patroni.redundant();
    await patroni.ask('postgres', 'CREATE ROLE latchkey LOGIN');
    patroni.networks = new Map();
    for (const each of clients) patroni.networks.set(each, await Promise.all(patroni.members.map(({ port }) => TcpProxy.begin(port))));
    return patroni;
  }

  prepare(etcdPort, mounts) {
    const { uid, gid } = this.user;
    fs.chmodSync(this.folder, 0o755);
    this.canFillDisks = mounts && this.members.every((each) => each.mount());
    for (const each of this.members) {
      fs.writeFileSync(path.join(this.folder, `${each.name}.json`), JSON.stringify(each.configuration(etcdPort)));
    }
    if (uid !== undefined) for (const each of [this.folder, ...this.members.map(({ folder }) => folder)]) fs.chownSync(each, uid, gid);
  }

  startEtcd(port, peerPort) {
    const [clientUrl, peerUrl] = [port, peerPort].map((each) => `http://127.0.0.1:${each}`);
    this.etcd = launch(['etcd', '--enable-v2', '--name', 'only', '--data-dir', path.join(this.folder, 'etcd'), '--listen-client-urls', clientUrl,
      '--advertise-client-urls', clientUrl, '--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl,
      '--initial-cluster', `only=${peerUrl}`], { programs: this.programs, user: this.user, folder: this.folder, death: 'SIGKILL', log: path.join(this.folder, 'etcd.log') });
  }

  // The connection string of a client, through its proxies; without one, without them.
  addressFor(client, database) {
    const ports = this.networks.get(client)?.map(({ port }) => port) ?? this.members.map(({ port }) => port);
    return `host=${ports.map(() => '127.0.0.1').join(',')} port=${ports.join(',')} user=latchkey dbname=${database} target_session_attrs=read-write`;
  }

  // What a client's packets go through: {cut, hold, mend}.
  network(client) {
    const proxies = this.networks.get(client);
    return Object.fromEntries(['cut', 'hold', 'mend'].map((deed) => [deed, () => proxies.forEach((each) => each[deed]())]));
  }

  async ask(database, text) {
    const ports = this.members.map(({ port }) => port);
    const { stdout } = await run(path.join(postgresPrograms, 'psql'), ['-d', `host=${ports.map(() => '127.0.0.1').join(',')} port=${ports.join(',')} ` +
      `user=owner dbname=${database} target_session_attrs=read-write connect_timeout=2`, '-qAtX', '-v', 'ON_ERROR_STOP=1', '-c', text]);
    return stdout.trim();
  }

  async makeDatabase(name) {
    await this.ask('postgres', `CREATE DATABASE ${name} OWNER latchkey`);
    return this.addressFor(undefined, name);
  }

  async primary() {
    const isLeader = await Promise.all(this.members.map(async (each) => (await each.look('/primary')) === 200));
    return this.members[isLeader.indexOf(true)];
  }

  // Until one is the primary and the other may replace it.
  async redundant() {
    return until(async () => {
      const primary = await this.primary();
      const standby = this.members.find((each) => each !== primary);
      if (primary === undefined || (await standby.look('/synchronous')) !== 200) return false;
      return (await this.ask('postgres', "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'")
        .catch(() => '')) === '1';
    }, `there is a primary and a synchronous standby (logs in ${this.folder})`, 90_000);
  }

  // Ends everything at once.
  end() {
    for (const each of this.members) {
      each.signalAll('SIGKILL');
      each.unmount();
    }
    if (runs(this.etcd)) this.etcd.kill('SIGKILL');
  }
}
