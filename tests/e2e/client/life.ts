// The life of a user, a post and a key by a client that openapi-typescript and openapi-fetch make of /openapi.json.
// Nothing here is cast: what the description leaves open does not compile. Told by `BASE KEY`, it prints what it did.

import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema.js';

type Problem = components['schemas']['Problem'];

const [base, adminKey] = process.argv.slice(2);
if (base === undefined || adminKey === undefined) throw new Error('usage: life.js BASE KEY');

const clientWith = (key: string) => {
  const authorized: Middleware = {
    onRequest({ request }) {
      request.headers.set('Authorization', `Bearer ${key}`);
      return request;
    },
  };
  const client = createClient<paths>({ baseUrl: base });
  client.use(authorized);
  return client;
};

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
  console.log(`ok ${what}`);
}

// The content of a success; the problem's code otherwise.
function taken<Data>(answer: { data?: Data; error?: unknown; response: Response }, status: number): NonNullable<Data> {
  if (answer.response.status !== status || answer.data === undefined || answer.data === null) {
    throw new Error(`${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

const admin = clientWith(adminKey);
const stamp = Date.now();

// A user.
const created = await admin.POST('/api/v1/users', { body: { name: 'Ada Lovelace', email: `ada${stamp}@example.com` } });
const user = taken(created, 201);
check(created.response.headers.get('location')?.endsWith(`/api/v1/users/${user.id}`) ?? false, 'Location names the user');

const twice = await admin.POST('/api/v1/users', { body: { name: 'Ada', email: `ADA${stamp}@example.com` } });
check(twice.error?.code === 'email_taken', 'an address belongs to one user');

const wrong = await admin.POST('/api/v1/users', { body: { name: '', email: 'nobody' } });
const faults: Problem['errors'] = wrong.error?.errors;
check(faults?.map((fault) => fault.pointer).sort().join() === '/email,/name', 'all field errors come at once');

const renamed = taken(await admin.PATCH('/api/v1/users/{id}', { params: { path: { id: user.id } }, body: { name: 'Augusta Ada King' } }), 200);
check(renamed.name === 'Augusta Ada King' && renamed.email === user.email, 'PATCH changes what is named');

const replaced = taken(await admin.PUT('/api/v1/users/{id}', { params: { path: { id: user.id } }, body: { name: 'Ada', email: user.email } }), 200);
check(replaced.name === 'Ada', 'PUT replaces');

// Her posts.
const drafts = [];
for (const title of ['One', 'Two', 'Three']) {
  drafts.push(taken(await admin.POST('/api/v1/posts', { body: { user_id: user.id, title } }), 201));
}
const first = drafts[0];
check(first !== undefined && first.status === 'draft' && first.published_at === null, 'a post begins as a draft');
const published = taken(await admin.PATCH('/api/v1/posts/{id}', { params: { path: { id: first.id } }, body: { status: 'published' } }), 200);
check(published.status === 'published' && published.published_at !== null, 'it is published');
taken(await admin.PUT('/api/v1/posts/{id}', { params: { path: { id: first.id } }, body: { user_id: user.id, title: 'One', body: 'text', status: 'archived' } }), 200);
const back = await admin.PATCH('/api/v1/posts/{id}', { params: { path: { id: first.id } }, body: { status: 'published' } });
check(back.error?.code === 'invalid_state_transition', 'an archived post is not published');

const ofUser = taken(await admin.GET('/api/v1/posts', { params: { query: { author: user.id, status: 'draft', limit: 1 } } }), 200);
check(ofUser.pagination.total === 2 && ofUser.data.length === 1 && ofUser.pagination.has_more, 'filters combine and count');
const whole = taken(await admin.GET('/api/v1/users/{id}', { params: { path: { id: user.id }, query: { include: 'posts' } } }), 200);
check(whole.posts?.length === 3 && whole.posts_pagination?.total === 3, 'a user comes with her posts');

// A key of less power, its limits, its turning off.
const made = taken(await admin.POST('/api/v1/keys', { body: {
  name: 'reader', scopes: ['users:read'], expires_in: 3600,
  rate_limits: [{ name: 'minute', limit: 100, window_seconds: 60 }], metadata: { team: 'billing' },
} }), 201);
check(made.key !== null && /^[0-9A-Za-z]{48}$/.test(made.key), 'a key is shown when it is made');
const reader = clientWith(made.key);
const own = taken(await reader.GET('/api/v1/keys/current'), 200);
check(own.id === made.id && own.rate_limits[0]?.remaining === 99, 'a key sees itself and what is left of its limits');
const refused = await reader.GET('/api/v1/posts');
check(refused.error?.code === 'insufficient_scope', 'it may do what its scopes say');
const verdict = taken(await admin.POST('/api/v1/keys/verify', { body: { key: made.key, scopes: ['users:read'] } }), 200);
check(verdict.valid && verdict.code === 'VALID' && verdict.key_id === made.id, 'others may ask about it');

const rotated = taken(await admin.POST('/api/v1/keys/{id}/rotate', { params: { path: { id: made.id } }, body: { overlap_seconds: 0 } }), 201);
check(rotated.replaces === made.id && rotated.key !== null && rotated.key !== made.key, 'it is rotated');
check((await reader.GET('/api/v1/keys/current')).error?.code === 'key_deactivated', 'and the old one is off');
const off = taken(await admin.POST('/api/v1/keys/{id}/deactivate', { params: { path: { id: rotated.id } }, body: { reason: 'manual' } }), 200);
check(off.state === 'deactivated' && off.deactivation_reason === 'manual', 'a key is turned off');
const on = taken(await admin.POST('/api/v1/keys/{id}/reactivate', { params: { path: { id: rotated.id } } }), 200);
check(on.state === 'active', 'and on');
check((await admin.DELETE('/api/v1/keys/{id}', { params: { path: { id: rotated.id } } })).response.status === 204, 'and off for good');
const log = taken(await admin.GET('/api/v1/audit', { params: { query: { limit: 100, sort: '-id' } } }), 200);
check(log.data.some((entry) => entry.action === 'key.rotate' && entry.key_id === made.id), 'the audit log knows');

// An event from outside: its source is a text, its id a number.
const event = taken(await admin.POST('/events/{event_source}', { params: { path: { event_source: 'shop' } }, body: { type: 'paid' } }), 202);
const kept = taken(await admin.GET('/api/v1/events/{id}', { params: { path: { id: event.id } } }), 200);
check(kept.source === 'shop' && kept.id === event.id, 'an event is kept');

// The end.
check((await admin.DELETE('/api/v1/users/{id}', { params: { path: { id: user.id } } })).response.status === 204, 'the user is deleted');
const gone = await admin.GET('/api/v1/posts/{id}', { params: { path: { id: first.id } } });
check(gone.error?.code === 'not_found' && gone.error.status === 404, 'and her posts with her');
const health = taken(await createClient<paths>({ baseUrl: base }).GET('/healthz'), 200);
check(health.status === 'ok', 'the service is well');
console.log('done');
