// Lists of keys. Project, environment and start are served by an index; what depends on the clock,
// the last use or a part of the name is evaluated for each key in it.
#include "base/search_text.hpp"
#include "domain/frame/list_part.hpp"
#include "domain/keys/key_list.hpp"
#include "domain/snapshot.hpp"

namespace latchkey::domain {
namespace {

// The most selective index, and whether each of its keys must be checked against the filter.
struct key_plan {
    key_bytes prefix{tag::key};
    bool has_records = false;  // the index is that of the keys themselves
    bool unfiltered = true;    // every key of the index belongs to the list
    std::uint64_t total = 0;   // of the index; 0: not known
};

// Its last use is looked up where all else fits.
template <class LastUse>
bool is_included(key_filter const& filter, model::key const& key, LastUse last_use) {
    if (filter.project && key.project != *filter.project) return false;
    if (filter.environment && key.environment != *filter.environment) return false;
    if (filter.start && key.start != *filter.start) return false;
    if (filter.state && key.state_at(filter.now) != *filter.state) return false;
    return !filter.unused_since || last_use(key.id) < *filter.unused_since;
}

// Each is allocated on its own.
std::size_t parts_of(model::key const& key) {
    return key.metadata.size() + key.ip_allowlist.size() + key.rate_limits.size();
}

key_plan plan_for(snapshot_state& state, key_filter const& filter) {
    key_plan plan;
    plan.unfiltered = !filter.state && !filter.start && !filter.unused_since && !filter.search;
    if (filter.start) {
        plan.prefix = keys_with_start(filter.start->substr(0, 8));
    } else if (filter.project || filter.environment) {
        key_list const list{filter.project.value_or(""), filter.environment};
        plan.prefix = key_list_key(tag::key_list, list);
        plan.total = read_count(state, key_list_key(tag::key_list_count, list));
    } else {
        plan.has_records = true;
        plan.total = state.counters().keys;
    }
    return plan;
}

}  // namespace

list_result snapshot::keys(key_filter const& filter, range const& part, key_sink sink) const {
    auto& state = *state_;
    if (filter.project && !model::is_project(*filter.project)) return {};
    auto plan = plan_for(state, filter);
    id_walk walk(state, table::index, plan.prefix);
    std::optional<base::search_text> search;
    if (filter.search) search.emplace(*filter.search);
    std::optional<model::key> record;  // where the walk is
    auto const read = [&] {
        auto const content = walk.content();
        if (!content)
            record.reset();
        else
            record = plan.has_records ? state.readable(model::decode_key(walk.id(), *content))
                                      : key(walk.id());
        if (record) state.work.parts += parts_of(*record);
    };
    auto const has_text = [&] {
        if (!search) return true;
        state.work.compared += record->name.size();
        return search->is_in(record->name);
    };
    auto const includes = [&] {
        if (plan.unfiltered) return true;
        read();
        return record && has_text() &&
               is_included(filter, *record, [&](model::id id) { return last_use(id); });
    };
    auto const emit = [&] {
        if (plan.unfiltered) read();
        if (!record) state.readable(record);
        if (record) sink(*record, last_use(walk.id()));
        return record.has_value();
    };
    if (plan.unfiltered) return list_part(walk, part, plan.total, includes, emit).emit();
    return filtered_part(walk, part, plan.total, includes, emit);
}

std::uint64_t snapshot::sessions_generation(model::id key) const {
    auto const bytes = state_->get(table::index, sessions_generation_key(key));
    return bytes ? read_id(*bytes).value_or(UINT64_MAX) : 0;  // damaged: all have ended
}

base::wall_ms snapshot::last_use(model::id key) const {
    auto const bytes = state_->get(table::index, key_use_key(key));
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

}  // namespace latchkey::domain
