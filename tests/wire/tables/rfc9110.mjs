// RFC 9110, HTTP semantics: what an origin server MUST do, as far as bytes show it. Scripts as in rfc9112.mjs; behind
// the ending a function may look at the answers, which are those of tests/e2e/helpers/wire.mjs.

import assert from 'node:assert/strict';

const get = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';
const ok = `${get}\r\n`;
const user = 'GET /api/v1/users/{user} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n';
const verify = 'POST /api/v1/keys/verify HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n';
const body = '{"key": "0"}'; // 12 bytes
const sized = `Content-Length: 12\r\n\r\n${body}`;
const json = 'Content-Type: application/json\r\n';
const changed = '{"name": "Ada", "email": "ada@example.com"}'; // 43 bytes
const put = 'PUT /api/v1/users/{user} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n';

export default [
  // ---- 2.5 version
  ['rfc9110-2.5-newer-minor', 'a newer minor version is processed as the newest that is known', 'GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n', [200], 'open'],
  ['rfc9110-2.5-newer-minor-needs-host', 'with all that this one asks for', 'GET /healthz HTTP/1.9\r\n\r\n', [400], 'closed'],

  // ---- 4 identifiers
  ['rfc9110-4.2.1-empty-host', 'an http URI with an empty host is refused', 'GET http:///healthz HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],
  ['rfc9110-4.2.4-userinfo', 'a user in a URI is an error', 'GET http://u:p@a/healthz HTTP/1.1\r\nHost: a\r\n\r\n', [400], 'closed'],

  // ---- 5 fields
  ['rfc9110-5.1-names-in-any-case', 'field names are case-insensitive', 'GET /api/v1/users/{user} HTTP/1.1\r\nhOST: a\r\nx-api-KEY: {key}\r\n\r\n', [200], 'open'],
  ['rfc9110-5.1-unknown-fields', 'fields that are not known are ignored', `${get}X-Nobody-Knows: 1\r\nX-Nobody-Knows: 2\r\n\r\n`, [200], 'open'],
  ['rfc9110-5.3-lines-of-a-list', 'lines of one name are one list', `${get}Accept: text/html\r\nAccept: application/json\r\n\r\n`, [200], 'open'],
  ['rfc9110-5.4-field-too-large', 'a section larger than is processed is 4xx', `${get}X-Note: ${'a'.repeat(17000)}\r\n\r\n`, [431], 'closed'],
  ['rfc9110-5.4-too-many-fields', 'as is one of too many fields', `${get}${'X-Note: 1\r\n'.repeat(120)}\r\n`, [431], 'closed'],
  ['rfc9110-5.5-nul', 'NUL in a value is refused or becomes SP', `${get}X-Note: 1\x002\r\n\r\n`, [400], 'closed'],
  ['rfc9110-5.5-nul-in-name', 'and never in a name', `${get}X-No\x00te: 1\r\n\r\n`, [400], 'closed'],
  ['rfc9110-5.5-bare-lf', 'a bare LF in a value is refused or ends the line', `${get}X-Note: 1\n2\r\n\r\n`, [400], 'closed'],
  ['rfc9110-5.6.1.2-empty-elements', 'empty elements of a list are ignored', `${get}Accept: , ,application/json, ,\r\n\r\n`, [200], 'open'],
  ['rfc9110-5.6.1.2-empty-connection-options', 'in Connection too', `${get}Connection: , ,close,\r\n\r\n`, [200], 'closed'],
  ['rfc9110-5.6.3-bad-white-space', 'bad white space is removed', `${get}Accept: application/json\t;  q=0.5 ,text/html\r\n\r\n`, [200], 'open'],
  ['rfc9110-5.6.4-quoted-pair', 'a quoted pair is the octet behind the backslash', `${verify}Content-Type: application/json; charset="\\u\\tf-8"\r\n${sized}`, [200], 'open'],
  ['rfc9110-5.6.6-parameters', 'names of parameters are case-insensitive, empty ones are nothing', `${verify}Content-Type: application/json ; ; CharSet=UTF-8 ;\r\n${sized}`, [200], 'open'],

  // ---- 6.6.1, 8: what every answer says
  ['rfc9110-6.6.1-date', 'an origin server with a clock sends Date', `${ok}GET /problems/none HTTP/1.1\r\nHost: a\r\n\r\n`, [200, 404], 'open',
    (answers) => answers.forEach(({ headers }) => assert.match(headers.get('date'), /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$/))],
  ['rfc9110-8.3.1-type-in-any-case', 'media types are case-insensitive', `${verify}Content-Type: Application/JSON\r\n${sized}`, [200], 'open'],
  ['rfc9110-8.6-none-on-204', 'no Content-Length on 204', 'OPTIONS /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [204], 'open',
    ([answer]) => assert.equal(answer.headers.has('content-length'), false)],
  ['rfc9110-8.6-of-head', 'Content-Length of HEAD is that of GET', `${ok}HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n`, [200, 'HEAD 200'], 'open',
    ([full, head]) => assert.equal(head.headers.get('content-length'), full.headers.get('content-length'))],

  // ---- 9 methods
  ['rfc9110-9.1-get-and-head', 'GET and HEAD are supported', `${user}\r\nHEAD /api/v1/users/{user} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n`, [200, 'HEAD 200'], 'open'],
  ['rfc9110-9.1-unknown-method', 'a method that is not known is 405 on a known path', 'BREW /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [405], 'open'],
  ['rfc9110-9.3.2-head-without-content', 'HEAD has no content, on errors too', 'HEAD /problems/none HTTP/1.1\r\nHost: a\r\n\r\n', ['HEAD 404'], 'open'],
  ['rfc9110-9.3.4-put', 'PUT of what is there answers 200 or 204', `${put}Content-Length: 43\r\n\r\n${changed}`, [200], 'open'],
  ['rfc9110-9.3.4-no-validator', 'the answer has a validator only if what was sent is what was saved', `${put}Content-Length: 43\r\n\r\n${changed}`, [200], 'open',
    ([answer]) => assert.equal(answer.headers.has('etag') || answer.headers.has('last-modified'), false)],
  ['rfc9110-9.3.7-options', 'OPTIONS says what is allowed', 'OPTIONS /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [204], 'open',
    ([answer]) => assert.match(answer.headers.get('allow'), /GET, HEAD, OPTIONS/)],
  ['rfc9110-9.3.8-trace', 'TRACE is not allowed, and reflects nothing', 'TRACE /healthz HTTP/1.1\r\nHost: a\r\nX-Secret: abcdef\r\n\r\n', [405], 'open',
    ([answer]) => assert.equal(answer.body.includes('abcdef'), false)],

  // ---- 10 context
  ['rfc9110-10.1.1-continue', '100 is sent without waiting for the content', `${verify}${json}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n`, [100], body, [200], 'open'],
  ['rfc9110-10.1.1-continue-in-any-case', 'the expectation is case-insensitive', `${verify}${json}Content-Length: 12\r\nExpect: 100-Continue\r\n\r\n`, [100], body, [200], 'open'],
  ['rfc9110-10.1.1-continue-chunked', 'so for chunks', `${verify}${json}Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`, [100], `c\r\n${body}\r\n0\r\n\r\n`, [200], 'open'],
  ['rfc9110-10.1.1-final-status-instead', 'or a final status at once, where the head decides', `POST /api/v1/keys/verify HTTP/1.1\r\nHost: a\r\nX-API-Key: nobody\r\n${json}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n`, [401], 'any'],
  ['rfc9110-10.1.1-content-already-there', 'it may be left out once content has come', `${verify}${json}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n${body}`, ['100?', 200], 'open'],
  ['rfc9110-10.1.1-ignored-on-1.0', 'HTTP/1.0 has no expectations', `POST /api/v1/keys/verify HTTP/1.0\r\nX-API-Key: {key}\r\n${json}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n${body}`, [200], 'closed'],
  ['rfc9110-10.1.1-without-content', 'no 100 where no content follows', `${get}Expect: 100-continue\r\n\r\n`, [200], 'open'],
  ['rfc9110-10.1.1-unknown', 'another expectation is 417', `${user}Expect: a-miracle\r\n\r\n`, [417], 'any'],
  ['rfc9110-10.2.1-allow', '405 has Allow', 'PUT /healthz HTTP/1.1\r\nHost: a\r\n\r\n', [405], 'open',
    ([answer]) => assert.match(answer.headers.get('allow'), /\bGET\b/)],
  ['rfc9110-7.8-upgrade-on-1.0', 'Upgrade on HTTP/1.0 is ignored', 'GET /healthz HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', [200], 'closed'],
  ['rfc9110-7.8-upgrade', 'it may be ignored everywhere', `${get}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n`, [200], 'open'],

  // ---- 11 authentication
  ['rfc9110-11.6.1-challenge', '401 has a challenge', 'GET /api/v1/users HTTP/1.1\r\nHost: a\r\n\r\n', [401], 'open',
    ([answer]) => assert.match(answer.headers.get('www-authenticate'), /^Bearer realm="api"/)],
  ['rfc9110-11.1-scheme-in-any-case', 'schemes are case-insensitive', 'GET /api/v1/users/{user} HTTP/1.1\r\nHost: a\r\nAuthorization: bEARER {key}\r\n\r\n', [200], 'open'],

  // ---- 12 negotiation
  ['rfc9110-12.5.1-any', 'no Accept takes everything, as does */*', `${get}Accept: */*\r\n\r\n`, [200], 'open'],
  ['rfc9110-12.5.1-range', 'a range takes its types', `${get}Accept: Application/*\r\n\r\n`, [200], 'open'],
  ['rfc9110-12.5.1-none', 'what takes no JSON is 406', `${get}Accept: text/html, image/*\r\n\r\n`, [406], 'open'],
  ['rfc9110-12.4.2-weight-zero', 'a weight of zero rules out', `${get}Accept: application/json;q=0\r\n\r\n`, [406], 'open'],
  ['rfc9110-12.4.2-weight-zero-long', 'with its decimals too', `${get}Accept: application/json;Q=0.000\r\n\r\n`, [406], 'open'],
  ['rfc9110-12.5.1-most-specific', 'the most specific range counts', `${get}Accept: application/json;q=0, */*\r\n\r\n`, [406], 'open'],
  ['rfc9110-12.5.1-most-specific-wins', 'either way', `${get}Accept: application/json;q=0.1, */*;q=0\r\n\r\n`, [200], 'open'],

  // ---- 13 conditions
  ['rfc9110-13.1.3-no-dates', 'If-Modified-Since is ignored where there is no date', `${user}If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT\r\n\r\n`, [200], 'open'],
  ['rfc9110-13.1.4-no-dates', 'so is If-Unmodified-Since', `${user}If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n\r\n`, [200], 'open'],
  ['rfc9110-13.1.5-if-range', 'If-Range without Range is ignored', `${user}If-Range: "x"\r\n\r\n`, [200], 'open'],
  ['rfc9110-13.2.1-not-on-errors', 'preconditions do not change what is an error without them', 'GET /api/v1/users/9007199254740991 HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nIf-None-Match: *\r\n\r\n', [404], 'open'],

  // ---- 14 ranges
  ['rfc9110-14.2-unknown-unit', 'a range of an unknown unit is ignored', `${user}Range: seconds=1-2\r\n\r\n`, [200], 'open'],
  ['rfc9110-14.2-may-be-ignored', 'as all may be', `${user}Range: bytes=0-1\r\n\r\n`, [200], 'open'],
  ['rfc9110-14.2-only-of-get', 'and those of other methods must be', `${put}Range: bytes=0-1\r\nContent-Length: 43\r\n\r\n${changed}`, [200], 'open'],

  // ---- 15 status codes
  ['rfc9110-15.2-no-1xx-on-1.0', 'no 1xx to HTTP/1.0', `POST /api/v1/keys/verify HTTP/1.0\r\nX-API-Key: {key}\r\n${json}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n`, [], body, [200], 'closed'],
  ['rfc9110-15.3.5-no-content', '204 ends with its head', `OPTIONS /healthz HTTP/1.1\r\nHost: a\r\n\r\n${ok}`, [204, 200], 'open'],
  ['rfc9110-15.5.16-type', 'content of another type is 415 and says which', `${verify}Content-Type: text/plain\r\n${sized}`, [415], 'open',
    ([answer]) => assert.match(answer.headers.get('accept'), /application\/json/)],
  ['rfc9110-15.5.16-charset', 'or in another charset', `${verify}Content-Type: application/json; charset=latin1\r\n${sized}`, [415], 'open'],
];
