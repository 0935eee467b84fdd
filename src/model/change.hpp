// The types of changes (decisions/changes.md), and sets of them that a reader asks for. Values, any
// thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

namespace latchkey::model {

// Stored by number: never renumbered, new ones are appended.
enum class change_type : std::uint8_t {
    user_created,
    user_updated,
    user_deleted,
    post_created,
    post_updated,
    post_published,
    post_archived,
    post_deleted,
    key_created,
    key_updated,
    key_rotated,
    key_deactivated,
    key_reactivated,
    key_activated,
    key_expiring,
    key_expired,
    key_limited,
    key_exposed,
    key_unused,
    event_received,
    event_secret_changed,
    webhook_disabled,
    webhook_test,
};
inline constexpr std::size_t change_type_count = 23;

std::string_view name_of(change_type type);  // "user.created"
std::optional<change_type> find_change_type(std::string_view name);
inline bool is_about_key(change_type type) {
    return type >= change_type::key_created && type <= change_type::key_unused;
}

// The types that a reader or a webhook asks for.
class change_types {
  public:
    static change_types all() { return change_types{}.add_all(); }
    // Adds a type, those of a kind ("user.*") or all ("*"); false: it is none of these.
    bool add(std::string_view pattern);
    bool has(change_type type) const { return set_.test(static_cast<std::size_t>(type)); }
    bool operator==(change_types const&) const = default;

  private:
    change_types& add_all() {
        set_.set();
        return *this;
    }
    std::bitset<change_type_count> set_;
};

}  // namespace latchkey::model
