#include <stdlib.h>

#include <fstream>

#include "fake_node.hpp"
#include "postgres.hpp"

namespace latchkey::replicate {
namespace {

class tls_test : public engine_test {
  protected:
    void SetUp() override {
        engine_test::SetUp();
        if (!IsSkipped()) certificate_ = postgres::shared().take_tls();
    }
    std::string over_tls(std::string const& host, std::string const& settings) const {
        auto const& server = postgres::shared();
        return server.over_tcp(conninfo_, server.port()) + " hostaddr=127.0.0.1 host=" + host +
               " " + settings;
    }
    // Why a node that connects so reaches no engine.
    static std::string complaint(std::string const& conninfo) {
        fake_node node(conninfo);
        auto const news = node.wait_for<replicate::protocol::engine>(
            [](auto const& each) { return !each.connected && !each.text.empty(); });
        EXPECT_FALSE(node.hears<replicate::protocol::ready>(base::second / 5));
        return news.text;
    }

    std::string certificate_;
};

TEST_F(tls_test, the_server_is_known_by_its_certificate) {
    auto const conninfo = over_tls("db.test", "sslmode=verify-full sslrootcert=" + certificate_);
    fake_node node(conninfo);
    node.init();
    EXPECT_EQ(node.append(1).result, replicate::protocol::append_result::won);
    sql_session sql(conninfo_);
    auto const connections = [&](std::string const& condition) {
        return sql.value(
            "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE "
            "datname = current_database() AND pid <> pg_backend_pid()" +
            condition);
    };
    EXPECT_NE(connections(" AND ssl AND version LIKE 'TLSv1._'"), "0");
    EXPECT_EQ(connections(" AND NOT ssl"), "0");
}

TEST_F(tls_test, a_certificate_of_another_host_is_refused) {
    auto const text =
        complaint(over_tls("other.test", "sslmode=verify-full sslrootcert=" + certificate_));
    EXPECT_NE(text.find("does not match host name \"other.test\""), std::string::npos) << text;
}

TEST_F(tls_test, a_certificate_of_an_unknown_authority_is_refused) {
    auto const text = complaint(
        over_tls("db.test", "sslmode=verify-full sslrootcert=/etc/ssl/certs/ca-certificates.crt"));
    EXPECT_NE(text.find("certificate verify failed"), std::string::npos) << text;
}

// Without sslmode, which libpq's default would leave unverified.
TEST_F(tls_test, a_host_of_a_service_is_verified) {
    auto const& server = postgres::shared();
    auto const database = conninfo_.substr(conninfo_.find("dbname="));
    auto const path = testing::TempDir() + "tls_test.pg_service.conf";
    std::ofstream{path} << "[engine]\nhost=other.test\nhostaddr=127.0.0.1\nport=" << server.port()
                        << "\n";
    ::setenv("PGSERVICEFILE", path.c_str(), 1);
    auto const text =
        complaint("service=engine user=latchkey sslrootcert=" + certificate_ + " " + database);
    ::unsetenv("PGSERVICEFILE");
    EXPECT_NE(text.find("does not match host name \"other.test\""), std::string::npos) << text;
}

}  // namespace
}  // namespace latchkey::replicate
