// What is done to a key beside changing its settings: rotating it, turning it off and on. Their
// bodies are optional.
#include "api/handlers.hpp"
#include "api/key_body.hpp"
#include "api/key_json.hpp"

namespace latchkey::api {
namespace {

or_trouble<store::command> plan_deactivate(call const& of, model::id key) {
    store::command command;
    auto const reason = read_reason(of.request, command.faults);
    if (!reason) return reason.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    command.what = store::deactivate_key{.id = key, .reason = *reason};
    return command;
}

}  // namespace

or_trouble<store::command> plan_rotate_key(call const& of) {
    store::command command;
    auto const seconds = read_overlap(of.request, command.faults);
    if (!seconds) return seconds.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    auto const key = of.make_key();
    command.what = store::rotate_key{.id = of.id,
                                     .digest = auth::digest_of(key),
                                     .start = std::string(key.substr(0, key_start_bytes)),
                                     .last4 = std::string(key.substr(key.size() - 4)),
                                     .overlap_ms = *seconds * 1000};
    return command;
}

or_trouble<store::command> plan_deactivate_key(call const& of) {
    return plan_deactivate(of, of.id);
}
or_trouble<store::command> plan_deactivate_current_key(call const& of) {
    return plan_deactivate(of, of.who.record().id);
}

or_trouble<store::command> plan_reactivate_key(call const& of) {
    store::command command;
    if (auto wrong = read_nothing(of.request, command.faults)) return *wrong;
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    command.what = store::reactivate_key{of.id};
    return command;
}

}  // namespace latchkey::api
