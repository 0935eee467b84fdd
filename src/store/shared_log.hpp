// The ordered log that the nodes of a cluster share, as the store sees it. Each change of the store
// is a row; a node's store is the result of the rows up to its position. The network part
// implements it, the tests with a log in memory.
//
//     store.attach(log, cluster);   // before the writer starts; not owned, must outlive both
//
// All functions but `on_arrival` are called by the holder of the store's write lock (the writer's
// thread, or a command) and may block for a bounded time, at most some seconds. `confirmed` and
// `last_lease_end` are called without that lock too, by the same thread, and never block.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "model/log_row.hpp"

namespace latchkey::store {

using model::append_result, model::log_row, model::row_bytes_max, model::row_nonce;

// Told apart by it: the cluster of a store, and that of a log.
using cluster_id = std::array<char, 16>;
// Where a store stands in the log of its cluster: every row up to `position` is applied.
struct cluster_position {
    cluster_id cluster{};
    std::uint64_t position = 0;
    std::uint32_t schema = 0;  // the cluster's: that of its last row, which the next one has too
    row_nonce nonce{};         // of the row at `position`: tells this history from another one
};
// The highest schema of rows that this program applies and can append. It appends that of its
// cluster, which `raise_schema` (command.hpp) raises once no node is of an older program.
std::uint32_t row_schema();

class shared_log {
  public:
    // Appends a row whose position is one above that of the last row that the store has applied, if
    // that one still is what the engine has: never to a history that this store does not share.
    virtual append_result append(log_row const& row) = 0;
    // After `unknown`: what became of the row. `lost` also if the position is free and will not be
    // taken by this row any more; unknown: ask later.
    virtual append_result resolve(log_row const& row) = 0;
    // Rows that arrived here after `position`, without a gap from position + 1 on: at least one if
    // there is one, else as many as have at most `bytes_max` of effects. Never blocks. The same
    // rows are asked for again until `applied` names a later position.
    virtual std::vector<log_row> rows_after(std::uint64_t position, std::size_t bytes_max) = 0;
    // Called after `lost`, by the transaction that decides again, and from then on by each that
    // decides until it returns false: brings the rows after `position` here. It may wait, for a
    // bounded time, until the next position is reserved, so that the append that follows wins.
    // False: there is none, none arrived within the time, or the engine is away.
    virtual bool fetch(std::uint64_t position) = 0;
    // After `fetch` nothing will be appended: gives up the position that `fetch` may have reserved.
    // The write lock may have been released before.
    virtual void release() {}
    // This store is at `position` now; `nonce` is that of the row there. `urgent`: a row
    // that changes a key is among those since the last call, so others wait for it.
    virtual void applied(std::uint64_t position, row_nonce const& nonce, bool urgent) = 0;
    // Keeps `confirmed` up to date until it has reached that position. An urgent row that this
    // store appends needs no call.
    virtual void watch(std::uint64_t) {}
    // The highest position that every node with a lease has applied, this one included.
    virtual std::uint64_t confirmed() const = 0;
    // The end of the last lease that is out, in this machine's wall time.
    virtual base::wall_ms last_lease_end() const = 0;
    // `wake` is called, on any thread, when rows, an answer or a confirmation arrived. It does not
    // block and calls nothing of the log. Once on_arrival({}) has returned, no call is in progress.
    virtual void on_arrival(std::function<void()> wake) = 0;

  protected:
    ~shared_log() = default;
};

}  // namespace latchkey::store
