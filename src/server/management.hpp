// The management listener (API §13): plain HTTP/1.1 for probes and for Prometheus, on the thread
// that calls `run`, which never blocks in it. A few connections at a time; when they are all taken
// the one that has been quiet for longest makes room, so nobody can shut probes out by waiting.
//
//     auto made = management::open(*where, [](http::request const& asked, http::response& answer) {
//         answer.body = "ok\n";
//     });
//     poll on made->fd() until made->next(); then made->run(now);
//
// The same guard and parser as for the world, and no credentials: whoever reaches the address may
// read.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/request.hpp"
#include "http/response.hpp"
#include "server/listener.hpp"

namespace latchkey::server {

class management {
  public:
    // Makes the answer of a GET or HEAD; `answer` is clear.
    using page = std::function<void(http::request const& asked, http::response& answer)>;

    static base::result<std::unique_ptr<management>> open(listen_address const& where, page show);
    ~management();
    management(management const&) = delete;
    management& operator=(management const&) = delete;

    listen_address const& where() const { return socket_.where(); }
    // Readable when `run` has something to do; an epoll descriptor.
    int fd() const { return epoll_; }
    // When it has something to do all the same, because a client was too slow; 0: never.
    base::mono_ns next() const;
    // Serves whatever can be served at once.
    void run(base::instant now);

  private:
    struct client;
    explicit management(listening socket, page show);
    void accept_all(base::instant now);
    void read(client& from, base::instant now);
    void answer_all(client& to, base::instant now);
    void answer(client& to, http::request const& asked, bool keep_alive, base::instant now);
    void refuse(client& to, base::problem problem, base::instant now);
    void write(client& to, base::instant now);
    void end(client& which);

    static constexpr std::size_t clients_max = 16;

    listening socket_;
    page show_;
    int epoll_ = -1;
    base::mono_ns accepts_again_ = 0;  // no descriptor was left; 0: accepting
    http::request request_;
    std::vector<std::unique_ptr<client>> clients_;
};

}  // namespace latchkey::server
