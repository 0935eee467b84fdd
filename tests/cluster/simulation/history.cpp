#include "history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tests/cluster/quota_promise.hpp"

namespace latchkey::simulation {

void history::note_answer(request const& answered, node const& teller) {
    auto const& outcome = answered.outcome;
    if (outcome.problem == base::problem::behind) ++events_.behind;
    if (outcome.problem != base::problem::none) return;
    ++events_.acknowledged;
    if (outcome.replayed) ++events_.replayed;
    source const source{answered.row, teller.number, answered.answer_time};
    auto const& command = answered.command;
    if (auto const* action = std::get_if<domain::create_user>(&command.action)) {
        creations_.push_back({source, action->name, std::get<model::user>(outcome.record).id});
    } else if (std::holds_alternative<domain::change_user>(command.action)) {
        changes_.push_back({source, command.conditions.match->tags[0]});
    } else if (auto const* target = std::get_if<domain::deactivate_key>(&command.action)) {
        ++(outcome.effective_by == 0 ? events_.confirmed : events_.unconfirmed);
        deactivations_.push_back({source, target->id, answered.effective_time});
    }
}

void history::note_acceptance(arrival const& request, node const& teller, real_ns now) {
    ++events_.accepted;
    acceptances_.push_back({request, teller.number, now});
}

void history::check(store::environment& store) const {
    check_users(store);
    check_changes();
    check_acceptances();
    check_limit();
}

// What was acknowledged is there, and nothing is there twice.
void history::check_users(store::environment& store) const {
    std::map<std::string, model::id> users;
    std::set<std::string> addresses;
    domain::snapshot shown(store);
    shown.renew();
    shown.users({.limit = 1000}, [&](model::user_view const& user) {
        EXPECT_TRUE(users.emplace(user.name, user.id).second) << user.name;
        EXPECT_TRUE(addresses.emplace(user.email).second) << user.email;
    });
    std::set<std::string> names;
    for (auto const& [origin, name, id] : creations_) {
        if (is_void(origin)) continue;
        EXPECT_TRUE(names.insert(name).second) << name << " was created twice";
        if (!deletions_.contains(id) && id > 1)
            EXPECT_TRUE(users.contains(name) && users[name] == id) << name << " is lost";
    }
}

void history::check_changes() const {
    std::vector<model::entity_tag> tags;
    for (auto const& [origin, tag] : changes_) {
        if (is_void(origin)) continue;
        EXPECT_EQ(std::ranges::find(tags, tag), tags.end()) << "an update is lost";
        tags.push_back(tag);
    }
}

void history::check_acceptances() const {
    for (auto const& [request, node, decision_time] : acceptances_) {
        auto const forgotten = forgotten_until_.find(node);
        if (forgotten != forgotten_until_.end() && request.time >= loss_time_ &&
            request.time < forgotten->second)
            continue;
        for (auto const& [origin, key, time] : deactivations_)
            if (static_cast<model::id>(request.key) == key && request.time > time &&
                !(is_void(origin) && decision_time >= loss_time_))
                ADD_FAILURE() << "node " << node << " accepted key " << key << " at "
                              << request.time << ", which node " << origin.node
                              << " had turned off by " << time << ", as it said at " << origin.time;
    }
}

void history::check_limit() const {
    std::vector<real_ns> times;
    for (auto const& each : acceptances_)
        if (each.request.key == limited_key) times.push_back(each.time);
    EXPECT_LE(cluster::excess(times, limit_of_run, 0, std::numeric_limits<real_ns>::max()), 0)
        << times.size() << " requests were admitted";
}

}  // namespace latchkey::simulation
