// Read-ahead, an optimisation that changes no response: before a worker runs the completions of a
// turn, it looks into the requests that they bring and prefetches together the records which these
// are going to read. A record costs four dependent cache misses, 0.7 µs of a GET of 5; those of
// some thirty requests overlap. Measured (bench/README.md): random reads take 1.22 of the time of
// the constant response with it, 1.33 without.
//
// It is limited to connections without TLS whose last request was admitted by its key, so that
// strangers have no page read, and to times in which records must be searched for: a record that
// many requests read is in the cache of positions. The whole of it is this unit, a transport's
// `prefetch_hint`, which decides for which connections, `api::read_prefetch_hint`, which reads a
// target, and `domain::snapshot`, which prefetches. Belongs to the worker's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "domain/snapshot.hpp"
#include "runtime/uring/pending_operation.hpp"
#include "server/observe/metrics.hpp"

namespace latchkey::server {

class read_ahead {
  public:
    // Completions that are looked into at once: their records must not evict each other.
    static constexpr std::size_t batch_max = 64;

    // `enabled` false switches it off, for tests and benchmarks.
    read_ahead(bool enabled, counter& hints);
    read_ahead(read_ahead const&) = delete;
    read_ahead& operator=(read_ahead const&) = delete;

    // The snapshot outlives all use.
    void use(domain::snapshot const& snapshot) { snapshot_ = &snapshot; }
    // Before completions are run; they then prefetch through `hint`.
    void begin_run();
    void prefetch(std::span<uring::completion const> batch);
    // `answered`: requests were among them. Those tell whether the next ones are worth it.
    void end_run(bool answered);
    // The bytes of a request that is going to be run in this batch.
    void hint(std::string_view bytes);

  private:
    bool const enabled_;
    bool worthwhile_ = false;  // the last requests had to search for a record
    counter& hints_;
    domain::snapshot const* snapshot_ = nullptr;
    std::uint64_t searches_ = 0;
    std::array<std::vector<model::id>, 2> ids_;  // by domain::resource
};

}  // namespace latchkey::server
