#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace latchkey::cli {
namespace {

constexpr base::mono_ns second = 1'000'000'000;
constexpr int bar_columns = 24;

void write_out(std::string const& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

progress::form progress::wanted(bool json, bool quiet) {
    if (json || quiet) return form::none;
    return ::isatty(STDERR_FILENO) != 0 ? form::bar : form::lines;
}

progress::progress(std::string what, std::uint64_t total, form how, std::uint64_t done_before)
    : what_(std::move(what)),
      total_(total),
      before_(done_before),
      how_(how),
      begun_(base::read_clocks().mono) {}

void progress::show(std::uint64_t done, std::uint64_t records, bool last) {
    if (how_ == form::none) return;
    if (records_before_ == UINT64_MAX) records_before_ = before_ == 0 ? 0 : records;
    auto const now = base::read_clocks().mono;
    auto const interval = how_ == form::bar ? second / 10 : 5 * second;
    if (!last && now - std::max(shown_, how_ == form::bar ? 0 : begun_) < interval) return;
    shown_ = now;
    auto const seconds = static_cast<double>(now - begun_) / static_cast<double>(second);
    auto const part = total_ == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total_);
    auto const speed = static_cast<double>(done - before_) / std::max(seconds, 1e-3);
    auto const left = speed > 0 ? static_cast<double>(total_ - std::min(done, total_)) / speed : 0;
    auto const per_second =
        static_cast<double>(records - records_before_) / std::max(seconds, 1e-3);
    auto const line = line_of(what_, part, records, per_second, left, how_ == form::bar);
    if (how_ == form::lines) return write_out(line + "\n");
    write_out("\r\x1b[K" + line + (last ? "\n" : ""));
    drawn_ = !last;
}

void progress::give_way() {
    if (std::exchange(drawn_, false)) write_out("\r\x1b[K");
}

std::string progress::line_of(std::string const& what, double part, std::uint64_t records,
                              double per_second, double seconds_left, bool bar) {
    part = std::clamp(part, 0.0, 1.0);
    auto const full = static_cast<int>(part * bar_columns);
    std::string line = what + "  ";
    if (bar) {
        line += "[";
        for (int i = 0; i < bar_columns; ++i) line += i < full ? "#" : ".";
        line += "]  ";
    }
    line += std::to_string(static_cast<int>(part * 100)) + " %  " + with_commas(records) + "  " +
            with_commas(static_cast<std::uint64_t>(per_second)) + "/s";
    if (part >= 1) return line;
    auto const left = static_cast<long>(std::min(seconds_left, 86'400.0 * 9));
    char time[32];
    std::snprintf(time, sizeof time, "  %ld:%02ld left", left / 60, left % 60);
    return line + time;
}

std::string with_commas(std::uint64_t number) {
    auto text = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

}  // namespace latchkey::cli
