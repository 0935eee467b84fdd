#include "server/process/clock_watch.hpp"

#include <cstdlib>
#include <string>
#include <utility>

#include "base/limits.hpp"
#include "base/system/log.hpp"

namespace latchkey::server {

void clock_watch::look(store::environment::clock_offset const& offset) {
    auto const [ahead, doubted] = offset;
    bool const diverged = doubted || ahead < -base::limits::clock_step_ms_max;
    if (std::exchange(diverged_, diverged) == diverged) return;
    auto const hours = std::to_string(std::abs(ahead) / 3'600'000) + " hours";
    if (!diverged)
        base::log("this machine's clock and the store's time agree again");
    else if (doubted)
        base::log(base::severity::warning,
                  "this machine's clock leapt ahead by " + hours +
                      " and is not trusted: expiry goes by the elapsed time; if the clock is right "
                      "now, restart the service");
    else
        base::log(
            base::severity::warning,
            "this machine's clock is " + hours +
                " behind the last write to the store, whose time goes on slowly: set the clock "
                "if it is wrong; if it is right, stop the service and run latchkey reset-time");
}

}  // namespace latchkey::server
