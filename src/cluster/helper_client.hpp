// The state that the functions of a node share with its thread: the socket, the calls that wait for
// an answer, the rows that have arrived, positions and lease. Guarded by `mutex`; private to the
// layer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "base/system/log.hpp"
#include "cluster/lease.hpp"
#include "cluster/node_options.hpp"
#include "cluster/quota.hpp"
#include "helpers/kit/channel.hpp"

namespace latchkey::cluster {

// Somebody waits for the answer to a request.
struct pending_call {
    std::optional<replicate::protocol::message> answer;
    bool is_lost = false;  // the helper that had it has ended
    bool is_over() const { return answer.has_value() || is_lost; }
};

struct helper_client {
    using lock = std::unique_lock<std::mutex>;

    helper_client(base::descriptor socket, node_options node,
                  std::atomic<boot_ns>& published_lease_end);

    // ---- with the lock

    // The helper is there, the engine is reached and has nothing against this node.
    bool is_usable() const { return is_ready && is_connected && !fatal && !closed; }
    // Sends a message that is no request, or one whose answer comes in parts.
    void send(replicate::protocol::message content, std::uint32_t request = 0);
    // Sends a request and waits for its answer; nullopt: none within the time, or the helper ended.
    std::optional<replicate::protocol::message> call(lock& mutex_lock,
                                                     replicate::protocol::message content,
                                                     base::mono_ns patience);
    // The same in two steps, for several at once.
    void begin_call(pending_call& waiting, replicate::protocol::message content);
    std::uint32_t next_request();
    // False: the time has passed.
    bool wait(lock& mutex_lock, base::mono_ns patience, base::function_ref<bool()> is_over);

    boot_ns now() const { return options.time ? options.time->boot() : read_boot(); }
    void receive_all();
    void publish_lease();
    void try_begin_lease();
    void report_applied();
    // Asks for what the others have applied, until all have that position.
    void watch(std::uint64_t position);
    bool must_report() const { return reported_position != applied || unreported_urgency; }
    // The store has applied the rows up to `position`.
    void note_applied(std::uint64_t position, store::row_nonce const& nonce, bool urgent);
    // Is another row than that one queued at its position?
    bool has_other_row(std::uint64_t position, store::row_nonce const& nonce) const;
    // The engine's log is not the one whose row at `position` this node has.
    void lose_rows(std::uint64_t position, store::row_nonce const& nonce);
    void request_rows() { send(replicate::protocol::tail{followed, followed_nonce}); }
    void drop_rows(std::uint64_t position);
    // No more is read from the socket until the store has applied what arrived.
    bool is_full() const;
    base::error reason_of_silence() const;

    void handle(std::uint32_t request, replicate::protocol::message content);
    void on(replicate::protocol::hello const& hello);
    void on(replicate::protocol::ready const& ready);
    void on(replicate::protocol::failed const& failed);
    void on(replicate::protocol::engine const& engine);
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

    bool is_ready = false;
    bool is_connected = false;
    std::optional<replicate::protocol::ready> last_ready;
    std::optional<replicate::protocol::failed> fatal;
    std::optional<replicate::protocol::failed> complaint;  // not fatal, and the last one
    bool has_no_cluster() const {
        return complaint && complaint->reason == replicate::protocol::failure::no_cluster;
    }
    std::string engine_text;

    std::uint32_t last_request = 0;
    std::map<std::uint32_t, pending_call*> calls;
    std::uint32_t parts_request = 0;  // whose answer comes in parts
    std::deque<replicate::protocol::message> parts;
    std::size_t parts_taken = 0;

    bool follows = false;
    std::uint64_t followed = 0;  // position of the last row that has arrived or was applied
    store::row_nonce followed_nonce{};
    std::deque<store::log_row> rows;  // not known to be applied, without a gap
    std::size_t row_bytes = 0;
    std::uint64_t head = 0;
    bool reserves = false;  // nobody else can append at the moment, or soon

    std::uint64_t applied = 0;
    std::uint64_t reported_position = 0;  // of it, what the helper knows
    bool unreported_urgency = false;
    boot_ns report_time = 0;
    cluster::lease lease;
    bool wants_lease = false;
    bool leases = false;           // others wait for this node
    std::uint64_t lease_from = 0;  // position at which it is near enough to the head to begin
    std::uint64_t watched = 0;
    replicate::protocol::confirmed confirmed;
    std::vector<replicate::protocol::node_state> nodes;
    std::uint64_t appends = 0, losses = 0, unknowns = 0;

    std::unique_ptr<cluster::quota> quota;  // null: this process charges no keys
    bool quota_attached = false;            // to the node's thread
    std::uint32_t quota_request = 0;        // that is awaited
    std::uint32_t quota_question = 0;
    boot_ns quota_lease_end = 0;  // that the quota knows

    // A mutex beside `mutex`, held while the store or the workers are woken; these call nothing of
    // the log.
    std::mutex wake_mutex;
    std::function<void()> wake;
    std::function<void()> wake_workers;

    std::thread thread;
};

}  // namespace latchkey::cluster
