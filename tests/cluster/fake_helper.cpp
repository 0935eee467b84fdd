#include "tests/cluster/fake_helper.hpp"

namespace latchkey::cluster {

fake_helper::fake_helper() {
    auto sockets = kit::make_socket_pair();
    EXPECT_TRUE(sockets.has_value());
    node_socket_ = std::move(sockets->first);
    channel_.emplace(std::move(sockets->second));
}

void fake_helper::say(replicate::protocol::message content, std::uint32_t request) {
    auto const progress = channel_->send(replicate::protocol::encode({request, std::move(content)}),
                                         base::read_mono() + 2 * base::second);
    EXPECT_TRUE(progress.has_value());
}

void fake_helper::greet(std::uint64_t session) {
    say(replicate::protocol::hello{replicate::protocol::protocol_version, session});
    EXPECT_EQ(expect<replicate::protocol::configure>().session, session);
}

void fake_helper::be_ready(std::uint64_t head) {
    say(replicate::protocol::engine{true, "a test"});
    say(replicate::protocol::ready{.cluster = {'c'}, .head = head});
}

std::optional<replicate::protocol::envelope> fake_helper::next() {
    auto const bytes = channel_->receive_until(base::read_mono() + 2 * base::second);
    if (!bytes || !*bytes) return std::nullopt;
    auto parcel = replicate::protocol::decode(**bytes);
    EXPECT_TRUE(parcel.has_value());
    return std::move(*parcel);
}

bool fake_helper::is_silent() {
    auto const bytes = channel_->receive_until(base::read_mono() + 100 * base::millisecond);
    return bytes && !*bytes;
}

}  // namespace latchkey::cluster
