// Capacity is computed from three ends: of the map, of the blocks reserved by fallocate, and of the
// blocks that the disk still gives. Blocks are reserved in steps, so one call serves many
// transactions. LMDB's list of free pages is walked only when space is short, up to the oldest
// reader.
#include "store/files/write_capacity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/limits.hpp"

namespace latchkey::store {
namespace {

namespace limits = base::limits;

constexpr std::uint64_t ahead_bytes = 64 * limits::mib;  // beyond the last page, on the disk
constexpr std::uint64_t ahead_for_deletions_bytes = 24 * limits::mib;  // more than one takes
constexpr std::uint64_t ahead_step_bytes = 32 * limits::mib;
constexpr std::uint64_t kept_for_deletions_bytes = 64 * limits::mib;  // of the map
// Used by the commit itself, after the last check of the end: branch pages up to the roots, and the
// lists of free pages.
constexpr std::uint64_t kept_for_commit_bytes = 1 * limits::mib;
// With less space than one command may take, none is admitted: small ones would only be tried.
constexpr std::uint64_t command_pages = 32;
// The part of the disk that is left for logs and lock files. Without it a reservation that is too
// large takes all of the disk: ext4 returns ENOSPC but keeps the blocks that it found, and the next
// server cannot write its `server.lock`.
constexpr std::uint64_t left_to_others_bytes = 8 * limits::mib;

std::uint64_t difference(std::uint64_t total, std::uint64_t part) {
    return total - std::min(total, part);
}

// The oldest transaction that a reader of any process still uses. LMDB reports it only as text:
// lines of pid, thread and transaction, or `-` for an idle reader.
std::uint64_t oldest_reader(MDB_env* env) {
    std::uint64_t oldest = UINT64_MAX;
    auto const parse_line = [](char const* line, void* context) {
        std::string_view text(line);
        while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
        text.remove_prefix(text.rfind(' ') + 1);
        std::uint64_t number = 0;
        auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        auto& lowest = *static_cast<std::uint64_t*>(context);
        if (failure == std::errc{} && end == text.data() + text.size())
            lowest = std::min(lowest, number);
        return 0;
    };
    ::mdb_reader_list(env, parse_line, &oldest);
    return oldest;
}

int descriptor_of(environment_state const& store) {
    int descriptor = -1;
    ::mdb_env_get_fd(store.env, &descriptor);
    return descriptor;
}

// Would the disk have `left_to_others_bytes` left if the file were allocated up to `end`?
bool disk_has(int descriptor, std::uint64_t end) {
    struct stat file{};
    struct statfs disk{};
    if (::fstat(descriptor, &file) != 0 || ::fstatfs(descriptor, &disk) != 0) return true;
    auto const own = static_cast<std::uint64_t>(file.st_blocks) * 512;
    auto const left =
        static_cast<std::uint64_t>(disk.f_bavail) * static_cast<std::uint64_t>(disk.f_bsize);
    return disk.f_blocks == 0 || end <= own || end + left_to_others_bytes <= own + left;
}

// Bytes that the disk has allocated to the file, less a margin, since blocks of the file system's
// own metadata are counted too.
std::uint64_t allocated_bytes(environment_state const& store) {
    struct stat file{};
    if (::fstat(descriptor_of(store), &file) != 0) return 0;
    auto const bytes = static_cast<std::uint64_t>(file.st_blocks) * 512;
    return std::min(difference(bytes, limits::mib), store.file_bytes_max);
}

bool reserve_blocks(environment_state& store, std::uint64_t end) {
    int const descriptor = descriptor_of(store);
    if (!disk_has(descriptor, end)) return false;
    int failed;
    do {
        failed = ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end));
    } while (failed != 0 && errno == EINTR);
    // A file system without fallocate is accepted.
    if (failed != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return false;
    store.reserved = end;
    return true;
}

// False: the disk is full. Then the blocks that the file already has must suffice, including those
// that an earlier process reserved.
bool reserve_ahead(environment_state& store, std::uint64_t used_bytes, std::uint64_t ahead) {
    auto const end_after = [&](std::uint64_t bytes) {
        return std::min(used_bytes + bytes, store.file_bytes_max);
    };
    // In steps, so that one call serves many transactions.
    if (store.reserved >= end_after(ahead) ||
        reserve_blocks(store, end_after(ahead + ahead_step_bytes)) ||
        reserve_blocks(store, end_after(ahead)))
        return true;
    if (auto const own = allocated_bytes(store); store.reserved < own) reserve_blocks(store, own);
    if (store.reserved < end_after(ahead_for_deletions_bytes))
        reserve_blocks(store, end_after(ahead_for_deletions_bytes));
    return false;
}

// Counts the pages that earlier transactions freed and that no reader still uses, in LMDB's list of
// free pages: its keys are transaction numbers, its values begin with a count. Stops at `enough`.
std::uint64_t count_free_pages(environment_state& store, std::uint64_t enough) {
    MDB_cursor* cursor = nullptr;
    std::uint64_t pages = 0;
    auto& txn = store.free_list_txn;
    int const code = txn == nullptr ? ::mdb_txn_begin(store.env, nullptr, MDB_RDONLY, &txn)
                                    : ::mdb_txn_renew(txn);
    if (code != 0) return 0;
    if (::mdb_cursor_open(txn, 0, &cursor) == 0) {
        auto const oldest = oldest_reader(store.env);  // this transaction is one of the readers
        MDB_val key, list;
        while (pages < enough && ::mdb_cursor_get(cursor, &key, &list, MDB_NEXT) == 0) {
            std::size_t number = 0, count = 0;
            if (key.mv_size != sizeof number || list.mv_size < sizeof count) break;
            std::memcpy(&number, key.mv_data, sizeof number);
            std::memcpy(&count, list.mv_data, sizeof count);
            if (number >= oldest) break;
            pages += count;
        }
        ::mdb_cursor_close(cursor);
    }
    ::mdb_txn_reset(txn);
    return pages;
}

}  // namespace

write_capacity find_write_capacity(environment_state& store, std::uint64_t growth,
                                   bool ends_enforced) {
    MDB_envinfo info;
    ::mdb_env_info(store.env, &info);
    auto const page_bytes = store.page_bytes;
    auto const used_bytes = (info.me_last_pgno + 1) * page_bytes;
    // A map smaller than 512 MiB keeps an eighth.
    auto const margin = std::min(kept_for_deletions_bytes, store.map_bytes / 8);
    auto const needed = growth + command_pages * page_bytes;
    write_capacity result{.weight_max = limits::commands_per_commit_max};

    // Free pages are counted only when they matter, since that walks a list.
    std::optional<std::uint64_t> free;
    auto const free_bytes = [&] {
        auto const enough = (2 * ahead_bytes + needed) / page_bytes;
        if (!free) free = count_free_pages(store, enough) * page_bytes;
        return *free;
    };
    auto const free_to_grow = [&] { return ends_enforced ? free_bytes() : 0; };

    auto left = difference(store.map_bytes, used_bytes);
    if (left < 2 * margin + needed) left += free_to_grow();
    result.grow = left >= margin + needed;
    if (left < 2 * margin)
        result.weight_max = std::clamp<std::size_t>(margin / page_bytes / 8, 1, result.weight_max);
    auto grow_end = difference(store.map_bytes, margin);
    if (!reserve_ahead(store, used_bytes, ahead_bytes + growth)) {
        auto const own = difference(store.reserved, used_bytes);
        result.grow = result.grow && own + free_to_grow() >= ahead_bytes + needed;
        result.write = own + free_bytes() >= ahead_for_deletions_bytes;
        grow_end = std::min(grow_end, difference(store.reserved, ahead_for_deletions_bytes));
    }
    auto const end = std::min<std::uint64_t>(store.file_bytes_max, store.reserved);
    // The list of pages that a group frees is one value on consecutive pages; two pages for every
    // five commands hold the list of the largest ones.
    auto const tail_pages = difference(end, used_bytes) / page_bytes;
    result.weight_max = std::clamp<std::size_t>(tail_pages * 5 / 2, 1, result.weight_max);
    result.write_end = difference(end, std::min(kept_for_commit_bytes, margin / 4)) / page_bytes;
    result.grow_end = std::min(result.write_end, grow_end / page_bytes);
    return result;
}

bool await_readers(environment_state& store) {
    int processes_ended = 0;
    ::mdb_reader_check(store.env, &processes_ended);  // theirs would stay
    MDB_envinfo info;
    ::mdb_env_info(store.env, &info);
    auto const deadline = base::read_mono() + store.readers_patience;
    for (;;) {
        auto const oldest = oldest_reader(store.env);
        if (oldest >= info.me_last_txnid) return true;
        if (oldest == store.lasting_reader) return false;
        if (base::read_mono() >= deadline) {
            store.lasting_reader = oldest;
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace latchkey::store
