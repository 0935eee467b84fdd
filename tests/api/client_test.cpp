// Where a request may come from (API §2): HTTPS only, proxies that are trusted, and the address
// that a key's allowlist is asked about.
#include "harness.hpp"

namespace latchkey::api {
namespace {

model::cidr network(std::string_view text) {
    return *model::cidr::parse(text);
}

TEST_F(api_test, https_only) {
    auto const loopback = model::address::parse("127.0.0.1");
    auto const stranger = model::address::parse("203.0.113.7");
    struct {
        peer from;
        int status;
    } const rows[] = {
        {{.tls = true, .local = false, .client = stranger}, 200},
        {{.tls = true, .local = true, .client = loopback}, 200},
        {{.tls = false, .local = true, .client = loopback}, 200},
        {{.tls = false, .local = true, .client = std::nullopt}, 200},
        {{.tls = false, .local = false, .client = stranger}, 403},
    };
    for (auto const& row : rows) {
        at.from = row.from;
        EXPECT_EQ(at.ask("GET /api/v1/users").status, row.status);
        // What a stranger says about himself does not count.
        EXPECT_EQ(at.ask("GET /api/v1/users", {}, {"X-Forwarded-Proto: https"}).status, row.status);
        EXPECT_EQ(at.ask("GET /api/v1/users", {}, {"X-Forwarded-Proto: http"}).status, row.status);
        EXPECT_EQ(at.exchange.client(), row.from.client);
    }
    for (lines const& fields : {lines{}, lines{bearer("x")}, lines{bearer(at.key)}}) {
        auto const made = at.ask_bare("GET /api/v1/users", {}, fields);
        EXPECT_EQ(made.code(), "https_required");
        EXPECT_EQ(made.field("Location"), "");
        EXPECT_EQ(made.field("WWW-Authenticate"), "");
    }
}

TEST_F(api_test, a_trusted_proxy_must_say_https_wherever_it_is) {
    at.rules.trusted_proxies = {network("10.0.0.0/8"), network("127.0.0.1")};
    struct {
        lines fields;
        int status;
    } const rows[] = {
        {{"X-Forwarded-Proto: https"}, 200},
        {{"x-forwarded-proto:https"}, 200},
        {{}, 403},
        {{"X-Forwarded-Proto: http"}, 403},
        {{"X-Forwarded-Proto:"}, 403},
        {{"X-Forwarded-Proto: https, http"}, 403},
        {{"X-Forwarded-Proto: http, https"}, 403},
        {{"X-Forwarded-Proto: https", "X-Forwarded-Proto: http"}, 403},
        {{"X-Forwarded-Proto: http", "X-Forwarded-Proto: https"}, 403},
        {{"X-Forwarded-Proto: https", "X-Forwarded-Proto: https"}, 403},
    };
    peer const proxies[] = {
        {.tls = false, .local = false, .client = model::address::parse("10.1.2.3")},
        {.tls = true, .local = false, .client = model::address::parse("10.1.2.3")},
        {.tls = false, .local = true, .client = model::address::parse("127.0.0.1")},
    };
    for (auto const& proxy : proxies)
        for (auto const& row : rows) {
            at.from = proxy;
            auto const made = at.ask("GET /api/v1/users", {}, row.fields);
            EXPECT_EQ(made.status, row.status) << (row.fields.empty() ? "-" : row.fields[0]);
            if (row.status == 403) EXPECT_EQ(made.code(), "https_required");
        }
}

TEST_F(api_test, a_proxy_that_relays_a_client_must_have_had_the_tls) {
    auto const stranger = model::address::parse("203.0.113.7");
    auto const loopback = model::address::parse("127.0.0.1");
    struct {
        peer from;
        int status;       // without X-Forwarded-Proto
        int said_status;  // with "https"
    } const rows[] = {
        {{.relayed = true, .client = stranger}, 403, 200},
        {{.relayed = true, .client = loopback}, 403, 200},
        {{.relayed = true, .client = std::nullopt}, 403, 200},
        // However near the connection itself is, and with TLS of ours nothing need be said.
        {{.local = true, .relayed = true, .client = std::nullopt}, 403, 200},
        {{.tls = true, .relayed = true, .client = stranger}, 200, 200},
    };
    for (auto const& row : rows) {
        at.from = row.from;
        EXPECT_EQ(at.ask("GET /api/v1/users").status, row.status);
        EXPECT_EQ(at.ask("GET /api/v1/users", {}, {"X-Forwarded-Proto: https"}).status,
                  row.said_status);
        // Whom the header names is not asked whom he forwards.
        EXPECT_EQ(at.exchange.client(), row.from.client);
        for (lines const& fields : {lines{"X-Forwarded-Proto: http"}, lines{"X-Forwarded-Proto: "},
                                    lines{"X-Forwarded-Proto: https", "X-Forwarded-Proto: https"}})
            EXPECT_EQ(at.ask("GET /api/v1/users", {}, fields).status, row.status);
    }
}

TEST_F(api_test, the_client_is_the_right_most_entry_that_is_no_proxy) {
    at.rules.trusted_proxies = {network("10.0.0.0/8"), network("2001:db8:1::/48")};
    at.from = {.tls = false, .local = false, .client = model::address::parse("10.1.2.3")};
    struct {
        lines fields;
        std::string_view client;  // empty: not known
    } const rows[] = {
        {{"X-Forwarded-For: 198.51.100.9"}, "198.51.100.9"},
        {{"X-Forwarded-For: 192.0.2.1, 198.51.100.9"}, "198.51.100.9"},
        {{"X-Forwarded-For: 198.51.100.9,10.9.9.9"}, "198.51.100.9"},
        {{"X-Forwarded-For: 198.51.100.9\t,\t10.9.9.9, 2001:db8:1::7"}, "198.51.100.9"},
        {{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 198.51.100.9"}, "198.51.100.9"},
        {{"X-Forwarded-For: 192.0.2.1, 198.51.100.9", "X-Forwarded-For: 10.9.9.9"}, "198.51.100.9"},
        {{"X-Forwarded-For: 2001:db8:2::1"}, "2001:db8:2::1"},
        {{"X-Forwarded-For: ::ffff:198.51.100.9"}, "198.51.100.9"},
        {{"X-Forwarded-For: 192.0.2.1, unknown"}, ""},
        {{"X-Forwarded-For: 192.0.2.1, unknown, 10.9.9.9"}, ""},
        {{"X-Forwarded-For: 192.0.2.1,"}, ""},
        {{"X-Forwarded-For: 192.0.2.1,,10.9.9.9"}, ""},
        {{"X-Forwarded-For: 198.51.100.9:4711"}, ""},
        {{"X-Forwarded-For: _hidden"}, ""},
    };
    auto const allowed = at.add_key(
        {"*"}, {.ip_allowlist = {network("198.51.100.0/24"), network("2001:db8:2::/48")},
                .rate_limits = {}});
    for (auto row : rows) {
        row.fields.push_back("X-Forwarded-Proto: https");
        EXPECT_EQ(at.ask("GET /api/v1/users", {}, row.fields).status, 200);
        auto const& client = at.exchange.client();
        EXPECT_EQ(client ? client->text() : "", row.client) << row.fields[0];
        row.fields.push_back(bearer(allowed));
        EXPECT_EQ(at.ask_bare("GET /api/v1/users", {}, row.fields).code(),
                  row.client.empty() ? "ip_not_allowed" : "")
            << row.fields[0];
    }
}

TEST_F(api_test, a_stranger_cannot_say_who_he_is) {
    at.rules.trusted_proxies = {network("10.0.0.0/8")};
    auto const inside = bearer(
        at.add_key({"*"}, {.ip_allowlist = {network("198.51.100.0/24")}, .rate_limits = {}}));
    EXPECT_EQ(at.ask_bare("GET /api/v1/users", {},
                          {inside, "X-Forwarded-For: 198.51.100.9", "X-Forwarded-Proto: https"})
                  .code(),
              "ip_not_allowed");
    EXPECT_EQ(at.exchange.client()->text(), "203.0.113.7");
}

TEST_F(api_test, an_allowlist_names_networks) {
    auto const key = bearer(
        at.add_key({"*"}, {.ip_allowlist = {network("203.0.113.0/28"), network("2001:db8::/32")},
                           .rate_limits = {}}));
    struct {
        std::string_view client;
        std::string_view code;
    } const rows[] = {
        {"203.0.113.0", ""},
        {"203.0.113.15", ""},
        {"::ffff:203.0.113.15", ""},
        {"203.0.113.16", "ip_not_allowed"},
        {"2001:db8:ffff::1", ""},
        {"2001:db9::1", "ip_not_allowed"},
        {"127.0.0.1", "ip_not_allowed"},
    };
    for (auto const& row : rows) {
        at.from.client = model::address::parse(row.client);
        EXPECT_EQ(at.ask_bare("GET /api/v1/users", {}, {key}).code(), row.code) << row.client;
    }
    at.from = {.tls = false, .local = true, .client = std::nullopt};
    EXPECT_EQ(at.ask_bare("GET /api/v1/users", {}, {key}).code(), "ip_not_allowed");
    EXPECT_EQ(at.exchange.key_id(), at.last_key());
}

}  // namespace
}  // namespace latchkey::api
