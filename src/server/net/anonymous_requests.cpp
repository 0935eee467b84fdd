#include "server/net/anonymous_requests.hpp"

namespace latchkey::server {

void anonymous_requests::enter(entry& request) {
    while (count_ >= count_max) drop_oldest();
    request.waits = true;
    request.bytes_ = 0;
    request.older_ = newest_;
    request.newer_ = nullptr;
    (newest_ != nullptr ? newest_->newer_ : oldest_) = &request;
    newest_ = &request;
    ++count_;
}

bool anonymous_requests::hold(entry& request, std::size_t bytes) {
    if (!request.waits) return false;
    bytes_ = bytes_ - request.bytes_ + bytes;
    request.bytes_ = bytes;
    while (bytes_ > bytes_max_ && oldest_ != &request) drop_oldest();
    if (bytes_ <= bytes_max_) return true;
    leave(request);
    return false;
}

void anonymous_requests::leave(entry& request) {
    if (!request.waits) return;
    request.waits = false;
    (request.older_ != nullptr ? request.older_->newer_ : oldest_) = request.newer_;
    (request.newer_ != nullptr ? request.newer_->older_ : newest_) = request.older_;
    bytes_ -= request.bytes_;
    --count_;
}

void anonymous_requests::drop_oldest() {
    auto& request = *oldest_;
    leave(request);
    request.drop(request);
}

}  // namespace latchkey::server
