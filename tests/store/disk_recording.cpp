#include "disk_recording.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <set>

namespace latchkey::store {
namespace {

using kind = disk_event::kind;

constexpr std::uint64_t sector_bytes = 512;

std::atomic<disk_recording*> recording{nullptr};

// Notes a write before it is carried out and, where it is through, after it.
template <class Write>
ssize_t noted(int descriptor, std::uint64_t offset, std::string bytes, Write carry_out) {
    auto* const to = recording.load();
    auto const name = to != nullptr ? to->name_of(descriptor) : std::string();
    if (name.empty()) return carry_out();
    auto const size = static_cast<ssize_t>(bytes.size());
    to->note({kind::write, name, offset, std::move(bytes)});
    auto const result = carry_out();
    if (result != size) std::abort();  // nothing here makes disks that are full
    if ((::fcntl(descriptor, F_GETFL) & O_DSYNC) != 0) to->note({kind::through, name, offset, {}});
    return result;
}

std::string joined(iovec const* parts, int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all.append(static_cast<char const*>(parts[i].iov_base), parts[i].iov_len);
    return all;
}

std::uint64_t position_of(int descriptor) {
    auto const at = ::lseek(descriptor, 0, SEEK_CUR);
    return at < 0 ? 0 : static_cast<std::uint64_t>(at);
}

int noted_sync(int descriptor, long number) {
    auto const result = static_cast<int>(::syscall(number, descriptor));
    auto* const to = recording.load();
    if (to == nullptr || result != 0) return result;
    auto const name = to->name_of(descriptor);
    if (!name.empty()) to->note({name == "." ? kind::sync_directory : kind::sync, name, 0, {}});
    return result;
}

void lay(std::string& over, std::uint64_t offset, std::string const& bytes) {
    if (over.size() < offset + bytes.size()) over.resize(offset + bytes.size());
    over.replace(offset, bytes.size(), bytes);
}

}  // namespace

disk_recording::disk_recording(std::string directory, std::vector<disk_event>& events)
    : directory_(std::move(directory)), events_(events) {
    recording = this;
}

disk_recording::~disk_recording() {
    recording = nullptr;
}

void disk_recording::note(disk_event event) {
    std::lock_guard const lock(mutex_);
    events_.push_back(std::move(event));
}

std::string disk_recording::name_of(int descriptor) const {
    char path[PATH_MAX];
    auto const link = "/proc/self/fd/" + std::to_string(descriptor);
    auto const size = ::readlink(link.c_str(), path, sizeof path);
    return size < 0 ? std::string() : name_of(std::string(path, static_cast<std::size_t>(size)));
}

std::string disk_recording::name_of(std::string const& path) const {
    if (path == directory_) return ".";
    if (!path.starts_with(directory_ + "/") || path.ends_with("-lock")) return {};
    return path.substr(directory_.size() + 1);
}

cut_disk::cut_disk(files const& before, disk_honesty honesty) : honesty_(honesty), names_(1) {
    for (auto const& [name, content] : before) {
        names_[0][name] = std::make_shared<file>();
        names_[0][name]->durable = content;
    }
}

// A name that nobody has seen yet was made just before.
cut_disk::file& cut_disk::file_called(std::string const& name) {
    if (auto const found = names_.back().find(name); found != names_.back().end())
        return *found->second;
    names_.push_back(names_.back());
    return *(names_.back()[name] = std::make_shared<file>());
}

void cut_disk::play(disk_event const& event) {
    if (event.what == kind::answer) return;
    if (event.what == kind::sync_directory) {
        if (honesty_.syncs) names_.erase(names_.begin(), names_.end() - 1);
        return;
    }
    auto& of = file_called(event.name);
    auto const settle = [&](piece const& each) { lay(of.durable, each.offset, each.bytes); };
    if (event.what == kind::rename) {
        names_.push_back(names_.back());
        auto moved = names_.back().extract(event.name);
        names_.back()[event.bytes] = moved.mapped();
    } else if (event.what == kind::sync && honesty_.syncs) {
        std::ranges::for_each(of.pending, settle);
        of.pending.clear();
    } else if (event.what == kind::through && honesty_.through) {
        // What was to be written to its sectors before is overtaken.
        std::set<std::uint64_t> sectors;
        for (auto const& each : of.pending)
            if (each.write == of.writes) sectors.insert(each.offset / sector_bytes);
        std::vector<piece> rest;
        for (auto& each : of.pending)
            if (sectors.contains(each.offset / sector_bytes))
                settle(each);
            else
                rest.push_back(std::move(each));
        of.pending = std::move(rest);
    } else if (event.what == kind::write) {
        ++of.writes;
        for (std::uint64_t at = 0; at < event.bytes.size();) {
            auto const offset = event.offset + at;
            auto const size = sector_bytes - offset % sector_bytes;
            of.pending.push_back({of.writes, offset, event.bytes.substr(at, size)});
            at += size;
        }
    }
}

files cut_disk::cut(std::mt19937_64& random) const {
    files left;
    for (auto const& [name, of] : names_[random() % names_.size()])
        left[name] = content_after_cut(*of, random);
    return left;
}

// Which sectors arrived: drawn in one of several ways, since drawn one by one the states that
// matter, where nearly all of them did or nearly none, would hardly ever come.
std::string cut_disk::content_after_cut(file const& of, std::mt19937_64& random) {
    auto const& pending = of.pending;
    auto content = of.durable;
    if (pending.empty()) return content;
    auto const first = pending.front().write;
    auto const writes = pending.back().write - first + 1;
    auto const chosen = first + random() % writes;
    auto const one = random() % pending.size();
    auto const percent = 5 + random() % 91;
    std::vector<bool> coins(writes);
    for (std::size_t i = 0; i < writes; ++i) coins[i] = random() % 2 == 0;

    auto const way = random() % 8;
    auto const arrived = [&](std::size_t i) {
        auto const write = pending[i].write;
        switch (way) {
            case 0:
                return false;
            case 1:
                return true;
            case 2:  // in order, and the last one torn
                return write < chosen || (write == chosen && random() % 2 == 0);
            case 3:
                return static_cast<bool>(coins[write - first]);
            case 4:
                return write != chosen;
            case 5:
                return write == chosen;
            case 6:
                return i != one;
            default:
                return random() % 100 < percent;
        }
    };
    std::uint64_t end = content.size();
    for (std::size_t i = 0; i < pending.size(); ++i) {
        if (arrived(i)) lay(content, pending[i].offset, pending[i].bytes);
        end = std::max(end, pending[i].offset + pending[i].bytes.size());
    }
    // The file may be as long already as if all of it were there.
    if (random() % 2 == 0) content.resize(std::max<std::size_t>(content.size(), end));
    return content;
}

}  // namespace latchkey::store

// These come before libc's, for every library of the program.
extern "C" {

// By its name in the library: for this program, whose offsets have 64 bits, <unistd.h> names
// another.
ssize_t pwrite_of_libraries(int, void const*, size_t, off_t) __asm__("pwrite");

ssize_t pwrite_of_libraries(int descriptor, void const* bytes, size_t size, off_t offset) {
    using namespace latchkey::store;
    return noted(descriptor, static_cast<std::uint64_t>(offset),
                 recording.load() != nullptr ? std::string(static_cast<char const*>(bytes), size)
                                             : std::string(),
                 [&] { return ::syscall(SYS_pwrite64, descriptor, bytes, size, offset); });
}

ssize_t write(int descriptor, void const* bytes, size_t size) {
    using namespace latchkey::store;
    auto const carry_out = [&] { return ::syscall(SYS_write, descriptor, bytes, size); };
    if (recording.load() == nullptr) return carry_out();
    return noted(descriptor, position_of(descriptor),
                 std::string(static_cast<char const*>(bytes), size), carry_out);
}

ssize_t writev(int descriptor, iovec const* parts, int count) {
    using namespace latchkey::store;
    auto const carry_out = [&] { return ::syscall(SYS_writev, descriptor, parts, count); };
    if (recording.load() == nullptr) return carry_out();
    return noted(descriptor, position_of(descriptor), joined(parts, count), carry_out);
}

int fdatasync(int descriptor) {
    return latchkey::store::noted_sync(descriptor, SYS_fdatasync);
}

int fsync(int descriptor) {
    return latchkey::store::noted_sync(descriptor, SYS_fsync);
}

int rename(char const* from, char const* to) noexcept {
    using namespace latchkey::store;
    auto const result = static_cast<int>(::syscall(SYS_rename, from, to));
    auto* const noting = recording.load();
    if (noting == nullptr || result != 0) return result;
    auto const name = noting->name_of(from);
    if (!name.empty()) noting->note({kind::rename, name, 0, noting->name_of(to)});
    return result;
}
}
