#include "cli/frame/standard_output.hpp"

#include <stdio_ext.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/result.hpp"
#include "base/system/log.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {
namespace {

std::string outcome;

}  // namespace

void note_outcome(std::string sentence) {
    outcome = std::move(sentence);
}

int end_output(int code) {
    // Of an earlier write that failed only the fact is known.
    bool const failed_before = std::ferror(stdout) != 0;
    bool const is_flushed = std::fflush(stdout) == 0;
    auto const reason = errno;
    auto const noted = std::exchange(outcome, {});
    if (!failed_before && is_flushed) return code;
    ::__fpurge(stdout);
    std::clearerr(stdout);
    std::string const sentence = "cannot write to standard output";
    auto message = is_flushed ? sentence : base::errno_error(sentence, reason).message;
    if (!noted.empty()) message += "; but " + noted;
    base::log(base::severity::failure, message);
    return code == done ? failed : code;
}

}  // namespace latchkey::cli
