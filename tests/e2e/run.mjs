// Runs the suite against a binary:
//
//   node tests/e2e/run.mjs --binary build/src/latchkey [--rounds N] [users.test.mjs …]
//
// `--rounds` is how often a test repeats itself that looks for a race; each has a smaller number of its own.
//
// Without file names all of them run: those that mostly wait for a time to pass one after the other beside the
// others. The last line is `N passed, N failed`; the exit
// code is 0 only when nothing failed and something ran. Nothing is installed: demo.test.mjs needs an earlier
// `install` in this folder.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
let fileLimit = Number(process.env.E2E_FILE_SECONDS ?? 300) * 1000;

// They spend their time waiting for limits and minutes to pass.
const waiting = ['config', 'hostile', 'limits', 'slowhttptest', 'usage'].map((name) => `${name}.test.mjs`);

// Whoever stops this ends the files that run, and those their servers.
const running = new Set();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => {
    for (const child of running) child.kill('SIGTERM');
    process.exit(1);
  });
}

const { binary, files } = parse(process.argv.slice(2));
const total = { passed: 0, failed: 0 };
const begun = Date.now();
const lane = async (some) => {
  for (const file of some) {
    const { passed, failed } = await runFile(file);
    total.passed += passed;
    total.failed += failed;
  }
};
const waits = (file) => waiting.includes(path.basename(file));
await Promise.all([lane(files.filter((file) => !waits(file))), lane(files.filter(waits))]);
console.log(`${((Date.now() - begun) / 1000).toFixed(1)} s`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;

function parse(words) {
  let binary = process.env.LATCHKEY;
  const names = [];
  while (words.length > 0) {
    const word = words.shift();
    if (word === '--binary') binary = words.shift();
    else if (word === '--rounds') setRounds(words.shift());
    else if (word.startsWith('--')) usage(`unknown option ${word}`);
    else names.push(word);
  }
  if (!binary || !fs.existsSync(binary)) usage(`no binary${binary ? ` at ${binary}` : ''}`);
  const all = fs.readdirSync(here).filter((name) => name.endsWith('.test.mjs')).sort();
  const files = (names.length ? names : all).map((name) => {
    const found = [path.resolve(name), path.join(here, name), path.join(here, `${name}.test.mjs`)]
      .find((file) => fs.existsSync(file) && fs.statSync(file).isFile());
    return found ?? usage(`no test file ${name}`);
  });
  return { binary: path.resolve(binary), files };
}

function setRounds(text) {
  if (!/^[1-9][0-9]{0,6}$/.test(text ?? '')) usage(`${text} is no number of rounds`);
  process.env.E2E_ROUNDS = text;
  fileLimit += Number(text) * 1000;
}

function usage(why) {
  console.error(`${why}\nusage: node run.mjs --binary FILE [--rounds N] [TEST FILE]…`);
  process.exit(2);
}

function runFile(file) {
  const start = Date.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--test-reporter', path.join(here, 'reporter.mjs'),
      '--test-reporter-destination', 'stdout', file],
    { env: { ...process.env, LATCHKEY: binary, NODE_TEST_CONTEXT: undefined }, stdio: ['ignore', 'pipe', 'inherit'] });
    running.add(child);
    const said = [`${path.basename(file)}`];
    const timer = setTimeout(() => {
      said.push(`    FAILED  ${path.basename(file)} ran longer than ${fileLimit / 1000} s`);
      child.kill('SIGTERM');
    }, fileLimit);
    let counts = null;
    let rest = '';
    const line = (text) => {
      if (text.startsWith('@counts ')) counts = JSON.parse(text.slice(8));
      else said.push(text);
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
      let { passed = 0, failed = 0 } = counts ?? {};
      if (failed === 0 && (code !== 0 || passed === 0)) failed = 1; // it broke outside of any test
      const seconds = ((Date.now() - start) / 1000).toFixed(1);
      console.log(`${said.join('\n')}\n    ${passed} passed, ${failed} failed in ${seconds} s\n`);
      resolve({ passed, failed });
    });
  });
}
