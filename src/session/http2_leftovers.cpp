#include "session/http2_leftovers.hpp"

#include <algorithm>

namespace latchkey::session {
namespace {

using h2::error_code;

constexpr base::mono_ns early_reset_wait = base::second;

}  // namespace

void http2_leftovers::end_response(http2_stream const& stream, base::mono_ns now,
                                   std::string& output) {
    if (stream.input_ended) return;
    if (requests_.size() >= announced_.streams_max) end(requests_.front().id, output);
    requests_.push_back(
        {stream.id, stream.receive_window, now + early_reset_wait, stream.announced});
}

http2_leftovers::leftover* http2_leftovers::find_request(stream_id id) {
    auto const place = std::ranges::find(requests_, id, &leftover::id);
    return place == requests_.end() ? nullptr : &*place;
}

announced_content const* http2_leftovers::find(stream_id id) {
    auto const* const request = find_request(id);
    return request == nullptr ? nullptr : &request->announced;
}

// What was answered early may still turn out to be malformed (RFC 9113 §8.1.1).
reaction http2_leftovers::drop_data(h2::frame_head const& head, std::size_t content_bytes,
                                    base::mono_ns now, std::string& output) {
    auto* const request = find_request(head.stream);
    if (request == nullptr) return {};
    request->window -= head.length;
    if (request->window < 0) return stream_fault(head.stream, error_code::flow_control_error);
    request->announced.received += content_bytes;
    bool const ends = head.has(h2::flag::end_stream);
    if (request->announced.is_wrong(ends))
        return stream_fault(head.stream, error_code::protocol_error);
    if (ends)
        forget(head.stream);
    else if (is_late(*request, now))
        end(head.stream, output);
    return {};
}

void http2_leftovers::forget(stream_id id) {
    std::erase_if(requests_, [id](leftover const& each) { return each.id == id; });
}

// Where the stream's window would be opened again, the client is told that the rest is not needed
// (RFC 9113 §8.1): it may have none left to send any.
bool http2_leftovers::needs_reset(leftover const& request) const {
    return request.window < announced_.window_bytes / 2;
}

void http2_leftovers::end(stream_id id, std::string& output) {
    h2::put_rst_stream(id, error_code::no_error, output);
    streams_.note_reset(id);
    forget(id);
}

void http2_leftovers::end_late(base::mono_ns now, std::string& output) {
    for (std::size_t i = requests_.size(); i-- > 0;)
        if (is_late(requests_[i], now)) end(requests_[i].id, output);
}

base::mono_ns http2_leftovers::deadline() const {
    base::mono_ns soonest = 0;
    for (auto const& each : requests_)
        if (needs_reset(each) && (soonest == 0 || each.reset_time < soonest))
            soonest = each.reset_time;
    return soonest;
}

}  // namespace latchkey::session
