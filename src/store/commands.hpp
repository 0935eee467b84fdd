// Commands decided and written within one transaction: every rule that needs the store's state, in
// the order of API §3 (caller, faults, existence, conflicts). Commands are const, since a group
// that fails is applied again. Private to the store.
#pragma once

#include <span>

#include "store/command.hpp"
#include "store/transaction.hpp"

namespace latchkey::store {

// Believe the outcome only when `in.failure()` is 0 afterwards.
outcome decide(transaction& in, command const& whole);

// One function for each kind; `whole` has the caller and the faults. (user_commands.cpp …)
outcome run(transaction& in, create_user const& what, command const& whole);
outcome run(transaction& in, change_user const& what, command const& whole);
outcome run(transaction& in, delete_user const& what, command const& whole);
outcome run(transaction& in, create_post const& what, command const& whole);
outcome run(transaction& in, change_post const& what, command const& whole);
outcome run(transaction& in, delete_post const& what, command const& whole);
outcome run(transaction& in, create_key const& what, command const& whole);
outcome run(transaction& in, change_key const& what, command const& whole);
outcome run(transaction& in, rotate_key const& what, command const& whole);
outcome run(transaction& in, deactivate_key const& what, command const& whole);
outcome run(transaction& in, reactivate_key const& what, command const& whole);
outcome run(transaction& in, note_key_uses const& what, command const& whole);
outcome run(transaction& in, receive_event const& what, command const& whole);
outcome run(transaction& in, put_event_secret const& what, command const& whole);
outcome run(transaction& in, delete_event_secret const& what, command const& whole);

// What they share. (decide.cpp)
outcome refused(base::problem problem, std::string detail = {});
outcome invalid(std::vector<base::fault> faults);
// A record that is not there: 422 for what was wrong anyway, else 404.
outcome missing(command const& whole, std::string detail);
// The disk or the map is full; `growing` also when only deletions go on.
std::optional<base::problem> no_room(transaction& in, bool growing);

// Adds a read_only_field fault where a member was sent back that differs from the record's.
struct read_only_members {
    model::id id = 0;
    std::optional<model::id> user_id;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    std::optional<base::wall_ms> published_at;  // 0: null
};
void compare(expected_members const& sent, read_only_members const& record,
             std::vector<base::fault>& faults);

// Purging. (purge.cpp)
void erase_post(transaction& in, model::post_view const& post);  // record and indexes, no counts
std::size_t erase_posts_of(transaction& in, model::id user, std::size_t most);  // how many
bool is_doomed(transaction& in, model::id user);
// Removes up to `most` posts of deleted users.
void purge_some(transaction& in, std::size_t most);
// Removes events that are older than they are kept, up to about `most` in weight (a large one
// counts more); true: there are more. (event_record.cpp)
bool expire_events(transaction& in, std::size_t most);

// Removes up to `most` entries of usage that are not kept any longer; true: there may be more.
// (usage.cpp)
bool expire_usage(transaction& in, std::size_t most);

// A group: applies as many jobs from the front as one transaction may hold (at least one), commits,
// and answers them; then, in the same transaction, removes up to `purge_max` posts of deleted users
// and as many expired events and entries of usage. With no jobs it only does that. (group.cpp)
struct job {
    command const* what;
    outcome* answer;
};
struct group_result {
    std::size_t done = 0;        // jobs that are answered
    bool committed = false;      // false: nothing had to be written
    bool more_to_purge = false;  // posts of deleted users
    bool more_expired = false;   // events, usage
    int failure = 0;             // of the whole store, not of one job: nothing could be begun
};
group_result apply_group(environment::state& store, std::span<job const> jobs,
                         std::size_t purge_max);

}  // namespace latchkey::store
