// Trims the heaps once connections have used much memory and no longer do. Otherwise what they free
// stays with the C library: in each worker's heap a few small live blocks lie between the large
// free ones. Trimming takes some milliseconds per 100 MiB, with the heaps locked one after the
// other, so it waits until the use has been low for a while.
//
// For the main thread, about once a second. Bytes are those of worker_metrics::held_bytes.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "base/time_units.hpp"

namespace latchkey::server {

class memory_return {
  public:
    static constexpr base::mono_ns look_every = base::second;

    // `used`: bytes of all workers now; `peak`: the most since the last `true`. True: the heaps
    // were trimmed, and the peak is to be reset.
    bool look(std::uint64_t used_bytes, std::uint64_t peak, base::mono_ns now) {
        bool const quiet = peak >= worthwhile_bytes && used_bytes <= peak / 2;
        if (!quiet) quiet_looks_ = 0;
        if (!quiet || ++quiet_looks_ < quiet_looks_min || now < next_) return false;
        quiet_looks_ = 0;
        next_ = now + trim_pause;
        ::malloc_trim(0);
        return true;
    }

    // Sums the metrics of all workers and decides by them.
    void look_at(auto const& workers, base::mono_ns now) {
        std::uint64_t bytes = 0, peak_bytes = 0, connection_bytes = 0;
        for (auto const& each : workers) {
            bytes += each->metrics().held_bytes.read();
            peak_bytes += each->metrics().held_bytes_most.read();
            connection_bytes += each->metrics().connections.read() * bytes_of_connection;
        }
        connection_bytes_most_ = std::max(connection_bytes_most_, connection_bytes);
        if (!look(bytes + connection_bytes, peak_bytes + connection_bytes_most_, now)) return;
        connection_bytes_most_ = connection_bytes;
        for (auto const& each : workers) each->reset_held_peak();
    }

  private:
    static constexpr std::uint64_t worthwhile_bytes = std::uint64_t{16} << 20;
    static constexpr std::uint64_t bytes_of_connection = 7 << 10;  // of an idle one
    static constexpr unsigned quiet_looks_min = 2;
    static constexpr base::mono_ns trim_pause = 5 * base::second;

    std::uint64_t connection_bytes_most_ = 0;  // since the heaps were trimmed
    unsigned quiet_looks_ = 0;
    base::mono_ns next_ = 0;
};

}  // namespace latchkey::server
