#include "replicate/conninfo.hpp"

#include <gtest/gtest.h>

#include <map>

namespace latchkey::replicate {
namespace {

std::map<std::string, std::string> settings(std::string const& text, std::size_t host = 0) {
    auto const target = conninfo::parse(text);
    EXPECT_TRUE(target) << text;
    if (!target) return {};
    std::map<std::string, std::string> all;
    for (auto const& [name, value] : target->settings(host)) all[name] = value;
    return all;
}

TEST(conninfo_test, a_remote_host_is_verified_unless_the_string_says_otherwise) {
    EXPECT_EQ(settings("postgresql://u@db.example/x")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=10.0.0.1 user=u")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=localhost,db.example")["sslmode"], "verify-full");
    EXPECT_EQ(settings("service=cluster")["sslmode"], "");
    EXPECT_EQ(settings("postgresql://u@db.example/x?sslmode=require")["sslmode"], "require");
}

TEST(conninfo_test, this_machine_needs_no_tls) {
    for (auto const* each : {"host=localhost", "host=/run/postgresql", "host=127.0.0.1", "host=::1",
                             "user=u", "host=db.example hostaddr=127.0.0.2"})
        EXPECT_EQ(settings(each)["sslmode"], "") << each;
    EXPECT_EQ(settings("host=localhost hostaddr=10.0.0.1")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=127.example")["sslmode"], "verify-full");
}

TEST(conninfo_test, sessions_can_write_and_dead_servers_are_noticed) {
    auto all = settings("host=localhost");
    EXPECT_EQ(all["target_session_attrs"], "read-write");
    EXPECT_EQ(all["tcp_user_timeout"], "5000");
    EXPECT_EQ(all["keepalives_idle"], "2");
    EXPECT_EQ(settings("host=localhost target_session_attrs=any")["target_session_attrs"], "any");
}

TEST(conninfo_test, hosts_are_tried_one_by_one_with_their_ports) {
    auto const target = conninfo::parse("postgresql://u:p@one:5433,two:5434/x");
    ASSERT_TRUE(target);
    ASSERT_EQ(target->host_count(), 2u);
    EXPECT_EQ(target->host_name(0), "one:5433");
    EXPECT_EQ(target->host_name(1), "two:5434");
    auto second = settings("postgresql://u:p@one:5433,two:5434/x", 1);
    EXPECT_EQ(second["host"], "two");
    EXPECT_EQ(second["port"], "5434");
    EXPECT_EQ(second["password"], "p");
    EXPECT_EQ(settings("host=one,two port=77", 1)["port"], "77");
    EXPECT_FALSE(conninfo::parse("host=one,two,three port=1,2"));
}

TEST(conninfo_test, errors_do_not_quote_the_string) {
    for (auto const* each : {"postgresql://u:geheim@host:port/x?geheim", "geheim", "x=geheim"}) {
        auto const target = conninfo::parse(each);
        ASSERT_FALSE(target);
        EXPECT_EQ(target.error().message.find("geheim"), std::string::npos);
    }
}

}  // namespace
}  // namespace latchkey::replicate
