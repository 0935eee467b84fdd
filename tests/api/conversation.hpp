// A connection without sockets, for bytes that need not be a request: what server/connection.cpp
// does with a parser, an exchange and a store, so that the answers to a byte string can be compared
// however it is cut. No `100 Continue` is said: whether one comes depends on the cut. That it goes
// as the real one is held by tests/server/agreement_test.cpp.
//
//     conversation with(at);
//     with.receive(first);
//     with.receive(rest);
//     EXPECT_EQ(with.answers(), …);
#pragma once

#include "harness.hpp"
#include "http/write.hpp"

namespace latchkey::api {

class conversation {
  public:
    // The station is the worker; it outlives the conversation.
    explicit conversation(station& at) : at_(at), parser_(at.http_limits) {}

    void receive(std::string_view bytes);
    // All bytes that were sent.
    std::string const& answers() const { return answers_; }
    // The connection has ended; what comes is dropped.
    bool closed() const { return closed_; }
    // A request came as far as the store.
    bool committed() const { return committed_; }

  private:
    enum class phase : std::uint8_t { head, body, skipping };

    bool advance();
    bool read_head(std::string_view input);
    bool collect(std::string_view input);
    bool skip(std::string_view input);
    need take_body(std::string_view input, http::step const& head);
    need begin_to_collect(std::string_view input, http::step const& head);
    need refuse(base::problem wrong);
    bool complete(need then);
    bool may_skip_body() const;
    void write(bool close, bool head);

    station& at_;
    http::parser parser_;
    http::request request_;
    http::framing framing_;
    http::response answer_;
    http::date_line date_;
    api::exchange exchange_;
    phase phase_ = phase::head;
    std::string pending_;
    std::string head_;  // of a request whose body came later
    std::string body_;
    std::string answers_;
    bool body_unread_ = false;
    bool closed_ = false;
    bool committed_ = false;
};

}  // namespace latchkey::api
