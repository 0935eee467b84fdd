// Handlers of the secrets of event sources (api.md §12). A secret that is made here is shown once,
// in the response of that request; a supplied one is never shown.
#include "api/events/event_routes.hpp"
#include "api/events/event_secret_json.hpp"
#include "api/frame/checks/credential.hpp"
#include "api/frame/checks/validate.hpp"
#include "api/frame/resource.hpp"
#include "auth/signature.hpp"
#include "base/limits.hpp"
#include "domain/events/event_lists.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

api_error no_such_source() {
    return make_error(base::problem::not_found, "This source has no secret.");
}

// The member `secret`. Its copy in the document is wiped.
base::secret take_secret(json_object& object, members& body, model::event_format format) {
    auto const text = body.word("secret", false);
    if (!text) return {};
    auto const fault = auth::secret_fault(format, *text);
    if (!fault.empty()) body.fault("secret", field_code::invalid_format, fault);
    auto const secret = fault.empty() ? base::secret(*text) : base::secret();
    wipe(*object.if_contains("secret")->if_string());
    return secret;
}

}  // namespace

std::optional<api_error> list_event_sources(request_context const& context,
                                            domain::snapshot const& snapshot,
                                            http::response& response) {
    auto const position = context.query.take("after"), limit = context.query.take("limit");
    if (position && !model::is_event_source(*position))
        context.query.refuse("after", field_code::invalid_format, "must be a source of events");
    auto const count = limit ? parse_id(*limit) : base::limits::page_limit_max;
    if (!count)
        context.query.refuse("limit", field_code::out_of_range, "must be a whole number from 1");
    if (auto error = context.query.refuse_rest()) return error;
    auto const count_max = std::min<model::id>(*count, base::limits::page_limit_max);
    auto& output = response.body;
    output.append("{\"data\":[");
    auto const begin = output.size();
    bool const has_more = domain::list_event_sources(
        snapshot, position.value_or(std::string_view()), static_cast<std::size_t>(count_max),
        context.now.wall, [&](domain::event_source&& source) {
            if (output.size() != begin) output.push_back(',');
            append_event_source(output, source);
        });
    output.append(has_more ? "],\"has_more\":true}" : "],\"has_more\":false}");
    show_resource(response);
    return std::nullopt;
}

std::optional<api_error> get_event_secret(request_context const& context,
                                          domain::snapshot const& snapshot,
                                          http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const secrets =
        domain::find_event_secrets(snapshot, context.event_source, context.now.wall);
    if (!secrets) return no_such_source();
    append_event_secrets(response.body, context.event_source, *secrets);
    show_resource(response);
    return std::nullopt;
}

api_result<domain::command> plan_put_event_secret(request_context const& context) {
    if (context.event_source.empty()) return no_such_source();
    auto object = read_optional_object(context.request);
    if (!object) return object.error();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    members body(*object, command.faults);
    domain::put_event_secret put{.source = std::string(context.event_source)};
    if (auto const name = body.word("format", false)) {
        auto const format = model::find_event_format(*name);
        if (!format)
            body.fault("format", field_code::not_in_enum, "must be standard, github or stripe");
        put.format = format.value_or(put.format);
    }
    auto const seconds =
        body.number("overlap_seconds", false, 0, base::limits::overlap_seconds_max);
    put.overlap_ms = seconds.value_or(0) * 1000;
    put.secret = take_secret(*object, body, put.format);
    if (!context.request.body.empty()) wipe_member(context.request.body, "secret");
    put.reveal = object->if_contains("secret") == nullptr;
    if (put.reveal) put.secret = auth::make_event_secret(put.format);
    body.refuse_rest();
    command.action = std::move(put);
    return command;
}

api_result<domain::command> plan_delete_event_secret(request_context const& context) {
    if (context.event_source.empty()) return no_such_source();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    command.action = domain::delete_event_secret{std::string(context.event_source)};
    return command;
}

void answer_event_secret(settings const& settings, domain::outcome const& outcome,
                         http::response& response) {
    auto const& secret = std::get<domain::secret_result>(outcome.record);
    response.secret = true;
    append_kept_secret(response.body, secret);
    show_written(response);
    response.status = 201;
    response.add("Location", settings.base_url, "/api/v1/events/", secret.source, "/secret");
}

}  // namespace latchkey::api
