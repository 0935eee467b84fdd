// A cluster with faults, by a seed (world.hpp):
//
//     LATCHKEY_SEED=7 cluster-simulation       one run, whose events are printed
//     LATCHKEY_SEEDS=100000 …                  that many, from LATCHKEY_FIRST_SEED on
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>

#include "world.hpp"

// Each of many small stores would take 96 MiB of the disk, and nothing is to outlive
// a run: the store accepts a file system without fallocate, and syncs cost most of the time.
extern "C" int fallocate(int, int, off_t, off_t) {
    errno = EOPNOTSUPP;
    return -1;
}
extern "C" int fsync(int) {
    return 0;
}

namespace latchkey::simulation {
namespace {

constexpr std::uint64_t seeds_usual = 120;

std::uint64_t number_of(char const* name, std::uint64_t otherwise) {
    auto const* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Nodes tell the operator of each outage.
class silence {
  public:
    silence() : saved_(::dup(STDERR_FILENO)) {
        int const nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(nowhere, STDERR_FILENO);
        ::close(nowhere);
    }
    ~silence() {
        ::dup2(saved_, STDERR_FILENO);
        ::close(saved_);
    }
    silence(silence const&) = delete;
    silence& operator=(silence const&) = delete;

  private:
    int saved_;
};

TEST(cluster_simulation, keeps_what_was_promised) {
    domain::temporary_directory place;
    auto const directory = place.path() + "/store";
    make_template(directory);
    event_counts events;
    auto const only = number_of("LATCHKEY_SEED", 0);
    auto const count = number_of("LATCHKEY_SEEDS", seeds_usual);
    {
        silence const quiet;
        for (auto seed = only != 0 ? only : number_of("LATCHKEY_FIRST_SEED", 1);
             seed <= (only != 0 ? only : count); ++seed) {
            SCOPED_TRACE("LATCHKEY_SEED=" + std::to_string(seed));
            world(seed, directory, events, only != 0).run();
            if (::testing::Test::HasFailure()) return;
        }
    }
    std::cout << events.rows << " rows, " << events.acknowledged << " acknowledged, "
              << events.behind << " behind, " << events.replayed << " replayed, " << events.crashes
              << " ends of nodes, " << events.accepted << " accepted, " << events.refused
              << " refused, " << events.limited << " limited, " << events.confirmed
              << " confirmed, " << events.unconfirmed << " not confirmed, " << events.lost_rows
              << " nodes that lost rows\n";
    if (only != 0 || count < 100) return;
    for (auto const number : {events.rows, events.acknowledged, events.behind, events.replayed,
                              events.crashes, events.accepted, events.refused, events.limited,
                              events.confirmed, events.unconfirmed, events.lost_rows})
        EXPECT_GT(number, 0u);
}

}  // namespace
}  // namespace latchkey::simulation
