// Reading events, lists of events, and the secrets of their sources.
#include "domain/events/event_index.hpp"
#include "domain/events/event_secret_record.hpp"
#include "domain/frame/list_part.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {

std::optional<model::event_view> snapshot::event(model::id id) const {
    auto const bytes = state_->get(table::events, id_key(id));
    if (!bytes) return std::nullopt;
    return state_->readable(model::decode_event(id, *bytes));
}

list_result snapshot::events(std::optional<std::string_view> source, range const& part,
                             event_sink sink) const {
    auto& state = *state_;
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

std::optional<event_secrets> snapshot::event_secrets(std::string_view source,
                                                     base::wall_ms now) const {
    if (!model::is_event_source(source)) return std::nullopt;
    auto const bytes = state_->get(table::index, event_secret_key(source));
    if (!bytes) return std::nullopt;
    auto const secrets = state_->readable(decode_event_secrets(*bytes));
    if (!secrets) return std::nullopt;
    return state_->readable(decrypt_secrets(state_->store, source, *secrets, now));
}

}  // namespace latchkey::domain
