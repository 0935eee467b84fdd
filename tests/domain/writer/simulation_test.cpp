// Three nodes over a log with faults, in one thread, by a seed. LATCHKEY_SEED=7 replays one run,
// LATCHKEY_SEEDS=100000 is the number of runs.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <set>

#include "base/hash.hpp"
#include "cluster_fixture.hpp"
#include "domain/writer/group.hpp"
#include "domain/writer/replication.hpp"
#include "model/entity_tag.hpp"
#include "simulated_log.hpp"

namespace latchkey::domain {
namespace {

using base::problem;

constexpr std::size_t node_count = 3;
constexpr int steps = 60;
constexpr base::wall_ms begin_time = 1'800'000'000'000;
constexpr base::wall_ms minute = 60'000;
constexpr std::size_t purge_max = 16;

base::wall_ms simulated_clock;  // of the node whose turn it is

// What one client asks for, again and again until it is answered, of whichever node.
struct request {
    int number = 0;
    domain::command command;
    domain::outcome outcome;
};

struct simulated_node {
    explicit simulated_node(simulated_engine& engine) : log(engine) {}

    temporary_directory directory;
    simulated_log log;
    std::unique_ptr<environment> store;
    std::deque<request> requests;
    std::size_t unresolved = 0;  // requests from the front whose outcome is kept
    bool is_unresolved = false;
    base::wall_ms offset = 0;  // of its clock
};

// What happened in all runs: each kind of event must have.
struct event_counts {
    std::uint64_t acknowledged = 0, behind = 0, crashes = 0, unknown_won = 0, unknown_lost = 0,
                  replays = 0, rows = 0;
};

class simulation {
  public:
    simulation(std::uint64_t seed, event_counts& events) : engine_(seed), events_(events) {
        for (std::size_t i = 0; i < node_count; ++i) {
            nodes_.push_back(std::make_unique<simulated_node>(engine_));
            nodes_.back()->offset = static_cast<base::wall_ms>(engine_.number(10)) * minute;
            open(*nodes_.back());
        }
    }

    void run() {
        for (int i = 0; i < steps; ++i) {
            time_ += 1000;
            engine_.step();
            if (engine_.number(2) == 0) ask(*nodes_[engine_.number(node_count)]);
            turn(*nodes_[engine_.number(node_count)]);
        }
        settle();
        check();
    }

  private:
    void open(simulated_node& node);
    void ask(simulated_node& node);
    void turn(simulated_node& node);
    void act(simulated_node& node);
    void decide_group(simulated_node& node);
    void crash(simulated_node& node);
    void answer(simulated_node& node, std::size_t count);
    void acknowledge(request const& answered);
    void compare(simulated_node& node);
    void settle();
    void check_users(environment& store);
    void check();
    domain::command next_command(int number);

    simulated_engine engine_;
    event_counts& events_;
    std::vector<std::unique_ptr<simulated_node>> nodes_;
    base::wall_ms time_ = begin_time;
    int requests_ = 0;
    std::map<std::string, model::id> acknowledged_;  // users, by name
    std::map<std::uint64_t, std::uint64_t> states_;  // hashes of whole stores, by position
    std::set<model::id> deletions_;                  // asked for
    std::vector<model::entity_tag> matches_;         // of the changes of user 1
};

void simulation::open(simulated_node& node) {
    simulated_clock = time_ + node.offset;
    auto result = environment::open({.directory = node.directory.path(),
                                     .map_bytes = 1u << 26,
                                     .sync = false,
                                     .records_changes = true,
                                     .wall = [] { return simulated_clock; }});
    ASSERT_TRUE(result) << result.error().message;
    node.store = std::move(result.value());
    node.log.restart();
    if (!node.store->node()) ASSERT_TRUE(join_cluster(*node.store, test_cluster));
    ASSERT_TRUE(node.store->attach(node.log, test_cluster));
}

// Half of the users are created under an Idempotency-Key, and then the request is repeated at
// another node after a crash. All change the first user by compare and set.
domain::command simulation::next_command(int number) {
    auto const name = "user" + std::to_string(number);
    if (number % 4 == 0) return {.action = change_user{.id = 1, .name = name}};
    if (number % 7 == 0) {
        deletions_.insert(1 + number / 2);
        return {.action = delete_user{1 + number / 2}};
    }
    auto command = new_user(name, "mail" + std::to_string(engine_.number(40)) + "@example.org");
    if (number % 2 == 0) {
        auto const digest = key_number(static_cast<unsigned>(number)).digest;
        command.idempotency = {1, digest, digest};
    }
    return command;
}

void simulation::ask(simulated_node& node) {
    auto const number = requests_++;
    node.requests.push_back({.number = number, .command = next_command(number)});
    if (!std::holds_alternative<change_user>(node.requests.back().command.action)) return;
    // The client has read the user at this node, which may be behind.
    if (node.store == nullptr) return node.requests.pop_back();
    snapshot shown(*node.store);
    shown.renew();
    auto const user = shown.user(1);
    if (!user) return node.requests.pop_back();
    node.requests.back().command.conditions.match = tag_list{.tags = {model::tag_of(*user)}};
}

void simulation::turn(simulated_node& node) {
    simulated_clock = time_ + node.offset;
    if (node.store == nullptr) return open(node);
    try {
        act(node);
    } catch (node_crash const&) {
        return crash(node);
    }
    compare(node);
}

// As the writer does, in steps.
void simulation::act(simulated_node& node) {
    auto& store = node.store->native();
    if (node.is_unresolved) {
        auto const result = resolve_own_row(store);
        if (result == append_result::unknown) return;
        node.is_unresolved = false;
        auto const count = std::exchange(node.unresolved, 0);
        ++(result == append_result::won ? events_.unknown_won : events_.unknown_lost);
        if (result != append_result::won) return;
        answer(node, count);
        EXPECT_EQ(apply_arrived_rows(store), 0);
    } else if (engine_.number(3) == 0) {
        EXPECT_EQ(apply_arrived_rows(store), 0);
    } else {
        decide_group(node);
    }
}

void simulation::decide_group(simulated_node& node) {
    std::vector<job> jobs;
    for (auto& each : node.requests) jobs.push_back({&each.command, &each.outcome});
    auto const result = apply_group(node.store->native(), jobs, purge_max);
    if (!result.unresolved) return answer(node, result.job_count);
    node.is_unresolved = true;
    node.unresolved = result.job_count;
}

// The clients of this node repeat what they may at another one.
void simulation::crash(simulated_node& node) {
    ++events_.crashes;
    node.store.reset();
    node.is_unresolved = false;
    node.unresolved = 0;
    for (auto& each : std::exchange(node.requests, {})) {
        if (each.command.idempotency)
            nodes_[engine_.number(node_count)]->requests.push_back(std::move(each));
    }
}

void simulation::answer(simulated_node& node, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        auto const answered = std::move(node.requests.front());
        node.requests.pop_front();
        // A client tries again where nothing was written.
        if (answered.outcome.problem == problem::behind) ++events_.behind;
        if (answered.outcome.problem == problem::behind)
            nodes_[engine_.number(node_count)]->requests.push_back(answered);
        else
            acknowledge(answered);
    }
}

void simulation::acknowledge(request const& answered) {
    if (answered.outcome.problem != problem::none) return;
    ++events_.acknowledged;
    if (answered.outcome.replayed) ++events_.replays;
    if (auto const* const action = std::get_if<create_user>(&answered.command.action)) {
        auto const id = get_user(answered.outcome).id;
        EXPECT_TRUE(acknowledged_.emplace(action->name, id).second);
    } else if (std::holds_alternative<change_user>(answered.command.action)) {
        auto const& tag = answered.command.conditions.match->tags[0];
        EXPECT_EQ(std::ranges::find(matches_, tag), matches_.end()) << "an update was lost";
        matches_.push_back(tag);
    }
}

// Stores at the same position are the same.
void simulation::compare(simulated_node& node) {
    std::uint64_t hash = 0;
    state_reader reader(*node.store);
    while (auto const record = reader.next())
        hash = base::hash(record->content, base::hash(record->key, hash + record->table));
    ASSERT_FALSE(reader.failure());
    auto const [entry, is_first] = states_.emplace(reader.position()->position, hash);
    EXPECT_EQ(entry->second, hash) << "at position " << entry->first;
}

void simulation::settle() {
    engine_.heal();
    for (int round = 0; round < 20; ++round)
        for (auto const& each : nodes_) turn(*each);
    for (auto const& each : nodes_) {
        ASSERT_NE(each->store, nullptr);
        EXPECT_FALSE(each->is_unresolved);
        EXPECT_TRUE(each->requests.empty());
    }
    for (auto const& each : nodes_) EXPECT_EQ(apply_arrived_rows(each->store->native()), 0);
}

// What was acknowledged is there, and nothing is there twice.
void simulation::check_users(environment& store) {
    std::map<std::string, model::id> users;
    snapshot shown(store);
    shown.renew();
    shown.users({.limit = 1000}, [&](model::user_view const& user) {
        EXPECT_TRUE(users.emplace(user.name, user.id).second) << user.name;
    });
    for (auto const& [name, id] : acknowledged_)
        if (id != 1 && !deletions_.contains(id))
            EXPECT_TRUE(users.contains(name) && users[name] == id) << name;
}

void simulation::check() {
    events_.rows += engine_.head();
    check_users(*nodes_[0]->store);
    for (auto const& each : nodes_) {
        EXPECT_EQ(each->store->node()->position, engine_.head());
        compare(*each);
        for (auto const& sentence : check_consistency(*each->store))
            if (sentence.find("Idempotency-Key is of no key") == std::string::npos)
                ADD_FAILURE() << sentence;
    }
}

std::uint64_t number_of(char const* name, std::uint64_t otherwise) {
    auto const* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(store_simulation, keeps_what_was_acknowledged_and_the_same_everywhere) {
    event_counts events;
    auto const only = number_of("LATCHKEY_SEED", 0);
    auto const count = number_of("LATCHKEY_SEEDS", 300);
    for (std::uint64_t seed = only != 0 ? only : 1; seed <= (only != 0 ? only : count); ++seed) {
        SCOPED_TRACE("LATCHKEY_SEED=" + std::to_string(seed));
        simulation(seed, events).run();
        if (::testing::Test::HasFailure()) return;
    }
    if (only != 0 || count < 100) return;
    for (auto const number : {events.acknowledged, events.behind, events.crashes,
                              events.unknown_won, events.unknown_lost, events.replays})
        EXPECT_GT(number, 0u);
    EXPECT_GT(events.rows, 5 * count);
    std::cout << events.rows << " rows, " << events.acknowledged << " acknowledged, "
              << events.behind << " behind, " << events.crashes << " crashes, "
              << events.unknown_won << " unknown and won, " << events.unknown_lost
              << " unknown and lost, " << events.replays << " replayed\n";
}

}  // namespace
}  // namespace latchkey::domain
