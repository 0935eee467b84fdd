// The console at a node of a cluster: the table of nodes, and what it says when a node cannot confirm a change.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startBrowser } from '../helpers/browser.mjs';
import { Cluster } from '../helpers/cluster_harness.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { openConsole } from '../helpers/console_page.mjs';
import { assertStatus } from '../helpers/harness.mjs';

const postgres = await Postgres.begin();
const browser = await startBrowser();
after(async () => {
  await browser.stop();
  await postgres.stop();
});

async function loggedIn(cluster, { key = cluster.key, path } = {}) {
  const page = await openConsole(browser, { base: () => cluster.nodes[0].server.base('http') });
  await page.logIn({ key });
  if (path) await page.show(path);
  return page;
}

describe('the overview', () => {
  let cluster;
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 3, names: ['one', 'two'] });
  });
  after(() => cluster.stop());

  test('has the nodes of the cluster, and says which is unreachable', async () => {
    const page = await loggedIn(cluster);
    await page.sees('one · this one');
    await page.sees('two');
    await page.sees('alive');
    assert.doesNotMatch(await page.text(), /unreachable/);
    await page.page.assertClean('the overview at a node');
    cluster.nodes[1].pause();
    await page.sees('A node is behind.', 'body', 40_000);
    await page.sees('unreachable');
    await page.close();
  });
});

// One node stands still for all of it, for less than its lease. Nothing that is turned off is confirmed by it.
describe('of what a node cannot be told it is named from when it holds:', { concurrency: true, timeout: 120_000 }, () => {
  const sentence = 'One node has not confirmed it: it holds everywhere from';
  let cluster;

  async function newKey(scopes = ['users:read']) {
    const answer = await cluster.nodes[0].client().post('/keys', { name: 'short-lived', scopes });
    assertStatus(answer, 201);
    return answer.json;
  }

  // Each makes what it needs, and returns what is done while the node stands still.
  const deeds = {
    'a key that is deactivated': async () => {
      const { id } = await newKey();
      const page = await loggedIn(cluster, { path: `/keys/${id}` });
      return async () => {
        await page.click('button', 'Deactivate');
        await page.click('button', 'Deactivate'); // of the dialog
        await page.sees(`Key ${id} is deactivated. ${sentence}`);
        await page.close();
      };
    },
    'a key that is rotated': async () => {
      const { id } = await newKey();
      const page = await loggedIn(cluster, { path: `/keys/${id}` });
      return async () => {
        await page.click('button', 'Rotate');
        await page.choose('Overlap', '0');
        await page.click('button', 'Rotate'); // of the dialog
        await page.sees(`Key ${id} is replaced by key `, 'dialog');
        const [, next] = new RegExp(`Key ${id} is replaced by key ([0-9]+)\\.\\s+${sentence}`).exec(await page.text('dialog'));
        assert.equal(Number(next), (await cluster.nodes[0].client().read(`/keys/${id}`)).replaced_by);
        await page.page.assertClean('the key that replaces it');
        await page.takeSecret();
        await page.close();
      };
    },
    'a key whose overlap is ended': async () => {
      const { id } = await newKey();
      assertStatus(await cluster.nodes[0].client().post(`/keys/${id}/rotate`), 201);
      const page = await loggedIn(cluster, { path: `/keys/${id}` });
      return async () => {
        await page.click('button', 'End the overlap now');
        await page.click('button', 'Deactivate it');
        await page.sees(`Key ${id} is deactivated. ${sentence}`);
        await page.close();
      };
    },
    'the secret of a source that a new one replaces, generated or given': async () => {
      assertStatus(await cluster.nodes[0].client().put('/events/github/secret', { format: 'github' }), 201);
      const page = await loggedIn(cluster, { path: '/sources' });
      return async () => {
        await page.click('button', 'New secret');
        await page.click('button', 'Set secret');
        await page.sees(`The secret of github is set. ${sentence}`, 'dialog');
        await page.takeSecret();
        await page.click('button', 'New secret');
        await page.enter('Secret optional', 'a secret of the one who sends it');
        await page.click('button', 'Set secret');
        await page.sees(`The secret of github is set. ${sentence}`, '.notices');
        await page.close();
      };
    },
    'the key that one was logged in with, which the login tells': async () => {
      const { id, key } = await newKey(['keys:read']);
      const page = await loggedIn(cluster, { key, path: `/keys/${id}` });
      return async () => {
        await page.click('button', 'Deactivate');
        await page.click('button', 'Deactivate my key');
        await page.sees(`You are logged out Key ${id} is deactivated. ${sentence}`, '.login');
        await page.close();
      };
    },
    'the sessions of a key that are ended, which the login tells': async () => {
      const page = await loggedIn(cluster, { key: (await newKey(['*'])).key });
      return async () => {
        await page.tab.evaluate(() => {
          document.querySelector('.account').open = true;
        });
        await page.click('button', 'Log out everywhere');
        await page.sees(`You are logged out Every session of this key has ended. ${sentence}`, '.login');
        await page.close();
      };
    },
  };

  const acts = {};
  before(async () => {
    cluster = await Cluster.begin(postgres, { leaseSeconds: 60, names: ['one', 'two'] });
    for (const [title, prepare] of Object.entries(deeds)) acts[title] = await prepare();
    cluster.nodes[1].pause();
  });
  after(async () => {
    cluster.nodes[1].resume();
    await cluster.nodes[1].ready();
    await cluster.stop();
  });

  for (const title of Object.keys(deeds)) test(title, () => acts[title]());
});
