// Frames are read one after the other; reading a frame yields nothing, and the next one follows, or
// a step, which ends the call, or an error, which resets a stream or ends the connection. What
// other streams need comes before: grants and wake-ups, the drain, then deadlines.
#include "session/http2.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"
#include "http2/request_head.hpp"
#include "session/http2_stream.hpp"

namespace latchkey::session {
namespace {

using base::after;
using base::problem;
using h2::error_code;
using h2::frame_type;

}  // namespace

http2::http2(context& shared, api::peer const& client)
    : context_(shared),
      client_(client),
      configuration_(shared.configuration),
      announced_(configuration_->http2),
      decoder_(announced_.header_table_bytes, &shared.mask),
      tokens_(tokens_max) {}

http2::~http2() = default;

// ---- frames

step http2::advance(std::string_view input, wake_reason reason, server_state const& server,
                    std::string& output) {
    now_ = server.now.mono;
    consumed_ = 0;
    if (phase_ == phase::closing) return {.kind = step_kind::close};
    if (phase_ == phase::preface && start_ == 0) {
        start_ = refilled_ = idle_since_ = std::max(server.ready_since, base::mono_ns{1});
        h2::put_settings({.header_table_bytes = announced_.header_table_bytes,
                          .push = false,
                          .streams_max = announced_.streams_max,
                          .window = announced_.window_bytes,
                          .header_list_bytes_max =
                              static_cast<std::uint32_t>(context_.header_text.list_bytes_max()),
                          .no_rfc7540_priorities = true},
                         output);
        if (auto const more = std::int64_t{announced_.window_bytes} - receive_window_; more > 0) {
            h2::put_window_update(0, static_cast<std::uint32_t>(more), output);
            receive_window_ += more;
        }
    }
    settle_grant(output);
    while (!denied_.empty()) {
        auto* const stream = find(denied_.back());
        denied_.pop_back();
        if (stream == nullptr) continue;
        if (stream->state == stream_state::reading)
            return *refuse_body(*stream, problem::overloaded);
        if (stream->state == stream_state::waiting) stream->body_problem = problem::overloaded;
    }
    while (!resumed_.empty()) {
        auto* const stream = find(resumed_.back());
        resumed_.pop_back();
        if (stream == nullptr) continue;
        if (auto const result = resume_request(*stream, server)) return *result;
    }
    advance_drain(server, output);
    if (server.draining) end_all_events(output);
    if (reason == wake_reason::end) {
        phase_ = phase::closing;
        return {.kind = step_kind::close};
    }
    if (reason == wake_reason::late)
        if (auto const late = end_late(server, output)) return *late;
    auto result = read_frames(input, server, output);
    result.consumed = consumed_;
    return result;
}

step http2::read_frames(std::string_view input, server_state const& server, std::string& output) {
    if (phase_ == phase::preface) {
        auto const part = input.substr(0, h2::preface.size());
        if (!h2::preface.starts_with(part))
            return fail(error_code::protocol_error, "The connection preface is wrong.", output);
        if (part.size() < h2::preface.size()) return await_input(input.empty());
        consumed_ = part.size();
        phase_ = phase::first_settings;
    }
    for (;;) {
        auto const rest = input.substr(consumed_);
        if (rest.size() < h2::frame_head_bytes) return await_input(rest.empty());
        auto const head = h2::read_frame_head(rest.data());
        if (head.length > h2::default_frame_bytes_max)
            return fail(error_code::frame_size_error, "The frame is too large.", output);
        if (rest.size() < h2::frame_head_bytes + head.length)
            return await_frame(rest.size(), server, output);
        consumed_ += h2::frame_head_bytes + head.length;
        auto const payload = rest.substr(h2::frame_head_bytes, head.length);
        if (auto const result = read_frame(head, payload, server, output)) return *result;
    }
}

// What has come of a frame is kept until it is whole, and nobody is known yet to whom it counts.
step http2::await_frame(std::size_t bytes, server_state const& server, std::string& output) {
    if (server.quota != nullptr && !server.quota->admits_answer(0, bytes))
        return fail(error_code::enhance_your_calm, "No memory for the frame.", output);
    return await_input(false);
}

http2::next http2::read_frame(h2::frame_head const& head, std::string_view payload,
                              server_state const& server, std::string& output) {
    if (phase_ == phase::first_settings) {
        if (head.type != frame_type::settings || head.has(h2::flag::ack))
            return fail(error_code::protocol_error, "The first frame is not SETTINGS.", output);
        phase_ = phase::open;
    }
    if (block_stream_ != 0 && head.type != frame_type::continuation)
        return fail(error_code::protocol_error, "A header block is interrupted.", output);
    switch (head.type) {
        case frame_type::data:
            return on_data(head, payload, server, output);
        case frame_type::headers:
            return on_headers(head, payload, server, output);
        case frame_type::continuation:
            return on_continuation(head, payload, server, output);
        case frame_type::rst_stream:
            return on_reset(head, payload, output);
        case frame_type::settings:
            return on_settings(head, payload, output);
        case frame_type::window_update:
            return on_window_update(head, payload, output);
        case frame_type::priority:
            return on_priority(head, payload, output);
        case frame_type::priority_update:
            return on_priority_update(head, payload, output);
        case frame_type::ping:
            return on_ping(head, payload, output);
        case frame_type::goaway:
            return on_goaway(head, payload, output);
        case frame_type::push_promise:
            return fail(error_code::protocol_error, "A client cannot push.", output);
    }
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many unknown frames.", output);
    return {};
}

// RFC 9113 §6.2.
http2::next http2::on_headers(h2::frame_head const& head, std::string_view payload,
                              server_state const& server, std::string& output) {
    if (head.stream % 2 == 0)
        return fail(error_code::protocol_error, "HEADERS on a stream that is no client's.", output);
    auto const inner = h2::content_of(head, payload);
    if (inner.problem != error_code::no_error)
        return fail(inner.problem, "HEADERS with wrong padding or priority.", output);
    bool const ends_stream = head.has(h2::flag::end_stream);
    bool const depends_on_itself = inner.dependency == head.stream;
    if (head.has(h2::flag::end_headers))
        return end_block(head.stream, inner.bytes, ends_stream, depends_on_itself, server, output);
    block_.assign(inner.bytes);
    block_stream_ = head.stream;
    block_frames_ = 1;
    block_ends_stream_ = ends_stream;
    block_depends_on_itself_ = depends_on_itself;
    block_deadline_ = after(now_, configuration_->header_seconds);
    return refuse_block(server, output);
}

// A block that goes on is kept, and nobody is known yet to whom it counts.
http2::next http2::refuse_block(server_state const& server, std::string& output) {
    bool const is_kept = !server.overloaded &&
                         (server.quota == nullptr || server.quota->admits_answer(0, block_.size()));
    if (is_kept) return {};
    return fail(error_code::enhance_your_calm, "No memory for the header block.", output);
}

// §6.10.
http2::next http2::on_continuation(h2::frame_head const& head, std::string_view payload,
                                   server_state const& server, std::string& output) {
    if (block_stream_ == 0 || head.stream != block_stream_)
        return fail(error_code::protocol_error, "CONTINUATION without its HEADERS.", output);
    if (++block_frames_ > block_frames_max)
        return fail(error_code::enhance_your_calm, "A header block of too many frames.", output);
    if (block_.size() + payload.size() > context_.header_text.block_bytes_max())
        return judge_block(h2::hpack_decoder::result::excessive, output);
    block_.append(payload);
    if (!head.has(h2::flag::end_headers)) {
        if (payload.empty() && !spend())
            return fail(error_code::enhance_your_calm, "Too many empty frames.", output);
        return refuse_block(server, output);
    }
    block_deadline_ = 0;
    auto const result = end_block(std::exchange(block_stream_, 0), block_, block_ends_stream_,
                                  block_depends_on_itself_, server, output);
    base::wipe(block_.data(), block_.size());
    std::string().swap(block_);
    return result;
}

http2::next http2::end_block(stream_id id, std::string_view block, bool ends_stream,
                             bool depends_on_itself, server_state const& server,
                             std::string& output) {
    if (is_idle(id))
        return begin_request(id, block, ends_stream, depends_on_itself, server, output);
    auto* const stream = find(id);
    bool const goes_on = stream != nullptr && !stream->reset && !stream->input_ended;
    if (goes_on || find_dropped(id) != nullptr)
        return read_trailers(id, block, ends_stream, server, output);
    // The table has to follow all the same.
    auto const ignore = [](h2::header_field const&) {};
    if (auto const end = judge_block(decoder_.decode(block, context_.header_text, ignore), output))
        return end;
    if (stream != nullptr && !stream->reset) return reset(id, error_code::stream_closed, output);
    if (stream != nullptr || is_ignored(id)) return {};
    if (was_left_out(id))
        return fail(error_code::protocol_error, "HEADERS below an earlier stream.", output);
    return fail(error_code::stream_closed, "HEADERS on a closed stream.", output);
}

// What the connection cannot outlive.
http2::next http2::judge_block(h2::hpack_decoder::result result, std::string& output) {
    if (result == h2::hpack_decoder::result::malformed)
        return fail(error_code::compression_error, "The header block cannot be decoded.", output);
    if (result == h2::hpack_decoder::result::excessive)
        return fail(error_code::enhance_your_calm, "A header block is far too large.", output);
    return {};
}

// §8.1: trailers end the stream and have no pseudo-headers. They are dropped. A request that was
// answered early has them too, and may be malformed by them.
http2::next http2::read_trailers(stream_id id, std::string_view block, bool ends_stream,
                                 server_state const& server, std::string& output) {
    bool malformed = !ends_stream;
    auto const check = [&](h2::header_field const& field) {
        malformed = malformed || !field.valid || field.name.front() == ':' ||
                    h2::is_connection_specific(field);
    };
    auto const result = decoder_.decode(block, context_.header_text, check);
    if (auto const end = judge_block(result, output)) return end;
    auto* const stream = find(id);
    auto const& announced = stream != nullptr ? stream->announced : find_dropped(id)->announced;
    if (malformed || announced.is_wrong(true)) return reset(id, error_code::protocol_error, output);
    end_request(id);
    if (stream == nullptr) return {};
    stream->input_ended = true;
    if (stream->state != stream_state::reading) return {};
    return end_body(*stream, server);
}

http2::next http2::on_data(h2::frame_head const& head, std::string_view payload,
                           server_state const& server, std::string& output) {
    if (head.stream == 0)
        return fail(error_code::protocol_error, "DATA on the connection.", output);
    receive_window_ -= head.length;
    if (receive_window_ < 0)
        return fail(error_code::flow_control_error, "DATA beyond the connection's window.", output);
    // What is kept counts in the memory budget, so the connection's window opens again at once.
    auto const whole = std::max(announced_.window_bytes, h2::default_window);
    if (receive_window_ < whole / 2) {
        h2::put_window_update(0, static_cast<std::uint32_t>(whole - receive_window_), output);
        receive_window_ = whole;
    }
    auto const inner = h2::content_of(head, payload);
    if (inner.problem != error_code::no_error)
        return fail(inner.problem, "DATA with wrong padding.", output);
    auto* const stream = find(head.stream);
    if (stream == nullptr) {
        if (is_idle(head.stream))
            return fail(error_code::protocol_error, "DATA on an idle stream.", output);
        if (find_dropped(head.stream) == nullptr && !is_ignored(head.stream))
            return fail(error_code::stream_closed, "DATA on a closed stream.", output);
        if (head.length == 0 && !spend())
            return fail(error_code::enhance_your_calm, "Too many empty frames.", output);
        return drop_data(head, inner.bytes.size(), output);
    }
    if (stream->reset) return {};
    if (stream->input_ended) return reset(head.stream, error_code::stream_closed, output);
    stream->receive_window -= head.length;
    if (stream->receive_window < 0)
        return reset(head.stream, error_code::flow_control_error, output);
    bool const ends = head.has(h2::flag::end_stream);
    if (inner.bytes.empty() && !ends && !spend())
        return fail(error_code::enhance_your_calm, "Too many empty frames.", output);
    stream->announced.received += inner.bytes.size();
    stream->input_ended = ends;
    if (stream->announced.is_wrong(ends))
        return reset(head.stream, error_code::protocol_error, output);
    bool const waits = stream->state == stream_state::waiting;
    if (stream->state != stream_state::reading && !waits) return {};
    stream->work->entry.bytes_in += head.length;
    if (waits) return keep_content(*stream, inner.bytes);
    if (stream->work->body.size() + inner.bytes.size() > stream->work->exchange.body_bytes_max())
        return refuse_body(*stream, problem::body_too_large);
    keep_body(*stream, inner.bytes);
    if (ends) return end_body(*stream, server);
    current_ = stream->id;
    return step{.kind = step_kind::grant_body};
}

// §6.4. The work of a stream that waits for its commit goes on and keeps its slot.
http2::next http2::on_reset(h2::frame_head const& head, std::string_view payload,
                            std::string& output) {
    if (is_idle(head.stream))
        return fail(error_code::protocol_error, "RST_STREAM on an idle stream.", output);
    if (payload.size() != 4)
        return fail(error_code::frame_size_error, "RST_STREAM of another size.", output);
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many resets.", output);
    if (auto* const stream = find(head.stream)) {
        stream->reset = true;
        if (!stream->is_busy()) leave(head.stream);
    }
    end_request(head.stream);
    return {};
}

// §6.5.
http2::next http2::on_settings(h2::frame_head const& head, std::string_view payload,
                               std::string& output) {
    if (head.stream != 0) return fail(error_code::protocol_error, "SETTINGS on a stream.", output);
    if (head.has(h2::flag::ack)) {
        if (!payload.empty())
            return fail(error_code::frame_size_error, "SETTINGS ACK with a payload.", output);
        return {};
    }
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many SETTINGS.", output);
    auto const previous = theirs_.window;
    if (auto const code = h2::read_settings(payload, theirs_); code != error_code::no_error)
        return fail(code, "SETTINGS out of range.", output);
    auto const change = std::int64_t{theirs_.window} - previous;
    for (auto& each : streams_) {
        if (each->reset) continue;
        each->send_window += change;
        if (each->send_window > h2::window_max)
            return fail(error_code::flow_control_error, "A window beyond 2^31-1.", output);
    }
    encoder_.set_table_limit(theirs_.header_table_bytes);
    h2::put_settings_ack(output);
    return {};
}

// §6.9.
http2::next http2::on_window_update(h2::frame_head const& head, std::string_view payload,
                                    std::string& output) {
    if (payload.size() != 4)
        return fail(error_code::frame_size_error, "WINDOW_UPDATE of another size.", output);
    if (head.stream != 0 && is_idle(head.stream))
        return fail(error_code::protocol_error, "WINDOW_UPDATE on an idle stream.", output);
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many WINDOW_UPDATE.", output);
    auto const increment = h2::read_uint32(payload.data()) & h2::window_max;
    if (head.stream == 0) {
        if (increment == 0)
            return fail(error_code::protocol_error, "WINDOW_UPDATE by nothing.", output);
        send_window_ += increment;
        if (send_window_ > h2::window_max)
            return fail(error_code::flow_control_error, "A window beyond 2^31-1.", output);
        return {};
    }
    auto* const stream = find(head.stream);
    if (stream == nullptr || stream->reset) return {};
    if (increment == 0) return reset(head.stream, error_code::protocol_error, output);
    stream->send_window += increment;
    if (stream->send_window > h2::window_max)
        return reset(head.stream, error_code::flow_control_error, output);
    return {};
}

// §5.3.2: deprecated, and only looked at for its form.
http2::next http2::on_priority(h2::frame_head const& head, std::string_view payload,
                               std::string& output) {
    if (head.stream == 0)
        return fail(error_code::protocol_error, "PRIORITY on the connection.", output);
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many PRIORITY.", output);
    if (payload.size() != 5) {
        if (is_idle(head.stream))
            return fail(error_code::frame_size_error, "PRIORITY of another size.", output);
        return reset(head.stream, error_code::frame_size_error, output);
    }
    bool const on_itself = (h2::read_uint32(payload.data()) & h2::stream_id_max) == head.stream;
    if (on_itself && find(head.stream) != nullptr)
        return reset(head.stream, error_code::protocol_error, output);
    return {};
}

// RFC 9218 §7.1.
http2::next http2::on_priority_update(h2::frame_head const& head, std::string_view payload,
                                      std::string& output) {
    if (head.stream != 0)
        return fail(error_code::protocol_error, "PRIORITY_UPDATE on a stream.", output);
    if (payload.size() < 4)
        return fail(error_code::frame_size_error, "PRIORITY_UPDATE without a stream.", output);
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many PRIORITY_UPDATE.", output);
    auto const id = h2::read_uint32(payload.data()) & h2::stream_id_max;
    if (id % 2 == 0)
        return fail(error_code::protocol_error, "PRIORITY_UPDATE of no stream of a client.",
                    output);
    auto const urgency = h2::parse_priority(payload.substr(4));
    if (auto* const stream = find(id); stream != nullptr && urgency) stream->urgency = *urgency;
    return {};
}

// §6.7.
http2::next http2::on_ping(h2::frame_head const& head, std::string_view payload,
                           std::string& output) {
    if (head.stream != 0) return fail(error_code::protocol_error, "PING on a stream.", output);
    if (payload.size() != 8)
        return fail(error_code::frame_size_error, "PING of another size.", output);
    if (head.has(h2::flag::ack)) {
        if (drain_ == drain_phase::announced && payload == drain_ping) name_last_stream(output);
        return {};
    }
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many PING.", output);
    h2::put_ping_ack(payload, output);
    return {};
}

// §6.8: the client opens no further streams; what it has asked for is answered.
http2::next http2::on_goaway(h2::frame_head const& head, std::string_view payload,
                             std::string& output) {
    if (head.stream != 0) return fail(error_code::protocol_error, "GOAWAY on a stream.", output);
    if (payload.size() < 8)
        return fail(error_code::frame_size_error, "GOAWAY of another size.", output);
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many GOAWAY.", output);
    client_leaves_ = true;
    return {};
}

}  // namespace latchkey::session
