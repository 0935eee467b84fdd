#include "store/effects.hpp"

namespace latchkey::store {
namespace {

bool has_content(effect_kind kind) {
    return kind == effect_kind::put || kind == effect_kind::append;
}

}  // namespace

void encode(effect const& effect, std::string& effects) {
    base::append(effects, static_cast<std::uint8_t>(effect.kind));
    base::append(effects, static_cast<std::uint8_t>(effect.table));
    base::append_text(effects, effect.key);
    if (has_content(effect.kind)) {
        base::append(effects, static_cast<std::uint32_t>(effect.content.size()));
        effects.append(effect.content);
    } else if (effect.kind == effect_kind::erase_range) {
        base::append_text(effects, effect.content);
        base::append(effects, effect.count);
    }
}

std::optional<effect> effect_reader::next() {
    if (!ok_ || rest_.rest().empty()) return std::nullopt;
    auto entry = read_entry();
    ok_ = entry.has_value();
    return entry;
}

std::optional<effect> effect_reader::read_entry() {
    effect entry;
    auto const kind = rest_.integer<std::uint8_t>();
    auto const table = rest_.integer<std::uint8_t>();
    if (kind < static_cast<std::uint8_t>(effect_kind::put) ||
        kind > static_cast<std::uint8_t>(effect_kind::erase_range) || table >= table_count)
        return std::nullopt;
    entry.kind = static_cast<effect_kind>(kind);
    entry.table = static_cast<store::table>(table);
    entry.key = rest_.text();
    if (has_content(entry.kind)) {
        entry.content = rest_.bytes(rest_.integer<std::uint32_t>());
    } else if (entry.kind == effect_kind::erase_range) {
        entry.content = rest_.text();
        entry.count = rest_.integer<std::uint32_t>();
    }
    if (!rest_.ok() || entry.key.empty()) return std::nullopt;
    return entry;
}

}  // namespace latchkey::store
