// Everything that changes the store is one of these: a value that owns its bytes, is decided wholly
// inside the write transaction, and ends in one `outcome`. The same commands serve the HTTP
// interface and the command line.
//
// What a handler already found wrong with the body travels along in `faults`; the transaction adds
// what only it can know (a reference that does not exist, a read-only member that differs), so a
// client gets all of it at once. A command with faults writes nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/problem.hpp"
#include "base/secret.hpp"
#include "model/event.hpp"
#include "model/key.hpp"
#include "model/post.hpp"
#include "model/usage.hpp"
#include "model/user.hpp"

namespace latchkey::store {

// Read-only members that a client sent back: allowed when they are what the record has. An inner
// nullopt of a time is the client's null.
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
// PUT (both members set) and PATCH (those to change). When nothing differs, nothing is written and
// updated_at stays.
struct change_user {
    model::id id = 0;
    std::optional<std::string> name;
    std::optional<std::string> email;
    expected_members expected;
};
// Its posts vanish with the same commit.
struct delete_user {
    model::id id = 0;
};
struct create_post {
    std::optional<model::id> user_id;  // nullopt: the body's was not even an id (a fault says so)
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
// `record.id`, `created_at` and `limit_slots` are assigned here; the digest must be new.
struct create_key {
    model::key record;
};
// One read-only member of a key that was sent back; a number is an id or a time.
struct sent_member {
    std::string name;
    std::variant<std::monostate, std::int64_t, std::string> value;
};
// PATCH: those that are set change. A time of 0 is null.
struct change_key {
    model::id id = 0;
    std::optional<std::string> name;
    std::optional<model::environment> environment;
    std::optional<model::scope_set> scopes;
    std::optional<base::wall_ms> not_before;
    std::optional<base::wall_ms> expires_at;
    std::optional<std::vector<model::rate_limit>> rate_limits;
    std::optional<std::vector<model::cidr>> ip_allowlist;
    bool clear_metadata = false;                                 // before what follows
    std::map<std::string, std::optional<std::string>> metadata;  // nullopt: the member goes
    std::vector<sent_member> expected;
};
// Makes a key with the settings of `id` and a digest of its own; until the overlap ends both work.
// The outcome's record is the new key.
struct rotate_key {
    model::id id = 0;
    model::digest digest{};
    std::string start, last4;
    std::int64_t overlap_ms = 0;
};
// Again: done, and `compromised` replaces any other reason.
struct deactivate_key {
    model::id id = 0;
    model::deactivation reason = model::deactivation::manual;
};
struct reactivate_key {
    model::id id = 0;
};
// What one worker saw of one key.
struct key_use {
    model::id key = 0;
    base::wall_ms last_used = 0;  // a request with it was accepted then; 0: none was
    base::wall_ms minute = 0;     // when what was counted began
    model::usage counted;
};
// The later last use wins, counts are added to what is there. No change of a key: no caches drop
// anything, and nothing is audited. What is of no key is left out.
struct note_key_uses {
    std::vector<key_use> uses;
};
inline constexpr std::size_t key_uses_max = 256;  // of one command; each may write four entries
// Keeps what an external service sent. When one of its marks came from that source within the last
// 24 hours, nothing is written and the outcome is that of the event that has it.
struct receive_event {
    std::string source;
    std::string delivery_id;  // empty: none
    bool verified = false;
    std::vector<model::event_mark> marks;  // at most event_marks_max
    std::string payload;                   // a JSON object
};
// What came of it.
struct received_event {
    model::id id = 0;
};
// Sets or replaces the secret of a source of events; the one that it replaces signs on until the
// overlap ends.
struct put_event_secret {
    std::string source;
    model::event_format format = model::event_format::standard;
    base::secret secret;
    bool shown = false;  // the outcome is to have it: it was made for this
    std::int64_t overlap_ms = 0;
};
struct delete_event_secret {
    std::string source;
};
struct kept_secret {
    std::string source;
    model::event_format format = model::event_format::standard;
    base::secret shown;  // empty: not to be
};

struct command {
    using kind =
        std::variant<create_user, change_user, delete_user, create_post, change_post, delete_post,
                     create_key, change_key, rotate_key, deactivate_key, reactivate_key,
                     note_key_uses, receive_event, put_event_secret, delete_event_secret>;
    kind what;
    model::id caller = 0;  // the key it is done with, which must still be active; 0: the operator
    // What the caller must still be allowed; nullopt: it needs only be active.
    std::optional<model::scope> needs = model::scope::any;
    std::optional<model::address> from;  // where the caller is, for the audit log
    std::vector<base::fault> faults;

    std::size_t bytes() const;  // about what it holds in memory
};

// `problem` none: done, and on disk. Otherwise nothing of it was written.
struct outcome {
    base::problem problem = base::problem::none;
    std::vector<base::fault> faults;  // with validation_failed
    std::string detail;               // a sentence for people, may be empty
    std::variant<std::monostate, model::user, model::post, model::key, received_event, kept_secret>
        record;                      // as stored
    base::wall_ms at = 0;            // the transaction's time
    base::wall_ms last_used_at = 0;  // of the key in `record`
};

}  // namespace latchkey::store
