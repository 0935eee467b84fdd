// A wrong clock, ahead and behind, under a running server and over restarts: keys stay expired, a leap deletes nothing, and
// a store that was written in the future is refused until `reset-time` has repaired it.
//
// The clock is changed below the program, by faults.c (ninja -C BUILD tests/e2e/faults.so).

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { assertStatus, binary, newUser, run, sleep, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { theirClock } from '../helpers/wire.mjs';

const library = path.join(path.dirname(binary), '../tests/e2e/faults.so');
const skip = fs.existsSync(library) ? false : `there is no ${library}`;
const hour = 3600;
const day = 24 * hour;

// A machine with its own clock and one data directory.
class Machine {
  constructor() {
    this.data = path.join(temporaryFolder(), 'data');
    this.file = path.join(temporaryFolder(), 'faults');
    theirClock.ahead = 0;
    fs.writeFileSync(this.file, Int32Array.of(0, 0, 0, 0, 0, -1, 0));
    this.env = { LD_PRELOAD: library, LATCHKEY_DISK_FAULTS: this.file };
  }

  // Sets the clock so many seconds ahead, from now on and in every process.
  set(seconds) {
    const fd = fs.openSync(this.file, 'r+');
    fs.writeSync(fd, Int32Array.of(seconds), 0, 4, 24);
    fs.closeSync(fd);
    theirClock.ahead = seconds;
  }

  now() { return Date.now() + theirClock.ahead * 1000; }

  serve(changes = {}) {
    return startServer({ data: this.data, env: this.env, listen: ['http://127.0.0.1:0'], ...changes });
  }

  // {code, stdout, stderr}; a command that does not end is an error.
  async command(...words) {
    try {
      const result = await run(binary, [...words, '--data', this.data], { env: { ...process.env, ...this.env }, timeout: 10_000 });
      return { code: 0, ...result };
    } catch (error) {
      if (error.killed) throw new Error(`${words.join(' ')} did not end: ${error.stderr}`);
      return { code: error.code, stdout: error.stdout, stderr: error.stderr };
    }
  }

  async json(...words) {
    const { code, stdout, stderr } = await this.command(...words, '--json');
    assert.equal(code, 0, stdout + stderr);
    return JSON.parse(stdout);
  }

  key(name, ...more) {
    return this.json('keys', 'create', '--name', name, '--scope', '*', '--unlimited', ...more);
  }
}

const ask = (server, key) => server.client(key, { scheme: 'http' }).get('/users?limit=1');
const near = (text, time, tolerance = 30_000) => assert.ok(Math.abs(Date.parse(text) - time) < tolerance, `${text} is not about ${new Date(time).toISOString()}`);

describe('a clock that is set back', { skip }, () => {
  for (const end of ['stop', 'kill']) {
    test(`revives no key that had expired or was rotated (${end})`, async () => {
      const machine = new Machine();
      const admin = await machine.key('admin');
      const temporary = await machine.key('temporary', '--expires-in', '1h');
      let server = await machine.serve();
      const old = await machine.key('old');
      assertStatus(await server.client(admin, { scheme: 'http' }).post(`/keys/${old.id}/rotate`, { overlap_seconds: 600 }), 201);
      for (const key of [temporary, old]) assertStatus(await ask(server, key), 200);

      machine.set(2 * hour);
      assertStatus(await ask(server, temporary), 403, 'key_expired');
      assertStatus(await ask(server, old), 403, 'key_deactivated');
      // Every write stores the time; a stop writes it too.
      if (end === 'kill') assertStatus(await server.client(admin, { scheme: 'http' }).post('/users', newUser()), 201);
      await server[end]();
      machine.set(0);
      server = await machine.serve();
      assertStatus(await ask(server, admin), 200);
      assertStatus(await ask(server, temporary), 403, 'key_expired');
      assertStatus(await ask(server, old), 403, 'key_deactivated');
      const listed = await machine.json('keys', 'list');
      const states = Object.fromEntries(listed.data.map(({ id, state }) => [id, state]));
      assert.deepEqual([states[admin.id], states[temporary.id], states[old.id]], ['active', 'expired', 'deactivated']);
      await server.stop();
    });
  }

  test('lets `keys deactivate --project` end, where a rotation ended by the time of the store alone', async () => {
    const machine = new Machine();
    const { id } = await machine.key('old', '--project', 'shop');
    await machine.json('keys', 'rotate', String(id), '--overlap', '10h');
    machine.set(20 * hour);
    await machine.key('later');
    machine.set(0);
    const outcome = await machine.json('keys', 'deactivate', '--project', 'shop');
    assert.equal(outcome.deactivated, 1, 'the successor; the old one is off since its rotation ended');
    // Created at store time, so that it is not created expired.
    const short = await machine.key('short', '--expires-in', '1h');
    assert.equal(Date.parse(short.expires_at) - Date.parse(short.created_at) > hour * 1000 - 5000, true);
    assert.equal(short.state, 'active');
  });
});

describe('a clock that leaps ahead', { skip }, () => {
  test('under a running server is not trusted, and leaves nothing in the store', async () => {
    const machine = new Machine();
    const admin = await machine.key('admin');
    const temporary = await machine.key('temporary', '--expires-in', '30d');
    let server = await machine.serve({ management: '127.0.0.1:0' });
    let api = server.client(admin, { scheme: 'http' });
    const secret = crypto.randomBytes(32);
    assertStatus(await api.put('/events/shop/secret', { secret: `whsec_${secret.toString('base64')}` }), 201);
    const send = () => {
      const id = crypto.randomUUID();
      const body = '{"any":1}';
      const time = String(Math.floor(machine.now() / 1000));
      const mac = crypto.createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64');
      return api.post('/events/shop', body, { headers: { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${mac}` } });
    };
    assertStatus(await send(), 202);

    machine.set(400 * day);
    const leapt = await api.get('/users?limit=1');
    assertStatus(leapt, 200);
    near(leapt.headers.get('date'), machine.now());
    assertStatus(await send(), 202); // senders sign by their own clocks, not by the time of our store
    assertStatus(await ask(server, temporary), 200);
    near((await api.create('/users', newUser())).created_at, Date.now());
    assert.equal((await api.read('/events')).data.length, 2);
    const used = async () => (await api.read(`/keys/${admin.id}/usage?granularity=hour`)).data.some(({ requests }) => requests > 0);
    await until(used, 'usage is there');
    const otherKey = await machine.key('beside', '--expires-in', '1h');
    near(otherKey.created_at, Date.now());
    assertStatus(await ask(server, otherKey), 200);
    await server.stop();

    machine.set(0);
    server = await machine.serve();
    api = server.client(admin, { scheme: 'http' });
    assert.equal((await api.read('/events')).data.length, 2);
    for (const key of [temporary, otherKey]) assertStatus(await ask(server, key), 200);
    await server.stop();
    assert.equal((await machine.command('check')).code, 0);
  });

  test('before a start deletes nothing, and `reset-time` mends what was written', async () => {
    const machine = new Machine();
    const admin = await machine.key('admin');
    let server = await machine.serve();
    let api = server.client(admin, { scheme: 'http' });
    assertStatus(await api.post('/events/shop', { first: true }), 202);
    assertStatus(await api.post('/users', newUser(), { headers: { 'Idempotency-Key': 'once' } }), 201);
    await sleep(6000); // what time brings about is looked for every few seconds, and there is nothing that shows it
    await server.stop();

    machine.set(400 * day);
    server = await machine.serve();
    assert.match(server.stderr, /400 days and 0 hours before this machine's clock/);
    api = server.client(admin, { scheme: 'http' });
    const late = await api.create('/keys', { name: 'late', scopes: ['users:read'], expires_in: 30 * day, rate_limits: [] });
    near(late.created_at, machine.now());
    assertStatus(await api.post('/events/shop', { second: true }), 202);
    for (let i = 0; i < 3; i += 1) await api.create('/users', newUser());
    assert.equal((await api.read('/events')).data.length, 2, 'the old one is still there');
    await server.stop();

    machine.set(0);
    const both = /was last written at \d{4}-[^ ]+Z, 399 days and 23 hours ahead of this machine's clock, \d{4}-[^ ]+Z: .*latchkey reset-time/;
    await assert.rejects(machine.serve(), both);
    for (const words of [['keys', 'create', '--name', 'no'], ['keys', 'list'], ['keys', 'deactivate', '--project', 'default'],
      ['seed', '--users', '1', '--posts', '0'], ['import', '/dev/null']]) {
      const refusal = await machine.command(...words);
      assert.equal(refusal.code, 1, words.join(' '));
      assert.match(refusal.stderr, both);
    }
    const checked = await machine.command('check');
    assert.equal(checked.code, 1);
    assert.match(checked.stderr, both);
    assert.equal((await machine.command('backup', path.join(path.dirname(machine.data), 'copy.mdb'))).code, 0);
    assert.equal((await machine.command('audit', '--verify')).code, 0);

    const trial = await machine.json('reset-time', '--dry-run');
    assert.deepEqual([trial.dry_run, trial.changed.users, trial.changed.events, trial.changed.keys], [true, 3, 1, 1]);
    await assert.rejects(machine.serve(), both);
    const result = await machine.command('reset-time');
    assert.equal(result.code, 0, result.stderr);
    assert.match(result.stderr, /set the time of the store from .* to .*; changed timestamps: 3 users, 1 key, .*1 event\b/);

    server = await machine.serve();
    api = server.client(admin, { scheme: 'http' });
    const events = (await api.read('/events')).data;
    assert.equal(events.length, 2);
    near(events[1].received_at, Date.now(), 120_000);
    const mended = await api.read(`/keys/${late.id}`);
    near(mended.expires_at, Date.now() + 30 * day * 1000, 120_000);
    assertStatus(await ask(server, late), 200);
    const usage = await api.read(`/keys/${admin.id}/usage?granularity=hour`);
    assert.ok(usage.data.reduce((sum, { requests }) => sum + requests, 0) >= 8, JSON.stringify(usage));
    const running = await machine.command('reset-time');
    assert.equal(running.code, 1);
    assert.match(running.stderr, /process/);
    await server.stop();
    const whole = await machine.command('check');
    assert.equal(whole.code, 0, whole.stderr);
  });
});
