// Keys as a kind of record: what may be done with them, and what the store as a whole does.
// Values, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/frame/action.hpp"
#include "domain/frame/expected_members.hpp"
#include "domain/frame/kept_record.hpp"
#include "domain/frame/kind.hpp"
#include "model/key.hpp"

namespace latchkey::domain {

// `record.id`, `created_at` and the slots of its limits are assigned by the store; the digest must
// be new.
struct create_key {
    model::key record;
};
// PATCH: members that are set change. A time of 0 is null.
struct change_key {
    model::id id = 0;
    std::optional<std::string> name;
    std::optional<model::environment> environment;
    std::optional<model::scope_set> scopes;
    std::optional<base::wall_ms> not_before;
    std::optional<base::wall_ms> expires_at;
    std::optional<std::vector<model::rate_limit>> rate_limits;
    std::optional<std::vector<model::cidr>> ip_allowlist;
    bool clear_metadata = false;                                 // before `metadata` is applied
    std::map<std::string, std::optional<std::string>> metadata;  // nullopt: remove it
    std::vector<expected_member> expected;
};
// Creates a key with the attributes of `id` and a digest of its own; both work until the overlap
// ends. The outcome's record is the new key.
struct rotate_key {
    model::id id = 0;
    model::digest digest{};
    std::string start, last4;
    std::int64_t overlap_ms = 0;
};
// Idempotent; `compromised` replaces any other reason.
struct deactivate_key {
    model::id id = 0;
    model::deactivation reason = model::deactivation::manual;
    bool names_keys = true;  // as compromised: those that it created
};
struct reactivate_key {
    model::id id = 0;
};
// Ends the sessions of browsers that began with that key (api.md §18).
struct end_sessions {
    model::id key = 0;
};
// Records key events caused by time alone (expiry, disuse). Idempotent. The first call of a store
// marks from when they are recorded.
struct note_key_times {
    std::vector<model::id> keys;  // at most key_times_max
};
inline constexpr std::size_t key_times_max = 256;
// Bytes of keys whose events one command records; the last key may exceed them.
inline constexpr std::size_t key_times_bytes_max = 1 << 20;
// The outcome for a key that was deactivated as compromised: the keys and webhooks that it created,
// which whoever stole it may still use. Ids descend.
struct revocation {
    model::key key;
    std::vector<model::id> keys;      // that are not deactivated, at most revoked_keys_max
    std::vector<model::id> webhooks;  // which are disabled now
    bool is_complete = true;          // false: older keys may be its too
};
inline constexpr std::size_t revoked_keys_max = 100;
inline constexpr std::size_t revoked_keys_looked_at_max = 1024;  // those created last

outcome run(transaction& txn, create_key const& action, command const& command);
outcome run(transaction& txn, change_key const& action, command const& command);
outcome run(transaction& txn, rotate_key const& action, command const& command);
outcome run(transaction& txn, deactivate_key const& action, command const& command);
outcome run(transaction& txn, reactivate_key const& action, command const& command);
outcome run(transaction& txn, end_sessions const& action, command const& command);
outcome run(transaction& txn, note_key_times const& action, command const& command);

std::size_t bytes_of(create_key const& action);
std::size_t bytes_of(change_key const& action);
std::size_t bytes_of(rotate_key const& action);
std::size_t bytes_of(note_key_times const& action);
using key_actions = types<create_key, change_key, rotate_key, deactivate_key, reactivate_key,
                          end_sessions, note_key_times>;
using key_outcomes = types<model::key, revocation>;
template <>
struct kept_record<model::key> : kept_whole<3, model::decode_key> {};
template <>
struct kept_record<revocation> {
    static constexpr std::uint8_t number = 6;
    static void append(std::string& output, revocation const& record);
    static std::optional<revocation> read(base::reader& reader);
};

void check_keys(consistency_check& check);
void check_key_lists(consistency_check& check);
extern kind const key_kind;

}  // namespace latchkey::domain
