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

async function loggedIn() {
  const page = await openConsole(browser, { base: () => cluster.nodes[0].server.base('http') });
  await page.logIn({ key: cluster.key });
  return page;
}

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
  const [one, two] = cluster.nodes;
  const answer = await one.client().post('/keys', { name: 'short-lived', scopes: ['users:read'] });
  assertStatus(answer, 201);
  const page = await loggedIn();
  await page.show(`/keys/${answer.json.id}`);
  two.pause();
  try {
    await page.click('button', 'Deactivate');
    await page.click('button', 'Deactivate'); // of the dialog
    await page.sees('One node has not confirmed it: it holds everywhere from');
    await page.show('/');
    await page.sees('A node is behind.', 'body', 40_000);
    await page.sees('not heard from');
  } finally {
    two.resume();
  }
  await page.close();
});
