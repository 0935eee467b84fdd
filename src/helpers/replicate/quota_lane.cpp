// A transaction is two batches of a pipeline: the first locks and reads,
// `replicate::protocol::grant` computes in memory, the second writes the rows that differ and
// commits. Transient errors of the engine repeat it, up to four times. Buckets are locked in the
// order of their ids, so transactions do not deadlock.
#include "helpers/replicate/quota_lane.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/time_units.hpp"
#include "helpers/replicate/quota_statements.hpp"

namespace latchkey::replicate {
namespace {

// A node takes no later answer (cluster/quota_times.hpp).
constexpr base::mono_ns quota_answer_time = 500 * base::millisecond;
constexpr std::uint32_t quota_statement_ms = 500;
constexpr int quota_tries_max = 4;
constexpr base::mono_ns sweep_interval = 60 * base::second;
// Asks that are under way may be so much behind the latest clock.
constexpr std::int64_t sweep_margin = 60 * base::second;
constexpr replicate::protocol::boot_ns quota_clock_margin = base::second;

}  // namespace

quota_lane::quota_lane(context& shared) : shared_(shared), engine_(shared, quota_statement_ms) {}

void quota_lane::take(replicate::protocol::envelope request) {
    fail_all("given up");  // a node asks one thing at a time
    requests_.push_back(std::move(request));
    if (engine_.is_away() || shared_.stopped) fail_all(engine_.error());
    news_.set();
}

coro::task<> quota_lane::run() {
    while (!shared_.stopped) {
        // A node whose limits nobody asks for needs no connection; a lost one is made again.
        if (requests_.empty() && !engine_.is_open() && !engine_.is_away()) {
            co_await shared_.poller.until(
                {.news = &news_, .deadline = base::read_mono() + base::second});
            continue;
        }
        if (!engine_.is_open()) {
            bool const connected = co_await engine_.open();
            if (!connected) fail_all(engine_.error());
            continue;
        }
        co_await wait_for_work();
        while (!requests_.empty() && engine_.is_open()) {
            auto const request = std::move(requests_.front());
            requests_.pop_front();
            if (!shared_.cluster) {
                shared_.out.fail(replicate::protocol::failure::no_cluster, "", request.request);
                continue;
            }
            co_await serve(request.request,
                           std::get_if<replicate::protocol::quota_ask>(&request.content));
        }
        if (engine_.is_open()) co_await sweep();
    }
    fail_all(shared_.stop_reason.text);
}

coro::task<> quota_lane::wait_for_work() {
    if (!requests_.empty()) co_return;
    co_await shared_.poller.until({.descriptor = engine_->descriptor(),
                                   .events = POLLIN,
                                   .news = &news_,
                                   .deadline = base::read_mono() + base::second});
    if (!engine_->check_idle()) engine_->close();
}

void quota_lane::fail_all(std::string const& text) {
    for (auto const& each : std::exchange(requests_, {}))
        shared_.out.fail(replicate::protocol::failure::engine, text, each.request);
}

coro::task<> quota_lane::serve(std::uint32_t request, replicate::protocol::quota_ask const* ask) {
    for (int tries = 1; tries <= quota_tries_max; ++tries) {
        bool const settled = co_await try_ask(request, ask, tries == quota_tries_max);
        if (settled) co_return;
    }
}

coro::task<bool> quota_lane::try_ask(std::uint32_t request,
                                     replicate::protocol::quota_ask const* ask, bool last) {
    bool const exclusive = ask->presence == 0 || ask->share > share_ || has_dead_;
    auto const deadline = base::read_mono() + quota_answer_time;
    auto const statements = reading(*ask, exclusive);
    auto const replies = co_await engine_->run(&statements, deadline);
    auto const list = replicate::protocol::buckets_of(*ask);
    bool const whole = !replies.error && (list.empty() || replies.list[2].rows() == list.size());
    if (!whole) {
        bool const again = !last && (!replies.error || is_transient(*replies.error));
        if (!again)
            shared_.out.fail(replicate::protocol::failure::engine,
                             replies.error ? replies.error->text : "buckets went away", request);
        co_await roll_back();
        co_return !again;
    }
    replicate::protocol::quota_rows rows;
    if (!list.empty()) parse_buckets(replies.list[2], list, rows);
    parse_members(replies.list.back(), rows);
    auto const previous = rows;
    has_dead_ = false;
    auto question = *ask;
    // Without the lock of all members nothing is taken that others may take too.
    if (!exclusive) {
        auto const own = rows.members.find(shared_.settings.node);
        question.share = own == rows.members.end() ? 0 : std::min(ask->share, own->second.share);
    }
    auto const answer =
        replicate::protocol::grant(rows, question, shared_.settings.node, [&](auto const& member) {
            bool const alive = is_alive(member);
            has_dead_ = has_dead_ || !alive;
            return alive || !exclusive;
        });
    has_dead_ = has_dead_ && !exclusive;
    auto const changes = writing(rows, previous);
    auto const result = co_await engine_->run(&changes, deadline);
    if (result.error || result.warned) {
        bool const again = !last && result.error && is_transient(*result.error);
        if (!again)
            shared_.out.fail(replicate::protocol::failure::engine,
                             result.error ? result.error->text : "not confirmed", request);
        co_await roll_back();
        co_return !again;
    }
    share_ = answer.share;
    clock_ = answer.clock;
    shared_.out.send(answer, request);
    co_return true;
}

// After an error the transaction may still be open.
coro::task<> quota_lane::roll_back() {
    if (!engine_.is_open()) co_return;
    auto const replies =
        co_await engine_->run_one(statement("ROLLBACK"), base::read_mono() + quota_answer_time);
    if (replies.error) engine_->close();
}

batch quota_lane::reading(replicate::protocol::quota_ask const& ask, bool exclusive) const {
    batch statements;
    statements.emplace_back("BEGIN");
    auto const list = replicate::protocol::buckets_of(ask);
    if (!list.empty()) {
        statements.push_back(add_buckets(list));
        statements.push_back(lock_buckets(list));
    }
    if (exclusive) {
        statements.push_back(lock_members());
    } else {
        statements.push_back(lock_member(shared_.settings.node));
        statements.push_back(read_members());
    }
    return statements;
}

batch quota_lane::writing(replicate::protocol::quota_rows const& rows,
                          replicate::protocol::quota_rows const& previous) const {
    batch statements;
    std::vector<std::pair<replicate::protocol::quota_bucket, replicate::protocol::quota_level>>
        changes;
    for (auto const& each : rows.buckets)
        if (previous.buckets.at(each.first) != each.second) changes.push_back(each);
    if (!changes.empty()) statements.push_back(write_buckets(changes));
    for (auto const& [name, member] : previous.members)
        if (!rows.members.contains(name)) statements.push_back(remove_member(name));
    auto const own = rows.members.find(shared_.settings.node);
    if (own != rows.members.end()) {
        auto const line = previous.members.find(own->first);
        if (line == previous.members.end() || line->second != own->second)
            statements.push_back(write_member(own->second));
    }
    statements.emplace_back("COMMIT");
    return statements;
}

bool quota_lane::is_alive(replicate::protocol::quota_member const& member) {
    auto const now = read_boot_clock();
    auto& [line, time] = sightings_[member.name];
    if (line != member || time == 0) {
        line = member;
        time = now;
    }
    auto lease_ms = shared_.settings.lease_ms;
    if (auto const* const node = shared_.nodes.find(member.name)) {
        lease_ms = std::max(lease_ms, node->lease_ms);
        if (node->lease_end > now) return true;
    }
    return now - time <= lease_ms * base::millisecond + quota_clock_margin;
}

// One node does it for all.
coro::task<> quota_lane::sweep() {
    auto const now = base::read_mono();
    if (now < sweep_time_ || clock_ < sweep_margin) co_return;
    sweep_time_ = now + sweep_interval;
    if (!shared_.nodes.is_first(shared_.settings.instance, read_boot_clock())) co_return;
    auto const replies = co_await engine_->run_one(sweep_buckets(clock_ - sweep_margin),
                                                   base::read_mono() + quota_answer_time);
    if (replies.error && !replies.error->broken) co_await roll_back();
}

}  // namespace latchkey::replicate
