// A whole connection over a store, bytes in and bytes out: the session of the service without its
// sockets, timers and threads. Deadlines do not pass, memory for bodies is granted, and a commit is
// done at once.
//
//     conversation client(fixture);
//     client.receive(first);
//     client.receive(rest);
//     EXPECT_EQ(client.output(), …);
#pragma once

#include <string>
#include <string_view>

#include "session/http1.hpp"
#include "tests/api/harness.hpp"

namespace latchkey::session {

using api::api_fixture;

// The configuration and the services of a fixture, as a worker gives them to its sessions.
void configure(context& shared, api_fixture& fixture);

class conversation {
  public:
    // The fixture outlives the conversation.
    explicit conversation(api_fixture& fixture);

    void receive(std::string_view bytes);
    // All responses. Interim ones are kept apart: whether there is one depends on how the input was
    // cut.
    std::string const& output() const { return output_; }
    std::string const& interim() const { return interim_; }
    // The connection has ended; further input is dropped.
    bool closed() const { return closed_; }
    // A request waits for tokens of its key, until `resume`.
    bool waits() const { return waits_; }
    void resume();
    // A response goes on: the store has changed, or its deadline has passed, or the client has ended.
    void wake(wake_reason reason = wake_reason::late);
    base::mono_ns deadline() const { return deadline_; }  // of that wait; 0: there is none
    bool draining = false;
    // As of server_state.
    bool short_of_memory = false;
    answer_quota const* quota = nullptr;
    // A request reached the store.
    bool committed() const { return committed_; }

  private:
    bool advance(wake_reason reason = wake_reason::bytes);

    api_fixture& fixture_;
    context context_;
    http1 session_;
    std::string pending_;
    std::string output_;
    std::string interim_;
    bool closed_ = false;
    bool committed_ = false;
    bool waits_ = false;
    base::mono_ns deadline_ = 0;
};

}  // namespace latchkey::session
