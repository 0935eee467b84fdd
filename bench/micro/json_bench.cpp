// The cost of hostile bodies: a request with a body, from its first byte to its response or its
// store command. No socket, no TLS and no commit.
//
//     json-bench                       every route, every body, 64 KiB
//     json-bench --benchmark_filter=event/plain
//
// `us_64k`: microseconds per 64 KiB of body. `times_plain`: relative to the plain body of the same
// size, sent as an event.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <boost/json/parse.hpp>
#include <chrono>

#include "nasty_bodies.hpp"
#include "request_fixture.hpp"
#include "wire/http/parser.hpp"

namespace latchkey {

using api::next_step;

struct target {
    std::string_view name, line;
    std::size_t bytes_max;
    bool key_in_body = false;
    bool once = false;
};

constexpr target event{"event", "POST /api/v1/events/shop", 256 * 1024};
constexpr target targets[] = {
    event,
    {"user", "POST /api/v1/users", 1024 * 1024},
    {"user_once", "POST /api/v1/users", 1024 * 1024, false, true},
    {"without_key", "POST /api/v1/users", 128 * 1024, true},
    {"deactivate", "POST /api/v1/keys/current/deactivate", 1024 * 1024},
    {"new_key", "POST /api/v1/keys", 1024 * 1024},
};

struct one_request {
    one_request(target const& target, std::string_view body) {
        text_.append(target.line)
            .append(" HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n");
        if (!target.key_in_body)
            text_.append("X-API-Key: ").append(fixture().key_text).append("\r\n");
        if (target.once) text_.append("Idempotency-Key: a\r\n");
        text_.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
        text_.append(body);
    }
    static request_fixture& fixture() {
        static request_fixture one;
        return one;
    }
    void run() {
        input_.assign(text_);
        fixture().now.mono += 100'000;
        response_.clear();
        auto const head = parser_.read_head(input_, request_, framing_);
        request_.body = std::string_view(input_).substr(head.consumed);
        auto next = exchange_.begin(fixture().services(), request_, framing_, peer_, fixture().now,
                                    response_);
        if (next == next_step::read_body)
            next = exchange_.finish(fixture().services(), request_, fixture().now, response_);
        if (next == next_step::commit) exchange_.take_command();
        parser_.next();
    }

  private:
    std::string text_, input_;
    http::size_limits limits_;
    http::parser parser_{limits_};
    http::request request_;
    http::framing framing_;
    http::response response_;
    api::exchange exchange_;
    api::peer peer_{.tls = false, .local = true, .client = model::address::parse("127.0.0.1")};
};

double best_microseconds(one_request& request) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        request.run();
        std::chrono::duration<double, std::micro> const duration =
            std::chrono::steady_clock::now() - begin;
        best = std::min(best, duration.count());
    }
    return best;
}

void send(benchmark::State& state, target const& target, std::string const& body) {
    one_request plain(event, api::plain_body(body.size()));
    one_request request(target, body);
    double best = 1e9;
    for (auto _ : state) {
        auto const begin = std::chrono::steady_clock::now();
        request.run();
        std::chrono::duration<double, std::micro> const duration =
            std::chrono::steady_clock::now() - begin;
        best = std::min(best, duration.count());
    }
    state.counters["us_64k"] = best * 65536 / static_cast<double>(body.size());
    state.counters["times_plain"] = best / best_microseconds(plain);
    state.counters["bytes"] = static_cast<double>(body.size());
}

// Names that collide in a table of 8,192 members. The salt is the table's address: that of a mapped
// block, which has few possible values.
std::string large_table() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < 8192; ++i) names.push_back(api::name_number(i, 5));
    auto const probe = boost::json::parse(api::object_of(names));
    auto const table = reinterpret_cast<std::uintptr_t>(probe.as_object().begin()) - 16;
    return api::object_of(api::colliding_names(8192, table));
}

void add(target const& target, std::string_view name, std::string body) {
    if (body.size() > target.bytes_max) return;
    std::string label(target.name);
    label.append("/")
        .append(name)
        .append("/")
        .append(std::to_string(body.size() / 1024))
        .append("k");
    benchmark::RegisterBenchmark(
        label.c_str(),
        [&target, body = std::move(body)](benchmark::State& state) { send(state, target, body); });
}

}  // namespace latchkey

int main(int count, char** arguments) {
    using namespace latchkey;
    // A large table is then always a mapped block of its own.
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    benchmark::Initialize(&count, arguments);
    auto const large = large_table();
    for (auto const& target : targets) {
        add(target, "plain", api::plain_body(64 * 1024));
        add(target, "one long string", R"({"a":")" + std::string(65'527, 'x') + "\"}");
        add(target, "names that collide in a large table", large);
        for (std::size_t const kib : {4, 64, 256, 1024})
            for (auto const& each : api::nasty_bodies)
                add(target, each.name, each.make(kib * 1024));
    }
    benchmark::RunSpecifiedBenchmarks();
}
