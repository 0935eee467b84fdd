// The whole state, which the engine keeps beside the log: folding the log into it, removing rows
// that no node needs, giving it to a node that joins or is compared, taking it over at the init.
// Long work on a connection of its own, which is open only meanwhile.
//
// One node folds for all: the first by name among the living (another one when that does not). A
// fold is transactions that move `latchkey_fold.folded` and write what the rows come down to.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "helpers/replicate/engine_connection.hpp"
#include "helpers/replicate/lane_context.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "helpers/replicate/state_changes.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

class state_lane {
  public:
    // `on_join`: the state at that position is about to be read by a node that joins.
    // `on_init`: there is a cluster now.
    state_lane(context& shared, std::function<void(std::uint64_t)> on_join,
               std::function<void()> on_init);

    // read_state, init_begin, state_chunk, init_end.
    void take(replicate::protocol::envelope request);
    coro::task<> run();

  private:
    enum class outcome : std::uint8_t { ended, again, lost };

    coro::task<> serve(replicate::protocol::envelope request);
    bool is_fold_due();
    void refuse_all(replicate::protocol::failure reason, std::string const& text);

    coro::task<bool> fold_all();
    coro::task<outcome> fold_some();
    coro::task<bool> write_rows(std::vector<replicate::protocol::log_row> const* rows);
    coro::task<bool> write_changes(state_changes const* changes);
    coro::task<bool> write_records(std::vector<replicate::protocol::state_record> const* records);
    coro::task<bool> erase(range_erasure const* range);
    coro::task<bool> run_batch(batch statements);
    coro::task<> remove_rows();
    void report_fold(bool complete);

    coro::task<> read_state(std::uint32_t request, bool fold);
    coro::task<bool> begin_reading(replicate::protocol::state_begin* begin);
    coro::task<bool> send_table(std::uint32_t request, std::uint8_t table, std::uint64_t* count);

    coro::task<> begin_init(std::uint32_t request, replicate::protocol::init_begin settings);
    coro::task<> take_chunk(std::uint32_t request, replicate::protocol::state_chunk const* chunk);
    coro::task<> end_init(std::uint32_t request, replicate::protocol::init_end settings);
    coro::task<bool> lock_init();

    void fail(std::uint32_t request);

    context& shared_;
    engine_connection engine_;
    std::function<void(std::uint64_t)> on_join_;
    std::function<void()> on_init_;
    std::deque<replicate::protocol::envelope> requests_;
    signal news_;
    engine_error error_;  // of the last step that failed

    std::uint64_t folded_seen_ = 0;
    base::mono_ns folded_time_ = 0;  // when it was seen first; 0: never
    int fold_failures_ = 0;          // in a row
    base::mono_ns fold_time_ = 0;    // not before
    base::mono_ns idle_time_ = 0;    // when the connection was used last
    std::optional<replicate::protocol::identity> new_cluster_;
};

}  // namespace latchkey::replicate
