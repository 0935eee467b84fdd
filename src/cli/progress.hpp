// How far a long command has come, on standard error: a bar that is drawn over itself where that is
// a terminal, a plain line every few seconds where it is not, nothing when quiet.
//
//     progress shown("users", total_bytes, progress::wanted(json, quiet));
//     shown.at(bytes, records);         // as often as you like
//     shown.end(bytes, records);        // the last state stays to be read
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace latchkey::cli {

class progress {
  public:
    enum class form { none, lines, bar };
    static form wanted(bool json, bool quiet);

    // `total` in whatever `done` counts; 0: unknown. `done_before` was done by an earlier run.
    progress(std::string what, std::uint64_t total, form how, std::uint64_t done_before = 0);
    void at(std::uint64_t done, std::uint64_t records) { show(done, records, false); }
    void end(std::uint64_t done, std::uint64_t records) { show(done, records, true); }
    // Makes room on the terminal for a line of something else; the bar comes back with `at`.
    void give_way();

    // "users  [########····]  67 %  670,000  93,100/s  0:03 left", without the clock, for tests.
    static std::string line_of(std::string const& what, double part, std::uint64_t records,
                               double per_second, double seconds_left, bool bar);

  private:
    void show(std::uint64_t done, std::uint64_t records, bool last);

    std::string what_;
    std::uint64_t total_, before_;
    std::uint64_t records_before_ = UINT64_MAX;
    form how_;
    base::mono_ns begun_, shown_ = 0;
    bool drawn_ = false;
};

std::string with_commas(std::uint64_t number);  // "1,234,567"

}  // namespace latchkey::cli
