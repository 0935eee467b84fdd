// Effects as a store writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace latchkey::replicate {

inline std::string effect_head(char kind, std::uint8_t table, std::string_view key) {
    std::string bytes(1, kind);
    base::append(bytes, table);
    base::append_text(bytes, key);
    return bytes;
}

inline std::string put_effect(std::uint8_t table, std::string_view key, std::string_view content,
                              char kind = 1) {
    auto bytes = effect_head(kind, table, key);
    base::append(bytes, static_cast<std::uint32_t>(content.size()));
    return bytes.append(content);
}

inline std::string append_effect(std::uint8_t table, std::string_view key,
                                 std::string_view content) {
    return put_effect(table, key, content, 2);
}

inline std::string erase_effect(std::uint8_t table, std::string_view key) {
    return effect_head(3, table, key);
}

inline std::string range_effect(std::uint8_t table, std::string_view begin, std::string_view end,
                                std::uint32_t count) {
    auto bytes = effect_head(4, table, begin);
    base::append_text(bytes, end);
    base::append(bytes, count);
    return bytes;
}

}  // namespace latchkey::replicate
