// JSON Schemas of external events and of the secrets of their sources.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "api/events/event_routes.hpp"
#include "base/limits.hpp"
#include "model/event.hpp"

namespace latchkey::api::schema {
namespace {

namespace json = boost::json;

object format() {
    return with_description(
        one_of({"standard", "github", "stripe"}),
        "Standard Webhooks, GitHub's `X-Hub-Signature-256` or `Stripe-Signature`.");
}

object payload_schema() {
    return {{"type", "object"},
            {"description", "Any JSON object of at most 256 KiB; kept byte for byte."},
            {"additionalProperties", true},
            {"examples", json::array{object{{"type", "order.paid"}, {"order", 17}}}}};
}

object event_schema() {
    return response_object(
        {{"id", id()},
         {"source", source_name()},
         {"delivery_id", nullable(with_description(text(1, model::delivery_id_bytes_max),
                                                   "The sender's id of the delivery."))},
         {"key_id", id()},
         {"verified", with_description(boolean(), "It was signed with the source's secret.")},
         {"received_at", time()},
         {"payload", ref("EventPayload")}},
        json::parse(R"({"id": 3, "source": "shop", "delivery_id": "msg_2KWPBgLlAfxdpx2AI",
                     "key_id": 4, "verified": true, "received_at": "2026-01-02T03:04:05.678Z",
                     "payload": {"type": "order.paid", "order": 17}})"));
}

object receipt_schema() {
    return response_object({{"id", id()}}, json::parse(R"({"id": 3})"));
}

object secret_schema() {
    return response_object(
        {{"source", source_name()},
         {"format", format()},
         {"created_at", time()},
         {"rotation_ends_at",
          nullable(with_description(time(), "Until then the previous secret is valid too."))}},
        json::parse(R"({"source": "shop", "format": "standard",
                     "created_at": "2026-01-02T03:04:05.678Z", "rotation_ends_at": null})"));
}

object source_schema() {
    return response_object(
        {{"source", source_name()},
         {"events", with_description(integer(0, INT64_MAX), "How many are kept.")},
         {"secret",
          nullable(with_description(ref("EventSecret"), "Null: its events need no signature."))}},
        json::parse(R"({"source": "shop", "events": 3,
                     "secret": {"source": "shop", "format": "standard",
                                "created_at": "2026-01-02T03:04:05.678Z",
                                "rotation_ends_at": null}})"));
}

object sources_schema() {
    return response_object(
        {{"data", object{{"type", "array"}, {"items", ref("EventSource")}}},
         {"has_more", with_description(boolean(), "Ask for those after the last one.")}},
        json::parse(R"({"data": [], "has_more": false})"));
}

object set_secret_schema() {
    return response_object(
        {{"source", source_name()},
         {"format", format()},
         {"secret", nullable(with_description(text(1, 256),
                                              "Shown here and never again if the service made "
                                              "it; null if it was supplied."))}},
        json::parse(R"({"source": "shop", "format": "standard",
                     "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="})"));
}

object new_secret_schema() {
    return request_object(
        {{"format?", format()},
         {"secret?", with_description(text(8, 255),
                                      "The secret that the sender assigned. Standard: base64 "
                                      "of 24 to 64 bytes, with or without `whsec_` before it. "
                                      "Generated unless given.")},
         {"overlap_seconds?",
          with_description(integer(0, base::limits::overlap_seconds_max),
                           "How long the replaced secret stays valid; 0 unless given.")}},
        json::parse(R"({"format": "standard", "overlap_seconds": 86400})"));
}

}  // namespace

object event_schemas() {
    return {{"Event", event_schema()},
            {"EventList", list_schema("Event")},
            {"EventPayload", payload_schema()},
            {"EventReceipt", receipt_schema()},
            {"EventSecret", secret_schema()},
            {"EventSource", source_schema()},
            {"EventSourceList", sources_schema()},
            {"SetEventSecret", set_secret_schema()},
            {"NewEventSecret", new_secret_schema()}};
}

std::span<parameter const> event_parameters() {
    static constexpr parameter rows[] = {
        {"event_source", "path", source_name, "A source of events."},
        {"source", "query", source_name, "Events of this source."},
        {"after_source", "query", source_name, "Sources beyond this one.", "after"},
        {"limit_sources", "query", page_limit, "Above 100 counts as 100.", "limit"},
    };
    return rows;
}

}  // namespace latchkey::api::schema
