// API keys (API §4): the record, its state by the clock, its limits. The key itself is never part
// of a record; the store finds it by the SHA-256 of the whole key. Values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/problem.hpp"
#include "model/cidr.hpp"
#include "model/scope.hpp"
#include "model/user.hpp"

namespace latchkey::model {

using digest = std::array<unsigned char, 32>;  // SHA-256 of the whole key

enum class environment : std::uint8_t { development, staging, production };
std::string_view name_of(environment which);
std::optional<environment> find_environment(std::string_view name);

enum class deactivation : std::uint8_t { none, manual, rotated, compromised };
std::string_view name_of(deactivation reason);  // empty for none

enum class key_state : std::uint8_t { scheduled, active, expired, deactivated };
std::string_view name_of(key_state state);

// A token bucket's settings. `burst` 0: as `limit`.
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
std::vector<rate_limit> default_rate_limits();  // minute 600/60, hour 20000/3600

struct key {
    // What every request with it asks lies together, in few lines of the processor's cache.
    model::id id = 0;
    model::digest digest{};
    scope_set scopes;
    base::wall_ms not_before = 0;  // 0: null, in all times here
    base::wall_ms expires_at = 0;
    base::wall_ms deactivated_at = 0;
    base::wall_ms rotation_ends_at = 0;
    deactivation deactivation_reason = deactivation::none;
    model::environment environment = environment::development;
    std::vector<cidr> ip_allowlist;
    std::string project = "default";
    // The rest.
    std::string name;
    std::string start;  // empty: imported digest, null
    std::string last4;
    base::wall_ms created_at = 0;
    model::id created_by = 0;  // 0: the command line
    model::id replaces = 0;
    model::id replaced_by = 0;
    model::id lineage = 0;  // the first of the line of keys whose latest this is; 0: itself
    std::vector<rate_limit> rate_limits = default_rate_limits();
    // Slot of each limit in the key's line of buckets; a limit keeps its slot by name.
    std::vector<std::uint8_t> limit_slots;
    std::map<std::string, std::string> metadata;

    // The same for a key and for all that rotations put in its place.
    model::id line() const { return lineage != 0 ? lineage : id; }
    // deactivated (also by a rotation that has ended) beats expired, which beats scheduled.
    key_state state_at(base::wall_ms now) const;
    // Since when and why it is deactivated; `none` when it is not.
    struct ending {
        base::wall_ms at = 0;
        deactivation reason = deactivation::none;
    };
    ending ending_at(base::wall_ms now) const;
};
// The API §3 problem of a key in that state; none when active.
base::problem refusal_of(key_state state);

// `limit_slots` must have one slot for each limit and the lists must be within their bounds below;
// metadata members are at most 65,535 bytes each. Replaces `to`.
void encode(key const& whole, std::string& to);
// nullopt: not a record of a version we know, or one with a value that no key can have.
std::optional<key> decode_key(model::id id, std::string_view bytes);

inline constexpr std::size_t key_name_points_max = 100;
inline constexpr std::size_t ip_allowlist_max = 64;
inline constexpr std::size_t metadata_members_max = 50;
inline constexpr std::size_t metadata_bytes_max = 16 * 1024;
bool is_project(std::string_view text);  // [a-z0-9-]{1,64}
bool is_limit_name(std::string_view text);

}  // namespace latchkey::model
