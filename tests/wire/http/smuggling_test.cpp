// Published request smuggling attacks, each by its name: refused, or read exactly as the RFCs say,
// in every split, and the reference parser (reference.hpp) agrees. refuse_test.cpp covers the first
// invalid byte of each element.
#include <gtest/gtest.h>

#include <string_view>

#include "reference.hpp"
#include "wire.hpp"

namespace latchkey::http {
namespace {

struct attack {
    std::string_view name;
    std::string_view bytes;
    std::string_view expected = "refused malformed_request\n";
};

// Keeps NULs in the text.
template <std::size_t Size>
constexpr std::string_view all_of(char const (&text)[Size]) {
    return {text, Size - 1};
}

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define CHUNKS "3\r\nabc\r\n0\r\n\r\n"
// The request that an attacker smuggles.
#define SECRET "GET /secret HTTP/1.1\r\nHost: a\r\n\r\n"

// Content-Length and Transfer-Encoding, where two parsers each use another one: CL.TE, TE.CL, TE.TE
// (Linhart et al. 2005; Kettle, "HTTP Desync Attacks", 2019, and its tool).
constexpr attack framing_twice[] = {
    {"CL.TE", all_of(POST "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG")},
    {"TE.CL", all_of(POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" CHUNKS SECRET)},
    {"TE.0, length 0 beside chunks",
     all_of(POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS SECRET)},
    {"TE.TE, two codings in two lines",
     all_of(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n" CHUNKS)},
    {"TE.TE, the other way round",
     all_of(POST "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"TE.TE, chunked twice",
     all_of(POST "Transfer-Encoding: chunked\r\nTransfer-encoding: chunked\r\n\r\n" CHUNKS)},
    {"a list", all_of(POST "Transfer-Encoding: cow, chunked\r\n\r\n" CHUNKS)},
    {"a list that ends otherwise", all_of(POST "Transfer-Encoding: chunked, cow\r\n\r\n" CHUNKS)},
    {"identity", all_of(POST "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc")},
    {"identity first", all_of(POST "Transfer-Encoding: identity, chunked\r\n\r\n" CHUNKS)},
    {"identity last", all_of(POST "Transfer-Encoding: chunked, identity\r\n\r\n" CHUNKS)},
    {"a comma behind it", all_of(POST "Transfer-Encoding: chunked,\r\n\r\n" CHUNKS)},
    {"a comma before it", all_of(POST "Transfer-Encoding: ,chunked\r\n\r\n" CHUNKS)},
    {"a parameter", all_of(POST "Transfer-Encoding: chunked;q=1\r\n\r\n" CHUNKS)},
    {"an empty parameter", all_of(POST "Transfer-Encoding: chunked;\r\n\r\n" CHUNKS)},
    {"quotes", all_of(POST "Transfer-Encoding: \"chunked\"\r\n\r\n" CHUNKS)},
    {"single quotes", all_of(POST "Transfer-Encoding: 'chunked'\r\n\r\n" CHUNKS)},
    {"a letter more", all_of(POST "Transfer-Encoding: xchunked\r\n\r\n" CHUNKS)},
    {"a letter less", all_of(POST "Transfer-Encoding: chunke\r\n\r\n" CHUNKS)},
    {"a Kelvin sign", all_of(POST "Transfer-Encoding: chun\xe2\x84\xaa"
                                  "ed\r\n\r\n" CHUNKS)},
    {"vertical tab", all_of(POST "Transfer-Encoding: \vchunked\r\n\r\n" CHUNKS)},
    {"form feed", all_of(POST "Transfer-Encoding:\fchunked\r\n\r\n" CHUNKS)},
    {"NUL behind it", all_of(POST "Transfer-Encoding: chunked\0\r\n\r\n" CHUNKS)},
    {"NUL before it", all_of(POST "Transfer-Encoding: \0chunked\r\n\r\n" CHUNKS)},
    {"backspace", all_of(POST "Transfer-Encoding: chunkedx\b\r\n\r\n" CHUNKS)},
    {"a no-break space", all_of(POST "Transfer-Encoding:\xa0"
                                     "chunked\r\n\r\n" CHUNKS)},
    {"a tab behind it", all_of(POST "Transfer-Encoding: chunked\t\r\n\r\n" CHUNKS)},
    {"a tab before it is white space", all_of(POST "Transfer-Encoding:\tchunked\r\n\r\n" CHUNKS),
     all_of("POST / @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'abc'\n")},
    {"in any case", all_of(POST "tRANSFER-eNCODING: cHUNKED\r\n\r\n" CHUNKS),
     all_of("POST / @a 1.1 keep {Host=a;tRANSFER-eNCODING=cHUNKED} chunked 'abc'\n")},
    {"on HTTP/1.0",
     all_of(
         "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"a length in the first, a coding in the last line",
     all_of("POST / HTTP/1.1\r\nContent-Length: 3\r\nHost: a\r\nX: y\r\nTransfer-Encoding: "
            "chunked\r\n\r\n" CHUNKS)},
};

// A framing field that only some parsers recognise.
constexpr attack hidden_fields[] = {
    {"a space before the colon", all_of(POST "Transfer-Encoding : chunked\r\n\r\n" CHUNKS)},
    {"a tab before the colon", all_of(POST "Content-Length\t: 3\r\n\r\nabc")},
    {"a space before the name", all_of(POST "X: y\r\n Transfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"a space before the name of the first field",
     all_of("POST / HTTP/1.1\r\n Content-Length: 3\r\nHost: a\r\n\r\nabc")},
    {"a fold before the value", all_of(POST "Transfer-Encoding:\r\n chunked\r\n\r\n" CHUNKS)},
    {"a fold within the value", all_of(POST "Transfer-Encoding: chu\r\n\tnked\r\n\r\n" CHUNKS)},
    {"a folded length", all_of(POST "Content-Length: 3\r\n 4\r\n\r\nabc")},
    {"an empty folded line", all_of(POST "X: y\r\n \r\nContent-Length: 3\r\n\r\nabc")},
    {"a bare LF before the name", all_of(POST "X: y\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"a bare LF behind the name", all_of(POST "Transfer-Encoding\n: chunked\r\n\r\n" CHUNKS)},
    {"a bare CR before the name", all_of(POST "X: y\rTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"a line that begins with CR", all_of(POST "\rTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"a value that begins with CR, CVE-2023-30589",
     all_of(POST "X: \rTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"two CR, CVE-2025-23167", all_of(POST "X: y\r\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"CR and another byte end the head", all_of(POST "\r\rx" SECRET)},
    {"CR and a letter end the head, CVE-2024-27982",
     all_of(POST "\r\n\rGET /secret HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("POST / @a 1.1 keep {Host=a} none\nrefused malformed_request\n")},
    {"LF LF ends the head", all_of(POST "X: y\n\n" SECRET)},
    {"LF CR LF ends the head", all_of(POST "X: y\n\r\n" SECRET)},
    {"vertical tab as the end of a line", all_of(POST "X: y\vContent-Length: 3\r\n\r\nabc")},
    {"NEL as the end of a line is a byte of the value",
     all_of(POST "X: y\x85"
                 "Content-Length: 3\r\n\r\n"),
     all_of("POST / @a 1.1 keep {Host=a;X=y\x85"
            "Content-Length: 3} none\n")},
    {"NUL in the name", all_of(POST "Content-Length\0: 3\r\n\r\nabc")},
    {"NUL before the name", all_of(POST "\0Content-Length: 3\r\n\r\nabc")},
    {"a no-break space in the name", all_of(POST "Content-Length\xa0: 3\r\n\r\nabc")},
    {"a long s in the name", all_of(POST "Tran\xc5\xbf"
                                         "fer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"no colon", all_of(POST "Content-Length 3\r\n\r\nabc")},
    {"no name", all_of(POST ": 3\r\n\r\n")},
    {"a pseudo-field of HTTP/2", all_of(POST ":path: /secret\r\n\r\n")},
    {"an underscore makes another name",
     all_of(POST "Content_Length: 3\r\nTransfer_Encoding: chunked\r\n\r\n"),
     all_of("POST / @a 1.1 keep {Host=a;Content_Length=3;Transfer_Encoding=chunked} none\n")},
    {"an escape makes another name", all_of(POST "Transfer%2DEncoding: chunked\r\n\r\n"),
     all_of("POST / @a 1.1 keep {Host=a;Transfer%2DEncoding=chunked} none\n")},
    {"named in Connection, a length is no less",
     all_of(POST "Connection: Content-Length\r\nContent-Length: 3\r\n\r\nabc"),
     all_of(
         "POST / @a 1.1 keep {Host=a;Connection=Content-Length;Content-Length=3} sized 'abc'\n")},
    {"named in Connection, chunks are no less",
     all_of(POST
            "Connection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS),
     all_of("POST / @a 1.1 close {Host=a;Connection=close, "
            "Transfer-Encoding;Transfer-Encoding=chunked} chunked 'abc'\n")},
    {"named in Connection, Host is no less", all_of(GET "Connection: Host, X-API-Key\r\n\r\n"),
     all_of("GET / @a 1.1 keep {Host=a;Connection=Host, X-API-Key} none\n")},
    {"multipart/byteranges delimits nothing",
     all_of(POST "Content-Type: multipart/byteranges; boundary=x\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Content-Type=multipart/byteranges; boundary=x} none\nGET "
            "/secret @a 1.1 keep {Host=a} none\n")},
};

// Lengths that only some parsers read as numbers.
constexpr attack lengths[] = {
    {"plus", all_of(POST "Content-Length: +5\r\n\r\nabcde")},
    {"minus zero", all_of(POST "Content-Length: -0\r\n\r\nabcde")},
    {"negative", all_of(POST "Content-Length: -5\r\n\r\nabcde")},
    {"hexadecimal", all_of(POST "Content-Length: 0x5\r\n\r\nabcde")},
    {"octal", all_of(POST "Content-Length: 0o5\r\n\r\nabcde")},
    {"an underscore", all_of(POST "Content-Length: 1_0\r\n\r\nabcde")},
    {"an exponent", all_of(POST "Content-Length: 5e0\r\n\r\nabcde")},
    {"a fraction", all_of(POST "Content-Length: 5.0\r\n\r\nabcde")},
    {"empty", all_of(POST "Content-Length: \r\n\r\nabcde")},
    {"a list of equals", all_of(POST "Content-Length: 5, 5\r\n\r\nabcde")},
    {"a list", all_of(POST "Content-Length: 5, 0\r\n\r\nabcde")},
    {"an empty element", all_of(POST "Content-Length: 5,\r\n\r\nabcde")},
    {"a semicolon", all_of(POST "Content-Length: 5;\r\n\r\nabcde")},
    {"two words", all_of(POST "Content-Length: 5 0\r\n\r\nabcde")},
    {"quotes", all_of(POST "Content-Length: \"5\"\r\n\r\nabcde")},
    {"vertical tab", all_of(POST "Content-Length: \v5\r\n\r\nabcde")},
    {"form feed", all_of(POST "Content-Length: 5\f\r\n\r\nabcde")},
    {"NUL", all_of(POST "Content-Length: 5\0\r\n\r\nabcde")},
    {"a tab behind it", all_of(POST "Content-Length: 5\t\r\n\r\nabcde")},
    {"a digit of Unicode", all_of(POST "Content-Length: \xd9\xa5\r\n\r\nabcde")},
    {"zeros before it", all_of(POST "Content-Length: 0005\r\n\r\nabcde"),
     all_of("POST / @a 1.1 keep {Host=a;Content-Length=0005} sized 'abcde'\n")},
    {"2^32 + 5", all_of(POST "Content-Length: 4294967301\r\n\r\nabcde"),
     all_of("refused body_too_large\n")},
    {"2^63", all_of(POST "Content-Length: 9223372036854775808\r\n\r\nabcde"),
     all_of("refused body_too_large\n")},
    {"2^64 + 5", all_of(POST "Content-Length: 18446744073709551621\r\n\r\nabcde")},
    {"twice and equal", all_of(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde")},
    {"twice", all_of(POST "Content-Length: 0\r\nContent-Length: 5\r\n\r\nabcde")},
    {"twice in other cases", all_of(POST "CONTENT-LENGTH: 5\r\ncontent-length: 0\r\n\r\nabcde")},
};

// Sizes, extensions and line ends of chunks: TERM.EXT, EXT.TERM, TERM.SPILL, SPILL.TERM, ONE.TWO,
// TWO.ONE, ZERO.TWO, TWO.ZERO (Weikop, "Funky chunks", 2025), and earlier attacks.
constexpr attack chunks[] = {
    {"TERM.EXT: LF ends the line, or is in the extension",
     all_of(CHUNKED "5;\nhello\r\n0\r\n\r\n" SECRET)},
    {"EXT.TERM: the same behind a name", all_of(CHUNKED "5;a\nhello\r\n0\r\n\r\n" SECRET)},
    {"CR in an extension", all_of(CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"LF in a quoted extension", all_of(CHUNKED "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"CRLF in a quoted extension", all_of(CHUNKED "5;a=\"\r\nhello\r\n0\r\n\r\n\"" SECRET)},
    {"TERM.SPILL: bytes behind the data that are no CRLF",
     all_of(CHUNKED "5\r\nhelloXX0\r\n\r\n" SECRET)},
    {"SPILL.TERM: data longer than its size", all_of(CHUNKED "5\r\nhello!\r\n0\r\n\r\n" SECRET)},
    {"TWO.ONE: LF alone behind the data", all_of(CHUNKED "5\r\nhello\n0\r\n\r\n" SECRET)},
    {"CR alone behind the data", all_of(CHUNKED "5\r\nhello\r0\r\n\r\n" SECRET)},
    {"CR and any byte behind the data", all_of(CHUNKED "5\r\nhello\rX0\r\n\r\n" SECRET)},
    {"ZERO.TWO: nothing behind the data", all_of(CHUNKED "5\r\nhello0\r\n\r\n" SECRET)},
    {"ONE.TWO: LF ends a size", all_of(CHUNKED "5\nhello\r\n0\r\n\r\n" SECRET)},
    {"CR ends a size", all_of(CHUNKED "5\rhello\r\n0\r\n\r\n" SECRET)},
    {"CR CR LF ends a size", all_of(CHUNKED "5\r\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"LF ends the last size", all_of(CHUNKED "5\r\nhello\r\n0\n\r\n" SECRET)},
    {"LF ends the body", all_of(CHUNKED "5\r\nhello\r\n0\r\n\n" SECRET)},
    {"nothing ends the body", all_of(CHUNKED "5\r\nhello\r\n0\r\n" SECRET)},
    {"CR and another byte end the body", all_of(CHUNKED "5\r\nhello\r\n0\r\n\rX" SECRET)},
    {"an empty line before a size", all_of(CHUNKED "\r\n5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"plus", all_of(CHUNKED "+5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"minus", all_of(CHUNKED "-5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"minus zero", all_of(CHUNKED "-0\r\n\r\n" SECRET)},
    {"a prefix", all_of(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"an underscore", all_of(CHUNKED "0_5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"a space before it", all_of(CHUNKED " 5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"a space behind it", all_of(CHUNKED "5 \r\nhello\r\n0\r\n\r\n" SECRET)},
    {"a tab behind it", all_of(CHUNKED "5\t\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"a word behind it", all_of(CHUNKED "5 5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"NUL behind it", all_of(CHUNKED "5\0\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"a comma behind it", all_of(CHUNKED "5,5\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"a letter that is no digit", all_of(CHUNKED "5g\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"no size", all_of(CHUNKED ";a\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"2^32 + 5", all_of(CHUNKED "100000005\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"2^64 + 5", all_of(CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"2^64 - 1", all_of(CHUNKED "ffffffffffffffff\r\nhello\r\n0\r\n\r\n" SECRET)},
    {"2^32 - 1", all_of(CHUNKED "ffffffff\r\nhello\r\n0\r\n\r\n" SECRET),
     all_of("refused body_too_large\n")},
    {"zeros before it", all_of(CHUNKED "00000005\r\nhello\r\n000\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'hello'\nGET /secret @a "
            "1.1 keep {Host=a} none\n")},
    {"extensions are ignored",
     all_of(CHUNKED "5;a=b;c=\"0\\\"\" ; d\r\nhello\r\n0;e\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'hello'\nGET /secret @a "
            "1.1 keep {Host=a} none\n")},
    {"data that is a request",
     all_of(CHUNKED "24\r\nGET /other HTTP/1.1\r\nHost: other\r\n\r\n\r\n0\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'GET /other "
            "HTTP/1.1\r\nHost: other\r\n\r\n'\nGET /secret @a 1.1 keep {Host=a} none\n")},
    {"trailers frame nothing",
     all_of(CHUNKED "0\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\nHost: "
                    "b\r\nConnection: close\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked ''\nGET /secret @a 1.1 "
            "keep {Host=a} none\n")},
    {"LF ends a trailer", all_of(CHUNKED "0\r\nX: y\nGET /other HTTP/1.1\r\n\r\n" SECRET)},
    {"a request among the trailers",
     all_of(CHUNKED "0\r\nX: y\r\nGET /other HTTP/1.1\r\n\r\n" SECRET)},
    {"a folded trailer", all_of(CHUNKED "0\r\nX: y\r\n z\r\n\r\n" SECRET)},
    {"NUL in a trailer", all_of(CHUNKED "0\r\nX\0: y\r\n\r\n" SECRET)},
};

// Splitting of the request line, and forms of the target.
constexpr attack request_lines[] = {
    {"HTTP/0.9", all_of("GET /\r\n\r\n")},
    {"HTTP/0.9 with LF", all_of("GET /\n")},
    {"HTTP/0.9 and more", all_of("GET /secret\r\nHost: a\r\n\r\n")},
    {"two spaces", all_of("GET  /secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"two spaces before the version", all_of("GET /secret  HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"tabs", all_of("GET\t/secret\tHTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a space first", all_of(" GET /secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a space last", all_of("GET /secret HTTP/1.1 \r\nHost: a\r\n\r\n")},
    {"two versions", all_of("GET /secret HTTP/1.1 HTTP/1.0\r\nHost: a\r\n\r\n")},
    {"a version in the target", all_of("GET /secret HTTP/1.1/x HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"vertical tab", all_of("GET\v/secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a no-break space", all_of("GET\xa0/secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"NUL in the method", all_of("G\0ET /secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"NUL in the target", all_of("GET /\0secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"NUL behind the version", all_of("GET /secret HTTP/1.1\0\r\nHost: a\r\n\r\n")},
    {"CR behind the version", all_of("GET /secret HTTP/1.1\r\r\nHost: a\r\n\r\n")},
    {"LF behind the version", all_of("GET /secret HTTP/1.1\nHost: a\r\n\r\n")},
    {"CR alone behind the version", all_of("GET /secret HTTP/1.1\rHost: a\r\n\r\n")},
    {"a byte order mark", all_of("\xef\xbb\xbfGET /secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a version of two digits", all_of("GET / HTTP/1.10\r\nHost: a\r\n\r\n")},
    {"a leading zero", all_of("GET / HTTP/01.1\r\nHost: a\r\n\r\n")},
    {"a space in the version", all_of("GET / HTTP /1.1\r\nHost: a\r\n\r\n")},
    {"a lower-case version", all_of("GET / http/1.1\r\nHost: a\r\n\r\n")},
    {"HTTP/1.2 is read as HTTP/1.1",
     all_of("GET / HTTP/1.2\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"
            "POST /b?c HTTP/1.9\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            "1\r\nx\r\n0\r\n\r\n"),
     all_of("GET / @a 1.1 keep continue {Host=a;Expect=100-continue} none\n"
            "POST /b?c @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'x'\n")},
    {"HTTP/1.2 needs a Host", all_of("GET /secret HTTP/1.2\r\n\r\n")},
    {"HTTP/1.2 with two framings", all_of("POST / HTTP/1.2\r\nHost: a\r\nContent-Length: 4\r\n"
                                          "Transfer-Encoding: chunked\r\n\r\n" CHUNKS)},
    {"HTTP/2.0", all_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
     all_of("refused http_version_not_supported\n")},
    {"the preface of HTTP/2",
     all_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            "\0\0\0\4\0\0\0\0\0"),
     all_of("refused http_version_not_supported\n")},
    {"an upgrade to HTTP/2 is none",
     all_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
            "h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n"),
     all_of("GET / @a 1.1 keep {Host=a;Connection=Upgrade, "
            "HTTP2-Settings;Upgrade=h2c;HTTP2-Settings=AAMAAABkAAQAoAAAAAIAAAAA} none\n")},
    {"a lower-case method", all_of("get / HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("get(other) / @a 1.1 keep {Host=a} none\n")},
    {"a method that begins with another", all_of("GETX / HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("GETX(other) / @a 1.1 keep {Host=a} none\n")},
    {"a method that has no content for others",
     all_of("CONNECTS / HTTP/1.1\r\nHost: a\r\n"
            "Content-Length: 1\r\n\r\nx" SECRET),
     all_of("CONNECTS(other) / @a 1.1 keep {Host=a;Content-Length=1} sized 'x'\n"
            "GET /secret @a 1.1 keep {Host=a} none\n")},
    {"another method in a field",
     all_of("GET / HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: DELETE\r\n\r\n"),
     all_of("GET / @a 1.1 keep {Host=a;X-HTTP-Method-Override=DELETE} none\n")},
    {"five empty lines", all_of("\r\n\r\n\r\n\r\n\r\n" SECRET)},
    {"a LF before it", all_of("\n" SECRET)},
    {"CR before it", all_of("\r" SECRET)},
    {"a fragment", all_of("GET /a#/secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a backslash", all_of("GET \\\\secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"an overlong slash", all_of("GET /a\xc0\xaf"
                                 "secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a tab in the target", all_of("GET /a\t/secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a relative target", all_of("GET secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"an at sign first", all_of("GET @b/secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a query first", all_of("GET ?a HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"an asterisk on GET", all_of("GET * HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"%00 is left to the code that decodes it", all_of("GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("GET /a%00b @a 1.1 keep {Host=a} none\n")},
    {"dots are left as they are", all_of("GET /a/../secret/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("GET /a/../secret/%2e%2e/b @a 1.1 keep {Host=a} none\n")},
    {"two slashes are no authority", all_of("GET //b/secret HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("GET //b/secret @a 1.1 keep {Host=a} none\n")},
    {"CONNECT", all_of("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("refused method_not_allowed\n")},
    {"the authority form", all_of("GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n")},
};

// The host that a request addresses.
constexpr attack hosts[] = {
    {"absolute form and Host disagree", all_of("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
     all_of("GET / @b 1.1 keep {Host=a} none\n")},
    {"in absolute form, Host must be right too",
     all_of("GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n")},
    {"and there", all_of("GET http://b/ HTTP/1.1\r\n\r\n")},
    {"a user in the target", all_of("GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a backslash before an at sign", all_of("GET http://a\\@b/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"an empty authority", all_of("GET http:///secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"no slashes", all_of("GET http:secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"another scheme", all_of("GET file://a/secret HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"half an address", all_of("GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a port of letters", all_of("GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"a colon too many", all_of("GET http://a:1:2/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {"Host twice", all_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")},
    {"Host twice and equal", all_of("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n")},
    {"a list", all_of("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n")},
    {"none", all_of("GET / HTTP/1.1\r\n\r\n")},
    {"empty", all_of("GET / HTTP/1.1\r\nHost:\r\n\r\n")},
    {"a space before the colon", all_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n")},
    {"folded", all_of("GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n")},
    {"a second one, folded", all_of("GET / HTTP/1.1\r\nHost: a\r\n Host: b\r\n\r\n")},
    {"a first one with a space", all_of("GET / HTTP/1.1\r\n Host: b\r\nHost: a\r\n\r\n")},
    {"NUL", all_of("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n")},
    {"a tab within", all_of("GET / HTTP/1.1\r\nHost: a\tb\r\n\r\n")},
    {"a user", all_of("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n")},
    {"a path", all_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n")},
    {"a query", all_of("GET / HTTP/1.1\r\nHost: a?b\r\n\r\n")},
    {"a fragment", all_of("GET / HTTP/1.1\r\nHost: a#b\r\n\r\n")},
    {"two ports", all_of("GET / HTTP/1.1\r\nHost: a:80:81\r\n\r\n")},
    {"a port that is none", all_of("GET / HTTP/1.1\r\nHost: a:80b\r\n\r\n")},
    {"twice on HTTP/1.0", all_of("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n")},
    {"what proxies say is left to others",
     all_of("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Host: b\r\nX-Original-URL: /secret\r\n\r\n"),
     all_of("GET / @a 1.1 keep {Host=a;X-Forwarded-Host=b;X-Original-URL=/secret} none\n")},
};

// Bodies that look like requests: CL.0, 0.CL, TE.0 (Kettle, "Browser-Powered Desync Attacks", 2022, and "HTTP/1.1
// must die", 2025), and their use with Expect and Connection.
constexpr attack bodies_that_are_requests[] = {
    {"CL.0 on POST", all_of(POST "Content-Length: 33\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Content-Length=33} sized 'GET /secret HTTP/1.1\r\nHost: "
            "a\r\n\r\n'\n")},
    {"CL.0 on GET", all_of(GET "Content-Length: 33\r\n\r\n" SECRET),
     all_of("GET / @a 1.1 keep {Host=a;Content-Length=33} sized 'GET /secret HTTP/1.1\r\nHost: "
            "a\r\n\r\n'\n")},
    {"CL.0 on HEAD", all_of("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("HEAD / @a 1.1 keep {Host=a;Content-Length=33} sized 'GET /secret HTTP/1.1\r\nHost: "
            "a\r\n\r\n'\n")},
    {"CL.0 on OPTIONS *",
     all_of("OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("OPTIONS * @a 1.1 keep {Host=a;Content-Length=33} sized 'GET /secret HTTP/1.1\r\nHost: "
            "a\r\n\r\n'\n")},
    {"CL.0 on a method of others",
     all_of("TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("TRACE(other) / @a 1.1 keep {Host=a;Content-Length=33} sized 'GET /secret "
            "HTTP/1.1\r\nHost: a\r\n\r\n'\n")},
    {"TE.0 on OPTIONS",
     all_of("OPTIONS / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" CHUNKS SECRET),
     all_of("OPTIONS / @a 1.1 keep {Host=a;Transfer-Encoding=chunked} chunked 'abc'\nGET /secret "
            "@a 1.1 keep {Host=a} none\n")},
    {"0.CL: no length, no body", all_of(POST "\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a} none\nGET /secret @a 1.1 keep {Host=a} none\n")},
    {"0.CL: a length with a space before the colon",
     all_of(GET "Content-Length : 33\r\n\r\n" SECRET)},
    {"0.CL: a length behind a fold", all_of(GET "X: y\r\n\tContent-Length: 33\r\n\r\n" SECRET)},
    {"Expect changes no framing",
     all_of(POST "Expect: 100-continue\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep continue {Host=a;Expect=100-continue;Content-Length=33} sized 'GET "
            "/secret HTTP/1.1\r\nHost: a\r\n\r\n'\n")},
    {"Expect with a word before it",
     all_of(POST "Expect: y 100-continue\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep unknown-expectation {Host=a;Expect=y "
            "100-continue;Content-Length=33} sized 'GET /secret HTTP/1.1\r\nHost: a\r\n\r\n'\n")},
    {"Expect twice",
     all_of(POST
            "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep continue "
            "{Host=a;Expect=100-continue;Expect=100-continue;Content-Length=33} sized 'GET /secret "
            "HTTP/1.1\r\nHost: a\r\n\r\n'\n")},
    {"Expect, folded",
     all_of(POST "Expect:\r\n 100-continue\r\nContent-Length: 33\r\n\r\n" SECRET)},
    {"Expect with nothing", all_of(GET "Expect: \r\n\r\n" SECRET),
     all_of("GET / @a 1.1 keep {Host=a;Expect=} none\nGET /secret @a 1.1 keep {Host=a} none\n")},
    {"an upgrade changes no framing",
     all_of(POST "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("POST / @a 1.1 keep {Host=a;Connection=Upgrade;Upgrade=websocket;Content-Length=33} "
            "sized 'GET /secret HTTP/1.1\r\nHost: a\r\n\r\n'\n")},
    {"Proxy-Connection and Keep-Alive say nothing",
     all_of(GET "Proxy-Connection: close\r\nKeep-Alive: timeout=0\r\n\r\n" SECRET),
     all_of("GET / @a 1.1 keep {Host=a;Proxy-Connection=close;Keep-Alive=timeout=0} none\nGET "
            "/secret @a 1.1 keep {Host=a} none\n")},
    {"a body of HTTP/1.0 has its length too",
     all_of("POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 33\r\n\r\n" SECRET),
     all_of("POST / @ 1.0 keep {Connection=keep-alive;Content-Length=33} sized 'GET /secret "
            "HTTP/1.1\r\nHost: a\r\n\r\n'\n")},
};

template <std::size_t Count>
void expect_outcomes(attack const (&table)[Count]) {
    for (auto const& one : table) {
        SCOPED_TRACE(one.name);
        auto const actual = run_all_splits(one.bytes);
        EXPECT_EQ(format_outcome(actual, one.bytes.size()), one.expected) << actual.detail;
        auto const other = reference::read_requests(one.bytes);
        EXPECT_EQ(other.messages, actual.messages);
        EXPECT_EQ(other.is_refused, actual.refused());
    }
}

TEST(smuggling, framing_twice) {
    expect_outcomes(framing_twice);
}
TEST(smuggling, hidden_fields) {
    expect_outcomes(hidden_fields);
}
TEST(smuggling, lengths) {
    expect_outcomes(lengths);
}
TEST(smuggling, chunks) {
    expect_outcomes(chunks);
}
TEST(smuggling, request_lines) {
    expect_outcomes(request_lines);
}
TEST(smuggling, hosts) {
    expect_outcomes(hosts);
}
TEST(smuggling, bodies_that_are_requests) {
    expect_outcomes(bodies_that_are_requests);
}

}  // namespace
}  // namespace latchkey::http
