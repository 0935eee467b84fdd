// The service's end of the conversation with `latchkey-deliver`: what is in flight, results, and
// what is lost when the helper ends. Its supervisor starts it again, with the same socket. One
// thread at a time, which does not block here.
//
//     deliver::protocol::helper_link link(std::move(socket));          // of start_helper
//     while (running) {
//         … poll link.descriptor() for link.events() …
//         auto arrivals = link.turn();                        // error: no helper will come again
//         for (auto const number : arrivals->lost) … send again …
//         for (auto& result : arrivals->results) … commit …
//         while (link.capacity() > 0 && …) link.begin(attempt);
//     }
//
// An attempt is in flight from `begin` until `turn` gives its result, or tells it as lost; nothing
// else ever happens to it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "helpers/deliver/protocol/deliver_messages.hpp"
#include "helpers/kit/channel.hpp"

namespace latchkey::deliver::protocol {

class helper_link {
  public:
    explicit helper_link(base::descriptor socket) : channel_(std::move(socket)) {}

    // For poll(), level-triggered.
    int descriptor() const { return channel_.descriptor(); }
    short events() const { return channel_.events(); }

    // How many attempts may begin now, as far as bytes allow: ask again after each. 0 while there
    // is no helper, or it has all that it takes.
    std::size_t capacity() const;
    std::size_t in_flight() const { return in_flight_.size(); }
    // `attempt.number` is not in flight. Sent by the next turn() at the latest.
    void begin(attempt const& attempt);

    struct arrivals {
        std::vector<result> results;
        // Attempts that were not sent, or of a helper that has ended: nobody knows of those.
        std::vector<std::uint64_t> lost_ids;
    };
    // Sends and receives what the socket takes and has. An error, a sentence for the operator: the
    // supervisor is gone, or the helper is of another version; the link is of no use then.
    base::result<arrivals> turn();

  private:
    bool land(std::uint64_t number);
    base::result<void> take(message&& content, arrivals& arrivals);
    base::result<void> greet(hello const& hello, arrivals& arrivals);

    kit::channel channel_;
    std::unordered_map<std::uint64_t, std::size_t> in_flight_;  // and the bytes of each
    std::size_t bytes_ = 0;                                     // of all of them
    bool is_ready_ = false;  // a helper has said hello, and was answered
};

}  // namespace latchkey::deliver::protocol
