// On a warm connection a GET of a user, a post or a list of them allocates nothing, from the bytes
// of the request to those of the response (docs/architecture.md, "Rules").
#include <gtest/gtest.h>

#include "api/exchange/exchange.hpp"
#include "cluster/quota_purse.hpp"
#include "tests/auth/temp_store.hpp"
#include "tests/cluster/token_engine.hpp"
#include "tests/limit/allocations.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/write.hpp"

namespace latchkey::api {
namespace {

class steady : public ::testing::Test {
  protected:
    steady() {
        model::key record;
        record.scopes.add("*");
        record.rate_limits = {{"minute", 1'000'000, 60, 0}, {"hour", 60'000'000, 3600, 0}};
        key_ = temp_store_.add_fresh(std::move(record));
        std::vector<domain::command> commands(2);
        commands[0].action = domain::create_user{"Ada \"the\" first", "ada@example.com"};
        commands[1].action = domain::create_post{1, "A title", std::string(3000, 'x')};
        auto const outcomes = domain::apply(temp_store_.store(), std::move(commands)).value();
        for (auto const& each : outcomes) EXPECT_EQ(each.problem, base::problem::none);
    }

    std::string request_for(std::string_view target) const {
        return "GET " + std::string(target) + " HTTP/1.1\r\nHost: api.example.com\r\n" +
               "Authorization: Bearer " + key_ +
               "\r\nAccept: application/json;q=0.9, */*;q=0.1\r\nX-Request-Id: 0123456789abcdef\r\n"
               "User-Agent: a client\r\n"
               "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n" +
               extra_ + "\r\n";
    }

    // Runs one turn of a worker with one request; returns the status.
    int turn(std::string const& text) {
        now_.mono += 1'000'000'000;
        input_.assign(text);
        snapshot_.renew();
        keys_.follow(snapshot_);
        answer_.clear();
        output_.clear();
        auto const head = parser_.read_head(input_, request_, framing_);
        if (head.state != http::step::progress::complete) return 0;
        if (exchange_.begin(services_, request_, framing_, peer_, now_, answer_) !=
            next_step::respond)
            return 0;
        http::write(answer_, {}, date_.at(now_.wall), output_);
        parser_.next();
        return answer_.status;
    }

    std::size_t allocations_of(std::string_view target, int expected = 200) {
        auto const text = request_for(target);
        EXPECT_EQ(turn(text), expected) << output_;
        turn(text);
        auto const count = test::allocations();
        bool right = true;
        for (int i = 0; i < 100; ++i) right &= turn(text) == expected;
        auto const count_after = test::allocations();
        EXPECT_TRUE(right);
        return count_after - count;
    }

    void SetUp() override {
        if (!test::counts_allocations()) GTEST_SKIP();
    }

    auth::temp_store temp_store_;
    std::string key_;
    settings settings_;
    http::size_limits limits_;
    domain::snapshot snapshot_{temp_store_.store()};
    auth::cache keys_;
    std::unique_ptr<limit::buckets> buckets_ = limit::buckets::make(64).value();
    std::uint64_t random_ = 1;
    std::unique_ptr<limit::auth_failure_limiter> failures_ =
        std::make_unique<limit::auth_failure_limiter>(30, 1);
    limit::leases leases_{*buckets_};
    auth::mac cursors_{temp_store_.store().derived_key("cursors").value()};
    auth::usage_counter uses_;
    in_progress running_;
    request_services services_{settings_, snapshot_, keys_,    leases_, *failures_,
                               cursors_,  random_,   running_, &uses_};
    http::parser parser_{limits_};
    http::request request_;
    http::framing framing_;
    http::response answer_;
    http::date_line date_;
    exchange exchange_;
    peer peer_{.tls = true, .local = false, .client = model::address::parse("203.0.113.7")};
    base::instant now_ = base::read_clocks();
    std::string input_, output_;
    std::string extra_;  // field lines
};

TEST_F(steady, a_read_by_id_allocates_nothing) {
    EXPECT_EQ(allocations_of("/api/v1/users/1"), 0u);
    EXPECT_EQ(allocations_of("/api/v1/posts/1"), 0u);
}

TEST_F(steady, nor_does_one_that_is_charged_with_tokens_of_a_cluster) {
    cluster::token_engine engine;
    cluster::quota_purse purse(engine.node());
    services_.quota = &purse;
    services_.boot = now_.mono;
    engine.answer(services_.boot);
    turn(request_for("/api/v1/users/1"));  // waits, so that its limits are known
    auto const caller = keys_.authenticate(keys_.present(key_), nullptr, snapshot_, now_).caller;
    ASSERT_TRUE(caller);
    cluster::quota_ticket ticket;
    purse.admit(caller->record().id, caller->limits(), services_.boot, 1000, ticket);
    engine.answer(services_.boot);
    EXPECT_EQ(allocations_of("/api/v1/users/1"), 0u);
    EXPECT_GE(engine.node().count().granted, 1000u);
}

TEST_F(steady, nor_does_one_without_the_prefix) {
    EXPECT_EQ(allocations_of("/users/1"), 0u);
}

TEST_F(steady, nor_does_a_list_by_page_or_by_cursor) {
    std::vector<domain::command> commands(3);
    for (auto& each : commands) each.action = domain::create_post{1, "A title", "text"};
    domain::apply(temp_store_.store(), std::move(commands)).value();
    EXPECT_EQ(allocations_of("/api/v1/users?limit=5"), 0u);
    for (std::string const target : {"/api/v1/posts?limit=2", "/api/v1/users/1/posts?limit=2",
                                     "/api/v1/posts?author=1&status=draft&limit=2&sort=-id"}) {
        EXPECT_EQ(allocations_of(target), 0u) << target;
        std::string_view const mark = "\"next_cursor\":\"";
        auto const position = output_.find(mark);
        ASSERT_NE(position, output_.npos) << output_;
        EXPECT_EQ(allocations_of(target + "&cursor=" + output_.substr(position + mark.size(), 32)),
                  0u);
    }
}

TEST_F(steady, nor_does_a_304) {
    extra_ = "If-None-Match: \"a\", *\r\nIf-None-Match: W/\"b\"\r\n";
    EXPECT_EQ(allocations_of("/api/v1/users/1"), 0u);
    extra_ = "If-None-Match: *\r\n";
    EXPECT_EQ(allocations_of("/api/v1/users/1", 304), 0u);
    EXPECT_EQ(allocations_of("/api/v1/posts?limit=2", 304), 0u);
}

// The counter works: a refusal allocates.
TEST_F(steady, detects_allocations) {
    EXPECT_GE(allocations_of("/api/v1/users/77", 404), 100u);
}

}  // namespace
}  // namespace latchkey::api
