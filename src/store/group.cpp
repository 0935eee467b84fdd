#include <algorithm>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "store/commands.hpp"

namespace latchkey::store {
namespace {

constexpr std::size_t bytes_per_weight =
    base::limits::command_bytes_per_commit_max / base::limits::commands_per_commit_max;

struct attempt {
    bool begun = true;
    std::size_t applied = 0;
    bool committed = false;
    bool more_to_purge = false;
    bool more_expired = false;
    bool freed_when_full = false;
    int failure = 0;
};

std::size_t weight_max(transaction& in) {
    return in.wrote() ? in.space().weight_max : base::limits::commands_per_commit_max;
}

// What every group does for those before it, as far as there is room for that.
void tidy_up(transaction& in, std::size_t purge_max, attempt& made) {
    made.more_to_purge = in.heads().purges != 0;
    if (purge_max == 0) return;
    auto const at_most = [&](std::size_t count) {
        auto const most = in.space().weight_max;
        // Groups that are always full must not keep from going what is old.
        auto const least = most == base::limits::commands_per_commit_max ? most / 4 : 0;
        return std::min(count, std::max(most - std::min(most, in.weight()), least));
    };
    if (!in.space().write) {
        made.more_to_purge = false;  // later commands look again
        return;
    }
    if (in.heads().purges != 0) purge_some(in, at_most(purge_max));
    made.more_to_purge = in.heads().purges != 0;
    made.more_expired = expire_usage(in, at_most(purge_max));
    made.more_expired |= expire_events(in, at_most(purge_max));
    if (has_expired(in))
        made.more_expired |= forget_some(in, at_most(std::max(purge_max, 2 * made.applied)));
}

attempt try_group(environment::state& store, std::span<job const> jobs, std::size_t purge_max) {
    transaction in(store);
    attempt made;
    made.failure = in.failure();
    made.begun = made.failure == 0;
    while (made.failure == 0 && made.applied < jobs.size() && in.weight() < weight_max(in)) {
        auto const& each = jobs[made.applied++];
        *each.answer = decide(in, *each.what);
        in.weigh(1 + each.what->bytes() / bytes_per_weight);
        made.failure = in.failure();
    }
    if (made.failure != 0) return made;
    tidy_up(in, purge_max, made);
    made.committed = in.wrote();
    made.freed_when_full = in.wrote() && !in.space().grow;
    made.failure = in.commit();
    return made;
}

// LMDB uses pages again in the second transaction after the one that freed them. In a store that is
// full nothing but deletions would come, so the last of them would not make room without this.
void make_freed_pages_usable(environment::state& store) {
    transaction in(store);
    in.touch();
    in.commit();
}

outcome failed(int code) {
    if (code == MDB_MAP_FULL) return refused(base::problem::storage_full);
    base::say(base::severity::failure, lmdb_error("a command failed in the store", code).message);
    return refused(base::problem::internal_error);
}

}  // namespace

group_result apply_group(environment::state& store, std::span<job const> jobs,
                         std::size_t purge_max) {
    for (auto some = jobs;;) {
        auto const made = try_group(store, some, purge_max);
        if (made.failure == 0) {
            if (made.freed_when_full) make_freed_pages_usable(store);
            return {made.applied, made.committed, made.more_to_purge, made.more_expired, 0};
        }
        if (!made.begun) {
            for (auto const& each : jobs) *each.answer = failed(made.failure);
            return {.done = jobs.size(), .failure = made.failure};
        }
        if (jobs.empty()) {
            base::say(
                base::severity::failure,
                lmdb_error("what is gone cannot be removed from the store", made.failure).message);
            return {.more_to_purge = true, .failure = made.failure};
        }
        if (purge_max != 0) {
            purge_max = 0;  // whoever is at fault, the commands must not pay for the purge
        } else if (made.applied == 1) {
            *some.front().answer = failed(made.failure);
            return {.done = 1};
        } else {
            // Whatever was decided in there is void. Fewer at once may fit, and one alone will be
            // told its own fate.
            some = some.first(made.applied / 2);
        }
    }
}

}  // namespace latchkey::store
