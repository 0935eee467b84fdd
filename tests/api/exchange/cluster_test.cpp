// A node of a cluster as its clients see it (api.md §15).
#include "domain/command.hpp"
#include "tests/api/harness.hpp"

namespace latchkey::api {
namespace {

using base::problem;

class cluster_node : public api_test {
  protected:
    cluster_node() { service.services().is_node = true; }
    reply get_at(std::string const& token) {
        return service.request("GET /api/v1/users", {}, {"Consistency-Token: " + token});
    }
    // The outcome of a write to key 1 in another place of the log.
    domain::outcome outcome_at(std::uint64_t position, base::wall_ms effective_by = 0) {
        model::key record;
        record.id = 1;
        record.rate_limits = {};
        domain::outcome result;
        result.record = std::move(record);
        result.time = service.now.wall;
        result.position = position;
        result.effective_by = effective_by;
        result.effective_in = effective_by == 0 ? 0 : 29'001;
        return result;
    }
};

TEST_F(cluster_node, refuses_all_that_needs_a_key_after_its_lease) {
    service.services().lease_over = true;
    for (auto const* const line : {"GET /api/v1/users", "DELETE /api/v1/users/1", "GET /nothing"}) {
        auto const answer = service.request(line);
        EXPECT_EQ(answer.status, 503) << line;
        EXPECT_EQ(answer.code(), "behind") << line;
        EXPECT_NE(answer.field("Retry-After"), "") << line;
        EXPECT_FALSE(service.committed) << line;
    }
    EXPECT_EQ(service.request_anonymous("GET /api/v1/users").code(), "key_missing");
    EXPECT_EQ(service.request_anonymous("GET /healthz").status, 200);
    service.services().lease_over = false;
    EXPECT_EQ(service.request("GET /api/v1/users").status, 200);
}

TEST_F(cluster_node, does_not_say_after_its_lease_that_a_key_is_unknown) {
    service.services().lease_over = true;
    auto const answer = service.request_anonymous("GET /api/v1/users", {}, {bearer("lk_live_no")});
    EXPECT_EQ(answer.code(), "behind") << "a key that it does not know may exist";
}

TEST_F(cluster_node, names_the_position_of_a_write) {
    service.next_outcome = outcome_at(4711);
    auto const answer = service.request("POST /api/v1/keys/1/deactivate");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Consistency-Token"), "4711");
    EXPECT_EQ(service.request("GET /api/v1/users").field("Consistency-Token"), "");
}

TEST_F(cluster_node, says_by_when_something_is_off_everywhere) {
    auto const in_30_s = base::wall_ms{1'800'000'030'000};
    service.next_outcome = outcome_at(5, in_30_s);
    auto const answer = service.request("POST /api/v1/keys/1/deactivate");
    EXPECT_EQ(answer.status, 202);
    EXPECT_EQ(answer.at("/effective_by"), "\"2027-01-15T08:00:30.000Z\"");
    EXPECT_EQ(answer.at("/effective_in_seconds"), "30");
    EXPECT_EQ(answer.at("/id"), "1") << "the members of the 200 are there too";
    EXPECT_EQ(answer.field("Consistency-Token"), "5");
}

TEST_F(cluster_node, says_by_when_sessions_are_over_everywhere) {
    service.next_outcome = outcome_at(6, base::wall_ms{1'800'000'030'000});
    auto const answer = service.request("DELETE /api/v1/sessions");
    EXPECT_EQ(answer.status, 202);
    EXPECT_EQ(answer.body,
              R"({"effective_by":"2027-01-15T08:00:30.000Z","effective_in_seconds":30})");
    service.next_outcome = outcome_at(7);
    EXPECT_EQ(service.request("DELETE /api/v1/sessions").status, 204);
}

TEST_F(cluster_node, refuses_a_token_that_no_response_had) {
    for (auto const* const token :
         {"", "x", "1x", "-1", "+1", "1 2", "0x1", "18446744073709551616", "1, 2"}) {
        auto const answer = get_at(token);
        EXPECT_EQ(answer.status, 400) << token;
        EXPECT_EQ(answer.code(), "malformed_request") << token;
    }
    auto const twice =
        service.request("GET /api/v1/users", {}, {"Consistency-Token: 0", "Consistency-Token: 0"});
    EXPECT_EQ(twice.code(), "malformed_request");
    EXPECT_FALSE(service.committed);
    EXPECT_EQ(get_at("0").status, 200);
    EXPECT_FALSE(service.committed) << "it is there already";
}

TEST_F(cluster_node, waits_for_a_position_and_goes_on) {
    auto const id = service.add_user("Ada");
    service.next_outcome = domain::outcome{};
    auto const answer =
        service.request("GET /api/v1/users/" + std::to_string(id), {}, {"Consistency-Token: 9"});
    EXPECT_TRUE(service.committed);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.at("/name"), "\"Ada\"");
    service.next_outcome = domain::outcome{};
    auto const write = service.request("POST /api/v1/users", R"({"name":"B","email":"b@c.d"})",
                                       {"Consistency-Token: 9"});
    EXPECT_EQ(write.status, 201) << "first the wait, then its own commit";
}

TEST_F(cluster_node, refuses_what_has_waited_in_vain) {
    service.next_outcome = domain::outcome{.problem = problem::behind};
    auto const answer = service.request("POST /api/v1/users", R"({"name":"B","email":"b@c.d"})",
                                        {"Consistency-Token: 9", "Idempotency-Key: one"});
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.code(), "behind");
    EXPECT_NE(answer.field("Retry-After"), "");
    EXPECT_EQ(service
                  .request("POST /api/v1/users", R"({"name":"B","email":"b@c.d"})",
                           {"Idempotency-Key: one"})
                  .status,
              201)
        << "nothing was stored, nor does it hold the key";
}

TEST_F(api_test, a_service_of_one_machine_ignores_the_token) {
    EXPECT_EQ(service.request("GET /api/v1/users", {}, {"Consistency-Token: x"}).status, 200);
}

}  // namespace
}  // namespace latchkey::api
