// A client of libnghttp2 against the service: its requests, alone or many at a time, over windows
// of any size and input cut anywhere, get the responses that the same requests get over HTTP/1.1,
// and libnghttp2 finds nothing wrong with the frames. The input is a list of actions; requests
// change nothing, so that their order does not matter.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conversation.hpp"
#include "http2_conversation.hpp"
#include "nghttp2_client.hpp"
#include "tests/api/twins.hpp"

namespace {

using namespace latchkey::session;
using latchkey::api::prepare_fuzzer;
using latchkey::api::twins;

void want(bool holds, char const* fault) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", fault);
    __builtin_trap();
}

constexpr char unparsable[] = "/%zz", unknown_method[] = "METHOD-OF-MORE-THAN-THIRTY-TWO-BYTES";

struct message {
    std::string method, path;
    fields more;
    std::string body;
};

// The actions; 0 where the input is at its end.
class action_reader {
  public:
    action_reader(std::uint8_t const* data, std::size_t size) : data_(data), size_(size) {}
    bool ended() const { return size_ == 0; }
    unsigned next() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }
    unsigned below(unsigned bound) { return next() % bound; }

  private:
    std::uint8_t const* data_;
    std::size_t size_;
};

template <std::size_t count>
std::string pick(action_reader& input, char const* const (&list)[count]) {
    return list[input.below(count)];
}

message read_message(action_reader& input, std::string const& key, unsigned number) {
    constexpr char const* methods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                       "PATCH", "DELETE", "OPTIONS", unknown_method};
    constexpr char const* paths[] = {"/api/v1/users/1",
                                     "/api/v1/users",
                                     "/api/v1/users/7",
                                     "/api/v1/users?limit=1&include=posts",
                                     "/api/v1/posts?sort=-id",
                                     "/api/v1/posts/2",
                                     "/api/v1/posts?limit=x",
                                     "/api/v1/keys/current",
                                     "/api/v1/keys/verify",
                                     "/openapi.json",
                                     "/docs",
                                     "/problems/key_missing",
                                     "/nothing",
                                     unparsable};
    constexpr char const* bodies[] = {"",
                                      "{}",
                                      "[1,",
                                      R"({"key":"a"})",
                                      R"({"name":"","email":1})",
                                      R"({"name":"Ada","email":"ada@example.com"})"};
    constexpr char const* types[] = {"application/json", "text/plain",
                                     "application/json; charset=x", "application/merge-patch+json"};
    message one{pick(input, methods), pick(input, paths), {}, {}};
    one.more.emplace_back("x-request-id", "request-" + std::to_string(number));
    auto const options = input.next();
    if (options & 1) one.more.emplace_back("authorization", "Bearer " + key);
    if (options & 2) one.more.emplace_back("x-api-key", options & 4 ? key : "lk_wrong");
    if (options & 8) one.more.emplace_back("accept", options & 16 ? "text/html" : "*/*");
    // A tag that no record has, so that nothing is changed.
    bool const changes = one.method == "PUT" || one.method == "PATCH" || one.method == "DELETE";
    if (changes || options & 32) one.more.emplace_back("if-match", "\"a\"");
    if (options & 128) one.more.emplace_back("if-none-match", "*");
    if (one.method != "GET" && one.method != "HEAD" && one.method != "OPTIONS") {
        one.body = pick(input, bodies);
        if (auto const more = input.next(); more > 128) one.body.append((more - 128) * 300u, ' ');
        if (!one.body.empty()) one.more.emplace_back("content-type", pick(input, types));
    }
    return one;
}

// Lines of status and fields but those that are about a connection, then the content.
std::string describe(unsigned status, std::map<std::string, std::string> const& head,
                     std::string const& body) {
    auto text = std::to_string(status) + "\n";
    for (auto const& [name, value] : head)
        if (name != "connection" && name != "keep-alive") text += name + ": " + value + "\n";
    return text + "\n" + body;
}

std::string over_http1(twins& both, message const& one) {
    conversation connection(both.second());
    auto text = one.method + " " + one.path + " HTTP/1.1\r\nHost: latchkey.test\r\n";
    for (auto const& [name, value] : one.more) text += name + ": " + value + "\r\n";
    if (!one.body.empty()) text += "Content-Length: " + std::to_string(one.body.size()) + "\r\n";
    connection.receive(text + "\r\n" + one.body);
    std::string_view rest = connection.output();
    auto const end = rest.find("\r\n\r\n");
    want(rest.starts_with("HTTP/1.1 ") && end != rest.npos, "no response over HTTP/1.1");
    auto const status = static_cast<unsigned>(std::stoul(std::string(rest.substr(9, 3))));
    std::string const body(rest.substr(end + 4));
    rest = rest.substr(0, end + 2);
    rest.remove_prefix(rest.find("\r\n") + 2);
    std::map<std::string, std::string> head;
    for (; !rest.empty(); rest.remove_prefix(rest.find("\r\n") + 2)) {
        auto const line = rest.substr(0, rest.find("\r\n"));
        std::string name(line.substr(0, line.find(": ")));
        for (auto& byte : name)
            if (byte >= 'A' && byte <= 'Z') byte |= 0x20;
        head[name] = line.substr(line.find(": ") + 2);
    }
    return describe(status, head, body);
}

// Of a request that cannot be parsed the fields are not read, so each refusal has its own id.
bool agree(message const& one, std::string const& response, std::string const& expected) {
    bool const refused_unparsed = one.path == unparsable || one.method == unknown_method;
    return refused_unparsed ? response.substr(0, 3) == expected.substr(0, 3) : response == expected;
}

fields head_of(message const& one) {
    fields head{{":method", one.method},
                {":scheme", "https"},
                {":authority", "latchkey.test"},
                {":path", one.path}};
    head.insert(head.end(), one.more.begin(), one.more.end());
    return head;
}

void set_window(nghttp2_client& client, std::uint32_t bytes) {
    nghttp2_settings_entry const entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes};
    nghttp2_submit_settings(client.native(), NGHTTP2_FLAG_NONE, &entry, 1);
}

void set_table(nghttp2_client& client, std::uint32_t bytes) {
    nghttp2_settings_entry const entry{NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, bytes};
    nghttp2_submit_settings(client.native(), NGHTTP2_FLAG_NONE, &entry, 1);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    prepare_fuzzer();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static twins both;
    both.begin();
    action_reader input(data, size);
    auto const key = both.first().key;
    http2_options settings;
    if (auto const choice = input.below(4); choice != 0) settings.window_bytes = 32'768u << choice;
    http2_conversation server(both.first(), settings);
    nghttp2_client client(server);
    std::map<std::int32_t, message> requests;
    std::map<std::int32_t, bool> reset;
    // Windows only grow: libnghttp2's client resets streams on which more came than a window that
    // it made smaller meanwhile.
    std::uint32_t window = input.next() * 64;
    set_window(client, window);
    // Below what a client may ask of a connection at once without an answer (docs/api.md §14).
    for (unsigned actions = 0; !input.ended() && actions < 60; ++actions) {
        auto const number = static_cast<unsigned>(requests.size());
        switch (input.below(10)) {
            default: {
                auto one = read_message(input, key, number);
                auto const id = client.submit(head_of(one), one.body);
                want(id > 0, "libnghttp2 does not take the request");
                requests[id] = std::move(one);
                break;
            }
            case 4:
                client.exchange(1 + input.next() * std::size_t{7});
                break;
            case 5:
                set_window(client, window += input.next() * 64);
                break;
            case 6:
                set_table(client, input.next() * 32);
                break;
            case 7: {
                std::uint8_t const text[8]{};
                nghttp2_submit_ping(client.native(), NGHTTP2_FLAG_NONE, text);
                break;
            }
            case 8:
                if (number != 0) {
                    auto const id = static_cast<std::int32_t>(1 + 2 * input.below(number));
                    if (std::exchange(reset[id], true)) break;
                    nghttp2_submit_rst_stream(client.native(), NGHTTP2_FLAG_NONE, id,
                                              NGHTTP2_CANCEL);
                }
                break;
            case 9:
                server.room = std::size_t{1} << input.below(20);
                break;
        }
    }
    set_window(client, 1 << 20);
    server.room = 1 << 20;
    for (int i = 0; i < 3; ++i) {
        client.exchange();
        server.wake(wake_reason::bytes);
    }
    client.exchange();
    for (auto const& [last, code] : client.goaways)
        std::fprintf(stderr, "GOAWAY of stream %d with %u\n", last, code);
    want(client.goaways.empty() && !server.closed(), "the connection has ended");
    for (auto const& [id, one] : requests) {
        auto const& response = client.responses[id];
        if (reset[id] && response.status == 0) continue;
        auto const expected = over_http1(both, one);
        if (reset[id]) {
            want(std::to_string(response.status) == expected.substr(0, 3), "another status");
            continue;
        }
        if (!response.closed || response.error != NGHTTP2_NO_ERROR ||
            !agree(one, describe(response.status, response.fields, response.body), expected)) {
            std::fprintf(stderr, "stream %d, error %u, over HTTP/2:\n%s\nover HTTP/1.1:\n%s\n", id,
                         response.error,
                         describe(response.status, response.fields, response.body).c_str(),
                         expected.c_str());
            __builtin_trap();
        }
    }
    // Failed authentications are counted, and time does not pass.
    static unsigned runs = 0;
    if (++runs % 32 == 0) both.mark_changed();
    return 0;
}
