// Appends, on a connection that nothing else uses. Requests are answered in their order; they wait
// while a lost connection is made again, and are refused at once when no host answered.
//
// An append is one statement and one round trip. What the engine does not say is `unknown`: a
// connection that broke, an answer that did not come in time, an error that does not rule out the
// commit, a warning (a commit that did not reach the standby). `resolve` then appends an empty row
// in its place: either that or the row in question is there afterwards, for good, even if the
// statement is still on its way to a server that nobody is connected to any more.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "helpers/replicate/engine_connection.hpp"
#include "helpers/replicate/lane_context.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "helpers/replicate/queries.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

class append_lane {
  public:
    explicit append_lane(context& shared);

    // append, resolve, reserve, release.
    void take(replicate::protocol::envelope request);
    coro::task<> run();

  private:
    void refuse_all();
    void answer_append(std::uint32_t request, replicate::protocol::append_result result,
                       replicate::protocol::log_row const& row);
    coro::task<> wait_for_work();
    coro::task<> serve(replicate::protocol::envelope request);
    coro::task<> append(std::uint32_t request, replicate::protocol::append const* content);
    coro::task<replicate::protocol::append_result> try_append(
        replicate::protocol::append const* content);
    coro::task<> resolve(std::uint32_t request, replicate::protocol::resolve question);
    coro::task<> reserve(std::uint32_t request, replicate::protocol::reserve place);
    coro::task<bool> send_rows(std::uint64_t position, std::uint64_t head,
                               std::vector<replicate::protocol::log_row> first);
    coro::task<> release();
    append_place place_after(replicate::protocol::identity const& previous) const;

    context& shared_;
    engine_connection engine_;
    std::deque<replicate::protocol::envelope> requests_;
    signal news_;
    bool reserved_ = false;
    base::mono_ns reservation_end_ = 0;
};

}  // namespace latchkey::replicate
