#include "server/observe/span_recorder.hpp"

#include <time.h>

#include <algorithm>

#include "auth/key_form.hpp"
#include "base/bytes.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {
namespace {

std::uint64_t read_wall_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * static_cast<std::uint64_t>(base::second) +
           static_cast<std::uint64_t>(now.tv_nsec);
}

std::string_view method_of(http::method method) {
    // The name that semantic conventions give a method which the service does not know.
    return method == http::method::other ? "_OTHER" : http::name_of(method);
}

std::string_view version_of(session::protocol protocol) {
    auto const name = session::name_of(protocol);  // "HTTP/1.1"
    return name.substr(name.find('/') + 1);
}

template <std::size_t size>
void put_id(std::array<std::uint8_t, size>& output, std::uint64_t value, std::size_t place = 0) {
    base::put(reinterpret_cast<char*>(output.data()) + place, value);
}

template <std::size_t size>
void read_id(std::string_view hex, std::array<std::uint8_t, size>& output) {
    base::from_hex(hex, reinterpret_cast<char*>(output.data()), size);
}

}  // namespace

span_recorder span_recorder::on() {
    span_recorder recorder;
    recorder.ring_ = std::make_unique<trace::protocol::span_ring>();
    auth::random_bytes(&recorder.random_, sizeof recorder.random_);
    return recorder;
}

void span_recorder::sample(double ratio) {
    sampled_below_ = static_cast<std::uint64_t>(ratio * 0x1p63);
}

// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
std::uint64_t span_recorder::next_random() {
    auto z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void span_recorder::record(session::log_entry const& entry, api::exchange const& exchange,
                           api::peer const& client, base::mono_ns duration) {
    auto const trace_id = exchange.trace_id();
    bool const is_sampled =
        trace_id.empty() ? (next_random() >> 1) < sampled_below_ : exchange.is_trace_sampled();
    if (!is_sampled) return;
    trace::protocol::span span;
    if (trace_id.empty()) {
        // Not zero, which stands for none.
        put_id(span.trace_id, next_random() | 1);
        put_id(span.trace_id, next_random(), 8);
    } else {
        read_id(trace_id, span.trace_id);
        read_id(exchange.parent_span_id(), span.parent_id);
    }
    put_id(span.span_id, next_random() | 1);
    span.end_ns = read_wall_ns();
    span.start_ns = span.end_ns - static_cast<std::uint64_t>(std::max<base::mono_ns>(duration, 0));
    span.key_id = exchange.key_id();
    span.method = method_of(exchange.method());
    span.route = exchange.route();
    span.protocol_version = version_of(entry.protocol);
    span.set_request_id(exchange.request_id());
    span.tls = client.tls;
    span.status = entry.status;
    ring_->push(span);
}

}  // namespace latchkey::server
