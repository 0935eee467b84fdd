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

#include "coro/task.hpp"
#include "helpers/replicate/context.hpp"
#include "helpers/replicate/link.hpp"
#include "helpers/replicate/protocol/messages.hpp"
#include "helpers/replicate/queries.hpp"

namespace latchkey::replicate {

class append_lane {
  public:
    explicit append_lane(context& shared);

    // append, resolve, reserve, release.
    void take(replication::envelope request);
    coro::task<> run();

  private:
    void refuse_all();
    void answer_append(std::uint32_t request, replication::append_result result,
                       replication::log_row const& row);
    coro::task<> wait_for_work();
    coro::task<> serve(replication::envelope request);
    coro::task<> append(std::uint32_t request, replication::append const* content);
    coro::task<replication::append_result> try_append(replication::append const* content);
    coro::task<> resolve(std::uint32_t request, replication::resolve question);
    coro::task<> reserve(std::uint32_t request, replication::reserve place);
    coro::task<bool> send_rows(std::uint64_t position, std::uint64_t head,
                               std::vector<replication::log_row> first);
    coro::task<> release();
    append_place place_after(replication::identity const& previous) const;

    context& shared_;
    link engine_;
    std::deque<replication::envelope> requests_;
    signal news_;
    bool reserved_ = false;
    base::mono_ns reservation_end_ = 0;
};

}  // namespace latchkey::replicate
