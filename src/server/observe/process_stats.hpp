// What the system says of this process, for the metrics `process_*` (the names that Prometheus'
// client libraries use). The files of /proc are opened once, before the service confines itself:
// afterwards it could not open them (server/process/confine_service.hpp). One thread.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/system/descriptor.hpp"

namespace latchkey::server {

class process_stats {
  public:
    process_stats();  // after the limits were raised, which it reads too

    struct reading {
        double cpu_seconds = 0;  // user and system, of all threads
        std::uint64_t virtual_bytes = 0, resident_bytes = 0;
        std::uint64_t open_descriptors = 0, descriptors_max = 0;
    };
    // nullopt where there is no /proc.
    std::optional<reading> read() const;

  private:
    struct directory_closer {
        void operator()(DIR* directory) const;
    };
    base::descriptor stat_;
    std::unique_ptr<DIR, directory_closer> descriptors_;
    std::uint64_t descriptors_max_ = 0;
    double ticks_per_second_;
    std::uint64_t page_bytes_;
};

// The numbers of /proc/PID/stat (proc_pid_stat(5)): utime and stime (14, 15), in clock ticks, vsize
// (23), in bytes, and rss (24), in pages. nullopt: the text has another form.
struct stat_numbers {
    std::uint64_t ticks = 0, virtual_bytes = 0, resident_pages = 0;
};
std::optional<stat_numbers> parse_stat(std::string_view text);

}  // namespace latchkey::server
