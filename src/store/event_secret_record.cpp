#include "store/event_secret_record.hpp"

#include "store/sealed.hpp"

namespace latchkey::store {
namespace {

constexpr std::uint8_t secrets_version = 1;

}  // namespace

void encode(std::vector<sealed_secret> const& all, std::string& to) {
    to.clear();
    base::append(to, secrets_version);
    base::append(to, static_cast<std::uint8_t>(all.size()));
    for (auto const& each : all) {
        base::append(to, static_cast<std::uint8_t>(each.format));
        base::append(to, each.created_at);
        base::append(to, each.ends_at);
        base::append_text(to, each.sealed);
    }
}

std::optional<std::vector<sealed_secret>> decode_event_secrets(std::string_view bytes) {
    base::reader from(bytes);
    if (from.integer<std::uint8_t>() != secrets_version) return std::nullopt;
    auto const count = from.integer<std::uint8_t>();
    if (count < 1 || count > event_secrets_max) return std::nullopt;
    std::vector<sealed_secret> all(count);
    for (auto& each : all) {
        auto const format = from.integer<std::uint8_t>();
        each.created_at = from.integer<base::wall_ms>();
        each.ends_at = from.integer<base::wall_ms>();
        each.sealed = from.text();
        if (format >= model::event_format_count) return std::nullopt;
        each.format = static_cast<model::event_format>(format);
    }
    if (!from.done()) return std::nullopt;
    return all;
}

std::optional<event_secrets> unsealed(environment::state const& store, std::string_view source,
                                      std::vector<sealed_secret> const& all, base::wall_ms now) {
    event_secrets made;
    for (auto const& each : all) {
        bool const current = &each == &all.front();
        if (!current && each.ends_at <= now) continue;
        auto text = unseal(store, each.sealed, source);
        if (!text) return std::nullopt;
        event_secret one{each.format, each.created_at, each.ends_at, *text};
        current ? void(made.current = one) : void(made.previous = one);
    }
    return made;
}

}  // namespace latchkey::store
