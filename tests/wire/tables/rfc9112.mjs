// RFC 9112, HTTP/1.1: what an origin server MUST do with bytes. One script each, named by its section:
//
//   [name, what must hold, bytes, answers, bytes, answers, …, 'open' or 'closed']
//
// An answer is a status, with its method where that is HEAD ('HEAD 200'). `open`: the connection takes another request;
// `closed`: the server ends it, and nothing more comes. {key} is an API key that may do everything, {user} a user's id.

const get = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';
const ok = `${get}\r\n`;
const post = 'POST /api/v1/keys/verify HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n';
const chunked = `${post}Transfer-Encoding: chunked\r\n\r\n`;
const body = '{"key": "0"}'; // 12 bytes

export default [
  // ---- 2.2 message parsing
  ['rfc9112-2.2-octets', 'a message is octets in a superset of US-ASCII, not text in some Unicode encoding',
    `${get}X-Note: \xe9\xff\x80\r\n\r\n`, [200], 'open'],
  ['rfc9112-2.2-empty-line-first', 'an empty line before a request line is ignored', `\r\n${ok}`, [200], 'open'],
  ['rfc9112-2.2-empty-line-between', 'one after a request too', `${ok}\r\n${ok}`, [200, 200], 'open'],
  ['rfc9112-2.2-bare-cr-in-request-line', 'a bare CR is invalid', 'GET /healthz\r HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-2.2-bare-cr-in-name', 'a bare CR is invalid', `${get}X\r-Note: 1\r\n\r\n`, [400], 'closed'],
  ['rfc9112-2.2-bare-cr-in-value', 'a bare CR is invalid', `${get}X-Note: 1\r2\r\n\r\n`, [400], 'closed'],
  ['rfc9112-2.2-bare-cr-before-end', 'a bare CR is invalid', `${get}X-Note: 1\r\r\n\r\n`, [400], 'closed'],
  ['rfc9112-2.2-bare-cr-hides-a-field', 'what follows a bare CR is no field of its own', `${get}X: \rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-2.2-space-before-first-field', 'a line that begins with white space is refused or dropped',
    'GET /healthz HTTP/1.1\r\n X-Note: 1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-2.2-tab-before-first-field', 'a line that begins with white space is refused or dropped',
    'GET /healthz HTTP/1.1\r\n\tHost: b\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-2.2-not-http', 'what is no request is answered 400 and the connection ends', 'hello world\r\n\r\n', [400], 'closed'],

  // ---- 2.3 version
  ['rfc9112-2.3-version-case', 'the name of the protocol is case-sensitive', 'GET /healthz http/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-2.3-version-form', 'a version has two digits', 'GET /healthz HTTP/1.10\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-2.3-major-version', 'a major version that is not implemented is refused', 'GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n', [505], 'closed'],
  ['rfc9112-2.3-http-1.0', 'HTTP/1.0 is answered as 1.1 of which it knows all that is sent', 'GET /healthz HTTP/1.0\r\n\r\n', [200], 'closed'],

  // ---- 3 request line
  ['rfc9112-3-method-case', 'methods are case-sensitive', 'get /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [405], 'open'],
  ['rfc9112-3-method-unknown', 'a method that is longer than any that is known is 501', `${'A'.repeat(100)} / HTTP/1.1\r\nHost: a\r\n\r\n`, [501], 'closed'],
  ['rfc9112-3-method-no-token', 'a method is a token', 'G@T /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3-target-too-long', 'a target longer than any that is parsed is 414', `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: a\r\n\r\n`, [414], 'closed'],
  ['rfc9112-3-target-with-space', 'a target has no white space', 'GET /heal thz HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3-two-spaces', 'one space stands between the parts', 'GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3-no-version', 'a line without a version is no request of 1.x', 'GET /healthz\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3-trailing-space', 'nothing follows the version', 'GET /healthz HTTP/1.1 \r\nHost: a\r\n\r\n', [400], 'closed'],

  // ---- 3.2 target and Host
  ['rfc9112-3.2-no-host', 'HTTP/1.1 without Host is 400', 'GET /healthz HTTP/1.1\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2-two-hosts', 'more than one Host is 400', `${get}Host: b\r\n\r\n`, [400], 'closed'],
  ['rfc9112-3.2-two-equal-hosts', 'even when they are the same', `${get}Host: a\r\n\r\n`, [400], 'closed'],
  ['rfc9112-3.2-host-in-a-list', 'Host is no list', 'GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2-host-invalid', 'an invalid value of Host is 400', 'GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2-host-with-userinfo', 'Host has no user', 'GET /healthz HTTP/1.1\r\nHost: u@a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2-host-bad-port', 'a port is digits', 'GET /healthz HTTP/1.1\r\nHost: a:8o\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2-host-ipv6', 'an address in brackets is a host', 'GET /healthz HTTP/1.1\r\nHost: [::1]:8443\r\n\r\n', [200], 'open'],
  ['rfc9112-3.2-host-1.0', 'HTTP/1.0 needs no Host, and has one at most', 'GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2.2-absolute-form', 'a server accepts the absolute form', 'GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n', [200], 'open'],
  ['rfc9112-3.2.2-absolute-form-wins', 'its authority is the host, whatever Host says', 'GET http://a:80/openapi.json?x HTTP/1.1\r\nHost: b\r\n\r\n', [400], 'open'],
  ['rfc9112-3.2.2-absolute-form-other-host', 'another Host beside it does not matter', 'GET http://a/healthz HTTP/1.1\r\nHost: b\r\n\r\n', [200], 'open'],
  ['rfc9112-3.2.2-absolute-form-needs-host', 'Host must still be sent', 'GET http://a/healthz HTTP/1.1\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2.3-authority-form', 'the authority form is for CONNECT', 'GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2.3-connect', 'an origin server makes no tunnels', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', [405], 'closed'],
  ['rfc9112-3.2.3-connect-without-port', 'a tunnel needs a port', 'CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2.4-asterisk', '`*` asks about the server', 'OPTIONS * HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n', [204], 'open'],
  ['rfc9112-3.2.4-asterisk-for-options-only', '`*` is for OPTIONS alone', 'GET * HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9112-3.2-fragment', 'a target has no fragment', 'GET /healthz#top HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],

  // ---- 5 field lines
  ['rfc9112-5-no-name', 'a field line has a name', `${get}: 1\r\n\r\n`, [400], 'closed'],
  ['rfc9112-5-no-colon', 'a field line has a colon', `${get}X-Note\r\n\r\n`, [400], 'closed'],
  ['rfc9112-5-name-no-token', 'a name is a token', `${get}X(Note): 1\r\n\r\n`, [400], 'closed'],
  ['rfc9112-5.1-space-before-colon', 'white space between name and colon is 400', `${get}X-Note : 1\r\n\r\n`, [400], 'closed'],
  ['rfc9112-5.1-tab-before-colon', 'white space between name and colon is 400', `${get}Content-Length\t: 5\r\n\r\nhello`, [400], 'closed'],
  ['rfc9112-5.1-space-around-value', 'white space around a value is none of it', 'GET /api/v1/users/{user} HTTP/1.1\r\nHost:a\r\nX-API-Key: \t {key}\t \r\n\r\n', [200], 'open'],
  ['rfc9112-5.1-empty-value', 'a value may be empty', `${get}X-Note:\r\nX-Other: \r\n\r\n`, [200], 'open'],
  ['rfc9112-5.2-obs-fold', 'a folded line is refused or unfolded', `${get}X-Note: 1\r\n 2\r\n\r\n`, [400], 'closed'],
  ['rfc9112-5.2-obs-fold-tab', 'a folded line is refused or unfolded', `${get}X-Note: 1\r\n\t2\r\n\r\n`, [400], 'closed'],
  ['rfc9112-5.2-obs-fold-hides-framing', 'what is folded is no field', `${post}X:\r\n Content-Length: 5\r\n\r\n`, [400], 'closed'],

  // ---- 6 body
  ['rfc9112-6-body-of-get', 'Content-Length frames a body, whatever the method', `${get}Content-Length: 5\r\n\r\nhello${ok}`, [200, 200], 'open'],
  ['rfc9112-6-chunks-of-get', 'so does Transfer-Encoding', `${get}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n${ok}`, [200, 200], 'open'],
  ['rfc9112-6.1-chunked', 'chunked is understood', `${chunked}c\r\n${body}\r\n0\r\n\r\n`, [200], 'open'],
  ['rfc9112-6.1-chunked-in-any-case', 'names of codings are case-insensitive', `${post}Transfer-Encoding: Chunked\r\n\r\nC\r\n${body}\r\n0\r\n\r\n`, [200], 'open'],
  ['rfc9112-6.1-chunked-on-1.0', 'Transfer-Encoding on HTTP/1.0 is faulty framing', 'POST /api/v1/keys/verify HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', [400], 'closed'],
  ['rfc9112-6.1-both', 'Transfer-Encoding and Content-Length together end the connection', `${post}Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n${body}\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-6.1-both-the-other-way', 'in either order', `${post}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-6.1-unknown-coding', 'a coding that is not known is refused', `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-6.1-chunked-twice', 'chunked is applied once', `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-6.1-chunked-in-two-lines', 'in several lines too', `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-6.2-none-on-204', 'no Content-Length on 204', 'OPTIONS /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [204], 'open'],
  ['rfc9112-6.3-no-body', 'a request without either has no body', `POST /healthz HTTP/1.1\r\nHost: a\r\n\r\n${ok}`, [405, 200], 'open'],
  ['rfc9112-6.3-chunked-not-last', 'where chunked is not the last coding, 400 and the end', `${post}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-6.3-length-not-digits', 'an invalid Content-Length is 400 and the end', `${post}Content-Length: ten\r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-negative', 'an invalid Content-Length is 400 and the end', `${post}Content-Length: -12\r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-plus', 'an invalid Content-Length is 400 and the end', `${post}Content-Length: +12\r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-hexadecimal', 'an invalid Content-Length is 400 and the end', `${post}Content-Length: 0xc\r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-empty', 'an invalid Content-Length is 400 and the end', `${post}Content-Length: \r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-overflow', 'a length beyond all integers does not wrap', `${post}Content-Length: 18446744073709551628\r\n\r\n${body}`, [[400, 413]], 'closed'],
  ['rfc9112-6.3-lengths-differ', 'two that differ are 400 and the end', `${post}Content-Length: 12\r\nContent-Length: 13\r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-list-differs', 'so are they in one line', `${post}Content-Length: 12, 13\r\n\r\n${body}`, [400], 'closed'],
  ['rfc9112-6.3-length-list-equal', 'equal ones are refused or taken as one', `${post}Content-Length: 12, 12\r\n\r\n${body}`, [400], 'closed'],

  // ---- 7 chunked
  ['rfc9112-7.1-several-chunks', 'chunks are joined', `${chunked}1\r\n{\r\n00a\r\n"key": "0"\r\n1\r\n}\r\n0\r\n\r\n`, [200], 'open'],
  ['rfc9112-7.1-hexadecimal-in-any-case', 'sizes are hexadecimal, in any case', `${chunked}0C\r\n${body}\r\n000\r\n\r\n`, [200], 'open'],
  ['rfc9112-7.1-size-overflow', 'a size beyond all integers does not wrap', `${chunked}1000000000000000C\r\n${body}\r\n0\r\n\r\n`, [[400, 413]], 'closed'],
  ['rfc9112-7.1-size-empty', 'a chunk has a size', `${chunked}\r\n${body}\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-7.1-size-no-number', 'a size is a number', `${chunked}xyz\r\n${body}\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-7.1-size-too-small', 'the data ends where the size says', `${chunked}b\r\n${body}\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-7.1-bare-lf', 'a size ends with CRLF', `${chunked}c\n${body}\r\n0\r\n\r\n`, [400], 'closed'],
  ['rfc9112-7.1.1-extensions', 'chunk extensions that are not known are ignored', `${chunked}c;a=b;c="d;e"\r\n${body}\r\n0;last\r\n\r\n`, [200], 'open'],
  ['rfc9112-7.1.1-bad-white-space', 'white space around their signs is removed', `${chunked}c ; a = b\r\n${body}\r\n0\r\n\r\n`, [200], 'open'],
  ['rfc9112-7.1.1-quoted-pairs', 'a quoted pair ends no quotes', `${chunked}c;a="\\";b"\r\n${body}\r\n0\r\n\r\n`, [200], 'open'],
  ['rfc9112-7.1.2-trailers', 'trailer fields are read past', `${chunked}c\r\n${body}\r\n0\r\nX-Note: 1\r\nX-Other: 2\r\n\r\n${ok}`, [200, 200], 'open'],
  ['rfc9112-7.1.2-trailers-are-no-headers', 'they are not merged into the header section',
    `POST /api/v1/keys/verify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n${body}\r\n0\r\nX-API-Key: {key}\r\n\r\n`, [401], 'any'],
  ['rfc9112-7.1.2-trailers-do-not-frame', 'nor do they frame anything', `${chunked}c\r\n${body}\r\n0\r\nContent-Length: 5\r\n\r\n${ok}`, [200, 200], 'open'],
  ['rfc9112-7.4-te', 'TE is no reason to send anything else', `${get}TE: trailers, deflate;q=0.5\r\nConnection: TE\r\n\r\n`, [200], 'open'],

  // ---- 9 connections
  ['rfc9112-9.3-persistent', 'a connection of 1.1 persists', ok, [200], ok, [200], 'open'],
  ['rfc9112-9.3-close', '`close` ends it after the answer', `${get}Connection: close\r\n\r\n`, [200], 'closed'],
  ['rfc9112-9.3-close-in-a-list', 'among other options, in any case', `${get}Connection: TE, Close\r\nTE: trailers\r\n\r\n`, [200], 'closed'],
  ['rfc9112-9.3-close-in-two-lines', 'on a line of its own', `${get}Connection: keep-alive\r\nConnection: close\r\n\r\n`, [200], 'closed'],
  ['rfc9112-9.3-1.0-ends', 'one of 1.0 ends', 'GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n', [200], 'closed'],
  ['rfc9112-9.3-1.0-keep-alive', 'unless keep-alive is agreed on', 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', [200], 'open'],
  ['rfc9112-9.3-body-is-read', 'the whole body is read, or the connection ends', `POST /api/v1/users HTTP/1.1\r\nHost: a\r\nX-API-Key: nobody\r\nContent-Length: 12\r\n\r\n${body}${ok}`, [401, 200], 'open'],
  ['rfc9112-9.3.2-order', 'answers come in the order of the requests',
    `${ok}GET /problems/none HTTP/1.1\r\nHost: a\r\n\r\nHEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n${post}Content-Length: 12\r\n\r\n${body}DELETE /healthz HTTP/1.1\r\nHost: a\r\n\r\n`,
    [200, 404, 'HEAD 200', 200, 405], 'open'],
  ['rfc9112-9.6-nothing-after-close', 'no request after `close` is processed', `${get}Connection: close\r\n\r\n${ok}`, [200], 'closed'],
  ['rfc9112-9.6-nothing-after-an-error', 'nor after the server has said it', `${get}Bad Name: 1\r\n\r\n${ok}`, [400], 'closed'],
];
