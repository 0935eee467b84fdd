// Handlers of webhooks: create, list, get, change, delete, and what else a client may ask of one
// (api.md §17). Reads are authorized here, writes by the store inside the transaction.
#include "api/frame/checks/action_body.hpp"
#include "api/frame/checks/precondition.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "api/webhooks/webhook_body.hpp"
#include "api/webhooks/webhook_json.hpp"
#include "api/webhooks/webhook_routes.hpp"
#include "auth/webhook_signature.hpp"
#include "domain/webhooks/webhook_lists.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view webhooks_path = "/api/v1/webhooks";

domain::webhook_outcome const& told(domain::outcome const& outcome) {
    return std::get<domain::webhook_outcome>(outcome.record);
}

// The plan of an action whose body has no members.
template <class Action>
api_result<domain::command> plan_bare(request_context const& context, Action action) {
    domain::command command;
    if (auto error = read_nothing(context.request, command.faults)) return *error;
    if (auto error = context.query.refuse_rest()) return *error;
    command.action = std::move(action);
    return command;
}

// A secret is shown once: an outcome that was kept has none.
void show_secret(domain::outcome const& outcome, http::response& response) {
    response.secret = !told(outcome).secret.empty();
    append_webhook(response.body, told(outcome).entry, outcome.time, &told(outcome).secret);
    show_written(response);
}

}  // namespace

bool sees_webhook(request_context const& context, model::webhook const& webhook) {
    return sees_project(context, webhook.project);
}

std::optional<api_error> list_webhooks(request_context const& context,
                                       domain::snapshot const& snapshot, http::response& response) {
    listing list(context, webhooks_path);
    if (auto error = list.take()) return error;
    std::optional<std::string_view> project;
    if (!context.principal.may(model::scope::any)) project = context.principal.record().project;
    if (project) list.bind("project", *project);
    if (auto error = list.open()) return error;
    list.begin(response);
    auto const each = [&](domain::webhook_entry const& entry) {
        append_webhook(list.element(response.body), entry, context.now.wall);
    };
    return list.end(domain::list_webhooks(snapshot, project, list.range(response), each), response);
}

std::optional<api_error> get_webhook(request_context const& context,
                                     domain::snapshot const& snapshot, http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const entry = domain::find_webhook(snapshot, context.id);
    if (!entry || !sees_webhook(context, entry->webhook)) return no_such("webhook");
    append_webhook(response.body, *entry, context.now.wall);
    show_resource(response);
    add_tag(response, model::tag_of(entry->webhook, context.now.wall));
    return std::nullopt;
}

api_result<domain::command> plan_create_webhook(request_context const& context) {
    domain::command command;
    auto creation =
        read_new_webhook(context.request, context.settings.webhook_networks, command.faults);
    if (!creation) return creation.error();
    if (auto error = context.query.refuse_rest()) return *error;
    creation->secret = auth::make_webhook_secret();
    creation->record.public_key = auth::public_key_of(creation->secret);
    command.action = std::move(*creation);
    return command;
}

api_result<domain::command> plan_patch_webhook(request_context const& context) {
    domain::command command;
    auto change =
        read_webhook_change(context.request, context.settings.webhook_networks, command.faults);
    if (!change) return change.error();
    if (auto error = context.query.refuse_rest()) return *error;
    change->id = context.id;
    command.action = std::move(*change);
    return command;
}

api_result<domain::command> plan_delete_webhook(request_context const& context) {
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    command.action = domain::delete_webhook{context.id};
    return command;
}

api_result<domain::command> plan_rotate_webhook_secret(request_context const& context) {
    domain::command command;
    auto const seconds = read_overlap(context.request, command.faults);
    if (!seconds) return seconds.error();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::rotate_webhook_secret rotation{
        .id = context.id, .secret = auth::make_webhook_secret(), .overlap_ms = *seconds * 1000};
    rotation.public_key = auth::public_key_of(rotation.secret);
    command.action = std::move(rotation);
    return command;
}

api_result<domain::command> plan_enable_webhook(request_context const& context) {
    return plan_bare(
        context,
        domain::change_webhook{.id = context.id, .headers = {}, .enabled = true, .expected = {}});
}

api_result<domain::command> plan_test_webhook(request_context const& context) {
    return plan_bare(context, domain::test_webhook{context.id});
}

api_result<domain::command> plan_replay_webhook(request_context const& context) {
    domain::command command;
    auto replay = read_replay(context.request, command.faults);
    if (!replay) return replay.error();
    if (auto error = context.query.refuse_rest()) return *error;
    replay->id = context.id;
    command.action = std::move(*replay);
    return command;
}

void answer_webhook(settings const&, domain::outcome const& outcome, http::response& response) {
    append_webhook(response.body, told(outcome).entry, outcome.time);
    show_written(response);
}

void answer_webhook_created(settings const& settings, domain::outcome const& outcome,
                            http::response& response) {
    show_secret(outcome, response);
    response.status = 201;
    response.add("Location", settings.base_url, webhooks_path, "/", told(outcome).entry.webhook.id);
}

void answer_webhook_rotated(settings const&, domain::outcome const& outcome,
                            http::response& response) {
    show_secret(outcome, response);
}

void answer_webhook_tested(settings const&, domain::outcome const& outcome,
                           http::response& response) {
    append_test(response.body, told(outcome), outcome.time);
    show_written(response);
    response.status = 202;
}

void answer_webhook_replayed(settings const&, domain::outcome const& outcome,
                             http::response& response) {
    response.body.append("{\"from_sequence\":");
    append_number(response.body, told(outcome).first);
    append_name(response.body, "to_sequence");
    append_number(response.body, told(outcome).last);
    response.body.push_back('}');
    show_written(response);
    response.status = 202;
}

}  // namespace latchkey::api
