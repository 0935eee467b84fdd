// A whole worker in worlds where everything fails that can: accepting, receiving, sending, the ring
// itself, the store's queue. Its clients know every byte that must come, and when the end may.
#include <errno.h>
#include <gtest/gtest.h>

#include "../uring/seeds.hpp"
#include "fault_house.hpp"
#include "uring/ring.hpp"
#include "visitor.hpp"

namespace latchkey::server {
namespace {

using namespace fake;

constexpr int visitors = 100;
// As in the service: who is not done by then is cut off.
constexpr base::mono_ns grace = 30 * second;

void run_worker(world& all) {
    house here(all);
    crowd clients(all, here);
    for (int i = 0; i < visitors; ++i)
        all.after(static_cast<base::mono_ns>(all.below(400 * ms)), [&] { clients.send_one(); });
    // Mostly once the last has had its time, sometimes in the middle of it all.
    bool const early = all.chance(300);
    auto const end = early ? static_cast<base::mono_ns>(all.below(500 * ms)) : 90 * second;
    all.after(end, [&] {
        if (!early) clients.expect_ended();
        here.stop();
    });
    all.after(end + grace, [&] {
        clients.excuse_all();
        here.abort_all();
    });
    all.after(end + grace + 5 * second, [&] { all.fail("it does not end"); });
    auto const ran = here.run();
    all.expect(ran.has_value(), ran ? "" : ran.error().message);
    // What the last connections still did to their clients.
    all.calm();
    all.pass(4 * second);
    here.expect_settled();
    clients.expect_satisfied();
}

TEST(worker, gives_every_answer_whole_and_leaves_nothing_whatever_fails) {
    auto const all = hunt(10'000, run_worker);
    if (HasFailure() || std::getenv("LATCHKEY_SEED") != nullptr) return;
    for (std::size_t i = 0; i < fault_count; ++i)
        EXPECT_GT(all.struck[i], 0u) << name_of(static_cast<fault>(i));
}

// The probe has passed, and then a worker cannot have its ring or its buffers.
TEST(worker, says_what_it_cannot_have_and_leaves_nothing) {
    for (int const code : {ENOMEM, EMFILE, EPERM, EINVAL})
        for (auto const fails : {&kernel::set_up_fails, &kernel::register_fails})
            run_seed(1, [&](world& all) {
                house here(all);
                here.machine().*fails = code;
                auto const ran = here.run();
                all.expect(!ran, "it ran");
                all.expect(ran.error().message == uring::refusal(-code).message,
                           ran.error().message);
                here.expect_settled();
            });
}

TEST(worker, a_seed_replays_exactly) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        EXPECT_EQ(run_seed(seed, run_worker).trace, run_seed(seed, run_worker).trace) << seed;
}

}  // namespace
}  // namespace latchkey::server
