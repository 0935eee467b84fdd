// The console in a browser over TLS: what its pages do from start to end, that what others wrote is never markup, and that no
// secret stays in the page.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, describe, test } from 'node:test';
import { startBrowser } from '../helpers/browser.mjs';
import { openConsole } from '../helpers/console_page.mjs';
import { assertStatus, sleep, startServer, until } from '../helpers/harness.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';

const trust = makeTrust();
const server = await startServer({ config: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n', env: trust.env });
const first = await server.makeKey({ name: 'operator' });
const api = server.client(first);
const browser = await startBrowser();
after(async () => {
  api.close();
  await Promise.all([browser.stop(), server.stop()]);
});

async function loggedIn(key = first, options = {}) {
  const page = await openConsole(browser, server, options);
  await page.logIn(key);
  return page;
}

describe('a session', () => {
  test('begins with a key that is kept nowhere, and ends where one logs out', async () => {
    const page = await openConsole(browser, server);
    assert.match(await page.text(), /Log in to the console/);
    await page.page.assertClean('the login page');
    await page.enter('Key', `${first.key.slice(0, -1)}!`);
    await page.tab.keyboard.press('Enter');
    await page.sees('This is no key');
    await page.enter('Key', first.key.split('').reverse().join(''));
    await page.tab.keyboard.press('Enter');
    await page.sees('Unknown key');
    page.refused(401);
    await page.logIn(first);
    await page.sees('Requests by outcome');
    const [cookie] = await page.cookies();
    assert.deepEqual(
      [cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path],
      ['__Host-latchkey', true, true, 'Strict', '/'],
    );
    assert.doesNotMatch(await page.kept(), new RegExp(first.key));
    assert.doesNotMatch(await page.tab.content(), new RegExp(first.key));
    await page.tab.reload();
    await page.settled();
    assert.match(await page.text('h1'), /Overview/, 'a session goes on after a reload');
    await page.tab.evaluate(() => {
      document.querySelector('.account').open = true;
    });
    await page.click('button', 'Log out');
    await page.sees('You are logged out');
    assert.deepEqual(await page.cookies(), []);
    await page.page.assertClean('after the log-out');
    await page.close();
  });

  test('that ends in another tab leaves a secret until it is stored', async () => {
    const key = await server.makeKey({ name: 'replaced' });
    const page = await loggedIn(key);
    const { id } = (await server.client(key).get('/keys/current')).json;
    await page.show(`/keys/${id}`);
    await page.click('button', 'Rotate');
    await page.tab.evaluate(() => document.querySelector('dialog form').requestSubmit());
    await page.sees('it is shown once', 'dialog');
    await page.tab.evaluate(() => dispatchEvent(new StorageEvent('storage', { key: 'latchkey.session_ends', newValue: null })));
    await sleep(200); // the dialog stays
    const successor = await page.takeSecret();
    assertStatus(await server.ask('GET', '/api/v1/users', { key: successor }), 200);
    await page.sees('You are logged out');
    await page.close();
  });

  test('that has ended leads to the login, and back to the same place', async () => {
    const key = await server.makeKey({ name: 'away' });
    const page = await loggedIn(key);
    await page.show('/keys?state=active');
    assertStatus(await server.client(key).delete('/sessions'), 204);
    await page.click('link', 'Users');
    await page.sees('Your session has ended');
    page.refused(401);
    await page.logIn(key);
    assert.match(await page.text('h1'), /Users/);
    await page.page.assertClean('after the second login');
    await page.close();
  });

  test('shows what its key may do, and nothing else', async () => {
    const page = await loggedIn(await server.makeKey({ name: 'reader', scopes: ['users:read'] }));
    const menu = await page.text('.sidebar');
    assert.match(menu, /Users/);
    assert.doesNotMatch(menu, /Keys|Audit|Webhooks|Events|Changes|Posts/);
    await page.show('/users');
    assert.equal(await page.tab.$('::-p-aria([name="Add user"][role="button"])'), null);
    await page.show('/keys');
    await page.sees('Your key lacks a scope');
    await page.page.assertClean('a page that is not shown');
    await page.close();
  });
});

describe('a key', () => {
  test('lives from its creation to its end, and its limit is seen in the chart', async () => {
    const page = await loggedIn();
    await page.show('/keys/new');
    await page.click('button', 'Create key');
    await page.sees('needs your attention');
    assert.equal(
      await page.tab.evaluate(() => document.activeElement.getAttribute('aria-invalid')),
      'true',
      'the first wrong field has the focus',
    );
    page.refused(422);
    await page.page.assertClean('errors at their fields');
    await page.enter('Name', 'Nightly export');
    await page.click('checkbox', 'webhooks: read');
    await page.tab.evaluate(() => {
      const requests = document.querySelectorAll('[aria-label="Requests"]');
      for (const [i, value] of [
        [0, '5'],
        [1, '1000'],
      ]) {
        requests[i].value = value;
        requests[i].dispatchEvent(new Event('input'));
      }
    });
    await page.sees('Up to 5 requests at once, then 5 a minute');
    await page.click('radio', '90 days');
    await page.click('button', 'Create key');
    const text = await page.takeSecret();
    assert.match(text, /^[0-9A-Za-z]{48}$/);
    assert.match(await page.text('h1'), /Nightly export/);
    assert.doesNotMatch((await page.tab.content()) + (await page.kept()), new RegExp(text));
    const id = Number((await page.tab.evaluate(() => location.hash)).split('/').at(-1));
    const record = await api.read(`/keys/${id}`);
    assert.deepEqual(record.scopes, ['users:read', 'posts:read', 'webhooks:read']);
    assert.deepEqual(
      record.rate_limits.map(({ limit }) => limit),
      [5, 1000],
    );
    assert.ok(Math.abs(Date.parse(record.expires_at) - Date.now() - 90 * 86_400_000) < 60_000, 'it expires in 90 days');

    const client = server.client(text);
    const statuses = [];
    for (let i = 0; i < 8; i += 1) statuses.push((await client.get('/users')).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
    await page.click('radio', '1 hour');
    await page.tab.evaluate(() => {
      document.querySelector('.as-table').open = true;
    });
    await page.sees('Rate limited 3 429');
    assert.match(
      await page.tab.evaluate(() => document.querySelector('canvas').getAttribute('aria-label')),
      /8 in the last 1 hour/,
    );
    assert.match(await page.text('.figures'), /\b5\s+0\s+0\s+3\s+0\b/, 'the table has it too');
    await page.sees('0 left');

    await page.enter('Path optional', '/api/v1/users', 'combobox');
    await page.choose('Method', 'POST');
    await page.click('button', 'Check');
    await page.sees('Refused', '.verdict');

    await page.click('link', 'Edit');
    await page.settled();
    await page.tab.evaluate(() => {
      const [requests] = document.querySelectorAll('[aria-label="Requests"]');
      requests.value = '600';
      requests.dispatchEvent(new Event('input'));
    });
    await page.click('button', 'Save changes');
    await page.sees(`Key ${id} was changed`);
    assert.equal((await api.read(`/keys/${id}`)).rate_limits[0].limit, 600);

    await page.settled();
    await page.click('button', 'Rotate');
    await page.tab.evaluate(() => document.querySelector('dialog form').requestSubmit());
    const successor = await page.takeSecret();
    assert.notEqual(successor, text);
    await page.sees('has not been used since the rotation');
    assertStatus(await client.get('/users'), 200);
    // Each worker knows a use at once of its own requests, and of another's once it is stored.
    await until(async () => {
      await page.show('/keys');
      await page.show(`/keys/${id}`);
      return (await page.text()).includes('The old key is still used');
    }, 'its use is told');
    await page.click('button', 'End the overlap now');
    await page.click('button', 'Deactivate it');
    await page.sees(`Key ${id} is deactivated`);
    assertStatus(await client.get('/users'), 403, 'key_deactivated');
    client.close();

    await page.show(`/keys/${id + 1}`);
    await page.click('button', 'Deactivate');
    await page.tab.evaluate(() => document.querySelector('dialog form').requestSubmit());
    await page.sees('deactivated', '.heading');
    await page.click('button', 'Reactivate');
    await page.sees('is reactivated');
    assertStatus(await server.ask('GET', '/api/v1/users', { key: successor }), 200);
    await page.page.assertClean('a key');
    await page.close();
  });

  // A day, either way: by the clock of the computer it would have expired, or been made tomorrow.
  for (const clockAhead of [86_400_000, -86_400_000]) {
    test(`lives by the time of the service where the computer's is ${clockAhead / 86_400_000} day ahead`, async () => {
      const { id } = await server.makeKey({ name: 'short-lived', args: ['--expires-in', '150m'] });
      const page = await loggedIn(first, { clockAhead });
      assert.ok(Math.abs((await page.tab.evaluate(() => Date.now())) - clockAhead - Date.now()) < 60_000, 'its clock is wrong');
      await page.show(`/keys/${id}`);
      const text = await page.text();
      assert.match(text, /in 2 h/, 'it expires');
      assert.doesNotMatch(text, /\b(h|days?) ago|in [0-9]+ days?/, 'nothing is long ago, nor far ahead');
      await page.page.assertClean('a computer with a wrong clock', { rules: false });
      await page.close();
    });
  }

  test('is found by filters that stand in the address', async () => {
    const page = await loggedIn();
    const { id } = await api.create('/keys', { name: 'on stage', environment: 'staging', scopes: ['users:read'] });
    await page.show('/keys');
    await page.choose('Environment', 'staging');
    await page.settled();
    assert.match(await page.tab.evaluate(() => location.hash), /environment=staging/);
    await page.sees('1–1 of 1 key');
    await page.tab.reload();
    await page.settled();
    assert.match(await page.text('table'), /on stage/);
    await page.tab.goBack();
    await page.settled();
    assert.doesNotMatch(await page.tab.evaluate(() => location.hash), /environment/);
    await page.show('/check');
    await page.enter('Key or its id', String(id));
    await page.enter('Path optional', '/api/v1/users', 'combobox');
    await page.choose('Method', 'POST');
    await page.click('button', 'Check');
    await page.sees('It lacks the scope users:write', '.verdict');
    await page.choose('Method', 'GET');
    await page.click('button', 'Check');
    await page.sees('Accepted', '.verdict');
    await page.page.assertClean('a verdict');
    await page.close();
  });
});

describe('what happens', () => {
  test('is seen as it happens', async () => {
    const page = await loggedIn();
    await page.show('/changes');
    await page.sees('live', '.heading');
    const { name } = await api.create('/users', { name: 'Just now', email: 'now@example.org' });
    await page.sees(name, '.feed');
    await page.click('button', 'Pause');
    await api.create('/users', { name: 'Later', email: 'later@example.org' });
    await page.sees('paused, 1 waiting');
    await page.click('button', 'Resume');
    await page.sees('Later', '.feed');
    await page.show('/changes?type=user.*');
    await page.sees('live', '.heading');
    await page.page.assertClean('changes');
    await page.close();
  });

  test('is sent to a webhook, which fails and gets it again', async () => {
    let works = false;
    const receiver = await startReceiver(trust, () => (works ? { status: 204 } : { status: 410, body: 'not here' }));
    const page = await loggedIn();
    await page.show('/webhooks/new');
    await page.enter('URL', 'http://10.0.0.1/hook');
    await page.click('button', 'Add webhook');
    await page.sees('needs your attention');
    page.refused(422);
    await page.enter('URL', receiver.url);
    await page.click('button', 'Add webhook');
    assert.match(await page.takeSecret(), /^whsec_/);
    await page.click('button', 'Send test');
    await page.sees('answered 410', '.deliveries');
    await page.show('/webhooks');
    await page.sees('disabled');
    await page.click('link', receiver.url);
    await page.sees('its receiver answered 410');
    works = true;
    await page.click('button', 'Enable');
    await page.sees('The webhook is enabled');
    await page.settled();
    await page.sees('webhook.test', '.deliveries');
    await page.tab.evaluate(() => document.querySelector('.deliveries input').click());
    await page.click('button', 'Send 1 again');
    await page.sees('1 change sent again');
    await page.sees('answered 204', '.deliveries');
    await page.page.assertClean('a webhook');
    await page.show('/webhooks');
    await page.page.assertClean('webhooks');
    await page.close();
    await receiver.stop();
  });

  test('is told from outside, signed with the secret of its source', async () => {
    const page = await loggedIn();
    await page.show('/sources');
    await page.click('button', 'Set up a source');
    await page.enter('Source', 'github');
    assert.equal(await (await page.find('combobox', 'Signature format')).evaluate(({ value }) => value), 'github');
    await page.click('button', 'Set secret');
    const secret = await page.takeSecret();
    const body = '{"action":"completed","count":12345678901234567890}';
    const signature = `sha256=${crypto.createHmac('sha256', secret).update(body).digest('hex')}`;
    assertStatus(
      await api.post('/events/github', body, { headers: { 'X-Hub-Signature-256': signature, 'X-GitHub-Delivery': 'one' } }),
      202,
    );
    await page.show('/events?source=github');
    await page.sees('verified', 'table');
    await page.click('link', 'github');
    await page.sees('"count": 12345678901234567890', '.json');
    await page.page.assertClean('an event');
    await page.close();
  });

  test('is in the audit log, whose chain is verified in the page', async () => {
    const page = await loggedIn();
    await page.show('/audit');
    await page.sees('The hash chain is valid.');
    await page.page.assertClean('the audit log');
    // One that was altered on its way gives another hash.
    await page.tab.setRequestInterception(true);
    page.tab.on('request', async (request) => {
      if (!request.url().includes('/audit?')) return request.continue();
      const { text } = await api
        .get(new URL(request.url()).pathname.slice('/api/v1'.length) + new URL(request.url()).search)
        .then((answer) => ({ text: answer.body.toString() }));
      return request.respond({
        status: 200,
        contentType: 'application/json',
        body: text.replace('"action":"key.create"', '"action":"key.import"'),
      });
    });
    await page.show('/users');
    await page.show('/audit');
    await page.sees('The hash chain is broken at 1 place');
    await page.close();
  });

  test('is whole as far as a key without * sees it, which is its own project', async () => {
    const other = await api.create('/keys', { name: 'unseen-key', scopes: ['users:read'], project: 'unseen-project' });
    const page = await loggedIn(await server.makeKey({ name: 'auditor', scopes: ['audit:read'] }));
    await page.show('/audit');
    await page.sees('The hash of every visible entry is valid.');
    await page.sees('lead to entries of other projects, which your key does not see');
    assert.doesNotMatch(await page.text(), /unseen/, `key ${other.id} is out of its sight`);
    await page.close();
  });
});

describe('a user', () => {
  test('is changed by one who is told of a conflict', async () => {
    const user = await api.create('/users', { name: 'Ada', email: 'ada@example.org' });
    const page = await loggedIn();
    await page.show('/users?email=ADA@example.org');
    await page.click('link', 'Ada');
    await page.sees('Save');
    await api.patch(`/users/${user.id}`, { name: 'Ada King' });
    await page.enter('Name', 'Ada Lovelace');
    await page.click('button', 'Save');
    await page.sees('Edit conflict');
    await page.sees('Ada King', '.conflict');
    page.refused(412);
    await page.page.assertClean('a conflict');
    await page.click('button', 'Keep my changes');
    await page.click('button', 'Save');
    await page.sees('Saved.');
    assert.equal((await api.read(`/users/${user.id}`)).name, 'Ada Lovelace');
    await page.settled();
    await page.enter('E-mail', 'now@example.org');
    await page.click('button', 'Save');
    await page.sees('One field needs your attention');
    page.refused(409);
    await page.page.assertClean('an address that is taken');
    await page.close();
  });
});

describe('what others wrote', () => {
  const names = [
    '<img src=x onerror=window.hostile=1>',
    '</script><script>window.hostile=1</script>',
    '"><svg onload=window.hostile=1>',
    '\u202Egpj.exe \u05e9\u05dc\u05d5\u05dd',
    '\u{1F511}'.repeat(100) + 'x'.repeat(100),
  ];

  test('is text in every place that shows it', async () => {
    const source = await server.makeKey({ name: 'source' });
    const client = server.client(source);
    const paths = [];
    for (const [i, name] of names.entries()) {
      const user = await client.create('/users', { name, email: `hostile${i}@example.org` });
      const post = await client.create('/posts', { user_id: user.id, title: name, body: name });
      const short = [...name].slice(0, 100).join(''); // as long as the name of a key may be
      const key = await client.create('/keys', { name: short, scopes: ['users:read'], metadata: { [name.slice(0, 40)]: name } });
      const event = await client.post('/events/hostile', { action: name, [name]: name });
      assertStatus(event, 202);
      paths.push(`/users/${user.id}`, `/posts/${post.id}`, `/keys/${key.id}`, `/keys/${key.id}/edit`, `/events/${event.json.id}`);
    }
    client.close();
    const page = await loggedIn(await server.makeKey({ name: names[0] }));
    for (const path of ['/', '/users', '/posts', '/keys', '/events', '/changes', '/audit', '/sources', ...paths]) {
      await page.show(path);
      assert.equal(await page.tab.evaluate(() => window.hostile ?? document.querySelector('main img, main script')), null, path);
      assert.deepEqual([path, await page.page.overflow()], [path, []]);
    }
    await page.show('/users');
    const shown = await page.text('table');
    for (const name of [names[0], names[1], names[2]]) assert.ok(shown.includes(name), name);
    assert.ok(shown.includes('U+202E'), 'what turns the direction of text round is made visible');
    await page.page.assertClean('hostile names');
    await page.close();
  });
});
