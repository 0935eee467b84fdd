#include "server/observe/key_uses.hpp"

#include <gtest/gtest.h>

#include "../running_worker.hpp"
#include "auth/usage_counter.hpp"

namespace latchkey::server {
namespace {

// The store, the writer and the rest are those of a service; the context is this thread's.
struct key_use_reports : testing::Test {
    void SetUp() override { ASSERT_TRUE(context_.open()); }
    void TearDown() override {
        context_.mailbox().close();
        while (!context_.mailbox().idle()) turn();
        context_.close();
    }
    void turn() {
        context_.ring().enter(!context_.has_completions() && context_.mailbox().may_sleep(), 0);
        context_.mailbox().awake();
        std::vector<uring::completion> ready;
        context_.ring().collect(ready);
        for (auto* node = context_.mailbox().take(); node != nullptr;) {
            auto* const next = node->next.load();
            node->resume();
            node = next;
        }
        for (auto const& cqe : ready) cqe.deliver();
    }

    running_worker service_;
    worker_context context_{
        service_.shared(), {std::make_shared<config_snapshot>(config()), nullptr, nullptr}, {}};
    auth::usage_counter uses_;
    key_use_reporter reporter_{context_, uses_};
};

TEST_F(key_use_reports, reach_the_store) {
    uses_.note(1, context_.now.clock);
    reporter_.report_rest([&] { turn(); });
    EXPECT_TRUE(uses_.empty());
}

TEST_F(key_use_reports, that_the_store_refuses_are_kept) {
    service_.shared().writer.stop();
    uses_.note(1, context_.now.clock);
    uses_.note(2, context_.now.clock);
    uses_.expose(model::digest{1});
    reporter_.report();
    EXPECT_EQ(reporter_.running(), 0u) << "it was refused at once";
    EXPECT_EQ(uses_.take(10).size(), 2u);
    EXPECT_EQ(uses_.take_exposed(), std::vector{model::digest{1}});
    reporter_.report_rest([&] { turn(); });
}

}  // namespace
}  // namespace latchkey::server
