// What the actions of all kinds of records have in common (command.hpp). An action is a value that
// asks for one change; the overload of `run` for it judges it against the store's state and writes
// what it asks for, within a transaction. It checks in the order of api.md §3: faults, existence,
// conditions, conflicts, capacity. Actions are const, since a group that fails is applied again.
//
// Each kind declares its actions with their `run`, which is private to the domain, in KIND_kind.hpp
// and joins them as a list of types.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "domain/store_terms.hpp"

namespace latchkey::store {
class transaction;
}  // namespace latchkey::store

namespace latchkey::domain {

// `run` gets the command for the caller, the faults and the conditions. The outcome counts only if
// `txn.ok()` afterwards.
struct command;
struct outcome;

// The approximate bytes that an action has beside itself. An action that is not trivially copyable
// may have some, so it does not compile without an overload: no memory stays uncounted.
template <class Action>
    requires std::is_trivially_copyable_v<Action>
std::size_t bytes_of(Action const&) {
    return 0;
}
inline std::size_t text_bytes(std::optional<std::string> const& text) {
    return text ? text->size() : 0;
}

// A list of types, and the variant of all that are in several lists.
template <class... Types>
struct types {};
template <class... Lists>
struct joined_lists;
template <class... Types>
struct joined_lists<types<Types...>> {
    using variant = std::variant<Types...>;
};
template <class... Left, class... Right, class... Rest>
struct joined_lists<types<Left...>, types<Right...>, Rest...>
    : joined_lists<types<Left..., Right...>, Rest...> {};

}  // namespace latchkey::domain
