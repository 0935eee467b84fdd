// Progress of a long command on standard error: a bar on a terminal, else a line every few seconds;
// nothing when quiet.
//
//     progress bar("users", total_bytes, progress::choose_form(json, quiet));
//     bar.update(bytes, records);       // any number of times
//     bar.end(bytes, records);          // leaves the last state on the screen
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace latchkey::cli {

class progress {
  public:
    enum class form { none, lines, bar };
    static form choose_form(bool json, bool quiet);

    // `total` in the unit of `done`; 0: unknown. `initial`: done by an earlier run.
    progress(std::string title, std::uint64_t total, form kind, std::uint64_t initial = 0);
    void update(std::uint64_t count, std::uint64_t records) { show(count, records, false); }
    void end(std::uint64_t count, std::uint64_t records) { show(count, records, true); }
    // Clears the bar for another line of output; `update` draws it again.
    void clear_line();

    // "users  [########····]  67 %  670,000  93,100/s  0:03 left", without the clock, for tests.
    static std::string line_of(std::string const& title, double part, std::uint64_t records,
                               double per_second, double seconds_left, bool bar);

  private:
    void show(std::uint64_t count, std::uint64_t records, bool last);

    std::string title_;
    std::uint64_t total_, initial_;
    std::uint64_t initial_records_ = UINT64_MAX;
    form form_;
    base::mono_ns start_, last_update_ = 0;
    bool drawn_ = false;
};

std::string with_commas(std::uint64_t number);  // "1,234,567"

}  // namespace latchkey::cli
