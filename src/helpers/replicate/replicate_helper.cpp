#include "helpers/replicate/replicate_helper.hpp"

#include <utility>

#include "helpers/replicate/confine_replicate.hpp"

namespace latchkey::replicate {
namespace {

template <class Lane>
coro::task<> run_lane(Lane* lane) {
    co_await lane->run();
}

}  // namespace

helper::helper(base::descriptor socket, std::uint64_t session)
    : node_(std::move(socket), session),
      shared_(node_.channel()),
      appends_(shared_),
      follower_(shared_),
      states_(
          shared_, [this](std::uint64_t position) { follower_.join(position); },
          [this] { follower_.look_again(); }),
      quotas_(shared_) {}

base::result<void> helper::run() {
    shared_.out.send(node_.greeting(replicate::protocol::protocol_version));
    lanes_.spawn(run_channel, this);
    while (running_) shared_.poller.turn();
    return node_.outcome();
}

coro::task<> helper::run_channel(helper* self) {
    co_await self->serve_channel();
}

coro::task<> helper::serve_channel() {
    auto& channel = node_.channel();
    while (running_) {
        auto const flushed = channel.flush();
        if (!flushed || !node_.receive(replicate::protocol::decode,
                                       [this](replicate::protocol::envelope&& parcel) {
                                           return take(std::move(parcel));
                                       })) {
            running_ = false;
            break;
        }
        shared_.out.news().clear();
        if (channel.unsent_bytes() != 0 && *flushed) continue;
        co_await shared_.poller.until({.descriptor = channel.descriptor(),
                                       .events = channel.events(),
                                       .news = &shared_.out.news()});
    }
}

// What was sent to an earlier helper is dropped: it ends with the configure of this session.
bool helper::take(replicate::protocol::envelope parcel) {
    if (auto* settings = std::get_if<replicate::protocol::configure>(&parcel.content)) {
        if (settings->session != node_.session()) return true;
        if (shared_.configured) return node_.fail("configured twice");
        configure(std::move(*settings));
    } else if (shared_.configured) {
        dispatch(std::move(parcel));
    }
    return true;
}

void helper::configure(replicate::protocol::configure settings) {
    shared_.configured = true;
    auto target = conninfo::parse(settings.conninfo);
    shared_.settings = std::move(settings);
    if (!target) {
        shared_.stop_for_good(replicate::protocol::failure::engine, target.error().message);
        return;
    }
    shared_.target = std::move(*target);
    if (auto const result = confine(shared_.target.settings(0)); !result) {
        shared_.stop_for_good(replicate::protocol::failure::engine, result.error().message);
        return;
    }
    lanes_.spawn(run_lane<follow_lane>, &follower_);
    lanes_.spawn(run_lane<append_lane>, &appends_);
    lanes_.spawn(run_lane<state_lane>, &states_);
    lanes_.spawn(run_lane<quota_lane>, &quotas_);
}

void helper::dispatch(replicate::protocol::envelope parcel) {
    auto const& content = parcel.content;
    auto const is = [&]<class... Types>(std::variant<Types...> const* /*of these*/) {
        return (std::holds_alternative<Types>(content) || ...);
    };
    using namespace protocol;
    if (is(static_cast<std::variant<append, resolve, reserve, release> const*>(nullptr)))
        appends_.take(std::move(parcel));
    else if (is(static_cast<std::variant<tail, begin_lease, applied, watch, leave, status> const*>(
                 nullptr)))
        follower_.take(std::move(parcel));
    else if (is(static_cast<std::variant<read_state, init_begin, state_chunk, init_end> const*>(
                 nullptr)))
        states_.take(std::move(parcel));
    else if (std::holds_alternative<quota_ask>(content))
        quotas_.take(std::move(parcel));
    else
        shared_.out.fail(failure::protocol, "a message that a node does not send", parcel.request);
}

}  // namespace latchkey::replicate
