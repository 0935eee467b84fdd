// The finished request of an attempt: the change as JSON, signed (docs/api.md §17).
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "delivery/attempt.hpp"
#include "domain/snapshot.hpp"
#include "helpers/deliver/protocol/deliver_messages.hpp"

namespace latchkey::delivery {

// It cannot be sent, for the reason that is told of the attempt; without one the change is no
// longer kept.
struct unsendable {
    std::string reason;
};
std::variant<deliver::protocol::attempt, unsendable> render(domain::snapshot const& snapshot,
                                                            delivery::attempt const& attempt,
                                                            base::instant const& now);

}  // namespace latchkey::delivery
