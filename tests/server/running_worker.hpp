// A whole worker on its own thread and on a real socket of the loopback, with everything that it
// stands on as the service makes it. Its store is a new one with a key that may do anything, a
// user, and the posts that are asked for.
//
//     running_worker service({.overload_queued_mib = 1}, 40, 16 * 1024);
//     connect to service.where(); send service.get("/users/1")
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/worker.hpp"

namespace latchkey::server {

// A socket that is connected there; a read that brings nothing for 20 s fails. With
// `receive_bytes` no more than about that fits between the two programs.
int connected_to(listen_address const& where, int receive_bytes = 0);

class running_worker {
  public:
    explicit running_worker(config const& settings = {}, std::size_t posts = 0,
                            std::size_t post_bytes = 0);
    ~running_worker();
    running_worker(running_worker const&) = delete;
    running_worker& operator=(running_worker const&) = delete;

    listen_address const& where() const { return socket_->where(); }
    std::string const& key() const { return key_; }
    // For other workers beside it.
    common& shared() { return *common_; }
    worker_metrics const& metrics() const { return worker_->metrics(); }
    // A GET of a path below /api/v1, with the key.
    std::string get(std::string_view path) const;

  private:
    void fill_store(std::size_t posts, std::size_t post_bytes);

    std::filesystem::path folder_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<store::writer> writer_;
    std::unique_ptr<limit::buckets> buckets_;
    std::unique_ptr<limit::failures> failures_;
    std::unique_ptr<auth::seal> cursors_;
    address_counts open_by_address_{0, 0, 0};
    std::unique_ptr<log_thread> log_;
    tls::signing_thread signer_;
    std::unique_ptr<common> common_;
    std::unique_ptr<worker> worker_;
    std::optional<listening> socket_;
    std::string key_;
};

}  // namespace latchkey::server
