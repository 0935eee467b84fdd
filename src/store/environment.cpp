#include "store/environment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/check.hpp"
#include "base/log.hpp"
#include "store/claim.hpp"
#include "store/environment_state.hpp"
#include "store/master_key.hpp"
#include "store/store_file.hpp"
#include "store/upgrade.hpp"

namespace latchkey::store {
namespace {

constexpr unsigned readers_max = 512;

// Directories that this process has open. Two environments over one file would release each
// other's file locks.
std::mutex open_mutex;
std::set<std::pair<std::uint64_t, std::uint64_t>>& open_directories() {
    static std::set<std::pair<std::uint64_t, std::uint64_t>> all;
    return all;
}

base::result<void> make_directory(environment::state& store) {
    auto const& path = store.directory;
    if (!store.read_only) {
        std::error_code ignored;  // what matters is whether the directory is there in the end
        auto const parent = std::filesystem::path(path).parent_path();
        if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
        if (::mkdir(path.c_str(), 0700) == 0)
            // Its own name must outlast a power cut too; whoever may not read above it must trust
            // the file system.
            (void)sync_directory(parent.empty() ? "." : parent.string());
        else if (errno != EEXIST)
            return base::errno_error("cannot make the data directory " + path, errno);
    }
    struct stat found;
    if (::stat(path.c_str(), &found) != 0)
        return base::errno_error("cannot open the data directory " + path, errno);
    if (!S_ISDIR(found.st_mode)) return base::error{path + " is not a directory"};
    if ((found.st_mode & 077) != 0)
        base::say(base::severity::warning,
                  path + " can be read by other users: chmod 700 would keep it private");
    store.identity = {found.st_dev, found.st_ino};
    std::lock_guard const lock(open_mutex);
    base::check(open_directories().insert(store.identity).second,
                "a data directory that is open in this process already");
    return {};
}

constexpr std::uint64_t server_map_bytes_min = 64ull << 30;

base::result<void> open_file(environment::state& store, environment_options const& options) {
    auto const path = store.directory + "/store.mdb";
    auto const what = "cannot open the store " + path;
    if (!options.read_only)
        if (auto const made = make_store_file(path); !made) return made.error();
    if (int const code = ::mdb_env_create(&store.env); code != 0) return lmdb_error(what, code);
    ::mdb_env_set_maxreaders(store.env, readers_max);
    ::mdb_env_set_maxdbs(store.env, 16);
    auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    auto const bound = (options.map_bytes + page - 1) / page * page;
    // A server must be able to read what a command with a larger bound of its own has written
    // beside it; LMDB only reads what is mapped. Address space costs nothing.
    auto const map_bytes = options.for_server ? std::max(bound, server_map_bytes_min) : bound;
    if (int const code = ::mdb_env_set_mapsize(store.env, map_bytes); code != 0)
        return lmdb_error(what, code);
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS;
    if (options.read_only) flags |= MDB_RDONLY;
    if (!options.sync) flags |= MDB_NOSYNC;
    if (int const code = ::mdb_env_open(store.env, path.c_str(), flags, 0600); code != 0)
        return lmdb_error(what, code);
    MDB_envinfo info;
    MDB_stat stat;
    ::mdb_env_info(store.env, &info);
    ::mdb_env_stat(store.env, &stat);
    // What is in use already may be more than the bound.
    store.map = map_of(store.env);
    store.map_bytes = options.for_server ? bound : info.me_mapsize;
    store.page_bytes = stat.ms_psize;
    return {};
}

base::result<void> claim(environment::state& store) {
    if (store.claim >= 0) return {};
    auto const claimed = claim_directory(store.directory);
    if (!claimed) return claimed.error();
    store.claim = *claimed;
    return {};
}

// A newer store is never touched; an older one is brought up to date by a server only, which is
// alone then.
base::result<void> agree_on_version(environment::state& store, MDB_txn* txn, std::uint32_t version,
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
    if (auto const alone = claim(store); !alone) return alone;
    return upgrade(store, txn, version, schema_version, upgrade_steps());
}

// Nothing there yet: an empty store is written. Something there: it must be ours.
base::result<void> check_schema(environment::state& store, MDB_txn* txn, bool may_upgrade) {
    auto const where = "the store in " + store.directory;
    auto const schema_holder = key_bytes{tag::schema};
    auto key = val_of(schema_holder);
    MDB_val value;
    int const code = ::mdb_get(txn, store.dbi(table::index), &key, &value);
    if (code == 0) {
        base::reader from(view_of(value));
        auto const magic = from.bytes(schema_magic.size());
        auto const version = from.integer<std::uint32_t>();
        if (!from.done() || magic != schema_magic)
            return base::error{where + " is not one of latchkey's"};
        return agree_on_version(store, txn, version, may_upgrade);
    }
    if (code != MDB_NOTFOUND) return lmdb_error("cannot read " + where, code);
    if (store.read_only) return base::error{where + " is not one of latchkey's"};
    std::string bytes(schema_magic);
    base::append(bytes, schema_version);
    auto schema = val_of(bytes);
    if (int const failed = ::mdb_put(txn, store.dbi(table::index), &key, &schema, 0); failed != 0)
        return lmdb_error("cannot write " + where, failed);
    encode(heads{}, bytes);
    auto const heads_holder = key_bytes{tag::heads};
    key = val_of(heads_holder);
    auto first = val_of(bytes);
    if (int const failed = ::mdb_put(txn, store.dbi(table::index), &key, &first, 0); failed != 0)
        return lmdb_error("cannot write " + where, failed);
    return {};
}

// LMDB's own order of bytes, for keys that are an id (id_key), without a call of memcmp for each of
// the twenty steps down to one among a million. Of a damaged store a key may have another length.
int compare_ids(MDB_val const* left, MDB_val const* right) {
    auto const one = view_of(*left), other = view_of(*right);
    if (one.size() != sizeof(model::id) || other.size() != sizeof(model::id)) [[unlikely]]
        return one.compare(other);
    auto const a = base::get<std::uint64_t>(one.data()), b = base::get<std::uint64_t>(other.data());
    return a < b ? -1 : a > b;
}

// In one transaction, so that of two processes that come first one makes everything.
base::result<void> open_tables(environment::state& store, bool may_upgrade) {
    auto const what = "cannot open the tables of the store in " + store.directory;
    MDB_txn* txn = nullptr;
    unsigned const mode = store.read_only ? MDB_RDONLY : 0;
    if (int const code = ::mdb_txn_begin(store.env, nullptr, mode, &txn); code != 0)
        return lmdb_error(what, code);
    auto const give_up = [&](base::error failure) {
        ::mdb_txn_abort(txn);
        return failure;
    };
    if (int const code = ::mdb_dbi_open(txn, nullptr, 0, &store.main); code != 0)
        return give_up(lmdb_error(what, code));
    for (std::size_t i = 0; i < table_count; ++i)
        if (int const code = ::mdb_dbi_open(txn, table_names[i], store.read_only ? 0 : MDB_CREATE,
                                            &store.tables[i]);
            code != 0)
            return give_up(lmdb_error(what, code));
    for (auto const each : {table::users, table::posts, table::audit, table::events})
        if (int const code = ::mdb_set_compare(txn, store.dbi(each), compare_ids); code != 0)
            return give_up(lmdb_error(what, code));
    if (auto const ours = check_schema(store, txn, may_upgrade); !ours)
        return give_up(ours.error());
    auto const key = load_master_key(store.directory, store.read_only);
    if (!key) return give_up(key.error());
    store.has_master_key = key->has_value();
    if (store.has_master_key) store.master_key = **key;
    if (int const code = ::mdb_txn_commit(txn); code != 0) return lmdb_error(what, code);
    return {};
}

}  // namespace

base::error lmdb_error(std::string_view what, int code) {
    return base::error{std::string(what) + ": " + ::mdb_strerror(code)};
}

environment::state::~state() {
    if (env != nullptr) ::mdb_env_close(env);
    if (claim >= 0) ::close(claim);
    base::wipe(master_key.data(), master_key.size());
    if (identity == decltype(identity){}) return;
    std::lock_guard const lock(open_mutex);
    open_directories().erase(identity);
}

base::result<std::unique_ptr<environment>> environment::open(environment_options const& options) {
    auto store = std::make_unique<state>();
    store->directory = options.directory;
    while (store->directory.size() > 1 && store->directory.back() == '/')
        store->directory.pop_back();
    store->read_only = options.read_only;
    store->event_retention_ms = options.event_retention_ms;
    store->wall = options.wall != nullptr ? options.wall : [] { return base::read_clocks().wall; };
    if (auto const made = make_directory(*store); !made) return made.error();
    if (auto const opened = open_file(*store, options); !opened) return opened.error();
    if (auto const opened = open_tables(*store, options.for_server && !options.read_only); !opened)
        return opened.error();
    // The file may be new in the directory.
    if (auto const synced = sync_directory(store->directory); !synced && !options.read_only)
        return synced.error();
    if (options.for_server) ask_for_huge_pages(*store);
    std::unique_ptr<environment> whole(new environment(std::move(store)));
    whole->clear_stale_readers();
    return whole;
}

environment::environment(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
environment::~environment() = default;

bool environment::has_server() const {
    return is_claimed(state_->directory);
}

base::result<void> environment::claim_for_server() {
    return claim(*state_);
}

void environment::clear_stale_readers() {
    int freed = 0;
    ::mdb_reader_check(state_->env, &freed);
}

std::string_view environment::master_key() const {
    if (!state_->has_master_key) return {};
    return {state_->master_key.data(), state_->master_key.size()};
}

std::optional<std::array<char, 32>> environment::derived_key(std::string_view label) const {
    if (!state_->has_master_key) return std::nullopt;
    return derive(master_key(), label);
}

}  // namespace latchkey::store
