// A TcpProxy (tcp_proxy.mjs) in a thread of its own, for tests that keep theirs busy: what it passes on would wait for them.
//
//   const { port, end } = await beginProxyThread(target, { latency: 25 });

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { TcpProxy } from './tcp_proxy.mjs';

export async function beginProxyThread(target, options) {
  const thread = new Worker(new URL(import.meta.url), { workerData: { target, options } });
  const [port] = await once(thread, 'message');
  thread.unref();
  return { port, end: () => thread.terminate() };
}

if (!isMainThread && workerData?.target !== undefined) {
  const proxy = await TcpProxy.begin(workerData.target, workerData.options);
  proxy.listener.ref();
  parentPort.postMessage(proxy.port);
}
