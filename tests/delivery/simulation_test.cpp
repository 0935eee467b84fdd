// Runs by seeds: receivers that fail, hang and answer late, a store that refuses commits, webhooks
// that are disabled, enabled, replayed, and a process that dies at any point and begins again with
// what was committed. In the end every change has been delivered, in order where that was asked.
// LATCHKEY_SEEDS is the number of runs, LATCHKEY_SEED replays one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <queue>
#include <random>
#include <set>

#include "helpers/deliver/protocol/ordered_lines.hpp"
#include "tests/delivery/fake_store.hpp"

namespace latchkey::delivery {
namespace {

struct receiver {
    std::set<model::id> outcomes;  // that it has answered with success
    model::id last_first = 0;      // the highest sequence among those
    bool in_order = true;
    unsigned failure_rate = 0, hang_rate = 0;  // in a hundred
    std::size_t in_flight = 0;
};

struct answer {
    base::wall_ms time;
    attempt attempt;
    std::uint16_t status;
    std::uint32_t duration_ms;
    unsigned life;  // of the process that sent it
    bool operator>(answer const& other) const { return time > other.time; }
};

class simulation {
  public:
    explicit simulation(std::uint64_t seed) : random_(seed), schedule_(next_schedule()) {}
    void run();

  private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool chance(unsigned percent) { return below(100) < percent; }
    std::unique_ptr<delivery_schedule> next_schedule() {
        return std::make_unique<delivery_schedule>(random_());
    }
    void begin();
    void disturb();
    void turn();
    void forget_sender();
    void send(attempt const& attempt);
    void follow(deliver::protocol::ordered_lines::step&& step);
    void transmit(attempt const& attempt);
    void hear(answer const& answer);
    bool is_done() const;
    void judge();

    std::mt19937_64 random_;
    std::unique_ptr<delivery_schedule> schedule_;
    fake_store store_;
    base::instant now_{.mono = 1'000'000'000'000, .wall = 1'700'000'000'000};
    std::map<model::id, receiver> receivers_;
    std::map<model::id, std::set<model::id>> owed_;
    std::priority_queue<answer, std::vector<answer>, std::greater<>> answers_;
    // What the sender has: attempts ahead of ordered webhooks.
    deliver::protocol::ordered_lines lines_;
    std::map<std::uint64_t, attempt> ahead_;
    bool is_healed_ = false;
    unsigned life_ = 0;
};

void simulation::begin() {
    auto const count = 1 + below(5);
    for (model::id id = 1; id <= static_cast<model::id>(count); ++id) {
        auto& webhook = store_.add(id);
        webhook.ordered = chance(50);
        if (chance(30)) webhook.types = {"user.created", "post.*"};
        if (chance(20)) webhook.max_per_second = static_cast<std::uint32_t>(5 + below(50));
        auto& each = receivers_[id];
        each.failure_rate = chance(50) ? static_cast<unsigned>(below(60)) : 0;
        each.hang_rate = chance(30) ? static_cast<unsigned>(below(60)) : 0;
    }
}

void simulation::disturb() {
    if (chance(40)) {
        auto const type =
            chance(70) ? model::change_type::user_created : model::change_type::key_updated;
        for (auto count = below(40); count != 0; --count) {
            auto const sequence = store_.change(type);
            for (auto const& [id, entry] : store_.entries) {
                domain::change_types types;
                for (auto const& pattern : entry.webhook.types) types.add(pattern);
                if (types.has(type)) owed_[id].insert(sequence);
            }
        }
    }
    auto const id = static_cast<model::id>(1 + below(receivers_.size()));
    auto& webhook = store_.of(id).webhook;
    if (chance(2)) webhook.end = model::webhook_end::manual;
    if (chance(2)) webhook.end = model::webhook_end::none;
    if (chance(1) && store_.last() > 10) {
        auto const first =
            static_cast<model::id>(1 + below(static_cast<std::uint64_t>(store_.last())));
        store_.replay(id, first, std::min<model::id>(store_.last(), first + 50));
    }
    if (chance(1)) {  // the sender dies
        schedule_->give_back_all();
        forget_sender();
    }
    if (chance(1)) {  // the process dies
        schedule_ = next_schedule();
        forget_sender();
    }
}

void simulation::forget_sender() {
    lines_ = {};
    ahead_.clear();
    ++life_;
}

void simulation::send(attempt const& attempt) {
    if (!attempt.is_ordered) return transmit(attempt);
    ahead_.insert_or_assign(attempt.number, attempt);
    deliver::protocol::attempt request{.number = attempt.number,
                                       .url = {},
                                       .fields = {},
                                       .body = {},
                                       .allow = {},
                                       .line = static_cast<std::uint64_t>(attempt.webhook),
                                       .predecessor = attempt.predecessor};
    follow(lines_.arrive(std::move(request), now_.mono));
}

void simulation::follow(deliver::protocol::ordered_lines::step&& step) {
    for (auto const number : step.unsent) {
        ahead_.erase(number);
        schedule_->give_back(number);
    }
    if (!step.next) return;
    auto const attempt = ahead_.extract(step.next->number).mapped();
    transmit(attempt);
}

void simulation::transmit(attempt const& attempt) {
    auto& receiver = receivers_.at(attempt.webhook);
    bool const hangs = !is_healed_ && chance(receiver.hang_rate);
    bool const fails = hangs || (!is_healed_ && chance(receiver.failure_rate));
    auto const duration = static_cast<std::uint32_t>(hangs ? 20'000 : below(chance(70) ? 15 : 200));
    answers_.push({now_.wall + duration, attempt,
                   static_cast<std::uint16_t>(hangs   ? 0
                                              : fails ? 500
                                                      : 200),
                   duration, life_});
    if (!fails) {
        receiver.in_order &=
            receiver.outcomes.contains(attempt.sequence) || attempt.sequence > receiver.last_first;
        receiver.last_first = std::max(receiver.last_first, attempt.sequence);
        receiver.outcomes.insert(attempt.sequence);
    }
}

void simulation::hear(answer const& answer) {
    if (answer.life != life_) return;
    attempt_result result;
    result.number = answer.attempt.number;
    result.status = answer.status;
    result.duration_ms = answer.duration_ms;
    schedule_->finish(std::move(result), now_.wall);
    follow(lines_.finish(answer.attempt.number, answer.status == 200, now_.mono));
}

void simulation::turn() {
    store_.load_into(*schedule_);
    while (schedule_->read(store_, now_.wall)) {
    }
    for (auto left = 1 + below(200); left > 0 && schedule_->may_send(); --left) {
        auto const attempt = schedule_->take_attempt(now_);
        if (!attempt) break;
        if (store_.keeps(attempt->sequence)) {
            schedule_->weigh(attempt->number, 1 + below(256 * base::limits::kib));
            send(*attempt);
        } else {
            schedule_->abandon(attempt->number, now_.wall);
        }
    }
    auto const reports = schedule_->take_reports(now_.wall);
    bool const commits = is_healed_ || !chance(10);
    if (commits) store_.commit(reports);
    if (!is_healed_ && chance(1)) {  // dies between the commit and its answer
        schedule_ = next_schedule();
        forget_sender();
    } else {
        schedule_->settle(commits);
    }
    auto next =
        std::min({schedule_->next_time(now_), schedule_->report_time(), now_.wall + 200'000'000});
    if (!is_healed_) next = std::min(next, now_.wall + static_cast<base::wall_ms>(below(300)));
    if (!answers_.empty()) next = std::min(next, answers_.top().time);
    auto const pass = std::max<base::wall_ms>(1, next - now_.wall);
    now_.wall += pass;
    now_.mono += pass * 1'000'000;
    while (!answers_.empty() && answers_.top().time <= now_.wall) {
        auto const answer = answers_.top();
        answers_.pop();
        hear(answer);
    }
}

bool simulation::is_done() const {
    for (auto const& [id, entry] : store_.entries) {
        if (entry.progress.position != store_.last() || !entry.replays.empty()) return false;
        for (auto const& [sequence, delivery] : entry.deliveries)
            if (delivery.state == model::delivery_state::pending) return false;
    }
    return true;
}

void simulation::judge() {
    for (auto const& [id, receiver] : receivers_) {
        auto const& entry = store_.of(id);
        for (auto const sequence : owed_[id]) {
            bool const failed =
                entry.deliveries.contains(sequence) &&
                entry.deliveries.at(sequence).state == model::delivery_state::failed;
            EXPECT_TRUE(receiver.outcomes.contains(sequence) || failed)
                << "webhook " << id << " lost " << sequence;
        }
        for (auto const sequence : receiver.outcomes) EXPECT_TRUE(owed_[id].contains(sequence));
        if (entry.webhook.ordered) EXPECT_TRUE(receiver.in_order) << "webhook " << id;
    }
}

void simulation::run() {
    begin();
    for (int i = 0; i < 400; ++i) {
        disturb();
        turn();
    }
    is_healed_ = true;
    for (auto& [id, entry] : store_.entries) entry.webhook.end = model::webhook_end::none;
    int turns = 0;
    for (; turns < 100'000 && !is_done(); ++turns) turn();
    EXPECT_LT(turns, 100'000) << "does not come to its end";
    judge();
}

std::uint64_t number_of(char const* name, std::uint64_t otherwise) {
    auto const* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(webhook_simulation, loses_no_change_and_keeps_order) {
    if (auto const seed = number_of("LATCHKEY_SEED", 0); seed != 0) return simulation(seed).run();
    for (std::uint64_t seed = 1; seed <= number_of("LATCHKEY_SEEDS", 40); ++seed) {
        simulation(seed).run();
        if (testing::Test::HasFailure()) FAIL() << "LATCHKEY_SEED=" << seed;
    }
}

}  // namespace
}  // namespace latchkey::delivery
