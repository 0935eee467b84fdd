// The shared state of a consistency check (check_consistency.hpp): one snapshot, look-ups and walks
// through LMDB, and the report. One thread; private to the domain.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/function_ref.hpp"
#include "domain/store_terms.hpp"
#include "model/event.hpp"
#include "model/key.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/findings.hpp"

namespace latchkey::domain {

class consistency_check {
  public:
    consistency_check(environment_state& environment, MDB_txn* txn, findings& report,
                      findings& locked)
        : store(environment), txn_(txn), report_(report), locked_(locked) {}

    void report(std::string sentence) { report_.add(std::move(sentence)); }
    // Reports a record that the master key at hand does not decrypt; `subject` names it, such as
    // "the secret of the source shop".
    void report_locked(std::string const& subject);
    void compare(std::string_view noun, std::uint64_t recorded, std::uint64_t counted);
    // No record may be newer than the last write.
    void check_time(base::wall_ms time, std::string const& record);

    // nullopt also for a record without its checksum, which check_pages has reported.
    std::optional<std::string_view> get(table table, std::string_view key);
    bool has(table table, std::string_view key) { return get(table, key).has_value(); }
    // The number stored under a key of the index.
    std::optional<std::uint64_t> number(std::string_view key);

    // The record of that id; nullopt: there is none, or it cannot be decoded.
    std::optional<model::user_view> user(std::optional<model::id> id);
    std::optional<model::post_view> post(std::optional<model::id> id);
    std::optional<model::event_view> event(std::optional<model::id> id);
    std::optional<model::key> key(std::optional<model::id> id);

    // Visits every entry whose key begins with `prefix`: the rest of its key, and its content,
    // empty where that is damaged.
    using entry_visitor = base::function_ref<void(std::string_view key, std::string_view content)>;
    void walk(table table, std::string_view prefix, entry_visitor visit);
    std::uint64_t count(tag tag);

    environment_state& store;
    store::counters counters;
    std::unordered_set<model::id> purged_users;  // deleted; their posts are still being removed

  private:
    MDB_txn* txn_;
    findings& report_;
    findings& locked_;
};

// "user 7"
std::string name(std::string_view noun, model::id id);

// Visits every record of a kind whose keys are ids: reports a key that is no id, a record that
// `decode` refuses, and an id that was never assigned. Returns the number of records.
template <class Decode, class Visit>
std::uint64_t walk_records(consistency_check& check, table table, std::string_view prefix,
                           std::string_view noun, model::id last_id, Decode decode, Visit visit) {
    std::uint64_t count = 0;
    check.walk(table, prefix, [&](std::string_view key, std::string_view content) {
        ++count;
        auto const id = read_id(key);
        if (!id || *id < 1)
            return check.report((noun == "event" ? "an " : "a ") + std::string(noun) +
                                " has a key that is no id");
        if (*id > last_id) check.report(name(noun, *id) + " is beyond the sequence");
        auto const record = decode(*id, content);
        if (!record) return check.report(name(noun, *id) + " cannot be read");
        visit(*id, *record);
    });
    return count;
}

}  // namespace latchkey::domain
