// The types of changes (decisions/changes.md). Values, any thread.
#pragma once

#include <cstdint>

namespace latchkey::model {

// Stored by number: never renumbered. A kind that came later has its types beside its record,
// each of the next number; names are in the rows of all kinds (domain/frame/kind.hpp).
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

inline bool is_about_key(change_type type) {
    return type >= change_type::key_created && type <= change_type::key_unused;
}

}  // namespace latchkey::model
