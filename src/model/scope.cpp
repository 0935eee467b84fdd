// A table gives each scope its name and the wildcards that cover it, and a set is its bits: what is
// allowed, covered or shared is one operation on bits, and the sources of events are a sorted list.
#include "model/scope.hpp"

#include <algorithm>

#include "base/nearest.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint32_t bit(scope element) {
    return 1u << static_cast<unsigned>(element);
}

struct entry {
    std::string_view name;
    std::uint32_t wildcards;  // that cover it, besides itself and `*`
};

using enum scope;

constexpr std::array<entry, scope_count> table{{
    {"users:read", bit(users_any) | bit(any_read)},
    {"users:write", bit(users_any) | bit(any_write)},
    {"posts:read", bit(posts_any) | bit(any_read)},
    {"posts:write", bit(posts_any) | bit(any_write)},
    {"keys:read", bit(keys_any) | bit(any_read)},
    {"keys:write", bit(keys_any) | bit(any_write)},
    {"keys:verify", bit(keys_any) | bit(keys_verify_all)},
    {"usage:read", bit(usage_any) | bit(any_read)},
    {"audit:read", bit(audit_any) | bit(any_read)},
    {"events:read", bit(events_any) | bit(any_read)},
    {"events:write", bit(events_any) | bit(any_write)},
    {"*", 0},
    {"users:*", 0},
    {"posts:*", 0},
    {"keys:*", 0},
    {"usage:*", 0},
    {"audit:*", 0},
    {"events:*", 0},
    {"*:read", 0},
    {"*:write", 0},
    {"events:manage", bit(events_any)},
    {"changes:read", bit(changes_any) | bit(any_read)},
    {"changes:*", 0},
    {"webhooks:read", bit(webhooks_any) | bit(any_read)},
    {"webhooks:write", bit(webhooks_any) | bit(any_write)},
    {"webhooks:*", 0},
    {"keys:verify_all", 0},
}};
static_assert(scope_count <= 32, "a set's bits must fit its word");

constexpr std::string_view source_prefix = "events:write:";

}  // namespace

std::string_view name_of(scope element) {
    return table[static_cast<std::size_t>(element)].name;
}

std::optional<scope> find_scope(std::string_view name) {
    for (std::size_t i = 0; i < scope_count; ++i)
        if (table[i].name == name) return static_cast<scope>(i);
    return std::nullopt;
}

std::string unknown_scope_detail(std::string_view name) {
    std::vector<std::string_view> names;
    auto const is_wildcard = [](std::string_view each) { return each.find('*') != each.npos; };
    for (auto const& each : table)
        if (is_wildcard(each.name) == is_wildcard(name)) names.push_back(each.name);
    auto const near = name.starts_with(source_prefix) ? std::nullopt : base::nearest(name, names);
    if (near) return "is not a scope: did you mean `" + std::string(*near) + "`?";
    std::string text = "is not a scope; scopes are ";
    for (auto const& each : table) text.append(each.name).append(", ");
    return text.append(source_prefix).append("SOURCE");
}

std::uint32_t bits_covering(scope element) {
    return table[static_cast<std::size_t>(element)].wildcards | bit(element) | bit(any);
}

bool is_event_source(std::string_view name) {
    if (name.empty() || name.size() > 32 || name[0] < 'a' || name[0] > 'z') return false;
    return std::ranges::all_of(name, [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
               letter == '-';
    });
}

bool scope_set::add(std::string_view name) {
    if (auto const element = find_scope(name)) {
        add(*element);
        return true;
    }
    if (!name.starts_with(source_prefix)) return false;
    name.remove_prefix(source_prefix.size());
    if (!is_event_source(name)) return false;
    auto const position = std::ranges::lower_bound(sources_, name);
    if (position != sources_.end() && *position == name) return true;
    if (sources_.size() == sources_max) return false;
    sources_.emplace(position, name);
    return true;
}

bool scope_set::allows_events_of(std::string_view source) const {
    return allows(events_write) || std::ranges::binary_search(sources_, source);
}

std::optional<std::string> scope_set::first_missing(scope_set const& other) const {
    for (std::size_t i = 0; i < scope_count; ++i)
        if (auto const each = static_cast<scope>(i); other.has(each) && !allows(each))
            return std::string(table[i].name);
    for (auto const& source : other.sources_)
        if (!allows_events_of(source)) return std::string(source_prefix) + source;
    return std::nullopt;
}

std::vector<std::string> scope_set::names() const {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < scope_count; ++i)
        if (has(static_cast<scope>(i))) list.emplace_back(table[i].name);
    for (auto const& source : sources_) list.push_back(std::string(source_prefix) + source);
    return list;
}

scope_set intersection(scope_set const& left, scope_set const& right) {
    scope_set all;
    for (std::size_t i = 0; i < scope_count; ++i)
        if (auto const each = static_cast<scope>(i); left.allows(each) && right.allows(each))
            all.add(each);
    scope_set result;
    for (std::size_t i = 0; i < scope_count; ++i) {
        auto const each = static_cast<scope>(i);
        bool const is_alone = (all.bits_ & bits_covering(each)) == bit(each);
        if (all.has(each) && is_alone) result.add(each);
    }
    if (all.allows(events_write)) return result;
    for (auto const* const set : {&left, &right})
        for (auto const& source : set->sources_)
            if (left.allows_events_of(source) && right.allows_events_of(source))
                result.sources_.push_back(source);
    return scope_set::of(result.bits_, std::move(result.sources_));
}

scope_set scope_set::of(std::uint32_t bits, std::vector<std::string> sources) {
    scope_set result;
    result.bits_ = bits & ((1u << scope_count) - 1);
    result.sources_ = std::move(sources);
    std::ranges::sort(result.sources_);
    auto const duplicates = std::ranges::unique(result.sources_);
    result.sources_.erase(duplicates.begin(), duplicates.end());
    return result;
}

}  // namespace latchkey::model
