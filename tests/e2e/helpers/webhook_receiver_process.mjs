// A receiver of webhooks in a process of its own, as receivers are, which accepts everything: nothing that the test does meanwhile
// keeps it waiting.
//
//   const receiver = await startReceiverProcess(trust);
//   await receiver.accepts(10_000, 'all', 180_000);              // until it has accepted so many different changes
//   await receiver.stop();                                       // {sequences, mostInFlight}, as of webhook_receiver.mjs

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startReceiver } from './webhook_receiver.mjs';

const file = fileURLToPath(import.meta.url);

export async function startReceiverProcess({ key, cert }) {
  const child = fork(file, { env: { ...process.env, NODE_TEST_CONTEXT: undefined }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ask = async (question) => {
    child.send(question);
    const [answer] = await once(child, 'message');
    if (answer.error) throw new Error(answer.error);
    return answer;
  };
  const { url } = await ask({ key: key.toString(), cert: cert.toString() });
  return {
    url,
    accepts: (count, what, patience) => ask({ count, what, patience }),
    stop: async () => {
      const [result] = await Promise.all([ask({ end: true }), once(child, 'exit')]);
      return result;
    },
  };
}

if (process.argv[1] === file) {
  let receiver;
  const answer = async ({ key, cert, count, what, patience, end }) => {
    if (key) {
      receiver = await startReceiver({ key, cert });
      return { url: receiver.url };
    }
    if (!end) {
      await receiver.until(({ accepted }) => accepted.length >= count && new Set(accepted).size >= count, what, patience);
      return {};
    }
    await receiver.stop();
    return { sequences: receiver.sequences, mostInFlight: receiver.mostInFlight };
  };
  process.on('message', async (question) => {
    const result = await answer(question).catch((error) => ({ error: error.message }));
    process.send(result, () => { if (question.end) process.disconnect(); });
  });
}
