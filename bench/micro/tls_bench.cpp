// TLS 1.3 in memory: a request and its answer over an established session, and handshakes.
// `*_with_client`: includes the work of the client, also BoringSSL.
//
//     tls-bench --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "certificates.hpp"
#include "client.hpp"

namespace latchkey::tls {

std::unique_ptr<context> make_context() {
    return std::make_unique<context>(testing::ecdsa_identity(), ticket_keys::make(), nullptr);
}

void request_and_answer_with_client(benchmark::State& state) {
    auto const shared = make_context();
    testing::client peer;
    session server(*shared, nullptr);
    testing::run_handshake(peer, server);
    std::string const request(120, 'q'), answer(600, 'a');
    std::string plain;
    for (auto _ : state) {
        plain.clear();
        peer.write(request);
        testing::receive_client_data(peer, server, plain);
        benchmark::DoNotOptimize(testing::send_server_data(peer, server, answer));
    }
    base::check(plain == request, "the server received other bytes");
}
BENCHMARK(request_and_answer_with_client);

// The server's write alone.
void encrypt_answer(benchmark::State& state) {
    auto const shared = make_context();
    testing::client peer;
    session server(*shared, nullptr);
    testing::run_handshake(peer, server);
    std::string const answer(600, 'a');
    std::string out;
    for (auto _ : state) {
        out.clear();
        server.write(answer, out);
        benchmark::DoNotOptimize(out.data());
    }
}
BENCHMARK(encrypt_answer);

void handshake_with_client(benchmark::State& state) {
    auto const shared = make_context();
    bssl::UniquePtr<SSL_SESSION> ticket;
    if (state.range(0) != 0) {
        testing::client first;
        session server(*shared, nullptr);
        testing::run_handshake(first, server);
        testing::send_server_data(first, server, "x");
        ticket = bssl::UpRef(first.ticket().get());
    }
    for (auto _ : state) {
        testing::client peer({}, ticket.get());
        session server(*shared, nullptr);
        testing::run_handshake(peer, server);
        base::check(peer.resumed() == (state.range(0) != 0), "a handshake of the wrong kind");
    }
}
BENCHMARK(handshake_with_client)->ArgName("resumed")->Arg(0)->Arg(1);

}  // namespace latchkey::tls

BENCHMARK_MAIN();
