// Which change is sent to which webhook when, over all webhooks: reads the feed for them, shares
// what may be in flight between them, and collects what is to be committed. No I/O and no clock.
// Belongs to one thread.
//
//     schedule.read(feed, now);                               // new changes, replays
//     while (auto const attempt = schedule.take_attempt(now)) … schedule.weigh(…), send …
//     schedule.finish(std::move(result), now);                // what became of one
//     auto const reports = schedule.take_reports(now); … commit … schedule.settle(true);
//     … wait until schedule.next_time(now), a result, or a new change …
//
// Each webhook may have one attempt in flight; more of them come from what is shared, of which one
// may have up to an eighth of what is left, and all those of one owner as much as is left (dynamic
// thresholds, Choudhury and Hahne 1998). Bytes in flight are shared in the same way, those of the
// first attempts too. So receivers that hang cannot take what others need.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "delivery/webhook_queue.hpp"

namespace latchkey::delivery {

class delivery_schedule {
  public:
    static constexpr std::size_t shared_in_flight_max = 512;
    static constexpr std::size_t bytes_in_flight_max = 64 * base::limits::mib;  // about
    static constexpr std::size_t results_max = 4096;        // uncommitted: then nothing is sent
    static constexpr std::size_t results_per_commit = 500;  // about
    static constexpr std::size_t changes_per_read = 4096;   // of one `read`, for each purpose

    struct counters {
        std::uint64_t delivered = 0, failed = 0;  // deliveries
        std::uint64_t attempts_failed = 0;
    };
    struct state {
        std::size_t webhook_count = 0;  // webhooks
        std::size_t enabled = 0;        // of those, not retired
        std::size_t in_flight = 0, pending = 0;
        model::id slowest = 0;  // the least position of those
    };

    // Numbers of attempts follow `last_number`.
    explicit delivery_schedule(std::uint64_t seed, std::uint64_t last_number = 0)
        : jitter_(seed), last_number_(last_number) {}
    delivery_schedule(delivery_schedule const&) = delete;
    delivery_schedule& operator=(delivery_schedule const&) = delete;

    // Webhooks, which must be enabled. One that was retired is there until nothing of it is left to
    // be committed; what is added then must be read from the store after that.
    bool has(model::id webhook) const { return find(webhook) != nullptr; }
    void add(model::webhook const& webhook, model::webhook_progress const& progress,
             std::vector<pending_delivery> pending, std::span<model::webhook_replay const> replays);
    void update(model::webhook const& webhook, std::span<model::webhook_replay const> replays);
    // Retires those that are not among `enabled`, which ascends.
    void keep_only(std::span<model::id const> enabled);

    // True: there is more to be read, once this is sent.
    bool read(change_feed const& feed, base::wall_ms now);
    // False: so much is uncommitted that nothing is to be sent.
    bool may_send() const { return uncommitted() < results_max; }
    // The next one, from each webhook by turns; nullopt: none may be sent now.
    std::optional<attempt> take_attempt(base::instant const& now);
    // The bytes that one in flight has, which count as its webhook's and its owner's.
    void weigh(std::uint64_t number, std::size_t bytes);
    // Results of attempts that are not in flight any more are ignored.
    void finish(attempt_result&& result, base::wall_ms now);
    void give_back(std::uint64_t number);                   // it was not sent
    void give_back_all();                                   // nobody knows what became of any
    void abandon(std::uint64_t number, base::wall_ms now);  // the change is no longer kept

    // One report per webhook that has something to be committed, empty: none has, or the last ones
    // were not settled. They are kept until `settle`, and given again unless they were committed.
    std::vector<report> take_reports(base::wall_ms now);
    void settle(bool committed);

    std::size_t uncommitted() const;    // results, besides those that were taken
    base::wall_ms report_time() const;  // when there is something to be taken; no_time: not yet

    // When an attempt is due unless something else happens first; no_time: never.
    base::wall_ms next_time(base::instant const& now);
    std::uint64_t last_number() const { return last_number_; }
    counters const& count() const { return counters_; }
    state look() const;

  private:
    // Whose webhooks they are: a project, or a key that belongs to none.
    using owner_name = std::pair<std::string, model::id>;
    struct owner {
        std::size_t webhook_count = 0;
        std::size_t shared = 0;  // in flight, beside one of each webhook
        std::size_t bytes = 0;   // in flight
    };
    struct slot {
        slot(webhook_queue&& content, owner& holder) : queue(std::move(content)), holder(holder) {}
        webhook_queue queue;
        owner& holder;
        std::size_t bytes = 0;          // in flight
        bool is_current = false;        // one of current_
        std::uint64_t last_number = 0;  // of its attempts
    };
    struct flight {
        model::id webhook = 0, sequence = 0;
        std::size_t bytes = 0;
    };
    slot* find(model::id webhook) const;
    bool read_new(change_feed const& feed, base::wall_ms now);
    void offer_to_current(change const& change, base::wall_ms now);
    bool catch_up(slot& slot, change_feed const& feed, std::size_t& budget, base::wall_ms now);
    bool read_replays(webhook_queue& queue, change_feed const& feed, std::size_t& budget,
                      base::wall_ms now);
    bool may_have(slot const& slot) const;
    webhook_queue* land(std::uint64_t number, model::id& sequence);
    void remove_finished();

    jitter jitter_;
    std::map<owner_name, owner> owners_;        // of `slots_`
    std::vector<std::unique_ptr<slot>> slots_;  // ascending ids
    std::vector<slot*> current_;                // those that have read up to `head_`
    model::id head_ = 0;
    std::size_t first_ = 0, first_read_ = 0, first_report_ = 0;  // round robin
    std::size_t shared_ = 0;  // in flight, beside one of each webhook
    std::size_t bytes_ = 0;   // in flight
    std::uint64_t last_number_;
    std::unordered_map<std::uint64_t, flight> flights_;
    std::vector<model::id> committing_;
    counters counters_;
};

}  // namespace latchkey::delivery
