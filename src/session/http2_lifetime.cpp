// How an HTTP/2 connection and its streams end: errors, deadlines, draining, floods, and the table
// of the streams that wait.
#include <algorithm>
#include <utility>

#include "base/time_units.hpp"
#include "session/http2.hpp"
#include "session/http2_stream.hpp"

namespace latchkey::session {

using base::after;
using base::problem;
using h2::error_code;
using h2::frame_type;

// ---- the end

step http2::fail(error_code code, std::string_view detail, std::string& output) {
    context_.header_text.wipe();
    h2::put_goaway(last_stream_, code, detail, output);
    phase_ = phase::closing;
    return {.kind = step_kind::close};
}

// What a client provokes so costs as much as its own resets (CVE-2025-8671, "MadeYouReset").
http2::next http2::reset(stream_id id, error_code code, std::string& output) {
    h2::put_rst_stream(id, code, output);
    remember_reset(id);
    end_request(id);
    if (auto* const stream = find(id)) {
        stream->reset = true;
        if (!stream->is_busy()) leave(id);
    }
    if (!spend()) return fail(error_code::enhance_your_calm, "Too many resets.", output);
    return {};
}

bool http2::spend() {
    auto const seconds = static_cast<double>(now_ - refilled_) / static_cast<double>(base::second);
    tokens_ = std::min(tokens_max, tokens_ + seconds * tokens_per_second);
    refilled_ = now_;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
}

void http2::earn(double tokens) {
    tokens_ = std::min(tokens_max, tokens_ + tokens);
}

// §6.8: a client that has not heard of the end yet may have opened streams; they are served.
void http2::advance_drain(server_state const& server, std::string& output) {
    if (!server.draining || phase_ != phase::open) return;
    if (drain_ == drain_phase::none) {
        h2::put_goaway(h2::stream_id_max, error_code::no_error, {}, output);
        h2::put_frame_head({8, frame_type::ping, 0, 0}, output);
        output.append(drain_ping);
        drain_ = drain_phase::announced;
        drain_deadline_ = now_ + drain_wait;
    } else if (drain_ == drain_phase::announced && now_ >= drain_deadline_) {
        name_last_stream(output);
    }
}

void http2::name_last_stream(std::string& output) {
    h2::put_goaway(last_stream_, error_code::no_error, {}, output);
    drain_ = drain_phase::last_named;
    drain_deadline_ = 0;
}

step http2::await_input(bool nothing_came) {
    context_.header_text.wipe();  // before the thread may sleep
    bool const idle = nothing_came && streams_.empty() && block_stream_ == 0;
    bool const ends = (drain_ == drain_phase::last_named || client_leaves_) && streams_.empty();
    if (phase_ == phase::open && ends) {
        phase_ = phase::closing;
        return {.kind = step_kind::close};
    }
    if (!idle) idle_since_ = now_;
    return {.kind = step_kind::read,
            .idle = idle && phase_ == phase::open && drain_ == drain_phase::none,
            .time = deadline(idle)};
}

base::mono_ns http2::deadline(bool idle) const {
    if (phase_ != phase::open) return after(start_, configuration_->header_seconds);
    auto earliest = idle ? after(idle_since_, configuration_->idle_seconds)
                         : after(now_, configuration_->idle_seconds);
    auto const take = [&](base::mono_ns time) {
        if (time != 0) earliest = std::min(earliest, time);
    };
    take(block_deadline_);
    take(drain_deadline_);
    if (stalled_since_ != 0) take(after(stalled_since_, configuration_->send_seconds));
    for (auto const& each : streams_)
        if (each->state == stream_state::reading)
            take(each->deadline);
        else if (each->events && !each->events_due)
            take(each->events->due());
    for (auto const& each : dropped_requests_)
        if (needs_reset(each)) take(each.reset_time);
    return earliest;
}

// Acts on the deadline that has passed; nullopt: none has, or there is nothing for the caller.
http2::next http2::end_late(server_state const& server, std::string& output) {
    if (phase_ != phase::open) {
        phase_ = phase::closing;
        return step{.kind = step_kind::close};
    }
    if (block_deadline_ != 0 && now_ >= block_deadline_)
        return fail(error_code::enhance_your_calm, "A header block took too long.", output);
    if (stalled_since_ != 0 && now_ >= after(stalled_since_, configuration_->send_seconds))
        return fail(error_code::enhance_your_calm, "No window was granted for too long.", output);
    for (auto const& each : streams_)
        if (each->state == stream_state::reading && now_ >= each->deadline)
            return refuse_body(*each, problem::request_timeout);
    end_late_dropped(output);
    for (auto const& each : streams_)
        if (each->events && now_ >= each->events->due()) each->events_due = pending_ = true;
    bool const idle = streams_.empty() && block_stream_ == 0;
    if (idle && now_ >= after(idle_since_, configuration_->idle_seconds))
        return fail(error_code::no_error, {}, output);
    advance_drain(server, output);
    return {};
}

// ---- streams

http2_stream* http2::find(stream_id id) const {
    auto const place = std::ranges::lower_bound(
        streams_, id, {}, [](std::unique_ptr<open_stream> const& each) { return each->id; });
    return place != streams_.end() && (*place)->id == id ? place->get() : nullptr;
}

http2_stream& http2::take_stream(stream_id id) {
    if (!fresh_) fresh_ = std::make_unique<open_stream>();
    fresh_->begin(id, theirs_.window, announced_.window_bytes);
    fresh_->work = context_.streams.take();
    fresh_->work->entry.protocol = protocol::http2;
    return *fresh_;
}

// The request in hand has to wait for something.
http2_stream& http2::enter() {
    fresh_->configuration = configuration_;
    streams_.push_back(std::move(fresh_));
    return *streams_.back();
}

void http2::leave(stream_id id) {
    auto const place = std::ranges::find(
        streams_, id, [](std::unique_ptr<open_stream> const& each) { return each->id; });
    if (place == streams_.end()) return;
    held_bytes_ -= (*place)->counted_bytes;
    pending_bytes_ -= (*place)->counted_content_bytes;
    (*place)->end();
    if (!fresh_) fresh_ = std::move(*place);
    streams_.erase(place);
}

void http2::remember_reset(stream_id id) {
    if (resets_.size() < remembered_resets) return resets_.push_back(id);
    resets_[next_reset_++ % remembered_resets] = id;
}

bool http2::was_reset(stream_id id) const {
    return std::ranges::find(resets_, id) != resets_.end();
}

// What was answered early may still turn out to be malformed (RFC 9113 §8.1.1).
http2::next http2::drop_data(h2::frame_head const& head, std::size_t content_bytes,
                             std::string& output) {
    auto* const request = find_dropped(head.stream);
    if (request == nullptr) return {};
    request->window -= head.length;
    if (request->window < 0) return reset(head.stream, error_code::flow_control_error, output);
    request->announced.received += content_bytes;
    bool const ends = head.has(h2::flag::end_stream);
    if (request->announced.is_wrong(ends))
        return reset(head.stream, error_code::protocol_error, output);
    if (ends)
        end_request(head.stream);
    else if (is_late(*request))
        end_dropped(head.stream, output);
    return {};
}

// Where the stream's window would be opened again, the client is told that the rest is not needed
// (RFC 9113 §8.1): it may have none left to send any.
void http2::end_dropped(stream_id id, std::string& output) {
    h2::put_rst_stream(id, error_code::no_error, output);
    remember_reset(id);
    end_request(id);
}

void http2::end_late_dropped(std::string& output) {
    for (std::size_t i = dropped_requests_.size(); i-- > 0;)
        if (is_late(dropped_requests_[i])) end_dropped(dropped_requests_[i].id, output);
}

bool http2::needs_reset(dropped_request const& request) const {
    return request.window < announced_.window_bytes / 2;
}

bool http2::is_late(dropped_request const& request) const {
    return needs_reset(request) && now_ >= request.reset_time;
}

void http2::end_request(stream_id id) {
    std::erase_if(dropped_requests_, [id](dropped_request const& each) { return each.id == id; });
}

dropped_request* http2::find_dropped(stream_id id) {
    auto const place = std::ranges::find(dropped_requests_, id, &dropped_request::id);
    return place == dropped_requests_.end() ? nullptr : &*place;
}

// §5.1.1: a new stream closes the idle ones below it, which are no longer to be opened.
void http2::note_opened(stream_id id) {
    auto const distance = (id - highest_stream_) / 2;
    history_ = (distance < 64 ? history_ << distance : 0) | 1;
    highest_stream_ = id;
}

// Of the latest 64 streams; what lies below them counts as closed in order.
bool http2::was_left_out(stream_id id) const {
    auto const distance = (highest_stream_ - id) / 2;
    return distance < 64 && (history_ >> distance & 1) == 0;
}

void http2::keep_body(open_stream& stream, std::string_view content) {
    stream.work->body.append(content);
    count_held(stream);
}

// The sums go on from the last ones: neither a frame of a byte nor a commit may cost a look at each
// stream.
void http2::count_held(open_stream& stream) {
    auto const bytes = stream.held_bytes(), content_bytes = base::heap_bytes(stream.content);
    held_bytes_ += bytes - std::exchange(stream.counted_bytes, bytes);
    pending_bytes_ += content_bytes - std::exchange(stream.counted_content_bytes, content_bytes);
}

}  // namespace latchkey::session
