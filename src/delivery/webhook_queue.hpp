// Decides which changes go to one webhook, and when (api.md §17). No I/O and no clock: changes,
// results and times come as arguments. Memory is bounded by `window_max`, `pending_max` and
// `results_max`.
//
// A change goes through a window: it is sent, and its result is a record that is to be committed
// (`take_report`). One that has failed is pending from then on, with a record, and the position
// may pass it. While `pending_max` of them wait, a further failure is not recorded: the change
// stays in line, and new ones are tried one at a time, 5 s to 5 min apart, until one succeeds.
//
// An ordered webhook has one request at a time, at the lowest sequence that is not done. While its
// receiver is quick and nothing fails, attempts are given out ahead, each to be sent once the one
// before it was delivered: what else happens gives back those that wait.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "delivery/attempt.hpp"
#include "delivery/change_filter.hpp"
#include "delivery/delivery_windows.hpp"
#include "delivery/pace.hpp"
#include "delivery/pending_list.hpp"
#include "delivery/receiver_health.hpp"
#include "delivery/retry.hpp"
#include "delivery/scheduled_change.hpp"

namespace latchkey::delivery {

class webhook_queue {
  public:
    static constexpr std::size_t in_flight_max = 32, ahead_max = 8, window_max = 1024,
                                 pending_max = 1000;
    static constexpr std::size_t results_max = 256;  // that are not committed: then none is sent
    static constexpr base::wall_ms report_interval = 5000;  // of a position that moves by itself

    webhook_queue(model::webhook const& webhook, model::webhook_progress const& progress,
                  std::vector<pending_delivery> pending);

    model::id id() const { return id_; }
    domain::change_types const& types() const { return filter_.types(); }
    model::id position() const { return windows_.latest().position(); }
    std::size_t in_flight() const { return in_flight_; }
    std::size_t pending() const { return pending_.size(); }
    std::size_t results() const { return results_.size(); }

    // A newer record of the webhook, and its replays; known ones are passed over.
    void update(model::webhook const& webhook);
    void replay(std::span<model::webhook_replay const> replays) { windows_.replay(replays); }
    // From now on nothing is sent; results are still reported.
    void retire() { is_retired_ = true; }
    bool is_retired() const { return is_retired_; }
    bool is_ordered() const { return is_ordered_; }
    // Retired, and nothing is left to be heard or committed.
    bool is_over() const {
        return is_retired_ && in_flight_ == 0 && results_.empty() && !committing_;
    }

    // ---- reading: new changes, in order, as long as there is room
    bool has_room() const { return windows_.latest().size() < window_max; }
    model::id last_read() const { return windows_.latest().last(); }
    void offer(change const& change, base::wall_ms now);
    void look_past(model::id sequence) { windows_.latest().look_past(sequence); }
    // The replay that wants changes; null: none does.
    replay_walk* open_replay() { return windows_.open_replay(); }
    // False: there is no room for it. Else it was looked at.
    bool offer_again(replay_walk& walk, change const& change, base::wall_ms now);

    // ---- sending
    // The sequence to be sent now, which is in flight from then on.
    std::optional<model::id> next(base::instant const& now);
    // When `next` may have one without a further result; no_time: then only after one.
    base::wall_ms next_time(base::instant const& now);
    // The state of the delivery from then on.
    model::delivery_state finish(model::id sequence, attempt_result&& result, base::wall_ms now,
                                 jitter& jitter);
    // It was not sent, or nobody knows: it is sent again.
    void give_back(model::id sequence);
    // The change is no longer kept.
    void abandon(model::id sequence, base::wall_ms now);

    // ---- committing: one report at a time
    bool has_report(base::wall_ms now) const;
    base::wall_ms report_time() const;
    report const& take_report(base::wall_ms now);
    void settle(bool committed);  // what `take_report` gave was committed, or must be again

  private:
    bool may_send() const;
    bool is_congested() const { return pending_.size() >= pending_max; }
    bool may_begin(base::wall_ms now) const;
    std::optional<model::id> next_in_order(base::wall_ms now);
    std::optional<model::id> next_of(unsigned kind, base::wall_ms now);
    model::id begin(delivery_window& window);
    bool may_go_ahead();
    model::id begin(pending_delivery& delivery);
    void fail_first(model::id sequence, model::delivery&& record, std::uint32_t retry_after,
                    base::wall_ms now, jitter& jitter);
    model::delivery_state fail_again(pending_delivery& delivery, model::delivery&& record,
                                     std::uint32_t retry_after, base::wall_ms now, jitter& jitter);
    model::change_type close(model::id sequence);
    bool has_moved() const;

    model::id id_;
    change_filter filter_;
    bool is_ordered_ = false;
    bool is_quick_ = false;  // ordered: the last attempt was delivered, soon
    bool is_retired_ = false;
    pace pace_;

    delivery_windows windows_;
    model::id last_begun_ = 0;  // of the changes in them
    pending_list pending_;
    std::size_t in_flight_ = 0, retries_in_flight_ = 0;
    unsigned turn_ = 0;  // of new changes, replays and retries
    receiver_health health_;

    std::vector<model::delivery> results_;
    std::optional<report> committing_;
    model::webhook_progress committed_;
    base::wall_ms last_report_ = 0;
};

}  // namespace latchkey::delivery
