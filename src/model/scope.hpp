// What a key may do (API §4, scopes). A `scope` is one permission or one wildcard; a `scope_set` is
// what a key holds, kept as it was given, so that `users:*` stays `users:*`. Values, any thread.
//
// The algebra: `allows` asks whether a request may pass; `covers` asks who may give what, and there
// a wildcard is covered only by itself or a wider one, never by the sum of its parts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::model {

// The bit of each scope in an encoded set; never renumbered, new ones go to the end.
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
    count_
};
inline constexpr std::size_t scope_count = static_cast<std::size_t>(scope::count_);

std::string_view name_of(scope which);  // "users:read", "*:read" …
// nullopt for unknown ones and for events:write:{source}, which is no scope of the enumeration.
std::optional<scope> find_scope(std::string_view name);
std::uint32_t wider_than(scope which);        // bits of every scope that covers it, itself included
bool is_event_source(std::string_view name);  // [a-z][a-z0-9-]{0,31}

class scope_set {
  public:
    static constexpr std::size_t sources_max = 16;

    bool empty() const { return bits_ == 0 && sources_.empty(); }
    bool has(scope which) const { return (bits_ >> static_cast<unsigned>(which)) & 1u; }
    void add(scope which) { bits_ |= 1u << static_cast<unsigned>(which); }
    // By name, `events:write:{source}` too. False: no such scope, or too many sources.
    bool add(std::string_view name);

    // May a request that needs `which` pass?
    bool allows(scope which) const { return (bits_ & wider_than(which)) != 0; }
    bool allows_events_of(std::string_view source) const;
    // Is every element of `other` covered by an element of this set?
    bool covers(scope_set const& other) const;

    // Names in the order of the enumeration, then sources in alphabetical order.
    std::vector<std::string> names() const;

    std::uint32_t bits() const { return bits_; }
    std::vector<std::string> const& sources() const { return sources_; }
    static scope_set of(std::uint32_t bits, std::vector<std::string> sources);
    bool operator==(scope_set const&) const = default;

  private:
    std::uint32_t bits_ = 0;
    std::vector<std::string> sources_;  // sorted, unique
};

}  // namespace latchkey::model
