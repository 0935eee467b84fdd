#include "store/environment_state.hpp"

#include <mutex>
#include <set>

#include "base/check.hpp"
#include "base/secret.hpp"
#include "base/time_units.hpp"
#include "store/files/claim.hpp"

namespace latchkey::store {
namespace {

// Allowed beyond the bound in a store that is larger than it: deletions allocate pages before they
// free some.
constexpr std::uint64_t beyond_bound_bytes = 8ull << 20;

std::mutex open_mutex;
std::set<std::pair<std::uint64_t, std::uint64_t>>& open_directories() {
    static std::set<std::pair<std::uint64_t, std::uint64_t>> all;
    return all;
}

}  // namespace

environment_state::~environment_state() {
    if (free_list_txn != nullptr) ::mdb_txn_abort(free_list_txn);
    if (env != nullptr) ::mdb_env_close(env);
    claim.close();
    base::wipe(master_key.data(), master_key.size());
    if (identity == decltype(identity){}) return;
    std::lock_guard const guard(open_mutex);
    open_directories().erase(identity);
}

void environment_state::register_directory(std::uint64_t device, std::uint64_t inode) {
    identity = {device, inode};
    std::lock_guard const guard(open_mutex);
    // A command opens one store, and the service its own.
    base::check(open_directories().insert(identity).second,
                "a data directory that is open in this process already");
}

base::result<void> environment_state::claim_for_server() {
    if (claim.is_open()) return {};
    auto fresh = claim_directory(directory);
    if (!fresh) return fresh.error();
    claim = std::move(*fresh);
    lock.set_server();
    return {};
}

void environment_state::update_file_bound() {
    MDB_envinfo info;
    ::mdb_env_info(env, &info);
    auto const used_bytes = (info.me_last_pgno + 1) * page_bytes;
    file_bytes_max = used_bytes > map_bytes ? used_bytes + beyond_bound_bytes : map_bytes;
}

base::instant environment_state::clocks() const {
    auto now = base::read_clocks();
    if (wall == nullptr) return now;
    now.wall = now.clock = wall();
    now.mono = mono != nullptr ? mono() : now.clock * base::millisecond;
    return now;
}

base::mono_ns environment_state::uptime() const {
    return clocks().mono + base::read_suspended();
}

}  // namespace latchkey::store
