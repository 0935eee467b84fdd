// Storing events of external services, each delivery once (api.md §12).
#include "base/limits.hpp"
#include "domain/changes/change_log.hpp"
#include "domain/events/event_index.hpp"
#include "domain/events/event_record.hpp"
#include "domain/frame/rejection.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

std::string_view mark_text(model::event_mark const& mark) {
    return {reinterpret_cast<char const*>(mark.data()), mark.size()};
}

// The event that has had one of these marks for less than 24 hours: this delivery is a repeat.
std::optional<model::id> find_repeat(transaction& txn, receive_event const& action) {
    for (auto const& mark : action.marks) {
        auto const bytes = txn.get(table::index, event_mark_key(action.source, mark_text(mark)));
        auto const marked = bytes ? decode_marked_event(*bytes) : std::nullopt;
        if (marked && txn.now() - marked->received_at < model::event_repeat_ms) return marked->id;
    }
    return std::nullopt;
}

// Bounds that the encoding has; handlers check tighter ones before.
bool is_storable(receive_event const& action) {
    return model::is_event_source(action.source) &&
           action.delivery_id.size() <= model::delivery_id_bytes_max &&
           action.marks.size() <= model::event_marks_max &&
           action.payload.size() <= base::limits::event_bytes_max;
}

}  // namespace

outcome run(transaction& txn, receive_event const& action, command const& command) {
    if (!command.faults.empty()) return reject_invalid(command.faults);
    if (!is_storable(action)) return reject(problem::internal_error);
    if (auto rejection = check_conditions(command)) return std::move(*rejection);
    if (auto const repeat = find_repeat(txn, action)) return {.record = received_event{*repeat}};
    auto const head = decode_event_head(txn.get(table::index, key_bytes{tag::event_head}));
    if (!head) return reject(problem::internal_error);
    if (head->last >= base::limits::id_max) return reject(problem::storage_full);
    if (auto const shortage = check_capacity(txn, true)) return reject(*shortage);

    std::string marks;
    for (auto const& mark : action.marks) marks.append(mark_text(mark));
    model::event_view const event{.id = head->last + 1,
                                  .source = action.source,
                                  .delivery_id = action.delivery_id,
                                  .key_id = command.caller,
                                  .verified = action.verified,
                                  .received_at = txn.now(),
                                  .marks = marks,
                                  .payload = action.payload};
    put_event(txn, event);
    note_change(txn, model::change_type::event_received, command.caller, event);
    return {.record = received_event{head->last + 1}};
}

std::size_t bytes_of(receive_event const& action) {
    return action.payload.size() + action.delivery_id.size() + sizeof(model::event_mark);
}

}  // namespace latchkey::domain
