// External events (api.md §12): a delivery of an external service becomes a record, once. The
// payload is kept byte for byte as it was signed, including a member api_key, which is the sender's
// and is never read as a credential.
#include "api/events/event_json.hpp"
#include "api/events/event_routes.hpp"
#include "api/events/receipt.hpp"
#include "api/frame/json/json_reader.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "domain/events/event_lists.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view events_path = "/api/v1/events";

// By the current secret, or by the previous one while it is still valid.
struct signature_check {
    model::event_format format = model::event_format::standard;
    auth::signature_verdict verdict;
};
signature_check verify_event(domain::event_secrets const& secrets,
                             auth::signed_request const& request, base::wall_ms now) {
    auto const verify_with = [&](domain::event_secret const& each) {
        return signature_check{each.format,
                               auth::verify_signature(each.format, each.text, request, now)};
    };
    auto const current = verify_with(secrets.current);
    if (current.verdict.valid || !secrets.previous) return current;
    auto const previous = verify_with(*secrets.previous);
    return previous.verdict.valid ? previous : current;
}

}  // namespace

std::optional<api_error> list_events(request_context const& context,
                                     domain::snapshot const& snapshot, http::response& response) {
    listing list(context, events_path);
    if (auto error = list.take()) return error;
    auto const source = context.query.take("source");
    if (source && !model::is_event_source(*source))
        context.query.refuse("source", base::field_code::invalid_format,
                             "must be 1 to 32 of a-z, 0-9 and -, the first a letter");
    if (source) list.select("source", *source);
    if (auto error = list.open()) return error;
    list.begin(response);
    auto const each = [&](model::event_view const& event) {
        append_event(list.element(response.body), event);
    };
    return list.end(domain::list_events(snapshot, source, list.range(response), each), response);
}

std::optional<api_error> get_event(request_context const& context, domain::snapshot const& snapshot,
                                   http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const event = domain::find_event(snapshot, context.id);
    if (!event) return no_such("event");
    append_event(response.body, *event);
    show_resource(response);
    return std::nullopt;
}

// The signature is checked first: a sender that cannot sign learns nothing about the rest.
api_result<domain::command> plan_receive_event(request_context const& context) {
    if (context.event_source.empty())
        return make_error(base::problem::not_found, "This is not the name of a source.");
    auto const request = signed_request_of(context.request);
    auto const secrets = context.event_secrets();
    auto const signature =
        secrets ? verify_event(*secrets, request, context.now.clock) : signature_check{};
    if (!signature.verdict.valid && secrets)
        return make_error(base::problem::signature_invalid, signature.verdict.detail);
    // The number of members is the sender's choice, so the payload is scanned and no document is
    // built. `id` is where Stripe puts an event's id.
    auto const payload = scan_json(request.body, "id", repeats::refused);
    if (!payload.error.empty()) return invalid_json("payload", payload.error);
    if (!payload.object) return not_an_object("payload");
    if (auto error = context.query.refuse_rest()) return *error;
    auto const text = payload.text.text();
    auto const id = model::is_delivery_id(text) ? text : std::string_view();
    auto identity = secrets ? verified_receipt(signature.format, request, id, signature.verdict.mac)
                            : unverified_receipt(request, id);
    domain::command command;
    command.action = domain::receive_event{.source = std::string(context.event_source),
                                           .delivery_id = std::move(identity.id),
                                           .verified = secrets.has_value(),
                                           .marks = std::move(identity.marks),
                                           .payload = std::string(request.body)};
    return command;
}

void answer_event_received(settings const&, domain::outcome const& outcome,
                           http::response& response) {
    response.body.append("{\"id\":");
    append_number(response.body, std::get<domain::received_event>(outcome.record).id);
    response.body.push_back('}');
    show_written(response);
    response.status = 202;
}

}  // namespace latchkey::api
