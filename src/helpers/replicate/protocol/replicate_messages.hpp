// What a node (`latchkey serve` or a command) and its helper (`latchkey-replicate`) say to each
// other: one struct per message, a variant of all of them, and their encoding. The channel
// (channel.hpp) carries the encoded messages.
//
//     helper                        node
//     hello                     →   forgets what it had asked an earlier helper
//                               ←   configure
//     engine, ready             →   (again whenever the engine is reached again)
//                               ←   tail(its position); before, with an empty store, read_state
//     rows…                     →   applies them
//                               ←   applied; begin_lease when it has nearly caught up
//     lease, nodes…             →
//                               ←   append; after `unknown` resolve, until that tells
//     appended                  →
//                               ←   watch, after a row that turns something off
//     confirmed…                →
//                               ←   leave(its name) at its end
//
// Encoding: type (1), request id (4), then the members in the order in which they stand here.
// Integers are big-endian, byte strings and lists follow their length (4). Decoding checks every
// length against what is there and against the bounds below; bytes beyond the last member are an
// error. Values; no errors but those of `decode`; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "helpers/kit/hello.hpp"
#include "model/log_row.hpp"

namespace latchkey::replicate::protocol {

using kit::hello;
using model::append_result, model::log_row;

// Raised with every change of a message: node and helper come from the same build.
inline constexpr std::uint32_t protocol_version = 3;

inline constexpr std::size_t effects_bytes_max = model::row_bytes_max;  // of one row
inline constexpr std::size_t conninfo_bytes_max = 16 * base::limits::kib;
inline constexpr std::size_t name_bytes_max = 64;
inline constexpr std::size_t text_bytes_max = 4 * base::limits::kib;
inline constexpr std::size_t record_key_bytes_max = 2 * base::limits::kib;
inline constexpr std::size_t nodes_max = 1000;
// Bytes of the effects in one `rows`, and of the keys and values in one `state_chunk`; a single row
// or record may be larger.
inline constexpr std::size_t rows_bytes_max = 16 * base::limits::mib;
inline constexpr std::size_t chunk_bytes_max = 1 * base::limits::mib;
// A helper takes so many chunks of `init_begin` before it has answered the first of them.
inline constexpr std::size_t chunks_unanswered_max = 8;

using boot_ns = std::int64_t;       // nanoseconds of CLOCK_BOOTTIME, the same in both processes
using identity = model::row_nonce;  // random bytes; all zero: none
using key_digest = std::array<char, 32>;  // HMAC of a label under master.key

struct state_record {
    std::uint8_t table = 0;
    std::string key;
    std::string value;  // without checksum
    bool operator==(state_record const&) const = default;
};

struct node_state {
    std::string name;
    identity instance{};
    std::uint64_t position = 0;  // that it has applied, as far as it has told
    std::uint64_t renewal = 0;
    std::uint32_t lease_ms = 0;  // 0: it joins and holds no lease yet
    std::uint32_t schema = 0;
    std::string version;
    bool departed = false;     // it left, by itself or by `leave`
    bool alive = false;        // it may hold a lease, as far as the helper can tell
    boot_ns renewal_seen = 0;  // when the helper first saw this renewal
    boot_ns lease_end = 0;     // not before it has lost its lease, whatever it does; 0: it has none
    bool operator==(node_state const&) const = default;
};

// ---- node → helper ----

// The first message, an answer to `hello` (hello.hpp) in the place of `begin`.
struct configure {
    std::uint64_t session = 0;  // of the hello
    std::string conninfo;       // as libpq takes it; a secret, if it holds a password
    std::string node;           // unique within the cluster
    identity instance{};        // of this data directory
    identity cluster{};         // none: whichever is there
    key_digest key_check{};
    std::string version;         // of the program
    std::uint32_t schema = 0;    // of its store
    std::uint32_t lease_ms = 0;  // 0: a command, which holds no lease and has no row of its own
    bool operator==(configure const&) const = default;
};

// Appends `row` to the log. A node has one append under way at most; the answer is `appended`. The
// row is won only if the row before it has the nonce `row.previous` (none: any), which is encoded
// in this message only, behind the row.
struct append {
    log_row row;
    bool operator==(append const&) const = default;
};

// After `unknown`. Settles what became of an append: if its row is not in the log, an empty row
// takes its position, so that it cannot arrive later. Answered by `appended` with won or lost, or
// unknown while the engine is away.
struct resolve {
    std::uint64_t position = 0;
    identity nonce{};
    std::uint32_t schema = 0;
    identity previous{};
    bool operator==(resolve const&) const = default;
};

// Keeps all others from appending until the append of this node, `release`, or a second has passed.
// Answered by `rows`, those after `position`, where the row with that nonce is (none: any), and
// then `reserved`.
struct reserve {
    std::uint64_t position = 0;
    identity nonce{};
    bool operator==(reserve const&) const = default;
};
struct release {
    bool operator==(release const&) const = default;
};

// Rows after `position` are sent from now on, as they appear. Sent again: from there. It does not
// say that the node has applied those before. The row at `position` has that nonce (none: it is not
// known): if the log has another one there, or none, the answer is failed(rows_lost).
struct tail {
    std::uint64_t position = 0;
    identity nonce{};
    bool operator==(tail const&) const = default;
};

// From now on leases are taken; for a node that has nearly caught up with the log.
struct begin_lease {
    bool operator==(begin_lease const&) const = default;
};

// This node is at `position`. With `urgent` (a row that changes a key is among those
// applied) others are told at once, else within a second.
struct applied {
    std::uint64_t position = 0;
    bool urgent = false;
    bool operator==(applied const&) const = default;
};

// Sends `confirmed` until every other node is at `position`. 0: no longer.
struct watch {
    std::uint64_t position = 0;
    bool operator==(watch const&) const = default;
};

// The node of this name has left: nobody waits for it. This node's own name: at once, and it takes
// no more leases. Another's: after its last lease has ended, or failed(name_taken) if it still
// renews. Answered by `completion`.
struct leave {
    std::string node;
    bool operator==(leave const&) const = default;
};

// Answered by `status_report`.
struct status {
    bool operator==(status const&) const = default;
};

// Answered by `state_begin`, `state_chunk`… in the order of (table, key) and `state_end`.
struct read_state {
    bool fold = false;  // fold the log first, so that few rows follow the state (for a comparison)
    bool operator==(read_state const&) const = default;
};

// Makes the tables and begins a cluster whose state comes as `state_chunk`s (in any order, each
// answered by `completion`), ended by `init_end`. Until then nobody can use it, and another
// `init_begin` begins again. Answered by `completion`, or failed(exists).
struct init_begin {
    identity cluster{};
    bool operator==(init_begin const&) const = default;
};
struct init_end {
    std::uint64_t position = 0;  // the state is that of this position; the log begins after it
    std::uint32_t schema = 0;
    bool operator==(init_end const&) const = default;
};

// ---- node → helper, rate limits across the nodes (quota_grant.hpp) ----

inline constexpr std::size_t quota_wants_max = 1000;
inline constexpr std::size_t quota_rules_max = 8;
inline constexpr std::size_t quota_origins_max = 3 * quota_rules_max;
inline constexpr std::uint32_t quota_whole = 1'000'000;  // shares are counted in millionths

// Nanoseconds of the cluster's own clock: kept by the nodes, and by no machine's time of day.
using cluster_ns = std::int64_t;

struct quota_rule {
    std::uint8_t slot = 0;
    std::uint64_t generation = 0;
    std::int64_t interval_ns = 0;  // T: the time in which one token refills
    std::uint32_t burst = 0;
    bool operator==(quota_rule const&) const = default;
};
// A bucket of a key that this one replaces: the bucket of rule `rule` begins with its level.
struct quota_origin {
    std::uint8_t rule = 0;
    std::int64_t key = 0;
    std::uint8_t slot = 0;
    std::uint64_t generation = 0;
    bool operator==(quota_origin const&) const = default;
};
// Asks for `tokens` tokens of each limit of the key, to be spent within `hold_ns` after the ask's
// clock.
struct quota_want {
    std::int64_t key = 0;
    std::uint64_t policy = 0;  // comes back with the answer
    std::uint32_t tokens = 0;
    std::int64_t hold_ns = 0;
    std::vector<quota_rule> rules;
    std::vector<quota_origin> origins;
    bool operator==(quota_want const&) const = default;
};
// Answered by `quota_answer`, or by failed: then it may have been carried out or not.
struct quota_ask {
    std::uint64_t process = 0;  // higher for each start of a node
    // 0: only reads, and makes this process a member. Else one more than the last one answered.
    std::uint64_t presence = 0;
    cluster_ns clock = 0;       // estimate at the time of sending
    std::uint32_t share = 0;    // wanted for times without the engine
    std::uint32_t reserve = 0;  // of members that may be using theirs
    std::vector<quota_want> wants;
    bool operator==(quota_ask const&) const = default;
};

// ---- helper → node ----

// The engine was reached and holds the cluster of this node: after `configure` or `init_end`, and
// each time when the engine is reached again.
struct ready {
    identity cluster{};
    std::uint64_t head = 0;    // the last row
    std::uint64_t folded = 0;  // the state that `read_state` gives is not older
    std::uint64_t first = 0;   // the log has all rows after this position
    bool operator==(ready const&) const = default;
};

enum class failure : std::uint8_t {
    engine,         // it answered with an error, which the text tells
    protocol,       // a message that makes no sense now: a bug
    no_cluster,     // the engine has none, or one whose init has not ended
    exists,         // the engine has one
    other_cluster,  // than the one of this node
    other_key,      // another master.key
    newer,          // the tables in the engine are made by a newer version
    name_taken,     // another node of this name runs
    rows_gone,      // the log does not reach back to the position of this node
    rows_lost,  // the engine lacks rows that it had: it was restored, or failed over without them
    not_permitted,  // the role lacks rights
    count_
};
inline constexpr char const* rows_lost_text =
    "the engine has lost rows that this node has got: it was restored, or failed over to a server "
    "that had not got them; see docs/operations/cluster.md";
// With the id of a request: its answer. With 0: of the whole; `fatal`: no use in going on before an
// operator has acted, and the helper does nothing further.
struct failed {
    failure reason = failure::engine;
    bool fatal = false;
    std::string text;  // a sentence for the operator
    bool operator==(failed const&) const = default;
};

struct appended {
    append_result result = append_result::unknown;
    std::uint64_t position = 0;  // of the row in question
    bool operator==(appended const&) const = default;
};

struct reserved {
    bool granted = false;    // false: the engine is away, or the wait was too long
    std::uint64_t head = 0;  // all rows up to it have been sent before
    bool operator==(reserved const&) const = default;
};

// In the order of their positions. A row may come twice, also one of this node.
struct rows {
    std::vector<log_row> list;
    bool operator==(rows const&) const = default;
};

// This node's row was renewed by a transaction that began after `start`, and `head` was read after
// its commit: the lease lasts until start + lease_ms, once all rows up to `head` are applied.
struct lease {
    boot_ns start = 0;
    std::uint64_t head = 0;
    bool operator==(lease const&) const = default;
};

// Every other node that may hold a lease is at `position` (never above the one that is watched).
// The last lease of those that are not ends at `lease_end`; 0: there are none.
struct confirmed {
    std::uint64_t position = 0;
    boot_ns lease_end = 0;
    std::uint64_t watched = 0;  // the position that this is about
    bool operator==(confirmed const&) const = default;
};

// All nodes, this one too: after `ready`, and once a second.
struct nodes {
    std::vector<node_state> list;
    bool operator==(nodes const&) const = default;
};

// Whether the engine can be reached, when that changes.
struct engine {
    bool connected = false;
    std::string text;  // why not, or which server it is
    bool operator==(engine const&) const = default;
};

struct completion {
    bool operator==(completion const&) const = default;
};

struct status_report {
    std::string server;  // name and version of the engine
    std::string host;
    bool standby_synchronous = false;  // a standby confirms each commit
    identity cluster{};
    std::uint64_t head = 0;
    std::uint64_t folded = 0;
    std::uint64_t first = 0;
    std::uint32_t version = 0;  // of the tables
    std::vector<node_state> nodes;
    bool operator==(status_report const&) const = default;
};

struct state_begin {
    std::uint64_t position = 0;  // the state is that of this position
    std::uint64_t head = 0;
    std::uint32_t schema = 0;  // the newest among the rows that are in it
    identity nonce{};          // of the row at `position`
    bool operator==(state_begin const&) const = default;
};
// In both directions.
struct state_chunk {
    std::vector<state_record> records;
    bool operator==(state_chunk const&) const = default;
};
struct state_end {
    std::uint64_t records = 0;  // of all chunks
    bool operator==(state_end const&) const = default;
};

// So many tokens of every limit of the key, perhaps fewer than were wanted.
struct quota_grant {
    std::int64_t key = 0;
    std::uint64_t policy = 0;
    std::uint32_t tokens = 0;
    std::int64_t wait_ns = 0;  // from the ask's clock until one more token fits; 0: all were given
    std::vector<cluster_ns> arrivals;  // of each rule: when its bucket is full again
    bool operator==(quota_grant const&) const = default;
};
struct quota_member {
    std::string name;
    std::uint64_t process = 0;
    std::uint64_t presence = 0;
    std::uint32_t share = 0;
    cluster_ns clock = 0;
    bool operator==(quota_member const&) const = default;
};
struct quota_answer {
    bool is_member = false;             // false: nothing was done; join (again)
    std::uint32_t share = 0;            // that this process has now
    cluster_ns clock = 0;               // the latest one that any member has told
    std::vector<quota_member> members;  // that live, this one too
    std::vector<quota_grant> grants;
    bool operator==(quota_answer const&) const = default;
};

// The index is the type in the encoding: append only.
using message =
    std::variant<configure, append, resolve, reserve, release, tail, begin_lease, applied, watch,
                 leave, status, read_state, init_begin, init_end, hello, ready, failed, appended,
                 reserved, rows, lease, confirmed, nodes, engine, completion, status_report,
                 state_begin, state_chunk, state_end, quota_ask, quota_answer>;

struct envelope {
    std::uint32_t request = 0;  // an answer has the id of its request; 0: no answer
    message content;
    bool operator==(envelope const&) const = default;
};

std::string encode(envelope const& parcel);
// The error says what is wrong with the bytes.
base::result<envelope> decode(std::string_view bytes);

}  // namespace latchkey::replicate::protocol
