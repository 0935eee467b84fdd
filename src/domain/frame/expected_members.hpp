// Read-only members that a client sent back with a change. Values, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.hpp"
#include "model/id.hpp"

namespace latchkey::domain {

// Read-only members that a client sent back; accepted if they equal the record's. An inner nullopt
// of a time is the client's null.
struct expected_members {
    std::optional<model::id> id;
    std::optional<model::id> user_id;
    std::optional<std::optional<base::wall_ms>> created_at;
    std::optional<std::optional<base::wall_ms>> updated_at;
    std::optional<std::optional<base::wall_ms>> published_at;
};

// A read-only member of a key that a client sent back; a number is an id or a time.
struct expected_member {
    std::string name;
    std::variant<std::monostate, std::int64_t, std::string> value;
};

}  // namespace latchkey::domain
