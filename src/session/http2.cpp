// Frames are read one after the other; reading a frame yields nothing, and the next one follows, or
// a step, which ends the call, or an error, which resets a stream or ends the connection. What
// other streams need comes before: grants and wake-ups, the drain, then deadlines.
#include "session/http2.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/time_units.hpp"

namespace latchkey::session {
namespace {

using base::after;
using h2::error_code;
using h2::frame_type;

}  // namespace

http2::http2(context& shared, api::peer const& client)
    : context_(shared),
      announced_(shared.configuration->http2),
      leftovers_(streams_, announced_),
      blocks_(shared, announced_, flood_),
      writer_(shared, streams_, leftovers_, flood_),
      control_(announced_, streams_, writer_, leftovers_, flood_),
      requests_(shared, client,
                {announced_, streams_, flood_, leftovers_, blocks_, writer_, control_}) {}

step http2::advance(std::string_view input, wake_reason reason, server_state const& server,
                    std::string& output) {
    now_ = server.now.mono;
    consumed_ = 0;
    if (phase_ == phase::closing) return {.kind = step_kind::close};
    if (phase_ == phase::preface && start_ == 0) {
        start_ = std::max(server.ready_since, base::mono_ns{1});
        flood_.start(start_);
        streams_.note_activity(start_);
        control_.announce(context_.header_text.list_bytes_max(), output);
    }
    if (auto const result = requests_.settle(server, output)) return *result;
    drain(server, output);
    if (server.draining) writer_.end_all_events(now_, output);
    if (reason == wake_reason::end) return close();
    if (reason == wake_reason::late)
        if (auto const late = end_late(server, output)) return *late;
    auto result = read_frames(input, server, output);
    result.consumed = consumed_;
    return result;
}

// ---- frames

step http2::read_frames(std::string_view input, server_state const& server, std::string& output) {
    if (phase_ == phase::preface) {
        auto const part = input.substr(0, h2::preface.size());
        if (!h2::preface.starts_with(part))
            return fail({error_code::protocol_error, "The connection preface is wrong."}, output);
        if (part.size() < h2::preface.size()) return await_input(input.empty());
        consumed_ = part.size();
        phase_ = phase::first_settings;
    }
    for (;;) {
        auto const rest = input.substr(consumed_);
        if (rest.size() < h2::frame_head_bytes) return await_input(rest.empty());
        auto const head = h2::read_frame_head(rest.data());
        if (head.length > h2::default_frame_bytes_max)
            return fail({error_code::frame_size_error, "The frame is too large."}, output);
        if (rest.size() < h2::frame_head_bytes + head.length) {
            if (!server.overloaded && is_content_of_a_key(head)) return await_input(false);
            return await_frame(rest.size(), server, output);
        }
        consumed_ += h2::frame_head_bytes + head.length;
        auto const payload = rest.substr(h2::frame_head_bytes, head.length);
        auto const result = read_frame(head, payload, server, output);
        if (auto const* const next = std::get_if<step>(&result)) return *next;
        auto const* const wrong = std::get_if<fault>(&result);
        if (wrong == nullptr) continue;
        if (auto const next = act_on(*wrong, output)) return *next;
    }
}

// Such content counts to the key that its request has shown, as over HTTP/1.1.
bool http2::is_content_of_a_key(h2::frame_head const& head) const {
    auto const* const stream = head.type == frame_type::data ? streams_.find(head.stream) : nullptr;
    return stream != nullptr && stream->state == stream_state::reading &&
           stream->work->exchange.key_id() != 0;
}

// What has come of a frame is kept until it is whole, and nobody is known yet to whom it counts.
step http2::await_frame(std::size_t bytes, server_state const& server, std::string& output) {
    if (server.quota != nullptr && !server.quota->admits_answer(0, bytes))
        return fail({error_code::enhance_your_calm, "No memory for the frame."}, output);
    return await_input(false);
}

reaction http2::read_frame(h2::frame_head const& head, std::string_view payload,
                           server_state const& server, std::string& output) {
    if (phase_ == phase::first_settings) {
        if (head.type != frame_type::settings || head.has(h2::flag::ack))
            return fault{error_code::protocol_error, "The first frame is not SETTINGS."};
        phase_ = phase::open;
    }
    if (blocks_.goes_on() && head.type != frame_type::continuation)
        return fault{error_code::protocol_error, "A header block is interrupted."};
    if (head.type == frame_type::headers || head.type == frame_type::continuation)
        return read_block(head, payload, server);
    if (head.type != frame_type::data) return control_.read(head, payload, now_, output);
    if (head.stream == 0) return fault{error_code::protocol_error, "DATA on the connection."};
    if (auto const wrong = control_.take_window(head.length, output)) return *wrong;
    return requests_.take_data(head, payload, server, output);
}

reaction http2::read_block(h2::frame_head const& head, std::string_view payload,
                           server_state const& server) {
    auto const part =
        head.type == frame_type::headers
            ? blocks_.begin(head, payload, requests_.configuration().header_seconds, server)
            : blocks_.go_on(head, payload, server);
    if (auto const* const wrong = std::get_if<fault>(&part)) return *wrong;
    auto const* const block = std::get_if<header_block>(&part);
    if (block == nullptr) return {};
    auto const result = requests_.take_block(*block, server);
    blocks_.wipe();
    return result;
}

// ---- the end

http2::next http2::act_on(fault const& wrong, std::string& output) {
    if (wrong.stream == 0) return fail(wrong, output);
    h2::put_rst_stream(wrong.stream, wrong.code, output);
    streams_.note_reset(wrong.stream);
    leftovers_.forget(wrong.stream);
    streams_.reset(wrong.stream);
    // What a client provokes so costs as much as its own resets (CVE-2025-8671, "MadeYouReset").
    if (flood_.spend(now_)) return {};
    return fail({error_code::enhance_your_calm, "Too many resets."}, output);
}

step http2::fail(fault const& wrong, std::string& output) {
    context_.header_text.wipe();
    h2::put_goaway(streams_.last_served(), wrong.code, wrong.detail, output);
    return close();
}

step http2::close() {
    phase_ = phase::closing;
    return {.kind = step_kind::close};
}

void http2::drain(server_state const& server, std::string& output) {
    if (server.draining && phase_ == phase::open) control_.drain(now_, output);
}

// ---- time

step http2::await_input(bool nothing_came) {
    context_.header_text.wipe();  // before the thread may sleep
    bool const idle = nothing_came && streams_.empty() && !blocks_.goes_on();
    if (phase_ == phase::open && control_.ends() && streams_.empty()) return close();
    if (!idle) streams_.note_activity(now_);
    return {.kind = step_kind::read,
            .idle = idle && phase_ == phase::open && !control_.drains(),
            .time = deadline(idle)};
}

base::mono_ns http2::deadline(bool idle) const {
    auto const& limits = requests_.configuration();
    if (phase_ != phase::open) return after(start_, limits.header_seconds);
    auto earliest = after(idle ? streams_.idle_since() : now_, limits.idle_seconds);
    auto const take = [&](base::mono_ns time) {
        if (time != 0) earliest = std::min(earliest, time);
    };
    take(blocks_.deadline());
    take(control_.drain_deadline());
    take(leftovers_.deadline());
    if (auto const start = writer_.stalled_since(); start != 0)
        take(after(start, limits.send_seconds));
    for (auto const& each : streams_.all())
        if (each->state == stream_state::reading)
            take(each->deadline);
        else if (each->events && !each->events_due)
            take(each->events->due());
    return earliest;
}

// Acts on the deadline that has passed; nullopt: none has, or there is nothing for the caller.
http2::next http2::end_late(server_state const& server, std::string& output) {
    if (phase_ != phase::open) return close();
    auto const& limits = requests_.configuration();
    if (blocks_.deadline() != 0 && now_ >= blocks_.deadline())
        return fail({error_code::enhance_your_calm, "A header block took too long."}, output);
    auto const stalled_since = writer_.stalled_since();
    if (stalled_since != 0 && now_ >= after(stalled_since, limits.send_seconds))
        return fail({error_code::enhance_your_calm, "No window was granted for too long."}, output);
    if (auto const refusal = requests_.refuse_late_body(now_)) return refusal;
    leftovers_.end_late(now_, output);
    writer_.wake_due_events(now_);
    bool const idle = streams_.empty() && !blocks_.goes_on();
    if (idle && now_ >= after(streams_.idle_since(), limits.idle_seconds)) return fail({}, output);
    drain(server, output);
    return {};
}

// ---- responses

// Other streams may have gone on since the last step: deadlines count from now.
written_part http2::write(std::string& output, server_state const& server) {
    now_ = server.now.mono;
    return requests_.write(output, server);
}

void http2::write_pending(std::string& output, std::size_t room, server_state const& server) {
    now_ = server.now.mono;
    writer_.write_pending(output, room, server);
}

}  // namespace latchkey::session
