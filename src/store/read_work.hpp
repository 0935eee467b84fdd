// The reading that a snapshot has done, counted where it is done: a request is bounded by it
// without a clock, and a test says the same on every machine. One thread.
#pragma once

#include <cstdint>

namespace latchkey::store {

struct read_work {
    std::uint64_t steps = 0;     // of cursors
    std::uint64_t searches = 0;  // by key
    std::uint64_t records = 0;   // whose checksums were compared
    std::uint64_t bytes = 0;     // of these records
    std::uint64_t pages = 0;     // that cursors came to, and whose paths were checked
    std::uint64_t parts = 0;     // of records, that were copied one by one
    std::uint64_t compared = 0;  // bytes that a text was looked for in

    // About the processor time of reading, comparing and decoding, in ns (bench/README.md).
    std::int64_t cost() const {
        return static_cast<std::int64_t>(30 * steps + 400 * searches + 150 * records + bytes / 4 +
                                         400 * pages + 60 * parts + 2 * compared);
    }
};

}  // namespace latchkey::store
