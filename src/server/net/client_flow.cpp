#include "server/net/client_flow.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/bytes.hpp"
#include "base/heap_bytes.hpp"

namespace latchkey::server {
namespace {

// Output is sent in pieces, so that the progress of a slow client shows.
constexpr std::size_t send_bytes_max = 64 * base::limits::kib;
constexpr std::size_t progress_part = 64;
constexpr std::size_t buffer_bytes_min = 64;  // a string with less has no buffer of the pool

bool within(std::string_view part, std::string const& whole) {
    return !std::less<>()(part.data(), whole.data()) &&
           !std::less<>()(whole.data() + whole.size(), part.data());
}

}  // namespace

// ---- input

void client_flow::append_unread(std::string_view plain) {
    drop_consumed();
    if (kept_input_.capacity() < buffer_bytes_min) kept_input_ = context_.spare_buffers.take();
    kept_input_.append(plain);
    unread_ = kept_input_;
    account();
}

void client_flow::lend_unread(std::string_view plain) {
    if (unread_.empty())
        unread_ = plain;
    else
        append_unread(plain);
}

// The bytes that are dropped are wiped, since they may hold keys.
void client_flow::drop_consumed() {
    if (unread_.empty()) unread_ = {};
    if (kept_input_.empty()) return;
    if (unread_.empty()) {
        base::wipe(kept_input_.data(), kept_input_.size());
        context_.spare_buffers.put(std::exchange(kept_input_, {}));
    } else if (auto const used_bytes = kept_input_.size() - unread_.size(); used_bytes != 0) {
        std::memmove(kept_input_.data(), unread_.data(), unread_.size());
        base::wipe(kept_input_.data() + unread_.size(), used_bytes);
        kept_input_.resize(unread_.size());
        unread_ = kept_input_;
    }
}

// The rest lies in a buffer that goes back to the kernel now.
void client_flow::keep_unread() {
    if (unread_.empty() || within(unread_, kept_input_)) {
        drop_consumed();
    } else {
        auto const rest = std::exchange(unread_, {});
        append_unread(rest);
    }
    account();
}

// ---- output

std::string& client_flow::output() {
    if (output_.capacity() < buffer_bytes_min) output_ = context_.spare_buffers.take();
    return output_;
}

void client_flow::seal(bool is_last) {
    if (!output_.empty() && tls_.is_established()) {
        tls_.write(output_);
        if (secret_) base::wipe(output_.data(), output_.size());
        output_.clear();
        context_.spare_buffers.put(std::exchange(output_, {}));
    }
    if (is_last && output_.empty()) tls_.end();
}

bool client_flow::load() {
    std::swap(sending_, tls_.is_used() ? tls_.output() : output_);
    if (!sending_.empty()) return true;
    if (sending_.capacity() >= buffer_bytes_min)  // nothing was written: no buffer while idle
        context_.spare_buffers.put(std::exchange(sending_, {}));
    return false;
}

std::string_view client_flow::next_part() const {
    return std::string_view(sending_).substr(sent_bytes_, send_bytes_max);
}

// In proportion to what waits: a few bytes now and then are none.
bool client_flow::makes_progress() {
    auto const part = (sending_.size() - sent_bytes_) / progress_part;
    bool const begins = sent_bytes_ == 0;
    if (!begins && taken_bytes_ - progress_mark_ < part) return false;
    progress_mark_ = taken_bytes_;
    return true;
}

bool client_flow::note_sent(std::size_t bytes) {
    sent_bytes_ += bytes;
    taken_bytes_ += bytes;
    if (sent_bytes_ < sending_.size()) return true;
    sent_bytes_ = 0;
    if (secret_) base::wipe(sending_.data(), sending_.size());
    context_.spare_buffers.put(std::exchange(sending_, {}));
    return false;
}

// ---- memory

void client_flow::account() {
    output_reserved_ = output_.capacity();
    auto const bytes = body_bytes_ + base::heap_bytes(kept_input_) + base::heap_bytes(output_) +
                       base::heap_bytes(sending_) + tls_.held_bytes();
    reserved_.resize(bytes);
    watch_.note(bytes);
}

}  // namespace latchkey::server
