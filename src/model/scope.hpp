// Scopes (api.md §4): a `scope` is one permission or one wildcard; a `scope_set` is what a key
// holds, not normalised, so that `users:*` stays `users:*`. Values, any thread.
//
// The algebra: `allows` decides whether a request may pass; `covers` decides which scopes a key may
// grant, and there a wildcard is covered only by itself or a wider one, never by the union of its
// parts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::model {

// The bit of each scope in an encoded set: never renumbered, new ones are appended.
enum class scope : std::uint8_t {
    users_read,
    users_write,
    posts_read,
    posts_write,
    keys_read,
    keys_write,
    keys_verify,
    usage_read,
    audit_read,
    events_read,
    events_write,
    any,        // *
    users_any,  // users:*, and so on
    posts_any,
    keys_any,
    usage_any,
    audit_any,
    events_any,
    any_read,  // *:read
    any_write,
    events_manage,  // secrets of sources belong to no project: not in *:write
    changes_read,
    changes_any,
    webhooks_read,
    webhooks_write,
    webhooks_any,
    keys_verify_all,  // keys of all projects, so not in keys:*
    count_
};
inline constexpr std::size_t scope_count = static_cast<std::size_t>(scope::count_);

std::string_view name_of(scope element);  // "users:read", "*:read" …
// nullopt for unknown names and for events:write:{source}, which is not in the enumeration.
std::optional<scope> find_scope(std::string_view name);
std::uint32_t bits_covering(scope element);  // bits of every scope that covers it, including itself
// Of a name that `scope_set::add` does not take: "is not a scope: did you mean `users:read`?", or
// the list of scopes. A wildcard is suggested only for a wildcard: it allows more than was asked.
std::string unknown_scope_detail(std::string_view name);
bool is_event_source(std::string_view name);  // [a-z][a-z0-9-]{0,31}

class scope_set {
  public:
    static constexpr std::size_t sources_max = 16;
    static_assert(sources_max <= 0xff, "their number is one byte of a record");

    bool empty() const { return bits_ == 0 && sources_.empty(); }
    bool has(scope element) const { return (bits_ >> static_cast<unsigned>(element)) & 1u; }
    void add(scope element) { bits_ |= 1u << static_cast<unsigned>(element); }
    // By name, including `events:write:{source}`. False: no such scope, or too many sources.
    bool add(std::string_view name);

    // Whether a request that needs `element` may pass.
    bool allows(scope element) const { return (bits_ & bits_covering(element)) != 0; }
    bool allows_events_of(std::string_view source) const;
    // Whether every element of `other` is covered by an element of this set.
    bool covers(scope_set const& other) const { return !first_missing(other); }
    // The name of the first element of `other` that none of this set covers.
    std::optional<std::string> first_missing(scope_set const& other) const;

    // Names in the order of the enumeration, then sources in alphabetical order.
    std::vector<std::string> names() const;

    std::uint32_t bits() const { return bits_; }
    std::vector<std::string> const& sources() const { return sources_; }
    // The scopes that both sets allow, without those that another element of the result covers.
    friend scope_set intersection(scope_set const& left, scope_set const& right);

    static scope_set of(std::uint32_t bits, std::vector<std::string> sources);
    bool operator==(scope_set const&) const = default;

  private:
    std::uint32_t bits_ = 0;
    std::vector<std::string> sources_;  // sorted, unique
};
scope_set intersection(scope_set const& left, scope_set const& right);

}  // namespace latchkey::model
