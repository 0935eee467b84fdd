#include "domain/writer/replication.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "base/time_units.hpp"

namespace latchkey::domain {
namespace {

constexpr base::mono_ns own_row_patience = 30 * base::second;
constexpr auto own_row_interval = std::chrono::milliseconds(20);

// A function of its own, so that its transaction has ended before anything is waited for.
commit_result try_in_order(environment_state& store, base::function_ref<bool(transaction&)> write) {
    transaction txn(store, intent::decide);
    txn.commit_urgent_rows();
    if (!txn.ok()) return txn.failure();
    if (!write(txn)) return txn.failure();
    return txn.commit();
}

}  // namespace

commit_result apply_arrived_rows(environment_state& store) {
    for (std::uint64_t previous = UINT64_MAX;;) {
        transaction txn(store);
        if (!txn.ok()) return txn.failure();
        if (txn.position() == previous) return {};
        previous = txn.position();
        if (auto const result = txn.commit(); !result.ok()) return result;
        if (!txn.has_urgent_rows()) return {};
    }
}

void give_up_turn(environment_state& store) {
    if (store.has_turn.exchange(false)) store.log->release();
}

append_result resolve_own_row(environment_state& store) {
    auto& own = store.unapplied_row;
    if (!own) return append_result::lost;
    if (own->won) return append_result::won;
    auto const result = store.log->resolve(own->row);
    if (result == append_result::won)
        own->won = true;
    else if (result != append_result::unknown)
        own.reset();
    return result;
}

append_result await_own_row(environment_state& store) {
    auto const end = base::read_mono() + own_row_patience;
    for (;;) {
        auto const result = resolve_own_row(store);
        if (result != append_result::unknown || base::read_mono() >= end) return result;
        std::this_thread::sleep_for(own_row_interval);
    }
}

commit_result commit_in_order(environment_state& store,
                              base::function_ref<bool(transaction&)> write) {
    using enum commit_fate;
    if (store.unapplied_row && await_own_row(store) == append_result::unknown) return row_unknown;
    for (int round = 0;; ++round) {
        auto const result = try_in_order(store, write);
        give_up_turn(store);
        if (result == row_unapplied) return {};  // it is in the log, and comes with the next rows
        if (result == row_unknown) {
            auto const fate = await_own_row(store);
            if (fate == append_result::won) return {};
            if (fate == append_result::unknown) return result;
        } else if (result != row_lost || round == rounds_max) {
            return result;
        }
    }
}

}  // namespace latchkey::domain
