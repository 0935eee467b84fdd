#include "quota_simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace latchkey::cluster {
namespace {

__extension__ typedef __int128 wide;

constexpr real_ns lease_ns = 5 * base::second;
constexpr real_ns patch_spread = 50 * base::millisecond;
constexpr real_ns second = base::second, millisecond = base::millisecond;

limit::policy prepare(std::vector<model::rate_limit> const& limits) {
    std::array<std::uint8_t, model::rate_limits_max> const slots = {0, 1, 2, 3, 4, 5, 6, 7};
    return limit::prepare(limits, std::span(slots).first(limits.size()));
}

}  // namespace

struct simulation::node {
    struct waiting_request {
        std::size_t key = 0;
        quota_ticket ticket;
        real_ns start = 0;
    };

    std::size_t index = 0;
    std::string name;
    std::int64_t boot = 0, drift = 0;  // of its clock; drift in millionths
    bool runs = false;
    std::uint64_t process = 0;
    std::unique_ptr<class quota> quota;
    std::unique_ptr<quota_purse> purse;
    std::vector<limit::policy> policies;
    std::vector<real_ns> patch_times;  // of the last change of each
    std::vector<waiting_request> parked;
    real_ns cut_end = 0;    // until then the engine is out of reach
    real_ns pause_end = 0;  // until then nothing of it runs
    real_ns lease_end = 0;  // in real time
    real_ns alive_end = 0;  // of the lease of any of its processes
    real_ns turn_time = 0;  // of the event that is due

    boot_ns local(real_ns time) const {
        return boot + time + static_cast<std::int64_t>(wide{time} * drift / 1'000'000);
    }
    real_ns real(boot_ns time) const {
        return static_cast<real_ns>(wide{time - boot} * 1'000'000 / (1'000'000 + drift));
    }
};

simulation::simulation(scenario const& settings)
    : settings_(settings), random_(settings.seed * 0x9e3779b97f4a7c15) {
    now_ = second;
    constexpr real_ns latencies[] = {300'000, millisecond, 3 * millisecond, 15 * millisecond,
                                     60 * millisecond};
    latency_ = settings.latency != 0 ? settings.latency : latencies[below(std::size(latencies))];
    for (std::size_t i = 0; i < settings_.nodes; ++i) {
        auto& added = *nodes_.emplace_back(std::make_unique<node>());
        added.index = i;
        added.name = std::string(1, static_cast<char>('a' + i));
        added.boot = static_cast<std::int64_t>(below(1'000'000)) * second + second;
        added.drift = static_cast<std::int64_t>(below(201)) - 100;
        added.process = 1;
    }
    choose_keys();
    for (auto& each : nodes_) {
        for (auto const& key : keys_) each->policies.push_back(prepare(key.limits));
        at(now_ + static_cast<real_ns>(below(300)) * millisecond, [this, &each] { start(*each); });
        each->patch_times.resize(keys_.size());
        for (std::size_t key = 0; key < keys_.size(); ++key) begin_requests(*each, key);
    }
    if (settings_.has_faults) choose_faults();
    if (settings_.cut_end != 0)
        at(settings_.cut_start, [this] { nodes_[0]->cut_end = settings_.cut_end; });
}

simulation::~simulation() = default;

void simulation::at(real_ns time, std::function<void()> act) {
    events_.push({std::max(time, now_), ++sequence_, std::move(act)});
}

void simulation::run() {
    real_ns const end = second + settings_.duration;
    while (!events_.empty() && events_.top().time < end) {
        auto const next = events_.top();
        events_.pop();
        now_ = next.time;
        next.act();
    }
    for (auto& each : keys_) each.epochs.back().end = end;
}

real_ns simulation::latency() {
    auto const scale = static_cast<std::uint64_t>(latency_);
    auto const usual = static_cast<real_ns>(scale / 2 + below(scale));
    if (!settings_.has_faults || !one_in(60)) return usual;
    return one_in(4) ? static_cast<real_ns>(below(20'000)) * millisecond
                     : static_cast<real_ns>(below(400)) * millisecond;
}

void simulation::choose_keys() {
    auto const add = [&](std::vector<model::rate_limit> limits, std::vector<double> demand) {
        keys_.push_back({.limits = limits, .epochs = {{limits, now_, 0}}});
        demand_.push_back(std::move(demand));
    };
    if (!settings_.limits.empty()) return add(settings_.limits, settings_.demand);
    static constexpr struct {
        std::uint32_t limit, window, burst;
    } kinds[] = {{600, 60, 0}, {100, 1, 0}, {20, 1, 5}, {100, 10, 0},
                 {10, 60, 0},  {1, 1, 0},   {64, 1, 0}, {200, 1, 400}};
    auto const count = 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<model::rate_limit> limits;
        double rate = 1e9;
        for (std::size_t rule = 0; rule < 1 + below(2); ++rule) {
            auto const& kind = kinds[below(std::size(kinds))];
            limits.push_back({.name = std::string(1, static_cast<char>('a' + rule)),
                              .limit = kind.limit,
                              .window_seconds = kind.window,
                              .burst = kind.burst});
            rate = std::min(rate, static_cast<double>(kind.limit) / kind.window);
        }
        std::vector<double> demand;
        double const scale = rate * (0.2 + static_cast<double>(below(40)) / 10);
        for (std::size_t node = 0; node < settings_.nodes; ++node)
            demand.push_back(scale * static_cast<double>(1 + below(10)) / 10);
        add(limits, demand);
    }
}

// ---- faults

void simulation::choose_faults() {
    auto const count = 2 + below(10);
    for (std::size_t i = 0; i < count; ++i)
        choose_fault(2 * second +
                     static_cast<real_ns>(below(static_cast<std::uint64_t>(settings_.duration))));
}

void simulation::choose_fault(real_ns time) {
    auto const duration =
        static_cast<real_ns>(100 + below(one_in(3) ? 15'000 : 3000)) * millisecond;
    auto& target = *nodes_[below(nodes_.size())];
    switch (below(7)) {
        case 0:  // the engine stands still, or is away
            at(time, [this, duration, loses = one_in(2)] {
                engine_stop_ = now_ + duration;
                loses_ = loses;
            });
            break;
        case 1:  // fails over to a server with another time of day
            at(time, [this, jump = static_cast<std::int64_t>(below(600)) - 300] {
                engine_clock_ += jump * second;
            });
            break;
        case 2:
        case 3:  // one node loses the engine
            at(time, [this, &target, duration] { target.cut_end = now_ + duration; });
            break;
        case 4:  // one node ends and comes back
            at(time, [this, &target, duration] {
                end(target);
                at(now_ + duration, [this, &target] { start(target); });
            });
            break;
        case 5:  // one node is stopped, perhaps while the engine is away
            at(time, [this, &target, duration, both = one_in(2)] {
                target.pause_end = now_ + duration;
                if (both) engine_stop_ = now_ + duration * 3 / 4;
            });
            break;
        default:
            patch(below(keys_.size()), time);
    }
}

void simulation::patch(std::size_t key, real_ns time) {
    at(time, [this, key] {
        auto& report = keys_[key];
        auto limits = report.epochs.back().limits;
        auto& rule = limits[below(limits.size())];
        auto const full = rule.burst != 0 ? rule.burst : rule.limit;
        rule.limit =
            std::max<std::uint32_t>(1, rule.limit * static_cast<std::uint32_t>(1 + below(8)) / 4);
        rule.burst = one_in(2) ? 0 : std::max<std::uint32_t>(1, full / 2);
        report.epochs.back().end = now_;
        report.epochs.push_back({limits, now_ + patch_spread, 0});
        for (auto& each : nodes_) each->patch_times[key] = now_;
        for (auto& each : nodes_)
            at(now_ + static_cast<real_ns>(below(patch_spread)), [key, limits, &each, time = now_] {
                if (each->patch_times[key] == time) each->policies[key] = prepare(limits);
            });
    });
}

void simulation::start(node& target) {
    if (target.runs) return;
    target.runs = true;
    ++target.process;
    target.quota =
        quota::make({.node = target.name,
                     .process = target.process << 20,
                     .keys = 64,
                     .wake = [this, &target] { at(now_, [this, &target] { turn(target); }); }})
            .value();
    target.purse = std::make_unique<quota_purse>(*target.quota);
    renew_lease(target);
    turn(target);
}

void simulation::end(node& target) {
    if (!target.runs) return;
    target.runs = false;
    target.lease_end = 0;
    auto const& count = target.quota->count();
    past_.asks += count.asks;
    past_.granted += count.granted;
    target.parked.clear();
    target.purse.reset();
    target.quota.reset();
}

void simulation::renew_lease(node& target) {
    auto const process = target.process;
    if (now_ >= target.cut_end && now_ >= engine_stop_ && now_ >= target.pause_end) {
        auto const end = target.local(now_) + lease_ns;
        target.lease_end = target.real(end);
        target.alive_end = target.lease_end + 1;
        target.quota->hold_lease(end, target.local(now_));
    }
    at(now_ + second, [this, &target, process] {
        if (target.runs && target.process == process) renew_lease(target);
    });
}

// ---- requests

void simulation::begin_requests(node& target, std::size_t key) {
    auto const rate = demand_[key][target.index];
    if (rate <= 0) return;
    std::exponential_distribution<double> gap(rate);
    at(now_ + static_cast<real_ns>(gap(random_) * second), [this, &target, key] {
        if (target.runs && now_ >= target.pause_end) request(target, key);
        begin_requests(target, key);
    });
}

void simulation::request(node& target, std::size_t key) {
    ++keys_[key].requests;
    if (now_ < 61 * second) ++keys_[key].requests_early;
    quota_ticket ticket;
    if (settle(target, key, ticket, now_)) return;
    ++keys_[key].waits;
    target.parked.push_back({key, ticket, now_});
    at(now_ + 1001 * millisecond, [this, &target] { retry(target); });
}

bool simulation::settle(node& target, std::size_t key, quota_ticket& ticket, real_ns start) {
    auto& report = keys_[key];
    auto const now = target.local(now_);
    if (start >= target.pause_end) wait_max_ = std::max(wait_max_, now_ - start);
    if (now_ >= target.lease_end) {
        ++report.behind;
        return true;
    }
    auto const verdict =
        target.purse->admit(static_cast<model::id>(key) + 1, target.policies[key], now, 1, ticket);
    if (verdict.state == quota_state::pending) return false;
    if (verdict.state == quota_state::behind)
        ++report.behind;
    else if (verdict.decision.admitted())
        report.admissions.push_back(now_);
    else
        ++report.refusals;
    return true;
}

void simulation::retry(node& target) {
    if (now_ < target.pause_end) return at(target.pause_end, [this, &target] { retry(target); });
    std::erase_if(target.parked, [&](node::waiting_request& each) {
        return settle(target, each.key, each.ticket, each.start);
    });
}

// ---- node and engine

void simulation::turn(node& target) {
    if (!target.runs) return;
    if (now_ < target.pause_end) return at(target.pause_end, [this, &target] { turn(target); });
    while (auto question = target.quota->next_ask(target.local(now_)))
        deliver(target.index, target.process, std::move(*question));
    auto const next = target.real(target.quota->next_time()) + 1;
    if (target.turn_time > now_ && target.turn_time <= next) return;
    target.turn_time = std::max(next, now_ + millisecond / 10);
    at(target.turn_time, [this, &target, time = target.turn_time] {
        if (target.turn_time == time) turn(target);
    });
}

void simulation::deliver(std::size_t index, std::uint64_t process, quota::question question) {
    if (now_ < nodes_[index]->cut_end && !one_in(30)) return;  // some are on their way
    at(now_ + latency(), [this, index, process, question = std::move(question)] {
        if (now_ >= engine_stop_) return carry_out(index, process, question);
        if (loses_ && !one_in(8)) return;
        at(engine_stop_, [this, index, process, question] { carry_out(index, process, question); });
    });
}

void simulation::carry_out(std::size_t index, std::uint64_t process,
                           quota::question const& question) {
    auto ask = question.ask;
    if (settings_.fault == sabotage::engine_clock && ask.presence != 0)
        ask.clock = now_ + engine_clock_ + 600 * second;
    if (settings_.fault == sabotage::no_reserve) ask.reserve = 0;
    for (auto& want : ask.wants) {
        if (settings_.fault == sabotage::no_hold) want.hold_ns = 0;
        if (settings_.fault == sabotage::no_lag) want.hold_ns -= 250 * millisecond;
    }
    auto const alive = [&](replicate::protocol::quota_member const& member) {
        return is_alive(member);
    };
    auto const answer = replicate::protocol::grant(rows_, ask, nodes_[index]->name, alive);
    auto const& target = *nodes_[index];
    if (now_ < target.cut_end && !one_in(30)) return;
    take_answer(index, process, now_ + latency(), question.id, answer);
}

void simulation::take_answer(std::size_t index, std::uint64_t process, real_ns time,
                             std::uint32_t id, replicate::protocol::quota_answer const& answer) {
    at(time, [this, index, process, answer, id] {
        auto& receiver = *nodes_[index];
        if (!receiver.runs || receiver.process != process) return;
        if (now_ < receiver.pause_end)
            return take_answer(index, process, receiver.pause_end, id, answer);
        receiver.quota->on_answer(id, answer, receiver.local(now_));
        retry(receiver);
        turn(receiver);
    });
}

bool simulation::is_alive(replicate::protocol::quota_member const& member) const {
    auto const& owner = *nodes_[static_cast<std::size_t>(member.name[0] - 'a')];
    return now_ <= owner.alive_end + second;
}

// ---- results

double simulation::excess_max() const {
    double most = -1e9;
    for (auto const& key : keys_)
        for (auto const& epoch : key.epochs)
            for (auto const& limit : epoch.limits)
                most = std::max(most, excess(key.admissions, limit, epoch.start, epoch.end));
    return most;
}

quota::counters simulation::total() const {
    auto sum = past_;
    for (auto const& each : nodes_) {
        if (!each->quota) continue;
        auto const& count = each->quota->count();
        sum.asks += count.asks;
        sum.losses += count.losses;
        sum.granted += count.granted;
        sum.forfeited += count.forfeited;
    }
    return sum;
}

}  // namespace latchkey::cluster
