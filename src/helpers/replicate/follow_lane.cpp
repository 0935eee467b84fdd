// One coroutine sleeps until the earliest of several due times (rows, lease, position, nodes), or
// news, and takes the steps that are due in a fixed order: first it checks that the log is still
// the one it knows, since a renewal or a position counts for the log that the engine has. The pause
// between polls doubles while nothing comes.
#include "helpers/replicate/follow_lane.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/time_units.hpp"
#include "helpers/replicate/follow_times.hpp"
#include "helpers/replicate/queries.hpp"

namespace latchkey::replicate {

follow_lane::follow_lane(context& shared)
    : shared_(shared), engine_(shared, statement_ms), tail_interval_(tail_interval_max) {}

void follow_lane::take(replicate::protocol::envelope request) {
    if (auto const* tail = std::get_if<replicate::protocol::tail>(&request.content)) {
        tailing_ = shared_.unchecked = true;
        shared_.position = tail->position;
        shared_.nonce = tail->nonce;
        server_position_ = 0;
    } else if (auto const* applied = std::get_if<replicate::protocol::applied>(&request.content)) {
        applied_ = std::max(applied_, applied->position);
        applied_urgent_ = applied_urgent_ || applied->urgent;
    } else if (auto const* watch = std::get_if<replicate::protocol::watch>(&request.content)) {
        watched_ = watch->position == 0 ? 0 : std::max(watched_, watch->position);
        confirmation_.reset();
        watch_start_ = base::read_mono();
        nodes_time_ = 0;
    } else if (auto const* leave = std::get_if<replicate::protocol::leave>(&request.content)) {
        departures_.push_back({.request = request.request, .node = leave->node});
        nodes_time_ = 0;
    } else if (std::holds_alternative<replicate::protocol::begin_lease>(request.content)) {
        lease_ = lease_state::holding;
        lease_time_ = 0;
    } else {
        status_requests_.push_back(request.request);
    }
    if (std::holds_alternative<replicate::protocol::tail>(request.content)) tail_time_ = 0;
    if (shared_.stopped) refuse_all(shared_.stop_reason.reason, shared_.stop_reason.text);
    shared_.follow_news.set();
}

void follow_lane::join(std::uint64_t position) {
    if (shared_.settings.lease_ms == 0 || lease_ != lease_state::none) return;
    lease_ = lease_state::joining;
    applied_ = position;
    lease_time_ = 0;
    shared_.follow_news.set();
}

void follow_lane::look_again() {
    shared_.follow_news.set();
}

coro::task<> follow_lane::run() {
    while (!shared_.stopped) {
        bool const connected = co_await engine_.open();
        if (!connected) {
            shared_.report(shared_.follow_connected, false, engine_.error());
            refuse_all(replicate::protocol::failure::engine, engine_.error());
            continue;
        }
        co_await follow();
        engine_->close();
        if (shared_.stopped) break;
        if (!doubt_time_)
            shared_.report(shared_.follow_connected, false, engine_.host() + ": connection lost");
        // An engine that answers with errors is not asked again and again.
        if (base::read_mono() - connection_time_ < base::second)
            co_await shared_.poller.sleep(base::second / 2);
    }
    refuse_all(shared_.stop_reason.reason, shared_.stop_reason.text);
}

// As long as the connection lasts.
coro::task<> follow_lane::follow() {
    connection_time_ = base::read_mono();
    renewal_.reset();  // whether the last renewal was done is not known
    server_position_ = 0;
    bool going = co_await greet();
    if (going) shared_.report(shared_.follow_connected, true, engine_.host());
    while (going) {
        auto const cause = co_await shared_.poller.until({.descriptor = engine_->descriptor(),
                                                          .events = POLLIN,
                                                          .news = &shared_.follow_news,
                                                          .deadline = next_step()});
        if (cause == wake_cause::news) tail_time_ = 0;
        if (cause == wake_cause::ready) going = engine_->check_idle().has_value();
        if (going) going = co_await take_steps();
    }
}

base::mono_ns follow_lane::next_step() const {
    if (!shared_.cluster) return nodes_time_;
    auto next = nodes_time_;
    if (tailing_) next = std::min(next, tail_time_);
    if (lease_ == lease_state::joining || lease_ == lease_state::holding)
        next = std::min(next, lease_time_);
    if (shown_position() != applied_told_) next = std::min(next, applied_time_);
    return next;
}

// The position that others may rely on: the rows that the node has applied, as far as this helper
// knows that the server's log has them. An engine may have failed over without later ones, or the
// append_lane may still be connected to the server that was the primary before.
std::uint64_t follow_lane::shown_position() const {
    return tailing_ ? std::min(applied_, server_position_) : applied_;
}

coro::task<bool> follow_lane::take_steps() {
    if (!shared_.cluster) {
        nodes_time_ = base::read_mono() + nodes_interval;
        bool const reached = co_await greet();
        if (reached && !shared_.cluster)
            refuse_all(replicate::protocol::failure::no_cluster, complaint_);
        co_return reached;
    }
    auto const now = base::read_mono();
    bool const renewing = lease_ == lease_state::joining || lease_ == lease_state::holding;
    bool const is_renewal = renewing && now >= lease_time_;
    // First: what is renewed and reported below counts for the log that the engine has.
    bool going = true;
    if (shared_.unchecked) going = co_await check_position(false);
    if (going && tailing_ && (is_renewal || now >= tail_time_)) going = co_await poll_rows();
    if (going && is_renewal) going = co_await renew();
    if (going && shown_position() != applied_told_ && (applied_urgent_ || now >= applied_time_))
        going = co_await write_position();
    if (going && now >= nodes_time_) going = co_await poll_nodes();
    while (going && !status_requests_.empty()) {
        auto const request = status_requests_.back();
        status_requests_.pop_back();
        going = co_await report_status(request);
    }
    co_return going;
}

// Questions about the cluster as it is now do not wait for an engine that is away.
void follow_lane::refuse_all(replicate::protocol::failure reason, std::string const& text) {
    for (auto const request : std::exchange(status_requests_, {}))
        shared_.out.fail(reason, text, request);
    for (auto const& each : std::exchange(departures_, {}))
        shared_.out.fail(reason, text, each.request);
}

// False: the connection is of no use any more. An error of the engine itself is told.
bool follow_lane::keep(engine_error const& error) {
    if (error.broken || error.text == engine_error_) return false;
    engine_error_ = error.text;
    shared_.out.fail(error.state == "42501" ? replicate::protocol::failure::not_permitted
                                            : replicate::protocol::failure::engine,
                     error.text);
    return false;
}

coro::task<bool> follow_lane::poll_rows() {
    if (shared_.out.is_full()) {
        tail_time_ = base::read_mono() + tail_interval_max;
        co_return true;
    }
    auto const position = shared_.position;
    auto const nonce = shared_.nonce;
    auto page = co_await read_tail(&engine_.connection(), position, step_deadline());
    if (!page) co_return false;
    // Meanwhile this node may have asked for rows from elsewhere.
    if (shared_.unchecked || position > shared_.position) {
        tail_time_ = 0;
        co_return true;
    }
    auto& rows = page->rows;
    bool const is_lost = page->nonces.rows() == 0 && rows.empty();
    bool const is_gap = !rows.empty() && rows.front().position != position + 1;
    if (is_lost || is_gap || is_other_row(page->nonces, nonce)) {
        tail_time_ = base::read_mono() + tail_interval_;
        bool const whole = co_await check_position(is_gap);
        co_return whole;
    }
    server_position_ = position;
    // Or appended.
    if (position != shared_.position) {
        tail_time_ = 0;
        co_return true;
    }
    if (rows.empty()) {
        tail_interval_ = std::min(2 * tail_interval_, tail_interval_max);
        tail_time_ = base::read_mono() + tail_interval_;
        co_return true;
    }
    tail_interval_ = tail_interval_min;
    tail_time_ = base::read_mono() + tail_interval_;
    server_position_ = rows.back().position;
    shared_.advance(rows.back().position, rows.back().nonce);
    shared_.out.send(replicate::protocol::rows{std::move(rows)});
    co_return true;
}

coro::task<bool> follow_lane::poll_nodes() {
    // Lines that were read before a position was watched say nothing of it: a lease may have begun
    // in between.
    auto const watched = watched_;
    auto const lines = co_await engine_->run_one(read_nodes(), step_deadline());
    if (lines.error) co_return keep(*lines.error);
    shared_.nodes.observe(parse_nodes(lines.list[0]), read_boot_clock());
    if (watched != 0 && watched == watched_) tell_confirmation();
    auto const now = base::read_mono();
    if (now >= nodes_told_ + nodes_interval) {
        nodes_told_ = now;
        shared_.out.send(replicate::protocol::nodes{shared_.nodes.list(read_boot_clock())});
    }
    auto interval = nodes_interval;
    if (watched_ != 0)
        interval = now - watch_start_ < watch_time ? watch_interval : late_watch_interval;
    nodes_time_ = now + interval;
    bool going = true;
    for (auto& each : departures_)
        if (going) going = co_await depart(&each);
    std::erase_if(departures_, [](departure const& each) { return each.node.empty(); });
    co_return going;
}

void follow_lane::tell_confirmation() {
    auto const now =
        shared_.nodes.confirmation(watched_, shared_.settings.instance, read_boot_clock());
    if (confirmation_ != now) shared_.out.send(now);
    confirmation_ = now;
    if (now.position == watched_) watched_ = 0;
}

coro::task<bool> follow_lane::write_position() {
    auto const position = shown_position();
    applied_urgent_ = applied_urgent_ && position != applied_;
    applied_time_ = base::read_mono() + position_interval;
    if (lease_ == lease_state::joining || lease_ == lease_state::holding) {
        statement update(
            "UPDATE latchkey_node SET position = $1 WHERE name = $2 AND instance = $3");
        update.number(position).text(shared_.settings.node).bytes(view(shared_.settings.instance));
        auto const replies = co_await engine_->run_one(std::move(update), step_deadline());
        if (replies.error) {
            applied_urgent_ = true;
            co_return keep(*replies.error);
        }
    }
    applied_told_ = position;
    co_return true;
}

}  // namespace latchkey::replicate
