// A page in headless Chromium, controlled by the Chrome DevTools Protocol over a pipe: commands and events are JSON, each ended
// by a zero byte, on descriptors 3 and 4. Nothing listens on a port.
//
//   const browser = await startBrowser({ width: 390, height: 844 });
//   await browser.open(`${server.base()}/docs`);
//   const width = await browser.evaluate('document.documentElement.scrollWidth');
//   await browser.stop();

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { temporaryFolder } from './harness.mjs';

const flags = ['--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--ignore-certificate-errors', '--hide-scrollbars'];

// `width` and `height` in CSS pixels, as a telephone has them. `bypassesCsp`: a test may fetch from any page.
export async function startBrowser({ width, height, bypassesCsp = false }) {
  const child = spawn('chromium', [...flags, `--user-data-dir=${temporaryFolder()}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const failed = new Promise((_, reject) => {
    child.once('error', () => reject(new Error('there is no chromium; tools/test installs it')));
    child.once('exit', (code) => reject(new Error(`chromium ended with ${code}`)));
  });
  failed.catch(() => {});
  const waiting = new Map();
  let last = 0;
  let text = '';
  child.stdio[4].setEncoding('utf8').on('data', (some) => {
    text += some;
    for (let end = text.indexOf('\0'); end >= 0; end = text.indexOf('\0')) {
      const message = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      const name = message.id ?? message.method;
      waiting.get(name)?.(message);
      waiting.delete(name);
    }
  });
  const eventOf = (name) => Promise.race([failed, new Promise((resolve) => { waiting.set(name, resolve); })]);
  let sessionId;
  const command = async (method, params = {}) => {
    const id = last += 1;
    const answer = eventOf(id);
    child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };

  const { targetId } = await command('Target.createTarget', { url: 'about:blank' });
  ({ sessionId } = await command('Target.attachToTarget', { targetId, flatten: true }));
  await command('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: true });
  await command('Page.enable');
  if (bypassesCsp) await command('Page.setBypassCSP', { enabled: true });
  return {
    async open(url) {
      const loaded = eventOf('Page.loadEventFired');
      const { errorText } = await command('Page.navigate', { url });
      if (errorText) throw new Error(`${url}: ${errorText}`);
      await loaded;
    },
    async evaluate(expression) {
      const { result, exceptionDetails } = await command('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async screenshot() {
      return Buffer.from((await command('Page.captureScreenshot', { format: 'png' })).data, 'base64');
    },
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}
