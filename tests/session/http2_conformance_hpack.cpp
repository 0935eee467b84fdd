// RFC 7541: the tables that a client's blocks refer to, the kinds of fields, integers, strings and
// changes of the table's size. The compressed strings are those of Appendix C.4.
#include "http2_conformance.hpp"

namespace latchkey::session::conformance {

using namespace script;

namespace {
std::vector<std::string> const wrong{"GOAWAY COMPRESSION_ERROR"};

// Of the static table (Appendix A), as far as requests of these tests need it.
constexpr std::uint64_t authority = 1, get = 2, root = 4, https = 7, accept = 19;

std::string const packed_host =
    bytes({0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff});
std::string const packed_name = bytes({0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f});
std::string const packed_value = bytes({0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf});
}  // namespace

table header_table_cases(client const& one) {
    auto const fields = block(one.get_fields());
    auto const request = [&](std::uint32_t stream, std::string const& more) {
        return headers(stream, fields + more);
    };
    auto const entry = [](std::string const& name, std::size_t bytes) {
        return literal(name, std::string(bytes, 'v'), retention::in_table);
    };
    auto const method = literal(get, text("GET"), retention::in_table);
    return {
        {"2.3.2 (RFC 7541)",
         "the newest entry has the lowest index",
         headers(1, literal(":path", "/api/v1/users/1", retention::in_table) + method +
                        indexed(https) + literal(authority, text("a"), retention::never) +
                        literal("x-api-key", one.key())) +
             headers(3, indexed(62) + indexed(63) + indexed(https) +
                            literal(authority, text("a"), retention::never) +
                            literal("x-api-key", one.key())),
         {"1: 200; 3: 200"}},
        {"2.3.3 (RFC 7541)",
         "an index behind the static table is an error while the other is empty",
         request(1, indexed(62)), wrong},
        {"2.3.3 (RFC 7541)", "an index beyond the tables is an error",
         request(1, entry("x", 1) + indexed(63)), wrong},
        {"2.3.3 (RFC 7541)", "a name beyond the tables is an error",
         request(1, literal(70, text("v"), retention::never)), wrong},
        {"2.3.3 (RFC 7541)", "a name beyond the tables is an error where it would be kept",
         request(1, literal(70, text("v"), retention::in_table)), wrong},
        {"2.3.3 (RFC 7541)",
         "the last entry of both tables is found",
         request(1, entry("x", 1) + indexed(61) + indexed(62)),
         {"1: 200"}},
        {"2.3.3 (RFC 7541)",
         "an entry may occur twice",
         request(1, entry("x", 1) + entry("x", 1)) + request(3, indexed(62) + indexed(63)),
         {"1: 200; 3: 200"}},
        {"4.1 (RFC 7541)",
         "entries count 32 bytes beside their text",
         request(1, entry("x", 2015) + entry("y", 2015)) + request(3, indexed(63)),
         {"1: 200; 3: 200"}},
        {"4.4 (RFC 7541)",
         "one byte more evicts the oldest entry",
         request(1, entry("x", 2015) + entry("y", 2016)) + request(3, indexed(63)),
         {"1: 200; GOAWAY COMPRESSION_ERROR"}},
        {"4.4 (RFC 7541)",
         "an entry larger than the table empties it",
         request(1, entry("x", 1) + entry("y", 4064)) + request(3, indexed(62)),
         {"1: 200; GOAWAY COMPRESSION_ERROR"}},
        {"4.4 (RFC 7541)",
         "an entry as large as the table is kept",
         request(1, entry("x", 1) + entry("y", 4063)) + request(3, indexed(62)),
         {"1: 200; 3: 200"}},
        {"4.4 (RFC 7541)",
         "a name may refer to the entry that it evicts",
         request(1, entry("x-first", 4000) +
                        literal(62, text(std::string(4000, 'w')), retention::in_table)) +
             request(3, indexed(62)) + request(5, indexed(63)),
         {"1: 200; 3: 200; GOAWAY COMPRESSION_ERROR"}},
        {"2.3.2 (RFC 7541)",
         "a malformed field stays malformed in the table",
         request(1, literal("connection", "close", retention::in_table)) + request(3, indexed(62)),
         {"1: RST_STREAM PROTOCOL_ERROR; 3: RST_STREAM PROTOCOL_ERROR"}},
        {"2.3.2 (RFC 7541)",
         "a name in upper case stays malformed in the table",
         request(1, literal("X-Up", "v", retention::in_table)) +
             request(3, literal(62, text("v"), retention::never)),
         {"1: RST_STREAM PROTOCOL_ERROR; 3: RST_STREAM PROTOCOL_ERROR"}},
    };
}

// Every kind of field (RFC 7541 §6), with an answer that depends on what was read.
table representation_cases(client const& one) {
    auto const head =
        indexed(get) + indexed(https) + literal(":path", "/api/v1/users/1", retention::nowhere);
    auto const key = literal("x-api-key", one.key());
    auto const request = [&](std::string const& host, std::string const& more = {}) {
        return headers(1, head + host + key + more);
    };
    auto const host = literal(authority, text("www.example.com"), retention::never);
    auto const literals = [](retention kind) {
        return literal(accept, text("application/json"), kind) + literal("x-new", "v", kind) +
               literal(0, huffman(packed_name) + huffman(packed_value), kind) +
               literal(accept, text("*/*"), kind);
    };
    return {
        {"6.1 (RFC 7541)",
         "fields of the static table are read",
         headers(1, indexed(get) + indexed(https) + indexed(root) + host + key),
         {"1: 404"}},
        {"6.1 (RFC 7541)", "index 0 is an error", request(host, indexed(0)), wrong},
        {"6.2.1 (RFC 7541)",
         "literals that are kept are read",
         request(host, literals(retention::in_table)),
         {"1: 200"}},
        {"6.2.2 (RFC 7541)",
         "literals that are not kept are read",
         request(host, literals(retention::nowhere)),
         {"1: 200"}},
        {"6.2.3 (RFC 7541)",
         "literals that are never kept are read",
         request(host, literals(retention::never)),
         {"1: 200"}},
        {"6.2.1 (RFC 7541)",
         "a literal that is kept is found again",
         request(host, literal("x-new", "v", retention::in_table) + indexed(62)),
         {"1: 200"}},
        {"6.2.2 (RFC 7541)", "a literal that is not kept is not found again",
         request(host, literal("x-new", "v", retention::nowhere) + indexed(62)), wrong},
        {"6.2.3 (RFC 7541)", "a literal that is never kept is not found again",
         request(host, literal("x-new", "v", retention::never) + indexed(62)), wrong},
        {"6.2 (RFC 7541)",
         "a compressed value is read as what it means",
         request(literal(authority, huffman(packed_host), retention::never),
                 literal("host", "www.example.com")),
         {"1: 200"}},
        {"6.2 (RFC 7541)",
         "a compressed value is kept as what it means",
         request(literal(authority, huffman(packed_host), retention::in_table)) +
             headers(3, head + indexed(62) + key + literal("host", "www.example.com")),
         {"1: 200; 3: 200"}},
        {"6.2 (RFC 7541)",
         "a compressed value that means another thing is noticed",
         request(literal(authority, huffman(packed_host), retention::never),
                 literal("host", "www.example.org")),
         {"1: RST_STREAM PROTOCOL_ERROR", "1: 400"}},
    };
}

table integer_and_string_cases(client const& one) {
    auto const fields = block(one.get_fields());
    auto const request = [&](std::string const& more) { return headers(1, fields + more); };
    // A literal without a name in a table, and nothing kept.
    auto const named = [&](std::string const& name, std::string const& value) {
        return request(bytes({0x00}) + name + value);
    };
    return {
        {"5.1 (RFC 7541)", "an index that ends in the middle is an error", request(bytes({0xff})),
         wrong},
        {"5.1 (RFC 7541)", "an index whose bytes go on is an error", request(bytes({0xff, 0x80})),
         wrong},
        {"5.1 (RFC 7541)", "an integer beyond 2^32 is an error",
         request(bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f})), wrong},
        {"5.1 (RFC 7541)", "an integer beyond 2^64 is an error",
         request(bytes({0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02})),
         wrong},
        {"5.1 (RFC 7541)", "an integer that would wrap to a right one is an error",
         request(bytes({0xff, 0x83, 0xff, 0xff, 0xff, 0x0f})), wrong},
        {"5.1 (RFC 7541)",
         "a length in two bytes is read",
         named(text("x"), bytes({0x7f, 0x01}) + std::string(128, 'v')),
         {"1: 200"}},
        {"5.2 (RFC 7541)", "a name longer than its block is an error",
         request(bytes({0x00, 0x05}) + "abcd"), wrong},
        {"5.2 (RFC 7541)", "a value longer than its block is an error",
         request(bytes({0x00}) + text("x") + bytes({0x05}) + "abcd"), wrong},
        {"5.2 (RFC 7541)", "a field without a value is an error",
         request(bytes({0x00}) + text("x")), wrong},
        {"5.2 (RFC 7541)",
         "a compressed name and value are read",
         named(huffman(packed_name), huffman(packed_value)),
         {"1: 200"}},
        {"5.2 (RFC 7541)",
         "an empty compressed value is read",
         named(text("x"), huffman("")),
         {"1: 200"}},
        {"5.2 (RFC 7541)",
         "padding of ones is read",
         named(text("x"), huffman("\x1f")),
         {"1: 200"}},
        {"5.2 (RFC 7541)", "padding of more than seven bits is an error",
         named(text("x"), huffman("\x1f\xff")), wrong},
        {"5.2 (RFC 7541)", "padding of zeros is an error", named(text("x"), huffman("\x18")),
         wrong},
        {"5.2 (RFC 7541)", "padding with one zero is an error", named(text("x"), huffman("\x1e")),
         wrong},
        {"5.2 (RFC 7541)", "a string of nothing but padding is an error",
         named(text("x"), huffman("\xff")), wrong},
        {"5.2 (RFC 7541)", "the end of string within a string is an error",
         named(text("x"), huffman("\xff\xff\xff\xff")), wrong},
        {"5.2 (RFC 7541)", "the end of string behind a letter is an error",
         named(text("x"), huffman("\x1f\xff\xff\xff\xff")), wrong},
        {"5.2 (RFC 7541)", "wrong padding in a name is an error", named(huffman("\x18"), text("v")),
         wrong},
    };
}

table update_cases(client const& one) {
    auto const fields = block(one.get_fields());
    auto const mark = literal("x", "v", retention::in_table);
    auto const server_table = [](std::uint32_t bytes) {
        return settings_of({{setting::header_table_size, bytes}});
    };
    return {
        {"4.2 (RFC 7541)",
         "a change of size in front of a block is read",
         headers(1, table_size(100) + fields),
         {"1: 200"}},
        {"4.2 (RFC 7541)",
         "two changes of size in front of a block are read",
         headers(1, table_size(0) + table_size(4096) + fields + mark) +
             headers(3, fields + indexed(62)),
         {"1: 200; 3: 200"}},
        {"4.2 (RFC 7541)", "a change of size behind a field is an error",
         headers(1, indexed(get) + table_size(100) + fields), wrong},
        {"4.2 (RFC 7541)", "a change of size at the end of a block is an error",
         headers(1, fields + table_size(100)), wrong},
        {"4.2 (RFC 7541)",
         "a change of size in front of trailers is read",
         one.post(1) + data(1, client::content) + headers(1, table_size(0) + literal("x", "v")),
         {"1: 200"}},
        {"6.3 (RFC 7541)", "a size above the setting is an error",
         headers(1, table_size(4097) + fields), wrong},
        {"6.3 (RFC 7541)", "a size far above the setting is an error",
         headers(1, table_size(0xffffffff) + fields), wrong},
        {"6.3 (RFC 7541)",
         "the size of the setting is read",
         headers(1, table_size(4096) + fields),
         {"1: 200"}},
        {"6.3 (RFC 7541)",
         "a setting of the server bounds the size",
         headers(1, table_size(101) + fields),
         wrong,
         {.settings = {.header_table_bytes = 100}}},
        {"4.3 (RFC 7541)",
         "a smaller table loses its oldest entries",
         headers(1, fields + mark + literal("y", "v", retention::in_table)) +
             headers(3, table_size(34) + fields + indexed(62)) + headers(5, fields + indexed(63)),
         {"1: 200; 3: 200; GOAWAY COMPRESSION_ERROR"}},
        {"4.3 (RFC 7541)", "a table of no size keeps nothing",
         headers(1, table_size(0) + fields + mark + indexed(62)), wrong},
        {"4.2 (RFC 7541)",
         "the server tells when its own table shrinks",
         one.get(1) + server_table(0) + one.get(3),
         {"1: 200; ack; 3: 200"}},
        {"4.2 (RFC 7541)",
         "the server tells the least size of several",
         one.get(1) + server_table(0) + server_table(4096) + one.get(3) + one.get(5),
         {"1: 200; ack; ack; 3: 200; 5: 200"}},
        {"4.2 (RFC 7541)",
         "the server keeps to a table of a few entries",
         server_table(120) + one.get(1) + one.get(3) + one.get(5),
         {"ack; 1: 200; 3: 200; 5: 200"}},
        {"4.2 (RFC 7541)",
         "the server may leave a larger table unused",
         server_table(65'536) + one.get(1) + one.get(3),
         {"ack; 1: 200; 3: 200"}},
    };
}

}  // namespace latchkey::session::conformance
