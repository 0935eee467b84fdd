// A row of the ordered log that the nodes of a cluster share, as the store, the node and its helper
// pass it on; and what became of one that was to be appended. Values.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace latchkey::model {

// Random, of each append; zeros: not known.
using row_nonce = std::array<char, 16>;

struct log_row {
    std::uint64_t position = 0;  // 1, 2, 3 …
    row_nonce nonce{};           // tells this append from another one of that position
    std::uint32_t schema = 0;    // of its effects, never below that of the row before
    bool urgent = false;         // a key changes: to be applied and confirmed without delay
    std::string effects;         // what it did to the tables; at most row_bytes_max
    row_nonce previous{};        // of a row to append: the nonce of the row before; else zeros
    bool operator==(log_row const&) const = default;
};
inline constexpr std::size_t row_bytes_max = 16u << 20;

enum class append_result : std::uint8_t {
    won,          // the row is in the log, durably
    lost,         // another row has its position: it certainly is not in the log and never will be
    unknown,      // it may be, or come to be, in the log; asking again tells
    unavailable,  // it certainly is not in the log and never will be; the engine is away
    count_
};

}  // namespace latchkey::model
