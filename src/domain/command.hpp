// Every change of the store is one of these commands: a value that owns its bytes, is decided
// wholly within the write transaction, and has one `outcome`. The HTTP interface and the command
// line use the same commands.
//
// Faults that a handler has found in the body come with the command; the transaction adds those
// that only it can detect (a reference to no record, a read-only member with another value), so
// that a client gets all of them at once. A command with faults writes nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/problem.hpp"
#include "base/secret.hpp"
#include "domain/store_terms.hpp"
#include "domain/webhooks/webhook_command.hpp"
#include "model/entity_tag.hpp"
#include "model/event.hpp"
#include "model/key.hpp"
#include "model/post.hpp"
#include "model/usage.hpp"
#include "model/user.hpp"

namespace latchkey::domain {

// Read-only members that a client sent back; accepted if they equal the record's. An inner nullopt
// of a time is the client's null.
struct expected_members {
    std::optional<model::id> id;
    std::optional<model::id> user_id;
    std::optional<std::optional<base::wall_ms>> created_at;
    std::optional<std::optional<base::wall_ms>> updated_at;
    std::optional<std::optional<base::wall_ms>> published_at;
};

struct create_user {
    std::string name;
    std::string email;
};
// PUT (both members set) or PATCH (those to change). If nothing differs, nothing is written and
// updated_at stays.
struct change_user {
    model::id id = 0;
    std::optional<std::string> name;
    std::optional<std::string> email;
    expected_members expected;
};
// Its posts disappear with the same commit.
struct delete_user {
    model::id id = 0;
};
struct create_post {
    std::optional<model::id> user_id;  // nullopt: the body has no valid id (a fault says so)
    std::string title;
    std::string body;
    model::post_status status = model::post_status::draft;
};
struct change_post {
    model::id id = 0;
    std::optional<std::string> title;
    std::optional<std::string> body;
    std::optional<model::post_status> status;
    expected_members expected;
};
struct delete_post {
    model::id id = 0;
};
// `record.id`, `created_at` and the slots of its limits are assigned by the store; the digest must
// be new.
struct create_key {
    model::key record;
};
// A read-only member of a key that a client sent back; a number is an id or a time.
struct expected_member {
    std::string name;
    std::variant<std::monostate, std::int64_t, std::string> value;
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
// The use of one key as one worker counted it.
struct key_use {
    model::id key = 0;
    base::wall_ms last_used = 0;  // of the last accepted request; 0: none
    base::wall_ms minute = 0;     // start of the minute of `counted`
    model::usage counted;
};
// The later last use wins, counts are added. Not a change of the key: no cache is invalidated and
// nothing is audited. Uses of keys that do not exist are ignored. Records the events key.limited of
// keys that were limited, and key.exposed of those in `exposed`.
struct note_key_uses {
    std::vector<key_use> uses;
    std::vector<model::digest> exposed = {};  // at most key_uses_max; some may be of no key
};
inline constexpr std::size_t key_uses_max = 256;  // per command; each may write four entries
// Records key events caused by time alone (expiry, disuse). Idempotent. The first call of a store
// marks from when they are recorded.
struct note_key_times {
    std::vector<model::id> keys;  // at most key_times_max
};
inline constexpr std::size_t key_times_max = 256;
// Bytes of keys whose events one command records; the last key may exceed them.
inline constexpr std::size_t key_times_bytes_max = 1 << 20;
// A request that was refused before it could become a command; its faults come with it. It reaches
// the store only so that the outcome is kept under its Idempotency-Key.
struct refuse {
    base::problem problem = base::problem::none;
    std::string detail;
};

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
// Stores an event of an external service. If one of its marks came from that source within the last
// 24 hours, nothing is written and the outcome names the event that has the mark.
struct receive_event {
    std::string source;
    std::string delivery_id;  // empty: none
    bool verified = false;
    std::vector<model::event_mark> marks;  // at most event_marks_max
    std::string payload;                   // a JSON object
};
// The record of its outcome.
struct received_event {
    model::id id = 0;
};
// Sets or replaces the secret of a source of events; the replaced one stays valid until the overlap
// ends.
struct put_event_secret {
    std::string source;
    model::event_format format = model::event_format::standard;
    base::secret secret;
    bool reveal = false;  // the outcome contains the secret, which the service generated
    std::int64_t overlap_ms = 0;
};
struct delete_event_secret {
    std::string source;
};
// `record` has what the client chose, `public_key` too; the store assigns the rest. The project is
// that of the caller, unless it has the scope `*`. The caller must have changes:read as well.
struct create_webhook {
    model::webhook record;
    model::webhook_secret secret;
};
struct webhook_signatures {
    bool v1 = true;
    bool v1a = false;
};
// A header field of a webhook in a patch: without a value it is removed.
struct header_change {
    std::string name;
    std::optional<std::string> value;
    bool keeps = false;  // the client sent the mask back: the value stays
};
// PATCH: members that are set change. The caller must have changes:read as well.
struct change_webhook {
    model::id id = 0;
    std::optional<std::string> url;
    std::optional<std::vector<std::string>> types;
    std::optional<std::string> description;
    std::optional<bool> ordered;
    std::optional<std::uint32_t> max_per_second;  // 0: no limit
    bool clear_headers = false;                   // before `headers` is applied
    std::vector<header_change> headers;
    std::optional<webhook_signatures> signatures;
    std::optional<bool> enabled;
    std::vector<expected_member> expected;
};
// Changes that the webhook was not sent yet are never sent.
struct delete_webhook {
    model::id id = 0;
};
// The replaced secret signs too until the overlap ends; one that was replaced before it does not.
struct rotate_webhook_secret {
    model::id id = 0;
    model::webhook_secret secret;
    std::array<unsigned char, 32> public_key{};
    std::int64_t overlap_ms = 0;
};
// Records the change webhook.test and makes pending deliveries of an ordered webhook due, at most
// webhook_due_max: one at a time, they end with the first that fails. Others wait for its success.
struct test_webhook {
    model::id id = 0;
};
inline constexpr std::size_t webhook_due_max = 1000;
// So many of a webhook that is not ordered become due when it is enabled: those that fail have one
// attempt less.
inline constexpr std::size_t webhook_probes_max = 10;
// Has what is kept of these changes sent again: each of `sequences`, or those since a time and
// before another, or else those from `first` to `last`. An end of 0: to the last change.
struct replay_webhook {
    model::id id = 0;
    std::vector<model::id> sequences;  // at most webhook_replays_max
    model::id first = 0;
    model::id last = 0;
    base::wall_ms start = 0;  // 0: not by time
    base::wall_ms bound = 0;
};
// Results of deliveries to one webhook, noted by the service itself. Idempotent. Webhooks that are
// gone, and deliveries of changes that are gone, are ignored.
struct webhook_result {
    model::id webhook = 0;
    std::optional<model::webhook_progress> progress;  // its position never goes back
    // Each has the delivery's state, the time of its next attempt, and the attempts to be added.
    // Attempts at a delivery that was not pending replace the earlier ones.
    std::vector<model::delivery> deliveries;
    // Replays with the sequence that each sends next; a replay whose next lies beyond its last has
    // ended.
    std::vector<model::webhook_replay> replays;
    model::webhook_end end = model::webhook_end::none;  // another disables it
};
struct note_deliveries {
    std::vector<webhook_result> results;
};
// The lease of the node that delivers: taken if there is none, it has ended, or it is its own. The
// record of the outcome is the lease that holds.
struct take_delivery_lease {
    std::string node;  // at most node_name_bytes_max
    std::int64_t length_ms = 0;
};
// Waits until the store has reached a position in the log of its cluster, and writes nothing; else
// `behind`. Only the writer waits: `apply` tells at once.
struct await_position {
    std::uint64_t position = 0;
    base::mono_ns deadline = 0;  // on the store's monotonic clock
};
// Raises the schema of the rows of a cluster to that of this program: older ones cannot apply them.
struct raise_schema {};
struct secret_result {
    std::string source;
    model::event_format format = model::event_format::standard;
    base::secret secret;  // empty: not revealed
};

struct command {
    using any_action =
        std::variant<create_user, change_user, delete_user, create_post, change_post, delete_post,
                     create_key, change_key, rotate_key, deactivate_key, reactivate_key,
                     end_sessions, note_key_uses, note_key_times, receive_event, put_event_secret,
                     delete_event_secret, create_webhook, change_webhook, delete_webhook,
                     rotate_webhook_secret, test_webhook, replay_webhook, note_deliveries,
                     take_delivery_lease, refuse, await_position, raise_schema>;
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

// `problem` none: carried out and durable. Otherwise nothing was written.
struct outcome {
    base::problem problem = base::problem::none;
    std::vector<base::fault> faults;  // with validation_failed
    std::string detail;               // a sentence for people; may be empty
    std::variant<std::monostate, model::user, model::post, model::key, received_event,
                 secret_result, webhook_outcome, delivery_lease, revocation>
        record;                      // as stored
    base::wall_ms time = 0;          // the transaction's time
    base::wall_ms last_used_at = 0;  // of the key in `record`
    bool replayed = false;           // an earlier outcome under the same Idempotency-Key
    // In a cluster: the position by which it holds, and, where what was turned off may still be
    // accepted by a node that does not answer, the end of the last lease by which it may; else 0.
    std::uint64_t position = 0;
    base::wall_ms effective_by = 0;
    base::wall_ms effective_in = 0;  // the same, from the answer on, for those with other clocks
};

}  // namespace latchkey::domain
