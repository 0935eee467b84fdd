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
    if (i < 1000) record.environment = model::environment::staging;  // few enough to be counted
    if (i % 1000 == 999) record.not_before = now + 1'000'000;
    for (int member = 0; member < 50; ++member)
        record.metadata[std::to_string(member)] = dear_text(40);
    return record;
}

std::string in_project(api_fixture& service, std::string_view project,
                       std::vector<std::string_view> const& scopes) {
    model::key record{.rate_limits = {}};
    record.project = project;
    return service.add_key(scopes, std::move(record));
}

// As large as they may be; each has another few of the deliveries, the first has all.
void add_webhooks(api_fixture& service, dear_sizes const& sizes) {
    std::string const maker = in_project(service, "dear", {"webhooks:write", "changes:read"});
    std::string const url = "https://example.com/" + std::string(2'000, 'u'), description(500, 'd'),
                      header(4'000, 'h');
    for (int i = 0; i < sizes.webhooks; ++i)
        send(service, {.line = "POST /api/v1/webhooks",
                       .body = R"({"url":")" + url + R"(","description":")" + description +
                               R"(","headers":{"X-A":")" + header + R"("}})",
                       .key = i % 2 == 0 ? service.key : maker});
    auto const last = service.services().snapshot.changes().last;
    model::delivery delivery{.state = model::delivery_state::delivered};
    for (int i = 1; i <= 10; ++i)
        delivery.attempts.push_back({.time = i,
                                     .status = 200,
                                     .error = {},
                                     .response = dear_text(model::delivery_response_bytes_max)});
    domain::webhook_result result{.webhook = 1, .deliveries = {}, .replays = {}};
    for (int i = 0; i < sizes.deliveries; ++i) {
        delivery.sequence = last - i;
        result.deliveries.push_back(delivery);
        if (result.deliveries.size() < 50 && i + 1 != sizes.deliveries) continue;
        service.commit({.action = domain::note_deliveries{{result}}});
        result.deliveries.clear();
    }
}

std::string nasty_json(std::string_view name, std::size_t bytes) {
    return std::ranges::find(nasty_bodies, name, &nasty_body::name)->make(bytes);
}

}  // namespace

void fill_dearly(api_fixture& service, dear_sizes const& sizes) {
    std::vector<domain::command> commands;
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
        add(domain::create_user{dear_text(100), "u" + std::to_string(i) + "@example.com"}, 200);
    for (int i = 0; i < sizes.users; ++i)
        add(domain::create_user{std::string(200, 'a'),
                                std::string(230, 'a') + std::to_string(i) + "@example.com"},
            500);
    for (int i = 0; i < sizes.posts; ++i)
        add(domain::create_post{user, "T", dear_text(65'536)}, 65'536);
    for (int i = 0; i < sizes.dear_changes; ++i)
        add(domain::change_post{.id = 1, .body = dear_text(65'535) + std::to_string(i % 10)},
            3 * 65'536);
    for (int i = 0; i < sizes.small_posts; ++i)
        add(domain::create_post{user, "T", std::string(1'200, 's')}, 1'500);
    for (int i = 0; i < sizes.events; ++i)
        add(domain::receive_event{.source = "shop",
                                  .delivery_id = std::to_string(i),
                                  .payload = plain_body(255 * 1024)},
            255 * 1024);
    for (int i = 0; i < sizes.keys; ++i)
        add(domain::create_key{dear_key(i, service.now.wall)}, 2500);
    service.commit_all(std::move(commands));
    auto const last = service.last_id_of_keys();
    constexpr std::int64_t minute = 60'000;
    domain::note_key_uses uses;
    for (model::id key = 1; key <= last; ++key) {
        domain::key_use use{
            .key = key, .minute = service.now.wall / minute * minute, .counted = {}};
        use.counted.count(200, false);
        uses.uses.push_back(use);
        if (uses.uses.size() < domain::key_uses_max && key != last) continue;
        service.commit({.action = std::exchange(uses, {})});
    }
    add_webhooks(service, sizes);
}

dear_step follow_changes(api_fixture& service, std::string_view query) {
    service.request("GET /api/v1/changes" + std::string(query), {}, {"Accept: text/event-stream"});
    auto const stream = service.exchange.take_event_stream();
    auto& snapshot = service.services().snapshot;
    dear_step dearest;
    for (auto state = event_stream::progress::more; state == event_stream::progress::more;) {
        std::string output;
        auto const cost = snapshot.work().cost(), ns = processor_time();
        state = stream->append(service.services(), service.now, base::limits::stream_step_bytes_max,
                               output);
        dearest.ns = std::max(dearest.ns, processor_time() - ns);
        dearest.cost = std::max(dearest.cost, snapshot.work().cost() - cost);
        ++dearest.count;
    }
    return dearest;
}

reply send(api_fixture& service, dear_request const& request) {
    auto fields = request.fields;
    fields.push_back(bearer(request.key.empty() ? service.key : request.key));
    return service.request_anonymous(request.line, request.body, fields);
}

std::vector<dear_request> dear_requests(api_fixture& service, dear_sizes const& sizes) {
    auto const key_of = [](model::id id) { return "/api/v1/keys/" + std::to_string(id); };
    auto const last_key = service.last_id_of_keys();
    auto const reader =
        in_project(service, "dear",
                   {"keys:read", "usage:read", "audit:read", "changes:read", "webhooks:read"});
    auto const last_caller = in_project(service, "dear", {"keys:write"}),
               maker = in_project(service, "other", {"webhooks:write", "changes:read"});
    std::string const post = "/api/v1/posts/1", user = "/api/v1/users/1", key = key_of(last_key),
                      hook = "/api/v1/webhooks/1", secret = "/api/v1/events/shop/secret";
    std::string ids = "1";
    for (int i = 2; i <= 100; ++i) ids += "," + std::to_string(i);
    std::string const far = std::to_string(std::max(1, std::min(1000, sizes.small_posts / 200))),
                      far_key = std::to_string(std::max(1, sizes.keys / 200));
    lines const same{"If-None-Match: *"}, form{"Content-Type: application/x-www-form-urlencoded"};
    std::string many_tags = "If-None-Match: ";
    while (many_tags.size() < 15'000) many_tags += "\"0123456789abcdefghi\",";
    std::string const metadata =
        R"({"name":"a","metadata":{"a":")" + std::string(16'000, 'x') + R"("}})";
    std::string const large =
        R"({"user_id":1,"title":"T","body":")" + std::string(65'000, 'x') + R"("})";
    std::size_t constexpr most = 1000 * 1024, most_of_event = 255 * 1024;
    auto const unknown = auth::unknown_key();
    std::string parameters = "token=" + unknown;
    while (parameters.size() < most) parameters += "&%61";
    // What is looked for begins, or ends, as each name and address does.
    std::string const few(99, 'a'),
        users = "GET /api/v1/users?limit=100&search=", keys = "GET /api/v1/keys?limit=100&search=",
        audit = "GET /api/v1/audit?limit=100&";
    return {
        {"GET /api/v1/users?limit=100"},
        {users + few + "b"},
        {users + "b" + few},
        {users + few},
        {users + "EXAMPLE"},
        {users + "b&sort=-id"},
        {users + "b&page=2"},
        {"GET /api/v1/users?email=u1@example.com"},
        {"GET " + user},
        {"GET " + user + "?include=posts"},
        {"GET " + user + "/posts?limit=100"},
        {"GET /api/v1/posts?limit=100"},
        {"GET /api/v1/posts?limit=100", {}, same},
        {"GET /api/v1/posts?limit=100", {}, {many_tags}},
        {"HEAD /api/v1/posts?limit=100"},
        {"HEAD /api/v1/posts?limit=100", {}, same},
        {"GET /api/v1/posts?limit=100&page=" + far},
        {"GET /api/v1/posts?limit=100&status=draft&page=" + far},
        {"GET " + user + "/posts?limit=100&page=" + far},
        {"GET " + post},
        {"GET /api/v1/keys?limit=100"},
        {"GET /api/v1/keys?limit=100&page=" + far_key},
        {"GET /api/v1/keys?limit=100&state=active"},
        {"GET /api/v1/keys?limit=100&state=scheduled"},
        {"GET /api/v1/keys?limit=100&state=scheduled&project=dear"},
        {"GET /api/v1/keys?limit=100&page=" + far_key, {}, {}, reader},
        {"GET /api/v1/keys?limit=100&state=scheduled", {}, {}, reader},
        {"GET /api/v1/keys?limit=100&state=expired&start=lkey_sam"},
        {"GET /api/v1/keys?limit=100&unused_since=2020-01-01T00:00:00Z"},
        {"GET /api/v1/keys?limit=1&page=1000&state=scheduled"},
        {keys + std::string(99, 'n') + "x"},
        {keys + "n"},
        {keys + "n&environment=staging"},
        {keys + "x&environment=staging"},
        {keys + "x&state=active"},
        {keys + "x&project=dear&sort=-id"},
        {keys + "n&environment=staging", {}, {}, reader},
        {"GET /api/v1/keys/current"},
        {"GET " + key},
        {"GET " + key + "/usage?granularity=minute"},
        {"GET /api/v1/usage"},
        {"GET /api/v1/usage?top=100"},
        {"GET /api/v1/usage?top=100", {}, {}, reader},
        {"GET /api/v1/usage?granularity=minute"},
        {"GET /api/v1/usage?key_id=" + ids},
        {"GET /api/v1/service"},
        {"GET /api/v1/audit?limit=100"},
        {"GET /api/v1/audit?limit=100&project=dear"},
        {"GET /api/v1/audit?limit=100&page=" + far_key},
        {"GET /api/v1/audit?limit=100&page=" + far_key, {}, {}, reader},
        {audit + "action=secret.put"},
        {audit + "action=key.create"},
        {audit + "key=1"},
        {audit + "key=1&action=key.rotate&sort=-id"},
        {audit + "action=key.rotate&project=dear"},
        {audit + "action=key.rotate", {}, {}, reader},
        {audit + "from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"},
        {audit + "from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", {}, {}, reader},
        {"GET /api/v1/changes?limit=1000"},
        {"GET /api/v1/changes?type=key.deactivated"},
        {"GET /api/v1/changes?limit=1000", {}, {}, reader},
        {"GET /api/v1/events?limit=100"},
        {"GET /api/v1/events?limit=100&source=shop"},
        {"GET /api/v1/events/1"},
        {"GET /api/v1/webhooks?limit=100"},
        {"GET /api/v1/webhooks?limit=100", {}, {}, reader},
        {"GET " + hook},
        {"GET " + hook + "/deliveries?limit=100"},
        {"GET " + hook + "/deliveries?limit=100&state=failed"},
        {"GET /api/v1/webhooks/2/deliveries?limit=100"},
        {"HEAD " + hook + "/deliveries?limit=100"},
        {"GET /auth"},
        {"GET /healthz"},
        {"GET /openapi.json"},
        {"GET /docs"},
        {"GET /docs/paging"},
        {"GET /problems"},
        {"GET " + public_path("/docs/clients/{package}")},
        {"GET /problems/not_found"},
        {"GET /"},
        {"GET /favicon.ico"},
        {"GET " + public_path("/assets/{asset}")},
        {"GET /.well-known/oauth-protected-resource"},
        {"GET /console"},
        {"POST /api/v1/users", R"({"name":"a","email":"a@example.com"})"},
        {"POST /api/v1/users", nasty_json("umlauts", most)},
        {"POST /api/v1/users", nasty_json("two names in many", most)},
        {"POST /api/v1/users", members_body(most, "", 3)},
        {"PUT " + user, R"({"name":"a","email":"put@example.com"})"},
        {"PATCH " + user, R"({"name":"a"})"},
        {"POST /api/v1/posts", large},
        {"POST /api/v1/posts", nasty_json("numbered escapes", most)},
        {"PUT " + post, R"({"title":"T","body":")" + std::string(65'000, 'x') + R"("})"},
        {"PATCH " + post, R"({"title":"T"})"},
        {"POST /api/v1/keys", metadata},
        {"POST /api/v1/keys", nasty_json("metadata", most)},
        {"POST /api/v1/keys", nasty_json("unknown scopes", most)},
        {"POST /api/v1/keys", nasty_json("unknown networks", most)},
        {"PATCH " + key, metadata},
        {"POST /api/v1/keys/verify", R"({"key":")" + unknown + R"("})"},
        {"POST /api/v1/keys/verify", nasty_json("a list of credentials", most)},
        {"POST /api/v1/introspect", "token=" + unknown, form},
        {"POST /api/v1/introspect", parameters, form},
        {"POST " + key + "/rotate", R"({"overlap_seconds":100})"},
        {"POST " + key + "/deactivate", R"({"reason":"compromised"})"},
        {"POST " + key + "/reactivate"},
        {"POST " + key_of(last_key - 1) + "/deactivate"},
        {"POST " + key_of(last_key - 1) + "/reactivate"},
        {"POST /api/v1/keys/current/deactivate", {}, {}, last_caller},
        {"POST /api/v1/session"},
        {"DELETE /api/v1/session"},
        {"DELETE /api/v1/sessions"},
        {"POST /api/v1/events/shop", plain_body(most_of_event)},
        {"POST /api/v1/events/shop", nasty_json("deep objects", most_of_event)},
        {"POST /api/v1/events/shop", nasty_json("names that meet", most_of_event)},
        {"POST /api/v1/events/shop", nasty_json("one name in many", most_of_event)},
        {"PUT " + secret, R"({"format":"standard","overlap_seconds":100})"},
        {"GET " + secret},
        {"GET /api/v1/events/sources"},
        {"POST /api/v1/webhooks", R"({"url":"https://example.com/"})", {}, maker},
        {"PATCH " + hook, R"({"ordered":true})"},
        {"POST " + hook + "/rotate-secret"},
        {"POST " + hook + "/enable"},
        {"POST " + hook + "/test"},
        {"POST " + hook + "/replay", R"({"from_sequence":1})"},
        {"DELETE " + hook},
        {"DELETE " + secret},
        {"DELETE " + post},
        {"DELETE " + user},
        {"DELETE " + key},
    };
}

}  // namespace latchkey::api
