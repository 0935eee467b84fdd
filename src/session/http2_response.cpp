// Responses of an HTTP/2 session: header blocks, and DATA as far as the windows of the stream and
// of the connection allow (RFC 9113 §6.9), the most urgent stream first (RFC 9218 §10).
#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "session/http2.hpp"
#include "session/http2_stream.hpp"

namespace latchkey::session {
namespace {

using h2::frame_type;
using h2::indexing;

constexpr double tokens_per_response = 2;
constexpr double tokens_per_frame = 1;
// Of the content that waits a client takes at least this part within `send_seconds`.
constexpr std::size_t progress_part = 64;

// RFC 9110 §6.4.1.
bool may_have_content(unsigned status) {
    return status >= 200 && status != 204 && status != 304;
}

// Values that differ from response to response: only their name is worth a place in the table.
bool differs_each_time(std::string_view name) {
    constexpr std::array<std::string_view, 9> names{
        "x-request-id", "set-cookie", "etag",           "ratelimit",    "location",
        "retry-after",  "link",       "content-length", "last-modified"};
    return std::ranges::find(names, name) != names.end();
}

struct decimal {
    explicit decimal(std::size_t number)
        : size(static_cast<std::size_t>(base::put_decimal(digits.data(), std::uint64_t{number}) -
                                        digits.data())) {}
    std::string_view text() const { return {digits.data(), size}; }

    std::array<char, base::number_bytes_max> digits;
    std::size_t size;
};

}  // namespace

finished_response http2::write(std::string& output, server_state const& server) {
    now_ = server.now.mono;  // a commit may have taken a while
    auto& stream = *writing_;
    auto& response = context_.response;
    auto& entry = stream.work->entry;
    auto const size_before = output.size();
    bool const has_content = may_have_content(response.status) && !stream.head_only;
    auto const content = has_content ? std::string_view(response.body) : std::string_view();
    auto events = stream.work->exchange.take_event_stream();
    if (!stream.reset) {
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
                end_response(stream, output);
        }
        earn(tokens_per_response);
    }
    if (response.secret) base::wipe(response.body.data(), response.body.size());
    entry.status = response.status;
    entry.code = response.code;
    entry.bytes_out = output.size() - size_before + stream.content.size();
    return {*stream.work, response.secret, response.status < 400 && stream.work->exchange.let_in()};
}

step http2::finish_response() {
    auto& stream = *std::exchange(writing_, nullptr);
    auto const resume_at = stream.work->exchange.resume_reading_at();
    stream.work.reset();
    idle_since_ = now_;
    if (!stream.has_content() || stream.reset) {
        &stream == fresh_.get() ? stream.end() : leave(stream.id);
    } else {
        if (&stream == fresh_.get()) enter();
        if (stalled_since_ == 0) stalled_since_ = now_;
        pending_ = true;
        count_held(stream);
    }
    return {.kind = step_kind::pause, .time = resume_at};
}

// The client has all of the response, and may not have sent all of its request. A client that
// reads the response and a reset at once may report an error instead of the response (curl 7.88),
// so the rest is dropped first, for a while and as far as the stream's window goes.
void http2::end_response(open_stream& stream, std::string& output) {
    if (stream.input_ended) return;
    if (dropped_requests_.size() >= announced_.streams_max)
        end_dropped(dropped_requests_.front().id, output);
    dropped_requests_.push_back(
        {stream.id, stream.receive_window, now_ + early_reset_wait, stream.announced});
}

void http2::write_head(open_stream& stream, http::response const& response, bool end,
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

void http2::write_block(stream_id id, bool end, std::string& output) {
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
std::size_t http2::write_data(open_stream& stream, std::string_view content, std::size_t bytes_max,
                              std::string& output) {
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
        earn(tokens_per_frame);
    }
    return bytes_written;
}

// In proportion to what waits: a client that takes a byte now and then makes none.
void http2::note_progress(std::size_t bytes) {
    progress_bytes_ += bytes;
    if (progress_bytes_ < pending_bytes_ / progress_part) return;
    progress_bytes_ = 0;
    stalled_since_ = 0;
}

// Of the streams with content and a window. Those of one urgency are served one after the other, by
// id; incremental ones take turns (RFC 9218 §10).
http2_stream* http2::most_urgent() {
    if (send_window_ <= 0) return nullptr;
    open_stream* best = nullptr;
    auto const comes_first = [this](open_stream const& left, open_stream const& right) {
        if (left.urgency.urgency != right.urgency.urgency)
            return left.urgency.urgency < right.urgency.urgency;
        if (left.takes_turns() != right.takes_turns()) return !left.takes_turns();
        if (!left.takes_turns()) return left.id < right.id;
        bool const left_waits = left.id > last_written_, right_waits = right.id > last_written_;
        return left_waits != right_waits ? left_waits : left.id < right.id;
    };
    for (auto const& each : streams_) {
        if (!each->has_content() || each->reset || each->send_window <= 0 || each->work) continue;
        if (best == nullptr || comes_first(*each, *best)) best = each.get();
    }
    return best;
}

void http2::write_pending(std::string& output, std::size_t room, server_state const& server) {
    now_ = server.now.mono;
    end_unsendable_events(server, output);
    while (room != 0) {
        auto* const stream = most_urgent();
        if (stream == nullptr) break;
        last_written_ = stream->id;
        auto const size = std::min(room, std::size_t{h2::default_frame_bytes_max});
        room -= std::min(room, stream->content.empty() ? write_events(*stream, size, server, output)
                                                       : write_content(*stream, size, output));
    }
    pending_ = std::ranges::any_of(
        streams_, [](std::unique_ptr<open_stream> const& each) { return each->has_content(); });
    sendable_ = most_urgent() != nullptr;
    if (!pending_)
        stalled_since_ = 0;
    else if (stalled_since_ == 0 && !sendable_)
        stalled_since_ = now_, progress_bytes_ = 0;
}

std::size_t http2::write_content(open_stream& stream, std::size_t room, std::string& output) {
    auto const rest = std::string_view(stream.content).substr(stream.sent_bytes);
    auto const bytes_written = write_data(stream, rest, room, output);
    stream.sent_bytes += bytes_written;
    if (bytes_written < rest.size()) return bytes_written;
    if (stream.events) {
        std::string().swap(stream.content);
        count_held(stream);
    } else {
        end_response(stream, output);
        leave(stream.id);
    }
    return bytes_written;
}

}  // namespace latchkey::session
