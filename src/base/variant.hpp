// Alternatives of a variant that are known only at run time, such as the type of a message that is
// decoded. Any thread.
#pragma once

#include <cstddef>
#include <utility>
#include <variant>

namespace latchkey::base {

// Makes `value` a new one of its alternative with that index. False: it has none, and is unchanged.
template <class... Types>
bool emplace_alternative(std::variant<Types...>& value, std::size_t index) {
    return [&]<std::size_t... indices>(std::index_sequence<indices...> /*of all*/) {
        return ((index == indices && (value.template emplace<indices>(), true)) || ...);
    }(std::index_sequence_for<Types...>());
}

}  // namespace latchkey::base
