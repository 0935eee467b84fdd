// The list of all kinds of records: their actions, what commands return of them, and their rows for
// the administration, in the order in which that visits them. A new kind adds itself here, and
// nowhere else in the domain: the folders whose headers are included are those that are built.
// Constants; any thread.
#pragma once

#include "domain/admin/load_kind.hpp"
#include "domain/audit/audit_kind.hpp"
#include "domain/changes/change_kind.hpp"
#include "domain/events/event_kind.hpp"
#include "domain/frame/general_actions.hpp"
#include "domain/idempotency/outcome_kind.hpp"
#include "domain/keys/key_kind.hpp"
#include "domain/posts/post_kind.hpp"
#include "domain/usage/usage_kind.hpp"
#include "domain/users/user_kind.hpp"
#include "domain/webhooks/webhook_kind.hpp"

namespace latchkey::domain {

using any_action = joined_lists<user_actions, post_actions, key_actions, usage_actions,
                                event_actions, webhook_actions, general_actions>::variant;
using any_record = joined_lists<types<std::monostate>, user_outcomes, post_outcomes, key_outcomes,
                                event_outcomes, webhook_outcomes>::variant;

inline constexpr kind const* kind_list[] = {&user_kind,   &post_kind,    &key_kind,   &event_kind,
                                            &audit_kind,  &outcome_kind, &usage_kind, &load_kind,
                                            &change_kind, &webhook_kind};

}  // namespace latchkey::domain
