// Takes the workers' spans to the helper `latchkey-trace`, some times a second, and counts what
// became of them. Main thread.
//
//     auto socket = start_helper("latchkey-trace");    // before the first thread
//     span_exporter exporter(std::move(socket));
//     exporter.use(settings);
//     exporter.add(worker.span_ring());
//     … exporter.turn(now) at exporter.next() …
//     exporter.finish(deadline);                       // while the rings are there
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/system/descriptor.hpp"
#include "helpers/kit/channel.hpp"
#include "helpers/trace/protocol/span_ring.hpp"
#include "helpers/trace/protocol/trace_messages.hpp"

namespace latchkey::server {

class span_exporter {
  public:
    explicit span_exporter(base::descriptor socket);

    // For this helper and for those that take its place; before the first `turn`, and at a reload.
    void use(trace::protocol::settings settings);
    void add(trace::protocol::span_ring& ring) { rings_.push_back(&ring); }
    void turn(base::mono_ns now);
    base::mono_ns next() const { return next_; }
    // Sends what is there, and waits until the helper has dealt with it, an endpoint fails or the
    // deadline has passed.
    void finish(base::mono_ns deadline);

    struct counts {
        std::uint64_t exported = 0;
        std::uint64_t dropped_by_rings = 0;   // a ring was full
        std::uint64_t dropped_by_helper = 0;  // its queue was full, it died, or they were refused
    };
    counts count() const;

  private:
    void receive();
    bool take(trace::protocol::message const& content);
    void begin_session(std::uint64_t session);
    void collect();
    void fail(std::string const& reason);
    std::uint64_t unreported() const { return sent_spans_ - report_.exported - report_.dropped; }

    kit::channel channel_;
    trace::protocol::settings settings_;  // what `hello` is answered with
    std::vector<trace::protocol::span_ring*> rings_;
    trace::protocol::batch batch_;  // its capacity is kept
    bool is_ready_ = false, has_failed_ = false;
    base::mono_ns next_ = 0;
    // Spans that were sent to this helper; those of earlier helpers are in `total_`.
    std::uint64_t sent_spans_ = 0;
    trace::protocol::report report_;
    counts total_;
    std::string last_failure_;
};

}  // namespace latchkey::server
