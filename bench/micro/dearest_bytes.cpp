// What a byte costs that a client sends, of each kind that may come without a key, against that of a
// plain GET request: session in, session out, without sockets. A flood ends at 256 KiB or when the
// session closes the connection; the smallest of 15 runs counts.
//
//     dearest-bytes
//
// Exits with 1 if a byte costs more than five times as much, but for the rows marked with a star,
// which something else bounds (bench/README.md).
#include <algorithm>
#include <cstdio>
#include <string>

#include "base/check.hpp"
#include "certificates.hpp"
#include "client.hpp"
#include "server/net/proxy_header.hpp"
#include "session/http2.hpp"
#include "tests/api/nasty_bodies.hpp"
#include "tests/session/conversation.hpp"
#include "tests/session/http2_script.hpp"

namespace latchkey::session {
namespace {

constexpr std::size_t flood_bytes_max = 256 * base::limits::kib;
constexpr int runs = 15;
constexpr double times_max = 5;

double reference = 0;  // ns a byte
bool is_dear = false;

void print(std::string_view name, double ns_per_byte, std::size_t bytes, char const* end,
           bool is_bounded = false) {
    if (reference == 0) reference = ns_per_byte;
    std::printf("| %.*s%s | %.2f | %.1f | %zu | %s |\n", static_cast<int>(name.size()), name.data(),
                is_bounded ? " *" : "", ns_per_byte, ns_per_byte / reference, bytes, end);
    is_dear = is_dear || (!is_bounded && ns_per_byte > times_max * reference);
}

// What both protocols have in common: input that is consumed step by step, as a connection does it.
template <class Session>
class peer {
  public:
    explicit peer(api_fixture& fixture)
        : fixture_(fixture),
          server_{.now = fixture.now, .ready_since = fixture.now.mono},
          session_((configure(context_, fixture), context_), fixture.peer) {}

    std::size_t consumed() const { return consumed_; }
    // False: the session has closed the connection.
    bool receive(std::string_view bytes) {
        fixture_.services().snapshot.renew();
        fixture_.services().keys.follow(fixture_.services().snapshot);
        input_.append(bytes);
        std::size_t offset = 0;
        auto kind = step_kind::pause;
        while (kind != step_kind::read && kind != step_kind::close) {
            auto const next = session_.advance(std::string_view(input_).substr(offset),
                                               wake_reason::bytes, server_, output_);
            offset += next.consumed;
            kind = next.kind;
            if (kind == step_kind::write) {
                session_.write(output_, server_);
                if (auto const following = session_.finish_write()) kind = following->kind;
            }
            if (kind == step_kind::grant_body) session_.grant();
            base::check(kind != step_kind::commit, "a flood writes nothing");
        }
        session_.write_pending(output_, base::limits::unsent_bytes_max, server_);
        input_.erase(0, offset);
        consumed_ += offset;
        output_.clear();
        return kind != step_kind::close;
    }

  private:
    api_fixture& fixture_;
    context context_;
    server_state server_;
    Session session_;
    std::string input_, output_;
    std::size_t consumed_ = 0;
};

struct flood {
    std::string_view name;
    std::string opening;
    std::string bytes;
    std::size_t part = base::limits::receive_buffer_bytes;  // that is received at once
    bool is_bounded = false;
};

template <class Session>
void measure(api_fixture& fixture, flood const& each) {
    double fastest = 1e9;
    std::size_t consumed = 0;
    bool is_open = true;
    for (int run = 0; run < runs; ++run) {
        peer<Session> server(fixture);
        base::check(each.opening.empty() || server.receive(each.opening), "the opening is refused");
        auto const opening_bytes = server.consumed();
        auto const begin = api::processor_time();
        is_open = true;
        for (std::size_t offset = 0; is_open && offset < each.bytes.size(); offset += each.part)
            is_open = server.receive(std::string_view(each.bytes).substr(offset, each.part));
        auto const ns = static_cast<double>(api::processor_time() - begin);
        consumed = server.consumed() - opening_bytes;
        if (consumed == 0) consumed = each.part;  // refused as a whole
        fastest = std::min(fastest, ns / static_cast<double>(consumed));
    }
    print(each.name, fastest, consumed, is_open ? "goes on" : "closed", each.is_bounded);
}

// `piece(i)`, for i from 0, up to the size of a flood.
template <class Piece>
std::string repeat(Piece piece) {
    std::string all;
    for (unsigned i = 0; all.size() < flood_bytes_max; ++i) all += piece(i);
    return all;
}
std::string repeat_text(std::string_view text) {
    return repeat([&](unsigned) { return text; });
}
std::string head(std::string_view line, std::string_view fields = {}) {
    return std::string(line).append(" HTTP/1.1\r\nHost: a\r\n").append(fields).append("\r\n");
}

// ---- HTTP/1.1

void measure_http1(api_fixture& fixture) {
    auto const measure_one = [&](flood const& each) { measure<http1>(fixture, each); };
    auto const key = "X-API-Key: " + fixture.key + "\r\n";
    auto const user = head("GET /api/v1/users/1", key);
    measure_one({"GET a user (the reference)", {}, repeat_text(user)});
    measure_one({"GET without a key", {}, repeat_text(head("GET /api/v1/users/1"))});
    measure_one({"GET /healthz", {}, repeat_text(head("GET /healthz"))});
    measure_one({"GET /nothing", {}, repeat_text(head("GET /nothing"))});
    measure_one({"GET with an unknown key", {}, repeat([](unsigned) {
                     return head("GET /api/v1/users/1",
                                 "X-API-Key: " + auth::unknown_key() + "\r\n");
                 })});
    std::string small_fields, large_fields;
    for (int i = 0; i < 97; ++i) small_fields += "a" + std::to_string(i) + ":\r\n";
    for (int i = 0; i < 15; ++i) large_fields += "a:" + std::string(1000, 'b') + "\r\n";
    measure_one({"heads of many fields", {}, repeat([&](unsigned i) {
                     return head("GET /nothing", "a: " + std::to_string(i) + "\r\n" + small_fields);
                 })});
    measure_one({"heads of large fields", {}, repeat([&](unsigned i) {
                     return head("GET /nothing", "a: " + std::to_string(i) + "\r\n" + large_fields);
                 })});
    measure_one({"targets of 8 KiB", {}, repeat([&](unsigned) {
                     return head("GET /docs?" + std::string(7'000, '%'));
                 })});
    measure_one({"queries of many parameters", {}, repeat([&](unsigned) {
                     std::string query = "GET /api/v1/users?";
                     while (query.size() < 7'000) query += "%61=%62&";
                     return head(query, key);
                 })});
    measure_one({"a head, 64 bytes at once",
                 {},
                 repeat([&](unsigned) { return head("GET /nothing", large_fields); }),
                 64});
    measure_one({"empty lines", {}, repeat_text("\r\n\r\n" + user)});
    measure_one({"garbage", {}, std::string(flood_bytes_max, '\x01'), 4096, true});
    auto const post = [&](std::string_view path, std::string_view fields, std::string_view body) {
        return head("POST " + std::string(path), std::string(fields) + "Content-Length: " +
                                                     std::to_string(body.size()) + "\r\n") +
               std::string(body);
    };
    std::string const json = "Content-Type: application/json\r\n";
    std::string const form = "Content-Type: application/x-www-form-urlencoded\r\n";
    auto const verify = json + key;
    auto const chunked = json + key + "Transfer-Encoding: chunked\r\n";
    measure_one({"bodies without a key, refused", {}, repeat_text(post("/nothing", {}, "a"))});
    for (auto const& body : api::nasty_bodies)
        measure_one({std::string("a body that may have the key: ").append(body.name),
                     {},
                     repeat_text(post("/api/v1/users", json, body.make(100 * 1024)))});
    measure_one(
        {"chunks of a byte", head("POST /api/v1/keys/verify", chunked), repeat_text("1\r\n \r\n")});
    measure_one({"chunks of a byte, without a key",
                 head("POST /api/v1/users", json + "Transfer-Encoding: chunked\r\n"),
                 repeat_text("1\r\n \r\n")});
    measure_one({"chunks of a byte, dropped",
                 head("POST /nothing", "Transfer-Encoding: chunked\r\n"),
                 repeat_text("1\r\n \r\n")});
    measure_one({"chunks with extensions", head("POST /api/v1/keys/verify", chunked),
                 repeat([](unsigned) { return "1;" + std::string(200, 'a') + "\r\n \r\n"; })});
    measure_one({"chunked bodies with trailers", {}, repeat([&](unsigned) {
                     std::string text = head("POST /api/v1/keys/verify", chunked) + "0\r\n";
                     for (int i = 0; i < 30; ++i) text += "a" + std::to_string(i) + ":\r\n";
                     return text + "\r\n";
                 })});
    measure_one({"a body, 64 bytes at once",
                 head("POST /api/v1/keys/verify", verify + "Content-Length: 1000000\r\n"),
                 std::string(flood_bytes_max, ' '), 64});
    for (auto const* const piece : {"&", "a=&", "%74oken=%", "&%61", "token%=a&", "+=+&"}) {
        std::string parameters;
        while (parameters.size() < 100'000) parameters += piece;
        measure_one({std::string("forms of ").append(piece),
                     {},
                     repeat_text(post("/api/v1/introspect", form + key, parameters))});
        measure_one({std::string("forms without a key of ").append(piece),
                     {},
                     repeat_text(post("/api/v1/introspect", form, parameters))});
    }
    std::string const token = "token=" + auth::unknown_key();
    measure_one(
        {"small token forms", {}, repeat_text(post("/api/v1/introspect", form + key, token))});
}

// ---- HTTP/2

using script::data;
using script::h2_type;
using script::flag::end_stream;

std::string request(unsigned i, std::string_view block) {
    return script::headers(2 * i + 1, block);
}

void measure_http2(api_fixture& fixture) {
    script::client const client(fixture.key);
    auto const large = 1u << 30;
    auto const opening = std::string(h2::preface) +
                         script::settings_of({{script::setting::initial_window_size, large}}) +
                         script::window_update(0, large);
    auto const measure_one = [&](std::string_view name, std::string_view more, std::string bytes,
                                 bool is_bounded = false) {
        measure<http2>(fixture, {.name = name,
                                 .opening = opening + std::string(more),
                                 .bytes = std::move(bytes),
                                 .is_bounded = is_bounded});
    };
    auto const charged = [&](std::string_view name, std::string_view more, std::string bytes) {
        measure_one(name, more, std::move(bytes), true);
    };
    auto const in_table = script::retention::in_table;
    auto const method = script::indexed(2), scheme = script::indexed(7);
    auto const head = method + scheme + script::literal(":authority", "a", in_table) +
                      script::literal(":path", "/api/v1/users/1", in_table);
    auto const with_key = head + script::literal("x-api-key", fixture.key, in_table);
    auto const again = method + scheme + script::indexed(63) + script::indexed(62);
    auto const again_with_key =
        method + scheme + script::indexed(64) + script::indexed(63) + script::indexed(62);
    measure_one("h2: GET a user", {}, repeat([&](unsigned i) { return client.get(2 * i + 1); }));
    charged("h2: GET a user, all indexed", request(0, with_key),
            repeat([&](unsigned i) { return request(i + 1, again_with_key); }));
    charged("h2: GET without a key, all indexed", request(0, head),
            repeat([&](unsigned i) { return request(i + 1, again); }));
    charged("h2: GET and RST_STREAM", request(0, with_key), repeat([&](unsigned i) {
                return request(i + 1, again_with_key) + script::reset(2 * i + 3);
            }));
    charged("PING", {}, repeat_text(script::ping()));
    measure_one("PING ACK", {}, repeat_text(script::ping("opaque-8", script::flag::ack)));
    charged("SETTINGS, empty", {}, repeat_text(script::settings_of()));
    std::string many_settings;
    while (many_settings.size() < 16'000) many_settings += script::bytes({0, 4, 0, 1, 0, 0});
    charged("SETTINGS of 16 KiB", {},
            repeat_text(script::frame(h2_type::settings, 0, 0, many_settings)));
    measure_one("SETTINGS ACK", {}, repeat_text(script::settings_ack()));
    charged("WINDOW_UPDATE", {}, repeat_text(script::window_update(0, 1)));
    charged("WINDOW_UPDATE of a stream", client.post(1), repeat_text(script::window_update(1, 1)));
    charged("PRIORITY", {}, repeat_text(script::priority(1, 3)));
    charged("PRIORITY_UPDATE", {}, repeat_text(script::priority_update(1, "u=1")));
    std::string long_priority = "u=1";
    while (long_priority.size() < 16'000) long_priority += ",a";
    charged("PRIORITY_UPDATE of 16 KiB", {},
            repeat_text(script::priority_update(1, long_priority)));
    measure_one("h2: GET with a priority of 4 KiB", {}, repeat([&](unsigned i) {
                    return client.get(2 * i + 1, {{"priority", long_priority.substr(0, 4096)}});
                }));
    charged("unknown frames", {}, repeat_text(script::frame(0xee, 0, 0)));
    charged("unknown frames of 16 KiB", {},
            repeat_text(script::frame(0xee, 0, 0, std::string(16'000, 'a'))));
    charged("GOAWAY", client.post(1), repeat_text(script::goaway(0)));
    charged("RST_STREAM", client.post(1), repeat_text(script::reset(1)));
    charged("DATA, empty", client.post(1), repeat_text(data(1, {})));
    measure_one("DATA of a byte", client.post(1), repeat_text(data(1, " ")));
    std::string posts, refused_posts;
    for (unsigned i = 0; i < 128; ++i) {
        posts += client.post(2 * i + 1);
        refused_posts += script::headers(2 * i + 1,
                                         script::block({{":method", "DELETE"},
                                                        {":scheme", "https"},
                                                        {":authority", "a"},
                                                        {":path", "/nothing"}}),
                                         script::whole_block);
    }
    measure_one("DATA of a byte, one of 128 streams", posts, repeat_text(data(255, " ")));
    measure_one("DATA of a byte, 128 streams in turn", posts,
                repeat([](unsigned i) { return data(2 * (i % 128) + 1, " "); }));
    measure_one("DATA of a byte, dropped", refused_posts, repeat_text(data(255, " ")));
    measure_one("DATA of a byte, padded", client.post(1),
                repeat_text(data(1, script::padded(255, " "), script::flag::padded)));
    measure_one("DATA of padding alone", client.post(1),
                repeat_text(data(1, script::padded(255, {}), script::flag::padded)), true);
    measure_one("DATA of 16 KiB", client.post(1), repeat_text(data(1, std::string(16'000, ' '))));
    measure_one("h2: POST and its content", {},
                repeat([&](unsigned i) { return client.whole_post(2 * i + 1); }));
    auto const block_of_get = script::block(client.get_fields());
    measure_one("HEADERS and eight CONTINUATION of a byte", {}, repeat([&](unsigned i) {
                    std::string all =
                        script::headers(2 * i + 1, block_of_get.substr(8), end_stream);
                    all = script::headers(
                        2 * i + 1, block_of_get.substr(0, block_of_get.size() - 8), end_stream);
                    for (unsigned n = 8; n-- > 0;)
                        all += script::continuation(
                            2 * i + 1, block_of_get.substr(block_of_get.size() - 1 - n, 1),
                            n == 0 ? script::flag::end_headers : 0);
                    return all;
                }));
    // Header blocks: of a frame each, and of what each byte of them asks the decoder to do.
    auto const blocks = [&](std::string_view name, std::string_view table, std::string_view piece) {
        std::string block = again;
        while (block.size() + piece.size() < 16'000) block += piece;
        measure_one(std::string("header block: ").append(name),
                    request(0, head + std::string(table)),
                    repeat([&](unsigned i) { return request(i + 1, block); }), false);
    };
    auto const long_name = script::literal(std::string(3'800, 'n'), {}, in_table);
    auto const long_value = script::literal("v", std::string(3'800, 'v'), in_table);
    blocks("small literals", {}, script::literal("a", {}));
    blocks("small literals, kept", {}, script::literal("a", {}, in_table));
    blocks("literals of a long name", long_name, script::bytes({0x0f, 62 - 15, 0}));
    blocks("literals of a long name, kept", long_name, script::bytes({0x7e, 0}));
    blocks("a long entry", long_value, script::indexed(62));
    blocks("a static entry", {}, script::indexed(15));
    blocks("a small entry", script::literal("a", {}, in_table), script::indexed(62));
    blocks("Huffman codes", {},
           script::bytes({0, 1, 'a', 0xff, 0x80 | 73, 1}) + std::string(200, '\0'));
    blocks("literals of 1 KiB", {}, script::literal("a", std::string(1'000, 'b')));
    blocks("literals of 1 KiB, kept", {}, script::literal("a", std::string(1'000, 'b'), in_table));
    blocks("many names", {}, [] {
        std::string all;
        for (int i = 0; i < 1000; ++i) all += script::literal("a" + std::to_string(i), {});
        return all;
    }());
    measure_one("header block: table sizes", request(0, head), repeat([&](unsigned i) {
                    return request(i + 1, std::string(16'000, '\x20') + method + scheme);
                }),
                true);
    measure_one("header block: table sizes that alternate", request(0, head),
                repeat([&](unsigned i) {
                    std::string block;
                    while (block.size() < 16'000)
                        block += script::table_size(0) + script::table_size(4096);
                    return request(i + 1, block + script::block(client.get_fields()));
                }));
}

// ---- below HTTP

void measure_proxy() {
    for (std::size_t const variable : {12, 4000}) {
        std::string header("\r\n\r\n\0\r\nQUIT\n\x21\x11", 14);
        header += {static_cast<char>(variable >> 8), static_cast<char>(variable & 0xff)};
        header.append(variable, '\1');
        for (std::size_t const part : {std::size_t{64}, header.size()}) {
            auto const begin = api::processor_time();
            constexpr int count = 10'000;
            for (int i = 0; i < count; ++i)
                for (std::size_t size = part; size < header.size() + part; size += part) {
                    auto const bytes = std::string_view(header).substr(0, size);
                    base::check(server::read_proxy_header(bytes).state !=
                                    server::proxy_header::progress::malformed,
                                "the header is wrong");
                }
            print("PROXY header of " + std::to_string(header.size()) + " bytes, " +
                      std::to_string(part) + " at once",
                  static_cast<double>(api::processor_time() - begin) / count /
                      static_cast<double>(header.size()),
                  header.size(), "goes on");
        }
    }
}

void measure_tls() {
    tls::context shared(tls::testing::ecdsa_identity(), tls::ticket_keys::make(), nullptr);
    auto const read = [&](std::string_view name, auto fill, bool is_bounded) {
        double fastest = 1e9;
        std::size_t size = 0;
        auto state = tls::progress::done;
        for (int run = 0; run < runs; ++run) {
            tls::testing::client peer;
            tls::session server(shared, nullptr);
            tls::testing::run_handshake(peer, server);
            std::string bytes, plain, output;
            while (bytes.size() < flood_bytes_max) {
                fill(peer);
                bytes += peer.take();
            }
            std::string_view rest = bytes;
            auto const begin = api::processor_time();
            state = server.read(rest, plain, output, SIZE_MAX);
            size = bytes.size() - rest.size();
            fastest = std::min(fastest, static_cast<double>(api::processor_time() - begin) /
                                            static_cast<double>(size));
        }
        print(name, fastest, size, state == tls::progress::failed ? "closed" : "goes on",
              is_bounded);
    };
    for (std::size_t const size : {1, 16, 130, 4096, 16'384})
        read(
            "TLS records of " + std::to_string(size) + " bytes",
            [&](tls::testing::client& peer) { peer.write(std::string(size, 'a')); }, false);
    read(
        "TLS key updates",
        [](tls::testing::client& peer) {
            SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
            peer.write("a");
        },
        true);
    double fastest = 1e9;
    std::size_t size = 0;
    for (int run = 0; run < runs; ++run) {
        tls::testing::client peer;
        peer.handshake();
        auto const hello = peer.take();
        std::string_view rest = hello;
        std::string output;
        tls::session server(shared, nullptr);
        auto const begin = api::processor_time();
        server.handshake(rest, output);
        size = hello.size();
        fastest = std::min(fastest, static_cast<double>(api::processor_time() - begin) /
                                        static_cast<double>(size));
    }
    print("TLS handshake, a ClientHello", fastest, size, "goes on", true);
}

}  // namespace
}  // namespace latchkey::session

int main() {
    using namespace latchkey::session;
    api_fixture fixture;
    fixture.add_user();
    std::printf(
        "| bytes | ns a byte | times | bytes | then the connection |\n|---|---:|---:|---:|---|\n");
    measure_http1(fixture);
    measure_http2(fixture);
    measure_proxy();
    measure_tls();
    return is_dear ? 1 : 0;
}
