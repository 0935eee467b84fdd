// Is there room to grow? A full disk must not look like a failed sync (on a full ext4 the commit
// gives EIO, after which nothing is known about the file), so the blocks are asked for beforehand,
// where a full disk is an ordinary answer. The end of the map is met in the same way: what is left
// there belongs to deletions, which need new pages before they free old ones.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/limits.hpp"
#include "store/environment_state.hpp"

namespace latchkey::store {
namespace {

namespace limits = base::limits;

constexpr std::uint64_t ahead_bytes = 64 * limits::mib;  // beyond the last page, on the disk
constexpr std::uint64_t ahead_for_deletions_bytes = 24 * limits::mib;  // more than one takes
constexpr std::uint64_t ahead_step_bytes = 32 * limits::mib;
constexpr std::uint64_t kept_for_deletions_bytes = 64 * limits::mib;  // of the map
constexpr std::uint64_t left_to_others_bytes = 8 * limits::mib;       // of the disk: logs, locks

// The lowest transaction that a reader looks at, of whatever process. LMDB tells it only as text:
// lines of process, thread and transaction, or `-` for one that looks at nothing.
std::uint64_t oldest_seen(MDB_env* env) {
    std::uint64_t oldest = UINT64_MAX;
    auto const each_line = [](char const* line, void* to) {
        std::string_view text(line);
        while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
        text.remove_prefix(text.rfind(' ') + 1);
        std::uint64_t number = 0;
        auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        auto& lowest = *static_cast<std::uint64_t*>(to);
        if (failure == std::errc{} && end == text.data() + text.size())
            lowest = std::min(lowest, number);
        return 0;
    };
    ::mdb_reader_list(env, each_line, &oldest);
    return oldest;
}

// May the file be as long as that? To be asked before fallocate: ext4 gives it all that is left
// before it says that this is not enough, and then nobody has a block for anything.
bool disk_has(int descriptor, std::uint64_t end) {
    struct stat file{};
    struct statfs disk{};
    if (::fstat(descriptor, &file) != 0 || ::fstatfs(descriptor, &disk) != 0) return true;
    auto const own = static_cast<std::uint64_t>(file.st_blocks) * 512;
    auto const left =
        static_cast<std::uint64_t>(disk.f_bavail) * static_cast<std::uint64_t>(disk.f_bsize);
    return disk.f_blocks == 0 || end <= own || end + left_to_others_bytes <= own + left;
}

}  // namespace

room environment::state::make_room(std::uint64_t more) {
    MDB_envinfo info;
    ::mdb_env_info(env, &info);
    auto const used = (info.me_last_pgno + 1) * page_bytes;
    room found{.weight_max = limits::commands_per_commit_max};

    // Counted only where it matters, since it walks a list.
    std::optional<std::uint64_t> free;
    auto const free_bytes = [&] {
        if (!free) free = free_pages() * page_bytes;
        return *free;
    };

    // A map smaller than 512 MiB keeps an eighth.
    auto const kept = std::min(kept_for_deletions_bytes, map_bytes / 8);
    auto left = map_bytes - std::min(map_bytes, used);
    if (left < 2 * kept + more) left += free_bytes();
    found.grow = left >= kept + more;
    if (left < 2 * kept)
        found.weight_max = std::clamp<std::size_t>(kept / page_bytes / 8, 1, found.weight_max);

    auto const until = [&](std::uint64_t ahead) { return std::min(used + ahead, map_bytes); };
    // In steps, so that the call is made once in many transactions.
    if (reserved >= until(ahead_bytes + more) ||
        reserve_blocks(until(ahead_bytes + more + ahead_step_bytes)) ||
        reserve_blocks(until(ahead_bytes + more)))
        return found;
    // The disk is full. What the file has of its own must do, also if an earlier process got it.
    if (auto const own = blocks_of_file(); reserved < own) reserve_blocks(own);
    if (reserved < until(ahead_for_deletions_bytes))
        reserve_blocks(until(ahead_for_deletions_bytes));
    auto const own = reserved - std::min<std::uint64_t>(reserved, used) + free_bytes();
    found.grow = found.grow && own >= ahead_bytes + more;
    found.write = own >= ahead_for_deletions_bytes;
    return found;
}

// Bytes that the disk has given to the file, but for the last few, since what the file system needs
// to find them counts too.
std::uint64_t environment::state::blocks_of_file() const {
    int descriptor = -1;
    struct stat status{};
    ::mdb_env_get_fd(env, &descriptor);
    if (::fstat(descriptor, &status) != 0) return 0;
    auto const bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    return std::min(bytes - std::min(bytes, limits::mib), map_bytes);
}

bool environment::state::reserve_blocks(std::uint64_t end) {
    int descriptor = -1;
    ::mdb_env_get_fd(env, &descriptor);
    if (!disk_has(descriptor, end)) return false;
    int failed;
    do {
        failed = ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end));
    } while (failed != 0 && errno == EINTR);
    // A file system that cannot reserve is taken as it is.
    if (failed != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return false;
    reserved = end;
    return true;
}

// Pages that earlier transactions freed and that no reader can still see, from LMDB's own list:
// each of its entries has the transaction's number as key, and begins with how many pages it has.
std::uint64_t environment::state::free_pages() const {
    MDB_txn* txn = nullptr;
    MDB_cursor* cursor = nullptr;
    std::uint64_t pages = 0;
    if (::mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) != 0) return 0;
    if (::mdb_cursor_open(txn, 0, &cursor) == 0) {
        auto const oldest = oldest_seen(env);  // this transaction is one of those
        MDB_val key, list;
        while (::mdb_cursor_get(cursor, &key, &list, MDB_NEXT) == 0) {
            std::size_t number = 0, count = 0;
            if (key.mv_size != sizeof number || list.mv_size < sizeof count) break;
            std::memcpy(&number, key.mv_data, sizeof number);
            std::memcpy(&count, list.mv_data, sizeof count);
            if (number >= oldest) break;
            pages += count;
        }
        ::mdb_cursor_close(cursor);
    }
    ::mdb_txn_abort(txn);
    return pages;
}

}  // namespace latchkey::store
