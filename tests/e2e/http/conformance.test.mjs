// The conformance table of tests/wire against the real server on a plain loopback listener: every script whole, split at
// several places, and byte by byte. The answers do not depend on the split.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newUser, sleep, startServer } from '../helpers/harness.mjs';
import rfc9110 from '../../wire/tables/rfc9110.mjs';
import rfc9112 from '../../wire/tables/rfc9112.mjs';

let server;
const values = {};

before(async () => {
  server = await startServer({ listen: ['http://127.0.0.1:0'], config: '[auth]\nfailures_per_minute = 0\n' });
  values.key = (await server.makeKey()).key;
  const client = server.client(values.key, { scheme: 'http' });
  values.user = (await client.create('/users', newUser())).id;
  client.close();
});
after(() => server.stop());

// [name, action, bytes, answers, …, ending, look] as an object.
function script([name, action, ...rest]) {
  const look = typeof rest.at(-1) === 'function' ? rest.pop() : () => {};
  const ending = rest.pop();
  const steps = [];
  while (rest.length > 0) steps.push({ send: rest.shift(), answers: rest.shift() });
  return { name, action, steps, ending, look };
}

const bytesOf = (text) => Buffer.from(text.replace(/\{(key|user)\}/g, (_, name) => String(values[name])), 'latin1');

// Where the bytes are split: nowhere, at single places, and everywhere if they are few.
function cuts(bytes) {
  const line = bytes.indexOf('\r\n');
  const head = bytes.indexOf('\r\n\r\n');
  const places = [1, line - 1, line + 1, line + 2, head + 1, head + 2, head + 3, head + 4, Math.floor(bytes.length / 2), bytes.length - 1];
  const single = [...new Set(places)].filter((offset) => offset > 0 && offset < bytes.length).sort((a, b) => a - b).map((index) => [index]);
  const everywhere = bytes.length <= 700 ? [Array.from({ length: bytes.length - 1 }, (_, i) => i + 1)] : [];
  return [[], ...single, ...everywhere];
}

async function play({ steps, ending, look }, cut) {
  const wire = await server.connect({ scheme: 'http' });
  const answers = [];
  try {
    for (const [i, { send, answers: expected }] of steps.entries()) {
      const bytes = bytesOf(send);
      let begin = 0;
      for (const end of [...(i === 0 ? cut : []), bytes.length]) {
        wire.send(bytes.subarray(begin, end));
        begin = end;
        if (end < bytes.length) await (cut.length > 1 ? new Promise(setImmediate) : sleep(2)); // the parts come apart
      }
      if (expected.length === 0) await sleep(20); // nothing comes
      for (const each of expected) await take(wire, each, answers);
    }
    look(answers);
    if (ending === 'closed') {
      await wire.ending();
    } else if (ending === 'open') {
      await wire.send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      assert.equal((await wire.response()).status, 200, 'the connection goes on');
      await wire.ending();
    }
  } finally {
    wire.close();
  }
}

// `expected` is a status, 'HEAD 200', a list of which any will do, or '100?', which may be left out.
async function take(wire, expected, answers) {
  if (expected === '100?') {
    wire.optional = true;
    return;
  }
  const [, method, status] = /^(?:([A-Z]+) )?([0-9]{3})$/.exec(String(expected)) ?? [];
  let answer = await wire.response({ method: method ?? 'GET' });
  if (wire.optional && answer.status === 100) answer = await wire.response({ method: method ?? 'GET' });
  const fits = Array.isArray(expected) ? expected.includes(answer.status) : answer.status === Number(status);
  assert.ok(fits, `${answer.status} instead of ${expected}: ${answer.body}`);
  answers.push(answer);
}

for (const [title, table] of [['RFC 9112', rfc9112], ['RFC 9110', rfc9110]]) {
  describe(title, () => {
    const names = new Set();
    for (const each of table.map(script)) {
      assert.match(each.name, /^rfc911[02]-[0-9.]+-[a-z0-9.-]+$/);
      assert.ok(!names.has(each.name), `${each.name} stands once`);
      names.add(each.name);
      test(`${each.name}: ${each.action}`, async () => {
        await Promise.all(cuts(bytesOf(each.steps[0].send)).map(async (cut) => {
          try {
            await play(each, cut);
          } catch (error) {
            error.message += ` (cut at ${cut.length > 3 ? 'every byte' : cut.join() || 'nothing'})`;
            throw error;
          }
        }));
      });
    }
  });
}
