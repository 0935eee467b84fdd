// The layout of the store: few LMDB databases, since each named one costs time at every renew.
// Numbers are big-endian, so keys sort by their parts. Private to store and domain.
//
// Each value is followed by its checksum (8), see checksum.hpp; "–" is an entry whose key says it
// all and whose value is the checksum alone. Only 01 has no checksum: no other content of it is
// accepted, and programs of every version read it.
//
//   database  key                                   value
//   users     id (8)                                model::encode(user)
//   posts     id (8)                                model::encode(post)
//   audit     id (8)                                an entry of the audit log, see audit.cpp
//   events    id (8)                                model::encode(event)
//   changes   sequence (8)                          a change, see change_record.hpp
//   deliveries sequence (8), webhook id (8)         model::encode(delivery)
//   index     00                                    cluster (16): the state of that cluster is
//                                                   being loaded and is not complete
//             01                                    "latchkey", schema version (4)
//             02                                    counters, see below
//             03                                    the age time (8), while it is behind the last
//                                                   write (transaction::age_time)
//             10 e-mail, folded                     user id (8)
//             11 user id (8), post id (8)           –
//             12 status (1), post id (8)            user id (8)
//             13 user id (8), status (1), post (8)  –
//             14 user id (8)                        tally: its posts by status (3 × 8)
//             15 user id (8)                        a deleted user: its posts to be removed (8)
//             20 key id (8)                         model::encode(key)
//             21 SHA-256 (32)                       key id (8), of kind `jwt` too: see
//                                                   model::bearer_identity
//             22 epoch modulo 1,024 (2)             epoch (8), SHA-256 of the changed key (32)
//             23 key id (8)                         when it was last used (8)
//             24 granularity (1), start (8), id (8) model::encode(usage) of a key within that time
//             25 key id (8)                         –, for keys that may manage keys
//             26 project 00 environment (1), id     –, an entry for each list a key is in
//             27 project 00 environment (1)         how many entries of 26 (8)
//             28 start (8), key id (8)              –
//             29                                    the audit log's last id (8) and hash (32)
//             2a project 00, entry id (8)           –, entries of the audit log by project; an
//                                                   empty one has those about sources of events
//             2b project                            how many entries of 2a (8)
//             2c key id (8)                         how many entries of `audit` it has made, since
//                                                   programs count them (8)
//             30 key id (8), SHA-256 (32)           the outcome under an Idempotency-Key, see
//                                                   kept_outcome.cpp; the id is a line's
//             31 time (8), rest as in 30            –, when that outcome is to go
//             40                                    the last event's id (8), how many there are (8)
//             41 source 00, event id (8)            –
//             42 source 00, mark (32)               event id (8), when it was received (8)
//             43 source                             its secrets, see event_secret_record.hpp
//             44 source                             how many events it has (8)
//             50 load (8)                           how far a bulk load has come, see bulk_load.cpp
//             51 load (8), user id of its source    the id it has here (8); 0: it was refused
//             60                                    cluster (16), position (8), schema (4), nonce
//                                                   of the row at that position (16)
//             70                                    the last webhook's id, their number (8 each)
//             71 webhook id (8)                     the webhook, see webhook_record.hpp
//             72 webhook id (8)                     model::encode(webhook_progress)
//             73 webhook id (8), ordinal (8)        next and last sequence of a replay (8 each)
//             74 webhook id (8), sequence (8)       –, for deliveries that are pending
//             75                                    the node that delivers: until (8), name
//             76                                    since when what time brings about keys is told
//                                                   (8)
//             76 key id (8)                         what of a key was told, see key_notice.hpp
//
// 00, 01 and 60 are local: they say something about this copy and are never among the effects that
// other nodes of a cluster apply (effects.hpp). 60 is absent in a store that is no node.
//
// 14 is absent for a user without posts. Lists of keys: an empty project stands for all projects,
// environment ff for all environments. 25 has no deactivated keys, but expired ones.
//
// 24 is ordered by granularity and start, then by key: what one flush writes is adjacent (1,000
// keys: fewer than 100 pages instead of 3,000), and expired entries come first, so they go in
// batches. The cost is one look-up per point when usage is read, at most 24 of them.
//
// An entry of 42 lives as long as its event and counts for its first 24 hours; a later event with
// the same mark takes it over.
//
// The last entry of `changes` is never removed: the next sequence follows it. A delivery goes with
// its change.
//
// `users`, `posts`, `events` and `changes` are appended to in the order of their ids (MDB_APPEND),
// so their pages are full. 12 has the user, so that a list can leave out the posts of deleted users
// without reading them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "model/id.hpp"
#include "model/post.hpp"
#include "model/usage.hpp"
#include "store/shared_log.hpp"

namespace latchkey::store {

inline constexpr std::uint32_t schema_version = 5;
inline constexpr std::string_view schema_magic = "latchkey";

enum class table : std::uint8_t { users, posts, index, audit, events, changes, deliveries };
inline constexpr std::size_t table_count = 7;
inline constexpr char const* table_names[table_count] = {"users",  "posts",   "index",     "audit",
                                                         "events", "changes", "deliveries"};
// The schema, of a row in a cluster or of a store, from which the tables `changes` and `deliveries`
// exist.
inline constexpr std::uint32_t schema_of_changes = 3;
// The schema from which keys of kind `jwt` exist.
inline constexpr std::uint32_t schema_of_bearers = 4;
// The schema from which keys may have the scope `keys:verify_all`.
inline constexpr std::uint32_t schema_of_verify_all = 5;

// A kind of record that came later has its tags beside its record, in the same way, and all kinds
// name theirs in their rows (domain/frame/kind.hpp).
enum class tag : std::uint8_t {
    unfinished_load = 0x00,
    schema = 0x01,
    counters = 0x02,
    age_time = 0x03,
    email = 0x10,
    post_by_user = 0x11,
    post_by_status = 0x12,
    post_by_user_status = 0x13,
    tally = 0x14,
    purge = 0x15,
    key = 0x20,
    key_digest = 0x21,
    key_change = 0x22,
    key_use = 0x23,
    key_usage = 0x24,
    key_admin = 0x25,
    key_list = 0x26,
    key_list_count = 0x27,
    key_start = 0x28,
    audit_head = 0x29,
    audit_by_project = 0x2a,
    audit_count = 0x2b,
    audit_made = 0x2c,
    kept_outcome = 0x30,
    kept_until = 0x31,
    event_head = 0x40,
    event_by_source = 0x41,
    event_mark = 0x42,
    event_secret = 0x43,
    event_count = 0x44,
    load = 0x50,
    load_moved = 0x51,
    position = 0x60,
    webhook_head = 0x70,
    webhook = 0x71,
    webhook_progress = 0x72,
    webhook_replay = 0x73,
    webhook_pending = 0x74,
    delivery_lease = 0x75,
    key_notice = 0x76,
    sessions_generation = 0x77,
};

// Does the entry of the index belong to this copy alone?
inline bool is_local(std::string_view key) {
    return key.size() == 1 &&
           (key[0] == static_cast<char>(tag::unfinished_load) ||
            key[0] == static_cast<char>(tag::schema) || key[0] == static_cast<char>(tag::position));
}

inline constexpr std::uint64_t key_changes_max = 1024;
// Posts that one transaction removes at most, with their user or in a batch of the purge.
inline constexpr std::size_t purge_posts_max = 1024;
// Bytes of posts whose deletion one transaction tells (change_log.hpp), but for the last.
inline constexpr std::size_t purge_bytes_told_max = 1 << 20;

// Builds a key of at most 256 bytes, enough for the longest e-mail address.
class key_bytes {
  public:
    key_bytes() = default;
    explicit key_bytes(tag tag) { add(static_cast<std::uint8_t>(tag)); }

    template <class Integer>
    key_bytes& add(Integer value) {
        size_ = static_cast<std::size_t>(base::put(bytes_.data() + size_, value) - bytes_.data());
        return *this;
    }
    key_bytes& add(std::string_view text);
    // NOLINTNEXTLINE: implicit by design
    operator std::string_view() const { return {bytes_.data(), size_}; }

  private:
    std::array<char, 256> bytes_;  // uninitialised beyond size_
    std::size_t size_ = 0;
};

using sha256 = std::array<unsigned char, 32>;  // as model::digest

inline key_bytes id_key(model::id id) {
    return key_bytes{}.add(id);
}
// `email` must be folded and at most model::email_bytes_max bytes.
inline key_bytes email_key(std::string_view email) {
    return key_bytes{tag::email}.add(email);
}
inline key_bytes posts_of_user(model::id user) {
    return key_bytes{tag::post_by_user}.add(user);
}
inline key_bytes posts_in(model::post_status status) {
    return key_bytes{tag::post_by_status}.add(static_cast<std::uint8_t>(status));
}
inline key_bytes posts_of_user_in(model::id user, model::post_status status) {
    return key_bytes{tag::post_by_user_status}.add(user).add(static_cast<std::uint8_t>(status));
}
inline key_bytes tally_key(model::id user) {
    return key_bytes{tag::tally}.add(user);
}
inline key_bytes purge_key(model::id user) {
    return key_bytes{tag::purge}.add(user);
}
inline key_bytes key_key(model::id id) {
    return key_bytes{tag::key}.add(id);
}
inline key_bytes digest_key(sha256 const& digest) {
    return key_bytes{tag::key_digest}.add(
        std::string_view(reinterpret_cast<char const*>(digest.data()), digest.size()));
}
inline key_bytes key_change_key(std::uint64_t epoch) {
    return key_bytes{tag::key_change}.add(static_cast<std::uint16_t>(epoch % key_changes_max));
}
inline key_bytes key_use_key(model::id id) {
    return key_bytes{tag::key_use}.add(id);
}
inline key_bytes usage_in(model::granularity granularity, base::wall_ms start) {
    return key_bytes{tag::key_usage}.add(static_cast<std::uint8_t>(granularity)).add(start);
}
inline key_bytes key_admin_key(model::id id) {
    return key_bytes{tag::key_admin}.add(id);
}
// `load` is the identity of a bulk load.
inline key_bytes load_key(std::uint64_t load) {
    return key_bytes{tag::load}.add(load);
}
inline key_bytes load_moved_key(std::uint64_t load, model::id id) {
    return key_bytes{tag::load_moved}.add(load).add(id);
}
// At most 8 bytes.
inline key_bytes keys_with_start(std::string_view start) {
    return key_bytes{tag::key_start}.add(start);
}
inline key_bytes audit_of_project(std::string_view project) {
    return key_bytes{tag::audit_by_project}.add(project).add(std::uint8_t{0});
}
inline key_bytes audit_count_key(std::string_view project) {
    return key_bytes{tag::audit_count}.add(project);
}
inline key_bytes audit_made_key(model::id actor) {
    return key_bytes{tag::audit_made}.add(actor);
}
// A source is at most 32 bytes.
inline key_bytes events_of(std::string_view source) {
    return key_bytes{tag::event_by_source}.add(source).add(std::uint8_t{0});
}
inline key_bytes event_mark_key(std::string_view source, std::string_view mark) {
    return key_bytes{tag::event_mark}.add(source).add(std::uint8_t{0}).add(mark);
}
inline key_bytes event_secret_key(std::string_view source) {
    return key_bytes{tag::event_secret}.add(source);
}
inline key_bytes event_count_key(std::string_view source) {
    return key_bytes{tag::event_count}.add(source);
}
inline key_bytes delivery_key(model::id sequence, model::id webhook) {
    return key_bytes{}.add(sequence).add(webhook);
}
inline key_bytes webhook_key(model::id id) {
    return key_bytes{tag::webhook}.add(id);
}
inline key_bytes webhook_progress_key(model::id id) {
    return key_bytes{tag::webhook_progress}.add(id);
}
inline key_bytes replays_of(model::id webhook) {
    return key_bytes{tag::webhook_replay}.add(webhook);
}
inline key_bytes pending_of(model::id webhook) {
    return key_bytes{tag::webhook_pending}.add(webhook);
}
inline key_bytes key_notice_key(model::id key) {
    return key_bytes{tag::key_notice}.add(key);
}
inline key_bytes sessions_generation_key(model::id key) {
    return key_bytes{tag::sessions_generation}.add(key);
}

// `lineage` and `key` of a domain::idempotency.
inline key_bytes kept_outcome_key(model::id lineage, sha256 const& key) {
    return key_bytes{tag::kept_outcome}.add(lineage).add(
        std::string_view(reinterpret_cast<char const*>(key.data()), key.size()));
}
// `place` is the key of the outcome (kept_outcome_key) without its tag.
inline key_bytes kept_until_key(base::wall_ms time, std::string_view place) {
    return key_bytes{tag::kept_until}.add(time).add(place);
}

// A value that is a single id, time or count.
std::string_view id_value(model::id id, std::array<char, 8>& buffer);
std::optional<model::id> read_id(std::string_view value);

void encode(cluster_position const& position, std::string& output);
std::optional<cluster_position> decode_position(std::string_view bytes);

// One entry of the ring of key changes.
struct key_change {
    std::uint64_t epoch = 0;
    sha256 digest{};
};
void encode(key_change const& entry, std::string& output);
std::optional<key_change> decode_key_change(std::string_view bytes);

// A number for each status.
using tally = std::array<std::uint64_t, model::post_status_count>;
std::uint64_t sum_of(tally const& numbers);
void encode(tally const& numbers, std::string& output);
std::optional<tally> decode_tally(std::string_view bytes);

// What every transaction reads and most change, in one record: counts, the last ids assigned (never
// derived from the last record, so that no id is used twice), the epoch of key changes, and the
// time of the last write. The record begins with the schema of its writer: a process that has an
// older one finds that it cannot read it, and writes nothing.
struct counters {
    base::wall_ms written_at = 0;
    model::id last_user = 0;
    model::id last_post = 0;
    model::id last_key = 0;
    std::uint64_t users = 0;
    tally posts{};  // without those of deleted users
    std::uint64_t keys = 0;
    std::uint64_t imported_keys = 0;  // model::key::is_imported
    std::uint64_t key_epoch = 0;
    std::uint64_t purges = 0;  // deleted users under tag::purge
};
void encode(counters const& counters, std::string& output, std::uint32_t schema = schema_version);
std::optional<counters> decode_counters(std::string_view bytes);

}  // namespace latchkey::store
