// The step that the caller of an exchange has to do next (exchange.hpp). A value; any thread.
#pragma once

#include <cstdint>

namespace latchkey::api {

enum class next_step : std::uint8_t { respond, read_body, commit, await_tokens, await_turn };

}  // namespace latchkey::api
