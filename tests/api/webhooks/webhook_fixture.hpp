// A service, and requests about webhooks in one line; the tests of api.md §17 share it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "../harness.hpp"
#include "api/exchange/openapi.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::api {

inline constexpr std::string_view webhooks_path = "/api/v1/webhooks";
inline constexpr std::string_view simple = R"({"url":"https://hooks.example.com/in"})";

class webhooks_test : public api_test {
  protected:
    static std::string path(model::id id, std::string_view action = {}) {
        return std::string(webhooks_path) + "/" + std::to_string(id) + std::string(action);
    }
    reply make(std::string_view body = simple, lines fields = {}) {
        return service.request("POST /api/v1/webhooks", body, std::move(fields));
    }
    reply get(model::id id) { return service.request("GET " + path(id)); }
    reply patch(model::id id, std::string_view body, lines fields = {}) {
        return service.request("PATCH " + path(id), body, std::move(fields));
    }
    reply post(model::id id, std::string_view action, std::string_view body = {},
               lines fields = {}) {
        return service.request("POST " + path(id, action), body, std::move(fields));
    }
    // A request with that key.
    reply as(std::string const& key, std::string const& line, std::string_view body = {}) {
        return service.request_anonymous(line, body, {bearer(key)});
    }
    void disable(model::id id) { EXPECT_EQ(patch(id, R"({"enabled":false})").status, 200); }
    domain::signing_webhook signing(model::id id) {
        service.services().snapshot.renew();  // sees what the last request wrote
        return domain::find_signing_webhook(service.services().snapshot, id, service.now.wall)
            .value();
    }
    // What the deliverer commits of one change.
    void deliver(model::id webhook, model::id sequence, model::delivery_state state,
                 std::vector<model::delivery_attempt> attempts, base::wall_ms next = 0) {
        domain::webhook_result result{.webhook = webhook, .progress = {}, .replays = {}};
        result.deliveries = {{.sequence = sequence,
                              .type = model::change_type::user_created,
                              .state = state,
                              .next_attempt_at = next,
                              .attempts = std::move(attempts)}};
        EXPECT_EQ(service.commit({.action = domain::note_deliveries{{std::move(result)}}}).problem,
                  base::problem::none);
    }
    model::id last_change() {
        service.add_user();
        auto const list = service.request("GET /api/v1/changes?limit=1000").json();
        return list.at("data").as_array().back().at("sequence").as_int64();
    }
};

// Every member of the schema, and no others.
inline void expect_shape(boost::json::value const& value, std::string_view schema) {
    static auto const document = boost::json::value(describe_interface(settings{}));
    auto const& properties =
        document.at_pointer("/components/schemas/" + std::string(schema) + "/properties")
            .as_object();
    std::set<std::string> described, shown;
    for (auto const& member : properties) described.emplace(member.key());
    for (auto const& member : value.as_object()) shown.emplace(member.key());
    EXPECT_EQ(shown, described) << schema;
}

inline bool has(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

}  // namespace latchkey::api
