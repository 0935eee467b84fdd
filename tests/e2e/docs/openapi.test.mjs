// /openapi.json with standard tools: redocly reports nothing, openapi-typescript generates a client that compiles in strict
// mode and runs over HTTPS. Its pages are tested by docs.test.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertStatus, run, startServer } from '../helpers/harness.mjs';
import { utf8 } from '../helpers/wire.mjs';

const testFolder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const modules = path.join(testFolder, 'node_modules');
// Below node_modules, so that the client finds openapi-fetch.
const folder = fs.mkdtempSync(path.join(modules, '.latchkey-client-'));
const quiet = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
let server;
let file;

// A tool of npm as a process: {stdout, stderr}; its exit code must be 0.
async function tool(name, ...words) {
  try {
    return await run(process.execPath, [path.join(modules, name), ...words], { cwd: folder, env: quiet, timeout: 120_000 });
  } catch (error) {
    throw new Error(`${name}:\n${error.stdout}${error.stderr}`);
  }
}

before(async () => {
  server = await startServer();
  const answer = await server.ask('GET', '/openapi.json');
  assertStatus(answer, 200);
  file = path.join(folder, 'openapi.json');
  fs.writeFileSync(file, answer.body);
});
after(async () => {
  fs.rmSync(folder, { recursive: true, force: true });
  await server.stop();
});

describe('the description', () => {
  test('is nothing that redocly has anything to say about', async () => {
    const { stdout } = await tool('@redocly/cli/bin/cli.js', 'lint', '--extends', 'recommended', '--format', 'json', file);
    const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    assert.deepEqual({ totals, problems }, { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] });
  });

  test('makes a client that compiles in strict mode and lives a whole life', { timeout: 200_000 }, async () => {
    await tool('openapi-typescript/bin/cli.js', file, '-o', path.join(folder, 'schema.d.ts'));
    for (const name of ['life.ts', 'process.d.ts', 'tsconfig.json']) fs.copyFileSync(path.join(testFolder, 'client', name), path.join(folder, name));
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
    await tool('typescript/bin/tsc', '--project', folder);
    const { key } = await server.makeKey({ name: 'generated client' });
    const { stdout } = await run(process.execPath, [path.join(folder, 'life.js'), server.base(), key],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: server.certificateFile }, timeout: 60_000 });
    assert.match(stdout, /^(ok .*\n)+done\n$/, stdout);
    assert.ok(stdout.split('\n').length > 20, stdout);
  });

  test('refuses to compile what the service would refuse', async () => {
    const wrong = {
      'a missing member': "client.POST('/api/v1/posts', { body: { user_id: 1 } });",
      'a status that is none': "client.GET('/api/v1/posts', { params: { query: { status: 'lost' } } });",
      'a path that is none': "client.GET('/api/v1/nothing');",
      'the name of a source for an id': "client.GET('/api/v1/events/{id}', { params: { path: { id: 'shop' } } });",
      'an id for the name of a source': "client.POST('/events/{event_source}', { params: { path: { event_source: 1 } }, body: {} });",
      'a method that the path lacks': "client.DELETE('/api/v1/users');",
    };
    await tool('openapi-typescript/bin/cli.js', file, '-o', path.join(folder, 'schema.d.ts'));
    const head = "import createClient from 'openapi-fetch';\nimport type { paths } from './schema.js';\nconst client = createClient<paths>();\nawait ";
    const names = Object.keys(wrong).map((_, i) => `wrong${i}.ts`);
    Object.values(wrong).forEach((line, i) => fs.writeFileSync(path.join(folder, names[i]), `${head}${line}\n`));
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
    const config = JSON.parse(fs.readFileSync(path.join(testFolder, 'client', 'tsconfig.json'), 'utf8'));
    fs.writeFileSync(path.join(folder, 'wrong.json'), JSON.stringify({ ...config, files: names }));
    await assert.rejects(tool('typescript/bin/tsc', '--noEmit', '--project', 'wrong.json'), ({ message }) => {
      for (const [i, label] of Object.keys(wrong).entries()) assert.match(message, new RegExp(`^wrong${i}\\.ts\\(4,`, 'm'), label);
      return true;
    });
  });
});

describe('the pages for people', () => {
  test('explain every code', async () => {
    const document = JSON.parse(fs.readFileSync(file, 'utf8'));
    for (const code of document.components.schemas.Problem.properties.code.enum) {
      const page = await server.ask('GET', `/problems/${code}`);
      assertStatus(page, 200);
      const text = utf8(page.body);
      assert.match(text, new RegExp(`<code>${code}</code>, status [45][0-9]{2}`));
      assert.ok(text.replace(/.*<main/s, '').replace(/<[^>]*>/g, '').trim().length > 200, `${code} says what to do`);
    }
    assertStatus(await server.ask('GET', '/problems/nothing'), 404, 'route_not_found');
  });
});
