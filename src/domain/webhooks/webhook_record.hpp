// The stored form of a webhook: model::encode(webhook), then what is encrypted (encryption.hpp):
// the values of its header fields after their length (2; 0: there are none), the number of secrets
// (1), and of each the end of its overlap (8) and its bytes after their length (2). Within: the
// values, each after its length (2); a secret's two keys (32 each). Values, any thread; private to
// the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/store_terms.hpp"
#include "domain/webhooks/webhook_command.hpp"
#include "store/environment_state.hpp"

namespace latchkey::domain {

struct encrypted_webhook_secret {
    base::wall_ms ends_at = 0;  // 0: the current one
    std::string ciphertext;
};
struct webhook_record {
    model::webhook webhook;                         // the values of its header fields are empty
    std::string header_values;                      // encrypted
    std::vector<encrypted_webhook_secret> secrets;  // the current one first
};
inline constexpr std::size_t webhook_secrets_max = 2;

void encode(webhook_record const& record, std::string& output);
// nullopt: damaged.
std::optional<webhook_record> decode_webhook_record(model::id id, std::string_view bytes);

// Encrypts the values of the header fields of `webhook`, which must be storable.
std::string encrypt_header_values(environment_state const& store, model::webhook const& webhook);
// Puts the values into the header fields of the record's webhook. False: they cannot be decrypted.
bool decrypt_header_values(environment_state const& store, webhook_record& record);

// Both keys must have 32 bytes.
std::string encrypt_secret(environment_state const& store, model::id webhook,
                           model::webhook_secret const& secret);
// Those that sign at `now`. nullopt: one cannot be decrypted.
std::optional<std::vector<model::webhook_secret>> decrypt_secrets(environment_state const& store,
                                                                  webhook_record const& record,
                                                                  base::wall_ms now);

// The form of a webhook in outcomes and changes: model::encode(webhook), position and failing_since
// (8 each). It contains no secret.
void encode(webhook_entry const& entry, std::string& output);
std::optional<webhook_entry> decode_webhook_entry(model::id id, std::string_view bytes);

// The last id that a webhook got, and the number of webhooks.
struct webhook_head {
    model::id last = 0;
    std::uint64_t count = 0;
};
void encode(webhook_head const& head, std::string& output);
// nullopt: damaged. Without bytes (the store never had a webhook) zeros.
std::optional<webhook_head> decode_webhook_head(std::optional<std::string_view> bytes);

// Version 1, until (8), the name of the node.
void encode(delivery_lease const& lease, std::string& output);
// nullopt also for one of a type of changes that this program does not know.
std::optional<model::delivery> decode_delivery(model::id sequence, std::string_view bytes);
std::optional<delivery_lease> decode_delivery_lease(std::string_view bytes);

}  // namespace latchkey::domain
