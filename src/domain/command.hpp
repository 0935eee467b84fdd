// Every change of the store is a command: a value that owns its bytes, is decided wholly within the
// write transaction, and has one `outcome`. What it asks for is an action of some kind of record,
// declared beside that record and joined in kind_list.hpp. The HTTP interface and the command
// line use the same commands.
//
// Faults that a handler has found in the body come with the command; the transaction adds those
// that only it can detect (a reference to no record, a read-only member with another value), so
// that a client gets all of them at once. A command with faults writes nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "domain/kind_list.hpp"
#include "model/address.hpp"
#include "model/entity_tag.hpp"
#include "model/key.hpp"

namespace latchkey::domain {

// An Idempotency-Key (api.md §9): a command with one is carried out once, and its outcome is kept
// for 24 hours in the same transaction. A later command with the same key and the same request gets
// that outcome; with another request it is rejected as idempotency_key_reused.
struct idempotency {
    model::id lineage = 0;    // of the caller: model::key::line()
    model::digest key{};      // SHA-256 of the Idempotency-Key
    model::digest request{};  // SHA-256 of the request, without credentials
};
inline constexpr base::wall_ms idempotency_ms = 24 * 3600 * 1000;
// Is an outcome kept? Success and failures of the request itself (404, 409, 412, 422, 428), so that
// a repeat has the same outcome even if the reason is gone; not failures that may not recur (401,
// 403, 429, 5xx), nor requests that could not be read (400), which a client may repair under the
// same key.
bool is_kept(base::problem problem);

// The tags of an If-Match or If-None-Match (RFC 9110 §13.1).
struct tag_list {
    bool any = false;  // `*`
    std::vector<model::entity_tag> tags;
    bool has(std::optional<model::entity_tag> const& tag) const;
};
// Conditions on the record, evaluated where it is read.
struct conditions {
    std::optional<tag_list> match;       // the tag must be one of these: else precondition_failed
    std::optional<tag_list> none_match;  // the tag must be none of these: else precondition_failed
    bool required = false;               // without `match`: precondition_required
};
struct command {
    using any_action = domain::any_action;
    any_action action;
    model::id caller = 0;  // the key of the request, which must still be active; 0: the operator
    // The scope that the caller must still have; nullopt: none.
    std::optional<model::scope> required_scope = model::scope::any;
    // The caller shows a token that has these alone; what counts of the key's scopes is in both.
    std::optional<model::scope_set> token_scopes;
    std::optional<model::address> address;  // of the caller, for the audit log
    std::vector<base::fault> faults;
    domain::conditions conditions;
    std::optional<domain::idempotency> idempotency;

    std::size_t bytes() const;  // approximate size in memory
};

// `problem` none: carried out and durable. Otherwise nothing was written.
struct outcome {
    base::problem problem = base::problem::none;
    std::vector<base::fault> faults;  // with validation_failed
    std::string detail;               // a sentence for people; may be empty
    any_record record;                // as stored
    base::wall_ms time = 0;           // the transaction's time
    base::wall_ms last_used_at = 0;   // of the key in `record`
    bool replayed = false;            // an earlier outcome under the same Idempotency-Key
    // In a cluster: the position by which it holds, and, where what was turned off may still be
    // accepted by a node that does not answer, the end of the last lease by which it may; else 0.
    std::uint64_t position = 0;
    base::wall_ms effective_by = 0;
    base::wall_ms effective_in = 0;  // the same, from the answer on, for those with other clocks
};

}  // namespace latchkey::domain
