#include "server/net/anonymous_requests.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "limit/auth_failure_limiter.hpp"

namespace latchkey::server {
namespace {

std::uint8_t place_of(std::optional<model::address> const& client, std::uint64_t seed) {
    if (!client) return 0;
    auto const bytes = limit::network_of(*client).bytes;
    return static_cast<std::uint8_t>(
        base::hash({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, seed));
}

}  // namespace

void anonymous_requests::enter(entry& request, std::optional<model::address> const& client) {
    while (count_ >= count_max) drop(oldest_of_largest(&usage::count));
    request.waits = true;
    request.bytes_ = 0;
    request.client_ = place_of(client, seed_);
    request.older_ = newest_;
    request.newer_ = nullptr;
    (newest_ != nullptr ? newest_->newer_ : oldest_) = &request;
    newest_ = &request;
    ++count_;
    ++clients_[request.client_].count;
}

bool anonymous_requests::hold(entry& request, std::size_t bytes) {
    if (!request.waits) return false;
    for (auto* const sum : {&bytes_, &clients_[request.client_].bytes})
        *sum = *sum - request.bytes_ + bytes;
    request.bytes_ = bytes;
    while (bytes_ > bytes_max_) {
        auto& other = oldest_of_largest(&usage::bytes);
        if (&other == &request) {
            leave(request);
            return false;
        }
        drop(other);
    }
    return true;
}

void anonymous_requests::leave(entry& request) {
    if (!request.waits) return;
    request.waits = false;
    (request.older_ != nullptr ? request.older_->newer_ : oldest_) = request.newer_;
    (request.newer_ != nullptr ? request.newer_->older_ : newest_) = request.older_;
    auto& client = clients_[request.client_];
    client.bytes -= request.bytes_;
    --client.count;
    bytes_ -= request.bytes_;
    --count_;
}

// At least one waits.
anonymous_requests::entry& anonymous_requests::oldest_of_largest(std::size_t usage::* size) {
    auto const client = std::ranges::max_element(clients_, {}, size) - clients_.begin();
    auto* request = oldest_;
    while (request->client_ != client) request = request->newer_;
    return *request;
}

void anonymous_requests::drop(entry& request) {
    leave(request);
    request.drop(request);
}

}  // namespace latchkey::server
