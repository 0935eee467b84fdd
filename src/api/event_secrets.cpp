// Secrets of the sources of events (API §12). One that is made here is shown in the answer that
// made it and never again; one that was supplied is not shown at all.
#include "api/credential.hpp"
#include "api/event_secret_json.hpp"
#include "api/handlers.hpp"
#include "api/key_body.hpp"
#include "api/resource.hpp"
#include "api/validate.hpp"
#include "auth/signature.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

trouble no_such_source() {
    return {base::problem::not_found, "there is no secret of such a source", {}, {}};
}

// The member `secret`, whose copy in the document is wiped.
base::secret take_secret(boost::json::object& from, members& body, model::event_format format) {
    auto const text = body.word("secret", false);
    if (!text) return {};
    auto const no = auth::objection_to_secret(format, *text);
    if (!no.empty()) body.fault("secret", field_code::invalid_format, no);
    auto const taken = no.empty() ? base::secret(*text) : base::secret();
    wipe(std::string_view(from.at("secret").get_string()));
    return taken;
}

}  // namespace

std::optional<trouble> get_event_secret(call const& of, store::snapshot const& seen,
                                        http::response& answer) {
    if (auto wrong = of.query.refuse_rest()) return wrong;
    auto const secrets = seen.event_secrets(of.event_source, of.now.wall);
    if (!secrets) return no_such_source();
    append_event_secrets(answer.body, of.event_source, *secrets);
    show_resource(answer);
    return std::nullopt;
}

or_trouble<store::command> plan_put_event_secret(call const& of) {
    if (of.event_source.empty()) return no_such_source();
    auto object = read_optional_object(of.request);
    if (!object) return object.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    members body(*object, command.faults);
    store::put_event_secret put{.source = std::string(of.event_source)};
    if (auto const name = body.word("format", false)) {
        auto const format = model::find_event_format(*name);
        if (!format)
            body.fault("format", field_code::not_in_enum, "must be standard, github or stripe");
        put.format = format.value_or(put.format);
    }
    auto const seconds = body.number("overlap_seconds", false, 0, overlap_seconds_max);
    put.overlap_ms = seconds.value_or(0) * 1000;
    put.secret = take_secret(*object, body, put.format);
    if (!of.request.body.empty()) wipe_member(of.request.body, "secret");
    put.shown = object->if_contains("secret") == nullptr;
    if (put.shown) put.secret = auth::make_event_secret(put.format);
    body.refuse_rest();
    command.what = std::move(put);
    return command;
}

or_trouble<store::command> plan_delete_event_secret(call const& of) {
    if (of.event_source.empty()) return no_such_source();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    command.what = store::delete_event_secret{std::string(of.event_source)};
    return command;
}

void answer_event_secret(settings const& rules, store::outcome const& outcome,
                         http::response& answer) {
    auto const& kept = std::get<store::kept_secret>(outcome.record);
    answer.secret = true;
    append_kept_secret(answer.body, kept);
    show_written(answer);
    answer.status = 201;
    answer.add("Location", rules.base_url, "/api/v1/events/", kept.source, "/secret");
}

}  // namespace latchkey::api
