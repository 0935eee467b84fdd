#include "runtime/coro/task.hpp"

#include <exception>
#include <string>

#include "base/check.hpp"

namespace latchkey::coro {

void fail_unhandled_exception() noexcept {
    std::string message = "an exception left a coroutine";
    try {
        throw;
    } catch (std::exception const& exception) {
        message.append(": ").append(exception.what());
    } catch (...) {
        message.append(" (not a std::exception)");
    }
    base::fail_check(message.c_str(), std::source_location::current());
}

}  // namespace latchkey::coro
