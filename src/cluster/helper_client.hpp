// The state that the functions of a node share with its thread: the socket, the calls that wait for
// an answer, the rows that have arrived, positions and lease. Guarded by `mutex`; private to the
// layer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "base/system/log.hpp"
#include "cluster/call_table.hpp"
#include "cluster/engine_state.hpp"
#include "cluster/followed_log.hpp"
#include "cluster/lease.hpp"
#include "cluster/node_options.hpp"
#include "cluster/quota.hpp"
#include "helpers/kit/channel.hpp"

namespace latchkey::cluster {

// How far this node has applied the log, and what the helper knows of it.
struct applied_report {
    std::uint64_t position = 0;
    std::uint64_t reported = 0;
    bool is_urgent = false;  // somebody waits for what is not reported
    boot_ns time = 0;        // of the last report
    bool is_due() const { return reported != position || is_urgent; }
};

// What the tokens of this node need of the engine, on the node's thread.
struct token_asks {
    std::unique_ptr<cluster::quota> quota;  // null: this process charges no keys
    bool is_attached = false;               // to the node's thread
    std::uint32_t request = 0;              // that is awaited
    std::uint32_t question = 0;
    boot_ns lease_end = 0;  // that the quota knows
};

struct helper_client {
    using lock = std::unique_lock<std::mutex>;

    helper_client(base::descriptor socket, node_options node,
                  std::atomic<boot_ns>& published_lease_end);

    // ---- with the lock

    // The helper is there, the engine is reached and has nothing against this node.
    bool is_usable() const { return engine.is_usable() && !closed; }
    // Sends a message that is no request, or one whose answer comes in parts.
    void send(replicate::protocol::message content, std::uint32_t request = 0);
    // Sends a request and waits for its answer; nullopt: none within the time, or the helper ended.
    std::optional<replicate::protocol::message> call(lock& mutex_lock,
                                                     replicate::protocol::message content,
                                                     base::mono_ns patience);
    // False: the time has passed.
    bool wait(lock& mutex_lock, base::mono_ns patience, base::function_ref<bool()> is_over);

    boot_ns now() const { return options.time ? options.time->boot() : read_boot(); }
    void receive_all();
    void publish_lease();
    void try_begin_lease();
    void report_applied();
    // Asks for what the others have applied, until all have that position.
    void watch(std::uint64_t position);
    // The store has applied the rows up to `position`.
    void note_applied(std::uint64_t position, store::row_nonce const& nonce, bool urgent);
    // The engine's log is not the one whose row at `position` this node has.
    void lose_rows(std::uint64_t position, store::row_nonce const& nonce);
    void request_rows() { send(replicate::protocol::tail{followed.position(), followed.nonce()}); }
    // No more is read from the socket until the store has applied what arrived.
    bool is_full() const;
    base::error reason_of_silence() const;

    void handle(std::uint32_t request, replicate::protocol::message content);
    void on(replicate::protocol::hello const& hello);
    void on(replicate::protocol::ready const& ready);
    void on(replicate::protocol::failed const& failed);
    void on(replicate::protocol::engine const& news);
    void on(replicate::protocol::rows& arrived);
    void on(replicate::protocol::lease const& renewal);
    void on(replicate::protocol::confirmed const& positions);
    void on(replicate::protocol::nodes& list);
    void on(auto const&) {}  // an answer that nobody waits for any more
    void drop_calls();
    void log(base::severity level, std::string const& sentence) const;

    void release_position();  // that was or may be reserved
    void wake_store();
    // Any thread, with or without the lock: the node's thread is to look again.
    void wake_thread() const;

    // ---- limits across nodes (link_quota.cpp), on the node's thread
    bool can_ask() const;
    // When tokens may have to be asked for, if nothing happens.
    boot_ns next_ask_time() const;
    void ask_for_tokens();
    void take_tokens(replicate::protocol::message const& content);
    void tell_tokens();

    node_options const options;
    std::atomic<boot_ns>& published_lease_end;

    std::mutex mutex;
    std::condition_variable change;
    kit::channel channel;
    base::descriptor wakes;  // eventfd: the thread is to look at the socket again, or to end
    bool stopping = false;
    std::optional<base::error> closed;  // the socket is of no use any more

    engine_state engine;
    call_table calls;
    followed_log followed;
    std::uint64_t head = 0;
    bool reserves = false;  // nobody else can append at the moment, or soon

    applied_report applied;
    cluster::lease lease;
    bool wants_lease = false;
    bool leases = false;           // others wait for this node
    std::uint64_t lease_from = 0;  // position at which it is near enough to the head to begin
    std::uint64_t watched = 0;
    replicate::protocol::confirmed confirmed;
    std::vector<replicate::protocol::node_state> nodes;
    std::uint64_t appends = 0, losses = 0, unknowns = 0;

    token_asks tokens;

    // A mutex beside `mutex`, held while the store or the workers are woken; these call nothing of
    // the log.
    std::mutex wake_mutex;
    std::function<void()> wake;
    std::function<void()> wake_workers;

    std::thread thread;
};

}  // namespace latchkey::cluster
