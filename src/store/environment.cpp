// The order of `open` counts: directory, write lock, file, tables, cluster, time; each needs the
// one before. The map of a server is larger than its bound, which the writer checks by itself,
// since LMDB cannot show a page beyond the map. LMDB is opened again and again while a restore
// holds its lock file.
#include "store/environment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "store/environment_cluster.hpp"
#include "store/environment_state.hpp"
#include "store/environment_tables.hpp"
#include "store/environment_time.hpp"
#include "store/files/claim.hpp"
#include "store/files/master_key.hpp"
#include "store/files/store_file.hpp"
#include "store/lmdb_value.hpp"
#include "store/pages/huge_pages.hpp"
#include "store/pages/map.hpp"

namespace latchkey::store {
namespace {

constexpr unsigned readers_max = 1024;  // two for each worker, and some for commands

base::result<void> make_directory(environment_state& store) {
    auto const& path = store.directory;
    if (!store.read_only) {
        std::error_code ignored;  // only whether the directory exists in the end counts
        auto const parent = std::filesystem::path(path).parent_path();
        if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
        if (::mkdir(path.c_str(), 0700) == 0)
            // The directory's own name must survive a power cut too; if its parent may not be
            // read, that is left to the file system.
            (void)sync_directory(parent.empty() ? "." : parent.string());
        else if (errno != EEXIST)
            return base::errno_error("cannot make the data directory " + path, errno);
    }
    struct stat status;
    if (::stat(path.c_str(), &status) != 0)
        return base::errno_error("cannot open the data directory " + path, errno);
    if (!S_ISDIR(status.st_mode)) return base::error{path + " is not a directory"};
    if ((status.st_mode & 077) != 0)
        base::log(base::severity::warning,
                  path + " can be read by other users: chmod 700 would keep it private");
    store.register_directory(status.st_dev, status.st_ino);
    return {};
}

constexpr std::uint64_t server_map_bytes_min = 64ull << 30;
constexpr auto restore_wait_step = std::chrono::milliseconds(10);
constexpr int restore_wait_steps = 1000;

bool is_empty(std::string const& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && status.st_size == 0;
}

// mdb_env_open with a retry; returns its code. A restore empties the lock file while it holds the
// lock of LMDB (backup.cpp). Of the processes that wait for it only one that finds itself alone
// writes a new lock file; the others get EINVAL for the empty one.
int open_lmdb(environment_state& store, std::string const& path, std::uint64_t map_bytes,
              unsigned flags) {
    bool was_written = false;
    for (int step = 0;; ++step) {
        if (int const code = ::mdb_env_create(&store.env); code != 0) return code;
        ::mdb_env_set_maxreaders(store.env, readers_max);
        ::mdb_env_set_maxdbs(store.env, 16);
        int code = ::mdb_env_set_mapsize(store.env, map_bytes);
        if (code == 0) code = ::mdb_env_open(store.env, path.c_str(), flags, 0600);
        // One that is not empty now may have been so when it was opened: it is tried once more.
        if (code != EINVAL || step == restore_wait_steps || was_written) return code;
        was_written = !is_empty(path + "-lock");
        ::mdb_env_close(std::exchange(store.env, nullptr));
        // Intervals differ by process, or all would go on finding each other.
        std::this_thread::sleep_for(restore_wait_step / 10 * (1 + (::getpid() + step) % 19));
    }
}

base::result<void> open_file(environment_state& store, environment_options const& options) {
    auto const path = store.directory + "/store.mdb";
    auto const failure = "cannot open the store " + path;
    if (!options.read_only)
        if (auto const result = make_store_file(path); !result) return result.error();
    auto const page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    auto const bound = (options.map_bytes + page - 1) / page * page;
    // A server maps more than its bound, since a snapshot can only show mapped pages: a command
    // with a larger bound may write beside it, and an upgrade rewrites the whole store before it
    // frees the old pages. Address space costs nothing; `map_bytes` bounds what the server writes.
    struct stat file{};
    ::stat(path.c_str(), &file);
    auto const file_bytes = static_cast<std::uint64_t>(file.st_size) / page * page;
    auto const map_bytes =
        options.for_server ? std::max({bound, server_map_bytes_min, 4 * file_bytes}) : bound;
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS;
    if (options.read_only) flags |= MDB_RDONLY;
    if (!options.sync) flags |= MDB_NOSYNC;
    if (int const code = open_lmdb(store, path, map_bytes, flags); code != 0)
        return lmdb_error(failure, code);
    if (auto const marked = store.mark.set(path); !marked) return marked.error();
    MDB_envinfo info;
    MDB_stat stat;
    ::mdb_env_info(store.env, &info);
    ::mdb_env_stat(store.env, &stat);
    store.map = map_of(store.env);
    store.page_bytes = stat.ms_psize;
    store.pages = mapped_pages(store.map, store.page_bytes);
    store.map_bytes =
        options.for_server ? bound : info.me_mapsize;  // LMDB raises it to the used size
    store.update_file_bound();
    return {};
}

}  // namespace

base::result<std::unique_ptr<environment>> environment::open(environment_options const& options) {
    auto store = std::make_unique<environment_state>();
    store->directory = options.directory;
    while (store->directory.size() > 1 && store->directory.back() == '/')
        store->directory.pop_back();
    store->master_key_file = options.master_key_file;
    store->read_only = options.read_only;
    store->interpolates = options.interpolates;
    store->event_retention_ms = options.event_retention_ms;
    store->records_changes = options.records_changes;
    store->change_retention_ms = options.change_retention_ms;
    store->changes_max = options.changes_max;
    store->key_times = options.key_times;
    store->wall = options.wall;
    store->mono = options.mono;
    if (auto const result = make_directory(*store); !result) return result.error();
    if (!options.read_only)
        if (auto const result = store->lock.open(store->directory); !result) return result.error();
    if (auto const result = open_file(*store, options); !result) return result.error();
    store->changes_bytes_max =
        options.changes_bytes_max != 0 ? options.changes_bytes_max : store->map_bytes / 4;
    if (auto const result = open_tables(*store, options.for_server && !options.read_only);
        !result) {
        // A second server gets that error first, whatever else fails.
        if (auto const claimed =
                options.for_server ? store->claim_for_server() : base::result<void>();
            !claimed)
            return claimed.error();
        return result.error();
    }
    note_cluster(*store);
    if (auto const result = begin_time(*store, options); !result) return result.error();
    // The file may be a new entry of the directory.
    if (auto const synced = sync_directory(store->directory); !synced && !options.read_only)
        return synced.error();
    if (options.for_server) request_huge_pages(*store);
    std::unique_ptr<environment> whole(new environment(std::move(store)));
    whole->clear_stale_readers();
    return whole;
}

environment::environment(std::unique_ptr<environment_state> owned) : state_(std::move(owned)) {}
environment::~environment() = default;

bool environment::has_server() const {
    return is_claimed(state_->directory);
}

base::wall_ms environment::time() const {
    return state_->time.time_at(state_->clocks(), last_write(*state_));
}

std::optional<base::error> environment::time_ahead() const {
    return time_ahead_error(*state_, last_write(*state_), state_->clocks().clock);
}

environment::clock_offset environment::offset_of_clock() const {
    auto const ahead = state_->clocks().clock - time();
    return {ahead, state_->time.doubted() != 0};
}

base::result<void> environment::claim_for_server() {
    return state_->claim_for_server();
}

std::optional<cluster_position> environment::node() const {
    return read_cluster(*state_).position;
}

bool environment::has_unfinished_load() const {
    return read_cluster(*state_).is_unfinished;
}

base::result<void> environment::attach(shared_log& log, cluster_id const& cluster) {
    auto const place = "the store in " + state_->directory;
    auto const record = read_cluster(*state_);
    if (record.is_unfinished)
        return base::error{place + " was not completely loaded from its cluster: load it again"};
    if (!record.is_node) return base::error{place + " is no node of a cluster"};
    if (!record.position)
        return base::error{place +
                           " does not tell its position in the cluster: its record is "
                           "damaged"};
    if (record.position->cluster != cluster) {
        auto const text = [](cluster_id const& id) { return base::to_hex({id.data(), id.size()}); };
        return base::error{place + " belongs to another cluster, " +
                           text(record.position->cluster) + " instead of " + text(cluster) +
                           ": restore a backup of a node of this one, or begin with an empty "
                           "directory"};
    }
    if (record.position->schema > row_schema())
        return base::error{place +
                           " was written by a newer version of latchkey, to which its cluster was "
                           "upgraded: upgrade this node"};
    state_->cluster = cluster;
    // Whether others confirmed the last change of a key there is not known.
    state_->urgent_position = record.position->position;
    state_->position = record.position->position;
    state_->log = &log;
    return {};
}

void environment::detach() {
    state_->log = nullptr;
}

std::uint64_t environment::damaged_reads() const {
    return state_->damage.count();
}

void environment::clear_stale_readers() {
    int freed = 0;
    ::mdb_reader_check(state_->env, &freed);
    if (state_->mark.is_current()) return;
    base::log(base::severity::failure,
              "store.mdb or store.mdb-lock in " + state_->directory +
                  " was removed or replaced beneath this process: until it is restarted, commands "
                  "are refused, and a replaced store is not used");
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
