#include "helpers/deliver/protocol/helper_link.hpp"

#include <utility>

#include "base/check.hpp"

namespace latchkey::deliver::protocol {

std::size_t helper_link::capacity() const {
    if (!is_ready_ || bytes_ >= attempts_bytes_max) return 0;
    return attempts_max - in_flight_.size();
}

void helper_link::begin(attempt const& attempt) {
    base::check(capacity() > 0, "an attempt that the helper cannot take");
    auto bytes = encode(attempt);
    bool const added = in_flight_.emplace(attempt.number, bytes.size()).second;
    base::check(added, "an attempt that is in flight already");
    bytes_ += bytes.size();
    channel_.queue(std::move(bytes));
}

// Received first: a hello voids what is unsent.
base::result<helper_link::arrivals> helper_link::turn() {
    arrivals arrivals;
    base::result<void> progress;
    auto const intake = kit::receive_each(channel_, decode, [&](message&& content) {
        progress = take(std::move(content), arrivals);
        return progress.has_value();
    });
    if (!intake) return base::error{"latchkey-deliver: " + intake.error().message};
    if (!progress) return progress.error();
    if (auto const flushed = channel_.flush(); !flushed)
        return base::error{"latchkey-deliver: " + flushed.error().message};
    return arrivals;
}

base::result<void> helper_link::take(message&& content, arrivals& arrivals) {
    if (auto* const result = std::get_if<deliver::protocol::result>(&content)) {
        if (land(result->number)) arrivals.results.push_back(std::move(*result));
        return {};
    }
    if (auto const* const unsent = std::get_if<deliver::protocol::unsent>(&content)) {
        if (land(unsent->number)) arrivals.lost_ids.push_back(unsent->number);
        return {};
    }
    if (auto const* const hello = std::get_if<deliver::protocol::hello>(&content))
        return greet(*hello, arrivals);
    return base::error{"latchkey-deliver: a message that a helper does not send"};
}

// A result of what is not in flight comes from a helper that told it twice, and means nothing.
bool helper_link::land(std::uint64_t number) {
    auto const flight = in_flight_.find(number);
    if (flight == in_flight_.end()) return false;
    bytes_ -= flight->second;
    in_flight_.erase(flight);
    return true;
}

// A helper comes with no memory of the one before it.
base::result<void> helper_link::greet(hello const& hello, arrivals& arrivals) {
    channel_.drop_unsent();
    for (auto const& [number, bytes] : in_flight_) arrivals.lost_ids.push_back(number);
    in_flight_.clear();
    bytes_ = 0;
    if (hello.version != protocol_version)
        return base::error{
            "latchkey-deliver is of another version than latchkey: install both from one package"};
    channel_.queue(encode(deliver::protocol::begin{hello.session}));
    is_ready_ = true;
    return {};
}

}  // namespace latchkey::deliver::protocol
