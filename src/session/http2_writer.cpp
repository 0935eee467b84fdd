// Content is written at once as far as both windows allow, unless others wait; the rest is kept and
// written later in frames of at most 16 KiB, each time for the stream that is most urgent then. A
// client that takes no sizeable part of what waits counts as stalled since then. An endless
// response is made only while its stream has a window.
#include "session/http2_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::session {
namespace {

using h2::frame_type;
using h2::indexing;

constexpr double tokens_per_response = 2;
constexpr double tokens_per_frame = 1;
// Of the content that waits a client takes at least this part within `send_seconds`.
constexpr std::size_t progress_part = 64;

using progress = api::event_stream::progress;

// RFC 9110 §6.4.1.
bool may_have_content(unsigned status) {
    return status >= 200 && status != 204 && status != 304;
}

// Values that differ from response to response: only their name is worth a place in the table.
bool differs_each_time(std::string_view name) {
    switch (name.size()) {
        case 4:
            return name == "etag" || name == "link";
        case 8:
            return name == "location";
        case 9:
            return name == "ratelimit";
        case 10:
            return name == "set-cookie";
        case 11:
            return name == "retry-after";
        case 12:
            return name == "x-request-id";
        case 13:
            return name == "last-modified";
        case 14:
            return name == "content-length";
        default:
            return false;
    }
}

struct decimal {
    explicit decimal(std::size_t number)
        : size(static_cast<std::size_t>(base::put_decimal(digits.data(), std::uint64_t{number}) -
                                        digits.data())) {}
    std::string_view text() const { return {digits.data(), size}; }

    std::array<char, base::number_bytes_max> digits;
    std::size_t size;
};

// What a step leaves of a turn: as many ns of reading end one as bytes of answers do.
std::size_t room_for(std::int64_t read_cost) {
    constexpr std::int64_t ns_per_byte =
        base::limits::turn_ns_max / std::int64_t{base::limits::turn_answer_bytes_max};
    return static_cast<std::size_t>(read_cost / ns_per_byte);
}

}  // namespace

void http2_writer::write_response(http2_stream& stream, http::response const& response,
                                  std::unique_ptr<api::event_stream> events,
                                  server_state const& server, std::string& output) {
    bool const has_content = may_have_content(response.status) && !stream.head_only;
    auto const content = has_content ? std::string_view(response.body) : std::string_view();
    bool const goes_on = events && !stream.head_only;
    write_head(stream, response, content.empty() && !goes_on, server, output);
    if (goes_on) {
        stream.events = std::move(events);
        stream.events_due = true;
    } else {
        // Behind others that wait: they may be more urgent.
        auto const room = most_urgent() == nullptr ? content.size() : 0;
        auto const sent_bytes = write_data(stream, content, room, output);
        if (sent_bytes < content.size())
            stream.content.assign(content.substr(sent_bytes));
        else
            leftovers_.end_response(stream, server.now.mono, output);
    }
    flood_.earn(tokens_per_response);
}

void http2_writer::write_interim(stream_id id, std::string& output) {
    std::string block;
    encoder_.begin_block(block);
    encoder_.add_status(100, block);
    h2::put_frame_head(
        {static_cast<std::uint32_t>(block.size()), frame_type::headers, h2::flag::end_headers, id},
        output);
    output.append(block);
}

void http2_writer::write_head(http2_stream& stream, http::response const& response, bool end,
                              server_state const& server, std::string& output) {
    auto& block = context_.header_block;
    block.clear();
    encoder_.begin_block(block);
    encoder_.add_status(response.status, block);
    auto const date = context_.date.at(server.now.clock);  // "Date: …" and CRLF
    constexpr std::string_view date_name = "Date: ";
    encoder_.add("date", date.substr(date_name.size(), date.size() - date_name.size() - 2),
                 indexing::field, block);
    if (may_have_content(response.status)) {
        if (auto const type = http::media_type_of(response.content_type); !type.empty())
            encoder_.add("content-type", type, indexing::field, block);
        if (response.content_type != http::content::event_stream && !response.is_partial)
            encoder_.add("content-length", decimal(response.body.size()).text(), indexing::name,
                         block);
    }
    std::array<char, 64> lower;
    for (auto rest = response.field_lines(); !rest.empty();) {
        auto const colon = rest.find(": ");
        auto const line_end = rest.find("\r\n", colon);
        auto const value = rest.substr(colon + 2, line_end - colon - 2);
        std::transform(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(colon),
                       lower.begin(), [](char byte) { return base::to_lower(byte); });
        std::string_view const name(lower.data(), colon);
        encoder_.add(name, value, differs_each_time(name) ? indexing::name : indexing::field,
                     block);
        rest.remove_prefix(line_end + 2);
    }
    write_block(stream.id, end, output);
}

void http2_writer::write_block(stream_id id, bool end, std::string& output) {
    std::string_view rest = context_.header_block;
    auto type = frame_type::headers;
    do {
        auto const part = rest.substr(0, h2::default_frame_bytes_max);
        rest.remove_prefix(part.size());
        std::uint8_t flags = rest.empty() ? h2::flag::end_headers : 0;
        if (type == frame_type::headers && end) flags |= h2::flag::end_stream;
        h2::put_frame_head({static_cast<std::uint32_t>(part.size()), type, flags, id}, output);
        output.append(part);
        type = frame_type::continuation;
    } while (!rest.empty());
}

// How much of the content was written: what the windows, `bytes_max` and the frames allow.
std::size_t http2_writer::write_data(http2_stream& stream, std::string_view content,
                                     std::size_t bytes_max, std::string& output) {
    std::size_t bytes_written = 0;
    while (bytes_written < content.size()) {
        auto const window = std::min(send_window_, stream.send_window);
        if (window <= 0 || bytes_written >= bytes_max) break;
        auto const size =
            std::min({content.size() - bytes_written, static_cast<std::size_t>(window),
                      std::size_t{h2::default_frame_bytes_max}, bytes_max - bytes_written});
        bool const last = bytes_written + size == content.size() && !stream.events;
        std::uint8_t const flags = last ? h2::flag::end_stream : 0;
        h2::put_frame_head({static_cast<std::uint32_t>(size), frame_type::data, flags, stream.id},
                           output);
        output.append(content.substr(bytes_written, size));
        bytes_written += size;
        send_window_ -= static_cast<std::int64_t>(size);
        stream.send_window -= static_cast<std::int64_t>(size);
        note_progress(size);
        flood_.earn(tokens_per_frame);
    }
    return bytes_written;
}

// In proportion to what waits: a client that takes a byte now and then makes none.
void http2_writer::note_progress(std::size_t bytes) {
    progress_bytes_ += bytes;
    if (progress_bytes_ < streams_.pending_bytes() / progress_part) return;
    progress_bytes_ = 0;
    stalled_since_ = 0;
}

// Of the streams with content and a window. Those of one urgency are served one after the other, by
// id; incremental ones take turns (RFC 9218 §10).
http2_stream* http2_writer::most_urgent() {
    if (send_window_ <= 0) return nullptr;
    http2_stream* best = nullptr;
    auto const comes_first = [this](http2_stream const& left, http2_stream const& right) {
        if (left.urgency.urgency != right.urgency.urgency)
            return left.urgency.urgency < right.urgency.urgency;
        if (left.takes_turns() != right.takes_turns()) return !left.takes_turns();
        if (!left.takes_turns()) return left.id < right.id;
        bool const left_waits = left.id > last_written_, right_waits = right.id > last_written_;
        return left_waits != right_waits ? left_waits : left.id < right.id;
    };
    for (auto const& each : streams_.all()) {
        if (!each->has_content() || each->reset || each->send_window <= 0 || each->work) continue;
        if (best == nullptr || comes_first(*each, *best)) best = each.get();
    }
    return best;
}

void http2_writer::note_pending(http2_stream& stream, base::mono_ns now) {
    if (stalled_since_ == 0) stalled_since_ = now;
    pending_ = true;
    streams_.count_held(stream);
}

bool http2_writer::grow_window(std::uint32_t increment) {
    send_window_ += increment;
    return send_window_ <= h2::window_max;
}

void http2_writer::write_pending(std::string& output, std::size_t room,
                                 server_state const& server) {
    auto const now = server.now.mono;
    end_unsendable_events(server, output);
    while (room != 0) {
        auto* const stream = most_urgent();
        if (stream == nullptr) break;
        last_written_ = stream->id;
        auto const size = std::min(room, std::size_t{h2::default_frame_bytes_max});
        room -= std::min(room, stream->content.empty() ? write_events(*stream, size, server, output)
                                                       : write_content(*stream, size, now, output));
    }
    pending_ = std::ranges::any_of(streams_.all(), [](std::unique_ptr<http2_stream> const& each) {
        return each->has_content();
    });
    sendable_ = most_urgent() != nullptr;
    if (!pending_) {
        stalled_since_ = 0;
    } else if (stalled_since_ == 0 && !sendable_) {
        stalled_since_ = now;
        progress_bytes_ = 0;
    }
}

std::size_t http2_writer::write_content(http2_stream& stream, std::size_t room, base::mono_ns now,
                                        std::string& output) {
    auto const rest = std::string_view(stream.content).substr(stream.sent_bytes);
    auto const bytes_written = write_data(stream, rest, room, output);
    stream.sent_bytes += bytes_written;
    if (bytes_written < rest.size()) return bytes_written;
    if (stream.events) {
        std::string().swap(stream.content);
        streams_.count_held(stream);
    } else {
        leftovers_.end_response(stream, now, output);
        streams_.leave(stream.id);
    }
    return bytes_written;
}

// ---- responses that do not end

bool http2_writer::has_events() const {
    return std::ranges::any_of(streams_.all(), [](std::unique_ptr<http2_stream> const& each) {
        return each->events != nullptr;
    });
}

void http2_writer::wake_events() {
    for (auto const& each : streams_.all())
        if (each->events) each->events_due = pending_ = true;
}

// The bytes that were written, and what reading has cost: a stream that looks for few events among
// many ends its turn too.
std::size_t http2_writer::write_events(http2_stream& stream, std::size_t room,
                                       server_state const& server, std::string& output) {
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
    if (bytes_max == 0) stream.events->postpone(server.now.mono + event_room_wait);
    auto const bytes_written = write_data(stream, text, room, output);
    if (bytes_written < text.size()) {
        stream.content.assign(text, bytes_written);
        stream.sent_bytes = 0;
        streams_.count_held(stream);
    }
    if (text.capacity() > 2 * base::limits::stream_step_bytes_max) std::string().swap(text);
    if (result == progress::ended) end_events(stream, server.now.mono, output);
    return std::max<std::size_t>(bytes_written + room_for(read_cost), is_due);
}

// Without a window too: a key that was turned off has no stream.
void http2_writer::end_unsendable_events(server_state const& server, std::string& output) {
    for (std::size_t i = streams_.all().size(); i-- > 0;) {
        auto& stream = *streams_.all()[i];
        if (!stream.events || !stream.events_due || stream.work) continue;
        bool const is_sendable =
            stream.content.empty() && send_window_ > 0 && stream.send_window > 0;
        if (is_sendable) continue;
        auto const result =
            stream.events->append(*context_.services, server.now, 0, stream.content);
        if (result == progress::ended) end_events(stream, server.now.mono, output);
    }
}

void http2_writer::end_all_events(base::mono_ns now, std::string& output) {
    for (std::size_t i = streams_.all().size(); i-- > 0;)
        if (streams_.all()[i]->events && !streams_.all()[i]->work)
            end_events(*streams_.all()[i], now, output);
}

// An empty DATA frame needs no window. The rest of an event is dropped: its client ignores one that
// is not complete (WHATWG HTML §9.2.6).
void http2_writer::end_events(http2_stream& stream, base::mono_ns now, std::string& output) {
    h2::put_frame_head({0, h2::frame_type::data, h2::flag::end_stream, stream.id}, output);
    leftovers_.end_response(stream, now, output);
    streams_.note_activity(now);
    streams_.leave(stream.id);
}

void http2_writer::wake_due_events(base::mono_ns now) {
    for (auto const& each : streams_.all())
        if (each->events && now >= each->events->due()) each->events_due = pending_ = true;
}

}  // namespace latchkey::session
