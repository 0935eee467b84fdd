// Messages to the operator on standard error, a line each: `latchkey: …` with control characters
// escaped (visible.hpp), or a JSON object. Not for requests (they have the access log), and never
// with a secret. Any thread; blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace latchkey::base {

enum class severity : std::uint8_t { info, warning, failure };

std::string_view name_of(severity level);  // "info", "warning", "error"
std::optional<severity> find_severity(std::string_view name);

struct log_style {
    bool json = false;  // {"ts":"2026-01-02T03:04:05.678Z","level":"info","message":"…"}
    severity least = severity::info;  // what is below it is not written
};
// For all messages of this process from now on. Any thread.
void set_log_style(log_style style);
log_style current_log_style();
// That of LATCHKEY_LOG_FORMAT and LATCHKEY_LOG_LEVEL, the variables of the settings log.format and
// log.level: for what is said before there is a configuration, and for helper processes.
log_style log_style_of_environment();
// Sets these variables, for the programs that this process starts; before it has threads.
void put_log_style_into_environment();

void log(severity level, std::string_view sentence);
inline void log(std::string_view sentence) {
    log(severity::info, sentence);
}

}  // namespace latchkey::base
