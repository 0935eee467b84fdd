// The lists of the console: readable in narrow windows, older ones up to the end, sorted, exported, and filters that look at all of
// what is there.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startBrowser } from '../helpers/browser.mjs';
import { openConsole } from '../helpers/console_page.mjs';
import { startServer } from '../helpers/harness.mjs';
import { makeTrust, startReceiver } from '../helpers/webhook_receiver.mjs';

const trust = makeTrust();
const server = await startServer({ config: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n', env: trust.env });
const first = await server.makeKey({ name: 'operator' });
const api = server.client(first);
const browser = await startBrowser();
const receiver = await startReceiver(trust, () => ({ status: 500, body: 'later' }));
after(async () => {
  api.close();
  await Promise.all([browser.stop(), server.stop(), receiver.stop()]);
});

const userCount = 1130; // more changes than one request reads
before(async () => {
  const author = await api.create('/users', { name: 'Ada Lovelace', email: 'ada.lovelace@analytical-engine.example.org' });
  await api.create('/posts', { user_id: author.id, title: 'Notes on the Analytical Engine, with a sketch of its inventor' });
  await api.create('/users', { name: '=1+1,"quoted"', email: 'formula@example.org' });
  const add = (i) => api.create('/users', { name: `Person ${i}`, email: `person${i}@example.org` });
  for (let i = 3; i <= userCount; i += 50) await Promise.all(Array.from({ length: Math.min(50, userCount + 1 - i) }, (_, n) => add(i + n)));
});

async function loggedIn(options = {}) {
  const page = await openConsole(browser, server, options);
  await page.logIn(first);
  return page;
}

const rows = (page) => page.tab.evaluate(() => [...document.querySelectorAll('tbody tr')].map((row) => row.innerText.replace(/\s+/g, ' ')));

describe('a narrow window', () => {
  for (const width of [390, 480, 600, 620, 768, 860]) {
    test(`of ${width} px shows users and posts whole`, async () => {
      const page = await loggedIn({ width });
      for (const path of ['/users?sort=id', '/posts']) {
        await page.show(path);
        const { scrolls, squeezed } = await page.tab.evaluate(() => {
          const region = document.querySelector('.table-scroll');
          const lines = (element) => new Set([...element.getClientRects()].map(({ top }) => Math.round(top))).size;
          const texts = [...region.querySelectorAll('td bdi, td a, td time, td .badge')].slice(0, 20)
            .filter((element) => element.offsetParent !== null);
          return {
            scrolls: region.scrollWidth - region.clientWidth,
            squeezed: texts.filter((text) => lines(text) > 3 || text.getBoundingClientRect().width < 20).map((text) => text.innerText),
          };
        });
        assert.deepEqual([path, scrolls, squeezed], [path, 0, []]);
        await page.sees(path === '/posts' ? 'Notes on the Analytical Engine' : 'ada.lovelace@analytical-engine.example.org', 'table');
      }
      await page.page.assertClean(`${width} px`);
      await page.close();
    });
  }
});

describe('a list', () => {
  test('goes on to its end, and back', async () => {
    const page = await loggedIn();
    await page.show('/users');
    await page.sees(`1–50 of ${userCount.toLocaleString('en')} users`);
    const older = () => page.tab.evaluate(() => [...document.querySelectorAll('.pager button')].at(-1).disabled);
    let pages = 1;
    const seen = new Set(await rows(page));
    for (; !(await older()); pages += 1) {
      await page.click('button', 'Older');
      await page.sees(`${(pages * 50 + 1).toLocaleString('en')}–`, '.pager');
      for (const row of await rows(page)) seen.add(row);
    }
    assert.equal(pages, Math.ceil(userCount / 50));
    assert.equal(seen.size, userCount);
    assert.match(await page.tab.evaluate(() => location.hash), /cursor=/, 'however deep it is');
    await page.click('button', 'Newer');
    await page.sees('1,051–1,100 of', '.pager');
    await page.close();
  });

  test('is sorted either way', async () => {
    const page = await loggedIn();
    await page.show('/users');
    assert.match((await rows(page))[0], new RegExp(`#${userCount}\\b`));
    await page.choose('Order', 'id');
    await page.settled();
    assert.match((await rows(page))[0], /Ada Lovelace #1\b/);
    await page.close();
  });

  test('is exported whole, by the filters that are set, and runs no formula', async () => {
    const page = await loggedIn();
    await page.show('/users?sort=id');
    await page.tab.evaluate(() => {
      const make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (blob) => {
        blob.text().then((text) => {
          globalThis.exported = text;
        });
        return make(blob);
      };
    });
    await page.click('button', 'Export as CSV');
    await page.sees(`Exported ${userCount.toLocaleString('en')} users.`);
    const lines = (await page.tab.evaluate('globalThis.exported')).split('\r\n');
    assert.equal(lines[0], 'id,name,email,created_at,updated_at');
    assert.match(lines[1], /^1,Ada Lovelace,ada\.lovelace@analytical-engine\.example\.org,20\d\d-/);
    assert.match(lines[2], /^2,"'=1\+1,""quoted""",formula@example\.org,/);
    assert.equal(lines.length, userCount + 2, 'a line each, the head, and nothing behind the last line');
    await page.show('/posts?status=archived');
    await page.click('button', 'Export as CSV');
    await page.sees('Exported 0 posts.');
    await page.page.assertClean('after an export');
    await page.close();
  });

  test('that has nothing for its filters says so', async () => {
    const page = await loggedIn();
    await page.show('/posts?status=archived');
    await page.sees('No post matches');
    await page.show('/users?page=1000');
    await page.sees('No more users');
    await page.click('button', 'First page');
    await page.sees('1–50 of');
    await page.close();
  });
});

describe('the columns of a list', () => {
  const sorted = (page) =>
    page.tab.evaluate(() => [...document.querySelectorAll('th[aria-sort]')].map((head) => [head.innerText.match(/[\w-]+/)[0], head.ariaSort]));
  const names = (page) => page.tab.evaluate(() => [...document.querySelectorAll('tbody .strong')].map(({ textContent }) => textContent));

  test('sort it where it is whole, by keyboard too, and it stays sorted', async () => {
    for (const [name, days] of [['b', 20], ['A', 30], ['c10', null], ['c9', 10]])
      await server.makeKey({ name, scopes: ['users:read'], args: days ? ['--expires-in', `${days}d`] : [] });
    const page = await loggedIn();
    await page.show('/keys');
    const before = await names(page);
    await (await page.find('button', 'Name')).focus();
    await page.tab.keyboard.press('Enter');
    assert.deepEqual(await sorted(page), [['Name', 'ascending']]);
    assert.deepEqual(await names(page), ['A', 'b', 'c9', 'c10', 'operator']);
    await page.tab.keyboard.press('Space');
    assert.deepEqual(await sorted(page), [['Name', 'descending']]);
    assert.deepEqual(await names(page), ['operator', 'c10', 'c9', 'b', 'A']);
    assert.equal(await page.tab.evaluate(() => document.activeElement.textContent), 'Name', 'the focus stays');
    await page.tab.keyboard.press('Enter');
    assert.deepEqual([await sorted(page), await names(page)], [[], before]);
    await page.click('button', 'Expires');
    const byEnd = ['c9', 'b', 'A'];
    assert.deepEqual((await names(page)).slice(0, 3), byEnd);
    await page.click('button', 'Expires');
    assert.deepEqual((await names(page)).slice(0, 3), byEnd.toReversed(), 'what never expires is last either way');
    await page.show('/users');
    await page.show('/keys');
    assert.deepEqual(await sorted(page), [['Expires', 'descending']]);
    assert.deepEqual((await names(page)).slice(0, 3), byEnd.toReversed());
    await page.page.assertClean('sorted');
    await page.close();
  });

  test('do not sort one of its pages, and say why', async () => {
    const page = await loggedIn();
    const heads = () => page.tab.evaluate(() => [...document.querySelectorAll('th')].map((head) => [head.querySelector('button') !== null, head.title]));
    for (const path of ['/users', `/users?page=${Math.ceil(userCount / 50)}`]) {
      await page.show(path);
      for (const [sorts, title] of await heads()) assert.deepEqual([sorts, title.slice(0, 50)], [false, 'A list of several pages is sorted by id alone. Wit']);
    }
    await page.show('/users?email=formula@example.org');
    assert.deepEqual(await heads(), Array(4).fill([true, '']), 'the filter leaves one page');
    await page.close();
  });
});

describe('changes', () => {
  test('go back to the oldest one that is kept', async () => {
    const page = await loggedIn();
    await page.show('/changes');
    await page.sees('live', '.heading');
    const sequences = () =>
      page.tab.evaluate(() => [...document.querySelectorAll('.feed > li')].map((item) => Number(item.dataset.sequence)));
    const count = (await sequences()).length;
    await page.click('button', 'Older');
    await page.tab.waitForFunction((before) => document.querySelectorAll('.feed > li').length > before, {}, count);
    for (let more = true; more; ) {
      await page.settled();
      more = await page.tab.evaluate(() => {
        const older = [...document.querySelectorAll('main button')].find(({ textContent }) => textContent === 'Older');
        older?.click();
        return older !== undefined;
      });
    }
    await page.sees('No older changes are kept');
    const all = await sequences();
    assert.deepEqual(all, Array.from(all, (_, i) => all.length - i), 'each once, down to the first');
    await page.close();
  });

  test('are filtered over all that are kept', async () => {
    const page = await loggedIn();
    await page.show('/changes?type=post.created');
    await page.sees('Notes on the Analytical Engine', '.feed');
    await page.show('/changes?type=webhook.disabled');
    await page.sees('No change of this type');
    await page.close();
  });
});

test('deliveries show their times and the next attempt, back to the first one', async () => {
  const { id } = await api.create('/webhooks', { url: receiver.url, types: ['post.*'] });
  const posts = 60;
  await Promise.all(Array.from({ length: posts }, (_, i) => api.create('/posts', { user_id: 1, title: `Post ${i}` })));
  await receiver.heard(posts);
  const page = await loggedIn();
  await page.show(`/webhooks/${id}`);
  await page.sees('answered 500', '.deliveries');
  const heads = () => page.tab.evaluate(() => [...document.querySelectorAll('.delivery summary')].map(({ innerText }) => innerText.replace(/\s+/g, ' ')));
  for (const head of await heads()) assert.match(head, /\d\d:\d\d:\d\d answered 500 in [\d,]+ ms · next attempt .*\d\d:\d\d:\d\d/);
  assert.equal((await heads()).length, 50);
  await page.click('button', 'Older');
  await page.tab.waitForFunction(() => document.querySelectorAll('.delivery').length === 10);
  assert.equal(await page.tab.$('::-p-aria([name="Older"][role="button"])'), null, 'the end');
  await page.click('button', 'Newest');
  await page.tab.waitForFunction(() => document.querySelectorAll('.delivery').length === 50);
  await page.page.assertClean('deliveries');
  await page.close();
});
