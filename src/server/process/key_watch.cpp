#include "server/process/key_watch.hpp"

#include <algorithm>
#include <utility>

#include "auth/key_form.hpp"
#include "base/system/log.hpp"

namespace latchkey::server {
namespace {

constexpr std::size_t keys_per_turn = domain::key_times_max;
constexpr base::mono_ns retry_interval = 10 * base::second;
// Reading many keys takes so small a part of the time, but no key waits longer than that.
constexpr base::mono_ns share_of_time = 20;
constexpr base::mono_ns pass_interval_max = 30 * base::second;

}  // namespace

base::mono_ns key_watch::turn(base::mono_ns now) {
    if (!hear(now) || now < next_turn_) return next_turn_;
    if (!is_passing_ && !begin_pass(now)) return next_turn_;
    read_part();
    if (port_.is_busy())
        next_turn_ = now + look_interval;  // or when it is answered
    else if (!is_passing_)
        end_pass(now);
    return next_turn_;
}

// False: it waits for an answer.
bool key_watch::hear(base::mono_ns now) {
    if (!port_.is_busy()) return true;
    auto const outcome = port_.take();
    if (!outcome) return false;
    next_turn_ = now;
    bool const is_refusal = outcome->problem != base::problem::none;
    // A node is behind also while others of its cluster cannot read changes yet.
    if (is_refusal && !was_refused_ && outcome->problem != base::problem::behind)
        base::log(base::severity::warning,
                  "what time brings about keys cannot be stored; it is tried again");
    was_refused_ = is_refusal;
    if (is_refusal) {
        next_due_ = 0;
        is_passing_ = false;
        put_off(now, retry_interval);
    } else if (!is_passing_) {
        end_pass(now);
    }
    return true;
}

// Not where no key was changed and none is due.
bool key_watch::begin_pass(base::mono_ns now) {
    snapshot_.renew();
    auto const epoch = snapshot_.key_epoch();
    bool const is_due = epoch != key_epoch_ || snapshot_.time() >= next_due_;
    snapshot_.reset();
    if (!is_due) {
        put_off(now, look_interval);
        return false;
    }
    key_epoch_ = epoch;
    is_passing_ = true;
    pass_time_ = 0;
    last_key_ = 0;
    next_due_ = INT64_MAX;
    return true;
}

// A key that is due now keeps `next_due_` in the past, so that the next pass finds it told.
void key_watch::read_part() {
    auto const begin = base::read_mono();
    snapshot_.renew();
    auto part = snapshot_.keys_with_untold_times(last_key_, keys_per_turn);
    snapshot_.reset();
    pass_time_ += base::read_mono() - begin;
    last_key_ = part.last;
    is_passing_ = part.last != 0;
    next_due_ = std::min(next_due_, part.next);
    if (part.keys.empty() && part.has_begun) return;
    domain::command command;
    command.action = domain::note_key_times{std::move(part.keys)};
    command.required_scope = std::nullopt;
    port_.submit(std::move(command));
}

void key_watch::end_pass(base::mono_ns now) {
    put_off(now, std::clamp(share_of_time * pass_time_, look_interval, pass_interval_max));
}

void key_watch::put_off(base::mono_ns now, base::mono_ns length) {
    std::uint64_t chance = 0;
    if (stagger_ != 0) auth::random_bytes(&chance, sizeof chance);
    next_turn_ = now + length;
    if (stagger_ != 0)
        next_turn_ += static_cast<base::mono_ns>(chance % static_cast<std::uint64_t>(stagger_));
}

}  // namespace latchkey::server
