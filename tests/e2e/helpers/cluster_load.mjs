// Clients that write to all nodes of a cluster and keep account: each write was acknowledged, refused, or its fate is not
// known because the connection broke. Afterwards the stores must fit the account.
//
//   const load = new Load(cluster, { writersPerNode: 4 });
//   await load.prepare();
//   load.begin(); … nodes are killed … await load.end();
//   load.check(postsOf(await cluster.assertEqual()));

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { postsOf, tokenOf, until } from './cluster_harness.mjs';
import { generator, newUser, sleep } from './harness.mjs';

const broken = /the connection ended|ECONNREFUSED|ECONNRESET|EPIPE/;

export class Load {
  // `mixed`: records of all kinds, else posts alone. `pause`: of a writer after each write, in milliseconds.
  // `patience`: how long a write may take until it is acknowledged.
  constructor(cluster, { writersPerNode = 3, mixed = true, pause = 3, patience = 20_000 } = {}) {
    Object.assign(this, { cluster, writersPerNode, mixed, pause, patience });
    this.mark = crypto.randomBytes(4).toString('hex');
    this.posts = { acknowledged: new Map(), refused: new Set(), unknown: new Set(), deleted: new Set() };
    this.counts = { acknowledged: 0, refused: 0, unknown: 0, replayed: 0 };
    this.last = 0;
    this.random = generator();
    this.stopping = false;
    this.writers = [];
    this.longest = 0; // between two acknowledged writes, in milliseconds
  }

  async prepare() {
    const body = newUser({ name: `author ${this.mark}` });
    let answer;
    // A node that PostgreSQL has just come back to may take a second until it writes again.
    await until(async () => (answer = await this.cluster.nodes[0].ask('POST', '/users', { body })).status === 201, 'a write', 3000);
    this.author = answer.json.id;
    this.token = tokenOf(answer);
  }

  begin() {
    this.acknowledgement = performance.now();
    this.cluster.nodes.forEach((node, number) => {
      for (let i = 0; i < this.writersPerNode; i += 1) {
        this.writers.push(this.write(number, i % 2 === 1).catch((error) => { this.failure ??= error; this.stopping = true; }));
      }
    });
  }

  // Until so many more writes were acknowledged.
  async goesOn(count = 30) {
    const before = this.counts.acknowledged;
    await until(() => this.failure || this.counts.acknowledged >= before + count, `${count} writes`, this.patience + 60 * count);
  }

  async end() {
    this.stopping = true;
    await Promise.all(this.writers);
    if (this.failure) throw this.failure;
  }

  // A writer of one node. One that is `patient` sends a write again, to the next node, until it is acknowledged.
  async write(number, patient) {
    const { nodes } = this.cluster;
    const writer = { clients: new Map(), records: [], token: this.token };
    while (!this.stopping) {
      const write = this.next(writer, patient);
      const end = performance.now() + this.patience;
      for (let turn = number; ; turn += 1) {
        const outcome = await this.send(writer, nodes[turn % nodes.length], write);
        if (outcome !== 'acknowledged') await sleep(20);
        if (outcome === 'acknowledged' || !patient) {
          this.note(write, outcome);
          break;
        }
        assert.ok(performance.now() < end, `a write was acknowledged by nobody for ${this.patience} ms`);
      }
      await sleep(this.random() * 2 * this.pause);
    }
    for (const { client } of writer.clients.values()) client.close();
  }

  next(writer, patient) {
    const tag = `${this.mark}-${this.last += 1}`;
    const headers = { 'Consistency-Token': writer.token };
    const dice = this.mixed ? this.random() : 1;
    if (dice < 0.15) return { method: 'POST', target: '/users', body: { name: tag, email: `${tag}@example.org` }, headers, done: (user) => writer.records.push(user.id) };
    if (dice < 0.25 && writer.records.length > 0) return { method: 'PATCH', target: `/users/${writer.records.at(-1)}`, body: { name: `again ${tag}` }, headers };
    if (dice < 0.3) return { method: 'POST', target: '/keys', body: { name: tag, scopes: ['users:read'] }, headers };
    if (dice < 0.4) return { method: 'POST', target: `/events/load`, body: { tag }, headers: { ...headers, 'Idempotency-Key': tag } };
    if (dice < 0.5 && writer.post) {
      const { id, title } = writer.post;
      writer.post = null;
      return { method: 'DELETE', target: `/posts/${id}`, headers, title, deletes: true };
    }
    return {
      method: 'POST', target: '/posts', body: { user_id: this.author, title: tag, body: 'text '.repeat(Math.floor(this.random() * 100)) },
      headers: patient ? { ...headers, 'Idempotency-Key': tag } : headers, title: tag, done: (post) => { writer.post = post; },
    };
  }

  async send(writer, node, write) {
    const { server } = node;
    if (server === null) return 'unknown';
    let held = writer.clients.get(node);
    if (held?.server !== server) {
      held?.client.close();
      writer.clients.set(node, held = { server, client: server.client(this.cluster.key, { scheme: 'http', patience: this.patience }) });
    }
    let answer;
    try {
      answer = await held.client.call(write.method, write.target, { body: write.body, headers: write.headers,
        type: write.method === 'PATCH' ? 'application/merge-patch+json' : undefined });
    } catch (error) {
      if (!broken.test(`${error.message} ${error.code}`)) throw error;
      return 'unknown';
    }
    // A node that stops, was just started or has a full disk; a repeat while the first one is under way.
    if (['behind', 'store_busy', 'storage_full', 'draining', 'idempotency_in_progress'].includes(answer.json?.code)) return 'refused';
    // A repeat of what was carried out, though its answer was lost, where no Idempotency-Key tells.
    if (answer.json?.code === 'email_taken' || (write.deletes && answer.status === 404)) return 'acknowledged';
    assert.ok(answer.status < 300, `${write.method} ${write.target}: ${answer.status} ${answer.body}`);
    if (answer.headers.has('idempotency-replayed')) this.counts.replayed += 1;
    write.id = answer.json?.id;
    writer.token = answer.headers.get('consistency-token') ?? writer.token;
    write.done?.(answer.json);
    return 'acknowledged';
  }

  note(write, outcome) {
    this.counts[outcome] += 1;
    if (outcome === 'acknowledged') {
      const now = performance.now();
      this.longest = Math.max(this.longest, now - this.acknowledgement);
      this.acknowledgement = now;
    }
    if (write.title === undefined) return;
    if (write.deletes) {
      if (outcome !== 'refused') this.posts.acknowledged.delete(write.title);
      (outcome === 'acknowledged' ? this.posts.deleted : this.posts.unknown).add(write.title);
    } else if (outcome === 'acknowledged') {
      this.posts.acknowledged.set(write.title, write.id);
    } else {
      this.posts[outcome].add(write.title);
    }
  }

  // `stored`: the posts of a store. What was acknowledged is there once, what was refused is not there.
  check(stored) {
    const byTitle = new Map();
    for (const post of stored) if (post.title.startsWith(`${this.mark}-`)) byTitle.set(post.title, [...(byTitle.get(post.title) ?? []), post]);
    const { acknowledged, refused, unknown, deleted } = this.posts;
    for (const [title, id] of acknowledged) {
      assert.equal(byTitle.get(title)?.length, 1, `the acknowledged post ${title} is there once`);
      assert.equal(byTitle.get(title)[0].id, id, title);
    }
    for (const [title, some] of byTitle) {
      assert.equal(some.length, 1, `${title} is there once`);
      assert.ok(acknowledged.has(title) || unknown.has(title), `${title} was ${refused.has(title) ? 'refused' : deleted.has(title) ? 'deleted' : 'never sent'}`);
    }
  }

  summary() {
    const { acknowledged, refused, unknown, replayed } = this.counts;
    return `${acknowledged} writes acknowledged, ${refused} refused, ${unknown} of unknown fate, ${replayed} repeats; ` +
      `${Math.round(this.longest)} ms at most without one`;
  }
}

// `disturb` does what it does to a cluster under load, which goes on before and after.
export async function underLoad(cluster, disturb) {
  const load = new Load(cluster);
  await load.prepare();
  load.begin();
  try {
    await load.goesOn();
    await disturb(load);
    await load.goesOn();
  } finally {
    await load.end();
  }
  await Promise.all(cluster.nodes.map((each) => each.ready()));
  load.check(postsOf(await cluster.assertEqual()));
  return load;
}

// Reads on a node until it is told to stop: the answers, with the times when they were asked for.
export function readAll(node, key) {
  const reading = { answers: [], stopping: false };
  const client = node.client(key);
  reading.end = (async () => {
    while (!reading.stopping) {
      const begin = Date.now();
      const { status, json } = await client.get('/users?limit=1');
      reading.answers.push({ begin, status, code: json?.code });
      await sleep(5);
    }
    client.close();
  })();
  reading.stop = async () => {
    reading.stopping = true;
    await reading.end;
    return reading.answers;
  };
  return reading;
}
