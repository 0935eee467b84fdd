// Lists of keys and of the audit log. Project, environment and start are served by an index; what
// depends on the clock or the last use is evaluated for each key in it.
#include "store/engine/scoped_cursor.hpp"
#include "store/read/id_union.hpp"
#include "store/read/list_part.hpp"
#include "store/records/audit_log.hpp"
#include "store/snapshot.hpp"

namespace latchkey::store {
namespace {

// The most selective index, and whether each of its keys must be checked against the filter.
struct key_plan {
    key_bytes prefix{tag::key};
    bool unfiltered = true;  // every key of the index belongs to the list
    std::uint64_t total = 0;
};

bool is_included(key_filter const& filter, model::key const& key, base::wall_ms last_used) {
    if (filter.project && key.project != *filter.project) return false;
    if (filter.environment && key.environment != *filter.environment) return false;
    if (filter.start && key.start != *filter.start) return false;
    if (filter.state && key.state_at(filter.now) != *filter.state) return false;
    return !filter.unused_since || last_used < *filter.unused_since;
}

std::uint64_t read_count(snapshot_state& state, std::string_view key) {
    auto const bytes = state.get(table::index, key);
    auto const count = bytes ? read_id(*bytes).value_or(0) : 0;
    return static_cast<std::uint64_t>(count);
}

key_plan plan_for(snapshot_state& state, key_filter const& filter) {
    key_plan plan;
    plan.unfiltered = !filter.state && !filter.start && !filter.unused_since;
    if (filter.start) {
        plan.prefix = keys_with_start(filter.start->substr(0, 8));
    } else if (filter.project || filter.environment) {
        key_list const list{filter.project.value_or(""), filter.environment};
        plan.prefix = key_list_key(tag::key_list, list);
        plan.total = read_count(state, key_list_key(tag::key_list_count, list));
    } else {
        plan.total = state.counters().keys;
    }
    return plan;
}

bool emit_entry(snapshot_state& state, model::id id, std::optional<std::string_view> bytes,
                snapshot::audit_sink sink) {
    auto const entry = state.readable(bytes ? decode_audit(id, *bytes) : std::nullopt);
    if (entry) sink(*entry);
    return entry.has_value();
}

}  // namespace

list_result snapshot::keys(key_filter const& filter, range const& part, key_sink sink) const {
    auto& state = *state_;
    if (filter.project && !model::is_project(*filter.project)) return {};
    auto plan = plan_for(state, filter);
    id_walk walk(state, table::index, plan.prefix);
    auto const includes = [&] {
        if (plan.unfiltered) return true;
        auto const record = walk.content() ? key(walk.id()) : std::nullopt;
        return record && is_included(filter, *record, last_use(walk.id()));
    };
    auto const emit = [&] {
        auto const record = walk.content() ? state.readable(key(walk.id())) : std::nullopt;
        if (record) sink(*record, last_use(walk.id()));
        return record.has_value();
    };
    if (!plan.unfiltered) plan.total = 0;
    if (!plan.unfiltered)
        for (bool valid = walk.first(); valid; valid = walk.next())
            plan.total += includes() ? 1 : 0;
    return list_part(walk, part, plan.total, includes, emit).emit();
}

std::uint64_t snapshot::sessions_generation(model::id key) const {
    auto const bytes = state_->get(table::index, sessions_generation_key(key));
    return bytes ? read_id(*bytes).value_or(UINT64_MAX) : 0;  // damaged: all have ended
}

base::wall_ms snapshot::last_use(model::id key) const {
    auto const bytes = state_->get(table::index, key_use_key(key));
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

list_result snapshot::audit(std::optional<std::string_view> project, range const& part,
                            audit_sink sink, bool with_sources) const {
    auto& state = *state_;
    if (project && with_sources) {
        scoped_cursor const second(state, table::index);
        id_union walk({state, table::index, audit_of_project(*project)},
                      {state, table::index, audit_of_project({}), second.get()});
        auto const total =
            read_count(state, audit_count_key(*project)) + read_count(state, audit_count_key({}));
        return list_part(
                   walk, part, total, [] { return true; },
                   [&] {
                       auto bytes = walk.content();
                       if (bytes) bytes = state.get(table::audit, id_key(walk.id()));
                       return emit_entry(state, walk.id(), bytes, sink);
                   })
            .emit();
    }
    auto const prefix = project ? audit_of_project(*project) : key_bytes{};
    auto const head = state.get(table::index, key_bytes{tag::audit_head});
    auto const total =
        project ? read_count(state, audit_count_key(*project))
        : head  ? static_cast<std::uint64_t>(decode_audit_head(*head).value_or(audit_head{}).last)
                : 0;
    id_walk walk(state, project ? table::index : table::audit, prefix);
    auto const emit = [&] {
        auto bytes = walk.content();
        if (bytes && project) bytes = state.get(table::audit, id_key(walk.id()));
        return emit_entry(state, walk.id(), bytes, sink);
    };
    return list_part(walk, part, total, [] { return true; }, emit).emit();
}

}  // namespace latchkey::store
