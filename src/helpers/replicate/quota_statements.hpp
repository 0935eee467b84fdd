// The statements of the quota_lane, and what their answers say. Values; no errors; any thread.
#pragma once

#include <vector>

#include "helpers/replicate/postgres_connection.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"
#include "helpers/replicate/statement.hpp"

namespace latchkey::replicate {

// Key id, slot and generation as one column, whose order is theirs.
std::string bucket_id(replicate::protocol::quota_bucket const& bucket);

// Adds those that are not there, as full ones, so that there is something to lock.
statement add_buckets(std::vector<replicate::protocol::quota_bucket> const& list);
// (id, arrival, clock), locked in their order.
statement lock_buckets(std::vector<replicate::protocol::quota_bucket> const& list);
statement write_buckets(std::vector<std::pair<replicate::protocol::quota_bucket,
                                              replicate::protocol::quota_level>> const& list);
// Removes what is full since before `clock`, some of it.
statement sweep_buckets(replicate::protocol::cluster_ns clock);

// (name, process, presence, share, clock)
statement read_members();
statement lock_member(std::string_view name);
statement lock_members();
statement write_member(replicate::protocol::quota_member const& member);
statement remove_member(std::string_view name);

// Adds them to `rows`.
void parse_buckets(answer const& lines, std::vector<replicate::protocol::quota_bucket> const& list,
                   replicate::protocol::quota_rows& rows);
void parse_members(answer const& lines, replicate::protocol::quota_rows& rows);

}  // namespace latchkey::replicate
