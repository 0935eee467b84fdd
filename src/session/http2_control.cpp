// Each frame is judged by its stream, then by its size; it then spends a token, so that floods of
// small frames end the connection, and only then has its effect. The connection's window is opened
// again at half. A drain takes two GOAWAY: the first names no stream, and the last one served is
// named when the client has answered a PING, so that requests under way are not lost.
#include "session/http2_control.hpp"

#include <algorithm>

namespace latchkey::session {
namespace {

using h2::error_code;
using h2::frame_type;

constexpr std::string_view drain_ping = "drained?";
constexpr base::mono_ns drain_wait = base::second;

}  // namespace

void http2_control::announce(std::size_t list_bytes_max, std::string& output) {
    h2::put_settings({.header_table_bytes = announced_.header_table_bytes,
                      .push = false,
                      .streams_max = announced_.streams_max,
                      .window = announced_.window_bytes,
                      .header_list_bytes_max = static_cast<std::uint32_t>(list_bytes_max),
                      .no_rfc7540_priorities = true},
                     output);
    if (auto const more = std::int64_t{announced_.window_bytes} - receive_window_; more > 0) {
        h2::put_window_update(0, static_cast<std::uint32_t>(more), output);
        receive_window_ += more;
    }
}

std::optional<fault> http2_control::take_window(std::uint32_t bytes, std::string& output) {
    receive_window_ -= bytes;
    if (receive_window_ < 0)
        return fault{error_code::flow_control_error, "DATA beyond the connection's window."};
    auto const whole = std::max(announced_.window_bytes, h2::default_window);
    if (receive_window_ < whole / 2) {
        h2::put_window_update(0, static_cast<std::uint32_t>(whole - receive_window_), output);
        receive_window_ = whole;
    }
    return {};
}

reaction http2_control::read(h2::frame_head const& head, std::string_view payload,
                             base::mono_ns now, std::string& output) {
    now_ = now;
    switch (head.type) {
        case frame_type::rst_stream:
            return on_reset(head, payload);
        case frame_type::settings:
            return on_settings(head, payload, output);
        case frame_type::window_update:
            return on_window_update(head, payload);
        case frame_type::priority:
            return on_priority(head, payload);
        case frame_type::priority_update:
            return on_priority_update(head, payload);
        case frame_type::ping:
            return on_ping(head, payload, output);
        case frame_type::goaway:
            return on_goaway(head, payload);
        case frame_type::push_promise:
            return fault{error_code::protocol_error, "A client cannot push."};
        case frame_type::data:
        case frame_type::headers:
        case frame_type::continuation:
            break;
    }
    if (!flood_.spend(now)) return fault{error_code::enhance_your_calm, "Too many unknown frames."};
    return {};
}

// §6.4. The work of a stream that waits for its commit goes on and keeps its slot.
reaction http2_control::on_reset(h2::frame_head const& head, std::string_view payload) {
    if (streams_.is_idle(head.stream))
        return fault{error_code::protocol_error, "RST_STREAM on an idle stream."};
    if (payload.size() != 4)
        return fault{error_code::frame_size_error, "RST_STREAM of another size."};
    if (!flood_.spend(now_)) return fault{error_code::enhance_your_calm, "Too many resets."};
    streams_.reset(head.stream);
    leftovers_.forget(head.stream);
    return {};
}

// §6.5.
reaction http2_control::on_settings(h2::frame_head const& head, std::string_view payload,
                                    std::string& output) {
    if (head.stream != 0) return fault{error_code::protocol_error, "SETTINGS on a stream."};
    if (head.has(h2::flag::ack)) {
        if (!payload.empty())
            return fault{error_code::frame_size_error, "SETTINGS ACK with a payload."};
        return {};
    }
    if (!flood_.spend(now_)) return fault{error_code::enhance_your_calm, "Too many SETTINGS."};
    auto const previous = theirs_.window;
    if (auto const code = h2::read_settings(payload, theirs_); code != error_code::no_error)
        return fault{code, "SETTINGS out of range."};
    auto const change = std::int64_t{theirs_.window} - previous;
    for (auto const& each : streams_.all()) {
        if (each->reset) continue;
        each->send_window += change;
        if (each->send_window > h2::window_max)
            return fault{error_code::flow_control_error, "A window beyond 2^31-1."};
    }
    // The smallest of several in one frame is told to its decoder too (RFC 7541 §4.2).
    writer_.set_table_limit(std::min(theirs_.header_table_bytes, theirs_.header_table_bytes_least));
    writer_.set_table_limit(theirs_.header_table_bytes);
    h2::put_settings_ack(output);
    return {};
}

// §6.9.
reaction http2_control::on_window_update(h2::frame_head const& head, std::string_view payload) {
    if (payload.size() != 4)
        return fault{error_code::frame_size_error, "WINDOW_UPDATE of another size."};
    if (head.stream != 0 && streams_.is_idle(head.stream))
        return fault{error_code::protocol_error, "WINDOW_UPDATE on an idle stream."};
    if (!flood_.spend(now_)) return fault{error_code::enhance_your_calm, "Too many WINDOW_UPDATE."};
    auto const increment = h2::read_uint32(payload.data()) & h2::window_max;
    if (head.stream == 0) {
        if (increment == 0) return fault{error_code::protocol_error, "WINDOW_UPDATE by nothing."};
        if (!writer_.grow_window(increment))
            return fault{error_code::flow_control_error, "A window beyond 2^31-1."};
        return {};
    }
    auto* const stream = streams_.find(head.stream);
    if (stream == nullptr || stream->reset) return {};
    if (increment == 0) return stream_fault(head.stream, error_code::protocol_error);
    stream->send_window += increment;
    if (stream->send_window > h2::window_max)
        return stream_fault(head.stream, error_code::flow_control_error);
    return {};
}

// §5.3.2: deprecated, and only looked at for its form.
reaction http2_control::on_priority(h2::frame_head const& head, std::string_view payload) {
    if (head.stream == 0) return fault{error_code::protocol_error, "PRIORITY on the connection."};
    if (!flood_.spend(now_)) return fault{error_code::enhance_your_calm, "Too many PRIORITY."};
    if (payload.size() != 5) {
        if (streams_.is_idle(head.stream))
            return fault{error_code::frame_size_error, "PRIORITY of another size."};
        return stream_fault(head.stream, error_code::frame_size_error);
    }
    bool const on_itself = (h2::read_uint32(payload.data()) & h2::stream_id_max) == head.stream;
    if (on_itself && streams_.find(head.stream) != nullptr)
        return stream_fault(head.stream, error_code::protocol_error);
    return {};
}

// RFC 9218 §7.1.
reaction http2_control::on_priority_update(h2::frame_head const& head, std::string_view payload) {
    if (head.stream != 0) return fault{error_code::protocol_error, "PRIORITY_UPDATE on a stream."};
    if (payload.size() < 4)
        return fault{error_code::frame_size_error, "PRIORITY_UPDATE without a stream."};
    if (!flood_.spend(now_))
        return fault{error_code::enhance_your_calm, "Too many PRIORITY_UPDATE."};
    auto const id = h2::read_uint32(payload.data()) & h2::stream_id_max;
    if (id % 2 == 0)
        return fault{error_code::protocol_error, "PRIORITY_UPDATE of no stream of a client."};
    auto const urgency = h2::parse_priority(payload.substr(4));
    if (auto* const stream = streams_.find(id); stream != nullptr && urgency)
        stream->urgency = *urgency;
    return {};
}

// §6.7.
reaction http2_control::on_ping(h2::frame_head const& head, std::string_view payload,
                                std::string& output) {
    if (head.stream != 0) return fault{error_code::protocol_error, "PING on a stream."};
    if (payload.size() != 8) return fault{error_code::frame_size_error, "PING of another size."};
    if (head.has(h2::flag::ack)) {
        if (drain_ == drain_phase::announced && payload == drain_ping) name_last_stream(output);
        return {};
    }
    if (!flood_.spend(now_)) return fault{error_code::enhance_your_calm, "Too many PING."};
    h2::put_ping_ack(payload, output);
    return {};
}

// §6.8: the client opens no further streams; what it has asked for is answered.
reaction http2_control::on_goaway(h2::frame_head const& head, std::string_view payload) {
    if (head.stream != 0) return fault{error_code::protocol_error, "GOAWAY on a stream."};
    if (payload.size() < 8) return fault{error_code::frame_size_error, "GOAWAY of another size."};
    if (!flood_.spend(now_)) return fault{error_code::enhance_your_calm, "Too many GOAWAY."};
    client_leaves_ = true;
    return {};
}

void http2_control::drain(base::mono_ns now, std::string& output) {
    if (drain_ == drain_phase::none) {
        h2::put_goaway(h2::stream_id_max, error_code::no_error, {}, output);
        h2::put_frame_head({8, frame_type::ping, 0, 0}, output);
        output.append(drain_ping);
        drain_ = drain_phase::announced;
        drain_deadline_ = now + drain_wait;
    } else if (drain_ == drain_phase::announced && now >= drain_deadline_) {
        name_last_stream(output);
    }
}

void http2_control::name_last_stream(std::string& output) {
    h2::put_goaway(streams_.last_served(), error_code::no_error, {}, output);
    drain_ = drain_phase::last_named;
    drain_deadline_ = 0;
}

}  // namespace latchkey::session
