#include "helpers/replicate/lane_context.hpp"

#include <time.h>

#include <algorithm>

#include "base/system/log.hpp"
#include "base/time_units.hpp"

namespace latchkey::replicate {
namespace {

constexpr std::size_t unsent_bytes_max = kit::message_bytes_max;

}  // namespace

replicate::protocol::boot_ns read_boot_clock() {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return time.tv_sec * base::second + time.tv_nsec;
}

void outbox::send(replicate::protocol::message content, std::uint32_t request) {
    channel_.queue(
        replicate::protocol::encode({.request = request, .content = std::move(content)}));
    news_.set();
}

void outbox::fail(replicate::protocol::failure reason, std::string text, std::uint32_t request) {
    text.resize(std::min(text.size(), replicate::protocol::text_bytes_max));
    send(replicate::protocol::failed{.reason = reason, .text = std::move(text)}, request);
}

bool outbox::is_full() const {
    return channel_.unsent_bytes() > unsent_bytes_max;
}

void context::stop_for_good(replicate::protocol::failure reason, std::string text) {
    if (stopped) return;
    stopped = true;
    text.resize(std::min(text.size(), replicate::protocol::text_bytes_max));
    stop_reason = {.reason = reason, .fatal = true, .text = std::move(text)};
    out.send(stop_reason);
}

void context::advance(std::uint64_t row, replicate::protocol::identity const& row_nonce) {
    head = std::max(head, row);
    if (row <= position) return;
    position = row;
    nonce = row_nonce;
}

void context::report(bool& lane_connected, bool connected, std::string const& text) {
    lane_connected = connected;
    bool const both = append_connected && follow_connected;
    if (connected && !both) return;
    if (engine_told == both && (both || engine_text == text)) return;
    engine_told = both;
    engine_text = text;
    replicate::protocol::engine news{.connected = both, .text = text};
    news.text.resize(std::min(news.text.size(), replicate::protocol::text_bytes_max));
    out.send(std::move(news));
}

}  // namespace latchkey::replicate
