// Each page of the console at 390 and 1,440 px, light and dark: axe-core finds nothing, nothing is an error, nothing is asked of
// another host, nothing reaches beyond the window. Screenshots stand below build/…/screenshots.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startBrowser } from '../helpers/browser.mjs';
import { openConsole } from '../helpers/console_page.mjs';
import { assertStatus, startServer, until } from '../helpers/harness.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';

const trust = makeTrust();
const server = await startServer({ config: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n', env: trust.env });
const first = await server.makeKey({ name: 'operator' });
const api = server.client(first);
const browser = await startBrowser();
const receiver = await startReceiver(trust, (_, number) =>
  number % 5 === 2 ? { status: 500, body: '{"error":"the database is away"}' } : { status: 204 },
);
after(async () => {
  api.close();
  await Promise.all([browser.stop(), server.stop(), receiver.stop()]);
});

const paths = {
  overview: '/',
  keys: '/keys',
  key: '/keys/2',
  create: '/keys/new',
  change: '/keys/2/edit',
  check: '/check',
  changes: '/changes',
  webhooks: '/webhooks',
  webhook: '/webhooks/1',
  endpoint: '/webhooks/new',
  events: '/events',
  event: '/events/1',
  sources: '/sources',
  audit: '/audit',
  users: '/users',
  user: '/users/1',
  posts: '/posts',
  post: '/posts/1',
  missing: '/nowhere',
};

const figures = '[aria-label^="Requests per second: "]:not([aria-label$="no figure yet"])';

const makeKey = (name, members) =>
  api.create('/keys', { name, environment: 'production', scopes: ['users:read'], expires_in: 90 * 86_400, ...members });

// Some of everything, so that no page is empty.
before(async () => {
  await api.create('/webhooks', { url: receiver.url, description: 'Data warehouse', types: ['user.*', 'post.*', 'key.*'] });
  const keys = [];
  for (const [name, members] of [
    ['Billing worker', { metadata: { owner: 'payments' }, rate_limits: [{ name: 'minute', limit: 30, window_seconds: 60 }] }],
    ['Mobile app', { scopes: ['users:*', 'posts:*', 'keys:verify', 'events:write:github'] }],
    ['Nightly export', { environment: 'staging', scopes: ['*:read'], ip_allowlist: ['127.0.0.0/8'] }],
    ['Partner: Acme', { environment: 'development', expires_in: 6 * 86_400 }],
    ['Old importer', {}],
  ])
    keys.push(await makeKey(name, members));
  assertStatus(await api.post(`/keys/${keys.at(-1).id}/deactivate`), 200);
  for (const [i, name] of ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Barbara Liskov'].entries()) {
    const user = await api.create('/users', { name, email: `${name.split(' ')[0].toLowerCase()}@example.org` });
    await api.create('/posts', { user_id: user.id, title: `Notes of ${name}`, status: i % 2 ? 'published' : 'draft' });
  }
  for (const [i, { key }] of keys.entries()) {
    const client = server.client(key);
    for (let n = 0; n < 45 / (i + 1); n += 1) await client.get(n % 9 === 4 ? '/audit' : '/users');
    client.close();
  }
  assertStatus(await api.put('/events/github/secret', { format: 'github' }), 201);
  for (const [source, payload] of [
    ['stripe', { type: 'invoice.paid', amount: 1200, currency: 'eur' }],
    ['builds', { action: 'completed', repository: 'latchkey', ok: true }],
  ])
    assertStatus(await api.post(`/events/${source}`, payload), 202);
  await receiver.heard(5);
  await until(async () => (await api.read('/usage')).total.requests >= 45, 'uses are told');
});

describe('the pages', () => {
  for (const width of [390, 1440]) {
    for (const theme of ['light', 'dark']) {
      test(`are clean at ${width} px, ${theme}`, async () => {
        const page = await openConsole(browser, server, { width, theme });
        await page.screenshot(`console-login-${width}-${theme}`);
        await page.logIn(first);
        for (const [name, path] of Object.entries(paths)) {
          await page.show(path);
          if (name === 'overview') await page.tab.waitForSelector(figures); // of differences, five seconds later
          await page.page.assertClean(`${name} at ${width} px, ${theme}`);
          await page.screenshot(`console-${name}-${width}-${theme}`);
        }
        await page.close();
      });
    }
  }

  test('take at most 120 KB over the wire', async () => {
    const page = await openConsole(browser, server);
    const loaded = page.page.requests.filter(({ url }) => !url.includes('/api/'));
    const bytes = loaded.reduce((sum, request) => sum + request.bytes, 0);
    assert.ok(
      loaded.some(({ coding }) => coding === 'br'),
      'brotli',
    );
    assert.ok(bytes > 20_000 && bytes <= 120 * 1024, `${bytes} bytes: ${JSON.stringify(loaded)}`);
    await page.close();
  });

  test('are operated by the keyboard', async () => {
    const page = await openConsole(browser, server);
    await page.logIn(first);
    await page.show('/users');
    await page.tab.reload();
    await page.settled();
    const focus = (expression) => page.tab.evaluate(`document.activeElement.${expression}`);
    await page.tab.keyboard.press('Tab');
    assert.equal(await focus('textContent'), 'Skip to the content');
    await page.tab.keyboard.press('Enter');
    assert.equal(await focus('id'), 'content');
    await page.click('button', 'Add user');
    assert.equal(await focus('closest("dialog") !== null'), true, 'the focus is in the dialog');
    await page.tab.keyboard.press('Escape');
    await page.tab.waitForSelector('dialog', { hidden: true });
    await page.close();
  });

  test('follow the theme of the system, charts too', async () => {
    const page = await openConsole(browser, server, { theme: 'dark' });
    await page.logIn(first);
    const surface = () => page.tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await surface();
    await page.tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    await page.settled();
    assert.notEqual(await surface(), dark);
    await page.page.assertClean('after the change');
    await page.close();
  });
});
