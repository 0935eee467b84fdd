#include "dear_requests.hpp"

#include "nasty_bodies.hpp"

namespace latchkey::api {
namespace {

// Each byte of it takes six in JSON.
std::string dear_text(std::size_t bytes) {
    return std::string(bytes, '\x01');
}

model::key dear_key(int i, base::wall_ms now) {
    model::key record{.rate_limits = {}};
    record.digest = auth::digest_of("dear " + std::to_string(i));
    record.name = std::string(100, 'n');
    record.start = "lkey_sam";  // as of keys that were imported
    record.project = "dear";
    if (i % 1000 == 999) record.not_before = now + 1'000'000;
    for (int member = 0; member < 16; ++member)
        record.metadata["member " + std::to_string(member)] = dear_text(120);
    return record;
}

}  // namespace

void fill_dearly(api_fixture& service, dear_sizes const& sizes) {
    std::vector<store::command> commands;
    std::size_t bytes = 0;
    auto const add = [&](auto action, std::size_t size) {
        commands.emplace_back().action = std::move(action);
        bytes += size;
        if (commands.size() < 64 && bytes < (1u << 20)) return;
        service.commit_all(std::exchange(commands, {}));
        bytes = 0;
    };
    auto const user = service.add_user(dear_text(100));
    for (int i = 0; i < 100; ++i)
        add(store::create_user{dear_text(100), "u" + std::to_string(i) + "@example.com"}, 200);
    for (int i = 0; i < sizes.posts; ++i)
        add(store::create_post{user, "T", dear_text(65'536)}, 65'536);
    for (int i = 0; i < sizes.small_posts; ++i) add(store::create_post{user, "T", "small"}, 100);
    for (int i = 0; i < sizes.events; ++i)
        add(store::receive_event{.source = "shop",
                                 .delivery_id = std::to_string(i),
                                 .payload = plain_body(255 * 1024)},
            255 * 1024);
    for (int i = 0; i < sizes.webhooks; ++i)
        service.request("POST /api/v1/webhooks", R"({"url":"https://example.com/)" +
                                                     std::to_string(i) + R"(","description":")" +
                                                     std::string(400, 'd') + R"("})");
    for (int i = 0; i < sizes.keys; ++i)
        add(store::create_key{dear_key(i, service.now.wall)}, 2500);
    service.commit_all(std::move(commands));
    auto const last = service.last_id_of_keys();
    constexpr std::int64_t minute = 60'000;
    store::note_key_uses uses;
    for (model::id key = 1; key <= last; ++key) {
        store::key_use use{.key = key, .minute = service.now.wall / minute * minute, .counted = {}};
        use.counted.count(200, false);
        uses.uses.push_back(use);
        if (uses.uses.size() < store::key_uses_max && key != last) continue;
        service.commit({.action = std::exchange(uses, {})});
    }
}

std::vector<dear_request> dear_requests(api_fixture& service, dear_sizes const& sizes) {
    auto const key = "/api/v1/keys/" + std::to_string(service.last_id_of_keys());
    std::string const post = "/api/v1/posts/1", user = "/api/v1/users/1",
                      hook = "/api/v1/webhooks/1";
    std::string ids = "1";
    for (int i = 2; i <= 100; ++i) ids += "," + std::to_string(i);
    std::string const far = std::to_string(std::max(1, std::min(1000, sizes.small_posts / 200)));
    lines const same{"If-None-Match: *"};
    std::string const metadata =
        R"({"name":"a","metadata":{"a":")" + std::string(16'000, 'x') + R"("}})";
    std::string const large =
        R"({"user_id":1,"title":"T","body":")" + std::string(65'000, 'x') + R"("})";
    auto const unknown = auth::unknown_key();
    return {
        {"GET /api/v1/users?limit=100"},
        {"GET " + user + "?include=posts"},
        {"GET " + user + "/posts?limit=100"},
        {"GET /api/v1/posts?limit=100"},
        {"GET /api/v1/posts?limit=100", {}, same},
        {"HEAD /api/v1/posts?limit=100"},
        {"HEAD /api/v1/posts?limit=100", {}, same},
        {"GET /api/v1/posts?limit=100&page=" + far},
        {"GET /api/v1/posts?limit=100&status=draft&page=" + far},
        {"GET " + post},
        {"GET /api/v1/keys?limit=100"},
        {"GET /api/v1/keys?limit=100&state=active"},
        {"GET /api/v1/keys?limit=100&state=scheduled"},
        {"GET /api/v1/keys?limit=100&state=scheduled&project=dear"},
        {"GET /api/v1/keys?limit=100&state=expired&start=lkey_sam"},
        {"GET /api/v1/keys?limit=100&unused_since=2020-01-01T00:00:00Z"},
        {"GET /api/v1/keys?limit=1&page=1000&state=scheduled"},
        {"GET /api/v1/keys/current"},
        {"GET " + key},
        {"GET " + key + "/usage?granularity=minute"},
        {"GET /api/v1/usage"},
        {"GET /api/v1/usage?top=100"},
        {"GET /api/v1/usage?granularity=minute"},
        {"GET /api/v1/usage?key_id=" + ids},
        {"GET /api/v1/service"},
        {"GET /api/v1/audit?limit=100"},
        {"GET /api/v1/audit?limit=100&project=dear"},
        {"GET /api/v1/changes?limit=1000"},
        {"GET /api/v1/changes?type=key.deactivated"},
        {"GET /api/v1/events?limit=100"},
        {"GET /api/v1/events?limit=100&source=shop"},
        {"GET /api/v1/events/1"},
        {"GET /api/v1/events/sources"},
        {"GET /api/v1/events/shop/secret"},
        {"GET /api/v1/webhooks?limit=100"},
        {"GET " + hook},
        {"GET " + hook + "/deliveries?limit=1000"},
        {"GET /auth"},
        {"GET /healthz"},
        {"GET /openapi.json"},
        {"GET /docs"},
        {"GET /docs/paging"},
        {"GET /problems"},
        {"GET /problems/not_found"},
        {"GET /"},
        {"GET /favicon.ico"},
        {"GET " + public_path("/assets/{asset}")},
        {"GET /console"},
        {"POST /api/v1/users", R"({"name":"a","email":"a@example.com"})"},
        {"PUT " + user, R"({"name":"a","email":"a@example.com"})"},
        {"PATCH " + user, R"({"name":"a"})"},
        {"POST /api/v1/posts", large},
        {"PUT " + post, large},
        {"PATCH " + post, R"({"title":"T"})"},
        {"POST /api/v1/keys", metadata},
        {"PATCH " + key, metadata},
        {"POST /api/v1/keys/verify", R"({"key":")" + unknown + R"("})"},
        {"POST /api/v1/introspect",
         "token=" + unknown,
         {"Content-Type: application/x-www-form-urlencoded"}},
        {"POST /api/v1/events/shop", plain_body(255 * 1024)},
        {"POST /api/v1/users", members_body(1000 * 1024, "", 3)},
    };
}

}  // namespace latchkey::api
