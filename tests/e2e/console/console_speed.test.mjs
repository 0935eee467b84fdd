// How soon the console shows the keys of a service that has a thousand: from the start of the navigation until the first page of
// them is painted. The figures are told, not judged: bench/README.md has those of a machine with nothing else to do.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBrowser } from '../helpers/browser.mjs';
import { openConsole } from '../helpers/console_page.mjs';
import { startServer } from '../helpers/harness.mjs';

const rounds = 7;
const [server, browser] = await Promise.all([startServer(), startBrowser()]);
after(() => Promise.all([browser.stop(), server.stop()]));

// In the page, before its scripts: notes when the whole first page of the list has been painted.
function watchList() {
  const isShown = () => document.querySelectorAll('tbody tr').length >= 50 && document.querySelector('[aria-busy], .loading') === null;
  const observer = new MutationObserver(() => {
    if (!isShown()) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { globalThis.paintedAt = performance.now(); }));
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true });
}

test('the list of 1,000 keys is there soon', async (t) => {
  const key = await server.makeKey();
  const api = server.client(key);
  for (let i = 1; i < 1000; i += 1) await api.create('/keys', { name: `application ${i}`, scopes: ['users:read'] });
  api.close();

  const page = await openConsole(browser, server);
  await page.logIn(key);
  await page.show('/keys');
  await page.tab.evaluateOnNewDocument(watchList);
  for (const [name, isKept] of [['nothing kept', false], ['scripts and styles kept', true]]) {
    await page.tab.setCacheEnabled(isKept);
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
      await page.tab.reload();
      await page.tab.waitForFunction('globalThis.paintedAt > 0');
      times.push(await page.tab.evaluate('globalThis.paintedAt'));
      assert.match(await page.text(), /application 999/);
    }
    times.sort((a, b) => a - b);
    t.diagnostic(`${name}: ${times[rounds >> 1].toFixed(0)} ms (${times[0].toFixed(0)} to ${times.at(-1).toFixed(0)})`);
  }
  await page.page.assertClean('1,000 keys');
  await page.close();
});
