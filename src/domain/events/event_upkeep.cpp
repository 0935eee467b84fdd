// What the store as a whole does with events.
#include <algorithm>

#include "domain/audit/audit.hpp"
#include "domain/events/event_kind.hpp"
#include "domain/events/event_record.hpp"
#include "domain/events/event_secret_record.hpp"
#include "domain/frame/consistency_check.hpp"
#include "domain/frame/time_sweep.hpp"

namespace latchkey::domain {
namespace {

using base::wall_ms;

bool is_late_event(model::event_view const& event, wall_ms now) {
    return event.received_at > now;
}

bool is_late_secret(std::string_view, std::string_view value, wall_ms now) {
    auto const secrets = decode_event_secrets(value);
    return secrets && secrets->front().created_at > now;
}

bool redate_secret(transaction& txn, std::string_view source, wall_ms now) {
    auto const bytes = txn.get(table::index, event_secret_key(source));
    auto secrets = bytes ? decode_event_secrets(*bytes) : std::nullopt;
    if (!secrets) return false;
    auto const advance = secrets->front().created_at - now;
    for (auto& secret : *secrets) {
        clamp(secret.created_at, now);
        if (secret.ends_at != 0) secret.ends_at -= advance;
    }
    encode(*secrets, txn.scratch);
    txn.put(table::index, event_secret_key(source), txn.scratch);
    return true;
}

constexpr tag event_tags[] = {tag::event_head, tag::event_by_source, tag::event_mark,
                              tag::event_secret, tag::event_count};
constexpr time_sweep event_sweeps[] = {
    sweep_of<table::events, model::decode_event, is_late_event, redate_event>(
        {"events", "event", "events"}),
    {table::index,
     tag::event_secret,
     is_late_secret,
     redate_secret,
     {"secrets", "secret of a source", "secrets of sources"}}};
constexpr change_name event_changes[] = {
    {model::change_type::event_received, "event.received"},
    {model::change_type::event_secret_changed, "event_secret.changed"}};
constexpr audit_name event_audit[] = {{audit_action::secret_put, "secret.put"},
                                      {audit_action::secret_delete, "secret.delete"}};

}  // namespace

constinit kind const event_kind{.tags = event_tags,
                                .check = check_events,
                                .sweeps = event_sweeps,
                                .changes = event_changes,
                                .audited = event_audit};

void kept_record<received_event>::append(std::string& output, received_event const& record) {
    base::append(output, record.id);
}

std::optional<received_event> kept_record<received_event>::read(base::reader& reader) {
    received_event const record{reader.integer<model::id>()};
    return reader.done() ? std::optional(record) : std::nullopt;
}

}  // namespace latchkey::domain
