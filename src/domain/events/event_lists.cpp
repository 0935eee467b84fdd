#include "domain/events/event_lists.hpp"

#include "domain/events/event_index.hpp"
#include "domain/events/event_secret_record.hpp"
#include "domain/frame/list_part.hpp"

namespace latchkey::domain {

std::optional<model::event_view> find_event(snapshot const& view, model::id id) {
    auto& state = view.state();
    auto const bytes = state.get(table::events, id_key(id));
    if (!bytes) return std::nullopt;
    return state.readable(model::decode_event(id, *bytes));
}

list_result list_events(snapshot const& view, std::optional<std::string_view> source,
                        range const& part, event_sink sink) {
    auto& state = view.state();
    if (source && !model::is_event_source(*source)) return {};
    auto const head = decode_event_head(state.get(table::index, key_bytes{tag::event_head}));
    auto const total = source ? event_count(state.get(table::index, event_count_key(*source)))
                              : state.readable(head).value_or(event_head{}).count;
    id_walk walk(state, source ? table::index : table::events,
                 source ? events_of(*source) : key_bytes{});
    auto const emit = [&] {
        auto bytes = walk.content();
        if (bytes && source) bytes = state.get(table::events, id_key(walk.id()));
        auto const event =
            state.readable(bytes ? model::decode_event(walk.id(), *bytes) : std::nullopt);
        if (event) sink(*event);
        return event.has_value();
    };
    return list_part(walk, part, total, [] { return true; }, emit).emit();
}

std::optional<event_secrets> find_event_secrets(snapshot const& view, std::string_view source,
                                                base::wall_ms now) {
    if (!model::is_event_source(source)) return std::nullopt;
    auto& state = view.state();
    auto const bytes = state.get(table::index, event_secret_key(source));
    if (!bytes) return std::nullopt;
    auto const secrets = state.readable(decode_event_secrets(*bytes));
    if (!secrets) return std::nullopt;
    return state.readable(decrypt_secrets(state.store, source, *secrets, now));
}

}  // namespace latchkey::domain
