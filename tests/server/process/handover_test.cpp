#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "../socket_client.hpp"
#include "base/time_units.hpp"
#include "server/process/handover_listener.hpp"
#include "server/process/listener.hpp"
#include "server/process/predecessor.hpp"

namespace latchkey::server {
namespace {

// A directory with a service that can be taken over from, whose main loop is a thread.
class running_predecessor {
  public:
    explicit running_predecessor(std::vector<std::string> const& addresses, unsigned workers = 2) {
        std::filesystem::create_directory(folder_);
        for (auto const& each : addresses)
            sockets_.push_back(
                listen_sockets::open(parse_listen_address(each).value(), workers).value());
        claim_ = base::open_file(folder_ + "/server.lock", O_RDWR | O_CREAT);
        handover_ = std::make_unique<handover_listener>(handover::listen_in(folder_).value());
    }
    ~running_predecessor() {
        stop();
        std::filesystem::remove_all(folder_);
    }

    handover_listener& handover() { return *handover_; }
    std::string const& folder() const { return folder_; }
    listen_sockets const& sockets(std::size_t index) const { return sockets_[index]; }

    void offer() {
        std::vector<handover_listener::offered> offers;
        for (auto const& each : sockets_)
            offers.push_back({handover::socket_kind::listener, each.configured_address().url(),
                              each.descriptors()});
        offers.push_back({handover::socket_kind::handover, "-", {handover_->socket()}});
        handover_->offer(std::move(offers), claim_.get());
    }
    void run() {
        offer();
        thread_ = std::thread([this] {
            while (!is_stopping_)
                if (handover_->turn(base::read_mono())) {
                    for (auto const index : handover_->kept())
                        if (index < sockets_.size()) sockets_[index].hand_over();
                    return handover_->let_accept();
                } else {
                    ::usleep(1000);
                }
        });
    }
    void end_loop() {
        is_stopping_ = true;
        if (thread_.joinable()) thread_.join();
    }
    void stop() {
        end_loop();
        handover_.reset();
        sockets_.clear();
    }

  private:
    std::string folder_ = std::filesystem::temp_directory_path() /
                          ("handover-" + std::to_string(::getpid()) + std::string(90, 'x'));
    std::vector<listen_sockets> sockets_;
    base::descriptor claim_;
    std::unique_ptr<handover_listener> handover_;
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

listen_address address_of(std::string const& text) {
    return parse_listen_address(text).value();
}

// Takes and answers all connections that wait; returns how many.
int accept_all(std::vector<int> const& descriptors) {
    int count = 0;
    for (int const listening : descriptors)
        for (int fd; (fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(fd))
            ++count;
    return count;
}

TEST(handover, passes_each_workers_socket_with_the_clients_that_wait_there) {
    running_predecessor old({"https://127.0.0.1:0", "http://127.0.0.1:0"}, 3);
    auto const bound = old.sockets(0).address();
    old.run();
    std::vector<std::unique_ptr<socket_client>> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<socket_client>(bound));
    auto const met = predecessor::meet(old.folder());
    ASSERT_TRUE(met) << met.error().message;
    EXPECT_EQ((*met)->pid(), std::to_string(::getpid()));
    EXPECT_TRUE((*met)->take_claim().is_open());
    EXPECT_TRUE((*met)->take_handover_socket().is_open());
    EXPECT_FALSE((*met)->take_listener(address_of("https://127.0.0.2:0")));
    auto passed = (*met)->take_listener(address_of("https://127.0.0.1:0"));
    ASSERT_TRUE(passed);
    EXPECT_EQ(passed->descriptors.size(), 3u);
    auto adopted = listen_sockets::adopt(address_of("https://127.0.0.1:0"), 2, std::move(*passed));
    ASSERT_TRUE(adopted) << adopted.error().message;
    EXPECT_EQ(adopted->address().port, bound.port);
    EXPECT_EQ(adopted->descriptors_of(0, 2).size(), 2u) << "two workers, three sockets";
    EXPECT_EQ(adopted->descriptors_of(1, 2).size(), 1u);
    EXPECT_EQ((*met)->left_addresses(), std::vector<std::string>{"http://127.0.0.1:0"});
    ASSERT_TRUE((*met)->announce_ready());
    EXPECT_FALSE((*met)->has_ended());
    ASSERT_TRUE(adopted->begin_listening());
    old.stop();
    EXPECT_TRUE((*met)->has_ended());
    EXPECT_EQ(accept_all(adopted->descriptors()), 20) << "nobody is reset";
}

std::vector<bool> which_listen(std::vector<int> const& descriptors) {
    std::vector<bool> all;
    for (int const fd : descriptors) {
        int listens = 0;
        socklen_t size = sizeof listens;
        ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
        all.push_back(listens != 0);
    }
    return all;
}

TEST(handover, lets_more_workers_listen_only_when_it_is_done) {
    running_predecessor old({"http://127.0.0.1:0"}, 1);
    auto const bound = old.sockets(0).address();
    old.run();
    auto const met = predecessor::meet(old.folder());
    ASSERT_TRUE(met) << met.error().message;
    auto adopted = listen_sockets::adopt(bound, 4, (*met)->take_listener(bound).value());
    ASSERT_TRUE(adopted) << adopted.error().message;
    std::vector<std::unique_ptr<socket_client>> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<socket_client>(bound));
    EXPECT_EQ(accept_all({adopted->descriptor_of(0)}), 20);
    EXPECT_EQ(which_listen(adopted->descriptors()), (std::vector{true, false, false, false}));
    ASSERT_TRUE((*met)->announce_ready());
    ASSERT_TRUE(adopted->begin_listening());
    EXPECT_EQ(which_listen(adopted->descriptors()), (std::vector{true, true, true, true}));
    for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<socket_client>(bound));
    EXPECT_EQ(accept_all(adopted->descriptors()), 100);
}

TEST(handover, finds_an_address_by_its_text_or_by_what_it_is_bound_to) {
    running_predecessor old({"http://127.0.0.1:0", "https://127.0.0.1:0"});
    auto plain = old.sockets(0).address();
    old.run();
    auto const met = predecessor::meet(old.folder());
    ASSERT_TRUE(met) << met.error().message;
    plain.scheme = listen_address::kind::https;
    auto const by_port = (*met)->take_listener(plain);
    ASSERT_TRUE(by_port) << "the scheme may change";
    EXPECT_EQ(by_port->address, "http://127.0.0.1:0");
    EXPECT_TRUE((*met)->take_listener(address_of("https://127.0.0.1:0")));
    EXPECT_FALSE((*met)->take_listener(address_of("https://127.0.0.1:0"))) << "once";
}

TEST(handover, leaves_the_file_of_a_unix_socket_to_the_successor) {
    auto const path = std::filesystem::temp_directory_path() /
                      ("handover-" + std::to_string(::getpid()) + ".socket");
    auto const address = address_of("unix:" + path.string());
    running_predecessor old({address.url()});
    old.run();
    auto const met = predecessor::meet(old.folder());
    ASSERT_TRUE(met) << met.error().message;
    {
        auto adopted = listen_sockets::adopt(address, 2, (*met)->take_listener(address).value());
        ASSERT_TRUE(adopted);
    }
    EXPECT_TRUE(std::filesystem::exists(path)) << "a successor that fails takes nothing away";
    ASSERT_TRUE((*met)->announce_ready());
    old.stop();
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
}

TEST(handover, goes_on_after_a_successor_that_ends_or_says_what_makes_no_sense) {
    running_predecessor old({"http://127.0.0.1:0"});
    old.run();
    for (std::string const word : {"hello 2 x", "x", "ready 0"}) {
        auto const socket = handover::connect_in(old.folder());
        ASSERT_TRUE(socket.is_open());
        ASSERT_TRUE(handover::send(socket.get(), word));
        auto const answer = handover::receive(socket.get(), base::read_mono() + 5 * base::second);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_TRUE(answer->text.starts_with("refusal it speaks another version")) << answer->text;
    }
    {
        auto const abandoned = predecessor::meet(old.folder());
        ASSERT_TRUE(abandoned) << abandoned.error().message;
    }
    auto const next = predecessor::meet(old.folder());
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_TRUE((*next)->announce_ready());
}

// The refusal is behind the reset that comes with a word which was not read.
TEST(handover, is_refused_though_the_successor_is_ready) {
    running_predecessor old({"http://127.0.0.1:0"});
    old.run();
    auto const next = predecessor::meet(old.folder());
    ASSERT_TRUE(next) << next.error().message;
    old.end_loop();
    old.handover().turn_away("it is being stopped");
    auto const accepted = (*next)->announce_ready();
    ASSERT_FALSE(accepted);
    EXPECT_EQ(accepted.error().message,
              "the running service does not hand over: it is being stopped");
}

TEST(handover, is_refused_behind_a_reset) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    base::descriptor const own(pair[0]);
    {
        base::descriptor const other(pair[1]);
        ASSERT_TRUE(handover::send(own.get(), "ready 0"));
        ASSERT_TRUE(handover::send(other.get(), "refusal no"));
    }
    auto const answer = handover::receive_text(own.get(), base::read_mono() + base::second);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->text, "refusal no");
}

TEST(handover, goes_on_after_a_successor_that_ends_when_it_is_ready) {
    running_predecessor old({"http://127.0.0.1:0"});
    old.offer();
    {
        auto const socket = handover::connect_in(old.folder());
        ASSERT_TRUE(handover::send(socket.get(), "hello 1 process 1, test"));
        EXPECT_FALSE(old.handover().turn(base::read_mono()));
        EXPECT_FALSE(old.handover().turn(base::read_mono()));
        ASSERT_TRUE(handover::send(socket.get(), "ready 0"));
    }
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(old.handover().turn(base::read_mono()));
    EXPECT_FALSE(old.handover().is_ready());
}

TEST(handover, is_refused_with_the_reason) {
    running_predecessor old({"http://127.0.0.1:0"});
    old.handover().object("it may not");
    old.run();
    auto const met = predecessor::meet(old.folder());
    ASSERT_FALSE(met);
    EXPECT_EQ(met.error().message, "the running service does not hand over: it may not");
    auto const nothing = predecessor::meet("/nowhere");
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.error().message.find("there is nothing to take over"), std::string::npos);
    struct stat status{};
    ASSERT_EQ(::stat((old.folder() + "/handover.socket").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

}  // namespace
}  // namespace latchkey::server
