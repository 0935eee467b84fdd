// Events, the lists of their sources, their marks, and the secrets of sources.
#include <map>

#include "domain/events/event_index.hpp"
#include "domain/events/event_secret_record.hpp"
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {
namespace {

using event_counts = std::map<std::string, std::uint64_t, std::less<>>;  // by source

void check_event(consistency_check& check, event_counts& sources, model::id id,
                 model::event_view const& event) {
    if (!model::is_event_source(event.source))
        return check.report(name("event", id) + " is of no source");
    ++sources[std::string(event.source)];
    if (!check.get(table::index, events_of(event.source).add(id)))
        check.report(name("event", id) + " is missing in the list of its source");
    for (auto rest = event.marks; !rest.empty(); rest.remove_prefix(mark_bytes)) {
        auto const bytes =
            check.get(table::index, event_mark_key(event.source, rest.substr(0, mark_bytes)));
        auto const target = bytes ? decode_marked_event(*bytes) : std::nullopt;
        // A later event may have taken the mark over.
        if (!target || target->id < id)
            check.report(name("event", id) + " is not found by its mark");
    }
}

void check_events(consistency_check& check, event_counts& sources) {
    auto const head = decode_event_head(check.get(table::index, key_bytes{tag::event_head}));
    if (!head) return check.report("the count of events cannot be read");
    base::wall_ms previous = 0;
    auto const visit = [&](model::id id, model::event_view const& event) {
        if (event.received_at < previous)
            check.report(name("event", id) + " is older than the one before it");
        check.check_time(event.received_at, name("event", id));
        previous = event.received_at;
        check_event(check, sources, id, event);
    };
    auto const count =
        walk_records(check, table::events, {}, "event", head->last, model::decode_event, visit);
    check.compare("events", head->count, count);
}

void check_event_lists(consistency_check& check, event_counts const& sources) {
    std::uint64_t listed = 0, counted = 0;
    check.walk(table::index, key_bytes{tag::event_by_source}, [&](std::string_view key, auto) {
        ++listed;
        auto const end = key.find('\0');
        auto const id = end == key.npos ? std::nullopt : read_id(key.substr(end + 1));
        auto const event = check.event(id);
        if (!event || event->source != key.substr(0, end))
            check.report(name("event", id.value_or(0)) +
                         " is in the list of a source that it is not of");
    });
    for (auto const& [source, count] : sources) {
        counted += count;
        check.compare("events of " + source,
                      event_count(check.get(table::index, event_count_key(source))), count);
    }
    check.compare("events by source", counted, listed);
    check.walk(table::index, key_bytes{tag::event_count}, [&](std::string_view source, auto) {
        if (sources.find(source) == sources.end())
            check.report("events of " + std::string(source) + " are counted, and there are none");
    });
}

void check_event_marks(consistency_check& check) {
    auto const visit = [&](std::string_view key, std::string_view content) {
        auto const end = key.find('\0');
        auto const target = decode_marked_event(content);
        if (end == key.npos || key.size() != end + 1 + mark_bytes || !target)
            return check.report("a mark of an event has another form");
        auto const event = check.event(target->id);
        bool has = false;
        auto rest = event ? event->marks : std::string_view();
        for (; !rest.empty(); rest.remove_prefix(mark_bytes))
            has |= rest.substr(0, mark_bytes) == key.substr(end + 1);
        if (!has || event->source != key.substr(0, end) ||
            event->received_at != target->received_at)
            check.report("a mark leads to " + name("event", target->id) +
                         ", which does not have it");
    };
    check.walk(table::index, key_bytes{tag::event_mark}, visit);
}

void check_event_secrets(consistency_check& check) {
    auto const visit = [&](std::string_view source, std::string_view content) {
        auto const secrets = decode_event_secrets(content);
        if (!secrets || !model::is_event_source(source))
            return check.report("the secret of a source cannot be read");
        if (!check.store.has_master_key || !decrypt_secrets(check.store, source, *secrets, 0))
            check.report_locked("the secret of the source " + std::string(source));
    };
    check.walk(table::index, key_bytes{tag::event_secret}, visit);
}

}  // namespace

void check_events(consistency_check& check) {
    event_counts sources;
    check_events(check, sources);
    check_event_lists(check, sources);
    check_event_marks(check);
    check_event_secrets(check);
}

}  // namespace latchkey::domain
