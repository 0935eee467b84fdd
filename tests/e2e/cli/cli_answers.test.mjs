// The command line against what is no latchkey service (`--url`): any answer of 200 ends a command with a sentence and exit
// code 1, none with a signal.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { command, temporaryFolder } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const keyFile = path.join(folder, 'key');
fs.writeFileSync(keyFile, 'any key');
let answer = (response) => response.end();
let other, there;

before(async () => {
  other = http.createServer((request, response) => {
    request.resume();
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  there = ['--url', `http://127.0.0.1:${other.address().port}`, '--key-file', keyFile];
});
after(() => {
  other.closeAllConnections();
  other.close();
});

const lists = ['keys list', 'audit', 'events list', 'events list --all', 'changes', 'webhooks list', 'keys deactivate --project shop --yes'];
const records = ['keys show 1', 'keys create --name n', 'keys update 1 --name n', 'keys rotate 1', 'keys deactivate 1 --yes', 'keys reactivate 1',
  'keys verify --id 1', 'keys usage 1', 'usage', 'events secret set far', 'events secret show far', 'webhooks show 1', 'webhooks deliveries 1',
  'webhooks create https://hooks.example.com/', 'webhooks update 1 --ordered', 'webhooks enable 1', 'webhooks disable 1',
  'webhooks rotate-secret 1', 'webhooks test 1', 'webhooks replay 1 --sequence 1', 'webhooks delete 1', 'events secret delete far'];

// Runs the commands, some at a time; `check` gets each result.
async function each(commands, check) {
  const words = commands.flatMap((text) => [text.split(' '), [...text.split(' '), '--json']]);
  const lane = async () => {
    for (let next = words.shift(); next !== undefined; next = words.shift()) check(await command(...next, ...there), next.join(' '));
  };
  await Promise.all(Array.from({ length: 6 }, lane));
}

describe('an answer of 200', () => {
  const pages = { HTML: '<html>hello</html>', 'a list': '[]', null: 'null', nothing: '', 'a text': '"text"', 'a part of an object': '{"data":[{"id":1', 'bytes': '\xff\0{}' };
  for (const [name, body] of Object.entries(pages)) {
    test(`with ${name} is said to be none of a latchkey service`, async () => {
      answer = (response) => response.end(Buffer.from(body, 'latin1'));
      await each([...lists, ...records], ({ code, stdout, stderr }, words) => {
        assert.equal(code, 1, `${words}: ${stderr}`);
        assert.match(stderr, /^latchkey: .*the answer is not a JSON object: is this the address of a latchkey service\?\n$/, words);
        assert.ok(!stdout.includes('hello') && !stdout.includes('was '), words);
      });
    });
  }

  const objects = { 'no list': '{}', 'null for the list': '{"data":null}', 'numbers in the list': '{"data":[1,2]}', 'a list of null': '{"data":[null]}',
    'an object for the list': '{"data":{"x":[1,2],"y":"]"},"pagination":{}}' };
  for (const [name, body] of Object.entries(objects)) {
    test(`with ${name} is no page of a list`, async () => {
      answer = (response) => response.end(body);
      await each(lists, ({ code, stderr }, words) => {
        assert.equal(code, 1, `${words}: ${stderr}`);
        assert.match(stderr, /the answer has no list: is this the address of a latchkey service/, words);
      });
      await each(records, ({ code, stderr }, words) => {
        assert.ok([0, 1, 4].includes(code), `${words} ended with ${code}: ${stderr}`);
        assert.doesNotMatch(stderr, /unexpected|terminate/, words);
      });
    });
  }

  test('with members of other types ends no command', async () => {
    answer = (response) => response.end(JSON.stringify({ id: 'x', rate_limits: [1], ip_allowlist: [{}], metadata: { a: [1] }, scopes: 'all', attempts: [3],
      data: [{ points: [1], attempts: ['x'] }], total: { points: [true] }, types: [1], headers: [] }));
    await each(records, ({ code, stderr }, words) => {
      assert.ok([0, 1, 4].includes(code), `${words} ended with ${code}: ${stderr}`);
      assert.doesNotMatch(stderr, /unexpected|terminate/, words);
    });
  });

  test('whose pages lead to themselves does not go on for ever', async () => {
    answer = (response) => response.end(JSON.stringify({ data: [], pagination: { next_cursor: 'again', next_after: 1, has_more: true } }));
    for (const words of [['keys', 'list'], ['audit'], ['changes', '--after', '1']]) {
      const { code, stderr } = await command(...words, ...there);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /a page leads to itself/);
    }
  });

  test('that announces a gigabyte is not waited for, and one that sends too much is cut off', async () => {
    answer = (response) => response.writeHead(200, { 'Content-Length': String(2 ** 30) }).write('{"data":[');
    const start = Date.now();
    const announced = await command('keys', 'list', ...there);
    assert.equal(announced.code, 1);
    assert.match(announced.stderr, /has sent more than 64 MiB/);
    assert.ok(Date.now() - start < 15_000);
    const part = Buffer.alloc(1 << 20, ' ');
    answer = (response) => {
      const more = () => {
        while (response.writable && response.write(part));
        response.once('drain', more);
      };
      response.on('error', () => {});
      more();
    };
    const endless = await command('keys', 'list', ...there);
    assert.equal(endless.code, 1);
    assert.match(endless.stderr, /has sent more than 64 MiB/);
  });
});
