// The origin of a request (api.md §2): HTTPS only, trusted proxies, and the address that is
// compared with a key's allowlist.
#include "../harness.hpp"
#include "api/frame/checks/forwarded.hpp"

namespace latchkey::api {
namespace {

model::cidr network(std::string_view text) {
    return *model::cidr::parse(text);
}

TEST_F(api_test, https_only) {
    auto const loopback = model::address::parse("127.0.0.1");
    auto const stranger = model::address::parse("203.0.113.7");
    struct {
        api::peer peer;
        int status;
    } const rows[] = {
        {{.tls = true, .local = false, .client = stranger}, 200},
        {{.tls = true, .local = true, .client = loopback}, 200},
        {{.tls = false, .local = true, .client = loopback}, 200},
        {{.tls = false, .local = true, .client = std::nullopt}, 200},
        {{.tls = false, .local = false, .client = stranger}, 403},
    };
    for (auto const& row : rows) {
        service.peer = row.peer;
        EXPECT_EQ(service.request("GET /api/v1/users").status, row.status);
        // Forwarding fields of an untrusted peer do not count.
        EXPECT_EQ(service.request("GET /api/v1/users", {}, {"X-Forwarded-Proto: https"}).status,
                  row.status);
        EXPECT_EQ(service.request("GET /api/v1/users", {}, {"X-Forwarded-Proto: http"}).status,
                  row.status);
        EXPECT_EQ(service.exchange.client(), row.peer.client);
    }
    for (lines const& fields : {lines{}, lines{bearer("x")}, lines{bearer(service.key)}}) {
        auto const response = service.request_anonymous("GET /api/v1/users", {}, fields);
        EXPECT_EQ(response.code(), "https_required");
        EXPECT_EQ(response.field("Location"), "");
        EXPECT_EQ(response.field("WWW-Authenticate"), "");
    }
}

TEST_F(api_test, a_trusted_proxy_must_forward_https_from_any_address) {
    service.settings.trusted_proxies = {network("10.0.0.0/8"), network("127.0.0.1")};
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
            service.peer = proxy;
            auto const response = service.request("GET /api/v1/users", {}, row.fields);
            EXPECT_EQ(response.status, row.status) << (row.fields.empty() ? "-" : row.fields[0]);
            if (row.status == 403) EXPECT_EQ(response.code(), "https_required");
        }
}

TEST_F(api_test, a_relaying_proxy_must_forward_https) {
    auto const stranger = model::address::parse("203.0.113.7");
    auto const loopback = model::address::parse("127.0.0.1");
    struct {
        api::peer peer;
        int status;       // without X-Forwarded-Proto
        int said_status;  // with "https"
    } const rows[] = {
        {{.relayed = true, .client = stranger}, 403, 200},
        {{.relayed = true, .client = loopback}, 403, 200},
        {{.relayed = true, .client = std::nullopt}, 403, 200},
        // Also over a local connection; with TLS on the listener no field is needed.
        {{.local = true, .relayed = true, .client = std::nullopt}, 403, 200},
        {{.tls = true, .relayed = true, .client = stranger}, 200, 200},
    };
    for (auto const& row : rows) {
        service.peer = row.peer;
        EXPECT_EQ(service.request("GET /api/v1/users").status, row.status);
        EXPECT_EQ(service.request("GET /api/v1/users", {}, {"X-Forwarded-Proto: https"}).status,
                  row.said_status);
        // The client that the header names is not read as a proxy itself.
        EXPECT_EQ(service.exchange.client(), row.peer.client);
        for (lines const& fields : {lines{"X-Forwarded-Proto: http"}, lines{"X-Forwarded-Proto: "},
                                    lines{"X-Forwarded-Proto: https", "X-Forwarded-Proto: https"}})
            EXPECT_EQ(service.request("GET /api/v1/users", {}, fields).status, row.status);
    }
}

// What the proxy did not say is its operator's to mend, and no reason to rotate a client's key.
TEST_F(api_test, a_proxy_that_does_not_say_https_is_told_so) {
    service.settings.trusted_proxies = {network("10.0.0.0/8")};
    peer const proxies[] = {{.client = model::address::parse("10.1.2.3")},
                            {.relayed = true, .client = model::address::parse("203.0.113.7")}};
    for (auto const& proxy : proxies) {
        service.peer = proxy;
        for (lines const& fields : {lines{}, lines{"X-Forwarded-Proto: https, http"},
                                    lines{"X-Forwarded-Proto: http", "X-Forwarded-Proto: https"},
                                    lines{"X-Forwarded-Proto: https", "X-Forwarded-Proto: http"}}) {
            auto const response = service.request("GET /api/v1/users", {}, fields);
            EXPECT_EQ(response.code(), "https_required");
            EXPECT_NE(response.body.find("must send X-Forwarded-Proto: https"), std::string::npos);
            EXPECT_NE(response.body.find("need not be rotated"), std::string::npos);
        }
        EXPECT_EQ(service.uses().take_exposed().size(), 0u);
        auto const clear = service.request("GET /api/v1/users", {}, {"X-Forwarded-Proto: http"});
        EXPECT_NE(clear.body.find("rotate a key"), std::string::npos) << clear.body;
        EXPECT_EQ(service.uses().take_exposed().size(), 1u);
    }
}

// By the PROXY protocol's LOCAL: it carries no client.
TEST_F(api_test, a_health_check_of_a_trusted_proxy_needs_no_https) {
    service.settings.trusted_proxies = {network("10.0.0.0/8")};
    for (bool const tls : {false, true}) {
        service.peer = {.tls = tls, .is_proxy = true, .client = model::address::parse("10.1.2.3")};
        EXPECT_EQ(service.request("GET /healthz").status, 200);
        EXPECT_EQ(service.request("GET /api/v1/users").code(), "https_required");
        service.peer.is_proxy = false;
        EXPECT_EQ(service.request("GET /healthz").code(), "https_required");
    }
}

TEST_F(api_test, the_client_is_the_right_most_entry_that_is_not_a_proxy) {
    service.settings.trusted_proxies = {network("10.0.0.0/8"), network("2001:db8:1::/48")};
    service.peer = {.tls = false, .local = false, .client = model::address::parse("10.1.2.3")};
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
        {{"X-Forwarded-For: 192.0.2.1, 198.51.100.9:4711"}, "198.51.100.9"},
        {{"X-Forwarded-For: 198.51.100.9, 10.9.9.9:80"}, "198.51.100.9"},
        {{"X-Forwarded-For: [2001:db8:2::1]:443, [2001:db8:1::7]"}, "2001:db8:2::1"},
        {{"X-Forwarded-For: \"[2001:db8:2::1]\""}, "2001:db8:2::1"},
        {{"X-Forwarded-For: _hidden"}, ""},
    };
    auto const allowed = service.add_key(
        {"*"}, {.ip_allowlist = {network("198.51.100.0/24"), network("2001:db8:2::/48")},
                .rate_limits = {}});
    for (auto row : rows) {
        row.fields.push_back("X-Forwarded-Proto: https");
        EXPECT_EQ(service.request("GET /api/v1/users", {}, row.fields).status, 200);
        auto const& client = service.exchange.client();
        EXPECT_EQ(client ? client->text() : "", row.client) << row.fields[0];
        row.fields.push_back(bearer(allowed));
        EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, row.fields).code(),
                  row.client.empty() ? "ip_not_allowed" : "")
            << row.fields[0];
    }
}

TEST(forwarded_addresses, are_read_as_proxies_write_them) {
    for (auto const* const text : {"198.51.100.7", "198.51.100.7:4711", "198.51.100.7:65535",
                                   "198.51.100.7:00080", "\"198.51.100.7:1\"", "\"198.51.100.7\""})
        EXPECT_EQ(parse_node(text), model::address::parse("198.51.100.7")) << text;
    for (auto const* const text : {"2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443",
                                   "\"[2001:db8::1]:443\"", "\"[2001:db8::1]\""})
        EXPECT_EQ(parse_node(text), model::address::parse("2001:db8::1")) << text;
    for (auto const* const text : {"",
                                   "\"",
                                   "\"\"",
                                   "[]",
                                   "[",
                                   "[2001:db8::1",
                                   "2001:db8::1]",
                                   "[198.51.100.7]",
                                   "[198.51.100.7]:443",
                                   "[2001:db8::1]443",
                                   "[2001:db8::1]:",
                                   "198.51.100.7:",
                                   "198.51.100.7:x",
                                   "198.51.100.7:123456",
                                   "198.51.100.7:65536",
                                   "198.51.100.7:99999",
                                   "[2001:db8::1]:65536",
                                   ":443",
                                   "198.51.100.7:1:2",
                                   "[::1]:1]",
                                   "unknown",
                                   "_hidden",
                                   "\"198.51.100.7",
                                   "[[::1]]",
                                   "198.51.100.7:-1"})
        EXPECT_EQ(parse_node(text), std::nullopt) << text;
}

TEST_F(api_test, an_untrusted_peer_cannot_forward_an_address) {
    service.settings.trusted_proxies = {network("10.0.0.0/8")};
    auto const inside = bearer(
        service.add_key({"*"}, {.ip_allowlist = {network("198.51.100.0/24")}, .rate_limits = {}}));
    EXPECT_EQ(service
                  .request_anonymous(
                      "GET /api/v1/users", {},
                      {inside, "X-Forwarded-For: 198.51.100.9", "X-Forwarded-Proto: https"})
                  .code(),
              "ip_not_allowed");
    EXPECT_EQ(service.exchange.client()->text(), "203.0.113.7");
}

TEST_F(api_test, an_allowlist_names_networks) {
    auto const key = bearer(service.add_key(
        {"*"}, {.ip_allowlist = {network("203.0.113.0/28"), network("2001:db8::/32")},
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
        service.peer.client = model::address::parse(row.client);
        EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).code(), row.code)
            << row.client;
    }
    service.peer = {.tls = false, .local = true, .client = std::nullopt};
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {key}).code(), "ip_not_allowed");
    EXPECT_EQ(service.exchange.key_id(), service.last_key());
}

// Read-ahead is allowed on a client's own connection, after its key and limits admitted it.
TEST_F(api_test, admits_a_client_with_its_own_connection) {
    auto const limited = service.add_key({"*"}, {.rate_limits = {{"minute", 1, 60, 0}}});
    auto const let_in = [&](std::string_view line, lines const& fields) {
        service.request_anonymous(line, {}, fields);
        return service.exchange.let_in();
    };
    constexpr auto users = "GET /api/v1/users";
    EXPECT_TRUE(let_in(users, {bearer(service.key)}));
    EXPECT_TRUE(let_in("GET /api/v1/nothing", {bearer(service.key)}))
        << "what it asks for is no matter";
    EXPECT_FALSE(let_in(users, {}));
    EXPECT_FALSE(let_in(users, {bearer("wrong")}));
    EXPECT_FALSE(let_in("GET /healthz", {bearer(service.key)}));
    EXPECT_FALSE(let_in("GET /auth", {bearer(service.key)})) << "a gateway's";
    EXPECT_TRUE(let_in(users, {bearer(limited)}));
    EXPECT_FALSE(let_in(users, {bearer(limited)}));
    service.settings.trusted_proxies = {*model::cidr::parse("203.0.113.0/24")};
    EXPECT_FALSE(let_in(users, {bearer(service.key), "X-Forwarded-Proto: https"})) << "a proxy's";
}

// Requests of one turn share a snapshot; damage that one of them met does not affect the next.
TEST_F(api_test, a_damaged_record_affects_one_response_only) {
    auto const first = service.add_user(), second = service.add_user();
    service.damage_user(first);
    auto const user = [](model::id id) { return "GET /api/v1/users/" + std::to_string(id); };
    EXPECT_EQ(service.request(user(first)).code(), "internal_error");
    service.same_turn = true;
    EXPECT_EQ(service.request(user(second)).status, 200);
    EXPECT_EQ(service.request(user(first)).code(), "internal_error");
}

}  // namespace
}  // namespace latchkey::api
