// The names of the types of changes, which the rows of their kinds have (kind.hpp), and sets of
// types that a reader asks for. Values, any thread.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

#include "model/change.hpp"

namespace latchkey::domain {

inline constexpr std::size_t change_types_max = 64;

// Their numbers are below it.
std::size_t change_type_count();
std::string_view name_of(model::change_type type);  // "user.created"; of a known type
inline bool is_known(model::change_type type) {
    return static_cast<std::size_t>(type) < change_type_count();
}

// The types that a reader or a webhook asks for.
class change_types {
  public:
    static change_types all();
    // Adds a type, those of a kind ("user.*") or all ("*"); false: it is none of these.
    bool add(std::string_view pattern);
    bool has(model::change_type type) const { return set_.test(static_cast<std::size_t>(type)); }
    bool operator==(change_types const&) const = default;

  private:
    std::bitset<change_types_max> set_;
};

}  // namespace latchkey::domain
