// The shell samples of README.md and of the pages below docs/, run as a reader would paste them: each page in one shell, with
// a server and a home directory of its own, as tools/run leaves them. Only ports are replaced. A sample that cannot run here
// is marked in its document by `<!-- not run: REASON -->` on the line before it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { binary, startServer, temporaryFolder } from '../helpers/harness.mjs';

const top = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const operations = fs.readdirSync(path.join(top, 'docs/operations')).map((name) => `operations/${name}`).sort();
const pages = ['README.md', ...['operations.md', ...operations, 'api.md', 'security.md', 'development.md'].map((name) => `docs/${name}`)];
// The first has no samples, those of the second need PostgreSQL.
const pagesWithoutRun = ['docs/operations.md', 'docs/operations/cluster.md'];
const counts = new Map();

// [{heading, line, text, reason, expected}] of a page: `reason` why it is not run, `expected` the JSON block after it.
function samplesOf(page) {
  const lines = fs.readFileSync(path.join(top, page), 'utf8').split('\n');
  const samples = [];
  let heading = '';
  for (let index = 0; index < lines.length; ++index) {
    if (lines[index].startsWith('#')) heading = lines[index].replace(/^#+ /, '');
    if (!lines[index].startsWith('```')) continue;
    const end = lines.indexOf('```', index + 1);
    assert.notEqual(end, -1, `${page}:${index + 1}: the block has no end`);
    const text = lines.slice(index + 1, end).join('\n');
    if (lines[index] === '```sh') {
      const reason = /^<!-- not run: (.+) -->$/.exec(lines[index - 1])?.[1];
      samples.push({ heading, line: index + 1, text, reason });
    } else if (lines[index] === '```json') {
      samples.at(-1).expected = text;
    }
    index = end;
  }
  return samples;
}

// What the shell of a page knows: the program by its name, the home directory, and curl that fails with the status.
function shell(home, server, script) {
  const { host, port } = server.at('https');
  const management = /management on ([0-9.]+:[0-9]+)/.exec(server.stderr)[1];
  const programs = path.join(home, 'bin');
  fs.mkdirSync(programs);
  fs.symlinkSync(binary, path.join(programs, 'latchkey'));
  const text = script.replaceAll('127.0.0.1:8443', `${host}:${port}`).replaceAll('127.0.0.1:9464', management);
  const env = { ...process.env, HOME: home, PATH: `${programs}:${process.env.PATH}` };
  delete env.XDG_STATE_HOME;
  return new Promise((resolve) => {
    const options = { env, timeout: 60_000, maxBuffer: 64 << 20 };
    execFile('bash', ['-euo', 'pipefail', '-c', `curl() { command curl --fail-with-body "$@"; }\n${text}`], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code ?? error.signal, stdout, stderr });
    });
  });
}

// A server with its data and its first key where tools/run puts them.
async function startAtHome() {
  const home = temporaryFolder();
  const data = path.join(home, '.local/state/latchkey');
  fs.mkdirSync(data, { recursive: true, mode: 0o700 });
  const server = await startServer({ data, management: '127.0.0.1:0', listen: ['https://127.0.0.1:0'] });
  const { key } = await server.makeKey({ name: 'first' });
  fs.writeFileSync(path.join(data, 'first.header'), `Authorization: Bearer ${key}\n`);
  return { home, server };
}

// The JSON that a document shows; "…" stands for any text.
function assertLike(output, expected, label) {
  const [actual, example] = [JSON.parse(output), JSON.parse(expected)];
  assert.deepEqual(Object.keys(actual), Object.keys(example), label);
  for (const [name, value] of Object.entries(example)) if (value !== '…') assert.deepEqual(actual[name], value, `${label}: ${name}`);
}

for (const page of pages) {
  const samples = samplesOf(page);
  const runnable = samples.filter(({ reason }) => reason === undefined);
  test(`${page}: the samples run as printed`, async () => {
    const { home, server } = await startAtHome();
    const mark = (index) => `@@sample ${index}@@`; // a response may end without a line end
    // The samples of docs/development.md are about the tree; the others may leave files behind.
    const folder = page === 'docs/development.md' ? top : home;
    const script = runnable.map(({ text }, index) => `echo '${mark(index)}'\n${text}\n`).join('\n');
    const { code, stdout, stderr } = await shell(home, server, `cd '${folder}'\n${script}`);
    const outputs = stdout.split(/@@sample [0-9]+@@\n/).slice(1);
    const last = runnable[outputs.length - 1];
    assert.equal(code, 0, `${page}:${last?.line} ended with ${code}: ${outputs.at(-1)}${stderr}`);
    assert.equal(outputs.length, runnable.length);
    runnable.forEach(({ expected, line }, index) => {
      if (expected !== undefined) assertLike(outputs[index], expected, `${page}:${line}`);
    });
    counts.set(page, runnable.length);
    await server.stop();
  });
}

test('every page has a sample that runs, and the first request of the README is one', () => {
  for (const page of pages) assert.equal(counts.get(page) >= 1, !pagesWithoutRun.includes(page), `${page}: ${counts.get(page)} samples ran`);
  const first = samplesOf('README.md').filter(({ heading }) => heading === 'A first request');
  assert.ok(first.length >= 1);
  for (const { line, reason, expected } of first) {
    assert.equal(reason, undefined, `README.md:${line} must run`);
    assert.ok(expected, `README.md:${line} shows its response`);
  }
});

test('no sample stands outside of a block that this test reads', () => {
  for (const page of pages) {
    const lines = fs.readFileSync(path.join(top, page), 'utf8').split('\n');
    const indented = lines.findIndex((line, index) => /^ {4}(?:latchkey|curl|tools|node|systemctl|meson|\$) ?/.test(line) && lines[index - 1] === '');
    assert.equal(indented, -1, `${page}:${indented + 1}: a sample needs \`\`\`sh`);
  }
});

after(() => console.log([...counts].map(([page, count]) => `${page}: ${count} samples`).join(', ')));
