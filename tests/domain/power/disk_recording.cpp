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

namespace latchkey::domain {
namespace {

constexpr std::uint64_t sector_bytes = 512;

std::atomic<disk_recording*> active_recording{nullptr};

// Records a write before it is executed and, with O_DSYNC, after it.
template <class Write>
ssize_t record_write(int descriptor, std::uint64_t offset, std::string bytes, Write carry_out) {
    auto* const recorder = active_recording.load();
    auto const name = recorder != nullptr ? recorder->name_of(descriptor) : std::string();
    if (name.empty()) return carry_out();
    auto const size = static_cast<ssize_t>(bytes.size());
    recorder->record({disk_event::kind::write, name, offset, std::move(bytes)});
    auto const result = carry_out();
    if (result != size) std::abort();  // no test here fills the disk
    if ((::fcntl(descriptor, F_GETFL) & O_DSYNC) != 0)
        recorder->record({disk_event::kind::written_through, name, offset, {}});
    return result;
}

std::string joined(iovec const* parts, int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all.append(static_cast<char const*>(parts[i].iov_base), parts[i].iov_len);
    return all;
}

std::uint64_t position_of(int descriptor) {
    auto const position = ::lseek(descriptor, 0, SEEK_CUR);
    return position < 0 ? 0 : static_cast<std::uint64_t>(position);
}

int record_sync(int descriptor, long number) {
    auto const result = static_cast<int>(::syscall(number, descriptor));
    auto* const recorder = active_recording.load();
    if (recorder == nullptr || result != 0) return result;
    auto const name = recorder->name_of(descriptor);
    if (!name.empty())
        recorder->record(
            {name == "." ? disk_event::kind::sync_directory : disk_event::kind::sync, name, 0, {}});
    return result;
}

void overlay(std::string& content, std::uint64_t offset, std::string const& bytes) {
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
    content.replace(offset, bytes.size(), bytes);
}

}  // namespace

disk_recording::disk_recording(std::string directory, std::vector<disk_event>& events)
    : directory_(std::move(directory)), events_(events) {
    active_recording = this;
}

disk_recording::~disk_recording() {
    active_recording = nullptr;
}

void disk_recording::record(disk_event event) {
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

cut_disk::cut_disk(files const& start, disk_guarantees guarantees)
    : guarantees_(guarantees), names_(1) {
    for (auto const& [name, content] : start) {
        names_[0][name] = std::make_shared<file>();
        names_[0][name]->durable = content;
    }
}

// An unknown name was created just before.
cut_disk::file& cut_disk::file_called(std::string const& name) {
    if (auto const entry = names_.back().find(name); entry != names_.back().end())
        return *entry->second;
    names_.push_back(names_.back());
    return *(names_.back()[name] = std::make_shared<file>());
}

void cut_disk::replay(disk_event const& event) {
    if (event.type == disk_event::kind::answer) return;
    if (event.type == disk_event::kind::sync_directory) {
        if (guarantees_.syncs) names_.erase(names_.begin(), names_.end() - 1);
        return;
    }
    auto& file = file_called(event.name);
    auto const settle = [&](piece const& each) { overlay(file.durable, each.offset, each.bytes); };
    if (event.type == disk_event::kind::rename) {
        names_.push_back(names_.back());
        auto name = names_.back().extract(event.name);
        names_.back()[event.bytes] = name.mapped();
    } else if (event.type == disk_event::kind::sync && guarantees_.syncs) {
        std::ranges::for_each(file.pending, settle);
        file.pending.clear();
    } else if (event.type == disk_event::kind::written_through && guarantees_.written_through) {
        // Earlier pending writes to the same sectors are superseded.
        std::set<std::uint64_t> sectors;
        for (auto const& each : file.pending)
            if (each.write == file.writes) sectors.insert(each.offset / sector_bytes);
        std::vector<piece> rest;
        for (auto& each : file.pending)
            if (sectors.contains(each.offset / sector_bytes))
                settle(each);
            else
                rest.push_back(std::move(each));
        file.pending = std::move(rest);
    } else if (event.type == disk_event::kind::write) {
        ++file.writes;
        for (std::uint64_t position = 0; position < event.bytes.size();) {
            auto const offset = event.offset + position;
            auto const size = sector_bytes - offset % sector_bytes;
            file.pending.push_back({file.writes, offset, event.bytes.substr(position, size)});
            position += size;
        }
    }
}

files cut_disk::cut(std::mt19937_64& random) const {
    files remaining;
    for (auto const& [name, file] : names_[random() % names_.size()])
        remaining[name] = content_after_cut(*file, random);
    return remaining;
}

// Chooses the sectors that arrived, in one of several modes: with a choice per sector the states
// that matter, where nearly all or nearly none arrived, would hardly ever occur.
std::string cut_disk::content_after_cut(file const& file, std::mt19937_64& random) {
    auto const& pending = file.pending;
    auto content = file.durable;
    if (pending.empty()) return content;
    auto const first = pending.front().write;
    auto const writes = pending.back().write - first + 1;
    auto const chosen_write = first + random() % writes;
    auto const chosen_piece = random() % pending.size();
    auto const percent = 5 + random() % 91;
    std::vector<bool> coins(writes);
    for (std::size_t i = 0; i < writes; ++i) coins[i] = random() % 2 == 0;

    auto const mode = random() % 8;
    auto const has_arrived = [&](std::size_t i) {
        auto const write = pending[i].write;
        switch (mode) {
            case 0:
                return false;
            case 1:
                return true;
            case 2:  // in order, the last one torn
                return write < chosen_write || (write == chosen_write && random() % 2 == 0);
            case 3:
                return static_cast<bool>(coins[write - first]);
            case 4:
                return write != chosen_write;
            case 5:
                return write == chosen_write;
            case 6:
                return i != chosen_piece;
            default:
                return random() % 100 < percent;
        }
    };
    std::uint64_t end = content.size();
    for (std::size_t i = 0; i < pending.size(); ++i) {
        if (has_arrived(i)) overlay(content, pending[i].offset, pending[i].bytes);
        end = std::max(end, pending[i].offset + pending[i].bytes.size());
    }
    // The file may already have its full length.
    if (random() % 2 == 0) content.resize(std::max<std::size_t>(content.size(), end));
    return content;
}

}  // namespace latchkey::domain

// Interposition: these take precedence over those of libc, for every library of the program.
extern "C" {

// By its symbol: with 64-bit offsets <unistd.h> declares pwrite under another one.
ssize_t pwrite_of_libraries(int, void const*, size_t, off_t) __asm__("pwrite");

ssize_t pwrite_of_libraries(int descriptor, void const* bytes, size_t size, off_t offset) {
    using namespace latchkey::domain;
    return record_write(descriptor, static_cast<std::uint64_t>(offset),
                        active_recording.load() != nullptr
                            ? std::string(static_cast<char const*>(bytes), size)
                            : std::string(),
                        [&] { return ::syscall(SYS_pwrite64, descriptor, bytes, size, offset); });
}

ssize_t write(int descriptor, void const* bytes, size_t size) {
    using namespace latchkey::domain;
    auto const carry_out = [&] { return ::syscall(SYS_write, descriptor, bytes, size); };
    if (active_recording.load() == nullptr) return carry_out();
    return record_write(descriptor, position_of(descriptor),
                        std::string(static_cast<char const*>(bytes), size), carry_out);
}

ssize_t writev(int descriptor, iovec const* parts, int count) {
    using namespace latchkey::domain;
    auto const carry_out = [&] { return ::syscall(SYS_writev, descriptor, parts, count); };
    if (active_recording.load() == nullptr) return carry_out();
    return record_write(descriptor, position_of(descriptor), joined(parts, count), carry_out);
}

int fdatasync(int descriptor) {
    return latchkey::domain::record_sync(descriptor, SYS_fdatasync);
}

int fsync(int descriptor) {
    return latchkey::domain::record_sync(descriptor, SYS_fsync);
}

int rename(char const* old_path, char const* new_path) noexcept {
    using namespace latchkey::domain;
    auto const result = static_cast<int>(::syscall(SYS_rename, old_path, new_path));
    auto* const recording = active_recording.load();
    if (recording == nullptr || result != 0) return result;
    auto const name = recording->name_of(old_path);
    if (!name.empty())
        recording->record({disk_event::kind::rename, name, 0, recording->name_of(new_path)});
    return result;
}
}
