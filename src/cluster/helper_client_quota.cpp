// Limits across nodes on the node's thread: what the tokens of this node need of the engine.
#include <unistd.h>

#include <limits>
#include <utility>

#include "cluster/helper_client.hpp"

namespace latchkey::cluster {

void helper_client::wake_thread() const {
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const size = ::write(wakes.get(), &one, sizeof one);
}

// A helper that has no engine refuses each ask, which says that the engine is away.
bool helper_client::can_ask() const {
    return tokens.quota && wants_lease && engine.is_ready && !engine.fatal && !closed;
}

boot_ns helper_client::next_ask_time() const {
    return can_ask() ? tokens.quota->next_time() : std::numeric_limits<boot_ns>::max();
}

void helper_client::ask_for_tokens() {
    if (!can_ask()) return;
    auto const time = now();
    auto& quota = *tokens.quota;
    if (!std::exchange(tokens.is_attached, true)) quota.attach();
    if (auto const end = lease.end_time(); end != tokens.lease_end) {
        quota.hold_lease(end, time);
        tokens.lease_end = end;
    }
    auto const lost_asks = quota.count().losses;
    if (auto question = quota.next_ask(time)) {
        tokens.question = question->id;
        tokens.request = calls.next();
        send(std::move(question->ask), tokens.request);
    }
    if (quota.count().losses != lost_asks) tell_tokens();
}

void helper_client::take_tokens(replicate::protocol::message const& content) {
    tokens.request = 0;
    if (auto const* const answer = std::get_if<replicate::protocol::quota_answer>(&content))
        tokens.quota->on_answer(tokens.question, *answer, now());
    else
        tokens.quota->on_lost(tokens.question, now());
    tell_tokens();
}

void helper_client::tell_tokens() {
    std::lock_guard const mutex_lock(wake_mutex);
    if (wake_workers) wake_workers();
}

}  // namespace latchkey::cluster
