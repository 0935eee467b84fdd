// The console in a browser, operated by what a person sees: names of fields, buttons and links.
//
//   const console = await openConsole(browser, server, { width: 390, theme: 'dark' });
//   await console.logIn(key);
//   await console.show('/keys?state=active');
//   await console.click('button', 'Create key');

import assert from 'node:assert/strict';
import { sleep } from './harness.mjs';

export async function openConsole(browser, server, options) {
  const page = await browser.newPage(options);
  await page.open(`${server.base()}/console`);
  return new ConsolePage(page, server);
}

class ConsolePage {
  constructor(page, server) {
    Object.assign(this, { page, server, tab: page.tab });
  }

  async logIn({ key }) {
    await this.tab.waitForSelector('#key');
    await this.enter('Key', key);
    await this.tab.keyboard.press('Enter');
    await this.tab.waitForSelector('.sidebar');
    await this.settled();
  }

  async show(path) {
    await this.tab.evaluate((hash) => {
      location.hash = hash;
    }, `#${path}`);
    await this.settled();
  }

  // Until nothing loads any more.
  async settled() {
    await this.tab.waitForFunction(
      () =>
        document.querySelector('h1') !== null &&
        document.querySelector('[aria-busy]') === null &&
        document.querySelector('.loading') === null,
      { timeout: 10_000 },
    );
    await this.tab.evaluate(
      () =>
        new Promise((resolve) => {
          requestAnimationFrame(() => requestAnimationFrame(resolve));
        }),
    );
  }

  find(role, name) {
    return this.tab.waitForSelector(`::-p-aria([name="${name}"][role="${role}"])`, { timeout: 10_000 });
  }

  async click(role, name) {
    await (await this.find(role, name)).evaluate((element) => element.click());
    await sleep(50); // what it does begins in tasks that follow
  }

  // What was in the field is replaced.
  async enter(name, text, role = 'textbox') {
    const field = await this.find(role, name);
    await field.focus();
    await this.tab.keyboard.down('Control');
    await this.tab.keyboard.press('a');
    await this.tab.keyboard.up('Control');
    await this.tab.keyboard.press('Delete');
    if (text !== '') await this.tab.keyboard.sendCharacter(text);
    await field.evaluate((element) => element.dispatchEvent(new Event('change', { bubbles: true })));
  }

  async choose(name, value) {
    await (await this.find('combobox', name)).select(value);
  }

  text(selector = 'body') {
    return this.tab.evaluate((from) => document.querySelector(from)?.innerText ?? '', selector);
  }

  async sees(text, selector = 'body', patience = 12_000) {
    const holds = (some, from) => document.querySelector(from)?.innerText.replace(/\s+/g, ' ').includes(some);
    try {
      await this.tab.waitForFunction(holds, { timeout: patience, polling: 100 }, text, selector);
    } catch {
      assert.fail(`"${text}" is not seen in: ${(await this.text(selector)).slice(0, 2000)}`);
    }
  }

  // A secret that is shown once, after which the dialog is closed.
  async takeSecret() {
    const element = await this.tab.waitForSelector('.secret-text', { timeout: 10_000 });
    const secret = await element.evaluate((code) => code.textContent);
    await this.click('button', 'I have stored it');
    await this.settled();
    return secret;
  }

  // Responses that the browser reports as errors and a test provokes: at least one, each of that status.
  refused(status) {
    const { errors } = this.page;
    const form = new RegExp(`Failed to load resource.*status of ${status}`);
    const others = errors.filter((error) => !form.test(error));
    assert.ok(others.length < errors.length, `a response of ${status} was reported: ${errors}`);
    errors.splice(0, errors.length, ...others);
  }

  // Everything that a page keeps or sends where others may read it.
  async kept() {
    const storage = await this.tab.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]),
    );
    return storage + this.page.requests.map(({ url }) => url).join('\n');
  }

  // Of the whole page, as far as it is not endless.
  async screenshot(name) {
    const { height, ...size } = this.tab.viewport();
    const whole = await this.tab.evaluate(() => document.documentElement.scrollHeight);
    await this.tab.setViewport({ ...size, height: Math.min(Math.max(height, whole), 2600) });
    await this.settled();
    await this.page.screenshot(name);
    await this.tab.setViewport({ ...size, height });
  }

  cookies() {
    return this.page.context.cookies();
  }

  close() {
    return this.page.close();
  }
}
