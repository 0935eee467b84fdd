// A store becomes a node of a cluster, by loading the cluster's state or, where the cluster begins
// with it, as it is; and a node becomes a store that stands alone.
//
//     auto load = domain::state_load::begin(*environment, cluster);
//     while (…) load->add(records);    // in the order of state_reader
//     load->finish(position);
//     environment->attach(log, cluster);
//
// The caller has claimed the directory (environment::claim_for_server), and no snapshot, writer or
// log is in use. An interrupted load leaves a store that only another load can use
// (environment::has_unfinished_load); it begins from the start. One thread. Errors are of the store
// or the disk.
#pragma once

#include <span>

#include "domain/admin/state_reader.hpp"

namespace latchkey::domain {

class state_load {
  public:
    // Empties the store, which must be new, or have an unfinished load; anything else is refused.
    static base::result<state_load> begin(environment& store, cluster_id const& cluster);

    // One transaction, with a sync: some MiB at once are fast. Each record is after all before it;
    // local ones are refused.
    base::result<void> add(std::span<state_record const> records);
    // The records are the state as of `position`, where the row with that nonce is (zeros: not
    // known), of that schema.
    base::result<void> finish(std::uint64_t position, std::uint32_t schema,
                              row_nonce const& nonce = {});

  private:
    state_load(environment& store, cluster_id const& cluster) : store_(&store), cluster_(cluster) {}

    environment* store_;
    cluster_id cluster_;
};

// The store as it is becomes the state of a new cluster at position 0.
base::result<void> join_cluster(environment& store, cluster_id const& cluster);
// The store stands alone from now on; its records stay.
base::result<void> leave_cluster(environment& store);

}  // namespace latchkey::domain
