// Sends spans to one endpoint: a queue with a bound, batches, and one request at a time, repeated
// after 429, 502, 503, 504 and errors of the connection (OTLP/HTTP, "Failures") with the pause that
// Retry-After names or an exponential one. What does not fit the queue or is refused for good is
// dropped and counted. One thread.
//
//     exporter exporter(authorities_file);
//     exporter.use(settings);
//     exporter.add(batch.spans);
//     while (…) {
//         exporter.turn();
//         exporter.wait(channel.descriptor());    // also readable: what the service sends
//     }
#pragma once

#include <curl/curl.h>

#include <boost/json/array.hpp>
#include <deque>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "helpers/kit/curl_options.hpp"
#include "helpers/trace/protocol/trace_messages.hpp"

namespace latchkey::trace {

class exporter {
  public:
    static constexpr std::size_t queue_max = 8192;
    static constexpr std::size_t spans_per_request_max = 512;

    explicit exporter(std::string authorities_file);
    ~exporter();
    exporter(exporter const&) = delete;
    exporter& operator=(exporter const&) = delete;

    void use(trace::protocol::settings settings);
    void add(std::span<trace::protocol::span const> spans);
    // Sends the spans that wait, without waiting for more of them.
    void flush() { is_hurried_ = true; }

    // Begins and ends requests. True: `report` has something new.
    bool turn();
    trace::protocol::report const& report() const { return report_; }
    // Until something happens to the request, the time for the next one has come, or the descriptor
    // is readable.
    void wait(int descriptor);

  private:
    void begin();
    bool end();
    void judge(CURLcode code);
    void retry(base::mono_ns pause);
    void drop_batch(std::string reason);
    base::mono_ns next_time() const;
    void set_options();

    std::string authorities_file_;
    CURLM* multi_;
    kit::easy_handle easy_;
    kit::field_list fields_;
    trace::protocol::settings settings_;
    bool has_settings_ = false;

    std::deque<boost::json::object> queue_;
    base::mono_ns oldest_ = 0;  // when the first of an empty queue came
    bool is_hurried_ = false;

    boost::json::array batch_;  // of the request, until it was taken or given up
    std::string body_, response_;
    bool is_sending_ = false;
    unsigned attempts_ = 0;
    base::mono_ns next_attempt_ = 0;
    trace::protocol::report report_;
};

}  // namespace latchkey::trace
