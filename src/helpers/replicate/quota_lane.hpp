// Tokens of limits that the nodes share: each ask is a transaction of two round trips, on a
// connection that nothing else uses.
//
//     BEGIN; the buckets that are not there yet; the buckets, locked in their order; this node's
//     line and the other members'        (then replicate::protocol::grant computes)
//     the buckets and this node's line as they are now; COMMIT
//
// Asks for other keys are not held up. A transaction that raises this node's share, or removes a
// member, locks all members instead: one such at a time. While the engine is away each ask fails at
// once. One that may have been carried out although nothing came back is a lost one to the node.
//
// A member is dead once its lease as a node has ended and its line has not changed for as long as
// a lease lasts, by this machine's clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "helpers/replicate/engine_connection.hpp"
#include "helpers/replicate/lane_context.hpp"
#include "helpers/replicate/protocol/quota_grant.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

class quota_lane {
  public:
    explicit quota_lane(context& shared);

    // quota_ask.
    void take(replicate::protocol::envelope request);
    coro::task<> run();

  private:
    struct sighting {
        replicate::protocol::quota_member member;
        replicate::protocol::boot_ns time = 0;  // since when the line was seen to be like this
    };

    void fail_all(std::string const& text);
    coro::task<> wait_for_work();
    coro::task<> serve(std::uint32_t request, replicate::protocol::quota_ask const* ask);
    // False: somebody removed a bucket meanwhile, or the engine wants the transaction repeated.
    coro::task<bool> try_ask(std::uint32_t request, replicate::protocol::quota_ask const* ask,
                             bool last);
    batch reading(replicate::protocol::quota_ask const& ask, bool exclusive) const;
    batch writing(replicate::protocol::quota_rows const& rows,
                  replicate::protocol::quota_rows const& previous) const;
    coro::task<> roll_back();
    bool is_alive(replicate::protocol::quota_member const& member);
    coro::task<> sweep();

    context& shared_;
    engine_connection engine_;
    std::deque<replicate::protocol::envelope> requests_;
    signal news_;
    std::map<std::string, sighting, std::less<>> sightings_;
    std::uint32_t share_ = 0;  // of this node, when it was last seen
    bool has_dead_ = false;    // a member is to be removed
    replicate::protocol::cluster_ns clock_ = 0;
    base::mono_ns sweep_time_ = 0;
};

}  // namespace latchkey::replicate
