// Counts and logs the requests that a worker has answered. Belongs to the worker's thread.
#pragma once

#include "server/observe/access_line.hpp"
#include "server/observe/access_log.hpp"
#include "server/observe/metrics.hpp"
#include "server/observe/span_recorder.hpp"
#include "session/stream.hpp"

namespace latchkey::server {

class request_recorder {
  public:
    request_recorder(worker_metrics& metrics, log_thread& log, span_recorder spans)
        : metrics_(metrics), log_(log), spans_(std::move(spans)) {}

    // `is_long`: it is measured alone. Returns a time that has passed.
    base::mono_ns record(session::stream const& stream, api::peer const& client, base::mono_ns now,
                         bool is_long) {
        auto const& entry = stream.entry;
        auto const* const exchange = entry.refused_unparsed ? nullptr : &stream.exchange;
        // Reading the clock costs half of a log line: the small responses of a burst share a time.
        if (is_long || entry.bytes_in + entry.bytes_out > small_bytes_max ||
            responses_in_turn_++ % responses_per_reading == 0)
            finished_at_ = base::read_mono();
        auto const duration = finished_at_ - entry.began.mono;
        metrics_.record_request(exchange, entry.status, entry.code, duration);
        metrics_.protocols[static_cast<std::size_t>(entry.protocol)].add();
        metrics_.bytes_in.add(entry.bytes_in);
        metrics_.bytes_out.add(entry.bytes_out);
        auto const wait = exchange == nullptr ? 0 : exchange->token_wait_time();
        if (wait != 0) [[unlikely]]
            metrics_.token_waits.record(wait);
        if (log_.enabled()) lines_.append(entry, exchange, client, duration, log_.lines(now));
        if (spans_.is_on() && exchange != nullptr) [[unlikely]]
            spans_.record(entry, *exchange, client, duration);
        return finished_at_;
    }

    void begin_turn() { responses_in_turn_ = 0; }
    unsigned small_responses_in_turn() const { return responses_in_turn_; }
    access_log_buffer& log() { return log_; }
    span_recorder const& spans() const { return spans_; }
    // Sets the part, 0 to 1, of the requests without a traceparent that begin a trace.
    void sample(double ratio) { spans_.sample(ratio); }

  private:
    static constexpr unsigned responses_per_reading = 8;
    static constexpr std::uint64_t small_bytes_max = 4096;

    worker_metrics& metrics_;
    access_log_buffer log_;
    access_lines lines_;
    span_recorder spans_;
    unsigned responses_in_turn_ = 0;
    base::mono_ns finished_at_ = 0;
};

}  // namespace latchkey::server
