// The documents in a real browser: their scripts, by keyboard, without JavaScript, and "try it". What each page looks like:
// docs_looks.test.mjs. Screenshots are left in build/…/screenshots.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { startBrowser } from '../helpers/browser.mjs';
import { assertStatus, startServer } from '../helpers/harness.mjs';
import { utf8 } from '../helpers/wire.mjs';

const server = await startServer();
const browser = await startBrowser();
after(() => Promise.all([server.stop(), browser.stop()]));

async function opened(path, options) {
  const page = await browser.newPage(options);
  await page.open(server.base() + path);
  return page;
}

describe('a page, in a browser', { timeout: 120_000 }, () => {
  test('scripts and style sheets come compressed, and are kept', async () => {
    const page = await opened('/docs/users');
    for (const { url, coding } of page.requests) {
      if (url.endsWith('.js') || url.endsWith('.css')) assert.equal(coding, 'br', url);
      else if (url.endsWith('/docs/users')) assert.equal(coding, 'gzip', url);
    }
    await page.close();
  });

  test('without JavaScript everything can be read, and the menu opens', async () => {
    const page = await opened('/docs/users', { width: 390, scripts: false });
    const text = await page.tab.$eval('main', (main) => main.innerText);
    for (const words of ['Create a user', 'Needs the scope users:write', 'curl -sS', 'TypeScript', 'Python', 'Go']) {
      assert.ok(text.includes(words), words);
    }
    assert.match(text, /Answer\s+201/);
    await page.tab.click('.menu');
    assert.ok(await page.tab.$eval('#navigation', (menu) => menu.matches(':popover-open')));
    await page.screenshot('docs-without-scripts-390');
    assert.deepEqual(page.errors, []);
    await page.close();
  });
});

describe('by keyboard', { timeout: 120_000 }, () => {
  test('search finds as one types, and Enter opens', async () => {
    const page = await opened('/docs');
    await page.tab.keyboard.press('/');
    await page.tab.keyboard.type('rotate');
    await page.tab.waitForSelector('#search-results li');
    await page.assertClean('search');
    await page.screenshot('docs-search-1440');
    const titles = await page.tab.$$eval('#search-results strong', (all) => all.map((each) => each.textContent));
    const wanted = titles.indexOf('Replace a key by a new one with the same settings');
    assert.notEqual(wanted, -1, titles.join(', '));
    for (let step = 0; step < wanted; ++step) await page.tab.keyboard.press('ArrowDown');
    await Promise.all([page.tab.waitForNavigation(), page.tab.keyboard.press('Enter')]);
    assert.match(page.tab.url(), /\/docs\/keys#rotateKey$/);
    await page.close();
  });

  test('search says when there is nothing, and Escape closes it', async () => {
    const page = await opened('/docs', { width: 390 });
    await page.tab.focus('#search-field');
    await page.tab.keyboard.type('zzzzz');
    await page.tab.waitForFunction(() => document.querySelector('#search [role=status]').textContent === 'Nothing found');
    await page.tab.keyboard.press('Backspace');
    await page.tab.keyboard.press('Escape');
    assert.equal(await page.evaluate('document.getElementById("search-field").value'), '');
    assert.equal(await page.evaluate('document.getElementById("search-results").hidden'), true);
    await page.close();
  });

  test('finds problems, schemas and headings of guides', async () => {
    const page = await opened('/docs');
    for (const [query, path] of [['last_admin_key', '/problems/last_admin_key'], ['UserList', '/docs/schemas#UserList'], ['cursors', '/docs/paging#cursors']]) {
      await page.tab.focus('#search-field');
      await page.tab.keyboard.type(query);
      await page.tab.waitForFunction((words) => document.querySelector('#search-results li strong')?.textContent.toLowerCase() === words.toLowerCase(), {}, query);
      await Promise.all([page.tab.waitForFunction((target) => location.href.endsWith(target), {}, path), page.tab.keyboard.press('Enter')]);
    }
    await page.close();
  });

  test('the language of samples is chosen with arrows, for all of them, and remembered', async () => {
    const page = await opened('/docs/users');
    const visible = () => page.tab.$$eval('[role=tabpanel]:not([hidden]) code', (all) => [...new Set(all.map((each) => each.className))]);
    assert.deepEqual(await visible(), ['language-sh']);
    await page.tab.focus('[role=tab][aria-selected=true]');
    await page.tab.keyboard.press('ArrowRight');
    await page.tab.keyboard.press('ArrowRight');
    assert.deepEqual(await visible(), ['language-python']);
    await page.open(`${server.base()}/docs/posts`);
    assert.deepEqual(await visible(), ['language-python']);
    await page.assertClean('tabs');
    await page.close();
  });

  test('the first Tab leads to the content', async () => {
    const page = await opened('/docs/users');
    await page.tab.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.className'), 'skip');
    await page.tab.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'content');
    await page.close();
  });

  test('the menu of a narrow screen opens, closes with Escape and by a link', async () => {
    const page = await opened('/docs/users', { width: 390 });
    const isOpen = () => page.tab.$eval('#navigation', (menu) => menu.matches(':popover-open'));
    await page.tab.focus('.menu');
    await page.tab.keyboard.press('Enter');
    assert.ok(await isOpen());
    await page.assertClean('menu');
    await page.screenshot('docs-menu-390');
    await page.tab.keyboard.press('Escape');
    assert.equal(await isOpen(), false);
    await page.tab.click('.menu');
    await page.tab.click('#navigation a[href="/docs/users#createUser"]');
    assert.equal(await isOpen(), false);
    await page.close();
  });
});

test('a sample is copied as it is written', { timeout: 60_000 }, async () => {
  const page = await opened('/docs/users');
  await page.context.overridePermissions(server.base(), ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']);
  const [button] = await page.tab.$$('[role=tabpanel]:not([hidden]) .copy');
  await button.click();
  await page.tab.waitForFunction(() => [...document.querySelectorAll('.copy')].some((each) => each.textContent === 'Copied'));
  const text = await page.evaluate('navigator.clipboard.readText()');
  assert.equal(text, 'curl -sS "$LATCHKEY_URL/api/v1/users" \\\n  -H "Authorization: Bearer $LATCHKEY_KEY"\n');
  await page.close();
});

describe('"try it"', { timeout: 120_000 }, () => {
  // Opens the form of an operation.
  async function tried(id, options) {
    const operations = { createUser: '/docs/users', getUser: '/docs/users', getHealth: '/docs/service', listChanges: '/docs/changes' };
    const page = await opened(`${operations[id]}#${id}`, options);
    const section = await page.tab.evaluateHandle((anchor) => document.getElementById(anchor).closest('section'), id);
    await (await section.$('.try')).click();
    return { page, section };
  }
  const submit = async (page, section) => {
    await (await section.$('.primary')).click();
    await page.tab.waitForFunction((form) => form.querySelector('.trial .answer .caption strong'), {}, section);
    return (await section.$('.trial .answer .caption strong')).evaluate((each) => each.textContent);
  };

  test('sends a request and shows status, fields and body', async () => {
    const { page, section } = await tried('getHealth');
    assert.match(await submit(page, section), /^200/);
    assert.match(await (await section.$('.trial .answer')).evaluate((each) => each.innerText), /"status": "ok"/);
    await page.assertClean('try it');
    await page.close();
  });

  for (const [width, theme] of [[1440, 'light'], [390, 'dark']]) {
    test(`has the example as its body, and says where to log in: ${width} pixels, ${theme}`, async () => {
      const { page, section } = await tried('createUser', { width, theme });
      const body = await (await section.$('textarea')).evaluate((each) => each.value);
      assert.deepEqual(Object.keys(JSON.parse(body)), ['name', 'email']);
      assert.match(await submit(page, section), /^401/);
      assert.equal(await (await section.$('.trial .warning a')).evaluate((each) => each.getAttribute('href')), '/console#/?next=%2Fdocs%2Fusers%23createUser');
      assert.ok(page.errors.every((each) => /401/.test(each)), page.errors.join()); // the browser notes the status itself
      page.errors.length = 0;
      await page.assertClean('try it');
      await page.screenshot(`docs-try-${width}-${theme}`);
      await page.close();
    });
  }

  test('uses the login of the console, which leads back to the operation', async () => {
    const { page, section } = await tried('createUser');
    assert.match(await submit(page, section), /^401/);
    page.errors.length = 0;
    await (await section.$('.trial .warning a')).click();
    await page.tab.waitForSelector('#key');
    await page.tab.type('#key', (await server.makeKey({ scopes: ['users:write'] })).key);
    await page.tab.keyboard.press('Enter');
    await page.tab.waitForFunction(() => location.pathname === '/docs/users' && document.readyState === 'complete');
    assert.match(await page.evaluate('location.hash'), /createUser/);
    const back = await page.tab.evaluateHandle(() => document.getElementById('createUser').closest('section'));
    await (await back.$('.try')).click();
    assert.match(await submit(page, back), /^201/);
    assert.match(await (await back.$('.trial .answer')).evaluate((each) => each.innerText), /"email": "ada@example.com"/);
    await page.assertClean('try it with a session');
    await page.close();
  });

  test('puts parameters into path and query', async () => {
    const { page, section } = await tried('getUser');
    const [first] = await section.$$('.trial input');
    await first.type('7');
    const labels = await section.$$eval('.trial label', (all) => all.map((each) => each.textContent));
    const place = labels.findIndex((each) => each.startsWith('include'));
    await (await section.$$('.trial input'))[place].type('posts');
    await submit(page, section);
    assert.match(page.requests.at(-1).url, /\/api\/v1\/users\/7\?include=posts$/);
    await page.close();
  });
});

test('a page is answered plain or with gzip, and its scripts with brotli too', async () => {
  for (const [accept, coding] of [['', undefined], ['gzip', 'gzip'], ['br, gzip', 'gzip']]) {
    const page = await server.ask('GET', '/docs/keys', { headers: accept ? { 'Accept-Encoding': accept } : {} });
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('content-encoding') ?? undefined, coding);
    const bytes = coding ? zlib.gunzipSync(page.body) : Buffer.from(page.body);
    assert.match(bytes.toString(), /<h2 id="rotateKey">/);
  }
  const text = utf8((await server.ask('GET', '/docs')).body);
  const script = /src="(\/assets\/docs-[0-9a-f]+\.js)"/.exec(text)[1];
  const asset = await server.ask('GET', script, { headers: { 'Accept-Encoding': 'gzip, br' } });
  assert.equal(asset.headers.get('content-encoding'), 'br');
  assert.match(asset.headers.get('cache-control'), /immutable/);
  assert.match(zlib.brotliDecompressSync(asset.body).toString(), /search-results/);
});

test('a browser is led from / to the documents; a program gets a problem', async () => {
  const people = await server.ask('GET', '/', { headers: { Accept: 'text/html,*/*;q=0.8' } });
  assert.equal(people.status, 302);
  assert.equal(people.headers.get('location'), '/docs');
  assertStatus(await server.ask('GET', '/'), 404, 'route_not_found');
  const icon = await server.ask('GET', '/favicon.ico');
  assertStatus(icon, 200);
  assert.equal(icon.headers.get('content-type'), 'image/svg+xml');
  assertStatus(await server.ask('GET', '/docs/nothing'), 404, 'route_not_found');
  assertStatus(await server.ask('GET', '/problems/nothing'), 404, 'route_not_found');
});
