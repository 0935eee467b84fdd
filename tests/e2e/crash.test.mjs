// kill -9 under writers, many times over. After every start on the same data:
//
//   - every acknowledged write is there, equal to what was answered;
//   - a write that was under way is there whole or not at all;
//   - the totals of the lists are the numbers of their records, and every post has its user;
//   - no id was ever given to two records, deleted and unacknowledged ones included.
//
// CRASH_ROUNDS sets how many times (50 by default).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertPost, assertUser, message, sleep, startServer } from './harness.mjs';

const rounds = Number(process.env.CRASH_ROUNDS ?? 50);
const writerCount = 16;

// What the service must hold: id to document. A writer changes only records of its own.
const users = new Map();
const posts = new Map();
// Every id that was ever seen, with the mark (email or title) that its record was created with.
const userIds = new Map();
const postIds = new Map();
const acknowledged = { count: 0 };
let marks = 0;

function once(ids, id, mark) {
  const earlier = ids.get(id);
  assert.ok(earlier === undefined || earlier === mark, `id ${id} was given to ${earlier} and to ${mark}`);
  ids.set(id, mark);
}

class Writer {
  constructor(number) {
    this.number = number;
    this.users = [];
    this.pending = null; // the one write that was sent and not yet answered
  }

  // The next write: what is sent, and what follows for the model when it has happened.
  next() {
    const mine = this.users.at(-1);
    const own = mine === undefined ? [] : [...posts.values()].filter((p) => p.user_id === mine);
    const dice = Math.random();
    const tag = `w${this.number}-${++marks}`;
    if (mine === undefined || dice < 0.2) {
      const body = { name: `User ${tag} ${'n'.repeat(Math.floor(Math.random() * 100))}`, email: `${tag}@example.org` };
      return { kind: 'create user', method: 'POST', target: '/api/v1/users', body, status: 201 };
    }
    if (own.length < 2 || dice < 0.5) {
      const body = { user_id: mine, title: tag, body: 'b'.repeat(Math.floor(Math.random() * 4000)), status: dice < 0.35 ? 'draft' : 'published' };
      return { kind: 'create post', method: 'POST', target: '/api/v1/posts', body, status: 201 };
    }
    const post = own[Math.floor(Math.random() * own.length)];
    if (dice < 0.65) {
      const body = { body: `changed ${tag} ${'c'.repeat(Math.floor(Math.random() * 2000))}`, status: post.status === 'draft' ? 'published' : 'draft' };
      return { kind: 'change post', method: 'PATCH', target: `/api/v1/posts/${post.id}`, body, status: 200, id: post.id };
    }
    if (dice < 0.75) return { kind: 'change user', method: 'PATCH', target: `/api/v1/users/${mine}`, body: { name: `Renamed ${tag}` }, status: 200, id: mine };
    if (dice < 0.92) return { kind: 'delete post', method: 'DELETE', target: `/api/v1/posts/${post.id}`, status: 204, id: post.id };
    return { kind: 'delete user', method: 'DELETE', target: `/api/v1/users/${mine}`, status: 204, id: mine };
  }

  happened(write, document) {
    switch (write.kind) {
      case 'create user':
        once(userIds, document.id, write.body.email);
        users.set(document.id, document);
        this.users.push(document.id);
        break;
      case 'create post':
        once(postIds, document.id, write.body.title);
        posts.set(document.id, document);
        break;
      case 'change post':
        posts.set(document.id, document);
        break;
      case 'change user':
        users.set(document.id, document);
        break;
      case 'delete post':
        posts.delete(write.id);
        break;
      case 'delete user':
        users.delete(write.id);
        this.users = this.users.filter((id) => id !== write.id);
        for (const post of posts.values()) if (post.user_id === write.id) posts.delete(post.id);
        break;
      default:
        assert.fail(write.kind);
    }
  }

  async run(server, key) {
    let wire;
    try {
      wire = await server.connect({ scheme: this.number % 4 ? 'https' : 'http' });
    } catch {
      return; // the kill was faster
    }
    for (;;) {
      const write = this.next();
      this.pending = write;
      wire.send(message(write.method, write.target, { key, body: write.body }));
      let answer;
      try {
        answer = await wire.response({ method: write.method });
      } catch (error) {
        // Only the end of the connection ends a writer; a slip in a response is a failure.
        if (!/the connection ended/.test(error.message)) throw error;
        wire.close();
        return;
      }
      assert.equal(answer.status, write.status, `${write.kind}: ${answer.body}`);
      if (answer.json !== undefined) matches(write, answer.json);
      this.happened(write, answer.json);
      this.pending = null;
      acknowledged.count += 1;
    }
  }

  // After a start: did the write that was under way happen? It did whole, or not at all.
  settle(found) {
    const write = this.pending;
    this.pending = null;
    if (write === null) return 'nothing pending';
    if (write.kind === 'create user' || write.kind === 'create post') {
      const [all, mark] = write.kind === 'create user' ? [found.users, 'email'] : [found.posts, 'title'];
      const document = all.find((d) => d[mark] === write.body[mark]);
      if (document === undefined) return 'lost';
      matches(write, document);
      this.happened(write, document);
      return 'done';
    }
    if (write.kind === 'change post' || write.kind === 'change user') {
      const [model, all] = write.kind === 'change post' ? [posts, found.posts] : [users, found.users];
      const document = all.find((d) => d.id === write.id);
      assert.ok(document, `${write.kind}: the record ${write.id} is gone`);
      if (document.updated_at === model.get(write.id).updated_at) {
        try {
          assert.deepEqual(document, model.get(write.id));
          return 'lost';
        } catch {
          // The change may fall into the same millisecond as the one before it.
        }
      }
      matches(write, document);
      this.happened(write, document);
      return 'done';
    }
    const all = write.kind === 'delete post' ? found.posts : found.users;
    if (all.some((d) => d.id === write.id)) return 'lost'; // its posts must then be there too: the model still has them
    this.happened(write);
    return 'done';
  }
}

// A document is complete and says what was sent.
function matches(write, document) {
  if (write.kind.endsWith('user')) assertUser(document);
  else assertPost(document);
  for (const [name, value] of Object.entries(write.body)) assert.equal(document[name], value, `${name} after ${write.kind}`);
  if (write.id !== undefined) {
    const { updated_at, published_at, ...before } = (write.kind === 'change post' ? posts : users).get(write.id);
    const { updated_at: u, published_at: p, ...now } = document;
    assert.deepEqual(now, { ...before, ...write.body });
    assert.ok(u >= updated_at);
  }
  if (document.status === 'draft') assert.equal(document.published_at, null);
  if (document.status === 'published') assert.notEqual(document.published_at, null);
}

async function everything(api, target) {
  const found = [];
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await api.read(`${target}?limit=100&page=${page}`);
    found.push(...data);
    if (!pagination.has_more) {
      assert.equal(pagination.total, found.length, `the total of ${target} is the number of its records`);
      assert.deepEqual(found.map((d) => d.id), [...new Set(found.map((d) => d.id))].sort((a, b) => a - b), 'each id once, ascending');
      return found;
    }
  }
}

async function check(server, key, writers) {
  const api = server.client(key);
  const found = { users: await everything(api, '/users'), posts: await everything(api, '/posts') };
  const outcomes = writers.map((w) => w.settle(found));
  const sorted = (map) => [...map.values()].sort((a, b) => a.id - b.id);
  assert.deepEqual(found.users, sorted(users), 'the users are those that were acknowledged');
  assert.deepEqual(found.posts, sorted(posts), 'the posts are those that were acknowledged');
  // The other indexes agree with the records.
  let byStatus = 0;
  for (const status of ['draft', 'published', 'archived']) byStatus += (await api.read(`/posts?status=${status}&limit=1`)).pagination.total;
  assert.equal(byStatus, posts.size);
  const owner = sorted(users).at(-1);
  if (owner) {
    assert.deepEqual((await api.read(`/users?email=${owner.email}`)).data, [owner]);
    assert.deepEqual((await api.read(`/users/${owner.id}/posts?limit=100`)).data, sorted(posts).filter((p) => p.user_id === owner.id).slice(0, 100));
  }
  api.close();
  return outcomes;
}

test(`kill -9 under ${writerCount} writers, ${rounds} times: nothing acknowledged is lost, nothing is half there`, async (t) => {
  let server = await startServer();
  const { key } = await server.makeKey();
  const writers = Array.from({ length: writerCount }, (_, i) => new Writer(i));
  const outcomes = { done: 0, lost: 0, 'nothing pending': 0 };
  for (let round = 1; round <= rounds; round += 1) {
    try {
      const running = Promise.all(writers.map((w) => w.run(server, key)));
      await Promise.race([sleep(60 + Math.random() * 80), running]);
      await server.kill();
      await running;
      server = await server.again();
      for (const outcome of await check(server, key, writers)) outcomes[outcome] += 1;
    } catch (error) {
      error.message = `in round ${round}: ${error.message}`;
      throw error;
    }
    // A few records are enough: the lists are read whole in every round.
    if (users.size > 150) {
      const api = server.client(key);
      for (const writer of writers) {
        for (const id of writer.users.slice(0, -2)) {
          const answer = await api.delete(`/users/${id}`);
          assert.equal(answer.status, 204);
          writer.happened({ kind: 'delete user', id });
        }
      }
      api.close();
    }
  }
  assert.ok(acknowledged.count > rounds * writerCount, `only ${acknowledged.count} writes were acknowledged`);
  assert.ok(outcomes.done + outcomes.lost > rounds, `the kills met too few writes under way: ${JSON.stringify(outcomes)}`);
  t.diagnostic(`${acknowledged.count} writes acknowledged; of those under way ${outcomes.done} had happened, ${outcomes.lost} had not`);
  await server.stop();
});
