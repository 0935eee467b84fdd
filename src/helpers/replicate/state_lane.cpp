// The state is read in one REPEATABLE READ transaction, a page of keys at a time, row by row into
// chunks; it waits while the service takes no more. Folding is due after many rows or some time,
// for the first living node, and for any node once that one has been silent too long.
#include "helpers/replicate/state_lane.hpp"

#include <algorithm>
#include <utility>

#include "base/time_units.hpp"
#include "helpers/replicate/queries.hpp"
#include "helpers/replicate/state_times.hpp"

namespace latchkey::replicate {

using replicate::protocol::failure;

state_lane::state_lane(context& shared, std::function<void(std::uint64_t)> on_join,
                       std::function<void()> on_init)
    : shared_(shared),
      engine_(shared, long_statement_ms),
      on_join_(std::move(on_join)),
      on_init_(std::move(on_init)) {}

void state_lane::take(replicate::protocol::envelope request) {
    if (requests_.size() > replicate::protocol::chunks_unanswered_max) {
        shared_.out.fail(failure::protocol, "more requests than may wait", request.request);
        return;
    }
    requests_.push_back(std::move(request));
    if (shared_.stopped) refuse_all(shared_.stop_reason.reason, shared_.stop_reason.text);
    news_.set();
}

void state_lane::refuse_all(failure reason, std::string const& text) {
    for (auto const& each : std::exchange(requests_, {}))
        shared_.out.fail(reason, text, each.request);
}

coro::task<> state_lane::run() {
    while (!shared_.stopped) {
        if (requests_.empty())
            co_await shared_.poller.until(
                {.news = &news_, .deadline = base::read_mono() + base::second});
        bool const folding = is_fold_due();
        if (requests_.empty() && !folding) {
            if (base::read_mono() - idle_time_ > idle_time_max) engine_->close();
            continue;
        }
        // One that has ended while it was idle is no failure of what comes next.
        if (!engine_->check_idle()) {
            bool const connected = co_await engine_.open();
            if (!connected) {
                refuse_all(failure::engine, engine_.error());
                continue;
            }
        }
        if (folding) {
            bool const complete = co_await fold_all();
            if (complete) co_await remove_rows();
        }
        while (!requests_.empty() && engine_.is_open()) {
            auto request = std::move(requests_.front());
            requests_.pop_front();
            co_await serve(std::move(request));
        }
        idle_time_ = base::read_mono();
    }
    refuse_all(shared_.stop_reason.reason, shared_.stop_reason.text);
}

coro::task<> state_lane::serve(replicate::protocol::envelope request) {
    if (auto const* reading = std::get_if<replicate::protocol::read_state>(&request.content))
        co_await read_state(request.request, reading->fold);
    else if (auto const* begin = std::get_if<replicate::protocol::init_begin>(&request.content))
        co_await begin_init(request.request, *begin);
    else if (auto const* chunk = std::get_if<replicate::protocol::state_chunk>(&request.content))
        co_await take_chunk(request.request, chunk);
    else if (auto const* end = std::get_if<replicate::protocol::init_end>(&request.content))
        co_await end_init(request.request, *end);
}

void state_lane::fail(std::uint32_t request) {
    auto const reason = error_.state == "42501" ? failure::not_permitted : failure::engine;
    shared_.out.fail(reason, error_.text, request);
}

// False: `error_` says why; the connection is closed or the transaction undone.
// In a transaction that has begun, in parts of which each is answered before the next one is sent.
coro::task<bool> state_lane::run_batch(batch statements) {
    for (auto each = statements.begin(); each != statements.end();) {
        batch part;
        std::size_t bytes = 0;
        do {
            bytes += each->wire_bytes();
            part.push_back(std::move(*each++));
        } while (each != statements.end() && bytes + each->wire_bytes() <= in_flight_bytes_max);
        auto const replies = co_await engine_->run(&part, long_deadline());
        if (!replies.error) continue;
        error_ = *replies.error;
        co_return false;
    }
    co_return true;
}

bool state_lane::is_fold_due() {
    if (!shared_.cluster || shared_.settings.lease_ms == 0) return false;
    auto const now = base::read_mono();
    if (now < fold_time_) return false;
    if (folded_time_ == 0 || shared_.folded != folded_seen_) {
        folded_seen_ = shared_.folded;
        folded_time_ = now;
    }
    if (shared_.head <= shared_.folded) {
        folded_time_ = now;
        return false;
    }
    auto const rows = shared_.head - shared_.folded;
    auto const age = now - folded_time_;
    if (rows > unfolded_rows_max || age > fold_interval)
        return age > fold_patience ||
               shared_.nodes.is_first(shared_.settings.instance, read_boot_clock());
    return false;
}

// ---- a state that is read ----

coro::task<> state_lane::read_state(std::uint32_t request, bool fold) {
    if (!shared_.cluster) {
        shared_.out.fail(failure::no_cluster, "there is no cluster whose state could be read",
                         request);
        co_return;
    }
    bool const folded = !fold || co_await fold_all();
    if (!folded && !engine_.is_open()) {
        fail(request);
        co_return;
    }
    replicate::protocol::state_begin begin;
    std::uint64_t count = 0;
    bool going = co_await begin_reading(&begin);
    if (going) {
        on_join_(begin.position);
        shared_.out.send(begin, request);
    }
    for (std::uint8_t table = 0; going && table < tables_max; ++table)
        going = co_await send_table(request, table, &count);
    if (going) {
        auto const commit = co_await engine_->run_one(statement("COMMIT"), long_deadline());
        shared_.out.send(replicate::protocol::state_end{.records = count}, request);
    } else {
        engine_->close();
        fail(request);
    }
}

coro::task<bool> state_lane::begin_reading(replicate::protocol::state_begin* begin) {
    batch statements;
    statements.emplace_back("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    statements.push_back(read_fold());
    statements.push_back(read_bounds());
    statements.push_back(
        statement("SELECT nonce FROM latchkey_log WHERE shard = 0 AND position = (SELECT folded "
                  "FROM latchkey_fold WHERE id = 1)"));
    auto const replies = co_await engine_->run(&statements, long_deadline());
    if (replies.error) {
        error_ = *replies.error;
        co_return false;
    }
    begin->position = replies.list[1].number(0, 0);
    begin->schema = static_cast<std::uint32_t>(replies.list[1].number(0, 1));
    begin->head = replies.list[2].number(0, 1);
    if (replies.list[3].rows() == 1) begin->nonce = identity_of(replies.list[3].bytes(0, 0));
    co_return true;
}

// Pages by key, so that every engine walks its index; rows come one by one into chunks.
coro::task<bool> state_lane::send_table(std::uint32_t request, std::uint8_t table,
                                        std::uint64_t* count) {
    std::string last;
    for (bool more = true; more;) {
        statement page(
            "SELECT key, value FROM latchkey_record WHERE part = $1 AND key > $2 ORDER BY key "
            "LIMIT 20000");
        page.small(table).bytes(last).once();
        engine_->begin_stream(page);
        more = false;
        replicate::protocol::state_chunk chunk;
        std::size_t bytes = 0;
        for (;;) {
            auto const row = co_await engine_->next_row(long_deadline());
            if (row) {
                auto& record = chunk.records.emplace_back();
                record.table = table;
                record.key = last = row->bytes(0, 0);
                record.value = row->bytes(0, 1);
                bytes += record.key.size() + record.value.size() + record_overhead_bytes;
                ++*count;
                more = true;
            }
            if (bytes >= replicate::protocol::chunk_bytes_max || (!row && bytes != 0)) {
                shared_.out.send(std::exchange(chunk, {}), request);
                bytes = 0;
            }
            if (!row) break;
            while (shared_.out.is_full()) co_await shared_.poller.sleep(2 * base::millisecond);
        }
        if (engine_->stream_error()) {
            error_ = *engine_->stream_error();
            co_return false;
        }
    }
    co_return true;
}

}  // namespace latchkey::replicate
