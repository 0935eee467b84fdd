#include "server/process/key_watch.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>

#include "base/system/descriptor.hpp"
#include "base/time_units.hpp"
#include "tests/domain/support.hpp"

namespace latchkey::server {
namespace {

using base::wall_ms;
using model::change_type;

constexpr wall_ms day = store::key_time_rules::day_ms, beginning = 20'000 * day;
std::atomic<wall_ms> test_clock{beginning};

// Its time is the test's, and the writer a real one.
class key_watches : public testing::Test {
  protected:
    domain::temporary_directory directory_;
    std::unique_ptr<store::environment> store_;
    std::unique_ptr<domain::writer> writer_;
    base::descriptor event_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    std::unique_ptr<key_watch> watch_;
    base::mono_ns now_ = base::second;

    void SetUp() override {
        test_clock = beginning;
        open(true);
    }
    void TearDown() override { close(); }
    void open(bool records_changes) {
        close();
        store_ = store::environment::open({.directory = directory_.path(),
                                           .map_bytes = 1u << 30,
                                           .sync = false,
                                           .records_changes = records_changes,
                                           .wall = [] { return test_clock.load(); }})
                     .value();
        writer_ = std::make_unique<domain::writer>(*store_);
        watch_ = std::make_unique<key_watch>(*store_, *writer_, event_.get());
    }
    void close() {
        if (writer_) writer_->stop();
        watch_.reset();
        writer_.reset();
        store_.reset();
    }
    void add_keys(unsigned count, wall_ms expires_at) {
        for (unsigned i = 0; i < count; ++i) {
            auto key = domain::key_number(++number_);
            key.expires_at = expires_at;
            domain::get_key(domain::one(*store_, domain::new_key(key)));
        }
    }
    // Turns as the main loop does, until the time that it asks for is that far away.
    unsigned turn_for(base::mono_ns length) {
        unsigned turns = 0;
        auto const end = now_ + length;
        for (; now_ < end; ++turns) {
            auto const commits = writer_->count().commands;
            auto const next = watch_->turn(now_);
            if (next <= now_) continue;
            // The writer may be about to answer: a second of the test is a millisecond.
            ::usleep(1000);
            if (writer_->count().commands == commits) now_ = std::min(next, now_ + base::second);
        }
        return turns;
    }
    std::vector<change_type> told() {
        domain::snapshot view(*store_);
        view.renew();
        std::vector<change_type> types;
        view.changes_after(0, [&](domain::change_view const& change) {
            if (change.type != change_type::key_created) types.push_back(change.type);
            return true;
        });
        return types;
    }

  private:
    unsigned number_ = 0;
};

TEST_F(key_watches, tell_within_a_minute_and_once) {
    turn_for(10 * base::second);
    add_keys(1, beginning + day / 2);
    add_keys(1, beginning + day);
    turn_for(60 * base::second);
    EXPECT_TRUE(told().empty());
    test_clock = beginning + day / 2;
    turn_for(60 * base::second);
    EXPECT_EQ(told(), std::vector{change_type::key_expired});
    test_clock = beginning + day;
    turn_for(60 * base::second);
    turn_for(600 * base::second);
    EXPECT_EQ(told(), (std::vector{change_type::key_expired, change_type::key_expired}));
}

TEST_F(key_watches, go_over_many_keys_in_parts) {
    turn_for(10 * base::second);
    add_keys(1000, beginning + day / 2);
    test_clock = beginning + day;
    EXPECT_GE(turn_for(60 * base::second), 4u);
    EXPECT_EQ(told(), std::vector(1000, change_type::key_expired));
}

TEST_F(key_watches, submit_nothing_while_nothing_is_due) {
    add_keys(300, beginning + 30 * day);
    turn_for(60 * base::second);
    auto const commands = writer_->count().commands;
    EXPECT_EQ(commands, 1u) << "since when it is told";
    turn_for(3600 * base::second);
    EXPECT_EQ(writer_->count().commands, commands);
}

TEST_F(key_watches, go_on_after_a_refusal) {
    open(false);
    add_keys(1, beginning + day / 2);
    turn_for(60 * base::second);
    auto const refusals = writer_->count().refused;
    EXPECT_GT(refusals, 1u);
    EXPECT_LT(refusals, 10u);
    open(true);
    turn_for(20 * base::second);
    test_clock = beginning + day;
    turn_for(60 * base::second);
    EXPECT_EQ(told(), std::vector{change_type::key_expired});
}

}  // namespace
}  // namespace latchkey::server
