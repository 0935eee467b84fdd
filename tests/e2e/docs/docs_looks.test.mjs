// Each page of the documents in a real browser, wide and narrow, light and dark: no error, nothing from another host, accessible,
// small. Screenshots are left in build/…/screenshots.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBrowser } from '../helpers/browser.mjs';
import { startServer } from '../helpers/harness.mjs';
import { utf8 } from '../helpers/wire.mjs';

const wireBytesMax = 120 * 1024;
const server = await startServer();
const browser = await startBrowser();
after(() => Promise.all([server.stop(), browser.stop()]));

const index = JSON.parse(utf8((await server.ask('GET', '/docs/search.json')).body));
const pages = [...new Set(['/docs', '/problems', ...index.map(({ path }) => path.split('#')[0])])];
// Of problems and schemas a few: they are all made alike.
const shown = pages.filter((path) => !/^\/(problems|docs\/schemas)\//.test(path) || /rate_limited|validation_failed|uri_too_long|\/(User|KeyVerification|Problem)$/.test(path));
const nameOf = (path) => path.slice(1).replaceAll('/', '-');

// What the visible buttons for copying cover: text of samples, tabs or captions.
const covered = (page) => page.tab.evaluate(() => {
  const isVisible = (each) => each.checkVisibility() && each.getBoundingClientRect().width > 0;
  const texts = [...document.querySelectorAll('pre, [role=tab], .caption strong, .bar > span')].filter(isVisible);
  return [...document.querySelectorAll('.copy')].filter(isVisible).flatMap((button) => {
    const box = button.getBoundingClientRect();
    return texts.map((text) => [text, text.getBoundingClientRect()])
      .filter(([, { left, right, top, bottom }]) => left < box.right && right > box.left && top < box.bottom && bottom > box.top)
      .map(([text]) => text.textContent.slice(0, 60));
  });
});

for (const width of [1440, 390]) {
  for (const theme of ['light', 'dark']) {
    test(`${width} pixels, ${theme}: no error, nothing from elsewhere, accessible, small`, async () => {
      const page = await browser.newPage({ width, theme });
      const rules = (width === 1440) === (theme === 'light'); // each width and each theme once
      for (const path of shown) {
        await page.open(server.base() + path);
        await page.assertClean(path, { rules });
        assert.deepEqual(await covered(page), [], `${path}: covered by a button for copying`);
        const bytes = page.requests.reduce((sum, each) => sum + each.bytes, 0);
        assert.ok(bytes > 1000 && bytes <= wireBytesMax, `${path}: ${bytes} bytes over the wire`);
        await page.screenshot(`${nameOf(path)}-${width}-${theme}`);
      }
      await page.close();
    });
  }
}
