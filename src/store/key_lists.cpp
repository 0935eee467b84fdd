// Lists of keys and of the audit log. What project, environment and start select is served by an
// index; what the clock or the last use decides is asked of each key of that.
#include "store/audit_log.hpp"
#include "store/list_part.hpp"

namespace latchkey::store {
namespace {

// The index that selects most, and what is still to be asked of each key in it.
struct key_plan {
    key_bytes prefix{tag::key};
    bool whole = true;  // every key of the index belongs to the list
    std::uint64_t total = 0;
};

bool belongs(key_filter const& filter, model::key const& key, base::wall_ms last_used) {
    if (filter.project && key.project != *filter.project) return false;
    if (filter.environment && key.environment != *filter.environment) return false;
    if (filter.start && key.start != *filter.start) return false;
    if (filter.state && key.state_at(filter.now) != *filter.state) return false;
    return !filter.unused_since || last_used < *filter.unused_since;
}

std::uint64_t count_at(snapshot::state& from, std::string_view key) {
    auto const bytes = from.get(table::index, key);
    auto const count = bytes ? read_id(*bytes).value_or(0) : 0;
    return static_cast<std::uint64_t>(count);
}

key_plan plan_for(snapshot::state& from, key_filter const& filter) {
    key_plan plan;
    plan.whole = !filter.state && !filter.start && !filter.unused_since;
    if (filter.start) {
        plan.prefix = keys_with_start(filter.start->substr(0, 8));
    } else if (filter.project || filter.environment) {
        key_list const list{filter.project.value_or(""), filter.environment};
        plan.prefix = key_list_key(tag::key_list, list);
        plan.total = count_at(from, key_list_key(tag::key_list_count, list));
    } else {
        plan.total = from.heads().keys;
    }
    return plan;
}

}  // namespace

listed snapshot::keys(key_filter const& filter, range const& part, key_sink each) const {
    auto& from = *state_;
    if (filter.project && !model::is_project(*filter.project)) return {};
    auto plan = plan_for(from, filter);
    id_walk walk(from.cursor(table::index), plan.prefix);
    auto const counts = [&] {
        if (plan.whole) return true;
        auto const found = key(walk.id());
        return found && belongs(filter, *found, last_use(walk.id()));
    };
    auto const give = [&] {
        auto const found = key(walk.id());
        if (found) each(*found, last_use(walk.id()));
        return found.has_value();
    };
    if (!plan.whole) plan.total = 0;
    if (!plan.whole)
        for (bool there = walk.first(); there; there = walk.next()) plan.total += counts() ? 1 : 0;
    return part_of_list(walk, part, plan.total, counts, give).give_out();
}

base::wall_ms snapshot::last_use(model::id key) const {
    auto const bytes = state_->get(table::index, key_use_key(key));
    return bytes ? read_id(*bytes).value_or(0) : 0;
}

listed snapshot::audit(std::optional<std::string_view> project, range const& part,
                       audit_sink each) const {
    auto& from = *state_;
    auto const prefix = project ? audit_of_project(*project) : key_bytes{};
    auto const head = from.get(table::index, key_bytes{tag::audit_head});
    auto const total =
        project ? count_at(from, audit_count_key(*project))
        : head  ? static_cast<std::uint64_t>(decode_audit_head(*head).value_or(audit_head{}).last)
                : 0;
    id_walk walk(from.cursor(project ? table::index : table::audit), prefix);
    auto const give = [&] {
        auto const bytes = project ? from.get(table::audit, id_key(walk.id())) : walk.value();
        auto const entry = from.readable(bytes ? decode_audit(walk.id(), *bytes) : std::nullopt);
        if (entry) each(*entry);
        return entry.has_value();
    };
    return part_of_list(walk, part, total, [] { return true; }, give).give_out();
}

}  // namespace latchkey::store
