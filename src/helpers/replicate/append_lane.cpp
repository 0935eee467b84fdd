// One coroutine takes requests off a queue and runs each to its end. An append is an INSERT whose
// number of changed rows says whether it was won. A reservation is a transaction that holds the
// lock of the cluster's line from SELECT … FOR UPDATE to the append that commits it; it is released
// after a second, since nobody else appends meanwhile.
#include "helpers/replicate/append_lane.hpp"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "helpers/replicate/queries.hpp"

namespace latchkey::replicate {
namespace {

using replicate::protocol::append_result;

// The engine ends a statement before the helper gives up on it, so that most ends are known.
constexpr std::uint32_t append_statement_ms = 4000;
constexpr base::mono_ns append_answer_time = 5 * base::second;
constexpr base::mono_ns reservation_time = base::second;
constexpr int append_tries_max = 5;
// A node further behind has to catch up first: nobody else appends meanwhile.
constexpr std::uint64_t reserved_rows_max = 1000;

base::mono_ns answer_deadline() {
    return base::read_mono() + append_answer_time;
}

}  // namespace

append_lane::append_lane(context& shared) : shared_(shared), engine_(shared, append_statement_ms) {}

void append_lane::take(replicate::protocol::envelope request) {
    requests_.push_back(std::move(request));
    if (engine_.is_away() || shared_.stopped) refuse_all();
    news_.set();
}

coro::task<> append_lane::run() {
    while (!shared_.stopped) {
        if (!engine_.is_open()) {
            reserved_ = false;
            bool const connected = co_await engine_.open();
            if (!connected) {
                shared_.report(shared_.append_connected, false, engine_.error());
                refuse_all();
                continue;
            }
            shared_.report(shared_.append_connected, true, engine_.host());
        }
        co_await wait_for_work();
        // A connection that has ended meanwhile is noticed before an append is sent into it: its
        // outcome would not be known.
        while (!requests_.empty() && engine_->check_idle()) {
            auto request = std::move(requests_.front());
            requests_.pop_front();
            co_await serve(std::move(request));
        }
        if (!engine_.is_open())
            shared_.report(shared_.append_connected, false, engine_.host() + ": connection lost");
    }
    co_await release();
    refuse_all();
}

coro::task<> append_lane::wait_for_work() {
    if (!requests_.empty()) co_return;
    auto const cause =
        co_await shared_.poller.until({.descriptor = engine_->descriptor(),
                                       .events = POLLIN,
                                       .news = &news_,
                                       .deadline = reserved_ ? reservation_end_ : never});
    if (cause == wake_cause::ready) (void)engine_->check_idle();
    if (cause == wake_cause::late) co_await release();
}

// While the engine is away: nothing of these was sent to it.
void append_lane::refuse_all() {
    for (auto const& each : std::exchange(requests_, {})) {
        if (auto const* append = std::get_if<replicate::protocol::append>(&each.content))
            answer_append(each.request, append_result::unavailable, append->row);
        else if (auto const* question = std::get_if<replicate::protocol::resolve>(&each.content))
            shared_.out.send(
                replicate::protocol::appended{append_result::unknown, question->position},
                each.request);
        else if (std::holds_alternative<replicate::protocol::reserve>(each.content))
            shared_.out.send(replicate::protocol::reserved{}, each.request);
    }
}

coro::task<> append_lane::serve(replicate::protocol::envelope request) {
    if (auto const* append = std::get_if<replicate::protocol::append>(&request.content))
        co_await this->append(request.request, append);
    else if (auto const* question = std::get_if<replicate::protocol::resolve>(&request.content))
        co_await resolve(request.request, *question);
    else if (auto const* reserve = std::get_if<replicate::protocol::reserve>(&request.content))
        co_await this->reserve(request.request, *reserve);
    else
        co_await release();
}

void append_lane::answer_append(std::uint32_t request, append_result result,
                                replicate::protocol::log_row const& row) {
    if (result == append_result::won) shared_.advance(row.position, row.nonce);
    if (result == append_result::lost) shared_.follow_news.set();
    shared_.out.send(replicate::protocol::appended{result, row.position}, request);
}

append_place append_lane::place_after(replicate::protocol::identity const& previous) const {
    append_place place{.cluster = *shared_.cluster, .node = shared_.settings.node};
    if (is_known(previous)) place.previous = previous;
    return place;
}

coro::task<> append_lane::append(std::uint32_t request,
                                 replicate::protocol::append const* content) {
    auto result = append_result::unavailable;
    if (shared_.cluster) result = co_await try_append(content);
    answer_append(request, result, content->row);
}

coro::task<append_result> append_lane::try_append(replicate::protocol::append const* content) {
    for (int tries = 1;; ++tries) {
        batch statements;
        statements.push_back(append_row(content->row, place_after(content->row.previous)));
        if (reserved_) statements.emplace_back("COMMIT");
        auto const replies = co_await engine_->run(&statements, answer_deadline());
        if (!replies.error) {
            reserved_ = false;
            if (replies.warned) co_return append_result::unknown;
            co_return replies.list[0].changes() == 1 ? append_result::won : append_result::lost;
        }
        base::log(base::severity::warning, "an append failed: " + replies.error->text);
        if (!is_certain(*replies.error)) {
            engine_->close();
            co_return append_result::unknown;
        }
        co_await release();
        // Where the engine's transactions are stricter than asked for, one that waited for the head
        // may not see the rows that came meanwhile: one that begins now does.
        if (!is_transient(*replies.error) || tries == append_tries_max)
            co_return append_result::unavailable;
    }
}

coro::task<> append_lane::resolve(std::uint32_t request, replicate::protocol::resolve question) {
    auto result = append_result::unknown;
    if (shared_.cluster) {
        co_await release();
        batch statements;
        replicate::protocol::log_row empty{.position = question.position,
                                           .schema = question.schema};
        std::ranges::transform(question.nonce, empty.nonce.begin(), std::bit_not{});
        statements.push_back(append_row(empty, place_after(question.previous)));
        statements.back().apart();
        statements.push_back(read_nonce(question.position));
        auto const replies = co_await engine_->run(&statements, answer_deadline());
        if (replies.error && !is_certain(*replies.error)) engine_->close();
        if (!replies.error && !replies.warned && replies.list[1].rows() == 1) {
            bool const there = replies.list[1].bytes(0, 0) == view(question.nonce);
            result = there ? append_result::won : append_result::lost;
        }
    }
    answer_append(request, result, {.position = question.position, .nonce = question.nonce});
}

coro::task<> append_lane::reserve(std::uint32_t request, replicate::protocol::reserve place) {
    auto const position = place.position;
    replicate::protocol::reserved answer;
    if (shared_.cluster) {
        co_await release();
        batch statements;
        statements.emplace_back("BEGIN");
        statements.push_back(std::move(
            statement("SELECT id FROM latchkey_cluster WHERE id = 1 AND cluster = $1 FOR UPDATE")
                .bytes(view(*shared_.cluster))));
        statements.push_back(read_head());
        statements.push_back(read_nonce(position));
        statements.push_back(read_page(position));
        auto const replies = co_await engine_->run(&statements, answer_deadline());
        if (!replies.error) {
            reserved_ = true;
            answer.head = replies.list[2].number(0, 0);
            bool const other = is_other_row(replies.list[3], place.nonce);
            if (other) {
                shared_.unchecked = true;
                shared_.follow_news.set();
            }
            answer.granted = !other && replies.list[1].rows() == 1 && answer.head >= position &&
                             answer.head - position <= reserved_rows_max;
            if (answer.granted)
                answer.granted =
                    co_await send_rows(position, answer.head, parse_page(replies.list[4]));
        } else if (!replies.error->broken) {
            reserved_ = true;  // a transaction that failed has to be ended too
        }
        if (!answer.granted) co_await release();
        reservation_end_ = base::read_mono() + reservation_time;
    }
    shared_.out.send(answer, request);
}

// The rows after `position`, of which the first ones have been read. False: not all of the others
// could be.
coro::task<bool> append_lane::send_rows(std::uint64_t position, std::uint64_t head,
                                        std::vector<replicate::protocol::log_row> first) {
    for (rows_result rows(std::move(first)); position < head;) {
        if (rows->empty())
            rows = co_await read_rows(&engine_.connection(), position, answer_deadline());
        if (!rows || rows->empty() || rows->front().position != position + 1) co_return false;
        position = rows->back().position;
        if (shared_.position < position) shared_.advance(position, rows->back().nonce);
        shared_.out.send(replicate::protocol::rows{std::exchange(*rows, {})});
    }
    co_return true;
}

// Ends a reservation; without one nothing.
coro::task<> append_lane::release() {
    if (!std::exchange(reserved_, false) || !engine_.is_open()) co_return;
    auto const replies = co_await engine_->run_one(statement("ROLLBACK"), answer_deadline());
    if (replies.error) engine_->close();
}

}  // namespace latchkey::replicate
