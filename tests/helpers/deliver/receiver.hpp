// A receiver of webhooks on 127.0.0.1, over TLS with a certificate of its own or in clear text. The
// path of a request tells it what to do:
//
//     /ok                200, "ok"                  /status/500   that status
//     /big/N             200, N bytes               /cut/N        200, N bytes are missing
//     /location          302 to /ok                 /hang         no answer
//     /retry             503, the Retry-After set   /garbage      what is no HTTP
//     /close             ends the connection        /head/N       a head of N bytes and more
//     /interim           103, then 204
//
// A thread for each connection. What it has received can be asked for from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/system/descriptor.hpp"
#include "wire/tls/certificate_chain.hpp"
#include "wire/tls/ticket_keys.hpp"

namespace latchkey::deliver {

struct received_request {
    std::string head;  // request line and fields
    std::string body;
};

class receiver {
  public:
    // Null: clear text.
    explicit receiver(std::shared_ptr<tls::identity const> identity);
    ~receiver();
    receiver(receiver const&) = delete;
    receiver& operator=(receiver const&) = delete;

    // "https://127.0.0.1:PORT" and the path.
    std::string url(std::string const& path) const;
    std::uint16_t port() const { return port_; }
    std::size_t connections() const { return connections_; }
    std::vector<received_request> requests() const;
    std::size_t count() const { return requests().size(); }
    void set_retry_after(std::string const& value);

  private:
    struct stream;
    void accept_all();
    void serve(int socket);
    bool answer(stream& peer, received_request const& request);

    std::shared_ptr<tls::identity const> identity_;
    std::shared_ptr<tls::ticket_keys const> tickets_ = tls::ticket_keys::make();
    base::descriptor listener_;
    std::uint16_t port_ = 0;
    std::atomic<std::size_t> connections_ = 0;
    mutable std::mutex mutex_;
    std::vector<received_request> requests_;
    std::string retry_after_;
    std::list<int> sockets_;  // open ones
    std::list<std::thread> threads_;
    std::thread acceptor_;
    bool is_over_ = false;
};

}  // namespace latchkey::deliver
