// The node's side of a test: starts the program under test and speaks to it as latchkey does.
//
//     fake_node node(conninfo, {.name = "one"});
//     node.wait_for<replicate::protocol::ready>();
//     EXPECT_EQ(node.append(1, "effects").result, append_result::won);
//
// `wait_for` forgets what came before the awaited message. What does not come within 20 s fails
// the test and gives a default.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/time_units.hpp"
#include "helpers/kit/channel.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::replicate {

replicate::protocol::identity identity_from(std::string_view text);
replicate::protocol::identity const test_cluster = identity_from("the test cluster");

struct node_options {
    std::string name = "one";
    replicate::protocol::identity instance{};  // none: made of the name
    replicate::protocol::identity cluster{};
    char key_byte = 'k';
    std::uint32_t lease_ms = 0;
};

class fake_node {
  public:
    explicit fake_node(std::string conninfo, node_options options = {});
    ~fake_node();
    fake_node(fake_node const&) = delete;
    fake_node& operator=(fake_node const&) = delete;

    std::uint32_t send(replicate::protocol::message content);
    // The helper is killed, and a new one is started on the same socket.
    void restart_helper();
    void stop_helper();
    void continue_helper();
    // Exit code, after the channel was closed.
    int close();

    // `accepts` may pass over messages of that type.
    template <class Message>
    Message wait_for(std::function<bool(Message const&)> accepts = {}, std::uint32_t request = 0,
                     base::mono_ns patience = 20 * base::second) {
        for (auto deadline = base::read_mono() + patience;;) {
            for (auto each = arrivals_.begin(); each != arrivals_.end(); ++each) {
                auto const* content = std::get_if<Message>(&each->content);
                if (content == nullptr || (request != 0 && each->request != request)) continue;
                if (accepts && !accepts(*content)) continue;
                Message result = *content;
                // Beside an answer, what came before it stays to be waited for.
                arrivals_.erase(request != 0 ? each : arrivals_.begin(), each + 1);
                return result;
            }
            if (receive(deadline)) continue;
            ADD_FAILURE() << "no message of the awaited type came in time" << describe();
            return {};
        }
    }
    // Whether a message of that type comes within the time.
    template <class Message>
    bool hears(base::mono_ns patience) {
        for (auto deadline = base::read_mono() + patience;;) {
            for (auto const& each : arrivals_)
                if (std::holds_alternative<Message>(each.content)) return true;
            if (!receive(deadline)) return false;
        }
    }

    // The next message with that request id.
    replicate::protocol::message next(std::uint32_t request);

    void init(std::uint64_t position = 0,
              std::vector<replicate::protocol::state_record> records = {});
    replicate::protocol::log_row make_row(std::uint64_t position, std::string effects = "") const;
    replicate::protocol::appended append(replicate::protocol::log_row const& row);
    replicate::protocol::appended append(std::uint64_t position, std::string effects = "");
    replicate::protocol::appended resolve(replicate::protocol::log_row const& row);
    // All rows up to `position`, as they come.
    std::vector<replicate::protocol::log_row> rows_until(std::uint64_t position);

  private:
    void start_helper();
    bool receive(base::mono_ns deadline);
    std::string describe() const;

    std::string conninfo_;
    node_options options_;
    base::descriptor helper_end_;
    std::optional<kit::channel> channel_;
    pid_t process_ = -1;
    std::uint32_t requests_ = 0;
    std::deque<replicate::protocol::envelope> arrivals_;
};

// Every test gets a database of its own; skipped where PostgreSQL is not installed.
class engine_test : public testing::Test {
  protected:
    void SetUp() override;

    std::string conninfo_;
};

}  // namespace latchkey::replicate
