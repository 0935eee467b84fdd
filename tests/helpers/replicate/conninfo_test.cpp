#include "helpers/replicate/conninfo.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <optional>

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

// A variable of the environment for the time of a test.
class variable {
  public:
    variable(char const* name, std::string const& value) : name_{name} {
        if (char const* const old = ::getenv(name)) old_value_ = old;
        ::setenv(name, value.c_str(), 1);
    }
    ~variable() {
        if (old_value_)
            ::setenv(name_, old_value_->c_str(), 1);
        else
            ::unsetenv(name_);
    }
    variable(variable const&) = delete;
    variable& operator=(variable const&) = delete;

  private:
    char const* name_;
    std::optional<std::string> old_value_;
};

TEST(conninfo_test, a_remote_host_is_verified_unless_the_string_says_otherwise) {
    EXPECT_EQ(settings("postgresql://u@db.example/x")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=10.0.0.1 user=u")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=localhost,db.example")["sslmode"], "verify-full");
    EXPECT_EQ(settings("postgresql://u@db.example/x?sslmode=require")["sslmode"], "require");
    EXPECT_EQ(settings("host=db.example sslmode=''")["sslmode"], "verify-full");
}

TEST(conninfo_test, this_machine_needs_no_tls) {
    for (auto const* each : {"host=localhost", "host=/run/postgresql", "host=127.0.0.1", "host=::1",
                             "user=u", "host=db.example hostaddr=127.0.0.2"})
        EXPECT_EQ(settings(each)["sslmode"], "") << each;
    EXPECT_EQ(settings("host=localhost hostaddr=10.0.0.1")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=127.example")["sslmode"], "verify-full");
}

TEST(conninfo_test, a_host_of_the_environment_is_verified) {
    {
        variable const host{"PGHOST", "db.example"};
        EXPECT_EQ(settings("user=u")["sslmode"], "verify-full");
        EXPECT_EQ(settings("user=u host=''")["sslmode"], "verify-full");
        EXPECT_EQ(settings("host=,localhost")["sslmode"], "verify-full");
        EXPECT_EQ(settings("user=u sslmode=require")["sslmode"], "require");
        EXPECT_EQ(settings("user=u")["host"], "db.example");
        EXPECT_EQ(settings("host=localhost")["sslmode"], "");
        EXPECT_EQ(settings("hostaddr=127.0.0.1")["sslmode"], "");
    }
    {
        variable const address{"PGHOSTADDR",
                               "10.0.0.1"};  // precedes a host, wherever that is named
        EXPECT_EQ(settings("user=u")["sslmode"], "verify-full");
        EXPECT_EQ(settings("host=localhost")["sslmode"], "verify-full");
        EXPECT_EQ(settings("host=/run/postgresql")["sslmode"], "verify-full");
        EXPECT_EQ(settings("host=localhost hostaddr=::1")["sslmode"], "");
    }
    variable const host{"PGHOST", "/run/postgresql"};
    EXPECT_EQ(settings("user=u")["sslmode"], "");
    variable const address{"PGHOSTADDR", "127.0.0.1"};
    EXPECT_EQ(settings("user=u")["sslmode"], "");
    variable const other{"PGHOST", "/run/postgresql,db.example"};
    EXPECT_EQ(settings("user=u hostaddr='127.0.0.1,'")["sslmode"], "");
}

TEST(conninfo_test, hosts_of_the_environment_are_tried_one_by_one_with_their_ports) {
    variable const hosts{"PGHOST", "one,two"};
    variable const ports{"PGPORT", "5433,5434"};
    auto const target = conninfo::parse("user=u");
    ASSERT_TRUE(target);
    ASSERT_EQ(target->host_count(), 2u);
    EXPECT_EQ(target->host_name(0), "one:5433");
    EXPECT_EQ(target->host_name(1), "two:5434");
}

TEST(conninfo_test, an_address_without_a_name_is_verified) {
    EXPECT_EQ(settings("hostaddr=10.0.0.1")["sslmode"], "verify-full");
    EXPECT_EQ(settings("hostaddr=127.0.0.1")["sslmode"], "");
    EXPECT_EQ(settings("hostaddr=127.0.0.1,10.0.0.1")["sslmode"], "verify-full");
}

// Its file may set a hostaddr, which precedes any host.
TEST(conninfo_test, a_service_of_the_string_is_verified_unless_an_address_is_local) {
    variable const host{"PGHOST", "/run/postgresql"};  // the service precedes it
    EXPECT_EQ(settings("service=cluster")["sslmode"], "verify-full");
    EXPECT_EQ(settings("service=cluster")["host"], "");
    EXPECT_EQ(settings("service=cluster host=localhost")["sslmode"], "verify-full");
    EXPECT_EQ(settings("service=cluster hostaddr=10.0.0.1")["sslmode"], "verify-full");
    EXPECT_EQ(settings("service=cluster hostaddr=127.0.0.1")["sslmode"], "");
    EXPECT_EQ(settings("service=cluster sslmode=disable")["sslmode"], "disable");
    EXPECT_EQ(settings("service=cluster")["sslrootcert"], "");  // may be that of the service
}

TEST(conninfo_test, a_service_of_the_environment_is_read) {
    auto const path = testing::TempDir() + "conninfo_test.pg_service.conf";
    std::ofstream{path} << "[remote]\nhost=db.example\nsslrootcert=/authority.pem\nsslmode=prefer\n"
                           "[local]\nhost=/run/postgresql\n"
                           "[disguised]\nhost=localhost\nhostaddr=10.0.0.1\n";
    variable const file{"PGSERVICEFILE", path};
    {
        variable const service{"PGSERVICE", "remote"};
        EXPECT_EQ(settings("user=u")["sslmode"], "verify-full");
        EXPECT_EQ(settings("user=u")["host"], "db.example");
        EXPECT_EQ(settings("user=u")["sslrootcert"], "");  // that of the service
        EXPECT_EQ(settings("user=u sslmode=require")["sslmode"], "require");
        EXPECT_EQ(settings("host=localhost")["sslmode"], "");
    }
    {
        variable const service{"PGSERVICE", "local"};
        EXPECT_EQ(settings("user=u")["sslmode"], "");
    }
    variable const service{"PGSERVICE", "disguised"};
    EXPECT_EQ(settings("user=u")["sslmode"], "verify-full");
    EXPECT_EQ(settings("host=/run/postgresql")["sslmode"], "verify-full");
    EXPECT_EQ(settings("service=cluster host=localhost hostaddr=::1")["sslmode"], "");
    ::unlink(path.c_str());
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
