// An expected failure of the environment (a file, the kernel, the store) as a value. The message is
// a whole sentence for the operator, with the remedy where it is known, and never holds a secret.
// Exceptions do not cross a co_await.
//
//     base::result<config> read_config(path);
//     return base::error{"cannot read x: no such file"};
//     if (!loaded) return loaded.error();
#pragma once

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace latchkey::base {

struct error {
    std::string message;
};

template <class T>
using result = boost::system::result<T, error>;

// "cannot open x: No such file or directory", from an errno or a negated one.
error errno_error(std::string_view action, int number);

[[noreturn]] inline void throw_exception_from_error(error const& failure,
                                                    boost::source_location const&) {
    throw std::runtime_error(failure.message);
}

}  // namespace latchkey::base
