// Webhooks and deliveries to them as kinds of records: what may be done with them, and what the
// store as a whole does. Values, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/frame/action.hpp"
#include "domain/frame/expected_members.hpp"
#include "domain/frame/kept_record.hpp"
#include "domain/frame/kind.hpp"
#include "domain/webhooks/webhook_command.hpp"

namespace latchkey::domain {

// `record` has what the client chose, `public_key` too; the store assigns the rest. The project is
// that of the caller, unless it has the scope `*`. The caller must have changes:read as well.
struct create_webhook {
    model::webhook record;
    model::webhook_secret secret;
};
struct webhook_signatures {
    bool v1 = true;
    bool v1a = false;
};
// A header field of a webhook in a patch: without a value it is removed.
struct header_change {
    std::string name;
    std::optional<std::string> value;
    bool keeps = false;  // the client sent the mask back: the value stays
};
// PATCH: members that are set change. The caller must have changes:read as well.
struct change_webhook {
    model::id id = 0;
    std::optional<std::string> url;
    std::optional<std::vector<std::string>> types;
    std::optional<std::string> description;
    std::optional<bool> ordered;
    std::optional<std::uint32_t> max_per_second;  // 0: no limit
    bool clear_headers = false;                   // before `headers` is applied
    std::vector<header_change> headers;
    std::optional<webhook_signatures> signatures;
    std::optional<bool> enabled;
    std::vector<expected_member> expected;
};
// Changes that the webhook was not sent yet are never sent.
struct delete_webhook {
    model::id id = 0;
};
// The replaced secret signs too until the overlap ends; one that was replaced before it does not.
struct rotate_webhook_secret {
    model::id id = 0;
    model::webhook_secret secret;
    std::array<unsigned char, 32> public_key{};
    std::int64_t overlap_ms = 0;
};
// Records the change webhook.test and makes pending deliveries of an ordered webhook due, at most
// webhook_due_max: one at a time, they end with the first that fails. Others wait for its success.
struct test_webhook {
    model::id id = 0;
};
inline constexpr std::size_t webhook_due_max = 1000;
// So many of a webhook that is not ordered become due when it is enabled: those that fail have one
// attempt less.
inline constexpr std::size_t webhook_probes_max = 10;
// Has what is kept of these changes sent again: each of `sequences`, or those since a time and
// before another, or else those from `first` to `last`. An end of 0: to the last change.
struct replay_webhook {
    model::id id = 0;
    std::vector<model::id> sequences;  // at most webhook_replays_max
    model::id first = 0;
    model::id last = 0;
    base::wall_ms start = 0;  // 0: not by time
    base::wall_ms bound = 0;
};
// Results of deliveries to one webhook, noted by the service itself. Idempotent. Webhooks that are
// gone, and deliveries of changes that are gone, are ignored.
struct webhook_result {
    model::id webhook = 0;
    std::optional<model::webhook_progress> progress;  // its position never goes back
    // Each has the delivery's state, the time of its next attempt, and the attempts to be added.
    // Attempts at a delivery that was not pending replace the earlier ones.
    std::vector<model::delivery> deliveries;
    // Replays with the sequence that each sends next; a replay whose next lies beyond its last has
    // ended.
    std::vector<model::webhook_replay> replays;
    model::webhook_end end = model::webhook_end::none;  // another disables it
};
struct note_deliveries {
    std::vector<webhook_result> results;
};
// The lease of the node that delivers: taken if there is none, it has ended, or it is its own. The
// record of the outcome is the lease that holds.
struct take_delivery_lease {
    std::string node;  // at most node_name_bytes_max
    std::int64_t length_ms = 0;
};

outcome run(transaction& txn, create_webhook const& action, command const& command);
outcome run(transaction& txn, change_webhook const& action, command const& command);
outcome run(transaction& txn, delete_webhook const& action, command const& command);
outcome run(transaction& txn, rotate_webhook_secret const& action, command const& command);
outcome run(transaction& txn, test_webhook const& action, command const& command);
outcome run(transaction& txn, replay_webhook const& action, command const& command);
outcome run(transaction& txn, note_deliveries const& action, command const& command);
outcome run(transaction& txn, take_delivery_lease const& action, command const& command);

std::size_t bytes_of(create_webhook const& action);
std::size_t bytes_of(change_webhook const& action);
inline std::size_t bytes_of(rotate_webhook_secret const&) {
    return 0;  // the secret wipes itself, and lies in the action
}
std::size_t bytes_of(replay_webhook const& action);
std::size_t bytes_of(note_deliveries const& action);
std::size_t bytes_of(take_delivery_lease const& action);
using webhook_actions = types<create_webhook, change_webhook, delete_webhook, rotate_webhook_secret,
                              test_webhook, replay_webhook, note_deliveries, take_delivery_lease>;
using webhook_outcomes = types<webhook_outcome, delivery_lease>;
template <>
struct kept_record<webhook_outcome> {
    static constexpr std::uint8_t number = 5;
    static void append(std::string& output, webhook_outcome const& record);
    static std::optional<webhook_outcome> read(base::reader& reader);
};
// Only the service itself takes it.
template <>
struct kept_record<delivery_lease> : kept_never {};

void check_webhooks(consistency_check& check);
extern kind const webhook_kind;

}  // namespace latchkey::domain
