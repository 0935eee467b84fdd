// The lists of keys by project and environment with their counts, and the index of keys by start.
#include <algorithm>
#include <array>
#include <map>

#include "domain/frame/consistency_check.hpp"
#include "domain/keys/key_list.hpp"

namespace latchkey::domain {
namespace {

struct listed_keys {
    std::map<std::string, std::uint64_t, std::less<>> lengths;  // of the lists
    std::uint64_t with_start = 0;
};

std::array<key_list, 3> lists_of(model::key const& key) {
    return {key_list{key.project, std::nullopt}, key_list{{}, key.environment},
            key_list{key.project, key.environment}};
}

// An entry of an index: what it is listed under, followed by the id of a key.
struct key_entry {
    explicit key_entry(std::string_view entry)
        : prefix(entry.substr(0, entry.size() - std::min(entry.size(), sizeof(model::id)))),
          id(read_id(entry.substr(prefix.size()))) {}
    std::string_view prefix;
    std::optional<model::id> id;
};

// Every key is in its three lists and, unless it has none, under its start.
listed_keys check_listed_keys(consistency_check& check) {
    listed_keys listed;
    auto const visit = [&](std::string_view bytes, std::string_view content) {
        auto const id = read_id(bytes);
        auto const key = id ? model::decode_key(*id, content) : std::nullopt;
        if (!key) return;
        for (auto const& list : lists_of(*key)) {
            ++listed.lengths[std::string(key_list_key(tag::key_list, list)).substr(1)];
            if (!check.has(table::index, key_list_key(tag::key_list, list).add(*id)))
                check.report(name("key", *id) + " is missing in a list");
        }
        if (key->start.empty()) return;
        ++listed.with_start;
        if (!check.has(table::index, keys_with_start(key->start).add(*id)))
            check.report(name("key", *id) + " is not found by its start");
    };
    check.walk(table::index, key_bytes{tag::key}, visit);
    return listed;
}

// Every entry is of a key that belongs there.
void check_list_entries(consistency_check& check) {
    std::uint64_t count = 0;
    check.walk(table::index, key_bytes{tag::key_list}, [&](std::string_view bytes, auto) {
        ++count;
        key_entry const entry(bytes);
        auto const key = check.key(entry.id);
        bool belongs = false;
        if (key)
            for (auto const& list : lists_of(*key))
                belongs |=
                    std::string_view(key_list_key(tag::key_list, list)).substr(1) == entry.prefix;
        if (!belongs)
            check.report(name("key", entry.id.value_or(0)) +
                         " is in a list where it does not belong");
    });
    check.compare("entries of lists of keys", 3 * check.counters.keys, count);
}

void check_list_lengths(consistency_check& check, listed_keys const& listed) {
    auto const& lengths = listed.lengths;
    for (auto const& [list, length] : lengths)
        check.compare(
            "keys of a list",
            check.number(key_bytes{tag::key_list_count}.add(std::string_view(list))).value_or(0),
            length);
    check.walk(table::index, key_bytes{tag::key_list_count},
               [&](std::string_view list, std::string_view content) {
                   if (read_id(content).value_or(1) != 0 && lengths.find(list) == lengths.end())
                       check.report("a list without keys has a count");
               });
}

void check_key_starts(consistency_check& check, std::uint64_t with_start) {
    std::uint64_t count = 0;
    check.walk(table::index, key_bytes{tag::key_start}, [&](std::string_view bytes, auto) {
        ++count;
        key_entry const entry(bytes);
        auto const key = check.key(entry.id);
        if (!key || key->start != entry.prefix)
            check.report(name("key", entry.id.value_or(0)) +
                         " is indexed under a start that it does not have");
    });
    check.compare("starts of keys", with_start, count);
}

}  // namespace

void check_key_lists(consistency_check& check) {
    auto const listed = check_listed_keys(check);
    check_list_entries(check);
    check_list_lengths(check, listed);
    check_key_starts(check, listed.with_start);
}

}  // namespace latchkey::domain
