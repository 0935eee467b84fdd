// Sends attempts, many at once, over connections that it keeps (libcurl's multi_socket interface
// over epoll, so that those that hang cost nothing). One thread; nothing here blocks but `wait`.
//
//     sender.begin(std::move(attempt));
//     for (auto& result : sender.turn()) …
//     sender.wait(descriptor, POLLIN);
#pragma once

#include <curl/curl.h>
#include <sys/epoll.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/system/descriptor.hpp"
#include "helpers/deliver/protocol/deliver_messages.hpp"
#include "helpers/deliver/transfer.hpp"

namespace latchkey::deliver {

class sender {
  public:
    explicit sender(std::string authorities_file);
    ~sender();
    sender(sender const&) = delete;
    sender& operator=(sender const&) = delete;

    void begin(deliver::protocol::attempt&& attempt);
    std::size_t active() const { return transfers_.size(); }

    // Goes on with what `wait` has found ready, and gives what has ended.
    std::vector<deliver::protocol::result> turn();
    // Until a connection or `descriptor` (always the same one; `events` of poll) is ready, or a
    // time-out is due; at most a second.
    void wait(int descriptor, std::uint32_t events);

  private:
    bool watch(int socket, std::uint32_t events);
    void act(curl_socket_t socket, int events);
    void end_all(std::vector<deliver::protocol::result>& results);

    std::string authorities_file_;
    base::descriptor poller_;  // epoll
    CURLM* multi_;
    std::unordered_map<CURL*, std::unique_ptr<transfer>> transfers_;
    std::vector<epoll_event> ready_;
    base::mono_ns deadline_ = INT64_MAX;  // of libcurl's next time-out
    int descriptor_ = -1;
    std::uint32_t descriptor_events_ = 0;
};

}  // namespace latchkey::deliver
