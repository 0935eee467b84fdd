// The life of users, posts, keys, events and webhooks by the client library, typed: nothing here is cast. Told by `BASE KEY`, it
// prints what it did.

import {
  AuthenticationError, ConflictError, Latchkey, modify, NotFoundError, PermissionDeniedError, PreconditionFailedError, responseOf, ValidationError,
} from 'latchkey-client';
import type { Change, Post, User } from 'latchkey-client';

const [base, adminKey] = process.argv.slice(2);
if (base === undefined || adminKey === undefined) throw new Error('usage: life.js BASE KEY');
const client = new Latchkey({ baseUrl: base, key: adminKey });

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
  console.log(`ok ${what}`);
}

async function thrown<Kind extends Error>(Class: new (...words: never[]) => Kind, call: Promise<unknown>): Promise<Kind> {
  const error = await call.then(() => new Error('nothing was thrown'), (reason: unknown) => reason);
  if (!(error instanceof Class)) throw error;
  return error;
}

const user: User = await client.createUser({ name: 'Ada Lovelace', email: 'ada@example.com' });
check(responseOf(user)?.status === 201 && responseOf(user)?.etag !== null, 'a user is created, and its tag is known');
const taken = await thrown(ConflictError, client.createUser({ name: 'Ada', email: 'ADA@example.com' }));
check(taken.code === 'email_taken' && taken.requestId !== null, 'an address belongs to one user');
const wrong = await thrown(ValidationError, client.createUser({ name: '', email: 'nobody' }));
check(wrong.fields.map(({ pointer }) => pointer).sort().join() === '/email,/name', 'all field errors come at once');

const renamed = await client.updateUser(user.id, { name: 'Ada King' }, { ifMatch: user });
check(renamed.name === 'Ada King', 'a change of what was read');
const late = await thrown(PreconditionFailedError, client.updateUser(user.id, { name: 'Ada Byron' }, { ifMatch: user }));
check(late.status === 412, 'a change of what somebody else has changed');
const counted = await client.createUser({ name: '0', email: 'count@example.com' });
const increments = Array.from({ length: 4 }, () => modify(() => client.getUser(counted.id), (record, options) =>
  client.updateUser(record.id, { name: String(Number(record.name) + 1) }, options), { attempts: 20 }));
await Promise.all(increments);
const total = await client.getUser(counted.id);
check(total.name === '4', 'no change is lost where several modify a record');
check(await client.getUser(counted.id, {}, { ifNoneMatch: total }) === total, 'what is still current is not sent again');
const replaced = await client.replaceUser(user.id, { name: 'Ada', email: user.email });
check(replaced.name === 'Ada', 'a user is replaced');

const posts: Post[] = [];
for (const title of ['One', 'Two', 'Three', 'Four', 'Five']) posts.push(await client.createPost({ user_id: user.id, title }));
const titles: string[] = [];
for await (const post of client.iteratePosts({ author: user.id, limit: 2 })) titles.push(post.title);
check(titles.join() === 'One,Two,Three,Four,Five', 'posts over three pages');
let pages = 0;
for await (const page of client.iteratePostsOfUser(user.id, { limit: 2, sort: '-id' }).pages()) pages += page.data.length > 0 ? 1 : 0;
check(pages === 3, 'page by page');
check((await client.iteratePosts({ author: user.id, page: 2, limit: 2 }).toArray()).length === 3, 'from the second page on');
const first = posts[0];
check(first !== undefined && (await client.updatePost(first.id, { status: 'published' })).published_at !== null, 'a post is published');

const created = await client.createKey({ name: 'reader', scopes: ['users:read'], expires_in: 3600 });
check(created.key !== null, 'a key is shown when it is made');
let text: string = created.key;
const reader = new Latchkey({ baseUrl: base, key: () => text });
check((await reader.getCurrentKey()).id === created.id, 'it works');
check((await thrown(PermissionDeniedError, reader.listPosts())).code === 'insufficient_scope', 'as far as its scopes go');
const rotated = await client.rotateKey(created.id, { overlap_seconds: 0 });
check((await thrown(PermissionDeniedError, reader.listUsers())).code === 'key_deactivated', 'the old one is off after a rotation');
check(rotated.key !== null, 'the new one is shown');
text = rotated.key;
check((await reader.listUsers()).pagination.total === 2, 'the next request has the new one');
check((await client.verifyKey({ key: text, scopes: ['users:read'] })).code === 'VALID', 'a key is verified');
check((await client.deactivateKey(rotated.id)).state === 'deactivated', 'a key is deactivated');
check((await client.verifyKey({ key: text })).code === 'DEACTIVATED', 'which others hear');
check((await thrown(AuthenticationError, new Latchkey({ baseUrl: base, key: 'x'.repeat(48) }).listUsers())).code === 'key_invalid', 'no key');

const receipt = await client.receiveEvent('shop', { type: 'paid', amount: 12 });
const event = await client.getEvent(receipt.id);
check(event.source === 'shop' && event.payload['amount'] === 12, 'an event is kept');
check((await client.putEventSecret('builds', { format: 'github' })).secret !== null, 'a source gets a secret');
await client.deleteEventSecret('builds');

const webhook = await client.createWebhook({ url: 'https://hooks.example.com/', types: ['user.*'] });
check(webhook.secret?.startsWith('whsec_') === true, 'a webhook has a secret');
check((await client.updateWebhook(webhook.id, { enabled: false })).disabled_reason === 'manual', 'a webhook is disabled');
await client.deleteWebhook(webhook.id);

const feed = client.iterateChanges({ limit: 5 });
const changes: Change[] = [];
for await (const change of feed) {
  changes.push(change);
  if (changes.length === 13) break;
}
check(changes.every(({ sequence }, index) => sequence === index + 1), 'changes in order over three pages');
check(feed.position === '12', 'the last one that was taken is not yet done');
const rest = client.iterateChanges({ after: feed.position });
check((await rest.toArray())[0]?.sequence === 13, 'the feed goes on where it stopped');
const lastSequence = Number(rest.position);
const controller = new AbortController();
const followed: string[] = [];
const following = (async () => {
  for await (const change of client.iterateChanges({ after: String(lastSequence), type: 'user.*' }, { follow: true, pollMs: 20, signal: controller.signal })) {
    if (followed.push(change.type) === 2) controller.abort(new Error('enough'));
  }
})();
await client.createPost({ user_id: user.id, title: 'Six' });
await client.deleteUser(counted.id);
await client.deleteUser(user.id);
const end = await following.then(() => null, (reason: unknown) => reason);
check(end instanceof Error && end.message === 'enough' && followed.join() === 'user.deleted,user.deleted', 'the feed is followed until a signal');
check((await thrown(NotFoundError, client.getUser(user.id))).problem?.instance.startsWith('urn:request:') === true, 'a user is deleted');
check((await client.getHealth()).status === 'ok', 'the service is well');
console.log('done');
