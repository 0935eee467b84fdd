#include "session/http2_streams.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::session {
namespace {

constexpr std::size_t remembered_resets = 256;

}  // namespace

http2_stream* http2_streams::find(stream_id id) const {
    auto const place = std::ranges::lower_bound(
        all_, id, {}, [](std::unique_ptr<http2_stream> const& each) { return each->id; });
    return place != all_.end() && (*place)->id == id ? place->get() : nullptr;
}

http2_stream& http2_streams::take(stream_id id, std::uint32_t send_window,
                                  std::uint32_t receive_window, stream_pool::handle work) {
    if (!fresh_) fresh_ = std::make_unique<http2_stream>();
    fresh_->begin(id, send_window, receive_window);
    fresh_->work = std::move(work);
    return *fresh_;
}

void http2_streams::enter(http2_stream& stream,
                          std::shared_ptr<options const> const& configuration) {
    if (!is_fresh(stream)) return;
    fresh_->configuration = configuration;
    all_.push_back(std::move(fresh_));
}

void http2_streams::leave(stream_id id) {
    auto const place = std::ranges::find(
        all_, id, [](std::unique_ptr<http2_stream> const& each) { return each->id; });
    if (place == all_.end()) return;
    held_bytes_ -= (*place)->counted_bytes;
    pending_bytes_ -= (*place)->counted_content_bytes;
    (*place)->end();
    if (!fresh_) fresh_ = std::move(*place);
    all_.erase(place);
}

void http2_streams::reset(stream_id id) {
    auto* const stream = find(id);
    if (stream == nullptr) return;
    stream->reset = true;
    if (!stream->is_busy()) leave(id);
}

// The sums go on from the last ones: neither a frame of a byte nor a commit may cost a look at each
// stream.
void http2_streams::count_held(http2_stream& stream) {
    auto const bytes = stream.held_bytes(), content_bytes = base::heap_bytes(stream.content);
    held_bytes_ += bytes - std::exchange(stream.counted_bytes, bytes);
    pending_bytes_ += content_bytes - std::exchange(stream.counted_content_bytes, content_bytes);
}

void http2_streams::keep_body(http2_stream& stream, std::string_view content) {
    stream.work->body.append(content);
    count_held(stream);
}

// §5.1.1: a new stream closes the idle ones below it, which are no longer to be opened.
void http2_streams::note_opened(stream_id id) {
    auto const distance = (id - highest_) / 2;
    history_ = (distance < 64 ? history_ << distance : 0) | 1;
    highest_ = id;
}

// Of the latest 64 streams; what lies below them counts as closed in order.
bool http2_streams::was_left_out(stream_id id) const {
    auto const distance = (highest_ - id) / 2;
    return distance < 64 && (history_ >> distance & 1) == 0;
}

void http2_streams::note_reset(stream_id id) {
    if (resets_.size() < remembered_resets) return resets_.push_back(id);
    resets_[next_reset_++ % remembered_resets] = id;
}

bool http2_streams::is_ignored(stream_id id) const {
    return std::ranges::find(resets_, id) != resets_.end() || id > last_served_;
}

}  // namespace latchkey::session
