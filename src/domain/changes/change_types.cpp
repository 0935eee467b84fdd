#include "domain/changes/change_types.hpp"

#include "domain/frame/numbered_names.hpp"

namespace latchkey::domain {
namespace {

std::span<std::string_view const> all_names() {
    static numbered_names<change_types_max> const names(&kind::changes);
    return names.all();
}

}  // namespace

std::size_t change_type_count() {
    return all_names().size();
}

std::string_view name_of(model::change_type type) {
    return all_names()[static_cast<std::size_t>(type)];
}

change_types change_types::all() {
    change_types types;
    types.add("*");
    return types;
}

bool change_types::add(std::string_view pattern) {
    bool const is_kind = pattern.ends_with(".*");
    auto const prefix = is_kind ? pattern.substr(0, pattern.size() - 1) : pattern;
    bool match = false;
    for (std::size_t i = 0; auto const name : all_names()) {
        bool const is_meant =
            pattern == "*" || (is_kind ? name.starts_with(prefix) : name == pattern);
        if (is_meant) set_.set(i);
        match |= is_meant;
        ++i;
    }
    return match;
}

}  // namespace latchkey::domain
