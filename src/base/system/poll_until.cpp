#include "base/system/poll_until.hpp"

#include <algorithm>
#include <cerrno>

#include "base/time_units.hpp"

namespace latchkey::base {

int poll_until(std::span<pollfd> waited, mono_ns deadline) {
    for (auto& each : waited) each.revents = 0;
    for (;;) {
        auto const left = std::max<mono_ns>(deadline - read_mono(), 0);
        timespec const timeout{left / second, left % second};
        int const count = ::ppoll(waited.data(), waited.size(), &timeout, nullptr);
        if (count >= 0 || errno != EINTR) return count;
    }
}

}  // namespace latchkey::base
