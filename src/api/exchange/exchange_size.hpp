// For those who count what a request that waits occupies.
#pragma once

#include <cstddef>

namespace latchkey::api {

// Memory of the state of an exchange, without the texts of its request.
std::size_t exchange_state_bytes();

}  // namespace latchkey::api
