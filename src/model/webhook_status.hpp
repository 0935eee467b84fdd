// Which answers of a receiver count as delivered (api.md §17).
#pragma once

#include <cstdint>

namespace latchkey::model {

inline bool is_delivered(std::uint16_t status) {
    return status >= 200 && status <= 299;
}

}  // namespace latchkey::model
