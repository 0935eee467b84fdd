// Frames and header blocks of HTTP/2 as bytes, for clients that do what no library would let them.
//
//   socket.write(preface());
//   socket.write(headers(1, [...get('/healthz')], { end: true }));

export const types = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, push: 5, ping: 6, goaway: 7, window: 8, continuation: 9 };
export const errors = { none: 0, protocol: 1, flowControl: 3, streamClosed: 5, frameSize: 6, refused: 7, compression: 9, calm: 11 };

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const number = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

// {identifier: value}
export function settings(values = {}) {
  return frame(types.settings, 0, 0, Buffer.concat(Object.entries(values).map(([identifier, value]) =>
    Buffer.concat([Buffer.from([0, Number(identifier)]), number(value)]))));
}

export const preface = (values) => Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings(values)]);
export const reset = (stream, code = 8) => frame(types.reset, 0, stream, number(code));
export const ping = () => frame(types.ping, 0, 0, Buffer.alloc(8));
export const windowUpdate = (stream, increment) => frame(types.window, 0, stream, number(increment));
export const priority = (stream, dependency = 0) => frame(types.priority, 0, stream, Buffer.concat([number(dependency), Buffer.from([15])]));
export const data = (stream, bytes, { end = false } = {}) => frame(types.data, end ? 1 : 0, stream, Buffer.from(bytes));

// RFC 7541 §5.1.
function integer(value, prefixBits, firstByte) {
  const most = (1 << prefixBits) - 1;
  if (value < most) return Buffer.from([firstByte | value]);
  const bytes = [firstByte | most];
  for (value -= most; value >= 128; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}

const text = (value) => Buffer.concat([integer(Buffer.byteLength(value), 7, 0), Buffer.from(value)]);
// A literal field, entered into the table or not (§6.2).
export const literal = (name, value, { indexed = false } = {}) => Buffer.concat([Buffer.from([indexed ? 0x40 : 0]), text(name), text(value)]);
export const indexed = (index) => integer(index, 7, 0x80);
export const tableSize = (bytes) => integer(bytes, 5, 0x20);

export const request = (method, path, more = []) => [[':method', method], [':scheme', 'http'], [':authority', 'x'], [':path', path], ...more];

export function block(fields) {
  return Buffer.concat(fields.map((field) => (Buffer.isBuffer(field) ? field : literal(...field))));
}

export function headers(stream, fields, { end = false, endHeaders = true } = {}) {
  return frame(types.headers, (end ? 1 : 0) | (endHeaders ? 4 : 0), stream, block(fields));
}

// Reads frames out of what arrives; DATA is counted and dropped.
export class FrameReader {
  constructor() {
    this.rest = Buffer.alloc(0);
    this.frames = []; // {type, flags, stream, payload}, without DATA
    this.contentBytes = 0;
    this.ended = new Set(); // streams with END_STREAM
  }

  // How many bytes of DATA there were.
  feed(bytes) {
    const before = this.contentBytes;
    this.rest = Buffer.concat([this.rest, bytes]);
    while (this.rest.length >= 9) {
      const length = this.rest.readUIntBE(0, 3);
      if (this.rest.length < 9 + length) break;
      const one = { type: this.rest[3], flags: this.rest[4], stream: this.rest.readUInt32BE(5) & 0x7fffffff,
        payload: Buffer.from(this.rest.subarray(9, 9 + length)) };
      this.rest = this.rest.subarray(9 + length);
      if ((one.type === types.data || one.type === types.headers) && (one.flags & 1)) this.ended.add(one.stream);
      if (one.type === types.data) this.contentBytes += length;
      else if (this.frames.length < 100_000) this.frames.push(one);
    }
    return this.contentBytes - before;
  }

  // The code of the last GOAWAY; null: none came.
  goaway() {
    const last = this.frames.findLast(({ type }) => type === types.goaway);
    return last ? last.payload.readUInt32BE(4) : null;
  }

  // Codes of RST_STREAM by stream.
  resets() {
    return new Map(this.frames.filter(({ type }) => type === types.reset).map(({ stream, payload }) => [stream, payload.readUInt32BE(0)]));
  }
}
