#include "model/message_id.hpp"

#include <array>

#include "base/base62.hpp"

namespace latchkey::model {

std::string message_id(model::id sequence, base::wall_ms occurred_at) {
    std::array<char, 8> time;
    base::put_base62(static_cast<std::uint64_t>(occurred_at), time.data(), time.size());
    return "msg_" + std::to_string(sequence) + "_" + std::string(time.data(), time.size());
}

}  // namespace latchkey::model
