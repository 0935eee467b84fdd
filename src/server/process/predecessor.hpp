// The process that this one replaces, as `serve --take-over` sees it (handover.hpp): its sockets,
// its claim on the store, and its end. Main thread.
//
//     auto predecessor = predecessor::meet("/var/lib/latchkey");
//     … take_listener(…) for each address, everything is prepared …
//     if (auto const accepted = predecessor->announce_ready(); !accepted) … it goes on serving …
//     … accept; until predecessor->has_ended() requests of old connections are still answered there
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "server/process/handover.hpp"
#include "server/process/listen_address.hpp"

namespace latchkey::server {

class predecessor {
  public:
    // Connects to the service of that data directory and takes what it offers. While that one is
    // itself still taking over it is asked again, for up to a minute. The error says why there is
    // nothing to take over.
    static base::result<std::unique_ptr<predecessor>> meet(std::string const& directory);
    predecessor(predecessor const&) = delete;
    predecessor& operator=(predecessor const&) = delete;

    // The sockets that were opened for `address`, whatever its scheme and port 0 became; nullopt:
    // there are none. They count as kept.
    std::optional<handover::passed_listener> take_listener(listen_address const& address);
    std::optional<handover::passed_listener> take_management(listen_address const& address);
    // The socket to which the next successor connects.
    base::descriptor take_handover_socket();
    base::descriptor take_claim() { return std::move(claim_); }

    // Says that this process is ready, with the sockets that were taken; returns once the
    // predecessor has stopped accepting, or has died. An error: it goes on serving.
    base::result<void> announce_ready();
    // Readable when the predecessor has ended.
    int fd() const { return socket_.get(); }
    bool has_ended();
    // False: it has not ended by `deadline`.
    bool await_end(base::mono_ns deadline);
    std::string const& pid() const { return pid_; }
    // The addresses that were not taken, for the log.
    std::vector<std::string> left_addresses() const;

  private:
    explicit predecessor(base::descriptor socket) : socket_(std::move(socket)) {}
    base::result<void> receive_offer();
    base::result<void> enter(handover::packet packet);
    bool enter_socket(std::string_view text, std::vector<base::descriptor>& descriptors);
    std::optional<handover::passed_listener> take(handover::socket_kind kind,
                                                  listen_address const& address);

    struct entry {
        handover::passed_listener listener;
        bool is_taken = false;
    };

    base::descriptor socket_, claim_;
    std::vector<entry> entries_;
    std::string pid_;
    bool is_complete_ = false;
    bool is_refused_for_now_ = false;
};

}  // namespace latchkey::server
