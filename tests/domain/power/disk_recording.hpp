// What a power cut leaves of a directory. This program's own pwrite, write, writev, fdatasync,
// fsync and rename take precedence over those of libc, so the requests of the shared liblmdb to the
// disk are recorded too; `cut_disk` replays them up to any moment and computes a possible state of
// the disk.
//
//     std::vector<disk_event> events;
//     {
//         disk_recording const recording(directory, events);
//         … open a store in there, write to it …
//     }
//     cut_disk disk({});
//     for (auto const& event : events) disk.replay(event);
//     auto const files = disk.cut(random);  // one of the states that a cut may leave here
//
// The disk: a sector of 512 bytes is written whole or not at all; between two syncs of a file any
// of the sectors written to it may have arrived, in any order; a write through an O_DSYNC
// descriptor has arrived when it returns, and nothing else with it; new names are durable after a
// sync of the directory, before that any number of the first of them are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace latchkey::domain {

struct disk_event {
    enum class kind : std::uint8_t {
        write,            // begun
        written_through,  // the `write` before this one has arrived on the disk
        sync,             // of the file, done
        rename,           // to `bytes`
        sync_directory,   // of the directory, done
        answer            // a command was acknowledged
    };
    kind type = kind::answer;
    std::string name;  // of the file in the directory
    std::uint64_t offset = 0;
    std::string bytes;
};

// Records what this process does to the files of one directory, on any thread, during its lifetime;
// LMDB's lock file is excluded, since it means nothing after a cut. One at a time.
class disk_recording {
  public:
    disk_recording(std::string directory, std::vector<disk_event>& events);
    ~disk_recording();
    disk_recording(disk_recording const&) = delete;
    disk_recording& operator=(disk_recording const&) = delete;

    void record(disk_event event);
    // Empty: not a file of the directory; ".": the directory itself.
    std::string name_of(int descriptor) const;
    std::string name_of(std::string const& path) const;

  private:
    std::string directory_;
    std::mutex mutex_;
    std::vector<disk_event>& events_;
};

using files = std::map<std::string, std::string>;  // name to content

// Guarantees of the disk. They can be switched off to prove that the tests detect a disk that lies.
struct disk_guarantees {
    bool syncs = true;            // fdatasync
    bool written_through = true;  // O_DSYNC
};

class cut_disk {
  public:
    explicit cut_disk(files const& start, disk_guarantees guarantees = {});
    void replay(disk_event const& event);
    files cut(std::mt19937_64& random) const;

  private:
    struct piece {  // a part of a write, within one sector
        std::size_t write = 0;
        std::uint64_t offset = 0;
        std::string bytes;
    };
    struct file {
        std::string durable;
        std::vector<piece> pending;  // in the order of the writes
        std::size_t writes = 0;
    };
    using names = std::map<std::string, std::shared_ptr<file>>;

    file& file_called(std::string const& name);
    static std::string content_after_cut(file const& file, std::mt19937_64& random);

    disk_guarantees guarantees_;
    std::vector<names> names_;  // the directory on the disk, then after each change to it
};

}  // namespace latchkey::domain
