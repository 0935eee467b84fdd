// Values of header fields are one ciphertext and each pair of secrets is one, each bound to its
// owner by associated text, so that none can be moved to another webhook. Clear texts are wiped
// where they are joined. Secrets whose overlap has ended are skipped, not decrypted.
#include "domain/webhooks/webhook_record.hpp"

#include <array>

#include "base/check.hpp"
#include "domain/changes/change_types.hpp"
#include "store/encryption.hpp"

namespace latchkey::domain {
namespace {

constexpr std::size_t secret_bytes = 32;  // of each of the two keys
constexpr std::uint8_t lease_version = 1;

// The associated text of a ciphertext: what is encrypted for one webhook cannot be decrypted as
// another's, nor as the secret of a source of events, whose names have no space.
std::string owner_of(std::string_view part, model::id webhook) {
    return "webhook " + std::to_string(webhook) + " " + std::string(part);
}

}  // namespace

void encode(webhook_record const& record, std::string& output) {
    encode(record.webhook, output);
    base::append_text(output, record.header_values);
    base::append(output, static_cast<std::uint8_t>(record.secrets.size()));
    for (auto const& each : record.secrets) {
        base::append(output, each.ends_at);
        base::append_text(output, each.ciphertext);
    }
}

std::optional<webhook_record> decode_webhook_record(model::id id, std::string_view bytes) {
    std::string_view rest;
    auto webhook = model::decode_webhook(id, bytes, &rest);
    if (!webhook) return std::nullopt;
    webhook_record record{.webhook = std::move(*webhook), .header_values = {}, .secrets = {}};
    base::reader input(rest);
    record.header_values = input.text();
    auto const count = input.integer<std::uint8_t>();
    if (count < 1 || count > webhook_secrets_max) return std::nullopt;
    record.secrets.resize(count);
    for (auto& each : record.secrets) {
        each.ends_at = input.integer<base::wall_ms>();
        each.ciphertext = input.text();
    }
    if (!input.done()) return std::nullopt;
    return record;
}

std::string encrypt_header_values(environment_state const& store, model::webhook const& webhook) {
    if (webhook.headers.empty()) return {};
    std::string values;
    values.reserve(model::webhook_header_bytes_max + 2 * model::webhook_headers_max);
    for (auto const& header : webhook.headers) base::append_text(values, header.second);
    auto ciphertext = encrypt(store, values, owner_of("headers", webhook.id));
    base::wipe(values.data(), values.size());
    return ciphertext;
}

bool decrypt_header_values(environment_state const& store, webhook_record& record) {
    auto& headers = record.webhook.headers;
    if (headers.empty()) return true;
    auto values = decrypt_text(store, record.header_values, owner_of("headers", record.webhook.id));
    if (!values) return false;
    base::reader input(*values);
    for (auto& header : headers) header.second = input.text();
    bool const whole = input.done();
    base::wipe(values->data(), values->size());
    return whole;
}

std::string encrypt_secret(environment_state const& store, model::id webhook,
                           model::webhook_secret const& secret) {
    // Secrets are made by this program.
    base::check(secret.hmac.text().size() == secret_bytes &&
                    secret.ed25519_seed.text().size() == secret_bytes,
                "a webhook's secret of another size");
    std::array<char, 2 * secret_bytes> both;
    secret.hmac.text().copy(both.data(), secret_bytes);
    secret.ed25519_seed.text().copy(both.data() + secret_bytes, secret_bytes);
    auto ciphertext = encrypt(store, {both.data(), both.size()}, owner_of("secret", webhook));
    base::wipe(both.data(), both.size());
    return ciphertext;
}

std::optional<std::vector<model::webhook_secret>> decrypt_secrets(environment_state const& store,
                                                                  webhook_record const& record,
                                                                  base::wall_ms now) {
    std::vector<model::webhook_secret> secrets;
    for (auto const& each : record.secrets) {
        if (each.ends_at != 0 && each.ends_at <= now) continue;
        auto const both = decrypt(store, each.ciphertext, owner_of("secret", record.webhook.id));
        if (!both || both->text().size() != 2 * secret_bytes) return std::nullopt;
        secrets.push_back({base::secret(both->text().substr(0, secret_bytes)),
                           base::secret(both->text().substr(secret_bytes)), each.ends_at});
    }
    return secrets;
}

void encode(webhook_entry const& entry, std::string& output) {
    encode(entry.webhook, output);
    base::append(output, entry.progress.position);
    base::append(output, entry.progress.failing_since);
}

std::optional<webhook_entry> decode_webhook_entry(model::id id, std::string_view bytes) {
    std::string_view rest;
    auto webhook = model::decode_webhook(id, bytes, &rest);
    if (!webhook) return std::nullopt;
    base::reader input(rest);
    webhook_entry entry{.webhook = std::move(*webhook), .progress = {}};
    entry.progress.position = input.integer<model::id>();
    entry.progress.failing_since = input.integer<base::wall_ms>();
    if (!input.done()) return std::nullopt;
    return entry;
}

void encode(webhook_head const& head, std::string& output) {
    output.clear();
    base::append(output, head.last);
    base::append(output, head.count);
}

std::optional<webhook_head> decode_webhook_head(std::optional<std::string_view> bytes) {
    if (!bytes) return webhook_head{};
    base::reader input(*bytes);
    webhook_head head;
    head.last = input.integer<model::id>();
    head.count = input.integer<std::uint64_t>();
    if (!input.done()) return std::nullopt;
    return head;
}

void encode(delivery_lease const& lease, std::string& output) {
    output.clear();
    base::append(output, lease_version);
    base::append(output, lease.deadline);
    base::append_text(output, lease.node);
}

std::optional<model::delivery> decode_delivery(model::id sequence, std::string_view bytes) {
    auto delivery = model::decode_delivery(sequence, bytes);
    return delivery && is_known(delivery->type) ? std::move(delivery) : std::nullopt;
}

std::optional<delivery_lease> decode_delivery_lease(std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != lease_version) return std::nullopt;
    delivery_lease lease;
    lease.deadline = input.integer<base::wall_ms>();
    lease.node = input.text();
    if (!input.done()) return std::nullopt;
    return lease;
}

}  // namespace latchkey::domain
