// Pages in headless Chromium, which puppeteer-core controls over a pipe, so nothing listens on a port. Every page records what
// must not happen: errors of its console and scripts, violations of its Content-Security-Policy, requests to other hosts.
//
//   const browser = await startBrowser();
//   const page = await browser.newPage({ width: 390, theme: 'dark' });
//   await page.open(`${server.base()}/docs`);
//   await page.tab.keyboard.press('/');             // `tab` is puppeteer's Page
//   await page.assertClean('search');               // nothing of the above, no violation of axe-core's rules, no overflow
//   await page.screenshot('docs-search');           // build/…/screenshots/docs-search.png
//   await browser.stop();

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import puppeteer from 'puppeteer-core';
import { binary, temporaryFolder } from './harness.mjs';

const program = '/usr/bin/chromium';
const flags = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--hide-scrollbars', '--force-color-profile=srgb'];
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const screenshotFolder = path.join(path.dirname(binary), '..', 'screenshots');

export async function startBrowser() {
  if (!fs.existsSync(program)) throw new Error('there is no chromium; tools/test installs it');
  const browser = await puppeteer.launch({ executablePath: program, args: flags, pipe: true, acceptInsecureCerts: true,
    userDataDir: temporaryFolder(), protocolTimeout: 60_000 });
  return {
    // A page with cookies and storage of its own. `width` and `height` in CSS pixels; below 600 it is a telephone with a touch
    // screen. `scripts: false`: without JavaScript. `bypassesCsp`: the test may fetch from any page. `clockAhead`: of the
    // computer of the browser, in milliseconds.
    async newPage({
      width = 1440, height = width < 600 ? 844 : 900, theme = 'light', scripts = true, bypassesCsp = false, clockAhead = 0,
    } = {}) {
      const context = await browser.createBrowserContext();
      const tab = await context.newPage();
      const isPhone = width < 600;
      await tab.setViewport({ width, height, deviceScaleFactor: 1, isMobile: isPhone, hasTouch: isPhone });
      await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
      await tab.setJavaScriptEnabled(scripts);
      await tab.setBypassCSP(bypassesCsp);
      if (clockAhead !== 0) await tab.evaluateOnNewDocument(setClock, clockAhead);
      return new BrowserPage(context, tab, await tab.createCDPSession());
    },
    stop: () => browser.close(),
  };
}

// Runs in the page, before its scripts.
function setClock(ahead) {
  const Right = Date;
  window.Date = class extends Right {
    constructor(...parts) {
      super(...(parts.length === 0 ? [Right.now() + ahead] : parts));
    }

    static now() {
      return Right.now() + ahead;
    }
  };
}

class BrowserPage {
  constructor(context, tab, session) {
    this.context = context;
    this.tab = tab;
    this.session = session;
    this.errors = []; // since the page was made; a test that expects one empties the list
    this.requests = []; // [{url, status, coding, bytes}] since `open`, in the order of their ends; bytes over the wire
    this.origin = null;
  }

  async #record() {
    this.recorded = true;
    const { tab, session, errors } = this;
    tab.on('console', (message) => {
      if (['error', 'warn'].includes(message.type())) errors.push(`console: ${message.text()} (${message.location().url ?? ''})`);
    });
    tab.on('pageerror', (error) => errors.push(`script: ${error.message}`));
    tab.on('request', (request) => {
      const url = new URL(request.url());
      if (['http:', 'https:'].includes(url.protocol) && url.origin !== this.origin) errors.push(`request to another host: ${url}`);
    });
    const pending = new Map();
    session.on('Network.responseReceived', ({ requestId, response }) => {
      const coding = Object.entries(response.headers).find(([name]) => name.toLowerCase() === 'content-encoding')?.[1] ?? '';
      pending.set(requestId, { url: response.url, status: response.status, coding });
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const request = pending.get(requestId);
      if (request) this.requests.push({ ...request, bytes: encodedDataLength });
    });
    await session.send('Network.enable');
  }

  // Resolves when the page and what it loads are there.
  async open(url) {
    this.origin = new URL(url).origin;
    if (!this.recorded) await this.#record();
    this.requests.length = 0;
    const answer = await this.tab.goto(url, { waitUntil: 'load', timeout: 30_000 });
    await this.tab.waitForNetworkIdle({ idleTime: 100, timeout: 30_000 }); // what its scripts ask for they ask for at once
    return answer;
  }

  // The value of a JavaScript expression, awaited.
  evaluate(expression) {
    return this.tab.evaluate(expression);
  }

  // What axe-core has to say about the page as it is: one line for each element that breaks a rule.
  async violations() {
    if (!(await this.tab.evaluate('typeof window.axe === "object"'))) await this.tab.evaluate(axe);
    const found = await this.tab.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    return found.violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) =>
      `${id} (${help}): ${html.slice(0, 160)} ${failureSummary.replace(/\s+/g, ' ')}`));
  }

  // Elements that reach beyond the window, and are not in something that scrolls by itself.
  overflow() {
    return this.tab.evaluate(() => {
      const scrolls = (element) => {
        for (let each = element; each && each !== document.body; each = each.parentElement) {
          if (getComputedStyle(each).overflowX !== 'visible') return true;
        }
        return false;
      };
      const width = document.documentElement.clientWidth;
      const wide = [...document.body.querySelectorAll('*')]
        .filter((each) => each.getBoundingClientRect().right > width + 0.5 && !scrolls(each)).map((each) => each.outerHTML.slice(0, 120));
      return document.documentElement.scrollWidth > width ? [`the page is ${document.documentElement.scrollWidth} px wide`, ...wide] : wide;
    });
  }

  // `rules: false` leaves out axe-core, which takes a second for a long page.
  async assertClean(label, { rules = true } = {}) {
    assert.deepEqual({ errors: this.errors, violations: rules ? await this.violations() : [], overflow: await this.overflow() },
      { errors: [], violations: [], overflow: [] }, label);
  }

  // A PNG below build/…/screenshots, of the window or of the whole page.
  async screenshot(name, { fullPage = false } = {}) {
    fs.mkdirSync(screenshotFolder, { recursive: true });
    await this.tab.screenshot({ path: path.join(screenshotFolder, `${name}.png`), fullPage });
  }

  close() {
    return this.context.close();
  }
}
