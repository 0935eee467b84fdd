// Responses of an HTTP/2 session that do not end: what an event stream has is made when there is a
// window for it, so a stream that waits for one holds at most the rest of its last event.
#include <algorithm>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "session/http2.hpp"
#include "session/http2_stream.hpp"

namespace latchkey::session {

namespace {

using progress = api::event_stream::progress;

// What a step leaves of a turn: as many ns of reading end one as bytes of answers do.
std::size_t room_for(std::int64_t read_cost) {
    constexpr std::int64_t ns_per_byte =
        base::limits::turn_ns_max / std::int64_t{base::limits::turn_answer_bytes_max};
    return static_cast<std::size_t>(read_cost / ns_per_byte);
}

}  // namespace

bool http2::has_events() const {
    return std::ranges::any_of(
        streams_, [](std::unique_ptr<open_stream> const& each) { return each->events != nullptr; });
}

void http2::wake_events() {
    for (auto const& each : streams_)
        if (each->events) each->events_due = pending_ = true;
}

// The bytes that were written, and what reading has cost: a stream that looks for few events among
// many ends its turn too.
std::size_t http2::write_events(open_stream& stream, std::size_t room, server_state const& server,
                                std::string& output) {
    auto& text = context_.events;
    text.clear();
    auto const window = static_cast<std::size_t>(std::min(send_window_, stream.send_window));
    auto const& work = context_.services->snapshot.work();
    auto const cost_before = work.cost();
    auto const bytes_max = event_bytes_max(*stream.events, server);
    auto const result = stream.events->append(*context_.services, server.now,
                                              std::min({room, window, bytes_max}), text);
    auto const read_cost = work.cost() - cost_before;
    bool const is_due = result == progress::more && bytes_max != 0;
    stream.events_due = is_due;
    if (bytes_max == 0) stream.events->postpone(now_ + event_room_wait);
    auto const bytes_written = write_data(stream, text, room, output);
    if (bytes_written < text.size()) {
        stream.content.assign(text, bytes_written);
        stream.sent_bytes = 0;
        count_held(stream);
    }
    if (text.capacity() > 2 * base::limits::stream_step_bytes_max) std::string().swap(text);
    if (result == progress::ended) end_events(stream, output);
    return std::max<std::size_t>(bytes_written + room_for(read_cost), is_due);
}

// Without a window too: a key that was turned off has no stream.
void http2::end_unsendable_events(server_state const& server, std::string& output) {
    for (std::size_t i = streams_.size(); i-- > 0;) {
        auto& stream = *streams_[i];
        if (!stream.events || !stream.events_due || stream.work) continue;
        bool const is_sendable =
            stream.content.empty() && send_window_ > 0 && stream.send_window > 0;
        if (is_sendable) continue;
        auto const result =
            stream.events->append(*context_.services, server.now, 0, stream.content);
        if (result == progress::ended) end_events(stream, output);
    }
}

void http2::end_all_events(std::string& output) {
    for (std::size_t i = streams_.size(); i-- > 0;)
        if (streams_[i]->events && !streams_[i]->work) end_events(*streams_[i], output);
}

// An empty DATA frame needs no window. The rest of an event is dropped: its client ignores one that
// is not complete (WHATWG HTML §9.2.6).
void http2::end_events(open_stream& stream, std::string& output) {
    h2::put_frame_head({0, h2::frame_type::data, h2::flag::end_stream, stream.id}, output);
    end_response(stream, output);
    idle_since_ = now_;
    leave(stream.id);
}

}  // namespace latchkey::session
