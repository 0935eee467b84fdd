// The parts of a service and the order in which they begin and end. Private to service.cpp
// and service_handover.cpp. Main thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/main_loop.hpp"
#include "server/observe/heartbeat.hpp"
#include "server/observe/management.hpp"
#include "server/observe/operation_times.hpp"
#include "server/observe/process_stats.hpp"
#include "server/process/clock_watch.hpp"
#include "server/process/cluster_member.hpp"
#include "server/process/handover_listener.hpp"
#include "server/process/key_watch.hpp"
#include "server/process/memory_return.hpp"
#include "server/process/predecessor.hpp"
#include "server/process/reload.hpp"
#include "server/process/sandbox.hpp"
#include "server/process/systemd_notifier.hpp"
#include "server/request_limits.hpp"
#include "server/service_helpers.hpp"
#include "server/worker.hpp"

namespace latchkey::server {

class service {
  public:
    service(config const& configuration, config_reader reader, bool takes_over)
        : takes_over_(takes_over),
          reader_(std::move(reader)),
          worker_config_{std::make_shared<config_snapshot>(configuration), nullptr, nullptr} {}

    base::result<void> start();
    void abandon();  // after a `start` that failed
    void handle_signals();
    void stop();

  private:
    config const& configuration() const { return worker_config_.rules->configuration; }
    base::result<void> make_deliverer();
    base::result<void> open_management();
    base::result<void> open_sockets(unsigned workers);
    base::result<void> start_workers(unsigned count);
    bool wait_for_stop(base::mono_ns patience);
    base::result<void> reload();
    void finish_reload();
    void rotate_ticket_keys();
    void check_once_a_minute();
    void answer_management(http::request const& request, http::response& response);
    void answer_ready(http::response& response);
    void answer_metrics(http::response& response);
    std::size_t connections() const;

    // As a successor (service_handover.cpp).
    base::result<void> meet_predecessor();
    base::result<void> open_store();
    base::result<void> claim_store();
    base::result<void> take_over();
    base::result<void> take_over_node();
    base::result<void> begin_listening();
    void note_end_of_predecessor();
    // As a predecessor.
    void open_handover();
    std::string standing_objection() const;
    void close_handover();
    void offer_sockets();
    std::vector<int> mark_kept_sockets();
    void hand_over();
    std::size_t requests_in_flight() const;

    bool await_connections(base::mono_ns deadline);
    void end_at_once();
    void end_threads();

    bool const takes_over_;
    systemd_notifier notifier_;
    config_reader reader_;
    worker_config worker_config_;
    // A reload that some workers have not acknowledged yet.
    struct pending_reload {
        std::atomic<std::size_t> workers_left;
        std::string summary;
    };
    std::shared_ptr<pending_reload> pending_reload_;
    base::instant const started_ = base::read_clocks();
    std::unique_ptr<main_loop> main_loop_;
    std::unique_ptr<cluster_member> member_;  // null: no node of a cluster
    std::unique_ptr<store::environment> store_;
    request_limits limits_;
    std::unique_ptr<auth::mac> cursors_;
    std::unique_ptr<log_thread> log_;
    std::unique_ptr<tls::signing_thread> signer_;
    std::unique_ptr<predecessor> predecessor_;     // null: none, or it has ended
    std::unique_ptr<handover_listener> handover_;  // null: this one cannot be taken over
    bool is_handed_over_ = false;
    std::vector<listen_sockets> sockets_;
    std::unique_ptr<domain::writer> writer_;
    service_helpers helpers_;
    std::unique_ptr<key_watch> key_watch_;  // null: changes are not recorded
    std::unique_ptr<common> common_;
    heartbeat heartbeat_;
    memory_return memory_;
    std::unique_ptr<process_stats> process_;
    operation_time reload_time_{.success_at = started_.clock};  // the start counts as one
    std::vector<std::unique_ptr<worker>> workers_;
    file_sandbox files_;
    std::uint64_t log_lines_reported_ = 0;  // dropped lines that a warning was printed for
    clock_watch clock_;
};

}  // namespace latchkey::server
