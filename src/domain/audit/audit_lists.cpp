#include "domain/audit/audit_lists.hpp"

#include "domain/frame/id_union.hpp"
#include "domain/frame/list_part.hpp"
#include "store/scoped_cursor.hpp"

namespace latchkey::domain {
namespace {

bool emit_entry(snapshot_state& state, model::id id, std::optional<std::string_view> bytes,
                audit_sink sink) {
    auto const entry = state.readable(bytes ? decode_audit(id, *bytes) : std::nullopt);
    if (entry) sink(*entry);
    return entry.has_value();
}

}  // namespace

list_result audit_entries(snapshot const& view, std::optional<std::string_view> project,
                          range const& part, audit_sink sink, bool with_sources) {
    auto& state = view.state();
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

}  // namespace latchkey::domain
