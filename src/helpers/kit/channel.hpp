// Messages over a SOCK_SEQPACKET socket: each is cut into packets of at most 64 KiB and put
// together again. A packet is the size of the whole message (4, big-endian), the place of its bytes
// in it (4) and those bytes. The other side is not trusted: sizes, places and order are checked.
//
// Helpers come and go while the socket stays: a packet with place 0 begins a new message, and an
// unfinished one is dropped; packets of a message whose begin went to another process are skipped.
//
//     kit::channel to_helper(std::move(socket));
//     to_helper.queue(encode({.request = 7, .content = status{}}));
//     auto const flushed = to_helper.flush();               // false: wait for POLLOUT
//     auto const bytes = to_helper.receive();                // empty: wait for POLLIN
//
// Owns its descriptor, which it makes non-blocking. One thread at a time. Errors: the other side
// has closed the socket, or its packets make no sense; the channel is of no use then.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace latchkey::kit {

inline constexpr std::size_t packet_bytes_max = 64 * base::limits::kib;
inline constexpr std::size_t message_bytes_max = 32 * base::limits::mib;

class channel {
  public:
    explicit channel(base::descriptor socket);

    int descriptor() const { return socket_.get(); }

    // Takes a message of 1 to message_bytes_max bytes; sends nothing. Another size is an error of
    // the next `flush`, and of each one until `drop_unsent`.
    void queue(std::string bytes);
    // Sends what the socket takes now. True: nothing is left.
    base::result<bool> flush();
    std::size_t unsent_bytes() const { return unsent_; }
    // For poll(): what there is to wait for.
    short events() const;
    // `flush` or `receive` has returned an error.
    bool is_closed() const { return is_closed_; }
    // Forgets what is queued: it was meant for a helper that has ended.
    void drop_unsent();

    // The next whole message; nullopt: there is none yet.
    base::result<std::optional<std::string>> receive();

    // Blocking forms, until `deadline` on the monotonic clock; passing it is an error for `send`
    // (and nullopt for `receive_until`).
    base::result<void> send(std::string bytes, base::mono_ns deadline);
    base::result<std::optional<std::string>> receive_until(base::mono_ns deadline);

  private:
    base::error close(base::error reason);
    base::result<bool> send_packet();
    base::result<bool> take_packet(std::string_view packet);

    base::descriptor socket_;
    std::deque<std::string> unsent_messages_;
    std::size_t unsent_ = 0;       // bytes of those, without what has gone
    std::size_t front_place_ = 0;  // of the first one: what has gone
    bool has_unfit_ = false;       // a message of another size was queued
    bool is_closed_ = false;
    std::string partial_;            // of the message that arrives
    std::size_t partial_size_ = 0;   // its whole size; 0: none arrives
    std::string packet_, outgoing_;  // buffers of one packet each
};

// Two connected ends, closed on exec: the first is the node's, the second the helper's.
base::result<std::pair<base::descriptor, base::descriptor>> make_socket_pair();

}  // namespace latchkey::kit
