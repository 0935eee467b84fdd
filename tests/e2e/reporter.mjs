// Prints the outcome of each test as one line, and at the end a line for run.mjs with the counts.

import { inspect } from 'node:util';

export default async function* report(events) {
  let passed = 0;
  let failed = 0;
  const failures = [];
  for await (const { type, data } of events) {
    if (type === 'test:diagnostic' && !/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(data.message)) {
      yield `            ${data.message}\n`;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    // A suite is no test of its own; it counts only when one of its hooks has failed.
    if (data.details?.type === 'suite' && data.details.error?.failureType !== 'hookFailed') continue;
    const time = `${Math.round(data.details?.duration_ms ?? 0)} ms`;
    const skipped = data.skip !== undefined && data.skip !== false;
    if (skipped) {
      yield `    skipped ${data.name}${typeof data.skip === 'string' && data.skip ? ` (${data.skip})` : ''}\n`;
    } else if (type === 'test:pass') {
      passed += 1;
      yield `    ok      ${data.name} (${time})\n`;
    } else {
      const error = data.details?.error;
      // A test with subtests fails because they do; they have been counted.
      if (error?.failureType === 'subtestsFailed') continue;
      failed += 1;
      failures.push(data.name);
      yield `    FAILED  ${data.name} (${time})\n`;
      yield `${indented(text(error))}\n`;
    }
  }
  yield `@counts ${JSON.stringify({ passed, failed, failures })}\n`;
}

function text(error) {
  const cause = error?.cause ?? error;
  const all = cause?.stack ?? inspect(cause);
  return all.split('\n').filter((line) => !/\(?node:internal/.test(line)).slice(0, 40).join('\n');
}

const indented = (lines) => lines.split('\n').map((line) => `            ${line}`).join('\n');
