#include "helpers/replicate/state_changes.hpp"

#include "base/bytes.hpp"

namespace latchkey::replicate {
namespace {

enum class kind : std::uint8_t { put = 1, append = 2, erase = 3, erase_range = 4 };

}  // namespace

base::result<std::optional<range_erasure>> state_changes::add(std::string_view& rest) {
    base::reader reader(rest);
    while (!reader.rest().empty()) {
        auto const effect = static_cast<kind>(reader.integer<std::uint8_t>());
        auto const table = reader.integer<std::uint8_t>();
        std::string key(reader.text());
        std::optional<std::string> content;
        switch (effect) {
            case kind::put:
            case kind::append:
                content = reader.bytes(reader.integer<std::uint32_t>());
                break;
            case kind::erase:
                break;
            case kind::erase_range: {
                range_erasure range{table, std::move(key), std::string(reader.text()), 0};
                range.count = reader.integer<std::uint32_t>();
                rest = reader.rest();
                if (!reader.ok()) return base::error{"effects that are cut"};
                return std::optional(std::move(range));
            }
            default:
                return base::error{"an effect of an unknown kind"};
        }
        if (!reader.ok()) return base::error{"effects that are cut"};
        records_[{table, std::move(key)}] = std::move(content);
    }
    rest = {};
    return std::optional<range_erasure>();
}

}  // namespace latchkey::replicate
