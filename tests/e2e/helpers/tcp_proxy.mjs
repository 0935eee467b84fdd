// A proxy on the loopback interface that passes a TCP connection on, and is the network that fails:
//
//   const proxy = await TcpProxy.begin(5432);
//   proxy.cut();     // resets its connections, and refuses new ones
//   proxy.hold();    // nothing passes; what was sent arrives after mend()
//   proxy.mend();
//   const far = await TcpProxy.begin('/run/postgresql/.s.PGSQL.5432', { latency: 25 });    // of each way, in milliseconds

import { once } from 'node:events';
import net from 'node:net';

export class TcpProxy {
  // `target`: a port of this machine, or the path of a socket.
  static async begin(target, { latency = 0 } = {}) {
    const proxy = new TcpProxy();
    const way = typeof target === 'number' ? { port: target, host: '127.0.0.1' } : { path: target };
    Object.assign(proxy, { way, latency, pairs: new Set(), state: 'passes' });
    proxy.listener = net.createServer((client) => proxy.accept(client));
    proxy.listener.listen(0, '127.0.0.1').unref();
    await once(proxy.listener, 'listening');
    proxy.port = proxy.listener.address().port;
    return proxy;
  }

  accept(client) {
    if (this.state === 'cut') return void client.resetAndDestroy();
    const server = net.connect(this.way);
    const later = (deed) => (this.latency === 0 ? deed() : void setTimeout(deed, this.latency)); // in order
    const pair = [client, server];
    this.pairs.add(pair);
    pair.forEach((end, i) => {
      const other = pair[1 - i];
      end.unref().setNoDelay(true);
      end.on('error', () => {}).on('close', () => later(() => {
        this.pairs.delete(pair);
        other.destroy();
      }));
      end.on('data', (bytes) => later(() => {
        if (!other.destroyed && !other.write(bytes)) end.pause();
      }));
      end.on('end', () => later(() => other.end()));
      other.on('drain', () => this.flow(end));
    });
    if (this.state === 'holds') pair.forEach((end) => end.pause());
  }

  flow(end) {
    if (this.state !== 'holds') end.resume();
  }

  cut() {
    this.state = 'cut';
    for (const pair of this.pairs) for (const end of pair) end.resetAndDestroy();
  }

  hold() {
    this.state = 'holds';
    for (const pair of this.pairs) for (const end of pair) end.pause();
  }

  mend() {
    this.state = 'passes';
    for (const pair of this.pairs) for (const end of pair) end.resume();
  }
}
