// API keys (api.md §4): the record, its state at a time, its rate limits. The secret itself is
// never part of a record; the store finds it by the SHA-256 of the whole key, and a record of kind
// `jwt`, which has no secret, by that of its issuer and subject. Values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "base/problem.hpp"
#include "model/cidr.hpp"
#include "model/scope.hpp"
#include "model/user.hpp"

namespace latchkey::model {

using digest = std::array<unsigned char, 32>;  // SHA-256 of the whole key

enum class environment : std::uint8_t { development, staging, production };
std::string_view name_of(environment value);
std::optional<environment> find_environment(std::string_view name);

// `jwt`: has no secret; its bearer shows a token of `issuer` for `subject` (api.md §19).
enum class key_kind : std::uint8_t { secret, jwt };
std::string_view name_of(key_kind kind);  // "key", "jwt"

enum class deactivation : std::uint8_t { none, manual, rotated, compromised };
std::string_view name_of(deactivation reason);  // empty for none

enum class key_state : std::uint8_t { scheduled, active, expired, deactivated };
std::string_view name_of(key_state state);

// A rate limit: the parameters of a token bucket. `burst` 0: as `limit`.
struct rate_limit {
    std::string name;                  // [a-z][a-z0-9_-]{0,31}, unique within a key
    std::uint32_t limit = 0;           // 1 to 1,000,000,000
    std::uint32_t window_seconds = 0;  // 1 to 31,536,000
    std::uint32_t burst = 0;
    bool operator==(rate_limit const&) const = default;
};
inline constexpr std::size_t rate_limits_max = 8;
inline constexpr std::uint32_t rate_limit_max = 1'000'000'000;
inline constexpr std::uint32_t rate_window_seconds_max = 31'536'000;
// A bucket fills within about 126 years: its time, also added to that of the machine, stays far
// inside 64 bits, and in seconds inside 32.
inline constexpr std::int64_t refill_max_ns = 4'000'000'000'000'000'000;
// The time in which one token refills, rounded up, and how many tokens a bucket may hold then, at
// least one. Both of a limit with tokens and a window.
std::int64_t token_interval_ns(rate_limit const& limit);
std::uint32_t burst_max(rate_limit const& limit);
std::vector<rate_limit> default_rate_limits();  // minute 600/60, hour 20000/3600

struct key {
    // The hot members, read by every request, lie together in few cache lines.
    model::id id = 0;
    model::digest digest{};
    scope_set scopes;
    base::wall_ms not_before = 0;  // 0: null, in all times here
    base::wall_ms expires_at = 0;
    base::wall_ms deactivated_at = 0;
    base::wall_ms rotation_ends_at = 0;
    deactivation deactivation_reason = deactivation::none;
    model::environment environment = environment::development;
    key_kind kind = key_kind::secret;
    std::vector<cidr> ip_allowlist;
    std::string project = "default";
    // The cold members.
    std::string name;
    std::string start;  // empty: imported digest or no secret, null
    std::string last4;
    std::string issuer;  // of kind `jwt`, else empty
    std::string subject;
    base::wall_ms created_at = 0;
    model::id created_by = 0;  // 0: the command line
    model::id replaces = 0;
    model::id replaced_by = 0;
    // The first key of the chain of rotations; 0: this one. A successor is the same caller under an
    // Idempotency-Key, and needs no look-up to be recognised.
    model::id lineage = 0;
    std::vector<rate_limit> rate_limits = default_rate_limits();
    // The bucket slot of each limit in the key's cache line; a limit keeps its slot as long as it
    // keeps its name.
    std::vector<std::uint8_t> limit_slots;
    // The generation of each limit, ascending: a limit that takes over a slot does not inherit the
    // debt of the limit that had it before. Empty: all 0, as of a new key.
    std::vector<std::uint64_t> limit_generations;
    std::map<std::string, std::string> metadata;

    // The text of its secret is not the service's own, so it may have any form.
    bool is_imported() const { return kind == key_kind::secret && start.empty(); }
    // The same id for a key and all its successors by rotation.
    model::id line() const { return lineage != 0 ? lineage : id; }
    // Precedence: deactivated (also by a rotation that has ended), expired, scheduled.
    key_state state_at(base::wall_ms now) const;
    // Time and reason of the deactivation; `none` when the key is not deactivated.
    struct ending {
        base::wall_ms time = 0;
        deactivation reason = deactivation::none;
    };
    ending ending_at(base::wall_ms now) const;
};
// The problem of api.md §3 for a key in that state; none when active.
base::problem refusal_of(key_state state);

// Requires one slot for each limit, lists within the bounds below and metadata members of at most
// 65,535 bytes each. Replaces `output`.
void encode(key const& record, std::string& output);
// nullopt: not a record of a known version, or one with a value that no key can have.
std::optional<key> decode_key(model::id id, std::string_view bytes);

inline constexpr std::size_t key_name_points_max = 100;
inline constexpr std::size_t ip_allowlist_max = 64;
inline constexpr std::size_t metadata_members_max = 50;
inline constexpr std::size_t metadata_bytes_max = 16 * 1024;
static_assert(metadata_bytes_max < base::limits::body_bytes_max);
static_assert(ip_allowlist_max <= 0xff && metadata_members_max <= 0xff && rate_limits_max <= 0xff,
              "their numbers are one byte each of a record");
bool is_project(std::string_view text);  // [a-z0-9-]{1,64}

inline constexpr std::size_t issuer_bytes_max = 512;
inline constexpr std::size_t subject_bytes_max = 255;
// 1 to `bytes_max` bytes of UTF-8, all of it visible (base::is_visible).
bool is_claim_text(std::string_view text, std::size_t bytes_max);
// A record of kind `jwt` is found by the SHA-256 of this, in the place of a secret. Its first bytes
// occur in no key (auth/key_form.hpp), so nothing that is shown as a key leads to such a record.
std::string bearer_identity(std::string_view issuer, std::string_view subject);
bool is_limit_name(std::string_view text);

}  // namespace latchkey::model
