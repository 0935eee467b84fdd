// The state_lane's fold: rows of the log become changes of latchkey_record.
#include <algorithm>

#include "helpers/replicate/queries.hpp"
#include "helpers/replicate/record_statements.hpp"
#include "helpers/replicate/state_lane.hpp"
#include "helpers/replicate/state_times.hpp"

namespace latchkey::replicate {
namespace {

std::string const removal_failed = "folded rows of the cluster's log could not be removed: ";

}  // namespace

// Until nothing is left that was there when it began, or somebody else folds.
coro::task<bool> state_lane::fold_all() {
    error_ = {.text = "it does not end"};
    for (int rounds = 0; rounds < 100'000; ++rounds) {
        auto const result = co_await fold_some();
        if (result == outcome::again) continue;
        report_fold(result == outcome::ended);
        if (result == outcome::ended) co_return true;
        if (engine_.is_open()) {
            auto const undone = co_await engine_->run_one(statement("ROLLBACK"), long_deadline());
            if (undone.error) engine_->close();
        }
        co_return false;
    }
    report_fold(false);
    co_return false;
}

// The error of the step that failed first; what follows it tells no more than that there was one.
void state_lane::report_fold(bool complete) {
    if (complete) {
        fold_failures_ = 0;
        fold_time_ = 0;
        return;
    }
    auto const pause = std::min(fold_pause_min << std::min(fold_failures_++, 10), fold_pause_max);
    fold_time_ = base::read_mono() + pause;
    shared_.out.fail(replicate::protocol::failure::engine,
                     "the cluster's log could not be folded into its state: " + error_.text);
}

coro::task<state_lane::outcome> state_lane::fold_some() {
    // The line of latchkey_fold is locked by its update: a second one who folds waits here.
    batch begin;
    begin.emplace_back("BEGIN");
    begin.emplace_back("SELECT folded, schema FROM latchkey_fold WHERE id = 1 FOR UPDATE");
    auto const replies = co_await engine_->run(&begin, long_deadline());
    if (replies.error || replies.list[1].rows() != 1) {
        error_ = replies.error ? *replies.error : engine_error{.text = "latchkey_fold is empty"};
        co_return outcome::lost;
    }
    auto const folded = replies.list[1].number(0, 0);
    auto schema = static_cast<std::uint32_t>(replies.list[1].number(0, 1));

    std::vector<replicate::protocol::log_row> list;
    std::size_t bytes = 0;
    auto position = folded;
    while (bytes < fold_bytes_max) {
        auto page = co_await read_rows(&engine_.connection(), position, long_deadline());
        if (page && page->empty()) break;
        if (!page || page->front().position != position + 1) {
            error_ = {.text = "row " + std::to_string(position + 1) + " of the log " +
                              (page ? "is missing" : "could not be read")};
            co_return outcome::lost;
        }
        position = page->back().position;
        for (auto& each : *page) {
            bytes += each.effects.size();
            schema = std::max(schema, each.schema);
            list.push_back(std::move(each));
        }
        if (position >= shared_.head) break;
    }
    bool going = co_await write_rows(&list);
    if (!going) co_return outcome::lost;
    batch end;
    end.push_back(
        std::move(statement("UPDATE latchkey_fold SET folded = $1, schema = $2 WHERE id = 1")
                      .number(position)
                      .small(schema)));
    end.emplace_back("COMMIT");
    going = co_await run_batch(std::move(end));
    if (!going) co_return outcome::lost;
    shared_.folded = std::max(shared_.folded, position);
    co_return position < shared_.head&& position != folded ? outcome::again : outcome::ended;
}

coro::task<bool> state_lane::write_rows(std::vector<replicate::protocol::log_row> const* rows) {
    state_changes changes;
    for (auto const& row : *rows) {
        std::string_view rest = row.effects;
        while (!rest.empty()) {
            auto const range = changes.add(rest);
            if (!range) {
                error_ = {.text =
                              "row " + std::to_string(row.position) + ": " + range.error().message};
                co_return false;
            }
            if (!*range) break;
            bool going = co_await write_changes(&changes);
            if (going) going = co_await erase(&**range);
            if (!going) co_return false;
            changes.clear();
        }
    }
    bool const going = co_await write_changes(&changes);
    co_return going;
}

coro::task<bool> state_lane::write_changes(state_changes const* changes) {
    record_statements statements;
    for (auto const& [key, value] : changes->records()) {
        if (value)
            statements.put(key.first, key.second, *value);
        else
            statements.erase(key.first, key.second);
    }
    bool const going = co_await run_batch(statements.finish());
    co_return going;
}

coro::task<bool> state_lane::write_records(
    std::vector<replicate::protocol::state_record> const* records) {
    record_statements statements;
    for (auto const& each : *records) statements.put(each.table, each.key, each.value);
    bool const going = co_await run_batch(statements.finish());
    co_return going;
}

coro::task<bool> state_lane::erase(range_erasure const* range) {
    batch statements;
    statements.push_back(std::move(
        statement("DELETE FROM latchkey_record WHERE part = $1 AND key IN (SELECT key FROM "
                  "latchkey_record WHERE part = $1 AND key >= $2 AND key < $3 ORDER BY key "
                  "LIMIT $4)")
            .small(range->table)
            .bytes(range->begin)
            .bytes(range->end)
            .number(range->count)));
    bool const going = co_await run_batch(std::move(statements));
    co_return going;
}

// The row at the bound stays: the next one is appended after a row that is there.
coro::task<> state_lane::remove_rows() {
    if (shared_.head <= spare_rows) co_return;
    auto const limit = std::min(shared_.folded, shared_.head - spare_rows);
    auto const bound = shared_.nodes.lowest_position(limit, read_boot_clock());
    auto const replies = co_await engine_->run_one(read_bounds(), long_deadline());
    if (replies.error) {
        shared_.out.fail(replicate::protocol::failure::engine,
                         removal_failed + replies.error->text);
        co_return;
    }
    for (auto first = replies.list[0].number(0, 0); first < bound;) {
        first = std::min(first + rows_per_removal, bound);
        statement removal("DELETE FROM latchkey_log WHERE shard = 0 AND position < $1");
        removal.number(first);
        auto const removed = co_await engine_->run_one(std::move(removal), long_deadline());
        if (!removed.error) continue;
        shared_.out.fail(replicate::protocol::failure::engine,
                         removal_failed + removed.error->text);
        co_return;
    }
}

}  // namespace latchkey::replicate
