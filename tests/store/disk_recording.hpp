// What a power cut leaves of a directory. This program's own pwrite, write, writev, fdatasync,
// fsync and rename stand before libc's, so what the shared liblmdb asks of the disk comes by here
// too and is noted; `cut_disk` plays it back up to any moment and says what may be on the disk
// then.
//
//     std::vector<disk_event> events;
//     {
//         disk_recording const noting(directory, events);
//         … open a store in there, write to it …
//     }
//     cut_disk disk({});
//     for (auto const& event : events) disk.play(event);
//     auto const files = disk.cut(random);   // one of the states that a cut at this moment may
//     leave
//
// The disk: a sector of 512 bytes is written whole or not at all; between two syncs of a file any
// of the sectors written to it may have arrived, in any order; a write through an O_DSYNC
// descriptor has arrived when it returns, and nothing else has with it; new names are there after
// the directory was synced, before that any number of the first of them are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace latchkey::store {

struct disk_event {
    enum class kind : std::uint8_t {
        write,           // was begun
        through,         // `write` before this one has arrived on the disk
        sync,            // of the file is done
        rename,          // to `bytes`
        sync_directory,  // is done
        answer           // a command was acknowledged
    };
    kind what = kind::answer;
    std::string name;  // of the file in the directory
    std::uint64_t offset = 0;
    std::string bytes;
};

// Notes what this process does to the files of one directory, on whatever thread, as long as it
// lives; LMDB's lock file is left out, since it means nothing after a cut. One at a time.
class disk_recording {
  public:
    disk_recording(std::string directory, std::vector<disk_event>& events);
    ~disk_recording();
    disk_recording(disk_recording const&) = delete;
    disk_recording& operator=(disk_recording const&) = delete;

    void note(disk_event event);
    // Empty: not a file of the directory; ".": the directory itself.
    std::string name_of(int descriptor) const;
    std::string name_of(std::string const& path) const;

  private:
    std::string directory_;
    std::mutex mutex_;
    std::vector<disk_event>& events_;
};

using files = std::map<std::string, std::string>;  // name to content

// How true the disk is to what it promises. A harness that finds nothing wrong with a disk that
// lies would find nothing at all.
struct disk_honesty {
    bool syncs = true;    // fdatasync
    bool through = true;  // O_DSYNC
};

class cut_disk {
  public:
    explicit cut_disk(files const& before, disk_honesty honesty = {});
    void play(disk_event const& event);
    files cut(std::mt19937_64& random) const;

  private:
    struct piece {  // of a write, within one sector
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
    static std::string content_after_cut(file const& of, std::mt19937_64& random);

    disk_honesty honesty_;
    std::vector<names> names_;  // what the directory is on the disk, then after each change to it
};

}  // namespace latchkey::store
