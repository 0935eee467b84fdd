#include "helpers/replicate/engine_connection.hpp"

#include <algorithm>

#include "base/time_units.hpp"

namespace latchkey::replicate {
namespace {

constexpr base::mono_ns attempt_time = 3 * base::second;
constexpr base::mono_ns pause_min = 50 * base::millisecond, pause_max = base::second;

}  // namespace

coro::task<bool> engine_connection::open() {
    if (failures_ != 0) {
        auto const doublings = std::min(failures_ - 1, 10);
        co_await shared_.poller.sleep(std::min(pause_min << doublings, pause_max));
    }
    for (auto rest = shared_.target.host_count(); rest > 0; --rest) {
        auto const deadline = base::read_mono() + attempt_time;
        auto const attempt =
            co_await connection_.open(&shared_.target, host_, statement_ms_, deadline);
        if (attempt) {
            failures_ = 0;
            co_return true;
        }
        error_ = host() + ": " + attempt.error().message;
        leave_host();
    }
    ++failures_;
    co_return false;
}

void engine_connection::leave_host() {
    connection_.close();
    host_ = (host_ + 1) % shared_.target.host_count();
}

}  // namespace latchkey::replicate
