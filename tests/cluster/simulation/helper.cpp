#include "helper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace latchkey::simulation {
namespace {

using base::millisecond;
using base::second;
using replicate::protocol::append_result;

constexpr int renewals_per_lease = 6;

}  // namespace

helper::helper(engine& engine, dice& dice, machine const& machine, kit::channel& channel,
               std::uint64_t session)
    : engine_(engine), dice_(dice), machine_(machine), channel_(channel), session_(session) {
    send(replicate::protocol::hello{replicate::protocol::protocol_version, session});
}

void helper::turn() {
    on_machine const here(machine_);
    receive();
    deliver();
    if (!is_configured_) return;
    if (!is_stopped_) connect();
    if (!is_stopped_) serve_appends();
    if (!is_stopped_) follow();
    if (is_stopped_) refuse_all();
    deliver();
}

void helper::receive() {
    for (;;) {
        auto bytes = channel_.receive();
        if (!bytes || !*bytes) return;
        auto parcel = replicate::protocol::decode(**bytes);
        ASSERT_TRUE(parcel.has_value());
        take(std::move(*parcel));
    }
}

// Messages keep their order.
void helper::send(replicate::protocol::message content, std::uint32_t request) {
    auto time = machine_.boot();
    if (dice_.fails(300)) time += static_cast<std::int64_t>(dice_.below(50)) * millisecond;
    if (dice_.fails(20)) time += static_cast<std::int64_t>(dice_.below(3000)) * millisecond;
    if (!outbox_.empty()) time = std::max(time, outbox_.back().first);
    outbox_.emplace_back(time, replicate::protocol::encode({request, std::move(content)}));
}

void helper::deliver() {
    for (; !outbox_.empty() && outbox_.front().first <= machine_.boot(); outbox_.pop_front())
        channel_.queue(std::move(outbox_.front().second));
    (void)channel_.flush();
}

void helper::take(replicate::protocol::envelope parcel) {
    auto const& content = parcel.content;
    if (auto const* settings = std::get_if<replicate::protocol::configure>(&content)) {
        is_configured_ = settings->session == session_;
        settings_ = *settings;
    } else if (!is_configured_) {
        return;  // meant for the helper before
    } else if (std::holds_alternative<replicate::protocol::append>(content) ||
               std::holds_alternative<replicate::protocol::resolve>(content) ||
               std::holds_alternative<replicate::protocol::reserve>(content) ||
               std::holds_alternative<replicate::protocol::release>(content)) {
        requests_.push_back(std::move(parcel));
    } else if (auto const* ask = std::get_if<replicate::protocol::quota_ask>(&content)) {
        answer_ask(parcel.request, *ask);
    } else {
        take_follow(parcel);
    }
}

void helper::take_follow(replicate::protocol::envelope const& parcel) {
    auto const& content = parcel.content;
    if (auto const* tail = std::get_if<replicate::protocol::tail>(&content)) {
        tails_ = is_unchecked_ = true;
        position_ = tail->position;
        nonce_ = tail->nonce;
    } else if (auto const* applied = std::get_if<replicate::protocol::applied>(&content)) {
        applied_ = std::max(applied_, applied->position);
        is_urgent_ |= applied->urgent;
    } else if (auto const* watch = std::get_if<replicate::protocol::watch>(&content)) {
        watched_ = std::max(watched_, watch->position);
        nodes_time_ = 0;
    } else if (std::holds_alternative<replicate::protocol::begin_lease>(content)) {
        lease_ = lease_state::holding;
        lease_time_ = 0;
    } else if (std::holds_alternative<replicate::protocol::leave>(content)) {
        departure_ = parcel.request;
    } else {
        ADD_FAILURE() << "a message that no node of a simulation sends";
    }
}

void helper::stop_for_lost_rows() {
    if (std::exchange(is_stopped_, true)) return;
    send(replicate::protocol::failed{replicate::protocol::failure::rows_lost, true,
                                     replicate::protocol::rows_lost_text});
}

// Two connections, each of which comes and goes for itself.
void helper::connect() {
    bool const is_reached = !engine_.is_away() && !is_cut_;
    if (!is_reached || follow_term_ != engine_.term()) follow_term_ = 0;
    if (!is_reached || append_term_ != engine_.term()) append_term_ = 0;
    if (append_term_ == 0) engine_.release(this);
    if (follow_term_ == 0) stage_ = stage::none;
    report_connection();
    if (!is_reached) return refuse_all();
    if (append_term_ == 0 && dice_.proceeds(500)) append_term_ = engine_.term();
    if (follow_term_ == 0 && dice_.proceeds(500)) greet();
    report_connection();
}

void helper::report_connection() {
    bool const is_connected = append_term_ != 0 && follow_term_ != 0;
    if (told_connected_ == is_connected || is_stopped_) return;
    told_connected_ = is_connected;
    send(replicate::protocol::engine{is_connected, is_connected ? "reached" : "away"});
}

void helper::refuse_all() {
    for (auto const& [request, content] : std::exchange(requests_, {})) {
        if (auto const* append = std::get_if<replicate::protocol::append>(&content))
            send(replicate::protocol::appended{append_result::unavailable, append->row.position},
                 request);
        else if (auto const* question = std::get_if<replicate::protocol::resolve>(&content))
            send(replicate::protocol::appended{append_result::unknown, question->position},
                 request);
        else if (std::holds_alternative<replicate::protocol::reserve>(content))
            send(replicate::protocol::reserved{}, request);
    }
}

// ---- appends

void helper::serve_appends() {
    while (!requests_.empty() && append_term_ != 0 && !is_stopped_ && dice_.proceeds(700)) {
        if (engine_.is_reserved_by_other(this)) return;
        auto const parcel = std::move(requests_.front());
        requests_.pop_front();
        serve(parcel);
    }
}

void helper::serve(replicate::protocol::envelope const& parcel) {
    auto const& content = parcel.content;
    auto const answer = [&](append_result result, std::uint64_t position, identity const& nonce) {
        if (result == append_result::won) advance(position, nonce);
        send(replicate::protocol::appended{result, position}, parcel.request);
    };
    if (auto const* append = std::get_if<replicate::protocol::append>(&content))
        answer(try_append(*append), append->row.position, append->row.nonce);
    else if (auto const* question = std::get_if<replicate::protocol::resolve>(&content))
        answer(find_fate(*question), question->position, question->nonce);
    else if (auto const* place = std::get_if<replicate::protocol::reserve>(&content))
        send(take_reservation(*place, parcel.request), parcel.request);
    else
        engine_.release(this);
}

append_result helper::try_append(replicate::protocol::append const& content) {
    bool const is_sent = !dice_.fails(60);
    if (!is_sent && dice_.below(2) == 0) engine_.append_later(content);
    bool const won = is_sent && engine_.append(content);
    if (is_sent && dice_.fails(40)) engine_.append_later(content);
    engine_.release(this);
    if (is_sent && !dice_.fails(40)) return won ? append_result::won : append_result::lost;
    append_term_ = 0;  // the connection broke before the answer
    return append_result::unknown;
}

append_result helper::find_fate(replicate::protocol::resolve const& question) {
    engine_.release(this);
    if (dice_.fails(200)) return append_result::unknown;
    replicate::protocol::append empty{
        {.position = question.position, .schema = question.schema, .previous = question.previous}};
    std::ranges::transform(question.nonce, empty.row.nonce.begin(), std::bit_not{});
    engine_.append(empty);
    auto const nonce = engine_.nonce_at(question.position);
    if (!nonce) return append_result::unknown;
    return *nonce == question.nonce ? append_result::won : append_result::lost;
}

replicate::protocol::reserved helper::take_reservation(replicate::protocol::reserve const& place,
                                                       std::uint32_t request) {
    auto const head = engine_.head();
    auto const nonce = engine_.nonce_at(place.position);
    bool const is_other = nonce && place.nonce != identity{} && *nonce != place.nonce;
    is_unchecked_ |= is_other;
    if (is_other || !nonce || !engine_.reserve(this)) return {.granted = false, .head = head};
    for (auto position = place.position; position < head;) {
        auto rows = engine_.rows_after(position);
        position = rows.back().position;
        if (position_ < position) advance(position, rows.back().nonce);
        send(replicate::protocol::rows{std::move(rows)}, request);
    }
    return {.granted = true, .head = head};
}

void helper::advance(std::uint64_t position, identity const& nonce) {
    head_ = std::max(head_, position);
    if (position <= position_) return;
    position_ = position;
    nonce_ = nonce;
}

// ---- tokens, on a connection of their own

void helper::answer_ask(std::uint32_t request, replicate::protocol::quota_ask const& ask) {
    bool const is_reached = !engine_.is_away() && !is_cut_ && !is_stopped_;
    auto const refuse = [&] {
        send(replicate::protocol::failed{replicate::protocol::failure::engine, false, "away"},
             request);
    };
    if (!is_reached || dice_.fails(40)) return refuse();
    auto const answer =
        replicate::protocol::grant(engine_.tokens, ask, settings_.node,
                                   [this](auto const& member) { return is_alive(member); });
    if (dice_.fails(40)) return refuse();  // the connection broke before the answer
    send(answer, request);
}

bool helper::is_alive(replicate::protocol::quota_member const& member) {
    auto const now = machine_.boot();
    auto const [place, is_new] = sightings_.try_emplace(member.name);
    auto& [line, time] = place->second;
    if (is_new || line != member) {
        line = member;
        time = now;
    }
    auto const* const node = nodes_.find(member.name);
    bool const holds_lease = node != nullptr && node->lease_end > now;
    return holds_lease || now - time <= settings_.lease_ms * millisecond + second;
}

// ---- the rest

// A server that lacks rows may be a former primary: others are asked for as long as a lease lasts.
bool helper::check_position() {
    is_unchecked_ = false;
    auto const nonce = engine_.nonce_at(position_);
    bool const is_other = nonce && nonce_ != identity{} && *nonce != nonce_;
    bool const is_behind = engine_.head() < head_ || (head_ != 0 && dice_.fails(20));
    if (nonce && !is_other && !is_behind) {
        head_ = engine_.head();
        doubt_time_.reset();
        return true;
    }
    auto const now = machine_.boot();
    if (!doubt_time_) doubt_time_ = now;
    if (now - *doubt_time_ >= settings_.lease_ms * millisecond) stop_for_lost_rows();
    follow_term_ = 0;
    return false;
}

void helper::greet() {
    follow_term_ = engine_.term();
    if (!check_position()) return;
    send(replicate::protocol::ready{.cluster = settings_.cluster, .head = head_});
    nodes_time_ = lease_time_ = 0;
}

void helper::follow() {
    if (follow_term_ == 0 || !finish_stage()) return;
    auto const now = machine_.boot();
    if (is_unchecked_ && !check_position()) return;
    if (lease_ == lease_state::holding && now >= lease_time_) return begin_renewal();
    auto const position = shown_position();
    if (position != told_ && (is_urgent_ || now >= applied_time_) && lease_ != lease_state::none) {
        engine_.write_position(settings_.node, position);
        told_ = position;
        is_urgent_ = is_urgent_ && position != applied_;
        applied_time_ = now + second;
    }
    if (tails_) poll_rows();
    if (departure_ != 0) {
        lease_ = lease_state::ended;
        engine_.write_departure(settings_.node);
        send(replicate::protocol::completion{}, std::exchange(departure_, 0));
    }
    if (now < nodes_time_) return;
    lines_ = engine_.lines();
    lines_watched_ = watched_;
    stage_ = stage::lines_read;
}

// What was asked of the engine in an earlier turn. False: it has not answered.
bool helper::finish_stage() {
    if (stage_ == stage::renewing && dice_.proceeds(500)) {
        engine_.renew(renewal_);
        stage_ = stage::renewed;
    }
    if (stage_ == stage::renewed && dice_.proceeds(500)) {
        head_ = std::max(head_, engine_.head());
        told_ = renewal_.position;
        if (lease_ == lease_state::holding)
            send(replicate::protocol::lease{.start = renewal_start_, .head = engine_.head()});
        stage_ = stage::none;
    }
    if (stage_ == stage::lines_read && dice_.proceeds(500)) observe_lines();
    return stage_ == stage::none;
}

// As in follow_lane.
std::uint64_t helper::shown_position() const {
    return tails_ ? std::min(applied_, position_) : applied_;
}

void helper::begin_renewal() {
    renewal_start_ = machine_.boot();
    lease_time_ = renewal_start_ + settings_.lease_ms * millisecond / renewals_per_lease;
    renewal_ = {.name = settings_.node,
                .instance = settings_.instance,
                .position = shown_position(),
                .lease_ms = settings_.lease_ms,
                .schema = settings_.schema,
                .version = settings_.version};
    stage_ = stage::renewing;
}

void helper::poll_rows() {
    auto rows = engine_.rows_after(position_);
    if (rows.empty() || !dice_.proceeds(600)) return;
    advance(rows.back().position, rows.back().nonce);
    send(replicate::protocol::rows{std::move(rows)});
}

void helper::observe_lines() {
    auto const now = machine_.boot();
    stage_ = stage::none;
    nodes_.observe(lines_, now);
    nodes_time_ = now + (watched_ != 0 ? 2 * millisecond : second);
    if (watched_ == 0 || watched_ != lines_watched_) return;
    auto const confirmation = nodes_.confirmation(watched_, settings_.instance, now);
    send(confirmation);
    if (confirmation.position == watched_) watched_ = 0;
}

}  // namespace latchkey::simulation
