// Requests with one key to several nodes, at a steady rate each, and what became of them.
//
//   const demand = new Demand([[one, 100], [two, 10]], key);      // requests per second
//   await demand.run(4);                                          // seconds
//   demand.assertWithin({ rate: 100, burst: 100 });               // never more than the promise
//   const share = demand.admitted(from, to) / …;                  // times as of performance.now()

import assert from 'node:assert/strict';
import { sleep } from './harness.mjs';

const clientsPerNode = 4;
const clockRate = 1 + 1 / 1000; // of this process, against the nodes'

export class Demand {
  constructor(rates, key) {
    Object.assign(this, { rates, key, answers: [], target: '/users?limit=1' });
  }

  async run(seconds) {
    this.begin = performance.now();
    this.end = this.begin + seconds * 1000;
    const ways = this.rates.flatMap(([node, rate]) => Array.from({ length: clientsPerNode }, (_, i) => ({ node, i, gap: (1000 * clientsPerNode) / rate })));
    await Promise.all(ways.map((each) => this.ask(each)));
    return this;
  }

  // At fixed times: a request that has to wait holds up the next ones of its client, which then follow at once.
  async ask({ node, i, gap }) {
    const client = node.client(this.key);
    for (let next = this.begin + (gap * i) / clientsPerNode; next < this.end; next += gap) {
      if (next > performance.now()) await sleep(next - performance.now());
      const sent = performance.now();
      const { status, json, headers } = await client.get(this.target);
      this.answers.push({ node: node.name, sent, received: performance.now(), status, code: json?.code, retry: headers.get('retry-after') });
    }
    client.close();
  }

  // Those that were sent and answered within that time.
  within(from, to) {
    return this.answers.filter((each) => each.sent >= from && each.received <= to);
  }

  admitted(from, to) {
    return this.within(from, to).filter((each) => each.status === 200).length;
  }

  // In every interval of a tenth of a second or more.
  assertWithin({ rate, burst }) {
    const step = 100;
    for (let from = this.begin; from < this.end; from += step) {
      for (let to = from + step; to <= this.end + step; to += step) {
        const promise = burst + ((rate * (to - from)) / 1000) * clockRate;
        const admitted = this.admitted(from, to);
        assert.ok(admitted <= promise, `${admitted} requests within ${to - from} ms, of ${promise} that were promised`);
      }
    }
  }

  // The part of the rate that was admitted after the burst.
  part(rate, seconds) {
    const from = this.begin + seconds * 1000;
    return this.answers.filter((each) => each.status === 200 && each.received >= from).length / ((rate * (this.end - from)) / 1000);
  }
}
