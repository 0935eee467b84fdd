// The life of a user and a post by curl alone, the way a person or a shell script would use the service. The key is
// read from files, so that no process list shows it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { assertPost, assertUser, run, startServer, temporaryFolder } from '../helpers/harness.mjs';
import { Headers } from '../helpers/wire.mjs';

const server = await startServer();
after(() => server.stop());
const { key } = await server.makeKey();
const folder = temporaryFolder();
const file = (name, text) => {
  const filePath = path.join(folder, name);
  fs.writeFileSync(filePath, text, { mode: 0o600 });
  return filePath;
};
const config = file('curlrc', `header = "Authorization: Bearer ${key}"\n`);
const header = file('header', `X-API-Key: ${key}\n`);
const bareKey = file('key', key);
const base = `${server.base()}/api/v1`;

// Runs curl and gives {status, head, text, json} of its last answer.
async function curl(...words) {
  const headFile = path.join(folder, 'head');
  const bodyFile = path.join(folder, 'body');
  fs.rmSync(bodyFile, { force: true });
  const { stdout } = await run('curl', ['-q', '-sS', '--max-time', '20', '--noproxy', '*', '--cacert', server.certificateFile, '-D', headFile, '-o', bodyFile,
    '-w', '%{http_code} %{http_version} %{num_connects} %{size_upload} %{method} %{url_effective}', ...words]);
  const [status, version, connects, uploaded] = stdout.split(' ', 4).map(Number);
  const [method, target] = stdout.split(' ').slice(4);
  const text = fs.existsSync(bodyFile) ? fs.readFileSync(bodyFile, 'utf8') : '';
  const head = fs.readFileSync(headFile, 'latin1');
  const last = head.split('\r\n\r\n').at(-2).split('\r\n').slice(1).map((line) => line.split(/: (.*)/s, 2));
  server.contract.check({ method, target }, { status, method, headers: new Headers(last), body: Buffer.from(text) });
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status, version, connects, uploaded, head, text, json };
}

const withKey = (...words) => curl('--config', config, ...words);
const send = (method, url, body, type = 'application/json') => withKey('-X', method, '-H', `Content-Type: ${type}`, '--data-binary', JSON.stringify(body), url);

test('a user and a post live their lives', async () => {
  const response = await send('POST', `${base}/users`, { name: 'Curl Müller', email: 'curl@example.org' });
  assert.equal(response.status, 201, response.text);
  assertUser(response.json);
  const user = response.json;
  assert.match(response.head, new RegExp(`^location: /api/v1/users/${user.id}\r$`, 'im'));

  const read = await withKey(`${base}/users/${user.id}`);
  assert.equal(read.status, 200);
  assert.deepEqual(read.json, user);

  const posted = await send('POST', `${base}/posts`, { user_id: user.id, title: 'By curl', body: 'plain\ntext' });
  assert.equal(posted.status, 201, posted.text);
  assertPost(posted.json);
  const post = posted.json;
  assert.equal(post.status, 'draft');

  const published = await send('PATCH', `${base}/posts/${post.id}`, { status: 'published' }, 'application/merge-patch+json');
  assert.equal(published.status, 200, published.text);
  assert.equal(published.json.status, 'published');
  assert.notEqual(published.json.published_at, null);

  const listed = await withKey(`${base}/posts?author=${user.id}&status=published`);
  assert.deepEqual(listed.json.data, [published.json]);
  assert.equal(listed.json.pagination.total, 1);

  const whole = await withKey(`${base}/users/${user.id}?include=posts`);
  assert.deepEqual(whole.json.posts, [published.json]);

  const renamed = await send('PUT', `${base}/users/${user.id}`, { name: 'Curl Meier', email: 'curl@example.org' });
  assert.equal(renamed.status, 200);
  assert.equal(renamed.json.name, 'Curl Meier');

  const refusal = await send('POST', `${base}/users`, { name: 'Second', email: 'CURL@example.org' });
  assert.equal(refusal.status, 409);
  assert.equal(refusal.json.code, 'email_taken');

  const deleted = await withKey('-X', 'DELETE', `${base}/users/${user.id}`);
  assert.equal(deleted.status, 204);
  assert.equal(deleted.text, '');
  assert.equal((await withKey(`${base}/users/${user.id}`)).status, 404);
  const missing = await withKey(`${base}/posts/${post.id}`);
  assert.equal(missing.status, 404);
  assert.match(missing.head, /^content-type: application\/problem\+json/im);
});

test('the key comes by header file, by configuration, by query and by body', async () => {
  assert.equal((await curl('-H', `@${header}`, `${base}/users`)).status, 200);
  assert.equal((await withKey(`${base}/users`)).status, 200);
  assert.equal((await curl('-G', '--data-urlencode', `api_key@${bareKey}`, `${base}/users`)).status, 200);
  const body = file('body.json', JSON.stringify({ name: 'Body', email: 'body@example.org', api_key: key }));
  assert.equal((await curl('-H', 'Content-Type: application/json', '--data-binary', `@${body}`, `${base}/users`)).status, 201);
  const anonymous = await curl(`${base}/users`);
  assert.equal(anonymous.status, 401);
  assert.match(anonymous.head, /^www-authenticate: Bearer realm="api"\r$/im);
});

test('curl --json, where it exists, and a form, which is none', async () => {
  const { stdout } = await run('curl', ['--version']);
  const [major, minor] = /^curl ([0-9]+)\.([0-9]+)/.exec(stdout).slice(1).map(Number);
  if (major > 7 || minor >= 82) {
    const creation = await withKey('--json', '{"name":"Json","email":"json@example.org"}', `${base}/users`);
    assert.equal(creation.status, 201, creation.text);
  }
  const form = await withKey('-d', 'name=x&email=form@example.org', `${base}/users`);
  assert.equal(form.status, 415);
});

test('two transfers share a connection', async () => {
  const { stdout } = await run('curl', ['-q', '-sS', '--noproxy', '*', '--cacert', server.certificateFile, '--config', config, '-w', '%{http_code} %{num_connects}\n',
    '-o', '/dev/null', `${base}/users`, '-o', '/dev/null', `${base}/posts`, '-o', '/dev/null', `${base}/users/999999`]);
  assert.deepEqual(stdout.trim().split('\n'), ['200 1', '200 0', '404 0']);
});

test('HEAD, HTTP/2 and HTTP/1.1, a chunked upload', async () => {
  assert.equal((await withKey('-I', `${base}/users`)).status, 200);
  for (const [word, version] of [['--http2', 2], ['--http1.1', 1.1]]) {
    const answer = await withKey(word, `${base}/users`);
    assert.equal(answer.status, 200);
    assert.equal(answer.version, version);
  }
  const body = file('chunked.json', JSON.stringify({ name: 'Chunked', email: 'chunked@example.org' }));
  const response = await withKey('--http1.1', '-X', 'POST', '-H', 'Content-Type: application/json', '-H', 'Transfer-Encoding: chunked', '--data-binary', `@${body}`, `${base}/users`);
  assert.equal(response.status, 201, response.text);
});

test('HTTP/1.0 over TLS, where curl offers http/1.0 as its only protocol', async () => {
  assert.equal((await withKey('--http1.0', `${base}/users`)).status, 200);
});

test('a large upload that is refused is not sent, because curl asks first', async () => {
  const body = file('large.json', ' '.repeat(3 * 1024 * 1024));
  const rejection = await withKey('-H', 'Content-Type: application/json', '-H', 'Expect: 100-continue', '--expect100-timeout', '10', '--data-binary', `@${body}`, `${base}/users`);
  assert.equal(rejection.status, 413);
  assert.equal(rejection.json.code, 'body_too_large');
  assert.equal(rejection.uploaded, 0, 'no byte of the body was sent');
});

test('an upload of 1 MiB that curl asks for first is taken', async () => {
  const text = JSON.stringify({ name: 'Large', email: 'large@example.org' });
  const body = file('one.json', text + ' '.repeat(1024 * 1024 - text.length));
  const response = await withKey('-H', 'Content-Type: application/json', '-H', 'Expect: 100-continue', '--expect100-timeout', '10', '--data-binary', `@${body}`, `${base}/users`);
  assert.equal(response.status, 201, response.text);
  assert.match(response.head, /^HTTP\/(1\.1|2) 100 /);
});

test('a certificate that curl does not know is not trusted', async () => {
  await assert.rejects(run('curl', ['-q', '-sS', '--noproxy', '*', '--config', config, `${base}/users`]), (error) => error.code === 60);
});
