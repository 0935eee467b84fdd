// A whole HTTP/2 connection over a store, frames in and frames out: the session of the service
// without its sockets, timers and threads, as conversation.hpp is for HTTP/1.1. Commits are done at
// once, or when `finish_commits` is called.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conversation.hpp"
#include "session/http2.hpp"

namespace latchkey::session {

class http2_conversation {
  public:
    explicit http2_conversation(api_fixture& fixture, http2_options const& settings = {});

    void receive(std::string_view bytes);
    // A wait for input ends: at its deadline, or because the client sends no more.
    void wake(wake_reason reason);
    void pass(base::mono_ns time);
    // The store has changed: of responses that go on.
    void wake_events();
    bool has_events() const { return session_.has_events(); }
    bool has_sendable() const { return session_.has_sendable(); }
    base::mono_ns wait_deadline() const { return session_.wait_deadline(); }

    // The configuration is replaced; what is returned says whether the one of before still lives.
    std::weak_ptr<options const> reload();
    void reload(http2_options const& changes);

    std::string take_output() { return std::exchange(output_, {}); }
    bool closed() const { return closed_; }
    bool committed() const { return committed_; }
    std::size_t in_progress() const { return session_.in_progress(); }
    http2::stream_id current() const { return session_.current(); }
    std::size_t held_bytes() const { return session_.held_bytes(); }
    std::size_t table_bytes() const { return session_.table_bytes(); }
    base::mono_ns deadline() const { return last_.time; }
    bool idle() const { return last_.idle; }
    // Of all responses that were made, in order.
    std::vector<unsigned> const& statuses() const { return statuses_; }
    void hold_commits() { holds_commits_ = true; }
    void finish_commits();
    std::size_t held_commits() const { return commits_.size(); }
    // Requests that wait for tokens of their keys, until `resume`.
    std::size_t token_waits() const { return token_waits_.size(); }
    void resume();
    bool grants_bodies = true;   // else a body neither goes on nor is refused
    bool denies_bodies = false;  // for lack of memory
    std::size_t room = 1 << 20;  // of the output, for content that waited

    server_state server;

  private:
    bool advance(wake_reason reason);
    void write();

    api_fixture& fixture_;
    context context_;
    struct configured {
        configured(context& shared, api_fixture& fixture, http2_options const& settings);
    } configured_;
    http2 session_;
    step last_;
    std::string pending_, output_;
    std::vector<unsigned> statuses_;
    std::vector<std::pair<http2::stream_id, domain::command>> commits_;
    std::vector<http2::stream_id> token_waits_;
    bool holds_commits_ = false;
    bool closed_ = false;
    bool committed_ = false;
};

}  // namespace latchkey::session
