#include "http2_conversation.hpp"

#include <algorithm>
#include <memory>

namespace latchkey::session {

http2_conversation::configured::configured(context& shared, api_fixture& fixture,
                                           http2_options const& settings) {
    shared.configuration = std::make_shared<session::options const>(
        session::options{.parsing = fixture.http_limits, .http2 = settings});
    shared.services = &fixture.services();
    shared.mask.bytes.fill('\x5a');
}

http2_conversation::http2_conversation(api_fixture& fixture, http2_options const& settings)
    : server{.now = fixture.now, .ready_since = fixture.now.mono},
      fixture_(fixture),
      configured_(context_, fixture, settings),
      session_(context_, fixture.peer) {}

void http2_conversation::pass(base::mono_ns time) {
    server.now.mono += time;
    server.now.wall += time / 1'000'000;
    server.now.clock += time / 1'000'000;
}

std::weak_ptr<options const> http2_conversation::reload() {
    std::weak_ptr<options const> const previous = context_.configuration;
    context_.configuration = std::make_shared<options const>(*context_.configuration);
    return previous;
}

void http2_conversation::reload(http2_options const& changes) {
    auto fresh = *context_.configuration;
    fresh.http2 = changes;
    context_.configuration = std::make_shared<options const>(fresh);
}

void http2_conversation::wake_events() {
    session_.wake_events();
    wake(wake_reason::late);
}

void http2_conversation::receive(std::string_view bytes) {
    pending_.append(bytes);
    wake(wake_reason::bytes);
}

void http2_conversation::wake(wake_reason reason) {
    while (!closed_ && advance(std::exchange(reason, wake_reason::bytes))) {
    }
    session_.write_pending(output_, room, server);
}

// One step; false: the session waits for input. The input lies in memory of exactly its size and at
// a new address each time, so that AddressSanitizer finds views that outlive it.
bool http2_conversation::advance(wake_reason reason) {
    std::string const previous = std::move(pending_);
    std::unique_ptr<char[]> const copy(new char[previous.size()]);
    std::copy(previous.begin(), previous.end(), copy.get());
    fixture_.services().snapshot.renew();
    fixture_.services().keys.follow(fixture_.services().snapshot);
    auto const next = session_.advance({copy.get(), previous.size()}, reason, server, output_);
    pending_.assign(previous, next.consumed);
    switch (next.kind) {
        case step_kind::read:
            last_ = next;
            return false;
        case step_kind::close:
            closed_ = true;
            return false;
        case step_kind::grant_body:
            if (denies_bodies)
                session_.deny();
            else if (grants_bodies)
                session_.grant();
            return true;
        case step_kind::commit: {
            committed_ = true;
            auto const id = session_.current();
            if (holds_commits_) {
                commits_.emplace_back(id, session_.take_command());
                return true;
            }
            if (session_.complete(id, fixture_.commit(session_.take_command()))) write();
            return true;
        }
        case step_kind::await_tokens:
            token_waits_.push_back(session_.current());
            return true;
        case step_kind::await_turn:
            session_.resume(session_.current());
            return true;
        case step_kind::write:
            write();
            return true;
        case step_kind::pause:
            return true;
    }
    return false;
}

void http2_conversation::write() {
    auto const response = session_.write(output_, server);
    statuses_.push_back(response.response->entry.status);
    session_.finish_write();
}

void http2_conversation::resume() {
    for (auto const id : std::exchange(token_waits_, {})) session_.resume(id);
    wake(wake_reason::bytes);
}

void http2_conversation::finish_commits() {
    for (auto& [id, command] : std::exchange(commits_, {})) {
        if (session_.complete(id, fixture_.commit(std::move(command)))) write();
    }
    session_.write_pending(output_, room, server);
}

}  // namespace latchkey::session
