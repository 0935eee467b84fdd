// The management listener (docs/api.md §13): plain HTTP/1.1 for health checks and Prometheus. Runs
// on the thread that calls `run`, which never blocks. Up to 16 connections; a further one replaces
// the one that has been idle for longest, so idle clients cannot lock out health checks.
//
//     auto listener = management::open(*address, [](http::request const& request,
//                                                   http::response& response) {
//         response.body = "ok\n";
//     });
//     poll on listener->fd() until listener->next(); then listener->run(now);
//
// The same guard and parser as for the API, and no authentication: whatever reaches the address may
// read.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "server/process/listener.hpp"
#include "wire/http/request.hpp"
#include "wire/http/response.hpp"

namespace latchkey::server {

class management {
  public:
    // Renders the response to a GET or HEAD; `response` is empty.
    using page_handler =
        std::function<void(http::request const& request, http::response& response)>;

    static base::result<std::unique_ptr<management>> open(listen_address const& address,
                                                          page_handler handler);
    // On sockets that are open.
    static base::result<std::unique_ptr<management>> serve(listen_sockets socket,
                                                           page_handler handler);
    ~management();
    management(management const&) = delete;
    management& operator=(management const&) = delete;

    listen_address const& address() const { return socket_.address(); }
    listen_sockets const& sockets() const { return socket_; }
    // Its sockets, which a predecessor handed over, are this process's.
    void keep();
    // A successor accepts instead. Who is connected is answered, and asked to connect again.
    void hand_over();
    // Readable when `run` has something to do; an epoll descriptor.
    int fd() const { return epoll_.get(); }
    // The next deadline of a slow client, when `run` is needed without an event; 0: none.
    base::mono_ns next() const;
    // Serves everything that is ready, without blocking.
    void run(base::instant now);

  private:
    struct client;
    explicit management(listen_sockets socket, page_handler handler);
    void accept_all(base::instant now);
    void read(client& connection, base::instant now);
    void answer_all(client& connection, base::instant now);
    void answer(client& connection, http::request const& request, bool keep_alive,
                base::instant now);
    void refuse(client& connection, base::problem problem, base::instant now);
    void write(client& connection, base::instant now);
    void end(client& connection);

    static constexpr std::size_t clients_max = 16;

    listen_sockets socket_;
    page_handler handler_;
    base::descriptor epoll_;
    bool is_handed_over_ = false;
    base::mono_ns accepts_again_ = 0;  // paused: no descriptor was free; 0: accepting
    http::request request_;
    std::vector<std::unique_ptr<client>> clients_;
};

}  // namespace latchkey::server
