// Rate limits across the nodes of a cluster, on a node: tokens are granted by the engine ahead of
// need (helpers/replicate/protocol/quota_grant.hpp) and spent without asking anybody. Without I/O
// and clocks: time is an argument (CLOCK_BOOTTIME, so that tokens do not survive the sleep of a
// machine).
//
//     on a worker, in the place of limit::leases::admit:
//         auto const verdict = purse.admit(key, policy, now, 1, ticket);   // quota_purse.hpp
//         pending: keep the ticket, try again when there is news; it is pending for 1 s at most
//         behind:  503                                    else as limit::decision says
//     on the thread that owns the channel to the helper, at `next_time` and after `wake`:
//         while (auto question = quota.next_ask(now)) … send it
//         quota.on_answer(id, answer, now) … then tell the workers that there is news
//
// The promise: of each limit, at most burst + t / T tokens are spent in any interval of t, by all
// nodes together and whatever fails. docs/decisions/cluster-limits.md has the reasons.
//
// A decision's levels are those of the bucket in the engine when it last answered, and the tokens
// that this node still has of it: others may have taken some since.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/thread_checker.hpp"
#include "cluster/quota_clock.hpp"
#include "cluster/quota_key.hpp"
#include "cluster/quota_members.hpp"
#include "cluster/quota_table.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"
#include "limit/decision.hpp"
#include "limit/policy.hpp"

namespace latchkey::cluster {

enum class quota_state : std::uint8_t {
    decided,
    pending,  // try again with the same ticket when there is news
    behind    // neither tokens nor a share: 503
};
struct quota_verdict {
    quota_state state = quota_state::decided;
    limit::decision decision;
};
// The state of one request while it waits for tokens.
struct quota_ticket {
    boot_ns start = 0;
    std::uint64_t answers = 0;
};

struct quota_options {
    std::string node;
    std::uint64_t process = 1;  // higher for each start of the node: its time in ms
    std::uint64_t keys = quota_table::keys_max;
    std::function<void()> wake = [] {};  // on any thread: something is to be asked for
};

class quota {
  public:
    static base::result<std::unique_ptr<quota>> make(quota_options options);

    // ---- any thread; no allocation for a key in use, no system call; locks only without tokens
    quota_verdict admit(model::id key, limit::policy const& policy, boot_ns now, std::uint32_t cost,
                        quota_ticket& ticket);
    // Fetches the cache lines that a charge of the key touches. Only a hint.
    void prefetch(model::id key) const;
    // Takes `tokens` tokens for one worker, if the key has at least four times as many. Returns the
    // time at which they end; 0: it has not, and none are taken.
    boot_ns take(model::id key, limit::policy const& policy, boot_ns now, std::uint32_t tokens);
    limit::decision levels(model::id key, limit::policy const& policy, boot_ns now,
                           std::uint32_t own) const;
    // Requests that were admitted by this node's share, without the engine.
    std::uint64_t share_charges() const { return share_charges_.load(std::memory_order_relaxed); }

    // ---- one thread
    // The calling thread is the one from now on.
    void attach() { thread_.attach(); }
    struct question {
        std::uint32_t id = 0;
        replicate::protocol::quota_ask ask;
    };
    // The question to send now; nullopt: there is none, or an answer is awaited.
    std::optional<question> next_ask(boot_ns now);
    // The time at which a question may be due, if nothing happens before.
    boot_ns next_time() const;
    void on_answer(std::uint32_t id, replicate::protocol::quota_answer const& answer, boot_ns now);
    // No answer will come; whether the ask was carried out is not known.
    void on_lost(std::uint32_t id, boot_ns now);
    // How long this node may answer requests. After a gap it begins anew.
    void hold_lease(boot_ns end, boot_ns now);

    struct counters {
        std::uint64_t asks = 0;
        std::uint64_t losses = 0;     // asks without an answer
        std::uint64_t granted = 0;    // tokens
        std::uint64_t forfeited = 0;  // tokens that were not spent in time
    };
    counters const& count() const { return count_; }

  private:
    struct stripe {
        std::mutex mutex;
        std::unordered_map<model::id, quota_key> keys;
        std::vector<model::id> reports;  // keys to be asked for
    };
    struct ask_state {
        std::uint32_t id = 0;
        boot_ns start = 0;
        bool joins = false;
        std::vector<model::id> keys;  // for which tokens are wanted
    };
    static constexpr std::size_t stripes = 64;
    static constexpr boot_ns never = std::numeric_limits<boot_ns>::max();

    quota(quota_options options, std::unique_ptr<quota_table> table);

    stripe& stripe_of(model::id key) { return stripes_[static_cast<std::uint64_t>(key) % stripes]; }
    void report(stripe& place, quota_entry& entry, model::id key);
    void report_now(quota_entry& entry, model::id key);
    quota_verdict wait(model::id key, limit::policy const& policy, boot_ns now, std::uint32_t cost,
                       quota_ticket& ticket, bool& must_wake);
    quota_verdict spend_share(quota_key& key, boot_ns now, std::uint32_t cost, boot_ns start);
    limit::decision refuse(model::id key, limit::policy const& policy, boot_ns now,
                           std::uint32_t cost) const;

    question send(boot_ns now, replicate::protocol::quota_ask ask);
    void leave_share(boot_ns now);
    void collect(std::vector<replicate::protocol::quota_want>& wants, boot_ns now, bool all);
    bool consider(stripe& place, model::id id, boot_ns now,
                  std::vector<replicate::protocol::quota_want>& wants);
    void deliver(replicate::protocol::quota_grant const& grant, boot_ns start, boot_ns now);
    void end_question(bool again);
    void begin_anew();

    quota_options const options_;
    std::unique_ptr<quota_table> const table_;
    std::array<stripe, stripes> stripes_;
    std::atomic<boot_ns> share_start_{never};  // from then on this node may use its share
    std::atomic<std::uint32_t> share_{0};
    std::atomic<boot_ns> lease_end_{never};
    std::atomic<std::uint64_t> share_charges_{0};

    [[no_unique_address]] base::thread_checker thread_;
    std::uint64_t process_;
    std::uint64_t presence_ = 0;  // number of the last ask that was answered
    bool is_member_ = false;
    bool is_cut_off_ = false;  // the last ask was lost
    std::uint32_t share_low_ =
        replicate::protocol::quota_whole;  // lowest that was asked for by that number
    quota_clock clock_;
    quota_members members_;
    std::optional<ask_state> question_;  // under way
    std::uint32_t last_id_ = 0;
    boot_ns next_heartbeat_ = 0, next_join_ = 0;
    base::mono_ns round_trip_ = 5 * base::millisecond;
    bool has_more_ = false;  // keys that did not fit the last ask
    counters count_;
};

}  // namespace latchkey::cluster
