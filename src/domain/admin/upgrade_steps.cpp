// The steps that the released schemas need.
#include "domain/admin/upgrade_steps.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>

#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "domain/audit/audit.hpp"
#include "store/checksum.hpp"

namespace latchkey::domain {
namespace {

constexpr base::mono_ns line_interval = 2 * base::second;

// A read snapshot of the store before the upgrade, beside the write transaction.
class earlier_snapshot {
  public:
    explicit earlier_snapshot(MDB_env* env)
        : failure_(::mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn_)) {}
    ~earlier_snapshot() {
        if (failure_ == 0) ::mdb_txn_abort(txn_);
    }
    earlier_snapshot(earlier_snapshot const&) = delete;
    earlier_snapshot& operator=(earlier_snapshot const&) = delete;
    int failure() const { return failure_; }
    MDB_txn* get() const { return txn_; }

  private:
    MDB_txn* txn_ = nullptr;
    int failure_;
};

// A progress line every two seconds, for a terminal or the journal.
class progress_log {
  public:
    progress_log(std::string title, std::uint64_t total)
        : title_(std::move(title)),
          total_(total),
          start_(base::read_clocks().mono),
          next_line_(start_ + line_interval) {}
    void count() {
        if ((++count_ & 0xfff) != 0) return;
        auto const now = base::read_clocks().mono;
        if (now < next_line_) return;
        next_line_ = now + line_interval;
        auto const percent = count_ * 100 / std::max<std::uint64_t>(total_, 1);
        base::log(title_ + ": " + std::to_string(percent) + " % of " + std::to_string(total_) +
                  " entries after " + std::to_string((now - start_) / base::second) + " s");
    }

  private:
    std::string title_;
    std::uint64_t total_, count_ = 0;
    base::mono_ns start_, next_line_;
};

std::uint64_t count_entries(environment_state& store, MDB_txn* txn) {
    std::uint64_t count = 0;
    for (auto const table : store.tables) {
        MDB_stat stat{};
        if (::mdb_stat(txn, table, &stat) == 0) count += stat.ms_entries;
    }
    return count;
}

// The new pages stand beside the old ones until the commit. Checked in advance: an upgrade that
// fails half-way on a full disk would have taken all of it from other programs meanwhile.
bool has_disk_for_copy(environment_state& store) {
    int descriptor = -1;
    struct stat file{};
    struct statfs disk{};
    MDB_envinfo info{};
    ::mdb_env_get_fd(store.env, &descriptor);
    ::mdb_env_info(store.env, &info);
    if (::fstat(descriptor, &file) != 0 || ::fstatfs(descriptor, &disk) != 0) return true;
    auto const used_bytes = (info.me_last_pgno + 1) * store.page_bytes;
    auto const own_bytes = static_cast<std::uint64_t>(file.st_blocks) * 512;
    auto const available =
        static_cast<std::uint64_t>(disk.f_bavail) * static_cast<std::uint64_t>(disk.f_bsize);
    return disk.f_blocks == 0 ||
           used_bytes + used_bytes * 5 / 4 + 8 * base::limits::mib <= own_bytes + available;
}

// Copies a whole table from the earlier snapshot into the emptied one.
template <class Write>
int rewrite_table(environment_state& store, MDB_txn* source, MDB_txn* txn, table table,
                  Write write) {
    auto const dbi = store.dbi(table);
    MDB_cursor* cursor = nullptr;
    int code = ::mdb_drop(txn, dbi, 0);
    if (code != 0) return code;
    if (code = ::mdb_cursor_open(source, dbi, &cursor); code != 0) return code;
    MDB_val key, value;
    code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (code == 0) {
        code = write(view_of(key), view_of(value));
        if (code == 0) code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    ::mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

// Every value grows by its checksum. In place each full page would be split; appended in order the
// new pages are full. The earlier snapshot keeps the pages that are read.
int add_checksums(environment_state& store, MDB_txn* txn) {
    if (!has_disk_for_copy(store)) return ENOSPC;
    earlier_snapshot const earlier(store.env);
    if (earlier.failure() != 0) return earlier.failure();
    auto const schema = key_bytes{tag::schema};
    progress_log progress("bringing the store in " + store.directory + " to schema version 2",
                          count_entries(store, earlier.get()));
    for (auto const table :
         {table::users, table::posts, table::index, table::audit, table::events}) {
        auto const dbi = store.dbi(table);
        auto const write = [&](std::string_view key, std::string_view value) {
            progress.count();
            if (table != table::index || key != std::string_view(schema))
                return put_checked(txn, dbi, table, key, value, MDB_APPEND);
            auto raw_key = val_of(key), content = val_of(value);
            return ::mdb_put(txn, dbi, &raw_key, &content, MDB_APPEND);
        };
        if (int const code = rewrite_table(store, earlier.get(), txn, table, write); code != 0)
            return code;
    }
    return index_source_entries(store, txn);
}

// The tables were made when they were opened.
int add_changes(environment_state&, MDB_txn*) {
    return 0;
}

// No older program has written a key of kind `jwt`.
int allow_bearers(environment_state&, MDB_txn*) {
    return 0;
}

// No older program has written a key with the scope `keys:verify_all`.
int allow_verify_all(environment_state&, MDB_txn*) {
    return 0;
}

constexpr upgrade_step released_steps[] = {
    {1, add_checksums}, {2, add_changes}, {3, allow_bearers}, {4, allow_verify_all}};

}  // namespace

int index_source_entries(environment_state& store, MDB_txn* txn) {
    auto const count_name = audit_count_key({});
    auto const index = store.dbi(table::index);
    auto count_key = val_of(count_name);
    MDB_val value;
    if (int const code = ::mdb_get(txn, index, &count_key, &value); code != MDB_NOTFOUND)
        return code;
    MDB_cursor* cursor = nullptr;
    if (int const code = ::mdb_cursor_open(txn, store.dbi(table::audit), &cursor); code != 0)
        return code;
    model::id count = 0;
    MDB_val key;
    int code = ::mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; code == 0; code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        auto const id = read_id(view_of(key));
        auto const content = content_of(table::audit, view_of(key), view_of(value));
        auto const entry = id && content ? decode_audit(*id, *content) : std::nullopt;
        if (!entry || !entry->project.empty()) continue;
        code = put_checked(txn, index, table::index, audit_of_project({}).add(*id), {}, 0);
        if (code != 0) break;
        ++count;
    }
    ::mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND || count == 0) return code == MDB_NOTFOUND ? 0 : code;
    std::array<char, 8> number;
    return put_checked(txn, index, table::index, count_name, id_value(count, number), 0);
}

}  // namespace latchkey::domain

// Version 1 is the first released one, so no step leads to it.
std::span<latchkey::store::upgrade_step const> latchkey::store::upgrade_steps() {
    return domain::released_steps;
}
