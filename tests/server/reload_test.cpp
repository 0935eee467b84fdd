#include "server/reload.hpp"

#include <gtest/gtest.h>

namespace latchkey::server {
namespace {

TEST(reload, applies_what_can_change_and_names_what_takes_a_restart) {
    config running;
    running.data = "/var/lib/latchkey";
    config read = running;
    read.auth_allow_query = false;
    read.http_idle_seconds = 5;
    read.trusted_proxies = {"10.0.0.0/8"};
    read.workers = 7;
    read.listen = {"https://127.0.0.1:1"};
    auto const made = reload_of(running, read);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->changed, "trusted_proxies, auth.allow_query, http.idle_seconds");
    EXPECT_EQ(made->need_restart, "listen, workers");
    EXPECT_FALSE(made->settings.auth_allow_query);
    EXPECT_EQ(made->settings.http_idle_seconds, 5u);
    EXPECT_EQ(made->settings.workers, running.workers);
    EXPECT_EQ(made->settings.listen, running.listen);
    EXPECT_EQ(made->settings.data, running.data);
}

TEST(reload, of_the_same_changes_nothing) {
    config running;
    running.listen = {"unix:/run/latchkey.sock"};
    auto const made = reload_of(running, running);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->changed, "");
    EXPECT_EQ(made->need_restart, "");
}

// Each of the two is valid, but the listeners that stay would take keys in the clear.
TEST(reload, is_refused_when_what_stays_does_not_go_with_what_is_new) {
    config running;
    running.listen = {"http://192.0.2.1:80"};
    running.trusted_proxies = {"192.0.2.0/24"};
    ASSERT_TRUE(validate(running));
    config const read;
    ASSERT_TRUE(validate(read));
    auto const made = reload_of(running, read);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("http://192.0.2.1:80"), std::string::npos);
    EXPECT_NE(made.error().message.find("listen as it is until a restart"), std::string::npos);
}

}  // namespace
}  // namespace latchkey::server
