// A store of this version is opened by a reading transaction, so that no lock keeps a server from
// starting; only what has to be created or upgraded takes the write lock. Handles are committed
// before an upgrade begins, which thus reads the old tables beside the transaction that writes the
// new ones.
#include "store/environment_tables.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/limits.hpp"
#include "base/system/log.hpp"
#include "store/checksum.hpp"
#include "store/files/claim.hpp"
#include "store/files/master_key.hpp"
#include "store/lmdb_value.hpp"
#include "store/upgrade.hpp"

namespace latchkey::store {
namespace {

// A newer store is refused. An older one is upgraded, but only by a server, which claims it first.
base::result<void> check_version(environment_state& store, std::uint32_t version,
                                 bool may_upgrade) {
    if (version == schema_version) return {};
    auto const sentence = "the store in " + store.directory + " has schema version " +
                          std::to_string(version) + ", this program knows version " +
                          std::to_string(schema_version) + ": ";
    if (version > schema_version)
        return base::error{sentence + "use the latchkey that wrote it, or a newer one"};
    if (!may_upgrade)
        return base::error{sentence +
                           "latchkey serve brings it up to date when it starts; make a backup "
                           "before, with the latchkey that wrote it"};
    return store.claim_for_server();
}

// The schema version of the store; a new store is initialised with the current one. An error: the
// file belongs to another program, or its version cannot be used.
base::result<std::uint32_t> check_schema(environment_state& store, MDB_txn* txn, bool may_upgrade) {
    auto const place = "the store in " + store.directory;
    auto const schema_key = key_bytes{tag::schema};
    auto key = val_of(schema_key);
    MDB_val value;
    int const code = ::mdb_get(txn, store.dbi(table::index), &key, &value);
    if (code == 0) {
        base::reader reader(view_of(value));
        auto const magic = reader.bytes(schema_magic.size());
        auto const version = reader.integer<std::uint32_t>();
        if (!reader.done() || magic != schema_magic)
            return base::error{place + " is not one of latchkey's"};
        if (auto const result = check_version(store, version, may_upgrade); !result)
            return result.error();
        return version;
    }
    if (code != MDB_NOTFOUND) return lmdb_error("cannot read " + place, code);
    if (store.read_only) return base::error{place + " is not one of latchkey's"};
    std::string bytes(schema_magic);
    base::append(bytes, schema_version);
    auto schema = val_of(bytes);
    if (int const error = ::mdb_put(txn, store.dbi(table::index), &key, &schema, 0); error != 0)
        return lmdb_error("cannot write " + place, error);
    encode(counters{}, bytes);
    if (int const error = put_checked(txn, store.dbi(table::index), table::index,
                                      key_bytes{tag::counters}, bytes, 0);
        error != 0)
        return lmdb_error("cannot write " + place, error);
    return schema_version;
}

// Compares keys that are ids (id_key) as numbers: the same order as LMDB's memcmp, so the file is
// the same, without some twenty calls of memcmp per look-up among a million records. In a damaged
// store a key may have another length.
int compare_ids(MDB_val const* left, MDB_val const* right) {
    auto const a = view_of(*left), b = view_of(*right);
    if (a.size() != sizeof(model::id) || b.size() != sizeof(model::id)) [[unlikely]]
        return a.compare(b);
    auto const x = base::get<std::uint64_t>(a.data()), y = base::get<std::uint64_t>(b.data());
    return x < y ? -1 : x > y;
}

// 0 or LMDB's code; MDB_NOTFOUND: a table is missing and `create` is false.
int open_handles(environment_state& store, MDB_txn* txn, bool create) {
    if (int const code = ::mdb_dbi_open(txn, nullptr, 0, &store.main); code != 0) return code;
    for (std::size_t i = 0; i < table_count; ++i)
        if (int const code =
                ::mdb_dbi_open(txn, table_names[i], create ? MDB_CREATE : 0, &store.tables[i]);
            code != 0)
            return code;
    for (auto const each :
         {table::users, table::posts, table::audit, table::events, table::changes})
        if (int const code = ::mdb_set_compare(txn, store.dbi(each), compare_ids); code != 0)
            return code;
    return 0;
}

base::result<void> read_master_key_file(environment_state& store, bool read_only) {
    auto const key = load_master_key(store.directory, store.master_key_file, read_only);
    if (!key) return key.error();
    store.has_master_key = key->has_value();
    if (store.has_master_key) store.master_key = **key;
    return {};
}

// The transaction in which the tables are opened; a writing one takes the write lock.
class setup_transaction {
  public:
    setup_transaction(environment_state& store, bool read_only)
        : store_(store), locks_(!read_only) {
        if (locks_) store_.lock.acquire(write_lock::for_ever);
        code = ::mdb_txn_begin(store_.env, nullptr, read_only ? MDB_RDONLY : 0, &txn);
    }
    ~setup_transaction() {
        if (txn != nullptr) ::mdb_txn_abort(txn);
        if (locks_) store_.lock.release();
    }
    setup_transaction(setup_transaction const&) = delete;
    setup_transaction& operator=(setup_transaction const&) = delete;
    int commit() { return ::mdb_txn_commit(std::exchange(txn, nullptr)); }

    MDB_txn* txn = nullptr;
    int code;

  private:
    environment_state& store_;
    bool locks_;
};

// LMDB registers a reading process by its pid. In containers with pid namespaces of their own two
// processes may have the same one, and LMDB returns EAGAIN until the first ends: worth waiting for
// if that is a command.
int await_process_number(environment_state& store) {
    auto const start = base::read_mono();
    for (bool reported = false;; ::usleep(20'000)) {
        setup_transaction const setup(store, true);
        if (setup.code != EAGAIN && setup.code != EACCES) return setup.code;
        auto const elapsed = base::read_mono() - start;
        if (is_claimed(store.directory) || elapsed >= base::limits::process_number_patience_ns)
            return EAGAIN;
        if (!std::exchange(reported, true))
            base::log(base::severity::warning,
                      "waiting for a process of another container that has the store in " +
                          store.directory + " open and the same number, " +
                          std::to_string(::getpid()));
    }
}

base::error same_number_error(environment_state const& store) {
    return base::error{
        "a process of another container has the store in " + store.directory +
        " open and the same number as this one, " + std::to_string(::getpid()) +
        ", by which LMDB tells processes apart: run the command inside of that container (podman "
        "exec), or let the two share their numbers (podman run --pid=container:NAME)"};
}

// Opens a store that exists and has this version without the write lock, so that a command that
// holds the lock does not keep a server from starting. False: something must be written first.
base::result<bool> open_existing(environment_state& store, std::string const& failure) {
    setup_transaction setup(store, true);
    if (setup.code != 0) return lmdb_error(failure, setup.code);
    int code = open_handles(store, setup.txn, false);
    if (code == MDB_NOTFOUND) return false;
    if (code != 0) return lmdb_error(failure, code);
    auto const index_has = [&](std::string_view name, std::string_view expected) {
        auto key = val_of(name);
        MDB_val value;
        return ::mdb_get(setup.txn, store.dbi(table::index), &key, &value) == 0 &&
               view_of(value) == expected;
    };
    std::string current(schema_magic);
    base::append(current, schema_version);
    if (!index_has(key_bytes{tag::schema}, current)) return false;
    if (auto const result = read_master_key_file(store, true); !result) return result.error();
    if (!store.has_master_key) return false;
    if (code = setup.commit(); code != 0) return lmdb_error(failure, code);
    return true;
}

// The table handles were opened by an earlier transaction, so a step can read the old store beside
// the transaction that writes the new one. No other process upgrades at the same time: the store is
// claimed.
base::result<void> upgrade_schema(environment_state& store, std::uint32_t version) {
    auto const failure = "the store stays at schema version " + std::to_string(version);
    setup_transaction setup(store, false);
    if (setup.code != 0) return lmdb_error(failure, setup.code);
    if (auto const result = upgrade(store, setup.txn, version, schema_version, upgrade_steps());
        !result)
        return result.error();
    if (int const code = setup.commit(); code != 0) return lmdb_error(failure, code);
    store.update_file_bound();
    base::log("brought the store in " + store.directory + " from schema version " +
              std::to_string(version) + " to " + std::to_string(schema_version));
    return {};
}

}  // namespace

base::result<void> open_tables(environment_state& store, bool may_upgrade) {
    auto const failure = "cannot open the tables of the store in " + store.directory;
    if (int const code = await_process_number(store); code == EAGAIN)
        return same_number_error(store);
    else if (code != 0)
        return lmdb_error(failure, code);
    if (!store.read_only) {
        auto const open = open_existing(store, failure);
        if (!open) return open.error();
        if (*open) return {};
    }
    std::uint32_t version = 0;
    {
        setup_transaction setup(store, store.read_only);
        if (setup.code != 0) return lmdb_error(failure, setup.code);
        // A table of a later schema may be missing in a store that is only read.
        int const open_code = open_handles(store, setup.txn, !store.read_only);
        bool const is_older = open_code == MDB_NOTFOUND && store.dbi(table::index) != 0;
        if (open_code != 0 && !is_older) return lmdb_error(failure, open_code);
        auto const schema = check_schema(store, setup.txn, may_upgrade);
        if (schema && is_older) return lmdb_error(failure, open_code);
        if (!schema) return schema.error();
        version = *schema;
        if (auto const result = read_master_key_file(store, store.read_only); !result)
            return result.error();
        if (int const code = setup.commit(); code != 0) return lmdb_error(failure, code);
    }
    if (version == schema_version) return {};
    return upgrade_schema(store, version);
}

}  // namespace latchkey::store
