#include "server/process/reload.hpp"

#include <gtest/gtest.h>

namespace latchkey::server {
namespace {

TEST(reload, applies_what_can_change_and_names_what_takes_a_restart) {
    config running;
    running.data = "/var/lib/latchkey";
    config update = running;
    update.auth_allow_query = false;
    update.http_idle_seconds = 5;
    update.trusted_proxies = {"10.0.0.0/8"};
    update.workers = 7;
    update.listen = {"https://127.0.0.1:1"};
    auto const result = reload_of(running, update);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->changes, "trusted_proxies, auth.allow_query, http.idle_seconds");
    EXPECT_EQ(result->need_restart, "listen, workers");
    EXPECT_FALSE(result->configuration.auth_allow_query);
    EXPECT_EQ(result->configuration.http_idle_seconds, 5u);
    EXPECT_EQ(result->configuration.workers, running.workers);
    EXPECT_EQ(result->configuration.listen, running.listen);
    EXPECT_EQ(result->configuration.data, running.data);
}

TEST(reload, of_the_same_values_changes_nothing) {
    config running;
    running.listen = {"unix:/run/latchkey.sock"};
    auto const result = reload_of(running, running);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->changes, "");
    EXPECT_EQ(result->need_restart, "");
}

// Each of the two is valid, but the listeners, which stay, would receive keys in clear text.
TEST(reload, is_refused_when_old_and_new_values_do_not_fit) {
    config running;
    running.listen = {"http://192.0.2.1:80"};
    running.trusted_proxies = {"192.0.2.0/24"};
    ASSERT_TRUE(validate(running));
    config const update;
    ASSERT_TRUE(validate(update));
    auto const result = reload_of(running, update);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("http://192.0.2.1:80"), std::string::npos);
    EXPECT_NE(result.error().message.find("listen as it is until a restart"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::server
