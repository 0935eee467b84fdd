// The helper: the lanes, and the channel to the node between them. Everything runs on the thread of
// `run`, which returns when the node has closed the channel or its messages make no sense.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "helpers/kit/hello.hpp"
#include "helpers/replicate/append_lane.hpp"
#include "helpers/replicate/follow_lane.hpp"
#include "helpers/replicate/lane_context.hpp"
#include "helpers/replicate/quota_lane.hpp"
#include "helpers/replicate/state_lane.hpp"
#include "runtime/coro/task_scope.hpp"

namespace latchkey::replicate {

class helper {
  public:
    // `session`: random.
    helper(base::descriptor socket, std::uint64_t session);

    // The error says why it ended; a node that ends closes the channel, which is none.
    base::result<void> run();

  private:
    static coro::task<> run_channel(helper* self);
    coro::task<> serve_channel();
    bool take(replicate::protocol::envelope parcel);
    void configure(replicate::protocol::configure settings);
    void dispatch(replicate::protocol::envelope parcel);

    kit::helper_channel node_;
    context shared_;
    append_lane appends_;
    follow_lane follower_;
    state_lane states_;
    quota_lane quotas_;
    coro::scope lanes_;
    bool running_ = true;
};

}  // namespace latchkey::replicate
