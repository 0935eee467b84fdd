#include "model/change.hpp"

#include <array>

namespace latchkey::model {
namespace {

constexpr std::array<std::string_view, change_type_count> names = {
    "user.created",         "user.updated",     "user.deleted",  "post.created",
    "post.updated",         "post.published",   "post.archived", "post.deleted",
    "key.created",          "key.updated",      "key.rotated",   "key.deactivated",
    "key.reactivated",      "key.activated",    "key.expiring",  "key.expired",
    "key.limited",          "key.exposed",      "key.unused",    "event.received",
    "event_secret.changed", "webhook.disabled", "webhook.test"};

}  // namespace

std::string_view name_of(change_type type) {
    return names[static_cast<std::size_t>(type)];
}

std::optional<change_type> find_change_type(std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return static_cast<change_type>(i);
    return std::nullopt;
}

bool change_types::add(std::string_view pattern) {
    if (pattern == "*") {
        set_.set();
        return true;
    }
    bool const is_kind = pattern.ends_with(".*");
    auto const prefix = is_kind ? pattern.substr(0, pattern.size() - 1) : pattern;
    bool match = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (is_kind ? !names[i].starts_with(prefix) : names[i] != pattern) continue;
        set_.set(i);
        match = true;
    }
    return match;
}

}  // namespace latchkey::model
