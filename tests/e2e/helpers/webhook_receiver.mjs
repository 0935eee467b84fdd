// HTTPS receivers of webhooks on loopback, with a certificate that `SSL_CERT_FILE` makes the service trust.
//
//   const trust = makeTrust();                                   // {env, key, cert}: give env to startServer
//   const receiver = await startReceiver(trust, (request) => ({ status: 204 }));
//   const plain = await startReceiver(null);                     // by http
//   await receiver.heard(3);                                     // until it has so many requests
//   receiver.requests[0]                                         // {id, timestamp, headers, body, json, at}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { sleep, temporaryFolder } from './harness.mjs';

export function makeTrust() {
  const folder = temporaryFolder();
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', '/CN=receivers', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { env: { SSL_CERT_FILE: cert }, key: fs.readFileSync(key), cert: fs.readFileSync(cert) };
}

// `answer` gets the request and its number, from 0 on, and returns {status, headers, body, delay}, or null: it hangs.
export async function startReceiver(trust, answer = () => ({}), { port = 0 } = {}) {
  const receiver = new Receiver(answer);
  const options = { key: trust?.key, cert: trust?.cert, keepAliveTimeout: 60_000 };
  receiver.server = (trust === null ? http : https).createServer(options, (request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => receiver.receive(request, Buffer.concat(chunks), response));
  });
  await new Promise((resolve) => { receiver.server.listen(port, '127.0.0.1', resolve); });
  receiver.port = receiver.server.address().port;
  receiver.url = `${trust === null ? 'http' : 'https'}://127.0.0.1:${receiver.port}/hook`;
  return receiver;
}

class Receiver {
  constructor(answer) {
    this.answer = answer;
    this.requests = [];
    this.accepted = []; // sequences that were answered with success, in their order
    this.inFlight = 0;
    this.mostInFlight = 0;
  }

  async receive(request, bytes, response) {
    const body = bytes.toString();
    const one = {
      id: request.headers['webhook-id'], timestamp: Number(request.headers['webhook-timestamp']),
      headers: request.headers, method: request.method, path: request.url, body, json: JSON.parse(body), at: Date.now(),
    };
    const number = this.requests.push(one) - 1;
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const result = this.answer(one, number);
    const ended = () => { this.inFlight -= 1; };
    if (result === null) return response.once('close', ended);
    if (result.delay) await sleep(result.delay);
    const status = result.status ?? 204;
    if (status >= 200 && status <= 299) this.accepted.push(one.json.sequence);
    response.writeHead(status, result.headers ?? {}).end(result.body ?? '');
    return ended();
  }

  // The sequences that it has accepted, without repeats, in the order of the first one.
  get sequences() {
    return [...new Set(this.accepted)];
  }

  async until(holds, what, patience = 30_000) {
    for (const limit = Date.now() + patience; !holds(this); await sleep(10)) {
      assert.ok(Date.now() < limit, `${what} within ${patience} ms; it has ${this.requests.length} requests, ${this.sequences.length} accepted`);
    }
  }

  heard(count, patience) {
    return this.until(() => this.requests.length >= count, `${count} requests`, patience);
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => { this.server.close(resolve); });
  }
}
