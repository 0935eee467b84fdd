// The helper's end of a node's socket, played by a test: it says what latchkey-replicate would say,
// and shows what the node has asked. One thread, the test's.
//
//     fake_helper helper;
//     cluster::node node(helper.take_node_socket(), options);
//     helper.say(hello);  auto const asked = helper.expect<replicate::protocol::configure>();
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "base/system/descriptor.hpp"
#include "base/time_units.hpp"
#include "helpers/kit/channel.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::cluster {

class fake_helper {
  public:
    fake_helper();

    base::descriptor take_node_socket() { return std::move(node_socket_); }

    void say(replicate::protocol::message content, std::uint32_t request = 0);
    // The greeting, and the answers of an engine whose log is at `head`.
    void greet(std::uint64_t session = 1);
    void be_ready(std::uint64_t head);
    // The next message; nullopt: none within two seconds.
    std::optional<replicate::protocol::envelope> next();
    // No message comes within some ms.
    bool is_silent();
    // The helper has ended.
    void hang_up() { channel_.reset(); }

    // The next message of that type; others are passed over. A failure of the test if none comes.
    template <class Message>
    Message expect(std::uint32_t* request = nullptr) {
        for (auto parcel = next(); parcel; parcel = next()) {
            auto* const content = std::get_if<Message>(&parcel->content);
            if (content == nullptr) continue;
            if (request != nullptr) *request = parcel->request;
            return std::move(*content);
        }
        ADD_FAILURE() << "the node did not say what was expected";
        return {};
    }

  private:
    base::descriptor node_socket_;
    std::optional<kit::channel> channel_;
};

}  // namespace latchkey::cluster
