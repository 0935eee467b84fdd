// Once a connection is warm, a GET allocates nothing in its session, from the bytes of the request
// to those of the response (docs/architecture.md, Rules).
#include <gtest/gtest.h>

#include "conversation.hpp"
#include "tests/limit/allocations.hpp"

namespace latchkey::session {
namespace {

class steady : public api::api_test {
  protected:
    void SetUp() override {
        if (!test::counts_allocations()) GTEST_SKIP() << "nothing is counted in this build";
        configure(context_, service);
        session_.emplace(context_, service.peer);
    }

    // One request, pipelined behind nothing; whether it was answered 200.
    bool serve(std::string const& text) {
        input_.assign(text);
        output_.clear();
        service.now.mono += 1'000'000'000;
        server_state const server{.now = service.now, .ready_since = service.now.mono};
        auto const step = session_->advance(input_, wake_reason::bytes, server, output_);
        if (step.kind != step_kind::write || step.consumed != text.size()) return false;
        session_->write(output_, server);
        return session_->finish_write()->kind == step_kind::pause &&
               output_.starts_with("HTTP/1.1 200 ");
    }

    context context_;
    std::optional<http1> session_;
    std::string input_, output_;
};

TEST_F(steady, a_get_allocates_nothing) {
    auto const user = service.add_user();
    auto const text = api::request_text("GET /api/v1/users/" + std::to_string(user),
                                        {api::bearer(service.key), "User-Agent: a client"});
    service.services().snapshot.renew();
    service.services().keys.follow(service.services().snapshot);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(serve(text)) << output_;
    auto const baseline = test::allocations();
    bool served = true;
    for (int i = 0; i < 100; ++i) served &= serve(text);
    EXPECT_EQ(test::allocations() - baseline, 0u);
    EXPECT_TRUE(served);
}

}  // namespace
}  // namespace latchkey::session
