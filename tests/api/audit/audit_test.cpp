// GET /audit with filters (api.md §13).
#include "domain/audit/audit.hpp"

#include "../harness.hpp"

namespace latchkey::api {
namespace {

constexpr base::wall_ms beginning = 1'767'225'600'000;  // 2026-01-01T00:00:00Z
base::wall_ms audit_clock = beginning;

class audit : public ::testing::Test {
  protected:
    api_fixture service{[] { return audit_clock; }};

    // The ids of the entries, as digits.
    std::string ids(std::string const& query, std::string const& key = {}) {
        auto const response = service.request_anonymous("GET /api/v1/audit?" + query, {},
                                                        {bearer(key.empty() ? service.key : key)});
        EXPECT_EQ(response.status, 200) << query << response.body;
        auto const list = response.json();
        std::string all;
        for (auto const& each : list.at("data").as_array())
            all += std::to_string(each.at("id").as_int64());
        EXPECT_EQ(response.at("/pagination/total"), std::to_string(all.size())) << query;
        return all;
    }
    void ask(std::string const& line, std::string const& body = {}) {
        audit_clock += 1000;
        auto const response = service.request(line, body);
        EXPECT_LT(response.status, 300) << line << response.body;
    }
    // Entry 1, at 00:00:00, made key 1, which makes the others, a second after each other.
    void SetUp() override {
        ask("POST /api/v1/keys", R"({"name":"n","project":"a"})");  // 2
        ask("POST /api/v1/keys", R"({"name":"n","project":"b"})");  // 3
        ask("PATCH /api/v1/keys/2", R"({"name":"m"})");
        ask("POST /api/v1/keys/3/deactivate");
        ask("PUT /api/v1/events/shop/secret", R"({"format":"standard"})");
        ask("POST /api/v1/keys/2/deactivate");
    }
    void TearDown() override { audit_clock = beginning; }
};

TEST_F(audit, is_filtered_by_action) {
    EXPECT_EQ(ids(""), "1234567");
    EXPECT_EQ(ids("action=key.create"), "123");
    EXPECT_EQ(ids("action=key.deactivate&sort=-id"), "75");
    EXPECT_EQ(ids("action=secret.put"), "6");
    EXPECT_EQ(ids("action=webhook.create"), "");
    EXPECT_EQ(ids("action=key.deactivate&project=a"), "7");
    for (std::string const action : {"key.created", "", "KEY.CREATE", "key", "create"}) {
        auto const refusal = service.request("GET /api/v1/audit?action=" + action);
        EXPECT_EQ(refusal.faults(),
                  (std::map<std::string, std::string>{{"action", "not_in_enum"}}));
        for (auto const name : domain::audit_names())
            EXPECT_NE(refusal.at("/errors/0/detail").find(name), std::string::npos) << name;
    }
}

TEST_F(audit, is_filtered_by_the_key_that_was_changed_or_made_the_change) {
    EXPECT_EQ(ids("key=2"), "247");
    EXPECT_EQ(ids("key=3"), "35");
    EXPECT_EQ(ids("key=1"), "1234567");
    EXPECT_EQ(ids("key=9007199254740991"), "");
    EXPECT_EQ(ids("key=2&action=key.change"), "4");
    EXPECT_EQ(ids("key=1&project=b"), "35");
    for (std::string const key : {"", "0", "-1", "01", "a", "9007199254740992"})
        EXPECT_EQ(service.request("GET /api/v1/audit?key=" + key).code(), "invalid_parameter");
}

TEST_F(audit, is_filtered_by_time) {
    std::string const day = "2026-01-01T00:00:0";
    EXPECT_EQ(ids("from=" + day + "2Z"), "34567") << "inclusive";
    EXPECT_EQ(ids("to=" + day + "2Z"), "12") << "exclusive";
    EXPECT_EQ(ids("from=" + day + "1Z&to=" + day + "4Z"), "234");
    EXPECT_EQ(ids("from=" + day + "1Z&to=" + day + "4Z&sort=-id&limit=100"), "432");
    EXPECT_EQ(ids("from=" + day + "1.001Z&to=" + day + "2Z"), "");
    EXPECT_EQ(ids("from=2026-01-01T02:00:05%2B02:00"), "67");
    EXPECT_EQ(ids("from=1970-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"), "1234567");
    EXPECT_EQ(ids("from=2100-01-01T00:00:00Z"), "");
    EXPECT_EQ(ids("from=" + day + "2Z&to=" + day + "6Z&project=b"), "35");
    EXPECT_EQ(ids("from=" + day + "2Z&key=2&action=key.deactivate"), "7");
    auto const second = service.request("GET /api/v1/audit?limit=4&page=2&from=" + day + "1Z");
    EXPECT_EQ(second.at("/pagination/total"), "6");
    EXPECT_EQ(second.at("/data/0/id") + second.at("/data/1/id"), "67");
}

// What it may not see is not told by a filter either.
TEST_F(audit, shows_a_caller_its_own_project_with_every_filter) {
    auto const narrow = service.add_key({"audit:read"}, {.project = "a", .rate_limits = {}}),
               reader = service.add_key({"audit:read", "events:read"},
                                        {.project = "a", .rate_limits = {}});
    EXPECT_EQ(ids("", narrow), "24789");
    EXPECT_EQ(ids("action=key.deactivate", narrow), "7");
    EXPECT_EQ(ids("key=3", narrow), "");
    EXPECT_EQ(ids("key=1", narrow), "247");
    EXPECT_EQ(ids("key=1", reader), "2467");
    EXPECT_EQ(ids("action=secret.put", narrow), "");
    EXPECT_EQ(ids("action=secret.put", reader), "6");
    EXPECT_EQ(ids("to=2026-01-01T00:00:06Z", narrow), "24");
    EXPECT_EQ(ids("to=2026-01-01T00:00:06Z&sort=-id", reader), "642");
    EXPECT_EQ(ids("action=key.deactivate&project=b", narrow), "");
}

}  // namespace
}  // namespace latchkey::api
