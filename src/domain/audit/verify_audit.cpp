#include "domain/audit/verify_audit.hpp"

#include <algorithm>

#include "domain/audit/audit.hpp"
#include "store/checksum.hpp"
#include "store/environment_state.hpp"
#include "store/lmdb_value.hpp"
#include "store/pages/read_version.hpp"

namespace latchkey::domain {
namespace {

constexpr std::size_t wrong_max = 100;

// One pass over the log in a snapshot of its own.
class chain_check {
  public:
    explicit chain_check(environment_state& store) : store_(store) {}
    ~chain_check() {
        if (txn_ != nullptr) ::mdb_txn_abort(txn_);
    }
    chain_check(chain_check const&) = delete;
    chain_check& operator=(chain_check const&) = delete;

    audit_report run();

  private:
    void check_entry(std::string_view key, std::string_view value);
    void check_end();
    void report(std::string sentence) {
        if (report_.wrong.size() < wrong_max) report_.wrong.push_back(std::move(sentence));
    }

    environment_state& store_;
    MDB_txn* txn_ = nullptr;
    model::id last_ = 0;
    audit_report report_;
};

void chain_check::check_entry(std::string_view key, std::string_view value) {
    auto const id = read_id(key);
    if (!id) return report("an entry of the audit log has a key that is no id");
    auto const name = "entry " + std::to_string(*id);
    auto const content = content_of(table::audit, key, value);
    if (!content) report(name + " does not have its checksum");
    auto const record =
        content.value_or(value.substr(0, value.size() - std::min(value.size(), checksum_bytes)));
    if (*id != last_ + 1)
        report(name + " follows entry " + std::to_string(last_) + ": entries are missing");
    auto const entry = decode_audit(*id, record);
    if (!entry)
        report(name + " cannot be read");
    else if (entry->previous != report_.last)
        report(name + " does not carry the hash of the entry before it");
    last_ = *id;
    report_.last = hash_of(*id, record);
    ++report_.entries;
}

void chain_check::check_end() {
    auto const head_key = key_bytes{tag::audit_head};
    auto key = val_of(head_key);
    MDB_val value;
    int const code = ::mdb_get(txn_, store_.dbi(table::index), &key, &value);
    auto const content =
        code == 0 ? content_of(table::index, head_key, store::view_of(value)) : std::nullopt;
    auto const head = content ? decode_audit_head(*content).value_or(audit_head{}) : audit_head{};
    if (head.last != last_ || head.hash != report_.last)
        report("the log does not end with the entry " + std::to_string(head.last) +
               " that was written last");
}

audit_report chain_check::run() {
    MDB_cursor* cursor = nullptr;
    int code = begin_read(store_.env, &txn_);
    if (code == 0) code = ::mdb_cursor_open(txn_, store_.dbi(table::audit), &cursor);
    if (code != 0) {
        report(lmdb_error("the audit log cannot be read", code).message);
        return std::move(report_);
    }
    MDB_val key, value;
    code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; code == 0; code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        check_entry(store::view_of(key), store::view_of(value));
    ::mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND) report(lmdb_error("the audit log cannot be read", code).message);
    check_end();
    return std::move(report_);
}

}  // namespace

audit_report verify_audit(environment& store) {
    return chain_check(store.native()).run();
}

}  // namespace latchkey::domain
