// Events from outside (API §12): an external service's request becomes a record, once. What was
// sent is kept byte for byte, so nothing is taken out of it, a member api_key neither: it is the
// sender's own, and never a credential here.
#include "api/delivery.hpp"
#include "api/handlers.hpp"
#include "api/json_reader.hpp"
#include "api/json_writer.hpp"
#include "api/resource.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view events_path = "/api/v1/events";

void append_event(std::string& to, model::event_view const& event) {
    to.append("{\"id\":");
    append_number(to, event.id);
    to.append(",\"source\":");
    append_plain_string(to, event.source);
    to.append(",\"delivery_id\":");
    event.delivery_id.empty() ? void(to.append("null")) : append_string(to, event.delivery_id);
    to.append(",\"key_id\":");
    append_number(to, event.key_id);
    to.append(event.verified ? ",\"verified\":true" : ",\"verified\":false");
    to.append(",\"received_at\":");
    append_timestamp(to, event.received_at);
    to.append(",\"payload\":").append(event.payload).push_back('}');
}

// The id that Stripe gives an event; empty when there is none that could be one.
std::string_view stripe_id_of(boost::json::object const& payload) {
    auto const* const id = payload.if_contains("id");
    auto const* const text = id != nullptr ? id->if_string() : nullptr;
    if (text == nullptr || !model::is_delivery_id(std::string_view(*text))) return {};
    return std::string_view(*text);
}

// By the current secret, or by the one that it replaced while that still signs.
struct signature_found {
    model::event_format format = model::event_format::standard;
    auth::signature_verdict verdict;
};
signature_found judge(store::event_secrets const& secrets, auth::signed_request const& from,
                      base::wall_ms now) {
    auto const by = [&](store::event_secret const& each) {
        return signature_found{each.format, auth::verify(each.format, each.text, from, now)};
    };
    auto const current = by(secrets.current);
    if (current.verdict.valid || !secrets.previous) return current;
    auto const previous = by(*secrets.previous);
    return previous.verdict.valid ? previous : current;
}

}  // namespace

std::optional<trouble> list_events(call const& of, store::snapshot const& seen,
                                   http::response& answer) {
    auto const part = take_page(of.query);
    if (!part) return part.error();
    auto const source = of.query.take("source");
    if (auto wrong = of.query.refuse_rest()) return wrong;
    if (source && !model::is_event_source(*source))
        return bad_parameter("source", base::field_code::invalid_format,
                             "must be 1 to 32 of a-z, 0-9 and -, the first a letter");
    std::vector<filter> filters;
    if (source) filters.push_back({"source", *source});
    begin_list(answer.body);
    bool first = true;
    auto const listed = seen.events(source, part->range(), [&](model::event_view const& event) {
        if (!std::exchange(first, false)) answer.body.push_back(',');
        append_event(answer.body, event);
    });
    end_list(*part, listed, answer);
    add_links(*part, listed, events_path, filters, of.rules, answer);
    return std::nullopt;
}

std::optional<trouble> get_event(call const& of, store::snapshot const& seen,
                                 http::response& answer) {
    if (auto wrong = of.query.refuse_rest()) return wrong;
    auto const event = seen.event(of.id);
    if (!event) return no_such("event");
    append_event(answer.body, *event);
    show_resource(answer);
    return std::nullopt;
}

// The signature comes first: who cannot sign learns nothing of what is wrong with the rest.
or_trouble<store::command> plan_receive_event(call const& of) {
    if (of.event_source.empty())
        return trouble{base::problem::not_found, "there is no such source", {}, {}};
    auto const from = signed_request_of(of.request);
    auto const secrets = of.event_secrets();
    auto const signature = secrets ? judge(*secrets, from, of.now.wall) : signature_found{};
    if (!signature.verdict.valid && secrets)
        return trouble{
            base::problem::signature_invalid, std::string(signature.verdict.detail), {}, {}};
    auto const document = read_json(from.body);
    if (!document.root) return trouble{base::problem::invalid_json, document.wrong, {}, {}};
    auto const* const payload = document.root->if_object();
    if (payload == nullptr)
        return trouble{base::problem::validation_failed,
                       "the payload must be a JSON object",
                       {{base::fault::place::pointer, "", base::field_code::invalid_type,
                         "must be an object"}},
                       {}};
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    auto const id = stripe_id_of(*payload);
    auto who = secrets ? verified_delivery(signature.format, from, id, signature.verdict.mac)
                       : unverified_delivery(from, id);
    store::command command;
    command.what = store::receive_event{.source = std::string(of.event_source),
                                        .delivery_id = std::move(who.id),
                                        .verified = secrets.has_value(),
                                        .marks = std::move(who.marks),
                                        .payload = std::string(from.body)};
    return command;
}

void answer_event_received(settings const&, store::outcome const& outcome, http::response& answer) {
    answer.body.append("{\"id\":");
    append_number(answer.body, std::get<store::received_event>(outcome.record).id);
    answer.body.push_back('}');
    show_written(answer);
    answer.status = 202;
}

}  // namespace latchkey::api
