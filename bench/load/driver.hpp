// One thread of load: a ring, its connections and their results. Closed loop: each connection keeps
// `pipeline` requests in flight. Open loop: requests are due at fixed intervals whatever the server
// does, and a latency counts from the time a request was due, so a stall of the server is measured
// (no coordinated omission; Tene, "How NOT to measure latency").
#pragma once

#include <netinet/in.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "histogram.hpp"
#include "plan.hpp"

namespace load {

enum class reconnect : std::uint8_t { never, full, resumed };

struct companion;

struct options {
    sockaddr_in server{};
    in_addr source{};  // source address of connections; 0: any
    bool tls = false;
    std::uint16_t tls_version_max = 0x0304;
    unsigned connections = 64;  // of this thread
    unsigned pipeline = 1;      // requests in flight on a connection; with HTTP/2, its streams
    bool http2 = false;
    double rate = 0;  // requests per second of this thread; 0: closed loop
    // Open loop: requests and answers within a tick are handled together, which costs the thread
    // far less and adds up to two ticks to a latency. 0: each on its own.
    double tick_seconds = 0;
    double warmup_seconds = 1, seconds = 10;
    reconnect reconnection = reconnect::never;        // a connection for each request
    std::vector<unsigned> statuses;                   // expected statuses; empty: 2xx
    std::size_t bytes_min = 0, bytes_max = SIZE_MAX;  // expected length of the content
    int core = -1;                                    // to pin the thread to; -1: none
    std::uint64_t seed = 1;
    companion const* companion_clients =
        nullptr;  // further clients of the server on the same thread
};

// Further clients. Of their settings only source, connections, pipeline, rate and the expected
// answers are used.
struct companion {
    options settings;
    plan requests;
};

struct results {
    std::vector<histogram> latencies;           // by kind of the plan, expected answers only
    std::array<std::uint64_t, 600> statuses{};  // measured answers by status
    std::uint64_t answers = 0;                  // during the measurement
    std::uint64_t wrong = 0;                    // of an unexpected status or length
    std::uint64_t broken = 0;   // requests whose connection or stream ended before their answer
    std::uint64_t goaways = 0;  // connections that HTTP/2's GOAWAY ended
    std::uint64_t resumed = 0, handshakes = 0;  // TLS
    std::uint64_t unanswered = 0;               // still in flight at the end
    double seconds = 0, cpu_seconds = 0;        // of this thread, during the measurement
    std::string first_wrong;                    // the head of the first wrong answer
    std::vector<results> companion_results;     // of the further clients, if any
};

// Runs on the calling thread until the time is over. `ready` counts threads whose connections are
// open; all threads begin to measure when it reaches `threads`. Throws std::runtime_error when the
// server cannot be reached.
results drive(options const& settings, plan const& requests, std::atomic<unsigned>& ready,
              unsigned threads);

}  // namespace load
