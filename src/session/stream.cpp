#include "session/stream.hpp"

#include "base/bytes.hpp"
#include "base/limits.hpp"

namespace latchkey::session {
namespace {

constexpr std::size_t spare_streams_max = 256;
constexpr std::size_t spare_text_bytes_max = 8 * 1024;  // per text of a pooled stream

}  // namespace

void refuse_large_document(stream& request, http::response& response) {
    bool const is_large = response.body.size() > base::limits::unbudgeted_bytes_max;
    if (!is_large || request.exchange.key_id() != 0) return;
    response.clear();
    request.exchange.refuse_and_close(base::problem::overloaded, response);
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
    if (!owned->request_copy.empty()) owned->request_copy.clear(spare_text_bytes_max);
    auto& body = owned->body;
    base::wipe(body.data(), body.size());
    body.clear();
    if (body.capacity() > spare_text_bytes_max) body.shrink_to_fit();
    if (spare_.size() < spare_streams_max) spare_.push_back(std::move(owned));
}

}  // namespace latchkey::session
