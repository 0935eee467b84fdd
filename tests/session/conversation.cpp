#include "conversation.hpp"

#include <algorithm>
#include <memory>

namespace latchkey::session {
namespace {

context& configured(context& shared, api_fixture& fixture) {
    configure(shared, fixture);
    return shared;
}

}  // namespace

void configure(context& shared, api_fixture& fixture) {
    shared.configuration = std::make_shared<options const>(options{.parsing = fixture.http_limits});
    shared.services = &fixture.services();
}

conversation::conversation(api_fixture& fixture)
    : fixture_(fixture), session_(configured(context_, fixture), fixture.peer) {}

void conversation::receive(std::string_view bytes) {
    pending_.append(bytes);
    while (!closed_ && !waits_ && advance()) {
    }
}

void conversation::resume() {
    waits_ = false;
    session_.resume(session_.current());
    receive({});
}

void conversation::wake(wake_reason reason) {
    while (!closed_ && advance(std::exchange(reason, wake_reason::bytes))) {
    }
}

// One step; false: the session waits for input. The input lies in memory of exactly its size and at
// a new address each time, so that AddressSanitizer finds views that outlive it.
bool conversation::advance(wake_reason reason) {
    std::string const input = std::move(pending_);
    std::unique_ptr<char[]> const copy(new char[input.size()]);
    std::copy(input.begin(), input.end(), copy.get());
    fixture_.services().snapshot.renew();
    fixture_.services().keys.follow(fixture_.services().snapshot);
    server_state const server{.now = fixture_.now,
                              .ready_since = fixture_.now.mono,
                              .short_of_memory = short_of_memory,
                              .quota = quota,
                              .draining = draining};
    auto const next = session_.advance({copy.get(), input.size()}, reason, server, interim_);
    pending_.assign(input, next.consumed);
    deadline_ = 0;
    switch (next.kind) {
        case step_kind::write: {
            session_.write(output_, server);
            auto const following = session_.finish_write();
            closed_ = following && following->kind == step_kind::close;
            return !closed_;
        }
        case step_kind::read:
            if (!next.takes_input) deadline_ = next.time;
            return false;
        case step_kind::close:
            closed_ = true;
            return false;
        case step_kind::grant_body:
            session_.grant();
            return true;
        case step_kind::commit:
            committed_ = true;
            session_.complete(session_.current(), fixture_.commit(session_.take_command()));
            return true;
        case step_kind::await_tokens:
            waits_ = true;
            return false;
        case step_kind::await_turn:
            session_.resume(session_.current());
            return true;
        case step_kind::pause:
            return true;
    }
    return false;
}

}  // namespace latchkey::session
