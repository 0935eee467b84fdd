// Runs the suite against a binary:
//
//   node tests/e2e/run.mjs --binary build/src/latchkey [--rounds N] [--lanes N] [users keys …]
//
// `--rounds` is how often tests for races repeat themselves; each has a smaller default.
//
// Without file names all of them run, in `--lanes` at once (two for each processor). Half of the lanes take files that mostly
// wait first, since these leave the processors to the others. Files that test what does not depend on the protocol run over
// HTTP/2 too (`--protocol h2` or `http1` for one of them). The last line is `N passed, N failed`; the exit code is 0 only if
// nothing failed and something ran. Nothing is installed: run `install` in this folder first.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const testFolder = path.dirname(fileURLToPath(import.meta.url));
let fileLimit = Number(process.env.E2E_FILE_SECONDS ?? 600) * 1000;

// These mostly wait for deadlines and minutes to pass.
const waiting = ['cluster_failover', 'cluster_faults', 'cluster_leases', 'cluster_limits', 'cluster_streams', 'cluster_webhooks', 'config', 'hostile',
  'limits', 'slowhttptest', 'usage'].map((name) => `${name}.test.mjs`);

// What these test holds over each version of HTTP.
const overBoth = ['bulk', 'cluster', 'credentials', 'cursors', 'errors', 'etags', 'events', 'idempotency', 'keys', 'ladder', 'limits', 'lists',
  'overload', 'posts', 'reload', 'usage', 'users', 'walk'].map((name) => `${name}.test.mjs`);

// A signal ends the running files, which end their servers.
const running = new Set();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => {
    for (const child of running) child.kill('SIGTERM');
    process.exit(1);
  });
}

const { binary, runs, laneCount } = parse(process.argv.slice(2));
const total = { passed: 0, failed: 0 };
const startTime = Date.now();
const waits = ({ file }) => waiting.includes(path.basename(file));
const queues = [runs.filter((one) => !waits(one)), runs.filter(waits)];
const lane = async (first) => {
  for (;;) {
    const one = queues[first].shift() ?? queues[1 - first].shift();
    if (!one) return;
    const { passed, failed } = await runFile(one.file, one.protocol);
    total.passed += passed;
    total.failed += failed;
  }
};
await Promise.all(Array.from({ length: laneCount }, (_, i) => lane(i % 2)));
console.log(`${((Date.now() - startTime) / 1000).toFixed(1)} s`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;

function parse(words) {
  let binary = process.env.LATCHKEY;
  let protocols = ['http1', 'h2'];
  let laneCount = 2 * os.availableParallelism();
  const names = [];
  while (words.length > 0) {
    const word = words.shift();
    if (word === '--binary') binary = words.shift();
    else if (word === '--rounds') setRounds(words.shift());
    else if (word === '--lanes') laneCount = countOf(words.shift(), 'lanes');
    else if (word === '--protocol') protocols = [words.shift()];
    else if (word.startsWith('--')) usage(`unknown option ${word}`);
    else names.push(word);
  }
  if (!binary || !fs.existsSync(binary)) usage(`no binary${binary ? ` at ${binary}` : ''}`);
  const all = fs.readdirSync(testFolder, { withFileTypes: true }).filter((each) => each.isDirectory() && each.name !== 'node_modules')
    .flatMap(({ name }) => fs.readdirSync(path.join(testFolder, name)).filter((file) => file.endsWith('.test.mjs')).map((file) => path.join(name, file)))
    .sort((left, right) => (path.basename(left) < path.basename(right) ? -1 : 1));
  const files = (names.length ? names : all).map((name) => {
    const testFile = [path.resolve(name), ...all.filter((file) => [file, path.basename(file), path.basename(file, '.test.mjs')].includes(name))
      .map((file) => path.join(testFolder, file))].find((file) => fs.existsSync(file) && fs.statSync(file).isFile());
    return testFile ?? usage(`no test file ${name}`);
  });
  if (!['http1', 'h2'].includes(protocols[0])) usage(`${protocols[0]} is neither http1 nor h2`);
  const runs = files.flatMap((file) => (overBoth.includes(path.basename(file)) ? protocols : ['http1']).map((protocol) => ({ file, protocol })));
  return { binary: path.resolve(binary), runs, laneCount };
}

function countOf(text, things) {
  return /^[1-9][0-9]{0,6}$/.test(text ?? '') ? Number(text) : usage(`${text} is no number of ${things}`);
}

function setRounds(text) {
  const rounds = countOf(text, 'rounds');
  process.env.E2E_ROUNDS = text;
  fileLimit += rounds * 1000;
}

function usage(reason) {
  console.error(`${reason}\nusage: node run.mjs --binary FILE [--rounds N] [--lanes N] [--protocol http1|h2] [TEST FILE]…`);
  process.exit(2);
}

function runFile(file, protocol) {
  const start = Date.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--test-reporter', path.join(testFolder, 'reporter.mjs'),
      '--test-reporter-destination', 'stdout', file],
    { env: { ...process.env, LATCHKEY: binary, E2E_PROTOCOL: protocol, NODE_TEST_CONTEXT: undefined }, stdio: ['ignore', 'pipe', 'inherit'] });
    running.add(child);
    const output = [`${path.basename(file)}${protocol === 'h2' ? ' over HTTP/2' : ''}`];
    const timer = setTimeout(() => {
      output.push(`    FAILED  ${path.basename(file)} ran longer than ${fileLimit / 1000} s`);
      child.kill('SIGTERM');
    }, fileLimit);
    let counts = null;
    let rest = '';
    const line = (text) => {
      if (text.startsWith('@counts ')) counts = JSON.parse(text.slice(8));
      else output.push(text);
    };
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      lines.forEach(line);
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      if (rest) line(rest);
      let { passed = 0, failed = 0, skipped = 0 } = counts ?? {};
      if (failed === 0 && (code !== 0 || passed + skipped === 0)) failed = 1; // it broke outside of any test
      const seconds = ((Date.now() - start) / 1000).toFixed(1);
      console.log(`${output.join('\n')}\n    ${passed} passed, ${failed} failed in ${seconds} s\n`);
      resolve({ passed, failed });
    });
  });
}
