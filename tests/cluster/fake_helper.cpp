#include "tests/cluster/fake_helper.hpp"

namespace latchkey::cluster {

fake_helper::fake_helper() {
    auto sockets = kit::make_socket_pair();
    EXPECT_TRUE(sockets.has_value());
    node_socket_ = std::move(sockets->first);
    channel_.emplace(std::move(sockets->second));
}

void fake_helper::say(replication::message content, std::uint32_t request) {
    auto const progress = channel_->send(replication::encode({request, std::move(content)}),
                                         base::read_mono() + 2 * base::second);
    EXPECT_TRUE(progress.has_value());
}

void fake_helper::greet(std::uint64_t session) {
    say(replication::hello{replication::protocol_version, session});
    EXPECT_EQ(expect<replication::configure>().session, session);
}

void fake_helper::be_ready(std::uint64_t head) {
    say(replication::engine{true, "a test"});
    say(replication::ready{.cluster = {'c'}, .head = head});
}

std::optional<replication::envelope> fake_helper::next() {
    auto const bytes = channel_->receive_until(base::read_mono() + 2 * base::second);
    if (!bytes || !*bytes) return std::nullopt;
    auto parcel = replication::decode(**bytes);
    EXPECT_TRUE(parcel.has_value());
    return std::move(*parcel);
}

bool fake_helper::is_silent() {
    auto const bytes = channel_->receive_until(base::read_mono() + 100 * base::millisecond);
    return bytes && !*bytes;
}

}  // namespace latchkey::cluster
