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

const searched = JSON.parse(utf8((await server.ask('GET', '/docs/search.json')).body));

// What the search lists for a query, in order: "Guide Limits".
async function found(page, query) {
  await page.tab.$eval('#search-field', (field) => { field.value = ''; });
  await page.tab.focus('#search-field');
  await page.tab.evaluate((text) => {
    const field = document.getElementById('search-field');
    document.getElementById('search-results').replaceChildren();
    document.querySelector('#search [role=status]').textContent = '';
    field.value = text;
    field.dispatchEvent(new Event('input'));
  }, query);
  await page.tab.waitForFunction(() => document.querySelector('#search [role=status]').textContent !== '');
  return page.tab.$$eval('#search-results li', (all) => all.map((each) => `${each.querySelector('.kind').textContent} ${each.querySelector('strong').textContent}`));
}

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
    const line = '#search [role=status]:not(.hidden-text)';
    await page.tab.waitForFunction((status) => document.querySelector(status)?.textContent.startsWith('Nothing found'), {}, line);
    const text = await page.tab.$eval(line, (status) => status.textContent);
    assert.match(text, /^Nothing found: try \w+, \w+, \w+$/);
    assert.ok((await page.tab.$eval(line, (status) => status.getBoundingClientRect().height)) > 20, 'it can be seen');
    await page.assertClean('nothing found');
    for (const word of text.replace('Nothing found: try ', '').split(', ')) assert.ok((await found(page, word)).length > 0, word);
    await page.tab.focus('#search-field');
    await page.tab.keyboard.press('Backspace');
    await page.tab.keyboard.press('Escape');
    assert.equal(await page.evaluate('document.getElementById("search-field").value'), '');
    assert.equal(await page.evaluate('document.getElementById("search-results").hidden'), true);
    await page.close();
  });

  // Each of the field's words, and where the first result has to lead.
  const fieldWords = {
    revoke: /^\/docs\/authentication#revoke/, retry: /^\/docs\/(idempotency$|client-libraries#retries)/, quota: /^\/docs\/limits$/, ttl: /^\/docs\/authentication#expiry/,
    expiry: /^\/docs\/authentication#expiry/, bearer: /^\/docs\/(authentication$|configure#bearer)/, sse: /^\/docs\/changes-and-webhooks#a-stream$/,
    etag: /^\/docs\/no-lost-changes$/, nginx: /^\/docs\/protect-your-own-api#ask-in-a-gateway$/,
    kong: /gateway|keys-from-other-systems/, backup: /back-up/, docker: /install/, cors: /^\/docs\/authentication#in-a-browser-cors$/,
    'audit log': /^\/docs\/monitor#metrics-logs-and-the-audit-log$/, 'rate limit': /^\/docs\/limits/, 'rate limit headers': /^\/docs\/limits#rate-limit-headers$/,
    rotate: /^\/docs\/authentication#rotate-a-key$/, 'rotate key': /^\/docs\/authentication#rotate-a-key$/, rbac: /^\/docs\/scopes$/, rollback: /upgrade$/,
    quickstart: /^\/docs\/first-request$/, unauthorized: /protect|authentication/, replay: /./, letsencrypt: /tls-certificates/,
  };
  test('finds the words of the field, and guides before schemas', async () => {
    const page = await opened('/docs');
    const paths = new Map(searched.map(({ title, kind, path }) => [`${kind} ${title}`, path]));
    for (const [word, target] of Object.entries(fieldWords)) {
      const results = await found(page, word);
      assert.ok(results.length > 0, word);
      assert.match(results[0], /^Guide /, `${word}: ${results.join(', ')}`);
      const entries = searched.filter(({ title, kind }) => `${kind} ${title}` === results[0]).map(({ path }) => path);
      assert.ok(entries.some((path) => target.test(path)), `${word}: ${results.join(', ')}`);
    }
    assert.ok(paths.size > 100);
    const verify = (await found(page, 'verify key')).slice(0, 4);
    assert.equal(verify[0], 'Operation Verify a key for another service');
    assert.ok(verify.includes('Guide Protect your own API'), verify.join(', '));
    assert.ok((await found(page, 'user')).includes('Schema User'), 'by its name');
    await page.close();
  });

  test('finds what only the text of a section says, in any part of several words', async () => {
    const page = await opened('/docs');
    assert.ok((await found(page, 'refills window')).includes('Guide Token buckets'));
    assert.ok((await found(page, 'traefik')).includes('Guide Ask in a gateway'));
    const kinds = ['Guide', 'Operation', 'Problem', 'Schema'];
    const ranks = (await found(page, 'webhook')).map((each) => kinds.indexOf(each.split(' ')[0]));
    assert.deepEqual(ranks, ranks.toSorted((one, other) => one - other)); // all have it in their titles
    await page.close();
  });

  test('finds problems, schemas and headings of guides', async () => {
    const page = await opened('/docs');
    for (const [query, path] of [['last_admin_key', '/problems/last_admin_key'], ['UserList', '/docs/schemas/UserList'], ['cursors', '/docs/paging#cursors']]) {
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
  assert.equal(text, `curl -sS "${server.base()}/api/v1/users" \\\n  -H "Authorization: Bearer $LATCHKEY_KEY"\n`);
  await page.close();
});

test('samples have the origin of the page, in each language', { timeout: 120_000 }, async () => {
  const page = await browser.newPage();
  const guides = new Set(searched.filter(({ kind }) => kind === 'Guide').map(({ path }) => path.split('#')[0]));
  for (const path of ['/docs', ...guides, '/docs/keys', '/docs/service', '/problems/rate_limited']) {
    await page.open(server.base() + path);
    for (const [language, text] of await page.tab.$$eval('pre > code', (all) => all.map((code) => [code.className, code.textContent]))) {
      if (!/-(sh|ts|typescript|python|go)$/.test(language)) continue;
      const isSet = /export LATCHKEY_URL=(\S+)/.exec(text)?.[1] === server.base(); // and what follows may read it
      assert.ok(isSet || !text.includes('LATCHKEY_URL'), `${path}: ${text}`);
      if (/^curl .*https:.*\/api\//m.test(text)) assert.ok(text.includes(server.base()), `${path}: ${text}`);
      const imports = /^(import os|\t"os")$/m.test(text);
      if (language.endsWith('go') && text.includes('package main')) assert.equal(imports, /\bos\.[A-Z]/.test(text), `${path}: ${text}`);
      if (language.endsWith('python') && imports) assert.match(text, /\bos\./, `${path}: ${text}`);
    }
  }
  const [start] = await (async () => {
    await page.open(`${server.base()}/docs/users`);
    return page.tab.$$eval('code.language-python', (all) => all.map((code) => code.textContent));
  })();
  assert.ok(start.includes(`    "${server.base()}/api/v1/users",\n`), start);
  await page.close();
});

test('an anchor of the list of schemas leads to the page of the schema', { timeout: 60_000 }, async () => {
  const page = await opened('/docs/schemas#User');
  await page.tab.waitForFunction(() => location.pathname === '/docs/schemas/User' && document.querySelector('h1')?.textContent === 'User');
  await page.close();
});

test('a browser gets a page where there is none', { timeout: 60_000 }, async () => {
  for (const [path, width] of [['/docs/nothing', 1440], ['/problems/a/b', 390], ['/foo', 860]]) {
    const page = await browser.newPage({ width });
    assert.equal((await page.open(server.base() + path)).status(), 404);
    assert.equal(await page.tab.$eval('h1', (title) => title.textContent), 'There is no such page');
    assert.ok(page.errors.every((each) => /404/.test(each)), page.errors.join()); // the browser notes the status itself
    page.errors.length = 0;
    await page.assertClean(path);
    assert.equal((await found(page, 'quota'))[0], 'Guide Limits');
    await page.screenshot(`docs-missing-${width}`);
    await page.close();
  }
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
