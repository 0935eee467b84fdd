// Handlers of the actions on a key: rotate, deactivate, reactivate. Their bodies are optional.
#include "api/frame/checks/action_body.hpp"
#include "api/keys/key_body.hpp"
#include "api/keys/key_json.hpp"
#include "api/keys/key_routes.hpp"

namespace latchkey::api {
namespace {

api_result<domain::command> plan_deactivate(request_context const& context, model::id key) {
    domain::command command;
    auto const reason = read_reason(context.request, command.faults);
    if (!reason) return reason.error();
    if (auto error = context.query.refuse_rest()) return *error;
    command.action = domain::deactivate_key{.id = key, .reason = *reason};
    return command;
}

}  // namespace

api_result<domain::command> plan_rotate_key(request_context const& context) {
    domain::command command;
    auto const seconds = read_overlap(context.request, command.faults);
    if (!seconds) return seconds.error();
    if (auto error = context.query.refuse_rest()) return *error;
    auto const key = context.make_key();
    command.action = domain::rotate_key{.id = context.id,
                                        .digest = auth::digest_of(key),
                                        .start = std::string(key.substr(0, key_start_bytes)),
                                        .last4 = std::string(key.substr(key.size() - 4)),
                                        .overlap_ms = *seconds * 1000};
    return command;
}

api_result<domain::command> plan_deactivate_key(request_context const& context) {
    return plan_deactivate(context, context.id);
}
api_result<domain::command> plan_deactivate_current_key(request_context const& context) {
    return plan_deactivate(context, context.principal.record().id);
}

api_result<domain::command> plan_reactivate_key(request_context const& context) {
    domain::command command;
    if (auto error = read_nothing(context.request, command.faults)) return *error;
    if (auto error = context.query.refuse_rest()) return *error;
    command.action = domain::reactivate_key{context.id};
    return command;
}

}  // namespace latchkey::api
