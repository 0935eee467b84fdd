// Prints the result of each test as one line, and at the end a line with the counts for run.mjs.

import { inspect } from 'node:util';

export default async function* report(events) {
  let passed = 0;
  let failed = 0;
  let skippedCount = 0;
  const failures = [];
  for await (const { type, data } of events) {
    if (type === 'test:diagnostic' && !/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(data.message)) {
      yield `            ${data.message}\n`;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const skipped = data.skip !== undefined && data.skip !== false;
    // A suite counts only if it is skipped, for then its tests are not reported, or if one of its hooks failed.
    if (data.details?.type === 'suite' && !skipped && data.details.error?.failureType !== 'hookFailed') continue;
    const time = `${Math.round(data.details?.duration_ms ?? 0)} ms`;
    if (skipped) {
      skippedCount += 1;
      yield `    skipped ${data.name}${typeof data.skip === 'string' && data.skip ? ` (${data.skip})` : ''}\n`;
    } else if (type === 'test:pass') {
      passed += 1;
      yield `    ok      ${data.name} (${time})\n`;
    } else {
      const error = data.details?.error;
      // A test with failed subtests fails too; the subtests are counted already.
      if (error?.failureType === 'subtestsFailed') continue;
      failed += 1;
      failures.push(data.name);
      yield `    FAILED  ${data.name} (${time})\n`;
      yield `${indented(text(error))}\n`;
    }
  }
  yield `@counts ${JSON.stringify({ passed, failed, skipped: skippedCount, failures })}\n`;
}

function text(error) {
  const cause = error?.cause ?? error;
  const all = cause?.stack ?? inspect(cause);
  return all.split('\n').filter((line) => !/\(?node:internal/.test(line)).slice(0, 40).join('\n');
}

const indented = (lines) => lines.split('\n').map((line) => `            ${line}`).join('\n');
