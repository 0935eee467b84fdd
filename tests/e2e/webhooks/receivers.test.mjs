// The receivers of docs/webhooks.md, as printed there, where their languages are installed: each gets changes from the service,
// and refuses what is forged, changed or late.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer, temporaryFolder, until } from '../helpers/harness.mjs';

const page = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../docs/webhooks.md');
const require = createRequire(import.meta.url);
const server = await startServer({ config: '[webhooks]\nallow_private = ["127.0.0.0/8"]\n' });
const api = server.client(await server.makeKey());
after(async () => {
  api.close();
  await server.stop();
});

const programOf = (language) => new RegExp(`^\`\`\`${language}\n([^]*?)\n\`\`\`$`, 'm').exec(fs.readFileSync(page, 'utf8'))[1];

function isInstalled(program, argument) {
  try {
    execFileSync(program, [argument], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const languages = {
  ts: () => {
    const ts = require('typescript');
    const file = path.join(temporaryFolder(), 'receiver.mjs');
    const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    fs.writeFileSync(file, ts.transpileModule(programOf('ts'), { compilerOptions: options }).outputText);
    return [process.execPath, file];
  },
  python: () => {
    const file = path.join(temporaryFolder(), 'receiver.py');
    fs.writeFileSync(file, programOf('python'));
    return ['python3', file];
  },
  go: () => {
    const folder = temporaryFolder();
    fs.writeFileSync(path.join(folder, 'main.go'), `${programOf('go')}\n`);
    execFileSync('go', ['build', '-o', 'receiver', 'main.go'], { cwd: folder, env: { ...process.env, GO111MODULE: 'off', GOFLAGS: '' } });
    return [path.join(folder, 'receiver')];
  },
};
const missing = { python: !isInstalled('python3', '--version') && 'Python is not installed', go: !isInstalled('go', 'version') && 'Go is not installed' };

async function freePort() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => { listener.once('listening', resolve); });
  const { port } = listener.address();
  await new Promise((resolve) => { listener.close(resolve); });
  return port;
}

const sign = (secret, id, timestamp, body) => `v1,${crypto.createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`${id}.${timestamp}.${body}`).digest('base64')}`;

for (const [language, prepare] of Object.entries(languages)) {
  test(`the receiver in ${language}`, { skip: missing[language] || false }, async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const webhook = await api.create('/webhooks', { url, types: ['user.*'] });
    const [program, ...words] = prepare();
    const child = spawn(program, words, { env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: webhook.secret }, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => { output += text; });
    try {
      const isListening = () => fetch(url, { method: 'GET' }).then(() => true, () => false);
      await until(isListening, 'it listens');
      const users = [];
      for (let i = 0; i < 3; i++) users.push((await api.create('/users', { name: 'Ada', email: `${language}${i}@example.org` })).id);
      const lines = () => output.trim().split('\n').filter(Boolean).map((line) => line.split(' '));
      await until(() => lines().length === 3, `three changes: ${output}`);
      assert.deepEqual(lines().map(([, type, id]) => [type, Number(id)]).sort(), users.map((id) => ['user.created', id]).sort());

      const body = JSON.stringify({ sequence: 7, type: 'user.created', data: { id: 7 } });
      const now = Math.floor(Date.now() / 1000);
      const send = async (timestamp, signature, text = body) => (await fetch(url, { method: 'POST', body: text,
        headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': String(timestamp), 'webhook-signature': signature } })).status;
      const valid = sign(webhook.secret, 'msg_1', now, body);
      assert.equal(await send(now, sign(`whsec_${Buffer.alloc(32).toString('base64')}`, 'msg_1', now, body)), 401, 'forged');
      assert.equal(await send(now, valid, body.replaceAll('7', '8')), 401, 'changed');
      assert.equal(await send(now - 400, sign(webhook.secret, 'msg_1', now - 400, body)), 401, 'late');
      assert.equal(await send(now, 'v1,'), 401);
      assert.equal(await send(now, `v1a,AAAA ${valid}`), 204, 'one of several');
      assert.equal(await send(now, valid), 204, 'a repeat');
      await until(() => lines().length === 4, `the change that was signed, once: ${output}`);
      assert.deepEqual(lines()[3], ['7', 'user.created', '7']);
    } finally {
      child.kill();
      await api.delete(`/webhooks/${webhook.id}`);
    }
  });
}
