// One worker with its services, in a simulated `world` and on its `kernel`: the store is real and
// new, with users 1 to 3 and `posts` posts, the key is `key`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "../runtime/uring/kernel.hpp"
#include "../runtime/uring/world.hpp"
#include "delayed_commits.hpp"
#include "server/worker.hpp"

namespace latchkey::fake {

inline constexpr std::string_view key = "a.key.that.was.imported.and.is.long.enough";
inline constexpr int users = 3, posts = 60;
std::string user_name(int id);
std::string user_email(int id);
std::string post_body(int id);

class worker_fixture {
  public:
    explicit worker_fixture(world& simulation);
    ~worker_fixture();
    worker_fixture(worker_fixture const&) = delete;
    worker_fixture& operator=(worker_fixture const&) = delete;

    // On this thread, until `stop` was called and the last connection has ended.
    base::result<void> run();
    void stop();
    void abort_all() { worker_->abort_all(); }
    // No connection, request, byte or operation is left.
    void expect_settled() const;

    kernel& simulated_kernel() { return kernel_; }
    int listener() const { return listener_; }
    int proxied_listener() const { return proxied_listener_; }  // a PROXY header comes first
    store::environment& store() { return *store_; }
    bool stopping() const { return stopping_; }

  private:
    void fill_store();

    world& world_;
    kernel kernel_;
    int listener_, proxied_listener_;
    bool stopping_ = false;
    std::filesystem::path folder_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<domain::writer> writer_;
    std::unique_ptr<delayed_commits> commits_;
    std::unique_ptr<limit::buckets> buckets_;
    std::unique_ptr<limit::auth_failure_limiter> failures_;
    std::unique_ptr<auth::mac> cursors_;
    server::address_counts open_by_address_{0, 0, 0};
    std::unique_ptr<server::log_thread> log_;
    tls::signing_thread signer_;
    std::unique_ptr<server::common> common_;
    std::unique_ptr<server::worker> worker_;
};

}  // namespace latchkey::fake
