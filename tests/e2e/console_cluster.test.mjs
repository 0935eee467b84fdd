// The console at a node of a cluster: the table of nodes, and what it says when a node cannot confirm a change.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { Cluster } from './cluster_harness.mjs';
import { Postgres } from './cluster_postgres.mjs';
import { openConsole } from './console_page.mjs';
import { assertStatus } from './harness.mjs';

const postgres = await Postgres.begin();
const browser = await startBrowser();
let cluster;
before(async () => {
  cluster = await Cluster.begin(postgres, { leaseSeconds: 15, names: ['one', 'two'] });
});
after(async () => {
  await Promise.all([cluster?.stop(), browser.stop()]);
  await postgres.stop();
});

async function loggedIn(key = cluster.key) {
  const page = await openConsole(browser, { base: () => cluster.nodes[0].server.base('http') });
  await page.logIn({ key });
  return page;
}

async function newKey(scopes = ['users:read']) {
  const answer = await cluster.nodes[0].client().post('/keys', { name: 'short-lived', scopes });
  assertStatus(answer, 201);
  return answer.json;
}

// What `work` turns off is not confirmed by the second node.
async function unconfirmed(work) {
  const [, two] = cluster.nodes;
  two.pause();
  try {
    await work();
  } finally {
    two.resume();
  }
  await two.ready();
}

const sentence = 'One node has not confirmed it: it holds everywhere from';

test('the overview has the nodes of the cluster', async () => {
  const page = await loggedIn();
  await page.sees('one · this one');
  await page.sees('two');
  await page.sees('alive');
  assert.doesNotMatch(await page.text(), /not heard from/);
  await page.page.assertClean('the overview at a node');
  await page.close();
});

test('a key that a node cannot be told of is off from a time on, which is named', async () => {
  const { id } = await newKey();
  const page = await loggedIn();
  await page.show(`/keys/${id}`);
  await unconfirmed(async () => {
    await page.click('button', 'Deactivate');
    await page.click('button', 'Deactivate'); // of the dialog
    await page.sees(`Key ${id} is off. ${sentence}`);
    await page.show('/');
    await page.sees('A node is behind.', 'body', 40_000);
    await page.sees('not heard from');
  });
  await page.close();
});

test('so is a key that was rotated', async () => {
  const { id } = await newKey();
  const page = await loggedIn();
  await page.show(`/keys/${id}`);
  await unconfirmed(async () => {
    await page.click('button', 'Rotate');
    await page.choose('Both keys work for', '0');
    await page.click('button', 'Rotate'); // of the dialog
    await page.sees(`Key ${id} is replaced by key ${id + 1}. ${sentence}`, 'dialog');
    await page.page.assertClean('the key that replaces it');
  });
  await page.takeSecret();
  await page.close();
});

test('so is a key whose overlap was ended', async () => {
  const { id } = await newKey();
  assertStatus(await cluster.nodes[0].client().post(`/keys/${id}/rotate`), 201);
  const page = await loggedIn();
  await page.show(`/keys/${id}`);
  await unconfirmed(async () => {
    await page.click('button', 'End the overlap now');
    await page.click('button', 'Turn it off');
    await page.sees(`Key ${id} is off. ${sentence}`);
  });
  await page.close();
});

test('so is the secret of a source that a new one replaces, generated or given', async () => {
  assertStatus(await cluster.nodes[0].client().put('/events/github/secret', { format: 'github' }), 201);
  const page = await loggedIn();
  await page.show('/sources');
  await unconfirmed(async () => {
    await page.click('button', 'New secret');
    await page.click('button', 'Set secret');
    await page.sees(`The secret of github is set. ${sentence}`, 'dialog');
    await page.takeSecret();
  });
  await unconfirmed(async () => {
    await page.click('button', 'New secret');
    await page.enter('Secret optional', 'a secret of the one who sends it');
    await page.click('button', 'Set secret');
    await page.sees(`The secret of github is set. ${sentence}`, '.notices');
  });
  await page.close();
});

test('the login tells it of the key that one was logged in with', async () => {
  const { id, key } = await newKey(['keys:read']);
  const page = await loggedIn(key);
  await page.show(`/keys/${id}`);
  await unconfirmed(async () => {
    await page.click('button', 'Deactivate');
    await page.click('button', 'Deactivate my key');
    await page.sees(`You are logged out Key ${id} is off. ${sentence}`, '.login');
  });
  await page.close();
});

test('the login tells it of the sessions that were ended', async () => {
  const page = await loggedIn();
  await unconfirmed(async () => {
    await page.tab.evaluate(() => {
      document.querySelector('.account').open = true;
    });
    await page.click('button', 'Log out everywhere');
    await page.sees(`You are logged out Every session of this key has ended. ${sentence}`, '.login');
  });
  await page.close();
});
