// Pages that end before their limit (api.md §7): by bytes, and by what was read in vain.
#include "../harness.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

namespace limits = base::limits;
using base::problem;

// Each character of it takes six bytes in JSON.
std::string const dear_text(60'000, '\x01');

class pages : public api_test {
  protected:
    reply get(std::string const& target, lines fields = {}) {
        return service.request("GET /api/v1" + target, {}, std::move(fields));
    }
    reply head(std::string const& target, lines fields = {}) {
        return service.request("HEAD /api/v1" + target, {}, std::move(fields));
    }
    void add_posts(int count, std::string const& text) {
        auto const user = service.add_user();
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(service.commit({.action = domain::create_post{user, "T", text}}).problem,
                      problem::none);
    }
    // All ids of a list, by cursor; each page is bounded, and there is none without an element.
    std::vector<model::id> walk(std::string const& target, std::size_t element_bytes_max) {
        std::vector<model::id> ids;
        for (std::string cursor;;) {
            auto const page = get(target + (cursor.empty() ? "" : "&cursor=" + cursor));
            EXPECT_EQ(page.status, 200);
            EXPECT_LE(page.body.size(), limits::page_bytes_max + element_bytes_max + 1024);
            auto const whole = page.json();
            for (auto const& each : whole.at("data").as_array())
                ids.push_back(each.at("id").as_int64());
            auto const next = page.at("/pagination/next_cursor");
            EXPECT_EQ(page.at("/pagination/has_more"), next == "null" ? "false" : "true");
            if (next == "null" || ids.size() > 1000) return ids;
            cursor = next.substr(1, next.size() - 2);
        }
    }
};

std::vector<model::id> first_ids(model::id count) {
    std::vector<model::id> ids(static_cast<std::size_t>(count));
    for (model::id i = 0; i < count; ++i) ids[static_cast<std::size_t>(i)] = i + 1;
    return ids;
}

TEST_F(pages, end_by_bytes_and_the_cursor_goes_on) {
    add_posts(10, dear_text);
    auto const element_bytes = 6 * dear_text.size() + 1024;
    for (std::string const target :
         {"/posts?limit=100", "/users/1/posts?limit=100", "/posts?status=draft&limit=100"})
        EXPECT_EQ(walk(target, element_bytes), first_ids(10)) << target;
    auto const page = get("/posts?limit=100");
    EXPECT_EQ(page.json().at("data").as_array().size(), 3u);
    EXPECT_EQ(page.at("/pagination/total"), "10") << "exact all the same";
    EXPECT_EQ(page.at("/pagination/has_more"), "true");
    EXPECT_NE(page.links().at("next").find("cursor="), std::string::npos)
        << "a number counts whole pages";
    EXPECT_EQ(get("/posts?limit=2").links().at("next"), "/api/v1/posts?page=2&limit=2");
    auto const user = get("/users/1?include=posts");
    EXPECT_EQ(user.json().at("posts").as_array().size(), 3u);
    EXPECT_EQ(user.at("/posts_pagination/has_more"), "true");
}

TEST_F(pages, of_events_end_by_bytes) {
    std::string const payload = R"({"text":")" + std::string(250'000, 'x') + R"("})";
    for (int i = 0; i < 9; ++i)
        ASSERT_EQ(service.request("POST /api/v1/events/shop", payload).status, 202);
    EXPECT_EQ(walk("/events?limit=100", payload.size() + 1024), first_ids(9));
}

TEST_F(pages, of_a_head_are_made_in_part) {
    add_posts(10, dear_text);
    auto const bytes_read = service.services().snapshot.work().bytes;
    auto const bare = head("/posts?limit=100");
    EXPECT_LT(service.services().snapshot.work().bytes - bytes_read, 2 * dear_text.size());
    auto const whole = get("/posts?limit=100");
    EXPECT_EQ(bare.status, 200);
    for (auto const* const name : {"Content-Type", "Cache-Control", "Vary"})
        EXPECT_EQ(bare.fields(name), whole.fields(name)) << name;
    for (auto const* const name : {"Content-Length", "ETag"})
        EXPECT_EQ(bare.fields(name), lines{}) << name;
    EXPECT_EQ(bare.links().count("next"), 0u);
    EXPECT_EQ(bare.links().at("last"), whole.links().at("last"));
    EXPECT_EQ(head("/users/1?include=posts").fields("Content-Length"), lines{});
    EXPECT_EQ(head("/changes").fields("Content-Length"), lines{});
    // A condition is about the entity tag, and so about the whole page.
    auto const tag = whole.field("ETag");
    EXPECT_EQ(head("/posts?limit=100", {"If-None-Match: " + tag}).status, 304);
    EXPECT_EQ(head("/posts?limit=100", {"If-None-Match: W/\"other\""}).fields("ETag"), lines{tag});
}

class many_keys : public pages {
  protected:
    // More than are counted.
    static constexpr int count = 2'100;
    void SetUp() override {
        for (int i = 0; i < count; ++i) {
            model::key record{.rate_limits = {}};
            if (i % 1000 == 999) record.not_before = service.now.wall + 1'000'000;
            record.digest = auth::digest_of(std::to_string(i));
            record.start = "lkey_" + std::to_string(100 + i % 10);
            record.project = i % 2 == 0 ? "even" : "odd";
            ASSERT_EQ(service.commit({.action = domain::create_key{std::move(record)}}).problem,
                      problem::none);
        }
    }
};

TEST_F(many_keys, are_not_all_read_for_a_total) {
    auto const page = get("/keys?state=active&limit=2");
    EXPECT_EQ(page.json().at("data").as_array().size(), 2u);
    for (auto const* const member : {"total", "total_pages"})
        EXPECT_EQ(page.at(std::string("/pagination/") + member), "null") << member;
    EXPECT_EQ(page.at("/pagination/has_more"), "true");
    EXPECT_EQ(page.links().at("next"), "/api/v1/keys?page=2&limit=2&state=active");
    EXPECT_EQ(page.links().count("last"), 0u);
    EXPECT_EQ(get("/keys?state=active&limit=2&page=3").links().at("prev"),
              "/api/v1/keys?page=2&limit=2&state=active");
    EXPECT_EQ(get("/keys?limit=2").at("/pagination/total"), std::to_string(count + 1));
    EXPECT_EQ(get("/keys?state=active&project=odd&limit=1").at("/pagination/total"),
              std::to_string(count / 2 - 2))
        << "of fewer it is exact";
    EXPECT_EQ(walk("/keys?state=scheduled&limit=1", 4096).size(), 2u);
}

}  // namespace
}  // namespace latchkey::api
