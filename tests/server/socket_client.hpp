// A client on a real socket that blocks: sends bytes, takes whole responses. A read that brings
// nothing for 20 s fails.
//
//     socket_client client(service.address());
//     auto const response = client.ask(request);      // "HTTP/1.1 200 OK\r\n…", empty: the end
//     EXPECT_EQ(socket_client::status_of(response), 200);
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "server/process/listen_address.hpp"

namespace latchkey::server {

struct client_options {
    // About so much fits between the two programs, so that the server has to keep the rest.
    int receive_bytes = 0;
    char const* local_address = nullptr;  // of IPv4, to connect from
    bool may_be_refused = false;          // else a connection that is not made is a failure
};

class socket_client {
  public:
    explicit socket_client(listen_address const& server, client_options options = {});
    ~socket_client();
    socket_client(socket_client&& other) noexcept;
    socket_client& operator=(socket_client&& other) noexcept;

    // False: nothing accepts connections there.
    bool connected() const { return connected_; }
    int fd() const { return fd_; }

    // False: not all of it went out.
    bool send(std::string_view bytes) const;
    // The next response with its content; empty where the connection ends before it is whole.
    // `pause`: how long to wait before each piece of at most `piece_bytes`.
    std::string receive(std::size_t piece_bytes = 64 * 1024, std::chrono::milliseconds pause = {});
    std::string ask(std::string_view request) { return send(request) ? receive() : std::string(); }

    // The status of the response; 0 where the connection ends instead.
    int status(std::string_view request) {
        (void)send(request);  // the server may have ended the connection in the middle
        return status_of(receive());
    }
    static int status_of(std::string_view response);  // 0 of an empty one
    static std::string_view content_of(std::string_view response);

    // The server has given the connection up; what it sent before may still be there.
    bool hung_up() const;
    // Reads what is left. True: it was ended by a reset.
    bool ends_with_reset();

  private:
    bool receive_piece(std::size_t bytes_max);

    int fd_ = -1;
    bool connected_ = false;
    int error_ = 0;
    std::string received_;  // and not returned
};

}  // namespace latchkey::server
