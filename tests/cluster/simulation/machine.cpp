#include "machine.hpp"

namespace latchkey::simulation {
namespace {

constexpr base::wall_ms begin_time = 1'800'000'000'000;
constexpr base::wall_ms minute_ms = 60'000;
constexpr std::int64_t million = 1'000'000;
constexpr std::int64_t millionths_max = 240;  // clocks that NTP keeps differ by less than 500

}  // namespace

machine::machine(real_ns const& now, dice& dice)
    : now_(&now),
      first_boot_(static_cast<std::int64_t>(1 + dice.below(100'000)) * base::second),
      millionths_(static_cast<std::int64_t>(dice.below(2 * millionths_max)) - millionths_max),
      clock_at_boot_(begin_time - first_boot_ / base::millisecond) {
    set_clock(dice);
}

cluster::boot_ns machine::boot() const {
    return first_boot_ + *now_ + *now_ / million * millionths_;
}

real_ns machine::real_time_of(base::wall_ms clock) const {
    auto const span = (clock - clock_at_boot_) * base::millisecond - boot();
    return *now_ + span - span / million * millionths_;
}

void machine::set_clock(dice& dice) {
    clock_at_boot_ += (static_cast<base::wall_ms>(dice.below(20)) - 10) * minute_ms;
}

}  // namespace latchkey::simulation
