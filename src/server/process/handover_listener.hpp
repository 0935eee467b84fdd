// The side of the handover that serves: listens for a successor, offers it the sockets, and says
// when it is ready to take over (handover.hpp). One conversation at a time; further processes wait.
// Main thread; nothing blocks.
//
//     handover_listener handover(std::move(socket), objection);
//     handover.offer(sockets);
//     … whenever handover.fd() is readable or handover.next() has passed:
//     if (handover.turn(now)) … stop accepting on handover.kept() …, handover.let_accept();
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/system/descriptor.hpp"
#include "server/process/handover.hpp"

namespace latchkey::server {

class handover_listener {
  public:
    // A socket that is offered to a successor; its descriptors stay the caller's.
    struct offered {
        handover::socket_kind kind = handover::socket_kind::listener;
        std::string address;
        std::vector<int> descriptors;
    };

    explicit handover_listener(base::descriptor socket);
    handover_listener(handover_listener const&) = delete;
    handover_listener& operator=(handover_listener const&) = delete;

    void offer(std::vector<offered> sockets, int claim);
    // Why no successor is given anything for now, as a sentence; empty: nothing is against it.
    void object(std::string sentence) { objection_ = std::move(sentence); }
    // Ends the conversation with a process that is not ready yet, if there is one.
    void turn_away(std::string const& sentence);

    int fd() const { return epoll_.get(); }
    int socket() const { return socket_.get(); }
    base::mono_ns next() const { return deadline_; }  // 0: none
    // True: a successor is ready and has the sockets with the indices `kept()`.
    bool turn(base::mono_ns now);
    bool is_ready() const { return state_ == state::ready; }
    std::vector<std::size_t> const& kept() const { return kept_indices_; }
    // The successor accepts from now on, and this process does not: its end is the end of the
    // conversation.
    void let_accept();

  private:
    enum class state : std::uint8_t { listening, greeted, offered, ready };

    void accept(base::mono_ns now);
    void hear(base::mono_ns now);
    bool send_offer();
    bool read_kept(std::string_view list);
    bool has_peer() const;
    void refuse(std::string const& sentence);
    void end_conversation();
    void watch(int operation, int descriptor) const;

    base::descriptor socket_, epoll_, peer_;
    std::vector<offered> sockets_;
    int claim_ = -1;
    std::string objection_;
    std::string successor_;  // as its hello says, for messages
    state state_ = state::listening;
    base::mono_ns deadline_ = 0;
    std::vector<std::size_t> kept_indices_;
};

}  // namespace latchkey::server
