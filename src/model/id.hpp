// Ids of users, posts, keys, events and entries of the audit log.
#pragma once

#include <cstdint>

namespace latchkey::model {

using id = std::int64_t;  // 1 to 2^53 - 1 (base::limits::id_max); 0: none

}  // namespace latchkey::model
