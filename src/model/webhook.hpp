// Webhooks (api.md §17): where changes are sent, how far that has come, and what became of each
// delivery; and their encodings in the store, each with a version (1 byte) first. Secrets and the
// values of header fields are in clear here; no encoding here contains them, since the store keeps
// them encrypted (webhook_record.hpp). Values, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "model/change.hpp"
#include "model/id.hpp"
#include "model/webhook_url.hpp"

namespace latchkey::model {

// `revoked`: the key that created it was deactivated as compromised.
enum class webhook_end : std::uint8_t { none, manual, gone, failing, revoked };
std::string_view name_of(webhook_end reason);  // empty for none

// Both kinds of signature; the texts are wiped when they are destroyed.
struct webhook_secret {
    base::secret hmac;          // 32 bytes; shown as whsec_ and base64
    base::secret ed25519_seed;  // 32 bytes
    base::wall_ms ends_at = 0;  // no longer signs from then on; 0: the current secret
};

struct webhook {
    model::id id = 0;
    std::string url;
    std::vector<std::string> types = {"*"};  // as change_types::add takes them
    std::string description;
    bool ordered = false;
    std::uint32_t max_per_second = 0;                          // 0: no limit
    std::vector<std::pair<std::string, std::string>> headers;  // in the order of the client
    bool signs_v1 = true;                                      // HMAC-SHA-256
    bool signs_v1a = false;                                    // Ed25519
    webhook_end end = webhook_end::none;
    base::wall_ms disabled_at = 0;
    std::string project;  // empty: keys of all projects
    model::id created_by = 0;
    base::wall_ms created_at = 0;
    base::wall_ms updated_at = 0;
    std::uint64_t revision = 1;                  // one more with each change
    std::array<unsigned char, 32> public_key{};  // Ed25519, of the current secret
    base::wall_ms rotation_ends_at = 0;          // of the previous secret; 0: none

    bool is_enabled() const { return end == webhook_end::none; }
};
inline constexpr std::size_t webhook_types_max = 32;
inline constexpr std::size_t webhook_description_points_max = 500;
inline constexpr std::size_t webhook_headers_max = 16;
inline constexpr std::size_t webhook_header_bytes_max = 4096;  // of all names and values together
inline constexpr std::uint32_t webhook_rate_max = 10'000;      // of max_per_second

// Do two header fields have the same name (RFC 9110 §5.1)?
bool is_same_header(std::string_view left, std::string_view right);

// Without the values of its header fields. Replaces `output`.
void encode(webhook const& record, std::string& output);
// With empty values of its header fields; `rest`, unless null, gets what follows it, else nothing
// may follow. nullopt: not a record of a known version, or one that no webhook can be.
std::optional<webhook> decode_webhook(model::id id, std::string_view bytes,
                                      std::string_view* rest = nullptr);
// Is the record within the bounds of its encoding? Handlers check tighter ones before.
bool is_storable(webhook const& record);

// How far a webhook has come; moves without a change of the webhook.
struct webhook_progress {
    model::id position = 0;           // changes up to this sequence are delivered, failed, pending
                                      // as a `delivery`, or not for this webhook
    base::wall_ms failing_since = 0;  // the first failed attempt since the last success; 0: none
    bool operator==(webhook_progress const&) const = default;
};
void encode(webhook_progress const& progress, std::string& output);
std::optional<webhook_progress> decode_webhook_progress(std::string_view bytes);

struct delivery_attempt {
    base::wall_ms time = 0;
    std::uint16_t status = 0;  // 0: no response, `error` says why
    std::uint32_t duration_ms = 0;
    std::string error;     // a few words; empty with a status
    std::string response;  // the first KiB of its content, as received
    bool operator==(delivery_attempt const&) const = default;
};
enum class delivery_state : std::uint8_t { pending, delivered, failed };
std::string_view name_of(delivery_state state);
std::optional<delivery_state> find_delivery_state(std::string_view name);

// The delivery of one change to one webhook.
struct delivery {
    model::id sequence = 0;
    change_type type = change_type::user_created;
    delivery_state state = delivery_state::pending;
    base::wall_ms next_attempt_at = 0;  // pending ones
    std::vector<delivery_attempt> attempts;
    bool operator==(delivery const&) const = default;
};
inline constexpr std::size_t delivery_attempts_max = 10;  // of one try; a replay begins anew
inline constexpr std::size_t delivery_response_bytes_max = 1024;
inline constexpr std::size_t delivery_error_bytes_max = 200;

// Without its sequence. Of more attempts than the bound the last ones; longer texts are cut.
void encode(delivery const& record, std::string& output);
std::optional<delivery> decode_delivery(model::id sequence, std::string_view bytes);

// A range of changes that is to be sent again.
struct webhook_replay {
    std::uint64_t ordinal = 0;  // of this webhook's replays
    model::id next = 0;         // the first sequence that was not dealt with
    model::id last = 0;
    bool operator==(webhook_replay const&) const = default;
};
inline constexpr std::size_t webhook_replays_max = 100;  // that wait, of one webhook

// Without its ordinal.
void encode(webhook_replay const& replay, std::string& output);
std::optional<webhook_replay> decode_webhook_replay(std::uint64_t ordinal, std::string_view bytes);

}  // namespace latchkey::model
