// Makes spans of the requests that a worker has answered, where tracing is on: those whose client
// sampled its trace, and of those that begin a trace a random part (parent-based sampling over a
// ratio, OpenTelemetry SDK "ParentBased"). Allocates only in `on`. Belongs to the worker's thread
// but for `ring`.
#pragma once

#include <memory>

#include "api/exchange/exchange.hpp"
#include "helpers/trace/protocol/span_ring.hpp"
#include "session/log_entry.hpp"

namespace latchkey::server {

class span_recorder {
  public:
    static span_recorder off() { return {}; }
    // Samples traces of its clients alone until `sample` is called.
    static span_recorder on();

    bool is_on() const { return ring_ != nullptr; }
    // Sets the part, 0 to 1, of the requests without a traceparent that begin a trace.
    void sample(double ratio);
    // Records the span of a request; the recorder must be on. `duration` ends now.
    void record(session::log_entry const& entry, api::exchange const& exchange,
                api::peer const& client, base::mono_ns duration);
    // For the exporter; null: off.
    trace::protocol::span_ring* ring() const { return ring_.get(); }

  private:
    span_recorder() = default;
    std::uint64_t next_random();

    std::unique_ptr<trace::protocol::span_ring> ring_;
    std::uint64_t sampled_below_ = 0;  // of 2^63
    std::uint64_t random_ = 0;         // state of a generator: ids must differ, not be secret
};

}  // namespace latchkey::server
