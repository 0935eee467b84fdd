// Keys that come by a way on which others may have read them are noted (api.md §16): by query, by
// body, without TLS over a network.
#include "../harness.hpp"
#include "tests/auth/temp_store.hpp"

namespace latchkey::api {
namespace {

using digests = std::vector<model::digest>;

class exposed_keys : public testing::Test {
  protected:
    api_fixture service;
    model::digest const digest_of_key = auth::digest_of(service.key);

    digests after(std::string_view line, lines const& fields = {}, std::string_view body = {}) {
        service.request_anonymous(line, body, fields);
        return service.uses().take_exposed();
    }
};

TEST_F(exposed_keys, came_by_query_or_body) {
    auto const body = R"({"api_key":")" + service.key + R"(","name":"A","email":"a@example.org"})";
    EXPECT_EQ(after("GET /api/v1/users?api_key=" + service.key), digests{digest_of_key});
    EXPECT_EQ(after("POST /api/v1/users", {}, body), digests{digest_of_key});
    EXPECT_EQ(after("GET /api/v1/users", {bearer(service.key)}), digests{});
    EXPECT_EQ(after("GET /api/v1/users", {"X-API-Key: " + service.key}), digests{});
    EXPECT_EQ(after("GET /api/v1/users?api_key=" + auth::unknown_key()), digests{});
}

TEST_F(exposed_keys, came_by_a_query_that_is_not_accepted) {
    service.settings.allow_query = false;
    EXPECT_EQ(after("GET /api/v1/users?api_key=" + service.key), digests{digest_of_key});
    EXPECT_EQ(after("GET /api/v1/users?api_key=short"), digests{});
    EXPECT_EQ(after("GET /api/v1/users"), digests{});
    // Where events are received keys of their source may come by query.
    EXPECT_EQ(after("POST /api/v1/events/shop?api_key=" + service.key, {}, "{}"),
              digests{digest_of_key});
}

// Known or not, neither the answer nor what is done for it differs.
TEST_F(exposed_keys, came_without_tls) {
    service.peer.tls = false;
    auto const misses = service.services().keys.count().misses;
    for (auto const& key : {service.key, auth::unknown_key()}) {
        auto const digest = auth::digest_of(key);
        EXPECT_EQ(after("GET /api/v1/users", {bearer(key)}), digests{digest});
        EXPECT_EQ(after("GET /api/v1/users", {"X-API-Key: " + key}), digests{digest});
        EXPECT_EQ(after("GET /api/v1/users?api_key=" + key), digests{digest});
        EXPECT_EQ(service.request_anonymous("GET /api/v1/users", {}, {bearer(key)}).code(),
                  "https_required");
        service.uses().take_exposed();
    }
    EXPECT_EQ(service.services().keys.count().misses, misses);
    EXPECT_EQ(service.services().keys.count().unknown, 0u);
    EXPECT_EQ(after("GET /api/v1/users"), digests{});
    EXPECT_EQ(after("GET /api/v1/users", {bearer("short")}), digests{});
    service.peer.local = true;
    EXPECT_EQ(after("GET /api/v1/users", {bearer(service.key)}), digests{});
}

}  // namespace
}  // namespace latchkey::api
