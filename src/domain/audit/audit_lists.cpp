// Ids and times of the log ascend together and no entry is ever removed, so that the ids of a span
// of time are found by binary search. No index has actions and keys: each entry is read for these.
#include "domain/audit/audit_lists.hpp"

#include "domain/frame/id_span.hpp"
#include "domain/frame/id_union.hpp"
#include "domain/frame/list_part.hpp"
#include "store/scoped_cursor.hpp"

namespace latchkey::domain {
namespace {

class audit_list {
  public:
    audit_list(snapshot_state& state, audit_filter const& filter, range const& part,
               audit_sink sink)
        : state_(state), filter_(filter), part_(part), sink_(sink) {
        auto const head = state.get(table::index, key_bytes{tag::audit_head});
        last_ = head ? decode_audit_head(*head).value_or(audit_head{}).last : 0;
        begin_ = filter.begin ? first_since(*filter.begin) : 1;
        end_ = filter.end ? first_since(*filter.end) : last_ + 1;
    }

    list_result emit();

  private:
    // The first entry of that time or a later one; else beyond the last.
    model::id first_since(base::wall_ms time);
    std::optional<std::string_view> record(model::id id) {
        return state_.get(table::audit, id_key(id));
    }
    bool selects(audit_entry const& entry) const;
    // From a walk over the log or over an index of it, which has `count` elements.
    template <class Walk>
    list_result emit_from(Walk& whole, std::uint64_t count, bool is_index);

    snapshot_state& state_;
    audit_filter const& filter_;
    range const& part_;
    audit_sink sink_;
    model::id last_ = 0, begin_ = 1, end_ = 1;
};

model::id audit_list::first_since(base::wall_ms time) {
    model::id low = 1, high = last_ + 1;
    while (low < high) {
        auto const middle = low + (high - low) / 2;
        auto const bytes = record(middle);
        auto const entry =
            state_.readable(bytes ? decode_audit_beginning(middle, *bytes) : std::nullopt);
        if (!entry) return low;
        entry->time < time ? low = middle + 1 : high = middle;
    }
    return low;
}

bool audit_list::selects(audit_entry const& entry) const {
    if (filter_.action && entry.action != *filter_.action) return false;
    return !filter_.key || entry.key == *filter_.key || entry.actor == *filter_.key;
}

template <class Walk>
list_result audit_list::emit_from(Walk& whole, std::uint64_t count, bool is_index) {
    id_span walk(whole, begin_, end_);
    std::optional<std::string_view> bytes;  // of the entry where the walk is
    auto const read = [&] {
        bytes = walk.content();
        if (bytes && is_index) bytes = record(walk.id());
    };
    bool const is_filtered = filter_.action || filter_.key;
    auto const includes = [&] {
        if (!is_filtered) return true;
        read();
        auto const entry =
            state_.readable(bytes ? decode_audit_beginning(walk.id(), *bytes) : std::nullopt);
        return entry && selects(*entry);
    };
    auto const emit_one = [&] {
        if (!is_filtered) read();
        auto const entry = state_.readable(bytes ? decode_audit(walk.id(), *bytes) : std::nullopt);
        if (entry) sink_(*entry);
        return entry.has_value();
    };
    auto const ids = static_cast<std::uint64_t>(std::max<model::id>(end_ - begin_, 0));
    bool const is_whole = begin_ == 1 && end_ > last_;
    auto const total = is_index && is_whole ? count : ids;
    if (!is_filtered && (!is_index || is_whole))
        return list_part(walk, part_, total, includes, emit_one).emit();
    return filtered_part(walk, part_, std::min(count, ids), includes, emit_one);
}

list_result audit_list::emit() {
    if (!filter_.project) {
        id_walk walk(state_, table::audit, key_bytes{});
        return emit_from(walk, static_cast<std::uint64_t>(last_), false);
    }
    id_walk of_project(state_, table::index, audit_of_project(*filter_.project));
    auto const count = read_count(state_, audit_count_key(*filter_.project));
    if (!filter_.with_sources) return emit_from(of_project, count, true);
    scoped_cursor const second(state_, table::index);
    id_union walk(of_project, {state_, table::index, audit_of_project({}), second.get()});
    return emit_from(walk, count + read_count(state_, audit_count_key({})), true);
}

}  // namespace

list_result audit_entries(snapshot const& view, audit_filter const& filter, range const& part,
                          audit_sink sink) {
    return audit_list(view.state(), filter, part, sink).emit();
}

}  // namespace latchkey::domain
