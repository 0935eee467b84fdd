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
    if (purge_max != 0 && in.space().write) {
        auto const most = [&] {
            auto const left = in.space().weight_max;
            return std::min(purge_max, left - std::min(left, in.weight()));
        };
        if (in.heads().purges != 0) purge_some(in, most());
        made.more_expired = expire_usage(in, most());
        made.more_expired |= expire_events(in, most());
    }
    made.more_to_purge = in.heads().purges != 0;
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
