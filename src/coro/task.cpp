#include "coro/task.hpp"

#include <exception>
#include <string>

#include "base/check.hpp"

namespace latchkey::coro {

void fail_unhandled_exception() noexcept {
    std::string what = "an exception left a coroutine";
    try {
        throw;
    } catch (std::exception const& left) {
        what.append(": ").append(left.what());
    } catch (...) {
        what.append(" (not a std::exception)");
    }
    base::fail_check(what.c_str(), std::source_location::current());
}

}  // namespace latchkey::coro
