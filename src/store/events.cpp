// Events as they are read: one of them, and lists.
#include "store/event_record.hpp"
#include "store/event_secret_record.hpp"
#include "store/list_part.hpp"

namespace latchkey::store {

std::optional<model::event_view> snapshot::event(model::id id) const {
    auto const bytes = state_->get(table::events, id_key(id));
    if (!bytes) return std::nullopt;
    return state_->readable(model::decode_event(id, *bytes));
}

listed snapshot::events(std::optional<std::string_view> source, range const& part,
                        event_sink each) const {
    auto& from = *state_;
    if (source && !model::is_event_source(*source)) return {};
    auto const head = decode_event_head(from.get(table::index, key_bytes{tag::event_head}));
    auto const total = source ? event_count(from.get(table::index, event_count_key(*source)))
                              : from.readable(head).value_or(event_head{}).count;
    id_walk walk(from.cursor(source ? table::index : table::events),
                 source ? events_of(*source) : key_bytes{});
    auto const give = [&] {
        auto const bytes = source ? from.get(table::events, id_key(walk.id())) : walk.value();
        auto const event =
            from.readable(bytes ? model::decode_event(walk.id(), *bytes) : std::nullopt);
        if (event) each(*event);
        return event.has_value();
    };
    return part_of_list(walk, part, total, [] { return true; }, give).give_out();
}

std::optional<event_secrets> snapshot::event_secrets(std::string_view source,
                                                     base::wall_ms now) const {
    if (!model::is_event_source(source)) return std::nullopt;
    auto const bytes = state_->get(table::index, event_secret_key(source));
    if (!bytes) return std::nullopt;
    auto const kept = state_->readable(decode_event_secrets(*bytes));
    if (!kept) return std::nullopt;
    return state_->readable(unsealed(state_->store, source, *kept, now));
}

}  // namespace latchkey::store
