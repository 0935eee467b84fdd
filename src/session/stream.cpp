#include "session/stream.hpp"

#include "api/exchange/exchange_size.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::session {
namespace {

constexpr std::size_t spare_streams_max = 256;
constexpr std::size_t spare_text_bytes_max = 8 * 1024;  // per text of a pooled stream

}  // namespace

std::size_t stream::held_bytes() const {
    return sizeof *this + api::exchange_state_bytes() + request_copy.heap_bytes() +
           base::heap_bytes(body);
}

void stream::forget_request(std::size_t kept_bytes_max) {
    if (!request_copy.empty()) request_copy.clear(kept_bytes_max);
    base::wipe(body.data(), body.size());
    body.clear();
    if (body.capacity() > kept_bytes_max) body.shrink_to_fit();
}

void refuse_large_answer(stream& request, http::response& response, server_state const& server) {
    auto const bytes = response.body.size();
    if (!server.short_of_memory || bytes <= base::limits::unbudgeted_bytes_max) return;
    auto const key = static_cast<std::uint64_t>(request.exchange.key_id());
    bool const is_within =
        key != 0 && (server.quota == nullptr || server.quota->admits_answer(key, bytes));
    if (is_within) return;
    response.clear();
    request.exchange.refuse_and_close(base::problem::overloaded, response);
    response.close = key == 0;  // A key would pay for a new connection without need.
}

std::size_t event_bytes_max(api::event_stream const& events, server_state const& server) {
    constexpr auto step = base::limits::stream_step_bytes_max;
    auto const key = static_cast<std::uint64_t>(events.key_id());
    bool const is_within = !server.short_of_memory || server.quota == nullptr ||
                           server.quota->admits_answer(key, step);
    return is_within ? step : 0;
}

void keep_request(stream& owner, http::request const& request) {
    if (!owner.request_copy.empty()) return;
    owner.request_copy.keep(request);
    owner.body.assign(request.body);
}

void restore_request(stream const& owner, http::request& request) {
    owner.request_copy.restore(request);
    request.body = owner.body;
}

domain::command take_command(stream& owner) {
    auto command = owner.exchange.take_command();
    if (!owner.exchange.waits()) owner.forget_request(0);
    return command;
}

stream_pool::handle stream_pool::take() {
    ++in_use_;
    if (spare_.empty()) return handle(new stream, {this});
    auto* const reused = spare_.back().release();
    spare_.pop_back();
    return handle(reused, {this});
}

void stream_pool::put(stream* returned_stream) {
    std::unique_ptr<stream> owned(returned_stream);
    --in_use_;
    owned->exchange.end();
    owned->forget_request(spare_text_bytes_max);
    if (spare_.size() < spare_streams_max) spare_.push_back(std::move(owned));
}

}  // namespace latchkey::session
