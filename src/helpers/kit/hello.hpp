// How a helper and its service begin, and the helper's end of their channel.
//
//     helper                service
//     hello             →   what an earlier helper had not answered is lost: it has ended
//                       ←   begin, with the session of that hello
//
// Until then the helper drops what it receives: it was meant for the one before it. The service
// judges the version: both come from one package, but for the time of an upgrade.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "helpers/kit/channel.hpp"
#include "helpers/kit/codec.hpp"

namespace latchkey::kit {

struct hello {
    std::uint32_t version = 0;  // of the protocol
    std::uint64_t session = 0;  // random: of this process
    bool operator==(hello const&) const = default;
};

struct begin {
    std::uint64_t session = 0;
    bool operator==(begin const&) const = default;
};

// The layout (codec.hpp) of these messages; a protocol's own layout derives from it.
struct hello_layout {
    static void walk(auto& archive, is<hello> auto& message) {
        archive(message.version, message.session);
    }
    static void walk(auto& archive, is<begin> auto& message) { archive(message.session); }
};

// Decodes what has come and gives each message to `take`, until that returns false. The error is
// the channel's, which is closed then, or the decoder's.
template <class Decode, class Take>
base::result<void> receive_each(channel& channel, Decode decode, Take take) {
    for (;;) {
        auto const bytes = channel.receive();
        if (!bytes) return bytes.error();
        if (!*bytes) return {};
        auto content = decode(**bytes);
        if (!content) return content.error();
        if (!take(std::move(*content))) return {};
    }
}

// One thread.
class helper_channel {
  public:
    helper_channel(base::descriptor socket, std::uint64_t session)
        : channel_(std::move(socket)), session_(session) {}

    kit::channel& channel() { return channel_; }
    std::uint64_t session() const { return session_; }
    hello greeting(std::uint32_t version) const { return {version, session_}; }

    // Messages for `take`, which returns false for one that the service does not send. False: the
    // conversation has ended, and `outcome` says how.
    template <class Decode, class Take>
    bool receive(Decode decode, Take take) {
        auto const result = receive_each(channel_, decode, [&](auto&& content) {
            return take(std::move(content)) || fail("a message that the service does not send");
        });
        if (!result && !channel_.is_closed()) fail(result.error().message);
        return error_.empty() && !channel_.is_closed();
    }
    // Is the message for this helper, and no `begin`?
    template <class... Types>
    bool admits(std::variant<Types...> const& content) {
        auto const* const begin = std::get_if<kit::begin>(&content);
        if (begin != nullptr && begin->session == session_) has_begun_ = true;
        return has_begun_ && begin == nullptr;
    }
    // For `take`, which has another reason; false.
    bool fail(std::string reason) {
        if (error_.empty()) error_ = std::move(reason);
        return false;
    }
    // Why it ended and is to be started again; a service that has closed the channel is no error.
    base::result<void> outcome() const {
        return error_.empty() ? base::result<void>() : base::error{error_};
    }

  private:
    kit::channel channel_;
    std::uint64_t session_;
    bool has_begun_ = false;
    std::string error_;
};

}  // namespace latchkey::kit
