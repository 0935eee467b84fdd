// A whole worker on its own thread and on a real socket of the loopback, with everything that it
// depends on as the service makes it. Its store is new, with a key of all scopes, a user and so
// many posts.
//
//     running_worker service({.overload_queued_mib = 1}, 40, 16 * 1024);
//     socket_client(service.address()).ask(service.get("/users/1"))
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/worker.hpp"

namespace latchkey::server {

class running_worker {
  public:
    explicit running_worker(config const& settings = {}, std::size_t posts = 0,
                            std::size_t post_bytes = 0, worker_options options = {},
                            bool speaks_tls = false);
    ~running_worker();
    running_worker(running_worker const&) = delete;
    running_worker& operator=(running_worker const&) = delete;

    listen_address const& address() const { return socket_->address(); }
    std::string const& key() const { return keys_.front(); }
    // For further workers.
    common& shared() { return *common_; }
    worker_metrics const& metrics() const { return worker_->metrics(); }
    // Spans that nobody takes from the worker; with a `tracing_endpoint`.
    std::uint64_t span_losses() const { return worker_->span_ring()->losses(); }
    std::filesystem::path access_log() const { return folder_ / "access.log"; }
    // As a reload does; on return it is in force.
    void use(config const& settings);
    // A GET of a path below /api/v1, with the key, or with another one.
    std::string get(std::string_view path, std::size_t key = 0) const;

  private:
    void fill_store(std::size_t posts, std::size_t post_bytes);

    std::filesystem::path folder_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<domain::writer> writer_;
    std::unique_ptr<limit::buckets> buckets_;
    std::unique_ptr<limit::auth_failure_limiter> failures_;
    std::unique_ptr<auth::mac> cursors_;
    address_counts open_by_address_{0, 0, 0};
    std::unique_ptr<log_thread> log_;
    tls::signing_thread signer_;
    std::unique_ptr<common> common_;
    worker_config config_;
    std::unique_ptr<worker> worker_;
    std::optional<listen_sockets> socket_;
    std::array<std::string, 3> keys_;
};

}  // namespace latchkey::server
