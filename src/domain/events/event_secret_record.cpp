#include "domain/events/event_secret_record.hpp"

#include "store/encryption.hpp"

namespace latchkey::domain {
namespace {

constexpr std::uint8_t secrets_version = 1;

}  // namespace

void encode(std::vector<encrypted_secret> const& all, std::string& output) {
    output.clear();
    base::append(output, secrets_version);
    base::append(output, static_cast<std::uint8_t>(all.size()));
    for (auto const& each : all) {
        base::append(output, static_cast<std::uint8_t>(each.format));
        base::append(output, each.created_at);
        base::append(output, each.ends_at);
        base::append_text(output, each.ciphertext);
    }
}

std::optional<std::vector<encrypted_secret>> decode_event_secrets(std::string_view bytes) {
    base::reader reader(bytes);
    if (reader.integer<std::uint8_t>() != secrets_version) return std::nullopt;
    auto const count = reader.integer<std::uint8_t>();
    if (count < 1 || count > event_secrets_max) return std::nullopt;
    std::vector<encrypted_secret> all(count);
    for (auto& each : all) {
        auto const format = reader.integer<std::uint8_t>();
        each.created_at = reader.integer<base::wall_ms>();
        each.ends_at = reader.integer<base::wall_ms>();
        each.ciphertext = reader.text();
        if (format >= model::event_format_count) return std::nullopt;
        each.format = static_cast<model::event_format>(format);
    }
    if (!reader.done()) return std::nullopt;
    return all;
}

std::optional<event_secrets> decrypt_secrets(environment_state const& store,
                                             std::string_view source,
                                             std::vector<encrypted_secret> const& all,
                                             base::wall_ms now) {
    event_secrets secrets;
    for (auto const& each : all) {
        bool const current = &each == &all.front();
        if (!current && each.ends_at <= now) continue;
        auto text = decrypt(store, each.ciphertext, source);
        if (!text) return std::nullopt;
        event_secret secret{each.format, each.created_at, each.ends_at, *text};
        current ? void(secrets.current = secret) : void(secrets.previous = secret);
    }
    return secrets;
}

}  // namespace latchkey::domain
