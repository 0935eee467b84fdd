// How a service takes over from its predecessor and hands over to its successor
// (docs/decisions/shutdown.md, process/handover.hpp).
#include <unistd.h>

#include <algorithm>

#include "base/system/log.hpp"
#include "base/time_units.hpp"
#include "server/running_service.hpp"
#include "store/files/shared_claim.hpp"

namespace latchkey::server {
namespace {

using base::second;

// Requests in progress end before the successor answers any, so that one service at a time charges
// the limits; but a slow one keeps no new connection waiting for longer.
constexpr base::mono_ns settle_patience = 100 * base::millisecond;
constexpr base::mono_ns settle_interval = 5 * base::millisecond;
// In a cluster the successor waits until this node has left: idle connections are not kept for
// their next request as long as elsewhere.
constexpr base::mono_ns node_patience = 2 * second;

std::string join(std::vector<std::string> const& words) {
    std::string all;
    for (auto const& each : words) all += (all.empty() ? "" : ", ") + each;
    return all;
}

}  // namespace

// ---- as a successor

base::result<void> service::meet_predecessor() {
    if (!takes_over_) return {};
    auto met = predecessor::meet(configuration().data);
    if (!met) return met.error();
    predecessor_ = std::move(*met);
    return {};
}

base::result<void> service::claim_store() {
    if (predecessor_) return store::share_claim(*store_, predecessor_->take_claim());
    return store_->claim_for_server();
}

base::result<void> service::begin_listening() {
    for (auto& each : sockets_)
        if (auto const listening = each.begin_listening(); !listening) return listening;
    return {};
}

// Everything else has started: what may fail has not. The rate limits are as the predecessor left
// them.
base::result<void> service::take_over() {
    if (!predecessor_) return {};
    auto const left = join(predecessor_->left_addresses());
    if (auto const accepted = predecessor_->announce_ready(); !accepted) return accepted;
    limits_.restore(*store_, configuration().data);
    // The addresses were free when they were bound: an error here is of one that another program
    // has begun to use since, and the others are served.
    if (auto const listening = begin_listening(); !listening)
        base::log(base::severity::failure, listening.error().message);
    if (auto* const management = main_loop_->served()) management->keep();
    for (auto const& each : workers_) each->begin_accepting();
    base::log("took over from process " + predecessor_->pid() +
              (left.empty() ? "" : "; no longer listening on " + left));
    main_loop_->wake_on(predecessor_->fd());
    if (handover_ && standing_objection().empty())
        handover_->object("for now it is itself still taking over from process " +
                          predecessor_->pid());
    return {};
}

// A node of a cluster is one process at a time: its lease, its position in the log and its share of
// the limits. So the predecessor leaves the cluster first, and clients wait meanwhile.
base::result<void> service::take_over_node() {
    if (!member_ || !predecessor_) return {};
    if (auto const accepted = predecessor_->announce_ready(); !accepted) return accepted;
    auto const patience = base::after(base::read_mono(), configuration().stop_grace_seconds);
    if (!predecessor_->await_end(patience + 10 * second))
        return base::error{"process " + predecessor_->pid() +
                           " has handed over, but does not end: end it, and start this one again"};
    store::own_claim(*store_);
    if (auto const joined = member_->join(*store_); !joined) return joined;
    if (auto const listening = begin_listening(); !listening) return listening;
    if (auto* const management = main_loop_->served()) management->keep();
    base::log("took over from process " + predecessor_->pid());
    predecessor_.reset();
    return {};
}

// Work that only one process may do begins now.
void service::note_end_of_predecessor() {
    base::log("process " + predecessor_->pid() + ", which handed over, has ended");
    main_loop_->forget(predecessor_->fd());
    predecessor_.reset();
    store::own_claim(*store_);
    if (auto* const deliverer = helpers_.deliverer()) deliverer->release();
    if (handover_) handover_->object(standing_objection());
}

// Why this process can never be taken over; empty: it can.
std::string service::standing_objection() const {
    if (notifier_.is_managed())
        return "a service manager started it, which keeps its sockets: restart its unit";
    if (::getpid() == 1)
        return "it is process 1, and its container ends with it: replace the container";
    return {};
}

// After a start that failed: workers that began have been accepting since, and a thread of theirs
// ends only once nothing is open. Sockets of a predecessor are left to it as they are.
void service::end_at_once() {
    common_->draining.store(true);
    std::vector<int> queues;
    if (predecessor_)
        for (auto const& each : sockets_) {
            auto const descriptors = each.descriptors();
            queues.insert(queues.end(), descriptors.begin(), descriptors.end());
        }
    for (auto const& each : workers_) {
        each->stop_accepting(queues);
        each->drain();
        each->abort_all();
    }
    end_threads();
}

// ---- as a predecessor

// The service works without it: a file system may have no sockets.
void service::open_handover() {
    auto socket = predecessor_ ? predecessor_->take_handover_socket() : base::descriptor();
    if (!socket.is_open()) {
        auto listener = handover::listen_in(configuration().data);
        if (!listener) {
            base::log(base::severity::warning, listener.error().message +
                                                   ": this service cannot be taken over without "
                                                   "a loss (serve --take-over)");
            return;
        }
        socket = std::move(*listener);
    }
    handover_ = std::make_unique<handover_listener>(std::move(socket));
    handover_->object(standing_objection());
    offer_sockets();
    main_loop_->wake_on(handover_->fd());
}

void service::offer_sockets() {
    std::vector<handover_listener::offered> offers;
    for (auto const& each : sockets_)
        offers.push_back(
            {handover::socket_kind::listener, each.configured_address().url(), each.descriptors()});
    if (auto const* const management = main_loop_->served())
        offers.push_back({handover::socket_kind::management,
                          management->sockets().configured_address().url(),
                          management->sockets().descriptors()});
    offers.push_back({handover::socket_kind::handover, "-", {handover_->socket()}});
    handover_->offer(std::move(offers), store::claim_descriptor(*store_));
}

void service::close_handover() {
    if (!handover_) return;
    main_loop_->forget(handover_->fd());
    handover_->turn_away("it is being stopped: start the new one without --take-over");
    handover_.reset();
    ::unlink((configuration().data + "/" + std::string(handover::file_name)).c_str());
}

// The socket's file is the predecessor's, which goes on.
void service::abandon() {
    if (!predecessor_) close_handover();
}

// Indices are those of the offer: the listeners, then the management listener.
std::vector<int> service::mark_kept_sockets() {
    std::vector<int> queues;
    for (auto const index : handover_->kept()) {
        if (index < sockets_.size()) {
            sockets_[index].hand_over();
            auto const descriptors = sockets_[index].descriptors();
            queues.insert(queues.end(), descriptors.begin(), descriptors.end());
        } else if (auto* const management = main_loop_->served();
                   management != nullptr && index == sockets_.size()) {
            management->hand_over();
        }
    }
    return queues;
}

std::size_t service::requests_in_flight() const {
    std::uint64_t sum = 0;
    for (auto const& each : workers_) sum += each->metrics().in_flight.read();
    return sum;
}

// From here on the successor answers new connections. Those of this process get one more response
// each, which says that it is the last; so no client meets a closed connection.
void service::hand_over() {
    is_handed_over_ = true;
    main_loop_->forget(handover_->fd());
    auto const queues = mark_kept_sockets();
    for (auto const& each : workers_) each->stop_accepting(queues);
    auto const start = base::read_mono();
    do {
        main_loop_->wait(base::read_mono() + settle_interval);
    } while (requests_in_flight() != 0 && base::read_mono() < start + settle_patience);
    if (!member_) limits_.save(*store_, configuration().data);
    for (auto const& each : workers_) each->drain(drain_state::kind::with_notice);
    handover_->let_accept();
    base::log("handed over; connections that are open get their last response");
    await_connections(member_ ? base::read_mono() + node_patience
                              : base::after(base::read_mono(), configuration().stop_grace_seconds));
}

}  // namespace latchkey::server
