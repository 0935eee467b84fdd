// Fault injection: a whole worker in simulated worlds where accepting, receiving, sending, the ring
// itself and the store's queue fail. The clients know every byte that must come, and when a
// connection may end.
#include <errno.h>
#include <gtest/gtest.h>

#include "../runtime/uring/seeds.hpp"
#include "api_client.hpp"
#include "runtime/uring/ring.hpp"
#include "worker_fixture.hpp"

namespace latchkey::server {
namespace {

using namespace fake;

constexpr int client_count = 100;
// As in the service: what has not ended by then is cut off.
constexpr base::mono_ns grace = 30 * second;

void run_worker(world& simulation) {
    worker_fixture fixture(simulation);
    api_clients clients(simulation, fixture);
    for (int i = 0; i < client_count; ++i)
        simulation.after(static_cast<base::mono_ns>(simulation.below(400 * ms)),
                         [&] { clients.start_client(); });
    // Mostly once the last client has had its time, sometimes in the middle.
    bool const early = simulation.chance(300);
    auto const end = early ? static_cast<base::mono_ns>(simulation.below(500 * ms)) : 90 * second;
    simulation.after(end, [&] {
        if (!early) clients.expect_ended();
        fixture.stop();
    });
    simulation.after(end + grace, [&] {
        clients.allow_any_end();
        fixture.abort_all();
    });
    simulation.after(end + grace + 5 * second,
                     [&] { simulation.fail("the worker does not stop"); });
    auto const finished = fixture.run();
    simulation.expect(finished.has_value(), finished ? "" : finished.error().message);
    // What the last connections still do to their clients.
    simulation.calm();
    simulation.pass(4 * second);
    fixture.expect_settled();
    clients.expect_store_matches();
}

TEST(worker, gives_every_answer_whole_and_leaves_nothing_whatever_fails) {
    auto const all = run_seeds(10'000, run_worker);
    if (HasFailure() || std::getenv("LATCHKEY_SEED") != nullptr) return;
    for (std::size_t i = 0; i < fault_count; ++i)
        EXPECT_GT(all.injected[i], 0u) << name_of(static_cast<fault>(i));
}

// The probe has passed, and then a worker cannot have its ring or its buffers.
TEST(worker, says_what_it_cannot_have_and_leaves_nothing) {
    for (int const code : {ENOMEM, EMFILE, EPERM, EINVAL})
        for (auto const fails : {&kernel::set_up_fails, &kernel::register_fails})
            run_seed(1, [&](world& simulation) {
                worker_fixture fixture(simulation);
                fixture.simulated_kernel().*fails = code;
                auto const finished = fixture.run();
                simulation.expect(!finished, "it finished");
                simulation.expect(finished.error().message == uring::refusal(-code).message,
                                  finished.error().message);
                fixture.expect_settled();
            });
}

TEST(worker, a_seed_replays_exactly) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        EXPECT_EQ(run_seed(seed, run_worker).trace, run_seed(seed, run_worker).trace) << seed;
}

}  // namespace
}  // namespace latchkey::server
