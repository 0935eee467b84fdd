// What holds on all pages of the console: numbers and times, what it shows while it waits and where there is nothing, its defaults,
// its dialogs, what a finger can hit, its looks and its words.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { startBrowser } from '../helpers/browser.mjs';
import { openConsole } from '../helpers/console_page.mjs';
import { assertStatus, binary, command, startServer, temporaryFolder, until } from '../helpers/harness.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';

const trust = makeTrust();
const state = temporaryFolder();
const server = await startServer({
  data: path.join(state, 'latchkey'),
  config: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n',
  env: trust.env,
  workers: 1, // which stores all uses at once: what came before one that is stored is stored too
});
const first = await server.makeKey({ name: 'operator' });
const api = server.client(first);
const browser = await startBrowser();
const receiver = await startReceiver(trust, () => ({ status: 500 }));
after(async () => {
  api.close();
  await Promise.all([browser.stop(), server.stop(), receiver.stop()]);
});

let webhook;
before(async () => {
  webhook = await api.create('/webhooks', { url: receiver.url, types: ['user.*'], description: 'Data warehouse' });
  const user = await api.create('/users', { name: 'Ada Lovelace', email: 'ada@example.org' });
  await api.create('/posts', { user_id: user.id, title: 'Notes' });
  for (const source of ['stripe', 'shop']) assertStatus(await api.post(`/events/${source}`, { type: 'paid' }), 202);
  assertStatus(await api.put('/events/shop/secret', { format: 'github' }), 201);
});

async function loggedIn(key = first, options = {}) {
  const page = await openConsole(browser, server, options);
  await page.logIn(key);
  return page;
}

// Requests of the page that match get what `answer` makes of the service's own answer.
async function intercept(page, matches, answer) {
  await page.tab.setRequestInterception(true);
  page.tab.on('request', async (request) => {
    const url = new URL(request.url());
    if (!matches(url)) return request.continue();
    const text = (await api.get(url.pathname.slice('/api/v1'.length) + url.search)).body.toString();
    return request.respond({ status: 200, contentType: 'application/json', body: await answer(text) });
  });
}

async function figures(page) {
  await page.tab.evaluate(() => {
    document.querySelector('.as-table').open = true;
  });
  await page.tab.waitForSelector('.figures tbody');
  return page.tab.evaluate(() => [...document.querySelectorAll('.figures tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.innerText.replaceAll(',', '')))));
}
const sum = (numbers) => numbers.flat().reduce((total, each) => total + each, 0);

describe('numbers', () => {
  test('are exact below 10,000, and above that where one points at them', async () => {
    const page = await loggedIn();
    await intercept(
      page,
      ({ pathname, searchParams }) => pathname.endsWith('/usage') && searchParams.has('top'),
      (text) => {
        const usage = JSON.parse(text);
        usage.data = [{ key_id: first.id, requests: 8765, points: usage.total.points }];
        Object.assign(usage.total.points.at(-1), { requests: 22_222, by_status: { '2xx': 9876, '3xx': 0, '4xx': 12_346, '5xx': 0 }, limited: 0 });
        return JSON.stringify(usage);
      },
    );
    await page.show('/users');
    await page.show('/');
    await page.sees('9,876', '.stats');
    await page.sees('8,765', '.ranking');
    assert.equal(await page.tab.evaluate(() => [...document.querySelectorAll('.stats [title]')].find(({ innerText }) => innerText === '12.3K')?.title), '12,346');
    await page.close();
  });

  test('of 24 hours are 24 bars, and what `latchkey usage` says', async () => {
    const { key, id } = await server.makeKey({ name: 'busy', scopes: ['users:read'] });
    const client = server.client(key);
    for (let i = 0; i < 37; i += 1) assertStatus(await client.get('/users'), 200);
    client.close();
    await until(async () => (await api.read(`/usage?key_id=${id}`)).total.requests === 37, 'the uses are stored');
    const page = await loggedIn();
    await page.show(`/keys/${id}`);
    await page.sees('Requests 37', '.stats');
    const bars = await figures(page);
    assert.equal(bars.length, 24);
    const { stdout } = await command('keys', 'usage', String(id), '--data', server.data, '--json');
    const told = JSON.parse(stdout).data.map(({ requests }) => requests);
    assert.deepEqual([told.length, sum(told)], [24, sum(bars)]);
    for (const [range, count] of [['1 hour', 60], ['30 days', 30]]) {
      await page.click('radio', range);
      await page.sees(`last ${range}`, '.stats');
      assert.deepEqual([range, (await figures(page)).length], [range, count]);
    }
    await page.close();
  });

  test('do not have the requests of the console', async () => {
    const key = await server.makeKey({ name: 'onlooker' });
    const page = await loggedIn(key);
    for (const where of ['/keys', '/users', '/audit', '/']) await page.show(where);
    const marker = await server.makeKey({ name: 'marker' });
    const client = server.client(marker);
    assertStatus(await client.get('/users'), 200);
    client.close();
    await until(async () => (await api.read(`/usage?key_id=${marker.id}`)).total.requests === 1, 'what came before is stored');
    assert.equal((await api.read(`/usage?key_id=${key.id}`)).total.requests, 0);
    await page.close();
  });

  test('are joined by straight lines', async () => {
    const page = await openConsole(browser, server);
    const script = await page.tab.evaluate(() => fetch(document.querySelector('script[src]').src).then((answer) => answer.text()));
    assert.match(script, /spanGaps:/, 'the script of the charts');
    assert.doesNotMatch(script, /tension:0?\.[0-9]/);
    await page.close();
  });
});

describe('times', () => {
  test('have a date where the day is not today, in a zone that is said and chosen', async () => {
    const { id } = await server.makeKey({ name: 'dated', args: ['--expires-at', '2035-03-04T22:30:00Z'] });
    const page = await openConsole(browser, server);
    await page.tab.emulateTimezone('Asia/Tokyo');
    await page.tab.reload();
    await page.logIn(first);
    await page.show('/keys');
    assert.match(await page.text('table'), /Mar 5, 2035/);
    await page.show(`/keys/${id}`);
    await page.sees('Mar 5, 2035, 07:30:00 GMT+9');
    await page.sees('Time zone', '.page-foot');
    await page.choose('Time zone', 'UTC');
    await page.settled();
    await page.sees('Mar 4, 2035, 22:30:00 UTC');
    await page.show(`/keys/${id}/edit`);
    const field = await page.tab.$('input[type="datetime-local"]');
    assert.equal(await field.evaluate(({ value }) => value), '2035-03-04T22:30');
    await page.sees('Time zone: UTC.');
    await field.evaluate((input) => {
      input.value = '2035-03-05T01:00';
    });
    await page.click('button', 'Save changes');
    await page.sees(`Key ${id} was changed`);
    assert.equal((await api.read(`/keys/${id}`)).expires_at, '2035-03-05T01:00:00.000Z');
    await page.tab.reload();
    await page.settled();
    await page.sees('Mar 5, 2035, 01:00:00 UTC');
    await page.page.assertClean('another zone');
    await page.close();
  });
});

describe('what is not there', () => {
  test('is seen to load', async () => {
    const page = await loggedIn();
    let release;
    const held = new Promise((resolve) => {
      release = resolve;
    });
    await intercept(page, ({ pathname }) => pathname === '/api/v1/users', (text) => held.then(() => text));
    await page.tab.evaluate(() => {
      location.hash = '#/users';
    });
    await page.tab.waitForSelector('.loading .bone');
    const height = await page.tab.evaluate(() => document.querySelector('.loading').getBoundingClientRect().height);
    assert.ok(height > 80, `${height} px`);
    await page.page.assertClean('while it loads');
    release();
    await page.sees('Ada Lovelace', 'table');
    assert.equal(await page.tab.$('.loading'), null);
    await page.close();
  });

  test('is told where a record is missing', async () => {
    const page = await loggedIn();
    for (const [where, noun, list] of [
      ['/keys/4711', 'key', 'All keys'],
      ['/keys/4711/edit', 'key', 'All keys'],
      ['/users/4711', 'user', 'All users'],
      ['/posts/4711', 'post', 'All posts'],
      ['/events/4711', 'event', 'All events'],
      ['/webhooks/4711', 'webhook', 'All webhooks'],
    ]) {
      await page.show(where);
      await page.sees(`No such ${noun}`);
      assert.equal(await page.tab.$('main form, main canvas'), null, `nothing of a ${noun} is shown`);
      page.refused(404);
      await page.page.assertClean(where);
      await page.click('link', list);
      await page.settled();
      assert.doesNotMatch(await page.text('h1'), /No such/);
    }
    await page.close();
  });

  test('is told by each list of a new service', async () => {
    const empty = await startServer();
    const page = await openConsole(browser, empty);
    await page.logIn(await empty.makeKey({ name: 'first' }));
    for (const [where, text] of [
      ['/', 'No requests in this time'],
      ['/users', 'No users yet'],
      ['/posts', 'No posts yet'],
      ['/events', 'No events yet'],
      ['/webhooks', 'No webhooks yet'],
      ['/sources', 'No source yet'],
    ]) {
      await page.show(where);
      await page.sees(text);
      await page.page.assertClean(where);
    }
    await page.close();
    await empty.stop();
  });
});

describe('defaults', () => {
  test('are those of the API and of the command line', async () => {
    const page = await loggedIn();
    await page.show('/keys/new');
    await page.enter('Name', 'by the console');
    await page.click('button', 'Create key');
    await page.takeSecret();
    const { id } = (await api.read('/keys?sort=-id&limit=1')).data[0];
    const one = await api.read(`/keys/${id}`);
    const two = await api.create('/keys', { name: 'by the API' });
    const { stdout } = await command('keys', 'create', '--data', server.data, '--name', 'by the command line', '--json');
    const members = ['project', 'environment', 'scopes', 'expires_at', 'not_before', 'rate_limits', 'ip_allowlist', 'metadata'];
    const chosen = (key) => Object.fromEntries(members.map((name) => [name, key[name]]));
    assert.deepEqual(chosen(one), chosen(two));
    assert.deepEqual(chosen(one), chosen(JSON.parse(stdout)));
    await page.close();
  });

  test('of a source are its own format', async () => {
    const page = await loggedIn();
    await page.show('/sources');
    const format = async (button, source) => {
      await page.tab.evaluate(([text, name]) => {
        const card = [...document.querySelectorAll('.card')].find((each) => each.querySelector('h2').innerText === name);
        [...card.querySelectorAll('button')].find(({ innerText }) => innerText === text).click();
      }, [button, source]);
      const value = await (await page.find('combobox', 'Signature format')).evaluate((select) => select.value);
      await page.tab.keyboard.press('Escape');
      return value;
    };
    assert.equal(await format('Set secret', 'stripe'), 'stripe');
    assert.equal(await format('New secret', 'shop'), 'github');
    await page.close();
  });
});

describe('the login page', () => {
  test('advises what works as it is printed', async () => {
    const page = await openConsole(browser, server);
    const advice = await page.text('.login-foot code');
    const folder = temporaryFolder();
    fs.symlinkSync(binary, path.join(folder, 'latchkey'));
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', advice],
      { env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, XDG_STATE_HOME: state } });
    await page.logIn({ key: /^[0-9A-Za-z]{48}$/m.exec(stdout)[0] });
    await page.sees('Overview', 'h1');
    await page.close();
  });
});

describe('dialogs', () => {
  test('name what they are about', async () => {
    const page = await loggedIn();
    const asks = async (where, button, name) => {
      await page.show(where);
      await page.click('button', button);
      await page.sees(name, 'dialog h2');
      await page.page.assertClean(button);
      await page.tab.keyboard.press('Escape');
      await page.tab.waitForSelector('dialog', { hidden: true });
    };
    await asks(`/webhooks/${webhook.id}`, 'Delete', receiver.url);
    await asks(`/webhooks/${webhook.id}`, 'Rotate secret', receiver.url);
    await asks('/sources', 'Remove secret', 'shop');
    await asks('/users/1', 'Delete', 'Ada Lovelace');
    await asks('/posts/1', 'Delete', 'Notes');
    await asks(`/keys/${first.id}`, 'Deactivate', 'operator');
    await page.close();
  });

  test('send changes again from one button', async () => {
    const page = await loggedIn();
    await page.show(`/webhooks/${webhook.id}`);
    await page.sees('user.created', '.deliveries');
    const names = () =>
      page.tab.evaluate(() => [...document.querySelectorAll('main button')].map(({ innerText }) => innerText).filter((text) => /again/.test(text)));
    assert.deepEqual(await names(), ['Send again']);
    await page.click('button', 'Send again');
    await page.sees('Send changes again', 'dialog h2');
    await page.click('button', 'Send them again');
    await page.sees('The changes are sent again.');
    await page.tab.evaluate(() => document.querySelector('.deliveries input').click());
    assert.deepEqual(await names(), ['Send 1 again']);
    await page.close();
  });
});

const paths = ['/', '/keys', `/keys/${first.id}`, '/keys/new', `/keys/${first.id}/edit`, '/check', '/changes', '/webhooks', '/webhooks/1',
  '/webhooks/new', '/events', '/events/1', '/sources', '/audit', '/users', '/users/1', '/posts', '/posts/1', '/nowhere'];

describe('every page', () => {
  test('has targets of at least 24 px in a window of 390 px', async () => {
    const page = await loggedIn(first, { width: 390 });
    const small = () =>
      page.tab.evaluate(() => {
        // A link within a sentence is as high as its line (WCAG 2.2, 2.5.8: inline).
        const isInline = (element) =>
          element.tagName === 'A' && element.closest('p, li, .faint') !== null &&
          [...element.parentElement.childNodes].some((node) => node !== element && node.textContent.trim() !== '');
        const targetOf = (element) => (element.matches('[type="checkbox"], [type="radio"]') && element.closest('label')) || element;
        return [...document.querySelectorAll('a, button, input, select, textarea, summary')]
          .filter((element) => element.checkVisibility({ checkVisibilityCSS: true }) && !element.matches('.skip') && !isInline(element))
          .map((element) => [targetOf(element).getBoundingClientRect(), element])
          .filter(([{ width, height }]) => width > 0 && (width < 24 || height < 23.9))
          .map(([{ width, height }, element]) => `${Math.round(width)}×${Math.round(height)} ${element.outerHTML.slice(0, 110)}`);
      });
    for (const where of paths) {
      await page.show(where);
      assert.deepEqual([where, await small()], [where, []]);
    }
    await page.close();
  });

  test('has the one logo and its blue', async () => {
    const page = await loggedIn();
    const colors = (...properties) =>
      page.tab.evaluate((names) => {
        const probe = document.createElement('span');
        document.body.append(probe);
        const values = names.map((name) => {
          probe.style.color = `var(--${name})`;
          return getComputedStyle(probe).color;
        });
        probe.remove();
        return values;
      }, properties);
    const looks = await page.tab.evaluate(async () => {
      const icon = document.querySelector('link[rel="icon"]').href;
      return {
        icon,
        logos: [...document.querySelectorAll('.brand')].map((brand) => brand.querySelector('img')?.src),
        fill: /fill="(#[0-9a-f]{6})"/.exec(await (await fetch(icon)).text())[1],
      };
    });
    assert.deepEqual(looks.logos, [looks.icon, looks.icon]);
    const blue = `rgb(${[1, 3, 5].map((i) => Number.parseInt(looks.fill.slice(i, i + 2), 16)).join(', ')})`;
    assert.deepEqual(await colors('accent', 'accent-fill', 'info', 'c-ok'), [blue, blue, blue, blue]);
    await page.tab.goto(`${server.base()}/docs`);
    assert.equal(await page.tab.evaluate(() => document.querySelector('.brand img').src), looks.icon, 'the documents have it too');
    assert.deepEqual(await colors('accent'), [blue]);
    await page.close();
  });

  test('squeezes no name, repeats no title of a card, and breaks no option', async () => {
    const page = await openConsole(browser, server, { width: 1280 });
    const login = await page.tab.evaluate(() => [...document.querySelectorAll('.login-foot code span')].map((word) => word.getClientRects().length));
    assert.deepEqual([login.length, ...new Set(login)], [7, 1], 'each word stands in one line');
    await page.logIn(first);
    await page.show('/keys');
    const { names, scrolls } = await page.tab.evaluate(() => ({
      names: [...document.querySelectorAll('td.main')].map((cell) => [cell.clientWidth >= 160, cell.querySelector('.under').getClientRects().length]),
      scrolls: document.querySelector('.table-scroll').scrollWidth > document.querySelector('.table-scroll').clientWidth,
    }));
    assert.ok(names.length > 0);
    for (const name of names) assert.deepEqual(name, [true, 1]);
    assert.equal(scrolls, false);
    for (const where of ['/keys/new', '/webhooks/new']) {
      await page.show(where);
      const repeated = await page.tab.evaluate(() =>
        [...document.querySelectorAll('.card')].filter((card) =>
          [...card.querySelectorAll('.card-body > .field > :is(label, legend)')].some((label) =>
            label.textContent === card.querySelector('h2').textContent && label.checkVisibility() && getComputedStyle(label).clipPath === 'none',
          ),
        ).map((card) => card.querySelector('h2').textContent),
      );
      assert.deepEqual(repeated, [], where);
    }
    await page.page.assertClean('the looks');
    await page.close();
  });

  test('uses the terms of the trade', async () => {
    const page = await loggedIn();
    const odd = /half of them|99 % within|would (this key )?pass|not heard from|dealt with|endpoint|where to send|works from|somebody else was faster|turn it off|what it may do|how often|how long|begin here|write a post|add a member|events from outside|switched off/i;
    for (const where of paths) {
      await page.show(where);
      assert.doesNotMatch(await page.text(), odd, where);
    }
    await page.show('/');
    await page.sees('Median latency');
    await page.sees('99th percentile latency');
    await page.close();
  });
});
