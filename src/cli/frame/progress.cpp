#include "cli/frame/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/time_units.hpp"
#include "base/visible.hpp"

namespace latchkey::cli {
namespace {

using base::second;

constexpr int bar_columns = 24;

void write_out(std::string const& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

progress::form progress::choose_form(bool json, bool quiet) {
    if (json || quiet) return form::none;
    return ::isatty(STDERR_FILENO) != 0 ? form::bar : form::lines;
}

progress::progress(std::string title, std::uint64_t total, form kind, std::uint64_t initial)
    : title_(base::visible(title)),
      total_(total),
      initial_(initial),
      form_(kind),
      start_(base::read_clocks().mono) {}

void progress::show(std::uint64_t count, std::uint64_t records, bool last) {
    if (form_ == form::none) return;
    if (initial_records_ == UINT64_MAX) initial_records_ = initial_ == 0 ? 0 : records;
    auto const now = base::read_clocks().mono;
    auto const interval = form_ == form::bar ? second / 10 : 5 * second;
    if (!last && now - std::max(last_update_, form_ == form::bar ? 0 : start_) < interval) return;
    last_update_ = now;
    auto const seconds = static_cast<double>(now - start_) / static_cast<double>(second);
    auto const part = total_ == 0 ? 1 : static_cast<double>(count) / static_cast<double>(total_);
    auto const speed = static_cast<double>(count - initial_) / std::max(seconds, 1e-3);
    auto const left = speed > 0 ? static_cast<double>(total_ - std::min(count, total_)) / speed : 0;
    auto const per_second =
        static_cast<double>(records - initial_records_) / std::max(seconds, 1e-3);
    auto const line = line_of(title_, part, records, per_second, left, form_ == form::bar);
    if (form_ == form::lines) return write_out(line + "\n");
    write_out("\r\x1b[K" + line + (last ? "\n" : ""));
    drawn_ = !last;
}

void progress::clear_line() {
    if (std::exchange(drawn_, false)) write_out("\r\x1b[K");
}

std::string progress::line_of(std::string const& title, double part, std::uint64_t records,
                              double per_second, double seconds_left, bool bar) {
    part = std::clamp(part, 0.0, 1.0);
    auto const full = static_cast<int>(part * bar_columns);
    std::string line = title + "  ";
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
    for (auto position = static_cast<std::ptrdiff_t>(text.size()) - 3; position > 0; position -= 3)
        text.insert(static_cast<std::size_t>(position), ",");
    return text;
}

}  // namespace latchkey::cli
