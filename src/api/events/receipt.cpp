#include "api/events/receipt.hpp"

#include "auth/key_form.hpp"
#include "base/ascii.hpp"

namespace latchkey::api {
namespace {

using model::event_format;

// Marks of different kinds are never equal.
model::event_mark mark_of(std::string_view kind, std::string_view text) {
    return auth::digest_of(std::string(kind).append(1, '\0').append(text));
}

std::string_view valid_id(auth::signed_field const& field) {
    return field.count == 1 && model::is_delivery_id(field.value) ? field.value
                                                                  : std::string_view();
}

receipt identify(std::string_view kind, std::string_view id) {
    receipt result{std::string(id), {}};
    if (!id.empty()) result.marks.push_back(mark_of(kind, id));
    return result;
}

}  // namespace

auth::signed_request signed_request_of(http::request const& request) {
    auth::signed_request result;
    result.body = request.body;
    struct {
        std::string_view name;
        auth::signed_field& field;
    } const signed_fields[] = {
        {"webhook-id", result.webhook_id},
        {"webhook-timestamp", result.webhook_timestamp},
        {"webhook-signature", result.webhook_signature},
        {"x-hub-signature-256", result.hub_signature},
        {"x-github-delivery", result.hub_delivery},
        {"stripe-signature", result.stripe_signature},
    };
    for (auto const& field : request.fields())
        for (auto const& each : signed_fields)
            if (base::equal_ignoring_case(field.name, each.name) && each.field.count++ == 0)
                each.field.value = field.value;
    return result;
}

receipt verified_receipt(event_format format, auth::signed_request const& request,
                         std::string_view stripe_id, auth::hmac_digest const& mac) {
    auto result = format == event_format::standard ? identify("standard", request.webhook_id.value)
                  : format == event_format::github
                      ? identify("github", valid_id(request.hub_delivery))
                      : identify("stripe", stripe_id);
    // GitHub does not sign its ids, so an equal signature marks a repeat too. A delivery without an
    // id has no other mark: otherwise a replay within 300 seconds would be stored again.
    if (format == event_format::github || result.id.empty())
        result.marks.push_back(
            mark_of("signature", {reinterpret_cast<char const*>(mac.data()), mac.size()}));
    return result;
}

receipt unverified_receipt(auth::signed_request const& request, std::string_view stripe_id) {
    auto const standard = valid_id(request.webhook_id), github = valid_id(request.hub_delivery);
    if (!standard.empty()) return identify("unverified", standard);
    if (!github.empty()) return identify("unverified", github);
    return identify("unverified",
                    request.stripe_signature.count != 0 ? stripe_id : std::string_view());
}

}  // namespace latchkey::api
