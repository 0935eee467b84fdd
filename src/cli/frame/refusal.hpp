// Why a command has no answer, from the store of this machine or from a service elsewhere: the same
// refusal has the same exit code from both. Values; any thread.
#pragma once

#include <stdexcept>
#include <string>

#include "base/result.hpp"
#include "cli/frame/command_line.hpp"

namespace latchkey::cli {

// A sentence, with its exit code. No text converts to it.
struct refusal {
    refusal() = default;
    refusal(std::string sentence, int exit_code) : message(std::move(sentence)), code(exit_code) {}
    std::string message;
    int code = failed;
};
template <class T>
using answer_of = boost::system::result<T, refusal>;

// The exit code for a request that the API refused with this status: 400 and 422 mean a wrong
// value.
constexpr int exit_code_of(unsigned status) {
    return status == 400 || status == 422 ? usage_error : failed;
}

[[noreturn]] inline void throw_exception_from_error(refusal const& refusal,
                                                    boost::source_location const&) {
    throw std::runtime_error(refusal.message);
}

}  // namespace latchkey::cli
