// The finished request of an attempt: the change as JSON, signed (docs/api.md §17).
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "helpers/deliver/protocol/messages.hpp"
#include "store/snapshot.hpp"
#include "webhook/attempt.hpp"

namespace latchkey::server {

// It cannot be sent, for the reason that is told of the attempt; without one the change is no
// longer kept.
struct unsendable {
    std::string reason;
};
std::variant<delivery::attempt, unsendable> render(store::snapshot const& snapshot,
                                                   webhook::attempt const& attempt,
                                                   base::instant const& now);

}  // namespace latchkey::server
