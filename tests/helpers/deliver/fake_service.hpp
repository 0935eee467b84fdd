// The service's side of a test: starts the program under test and speaks to it as latchkey does.
//
//     fake_service service(certificate_file);
//     auto const result = service.deliver({.url = "https://127.0.0.1:1/ok", .allow = loopback()});
//
// What does not come within 30 s fails the test and gives a default.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/system/descriptor.hpp"
#include "helpers/deliver/protocol/helper_link.hpp"

namespace latchkey::deliver {

std::vector<model::cidr> loopback();  // 127.0.0.0/8

class fake_service {
  public:
    // The file has the authorities that the helper knows; empty: those of the system.
    explicit fake_service(std::string authorities_file);
    ~fake_service();
    fake_service(fake_service const&) = delete;
    fake_service& operator=(fake_service const&) = delete;

    // Begins an attempt; its number is set.
    std::uint64_t begin(deliver::protocol::attempt attempt);
    // Until the helper has got what was begun.
    void flush();
    // Of the next `count` attempts that end, in that order.
    std::vector<deliver::protocol::result> wait_for(std::size_t count);
    deliver::protocol::result deliver(deliver::protocol::attempt attempt);
    // What was in flight when the helper was killed.
    std::vector<std::uint64_t> wait_for_lost();
    std::size_t in_flight() const { return link_.in_flight(); }

    // SIGKILL, and another one on the same socket, as its supervisor does.
    void restart_helper();
    void pause_helper();
    void continue_helper();
    pid_t process() const { return process_; }
    // Exit code, after the channel was closed.
    int close();

  private:
    void start_helper();
    bool turn(base::mono_ns deadline);

    std::string authorities_file_;
    base::descriptor helper_end_;
    deliver::protocol::helper_link link_;
    pid_t process_ = -1;
    std::uint64_t number_ = 0;
    std::vector<deliver::protocol::result> results_;
    std::vector<std::uint64_t> lost_ids_;
    bool is_closed_ = false;
};

}  // namespace latchkey::deliver
