// The samples of the pages, run as a reader would paste them: those of the guides, which share a shell and a server for each
// guide, and of each operation the one for curl. Those in other languages are compiled.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer, temporaryFolder } from '../helpers/harness.mjs';
import { utf8 } from '../helpers/wire.mjs';

const guides = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../src/web/guides');
const typescript = createRequire(import.meta.url)('typescript');
const pages = await startServer();
after(() => pages.stop());

const pageText = async (target) => utf8((await pages.ask('GET', target)).body);
const unescaped = (text) => text.replace(/<[^>]*>/g, '').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

// Runs a script in bash; `curl` writes the status of each answer to descriptor 9.
function shell(server, key, script, folder = temporaryFolder()) {
  const statuses = path.join(folder, 'statuses');
  const env = { ...process.env, LATCHKEY_URL: server.base(), LATCHKEY_KEY: key, CURL_CA_BUNDLE: server.certificateFile };
  const prelude = `exec 9>>'${statuses}'; curl() { command curl -w '%{stderr}%{http_code}\\n' "$@" 2>&9; }`;
  return new Promise((resolve) => {
    execFile('bash', ['-euo', 'pipefail', '-c', `${prelude}\n${script}`], { env, cwd: folder, timeout: 60_000 }, (error, stdout, stderr) => {
      const lines = fs.readFileSync(statuses, 'utf8').split('\n');
      resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr, statuses: lines.filter((line) => /^[0-9]{3}$/.test(line)).map(Number), lines });
    });
  });
}

// [{line, text, isRun, expected}] of the shell samples of a guide; `expected` are statuses beside 2xx, in order.
function samplesOf(file) {
  const lines = fs.readFileSync(path.join(guides, file), 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    if (line !== '```sh') return [];
    const note = /^<!-- (not run|answers): (.+) -->$/.exec(lines[index - 1]);
    const text = lines.slice(index + 1, lines.indexOf('```', index)).join('\n');
    return [{ line: index + 1, text, isRun: note?.[1] !== 'not run', expected: note?.[1] === 'answers' ? note[2].split(' ').map(Number) : [] }];
  });
}

for (const file of fs.readdirSync(guides).sort()) {
  test(`${file}: the samples run as printed`, { timeout: 90_000 }, async () => {
    const server = await startServer();
    const { key } = await server.makeKey({ name: 'first', defaults: true });
    const samples = samplesOf(file).filter(({ isRun }) => isRun);
    assert.ok(samples.length > 0);
    const { code, stderr, statuses, lines } = await shell(server, key, samples.map(({ text }) => text).join('\n'));
    assert.equal(code, 0, `${file}: ${stderr}${lines.join('\n')}`);
    const expected = samples.flatMap((each) => each.expected);
    assert.deepEqual(statuses.filter((status) => status >= 300), expected.filter((status) => status >= 300), `${file}: ${statuses}`);
    await server.stop();
  });
}

// [{page, id, language, text}] of all operations and guides.
async function samplesOfPages() {
  const index = JSON.parse(await pageText('/docs/search.json'));
  const targets = [...new Set(index.map(({ path: target }) => target.split('#')[0]).filter((target) => target.startsWith('/docs/')))];
  const all = [];
  for (const page of targets) {
    let id = '';
    for (const match of (await pageText(page)).matchAll(/<h2 id="([^"]*)"|<pre tabindex="0"><code class="language-(\w+)">(.*?)<\/code><\/pre>/gs)) {
      if (match[1] !== undefined) id = match[1];
      else all.push({ page, id, language: match[2], text: unescaped(match[3]) });
    }
  }
  return all;
}
const samples = await samplesOfPages();

test('each operation has a sample in each language', () => {
  const isOperation = ({ id }) => /^[a-z]+[A-Z]/.test(id) || id === 'authorize';
  const byOperation = new Map();
  for (const each of samples.filter(isOperation)) byOperation.set(each.id, [...byOperation.get(each.id) ?? [], each]);
  assert.ok(byOperation.size > 40, `${byOperation.size} operations`);
  for (const [id, list] of byOperation) {
    for (const language of ['sh', 'typescript', 'python', 'go']) assert.ok(list.some((each) => each.language === language), `${id}: ${language}`);
  }
});

test('the samples for curl are requests that the service understands', { timeout: 120_000 }, async () => {
  const server = await startServer();
  await server.makeKey(); // that the samples change
  const { key } = await server.makeKey();
  const api = server.client(key);
  await api.post('/users', { name: 'First', email: 'first@example.com' });
  await api.post('/posts', { user_id: 1, title: 'First' });
  await api.post('/webhooks', { url: 'https://hooks.example.com/' });
  const refusals = [];
  const isOperation = ({ page, language }) => language === 'sh' && /^\/docs\/(users|posts|keys|events|changes|webhooks|audit|gateway|service)$/.test(page);
  // Deletions come last, since others need what they delete.
  const deletes = ({ text }) => text.includes('-X DELETE');
  const ordered = samples.filter(isOperation).sort((left, right) => deletes(left) - deletes(right));
  for (const { id, text } of ordered) {
    if (id === 'deactivateCurrentKey') continue; // it ends what follows
    const { statuses, stdout } = await shell(server, key, text);
    const [status] = statuses;
    // 404 and 409: the records of this store are in another state, but the request was understood.
    const isBeyondLastChange = id === 'replayWebhook' && status === 422;
    if (!isBeyondLastChange && ![200, 201, 202, 204, 404, 409].includes(status)) refusals.push(`${id}: ${status} ${stdout.slice(0, 300)}`);
  }
  assert.deepEqual(refusals, []);
  await server.stop();
});

test('the samples in TypeScript, Python and Go compile', { timeout: 120_000 }, async () => {
  const folder = temporaryFolder();
  const byLanguage = (...names) => samples.filter(({ language }) => names.includes(language));
  for (const { id, page, text } of byLanguage('typescript', 'ts')) {
    const { diagnostics } = typescript.transpileModule(text, { reportDiagnostics: true, compilerOptions: { target: 'es2022', module: 'esnext' } });
    assert.deepEqual(diagnostics.map(({ messageText }) => messageText), [], `${page}#${id}`);
  }
  const write = (list, ending) => list.map(({ text }, index) => {
    const file = path.join(folder, `sample${index}.${ending}`);
    fs.writeFileSync(file, text);
    return file;
  });
  const tool = (...words) => new Promise((resolve, reject) => {
    execFile(words[0], words.slice(1), { timeout: 60_000 }, (error, stdout, stderr) => (error?.code === 'ENOENT' ? reject(error) : resolve(`${stdout}${stderr}`)));
  });
  assert.equal(await tool('python3', '-c', 'import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name)', ...write(byLanguage('python'), 'py')), '');
  assert.equal(await tool('gofmt', '-l', ...write(byLanguage('go'), 'go')), '', 'gofmt would write them otherwise');
});
