#include "domain/admin/check_consistency.hpp"

#include <algorithm>
#include <bitset>

#include "domain/frame/consistency_check.hpp"
#include "domain/kind_list.hpp"
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
    std::bitset<256> known_tags;
    auto const add = [&](tag each) { known_tags.set(static_cast<std::uint8_t>(each)); };
    for (auto const each : {tag::schema, tag::counters, tag::age_time, tag::position}) add(each);
    for (auto const* const kind : kind_list) std::ranges::for_each(kind->tags, add);
    std::uint64_t unknown = 0;
    check.walk(table::index, {}, [&](std::string_view key, std::string_view) {
        if (is_mark_of_load(key))
            return check.report(
                "the state of its cluster was not completely loaded: it is loaded again when the "
                "service starts");
        if (key.empty() || !known_tags.test(static_cast<std::uint8_t>(key[0]))) ++unknown;
    });
    check.compare("entries of unknown kinds", 0, unknown);
}

// Records against indexes and counts, in both directions.
void check_relations(consistency_check& check) {
    auto const bytes = check.get(table::index, key_bytes{tag::counters});
    auto const counters = bytes ? decode_counters(*bytes) : std::nullopt;
    if (!counters) return check.report("the record of counts and sequences cannot be read");
    check.counters = *counters;
    for (auto const* const kind : kind_list) kind->check(check);
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
