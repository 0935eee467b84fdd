#include "world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "base/hash.hpp"
#include "domain/admin/check_consistency.hpp"
#include "domain/admin/state_load.hpp"
#include "domain/admin/state_reader.hpp"
#include "domain/audit/verify_audit.hpp"

namespace latchkey::simulation {
namespace {

using base::millisecond;
using base::second;

constexpr int steps = 500;
constexpr unsigned node_count = 3;
constexpr unsigned lost_lease_margin_ms = 2000;

std::string describe(domain::command const& command) {
    auto const& action = command.action;
    std::string const suffix = command.idempotency ? ", once" : "";
    if (auto const* user = std::get_if<domain::create_user>(&action))
        return "create " + user->name + suffix;
    if (std::holds_alternative<domain::change_user>(action)) return "change user 1" + suffix;
    if (auto const* user = std::get_if<domain::delete_user>(&action))
        return "delete user " + std::to_string(user->id) + suffix;
    return "deactivate key " + std::to_string(std::get<domain::deactivate_key>(action).id) + suffix;
}

}  // namespace

void make_template(std::string const& directory) {
    auto const store = domain::open_store(directory, 1u << 26);
    for (unsigned i = 1; i <= key_count; ++i)
        domain::one(*store, domain::new_key(domain::key_number(i)));
    auto limited = domain::key_number(limited_key);
    limited.rate_limits = {limit_of_run};
    domain::one(*store, domain::new_key(limited));
    domain::one(*store, domain::new_user("first", "first@example.org"));
    ASSERT_TRUE(domain::join_cluster(*store, cluster_of_run));
}

world::world(std::uint64_t seed, std::string const& directory, event_counts& events, bool is_traced)
    : dice_(seed),
      events_(events),
      is_traced_(is_traced),
      engine_(now_, dice_),
      history_(events, engine_),
      may_lose_(dice_.below(3) == 0) {
    constexpr std::uint32_t lengths[] = {6000, 12'000, 30'000};
    auto const lease_ms = lengths[dice_.below(std::size(lengths))];
    for (unsigned i = 0; i < node_count; ++i) {
        nodes_.push_back(
            std::make_unique<node>(node::settings{.number = i,
                                                  .lease_ms = lease_ms,
                                                  .directory = directory + "-" + std::to_string(i),
                                                  .template_directory = directory},
                                   engine_, dice_, now_, [this](node& waiting) { pass(waiting); }));
        start(*nodes_.back());
    }
}

void world::run() {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    if (!::testing::Test::HasFailure()) settle();
    if (!::testing::Test::HasFailure()) check();
}

void world::trace(node const* place, std::string const& sentence) const {
    if (!is_traced_) return;
    std::printf("%10.3f  %s  %s\n", static_cast<double>(now_) / 1e9,
                place != nullptr ? ("node " + std::to_string(place->number)).c_str() : "engine",
                sentence.c_str());
}

// ---- whose turn it is

void world::step() {
    now_ += static_cast<real_ns>(dice_.below(4)) * millisecond;
    if (dice_.fails(60)) now_ += static_cast<real_ns>(dice_.below(500)) * millisecond;
    if (dice_.fails(8)) now_ += static_cast<real_ns>(dice_.below(6000)) * millisecond;
    engine_.step();
    if (dice_.fails(120)) ask();
    if (dice_.fails(12)) fail();
    turn_of(*nodes_[dice_.below(node_count)]);
}

void world::pass(node& waiting) {
    do step();
    while (now_ < waiting.paused_until && !waiting.is_doomed);
}

void world::turn_of(node& next) {
    if (next.is_doomed && !next.is_busy) end(next);
    if (!next.is_running()) {
        if (now_ >= next.start_time) start(next);
        return;
    }
    if (now_ < next.slow_until && dice_.fails(700)) return;
    auto const choice = dice_.below(10);
    if (choice < 4) {
        if (now_ < next.helper_paused_until) return;
        if (next.is_doomed) return;
        if (!next.has_helper()) next.start_helper(++sessions_);
        return next.helper_turn();
    }
    if (now_ < next.paused_until) return;
    if (choice < 7) return next.node_turn();
    if (next.is_busy) return;
    next.is_busy = true;
    choice < 9 ? write(next) : read(next);
    next.is_busy = false;
    if (next.is_doomed) end(next);
}

void world::write(node& next) {
    next.writer_turn();
    compare(next);
    take_answers(next);
}

void world::read(node& next) {
    for (auto const& [request, verdict] : next.worker_turn()) {
        bool const is_accepted = verdict == node::verdict::accepted;
        if (is_accepted)
            history_.note_acceptance(request, next, now_);
        else
            ++(verdict == node::verdict::limited ? events_.limited : events_.refused);
        trace(&next, (is_accepted ? "accepts key " : "refuses key ") + std::to_string(request.key) +
                         " of " + std::to_string(static_cast<double>(request.time) / 1e9));
    }
}

// Its clients repeat what they may, at whichever node or at this one when it is back.
void world::end(node& next) {
    trace(&next, "ends");
    ++events_.crashes;
    next.stop();
    next.start_time = now_ + static_cast<real_ns>(dice_.below(2000)) * millisecond;
    for (auto& each : next.take_requests()) {
        bool const may_repeat =
            each->command.idempotency ||
            std::holds_alternative<domain::deactivate_key>(each->command.action);
        if (!may_repeat) continue;
        if (dice_.below(2) == 0)
            route(std::move(each));
        else
            repeats_[next.number].push_back(std::move(each));
    }
}

void world::start(node& next) {
    next.start(++sessions_);
    auto const place = next.position();
    trace(&next, "starts at position " + std::to_string(place.position));
    for (auto& each : std::exchange(repeats_[next.number], {})) next.submit(std::move(each));
}

void world::route(std::unique_ptr<request> request) {
    auto& next = *nodes_[dice_.below(node_count)];
    if (next.is_running()) next.submit(std::move(request));
}

void world::take_answers(node& next) {
    for (auto& each : next.take_answers()) {
        trace(&next, "answers request " + std::to_string(each->number) + ": problem " +
                         std::to_string(static_cast<int>(each->outcome.problem)) + ", position " +
                         std::to_string(each->outcome.position) +
                         (each->outcome.effective_by != 0 ? ", not confirmed" : ""));
        history_.note_answer(*each, next);
        if (each->outcome.problem == base::problem::behind && !dice_.is_healed())
            route(std::move(each));
    }
}

// Stores after the same row are the same.
void world::compare(node& next) {
    auto const nonce = next.position().nonce;
    if (std::exchange(compared_[next.number], nonce) == nonce) return;
    std::uint64_t hash = 0;
    domain::state_reader reader(next.store());
    while (auto const record = reader.next())
        hash = base::hash(record->content, base::hash(record->key, hash + record->table));
    ASSERT_FALSE(reader.failure());
    auto const [entry, is_first] = states_.emplace(nonce, hash);
    EXPECT_EQ(entry->second, hash) << "at position " << reader.position()->position;
    trace(&next, "is at position " + std::to_string(reader.position()->position));
}

// ---- what clients ask for

void world::ask() {
    auto& next = *nodes_[dice_.below(node_count)];
    if (!next.is_running()) return;
    if (dice_.below(10) == 0) {
        for (auto count = dice_.below(40); count != 0; --count) next.receive({limited_key, now_});
        return;
    }
    if (dice_.below(2) == 0) {
        auto const key = 2 + static_cast<unsigned>(dice_.below(key_count - 1));
        return next.receive({key, now_});
    }
    auto question = std::make_unique<request>();
    question->number = ++requests_;
    question->command = next_command(question->number, next);
    trace(&next, "is asked for request " + std::to_string(question->number) + ": " +
                     describe(question->command));
    next.submit(std::move(question));
}

domain::command world::next_command(int number, node& first) {
    domain::command command;
    auto const name = "user" + std::to_string(number);
    auto const choice = dice_.below(20);
    if (choice < 6) {
        // The client has read the user at this node, which may be behind.
        domain::snapshot shown(first.store());
        shown.renew();
        command.action = domain::change_user{.id = 1, .name = name};
        if (auto const user = shown.user(1))
            command.conditions.match = domain::tag_list{.tags = {model::tag_of(*user)}};
    } else if (choice < 8) {
        // Often once more, by a client that was not answered.
        if (deactivated_ == 0 || dice_.below(2) == 0)
            deactivated_ = 2 + static_cast<model::id>(dice_.below(key_count - 1));
        command.action = domain::deactivate_key{deactivated_};
    } else if (choice < 10) {
        model::id const user = 2 + static_cast<model::id>(dice_.below(20));
        history_.note_deletion(user);
        command.action = domain::delete_user{user};
    } else {
        command.action =
            domain::create_user{name, "mail" + std::to_string(dice_.below(40)) + "@example.org"};
    }
    if (dice_.below(2) == 0) {
        auto const digest = domain::key_number(static_cast<unsigned>(number)).digest;
        command.idempotency = {1, digest, digest};
    }
    return command;
}

// ---- what fails

void world::fail() {
    if (dice_.below(4) == 0) return fail_engine();
    fail_process(*nodes_[dice_.below(node_count)]);
}

void world::fail_process(node& next) {
    auto const span = now_ + static_cast<real_ns>(dice_.below(10'000)) * millisecond;
    switch (dice_.below(8)) {
        case 0:
            if (next.is_running()) next.is_doomed = true;
            return trace(&next, "is killed");
        case 1:
            next.stop_helper();
            return trace(&next, "loses its helper");
        case 2:
            next.paused_until = span;
            return trace(&next, "is paused");
        case 3:
            next.paused_until = next.helper_paused_until = span;
            return trace(&next, "is paused, and its helper");
        case 4:
            next.slow_until = span;
            return trace(&next, "is slow");
        case 5:
            next.cut_until = span;
            return trace(&next, "cannot reach the engine");
        case 6:
            next.machine.set_clock(dice_);
            return trace(&next, "has another time");
        default:
            if (!next.is_running() || next.is_busy || now_ < next.paused_until) return;
            trace(&next, "leaves");
            next.is_busy = true;
            next.leave();
            next.is_busy = false;
            next.is_doomed = true;
    }
}

void world::fail_engine() {
    switch (dice_.below(3)) {
        case 0:
            trace(nullptr, "is away");
            return engine_.begin_outage();
        case 1:
            trace(nullptr, "fails over");
            return engine_.fail_over();
        default:
            if (std::exchange(may_lose_, false)) return lose_promises();
    }
}

void world::lose_promises() {
    if (engine_.head() == 0) return;
    auto const head = engine_.head();
    auto const forgotten = engine_.fail_over_without_promises();
    trace(nullptr, "fails over without the rows " + std::to_string(engine_.head() + 1) + " to " +
                       std::to_string(head));
    history_.note_loss(now_);
    for (auto const& each : nodes_) {
        auto const place = forgotten.find("node" + std::to_string(each->number));
        if (place != forgotten.end() && place->second)
            history_.note_forgotten(each->number,
                                    now_ + each->lease() + lost_lease_margin_ms * millisecond);
    }
}

// ---- the end

// From now on nothing fails. Nodes that have lost rows are told apart, and stay out.
void world::settle() {
    trace(nullptr, "is there for good");
    dice_.heal();
    engine_.heal();
    for (auto const& each : nodes_) {
        each->paused_until = each->helper_paused_until = each->start_time = 0;
        each->slow_until = each->cut_until = 0;
        if (each->is_doomed && !each->is_busy) end(*each);
    }
    go_on_until_settled();
    check_losers();
}

// Each has had many turns since: what was sent to it has been read.
void world::go_on_until_settled() {
    constexpr int calm_steps = 200, steps_max = 10'000;
    int calm = 0;
    for (int i = 0; i < steps_max && calm < calm_steps; ++i) {
        step();
        now_ += 5 * millisecond;
        if (::testing::Test::HasFailure()) return;
        calm = is_settled() ? calm + 1 : 0;
    }
    EXPECT_EQ(calm, calm_steps);
}

bool world::is_settled() {
    return std::ranges::all_of(nodes_, [&](auto const& each) {
        if (!each->is_running()) return false;
        if (!each->failure().empty()) return true;
        auto const place = each->position();
        return !each->has_requests() && !each->has_late_messages() && each->holds_lease() &&
               place.position == engine_.head() && place.nonce == engine_.nonce_at(place.position);
    });
}

// A node whose last row is none of the log stays out until its directory is emptied; one that had
// only heard of rows that are lost, until it is started again.
void world::check_losers() {
    for (auto const& each : nodes_) {
        auto const place = each->position();
        bool const has_lost = engine_.nonce_at(place.position) != place.nonce;
        auto const failure = each->failure();
        if (has_lost)
            EXPECT_EQ(failure, replicate::protocol::rows_lost_text)
                << "node " << each->number << " at position " << place.position;
        if (failure.empty()) continue;
        EXPECT_EQ(failure, replicate::protocol::rows_lost_text);
        EXPECT_FALSE(each->holds_lease());
        trace(each.get(), has_lost ? "has applied lost rows" : "has heard of lost rows");
        ++events_.lost_rows;
        end(*each);
        if (has_lost) each->wipe();
        start(*each);
    }
    go_on_until_settled();
}

void world::check() {
    events_.rows += engine_.head();
    for (auto const& each : nodes_) {
        on_machine const here(each->machine);
        auto const place = each->position();
        EXPECT_EQ(place.position, engine_.head());
        EXPECT_EQ(place.nonce, engine_.nonce_at(place.position));
        compare(*each);
        for (auto const& sentence : domain::check_consistency(each->store()))
            ADD_FAILURE() << sentence;
        for (auto const& sentence : domain::verify_audit(each->store()).wrong)
            ADD_FAILURE() << sentence;
    }
    on_machine const here(nodes_[0]->machine);
    history_.check(nodes_[0]->store());
}

}  // namespace latchkey::simulation
