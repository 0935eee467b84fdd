#include "api/delivery.hpp"

#include "auth/key_form.hpp"

namespace latchkey::api {
namespace {

using model::event_format;

bool is_named(std::string_view name, std::string_view lower) {
    if (name.size() != lower.size()) return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        char const byte =
            name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] | 0x20) : name[i];
        if (byte != lower[i]) return false;
    }
    return true;
}

// Marks of different kinds are never equal, whatever the texts.
model::event_mark mark_of(std::string_view kind, std::string_view text) {
    return auth::digest_of(std::string(kind).append(1, '\0').append(text));
}

std::string_view usable(auth::signed_field const& field) {
    return field.count == 1 && model::is_delivery_id(field.value) ? field.value
                                                                  : std::string_view();
}

delivery known_by(std::string_view kind, std::string_view id) {
    delivery made{std::string(id), {}};
    if (!id.empty()) made.marks.push_back(mark_of(kind, id));
    return made;
}

}  // namespace

auth::signed_request signed_request_of(http::request const& request) {
    auth::signed_request made;
    made.body = request.body;
    struct {
        std::string_view name;
        auth::signed_field& field;
    } const wanted[] = {
        {"webhook-id", made.webhook_id},
        {"webhook-timestamp", made.webhook_timestamp},
        {"webhook-signature", made.webhook_signature},
        {"x-hub-signature-256", made.hub_signature},
        {"x-github-delivery", made.hub_delivery},
        {"stripe-signature", made.stripe_signature},
    };
    for (auto const& field : request.fields())
        for (auto const& each : wanted)
            if (is_named(field.name, each.name) && each.field.count++ == 0)
                each.field.value = field.value;
    return made;
}

delivery verified_delivery(event_format format, auth::signed_request const& from,
                           std::string_view stripe_id, auth::mac const& mac) {
    auto made = format == event_format::standard ? known_by("standard", from.webhook_id.value)
                : format == event_format::github ? known_by("github", usable(from.hub_delivery))
                                                 : known_by("stripe", stripe_id);
    // GitHub does not sign its ids, so an equal signature counts too; and whoever has no id at all
    // is known by nothing else.
    if (format == event_format::github || made.id.empty())
        made.marks.push_back(
            mark_of("signature", {reinterpret_cast<char const*>(mac.data()), mac.size()}));
    return made;
}

delivery unverified_delivery(auth::signed_request const& from, std::string_view stripe_id) {
    auto const standard = usable(from.webhook_id), github = usable(from.hub_delivery);
    if (!standard.empty()) return known_by("unverified", standard);
    if (!github.empty()) return known_by("unverified", github);
    return known_by("unverified",
                    from.stripe_signature.count != 0 ? stripe_id : std::string_view());
}

}  // namespace latchkey::api
