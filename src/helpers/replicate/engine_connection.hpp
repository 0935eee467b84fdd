// A connection that is made again when it is lost: each host is tried once, the one that served
// last first, with pauses between such rounds that grow while none answers. One coroutine uses it
// at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "helpers/replicate/lane_context.hpp"
#include "helpers/replicate/postgres_connection.hpp"
#include "runtime/coro/task.hpp"

namespace latchkey::replicate {

class engine_connection {
  public:
    // `statement_ms`: after which the engine ends a statement.
    engine_connection(context& shared, std::uint32_t statement_ms)
        : shared_(shared), statement_ms_(statement_ms), connection_(shared.poller) {}

    replicate::connection* operator->() { return &connection_; }
    replicate::connection& connection() { return connection_; }
    bool is_open() const { return connection_.is_open(); }
    // The last round reached no host, and the next one has not ended.
    bool is_away() const { return failures_ != 0; }

    // One round, after the pause that is due. False: `error()` says what the last host answered.
    coro::task<bool> open();
    std::string const& error() const { return error_; }
    // Closes; the next round begins with the next host.
    void leave_host();
    std::string host() const { return shared_.target.host_name(host_); }

  private:
    context& shared_;
    std::uint32_t statement_ms_;
    replicate::connection connection_;
    std::size_t host_ = 0;
    int failures_ = 0;  // rounds in a row
    std::string error_;
};

}  // namespace latchkey::replicate
