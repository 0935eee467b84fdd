// The index of the audit log by project (entries about sources: an empty project) and its counts.
// Earlier programs did not count the entries that a key has made. The chain of hashes is checked by
// verify_audit.
#include <map>

#include "domain/audit/audit.hpp"
#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {

void check_audit_index(consistency_check& check) {
    std::map<std::string, std::uint64_t, std::less<>> counts;
    std::map<model::id, std::uint64_t> counts_of_actors;
    std::uint64_t entries = 0, indexed = 0;
    check.walk(table::audit, {}, [&](std::string_view key, std::string_view content) {
        auto const id = read_id(key);
        auto const entry = id ? decode_audit(*id, content) : std::nullopt;
        if (!entry)
            return check.report(name("entry", id.value_or(0)) + " of the audit log cannot be read");
        ++entries;
        ++counts[entry->project];
        ++counts_of_actors[entry->actor];
        if (!check.has(table::index, audit_of_project(entry->project).add(*id)))
            check.report(name("entry", *id) +
                         " of the audit log is missing in the index of its project");
    });
    check.walk(table::index, key_bytes{tag::audit_by_project}, [&](std::string_view key, auto) {
        ++indexed;
        auto const end = key.find('\0');
        auto const id = end == key.npos ? std::nullopt : read_id(key.substr(end + 1));
        auto const content = id ? check.get(table::audit, id_key(*id)) : std::nullopt;
        auto const entry = content ? decode_audit(*id, *content) : std::nullopt;
        if (!entry || entry->project != key.substr(0, end))
            check.report(name("entry", id.value_or(0)) +
                         " of the audit log is in the index of a project that it is not of");
    });
    check.compare("entries of the audit log by project", indexed, entries);
    for (auto const& [project, count] : counts)
        check.compare("entries of the audit log of a project",
                      check.number(audit_count_key(project)).value_or(0), count);
    check.walk(table::index, key_bytes{tag::audit_count}, [&](std::string_view project, auto) {
        if (counts.find(project) == counts.end())
            check.report("entries of the audit log of a project are counted, and there are none");
    });
    check.walk(table::index, key_bytes{tag::audit_made}, [&](std::string_view key, auto content) {
        auto const id = read_id(key);
        auto const count = read_id(content);
        if (!id || !count || *count < 1 ||
            static_cast<std::uint64_t>(*count) > counts_of_actors[*id])
            check.report("more entries of the audit log are counted as made by " +
                         name("key", id.value_or(0)) + " than there are");
    });
}

}  // namespace latchkey::domain
