// One thread of load: a ring, its connections and what they saw. Closed loop: each connection keeps
// `pipeline` requests in flight. Open loop: requests are due at fixed intervals whatever the server
// does, and a latency counts from the moment a request was due, so a server that stalls cannot
// hide it (no coordinated omission).
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
    in_addr from{};  // that connections come from; 0: any
    bool tls = false;
    std::uint16_t tls_version_max = 0x0304;
    unsigned connections = 64;  // of this thread
    unsigned pipeline = 1;
    double rate = 0;  // requests per second of this thread; 0: closed loop
    // Open loop: what falls due and what comes within it is dealt with at once, which costs the
    // thread far less and adds up to two of them to a latency. 0: each at its moment.
    double tick_seconds = 0;
    double warmup_seconds = 1, seconds = 10;
    reconnect again = reconnect::never;               // a connection for each request
    std::vector<unsigned> statuses;                   // that are right; empty: 2xx
    std::size_t bytes_min = 0, bytes_max = SIZE_MAX;  // of a right answer's content
    int core = -1;                                    // to pin the thread to
    std::uint64_t seed = 1;
    companion const* beside = nullptr;  // other clients of the same server, on the same thread
};

// Theirs is only what tells them apart: address, connections, pipeline, rate and what is right.
struct companion {
    options how;
    plan what;
};

struct results {
    std::vector<histogram> latencies;           // by kind of the plan, right answers only
    std::array<std::uint64_t, 600> statuses{};  // measured answers by status
    std::uint64_t answers = 0;                  // in the measured time
    std::uint64_t wrong = 0;                    // of another status or length
    std::uint64_t broken = 0;                   // connections that ended before their answer
    std::uint64_t resumed = 0, handshakes = 0;  // TLS
    std::uint64_t unanswered = 0;               // still in flight at the end
    double seconds = 0, cpu_seconds = 0;        // of this thread, while it measured
    std::string first_wrong;                    // its head, for people
    std::vector<results> beside;                // of the companion, if there is one
};

// Runs on the calling thread until the time is over. `ready` counts threads whose connections
// stand; measuring begins for all when it reaches `threads`. Throws std::runtime_error when the
// server cannot be reached.
results drive(options const& how, plan const& what, std::atomic<unsigned>& ready, unsigned threads);

}  // namespace load
