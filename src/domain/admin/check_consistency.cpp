#include "domain/admin/check_consistency.hpp"

#include <algorithm>

#include "domain/frame/consistency_check.hpp"
#include "store/lmdb_value.hpp"
#include "store/pages/check_pages.hpp"
#include "store/pages/read_version.hpp"

namespace latchkey::domain {
namespace {

// A read transaction, aborted by the destructor. Null where it cannot begin, which is reported.
class read_transaction {
  public:
    read_transaction(MDB_env* env, findings& report) {
        int const code = begin_read(env, &txn_);
        if (code != 0) report.add(lmdb_error("the store cannot be read", code).message);
    }
    ~read_transaction() {
        if (txn_ != nullptr) ::mdb_txn_abort(txn_);
    }
    read_transaction(read_transaction const&) = delete;
    read_transaction& operator=(read_transaction const&) = delete;
    MDB_txn* get() const { return txn_; }

  private:
    MDB_txn* txn_ = nullptr;
};

bool is_mark_of_load(std::string_view key) {
    return key == std::string_view(key_bytes{tag::unfinished_load});
}

void check_unknown_tags(consistency_check& check) {
    static constexpr tag known_tags[] = {tag::schema,
                                         tag::counters,
                                         tag::email,
                                         tag::post_by_user,
                                         tag::post_by_status,
                                         tag::post_by_user_status,
                                         tag::tally,
                                         tag::purge,
                                         tag::key,
                                         tag::key_digest,
                                         tag::key_change,
                                         tag::key_use,
                                         tag::key_admin,
                                         tag::key_list,
                                         tag::key_list_count,
                                         tag::key_start,
                                         tag::audit_head,
                                         tag::audit_by_project,
                                         tag::audit_count,
                                         tag::audit_made,
                                         tag::event_head,
                                         tag::event_by_source,
                                         tag::event_mark,
                                         tag::event_secret,
                                         tag::event_count,
                                         tag::key_usage,
                                         tag::kept_outcome,
                                         tag::kept_until,
                                         tag::load,
                                         tag::load_moved,
                                         tag::age_time,
                                         tag::position,
                                         tag::webhook_head,
                                         tag::webhook,
                                         tag::webhook_progress,
                                         tag::webhook_replay,
                                         tag::webhook_pending,
                                         tag::delivery_lease,
                                         tag::key_notice,
                                         tag::sessions_generation};
    std::uint64_t unknown = 0;
    check.walk(table::index, {}, [&](std::string_view key, std::string_view) {
        if (is_mark_of_load(key))
            return check.report(
                "the state of its cluster was not completely loaded: it is loaded again when the "
                "service starts");
        if (key.empty() ||
            std::ranges::find(known_tags, static_cast<tag>(key[0])) == std::end(known_tags))
            ++unknown;
    });
    check.compare("entries of unknown kinds", 0, unknown);
}

// Records against indexes and counts, in both directions.
void check_relations(consistency_check& check) {
    auto const bytes = check.get(table::index, key_bytes{tag::counters});
    auto const counters = bytes ? decode_counters(*bytes) : std::nullopt;
    if (!counters) return check.report("the record of counts and sequences cannot be read");
    check.counters = *counters;
    check_users(check);
    check_posts(check);
    check_keys(check);
    check_key_lists(check);
    check_audit_index(check);
    check_kept_outcomes(check);
    check_usage(check);
    check_events(check);
    check_changes(check);
    check_webhooks(check);
    check_loads(check);
    check_unknown_tags(check);
}

}  // namespace

std::vector<std::string> check_consistency(environment& store, std::vector<std::string>* locked) {
    findings report, encrypted;
    read_transaction const txn(store.native().env, report);
    if (txn.get() == nullptr) return report.sentences();
    if (check_pages(store.native(), txn.get(), report)) {
        consistency_check check(store.native(), txn.get(), report,
                                locked != nullptr ? encrypted : report);
        check_relations(check);
    } else {
        report.add("indexes and counts were not compared with the records, which takes every page");
    }
    if (locked != nullptr) *locked = encrypted.sentences();
    return report.sentences();
}

std::vector<std::string> check_checksums(environment& store) {
    findings report;
    read_transaction const txn(store.native().env, report);
    if (txn.get() != nullptr) check_pages(store.native(), txn.get(), report);
    return report.sentences();
}

}  // namespace latchkey::domain
