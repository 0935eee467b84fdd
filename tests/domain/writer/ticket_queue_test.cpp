// The bounds of the writer's queue, in commands and in bytes, without a writer that takes from it.
#include "domain/writer/ticket_queue.hpp"

#include <deque>
#include <memory>

#include "../support.hpp"
#include "base/limits.hpp"

namespace latchkey::domain {
namespace {

namespace limits = base::limits;

class ticket_queues : public testing::Test {
  protected:
    ticket_queue queue_;
    std::deque<ticket> tickets_;

    ticket& next(std::size_t body_bytes) {
        auto& fresh = tickets_.emplace_back();
        fresh.command = new_post(1, "t", model::post_status::draft, std::string(body_bytes, 'b'));
        return fresh;
    }
    // Pushes commands of that size until one is refused, at most `most`; returns how many.
    std::size_t fill(std::size_t body_bytes, std::size_t most) {
        std::size_t count = 0;
        while (count < most && queue_.push(next(body_bytes))) ++count;
        return count;
    }
};

TEST_F(ticket_queues, are_bounded_in_commands) {
    auto const most = limits::commands_queued_max;
    EXPECT_EQ(fill(0, most + 1), most);
    EXPECT_FALSE(queue_.push(next(0))) << "and one that is refused takes no place";
    queue_.release(1, tickets_.front().command.bytes());
    EXPECT_TRUE(queue_.push(next(0)));
    EXPECT_FALSE(queue_.push(next(0)));
    // Taken tickets count until they are answered.
    std::size_t count = 0;
    for (auto* each = queue_.take().oldest; each != nullptr; each = each->next) ++count;
    EXPECT_EQ(count, most + 1);
    EXPECT_FALSE(queue_.push(next(0)));
}

TEST_F(ticket_queues, are_bounded_in_bytes) {
    constexpr std::size_t body_bytes = 1 * limits::mib;
    auto const each = next(body_bytes).command.bytes();
    ASSERT_GT(each, body_bytes);
    auto const most = limits::command_bytes_queued_max / each;
    EXPECT_EQ(fill(body_bytes, most + 1), most);
    // The rest is usable by smaller ones, to the last byte.
    auto const left = limits::command_bytes_queued_max - most * each;
    auto const empty = next(0).command.bytes();
    ASSERT_GT(left, empty);
    EXPECT_FALSE(queue_.push(next(left - empty + 1)));
    EXPECT_TRUE(queue_.push(next(left - empty)));
    EXPECT_FALSE(queue_.push(next(0)));
    queue_.release(1, empty);
    EXPECT_TRUE(queue_.push(next(0)));
    EXPECT_FALSE(queue_.push(next(0)));
}

TEST_F(ticket_queues, keep_the_order_and_refuse_once_closed) {
    EXPECT_EQ(queue_.take().oldest, nullptr);
    EXPECT_EQ(fill(0, 3), 3u);
    auto const line = queue_.close();
    EXPECT_EQ(line.oldest, &tickets_[0]);
    EXPECT_EQ(line.oldest->next, &tickets_[1]);
    EXPECT_EQ(line.newest, &tickets_[2]);
    EXPECT_EQ(line.newest->next, nullptr);
    EXPECT_FALSE(queue_.push(next(0)));
}

}  // namespace
}  // namespace latchkey::domain
