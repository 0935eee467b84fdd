// JSON Schemas of webhooks and their deliveries. What is sent to a webhook is described by
// exchange/sent_changes.cpp.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/webhooks/webhook_routes.hpp"
#include "base/limits.hpp"
#include "model/webhook.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view webhook_example = R"({"id": 2, "url": "https://example.com/hooks",
    "types": ["user.*", "key.expiring"], "description": "CRM", "ordered": false,
    "max_per_second": null, "headers": {"Authorization": "***"}, "signatures": ["v1"],
    "enabled": true, "disabled_at": null, "disabled_reason": null, "failing_since": null,
    "position": 1042, "project": "default", "public_key": null, "secret_rotation_ends_at": null,
    "created_by": 1, "created_at": "2026-01-02T03:04:05.678Z",
    "updated_at": "2026-01-02T03:04:05.678Z"})";

object url() {
    return with_description(object{{"type", "string"}, {"maxLength", model::webhook_url_bytes_max}},
                            "`https`, without user name or fragment; not one that leads to private "
                            "addresses.");
}
object types() {
    auto list = list_of(object{{"type", "string"}}, model::webhook_types_max);
    list["minItems"] = 1;
    return with_description(list, "Types of changes: `user.created`, `user.*` or `*`.");
}
object description() {
    return nullable(text(0, model::webhook_description_points_max));
}
object ordered() {
    return with_description(boolean(), "One after the other, in the order of their sequences.");
}
object rate() {
    return with_description(nullable(integer(1, model::webhook_rate_max)), "Null: no limit.");
}
object sent_headers() {
    auto map = map_of_text();
    map["maxProperties"] = model::webhook_headers_max;
    return with_description(map,
                            "Fields that are sent along, 4 KiB together; shown with their values "
                            "masked.");
}
object signature_kinds() {
    auto list = list_of(one_of({"v1", "v1a"}), 2);
    list["minItems"] = 1;
    return with_description(list, "`v1`: HMAC-SHA-256, `v1a`: Ed25519.");
}
object end_reason() {
    return nullable(one_of({"manual", "gone", "failing", "revoked"}));
}
object public_key_text() {
    return nullable(matching("^whpk_[A-Za-z0-9+/]{43}=$"));
}
object sequence() {
    return id();
}
object sequences() {
    auto list = list_of(sequence(), model::webhook_replays_max);
    list["minItems"] = 1;
    return list;
}

object webhook_schema() {
    auto const nullable_time = nullable(time());
    return response_object(
        {{"id", id()},
         {"url", url()},
         {"types", types()},
         {"description", description()},
         {"ordered", ordered()},
         {"max_per_second", rate()},
         {"headers", sent_headers()},
         {"signatures", signature_kinds()},
         {"enabled", boolean()},
         {"disabled_at", nullable_time},
         {"disabled_reason",
          with_description(end_reason(), "`gone`: it answered 410; `failing`: for five days.")},
         {"failing_since", with_description(nullable_time,
                                            "Of the first failed attempt since the "
                                            "last success.")},
         {"position", with_description(object{{"type", "integer"}, {"minimum", 0}},
                                       "The last sequence that was dealt with.")},
         {"project", nullable(project_name())},
         {"public_key", with_description(public_key_text(), "Verifies `v1a`.")},
         {"secret_rotation_ends_at", with_description(nullable_time,
                                                      "Until then both secrets "
                                                      "sign.")},
         {"created_by", nullable(id())},
         {"created_at", time()},
         {"updated_at", time()}},
        json::parse(webhook_example));
}

object created_schema() {
    auto result = webhook_schema();
    result["properties"].as_object()["secret"] =
        with_description(nullable(matching("^whsec_[A-Za-z0-9+/]{43}=$")),
                         "Shown in this answer alone; null where the answer is replayed.");
    result["required"].as_array().push_back("secret");
    result["examples"].as_array().front().as_object()["secret"] =
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
    return result;
}

object new_webhook_schema() {
    return request_object(
        {{"url", url()},
         {"types?", with_description(types(), "The default is `[\"*\"]`.")},
         {"description?", description()},
         {"ordered?", ordered()},
         {"max_per_second?", rate()},
         {"headers?", sent_headers()},
         {"signatures?", with_description(signature_kinds(), "The default is `[\"v1\"]`.")}},
        json::parse(R"({"url": "https://example.com/hooks", "types": ["user.*"]})"));
}

object patch_schema() {
    auto const nullable_time = nullable(time());
    object const change{{"type", "object"},
                        {"additionalProperties", nullable(object{{"type", "string"}})}};
    return request_object({{"url?", url()},
                           {"types?", types()},
                           {"description?", description()},
                           {"ordered?", ordered()},
                           {"max_per_second?", rate()},
                           {"headers?", with_description(nullable(change),
                                                         "Null removes a field, or all; `***` "
                                                         "leaves its value.")},
                           {"signatures?", signature_kinds()},
                           {"enabled?", boolean()},
                           {"id?", unchanged(id())},
                           {"disabled_at?", unchanged(nullable_time)},
                           {"disabled_reason?", unchanged(end_reason())},
                           {"failing_since?", unchanged(nullable_time)},
                           {"position?", unchanged(object{{"type", "integer"}, {"minimum", 0}})},
                           {"project?", unchanged(nullable(project_name()))},
                           {"public_key?", unchanged(public_key_text())},
                           {"secret_rotation_ends_at?", unchanged(nullable_time)},
                           {"created_by?", unchanged(nullable(id()))},
                           {"created_at?", unchanged(time())},
                           {"updated_at?", unchanged(time())}},
                          json::parse(R"({"types": ["user.*", "post.*"], "enabled": true})"));
}

object attempt_schema() {
    return response_object(
        {{"at", time()},
         {"status", nullable(integer(100, 999))},
         {"error", with_description(nullable(text(1, model::delivery_error_bytes_max)),
                                    "Why there was no answer.")},
         {"duration_ms", object{{"type", "integer"}, {"minimum", 0}}},
         {"response", with_description(nullable(object{{"type", "string"}}),
                                       "The first KiB of the answer's content.")}},
        json::parse(R"({"at": "2026-01-02T03:05:00.020Z", "status": 204, "error": null,
                     "duration_ms": 31, "response": ""})"));
}

object delivery_schema() {
    return response_object(
        {{"sequence", sequence()},
         {"message_id", with_description(nullable(text(1, 64)), "Its `webhook-id`.")},
         {"type", object{{"type", "string"}}},
         {"state", one_of({"pending", "delivered", "failed"})},
         {"attempts", list_of(ref("DeliveryAttempt"), model::delivery_attempts_max)},
         {"next_attempt_at", nullable(time())}},
        json::parse(R"({"sequence": 1043, "message_id": "msg_1043_0UuBPXhc",
            "type": "user.created", "state": "delivered", "attempts": [{
            "at": "2026-01-02T03:05:00.020Z", "status": 204, "error": null, "duration_ms": 31,
            "response": ""}], "next_attempt_at": null})"));
}

object delivery_list_schema() {
    auto const page = response_object(
        {{"next_before", with_description(nullable(sequence()), "For `before` of the next page.")},
         {"has_more", boolean()}},
        nullptr);
    return response_object(
        {{"data", list_of(ref("Delivery"), base::limits::page_limit_max)}, {"pagination", page}},
        nullptr);
}

object replay_schema() {
    return request_object(
        {{"sequences?", sequences()},
         {"from_sequence?", sequence()},
         {"to_sequence?", with_description(sequence(), "The last one by default.")},
         {"from?", with_description(nullable(time()), "Changes at or after this time.")},
         {"to?", with_description(nullable(time()), "Changes before this time; all by default.")}},
        json::parse(R"({"from_sequence": 1000, "to_sequence": 1043})"));
}

object replay_range_schema() {
    return response_object({{"from_sequence", sequence()}, {"to_sequence", sequence()}},
                           json::parse(R"({"from_sequence": 1000, "to_sequence": 1043})"));
}

object message_id() {
    return text(1, 64);
}
object unix_time() {
    return matching("^[0-9]+$");
}
object signatures() {
    return text(1, 1024);
}
object delivery_state() {
    return one_of({"pending", "delivered", "failed"});
}

}  // namespace

object webhook_schemas() {
    return {{"Webhook", webhook_schema()},        {"WebhookList", list_schema("Webhook")},
            {"CreatedWebhook", created_schema()}, {"NewWebhook", new_webhook_schema()},
            {"WebhookPatch", patch_schema()},     {"DeliveryAttempt", attempt_schema()},
            {"Delivery", delivery_schema()},      {"DeliveryList", delivery_list_schema()},
            {"Replay", replay_schema()},          {"ReplayRange", replay_range_schema()}};
}

std::span<parameter const> webhook_parameters() {
    static constexpr parameter rows[] = {
        {"before", "query", id, "Deliveries of changes below this sequence."},
        {"delivery_state", "query", delivery_state, "Deliveries in this state.", "state"},
        {"webhook-id", "header", message_id, "The same in every attempt."},
        {"webhook-timestamp", "header", unix_time, "Of the attempt, in seconds since 1970."},
        {"webhook-signature", "header", signatures,
         "`v1,` and HMAC-SHA-256, `v1a,` and Ed25519, in base64; several are separated by spaces."},
    };
    return rows;
}

}  // namespace latchkey::api::schema
