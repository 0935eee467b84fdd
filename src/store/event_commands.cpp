// Keeping events that came from outside, each delivery once (API §12).
#include "base/limits.hpp"
#include "store/event_record.hpp"

namespace latchkey::store {
namespace {

using base::problem;

std::string_view view_of(model::event_mark const& mark) {
    return {reinterpret_cast<char const*>(mark.data()), mark.size()};
}

// The event that has one of these marks since less than 24 hours.
std::optional<model::id> seen_before(transaction& in, receive_event const& what) {
    for (auto const& mark : what.marks) {
        auto const bytes = in.get(table::index, event_mark_key(what.source, view_of(mark)));
        auto const leads = bytes ? decode_marked_event(*bytes) : std::nullopt;
        if (leads && in.now() - leads->at < model::event_repeat_ms) return leads->id;
    }
    return std::nullopt;
}

// Handlers refuse what is beyond these bounds long before.
bool can_be_kept(receive_event const& what) {
    return model::is_event_source(what.source) &&
           what.delivery_id.size() <= model::delivery_id_bytes_max &&
           what.marks.size() <= model::event_marks_max &&
           what.payload.size() <= base::limits::event_bytes_max;
}

}  // namespace

outcome run(transaction& in, receive_event const& what, command const& whole) {
    if (!whole.faults.empty()) return invalid(whole.faults);
    if (!can_be_kept(what)) return refused(problem::internal_error);
    if (auto no = unmet(whole)) return std::move(*no);
    if (auto const before = seen_before(in, what)) return {.record = received_event{*before}};
    auto const head = decode_event_head(in.get(table::index, key_bytes{tag::event_head}));
    if (!head) return refused(problem::internal_error);
    if (head->last >= base::limits::id_max) return refused(problem::storage_full);
    if (auto const full = no_room(in, true)) return refused(*full);

    std::string marks;
    for (auto const& mark : what.marks) marks.append(view_of(mark));
    put_event(in, {.id = head->last + 1,
                   .source = what.source,
                   .delivery_id = what.delivery_id,
                   .key_id = whole.caller,
                   .verified = what.verified,
                   .received_at = in.now(),
                   .marks = marks,
                   .payload = what.payload});
    return {.record = received_event{head->last + 1}};
}

}  // namespace latchkey::store
