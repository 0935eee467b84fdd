// Requests with exactly the given field lines, over HTTP/1.1 or HTTP/2, each on a new connection: Node's clients refuse or
// rewrite what a hostile client sends.
//
//   const status = await rawRequest('2', { port, ca, from: '127.0.0.5' }, 'GET', '/things', [['x-a', 'b']]);
//
// Resolves with the status, or 0 if the server ended the connection or the stream without a response.

import tls from 'node:tls';

export function rawRequest(version, address, method, target, fields, body) {
  return version === '2' ? overHttp2(address, method, target, fields) : overHttp1(address, method, target, fields, body);
}

function connect({ port, ca, from }, protocol) {
  const socket = tls.connect({ host: '127.0.0.1', port, ca, servername: 'localhost', localAddress: from, ALPNProtocols: [protocol] });
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer within 10 s')));
  return socket;
}

// `body`: the bytes after the header section, framing included.
function overHttp1(address, method, target, fields, body = '') {
  return new Promise((resolve, reject) => {
    const socket = connect(address, 'http/1.1');
    let text = '';
    const end = () => { socket.destroy(); resolve(Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(text)?.[1] ?? 0)); };
    socket.on('error', reject).on('end', end).on('data', (some) => {
      text += some.toString('latin1');
      if (text.includes('\r\n\r\n')) end();
    });
    const lines = [['Host', 'localhost'], ...fields].map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  });
}

const frame = (type, flags, stream, payload) => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
// HPACK (RFC 7541 §6.2.2, §5.2): a literal without indexing, neither name nor value coded.
const literal = (text) => Buffer.concat([length(Buffer.byteLength(text)), Buffer.from(text)]);
function length(size) {
  if (size < 127) return Buffer.from([size]);
  const bytes = [127];
  for (size -= 127; size >= 128; size >>= 7) bytes.push(size % 128 + 128);
  return Buffer.from([...bytes, size]);
}
const pack = (fields) => Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), literal(name), literal(value)])));

function overHttp2(address, method, target, fields) {
  return new Promise((resolve, reject) => {
    const socket = connect(address, 'h2');
    let bytes = Buffer.alloc(0);
    const end = (status) => { socket.destroy(); resolve(status); };
    socket.on('error', reject).on('end', () => end(0)).on('data', (some) => {
      bytes = Buffer.concat([bytes, some]);
      while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
        const size = bytes.readUIntBE(0, 3), [type, flags] = [bytes[3], bytes[4]];
        const payload = bytes.subarray(9, 9 + size);
        bytes = bytes.subarray(9 + size);
        if (type === 4 && !(flags & 1)) socket.write(frame(4, 1, 0, Buffer.alloc(0)));
        if (type === 1) return end(statusOf(payload));
        if (type === 3 || type === 7) return end(0);
      }
      return undefined;
    });
    const pseudo = [[':method', method], [':scheme', 'https'], [':authority', 'localhost'], [':path', target]];
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0)),
      frame(1, 5, 1, pack([...pseudo, ...fields.map(([name, value]) => [name.toLowerCase(), value])]))]));
  });
}

// The first field of an answer is `:status`: an entry of the static table, or a literal under its name, whose value may
// be in Huffman's code, where digits take 5 or 6 bits.
function statusOf(block) {
  let offset = 0;
  while ((block[offset] & 0xe0) === 0x20) offset += 1;  // a new size of the dynamic table
  const statuses = [200, 204, 206, 304, 400, 404, 500];
  if (block[offset] & 0x80) return statuses[(block[offset] & 0x7f) - 8] ?? 0;
  const size = block[offset + 1] & 0x7f, value = block.subarray(offset + 2, offset + 2 + size);
  if (!(block[offset + 1] & 0x80)) return Number(value.toString());
  const bits = [...value].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  for (let i = 0; digits.length < 3;) {
    const short = parseInt(bits.slice(i, i + 5), 2);
    digits += short <= 2 ? short : parseInt(bits.slice(i, i + 6), 2) - 0x19 + 3;
    i += short <= 2 ? 5 : 6;
  }
  return Number(digits);
}
