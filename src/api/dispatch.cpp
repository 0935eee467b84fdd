// From a request that passed the checks to its handler, and from a committed outcome to its answer.
#include "api/exchange_state.hpp"
#include "api/handlers.hpp"
#include "api/idempotency.hpp"
#include "api/negotiate.hpp"
#include "api/precondition.hpp"

namespace latchkey::api {
namespace {

using base::problem;

trouble invalid_idempotency_key() {
    return {problem::idempotency_key_invalid,
            {},
            {{base::fault::place::header, "Idempotency-Key", base::field_code::invalid_format,
              "must be there once, with 1 to 255 visible ASCII characters"}},
            {}};
}

}  // namespace

need exchange::run(desk& at, http::request const& request, base::instant now,
                   http::response& answer) {
    auto& s = *state_;
    at.snapshot.forget_damage();  // what another request of this turn met is not this one's
    s.writing = std::get_if<write>(&s.where.chosen->run);
    if (recall(at, request, now, answer)) return need::nothing;
    auto const then = handle(at, request, now, answer);
    if (then == need::nothing) s.claim = {};
    return then;
}

// API §9, where an Idempotency-Key counts. True: it was answered.
bool exchange::recall(desk& at, http::request const& request, base::instant now,
                      http::response& answer) {
    auto& s = *state_;
    auto const value = request.find(http::field_name::idempotency_key);
    if (!value || !takes_idempotency_key(*s.where.chosen)) return false;
    auto const key = read_idempotency_key(*value);
    if (!key || request.count(http::field_name::idempotency_key) > 1)
        return refused(invalid_idempotency_key(), answer), true;
    auto const path = s.canonical.empty() ? request.path : std::string_view(s.canonical);
    // A path that means the caller itself means another key for each of a line of rotations.
    auto const& caller = s.who->record();
    auto const whose = s.where.chosen->scope ? caller.line() : caller.id;
    s.once = {whose, auth::digest_of(*key), fingerprint(request, path, s.writing->foreign)};
    // Who sends events from outside must sign each of them; the store looks after that was judged.
    if (!s.writing->foreign)
        if (auto const earlier = at.snapshot.recall(*s.once, now.wall))
            return this->answer(at, *earlier, answer), true;
    s.claim = at.running.enter(s.once->lineage, s.once->key);
    if (!s.claim) return refused(problem::idempotency_in_progress, answer), true;
    return false;
}

need exchange::handle(desk& at, http::request const& request, base::instant now,
                      http::response& answer) {
    auto& s = *state_;
    auto const& route = *s.where.chosen;
    if (!s.path_id && route.pattern.find("{id}") != route.pattern.npos)
        return refused_unplanned({problem::not_found, {}, {}, {}}, answer);
    if (auto wrong = s.query.parse(request.query)) return refused(std::move(*wrong), answer);
    call const of(request, *s.who, s.quota, now, at.rules, s.query, s.path_id.value_or(0),
                  s.event_source, at, s.made);
    if (auto const* const reading = std::get_if<read>(&route.run)) {
        auto wrong = reading->run(of, at.snapshot, answer);
        // A record that cannot be read was left out: that is no answer.
        if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
        if (!wrong) wrong = meet_conditions(request, answer);
        return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
    }
    if (auto const* const asking = std::get_if<ask>(&route.run)) {
        auto wrong = asking->run(of, at, answer);
        if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
        return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
    }
    auto planned = s.writing->plan(of);
    if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
    if (!planned) return refused_unplanned(planned.error(), answer);
    // What has no id has no tag either that one could ask for.
    bool const required =
        at.rules.require_if_match && request.method != http::method::post && s.path_id.has_value();
    planned->conditions = take_conditions(request, required);
    return commit(std::move(*planned));
}

need exchange::commit(store::command command) {
    auto& s = *state_;
    s.command = std::move(command);
    s.command.caller = s.who->record().id;
    s.command.needs = s.where.chosen->scope;
    s.command.from = s.client;
    s.command.once = s.once;
    return need::commit;
}

// Under an Idempotency-Key a refusal is an outcome too, which the store keeps.
need exchange::refused_unplanned(trouble what, http::response& answer) {
    if (!state_->once || !store::is_kept(what.problem)) return refused(std::move(what), answer);
    store::command command;
    command.what = store::refuse{what.problem, std::move(what.detail)};
    command.faults = std::move(what.faults);
    return commit(std::move(command));
}

store::command exchange::take_command() {
    return std::exchange(state_->command, {});  // what was moved from may still hold a secret
}

void exchange::answer(desk& at, store::outcome const& outcome, http::response& answer) {
    auto& s = *state_;
    render(at, outcome, answer);
    s.made.reset();
    s.claim = {};
    if (outcome.replayed) answer.add("Idempotency-Replayed", "true");
}

void exchange::render(desk& at, store::outcome const& outcome, http::response& answer) {
    auto& s = *state_;
    if (outcome.problem != problem::none) {
        auto const& needed = s.where.chosen->scope;
        auto const scope = outcome.problem == problem::insufficient_scope && needed
                               ? model::name_of(*needed)
                               : std::string_view();
        refused({outcome.problem, outcome.detail, outcome.faults, scope}, answer);
        return;
    }
    if (s.writing->show != nullptr)
        // A key is shown once, and a repeat is not the first time.
        s.writing->show(at.rules, outcome, outcome.replayed ? "" : s.made->text(), answer);
    else
        s.writing->answer(at.rules, outcome, answer);
    // After a PUT it would say that what the client sent was kept as it was (RFC 9110 §9.3.4).
    if (s.method != http::method::put && answer.status != 204) add_tag(answer, outcome);
    dressed(answer);
}

need exchange::serve_gateway(desk& at, http::request const& request, base::instant now,
                             http::response& answer) {
    auto& s = *state_;
    if (auto wrong = s.query.parse(request.query)) return refused(std::move(*wrong), answer);
    call const of(request, *s.who, s.quota, now, at.rules, s.query, 0, {}, at, s.made);
    auto wrong = std::get<gateway>(s.where.chosen->run).run(of, answer);
    return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
}

std::string_view call::make_key() const {
    return made_.emplace(rules.key_prefix).text();
}
std::optional<store::event_secrets> call::event_secrets() const {
    return at_.snapshot.event_secrets(event_source, now.wall);
}
base::wall_ms call::last_use(model::id key) const {
    return at_.uses == nullptr ? 0 : at_.uses->last(key);
}
auth::seal const& call::cursor_seal() const {
    return at_.cursors;
}

need exchange::serve_open(http::request const& request, http::response& answer) {
    auto& s = *state_;
    if (request.method == http::method::options) return answer_options(answer), need::nothing;
    if (s.where.chosen == nullptr) return refused(problem::method_not_allowed, answer);
    auto const& page = std::get<open>(s.where.chosen->run);
    if (page.json && !accepts_json(request)) return refused(problem::not_acceptable, answer);
    if (auto bad = s.query.parse(request.query)) return refused(std::move(*bad), answer);
    if (auto bad = s.query.refuse_rest()) return refused(std::move(*bad), answer);
    auto wrong = page.run(s.where.last, *s.rules, answer);
    if (!wrong && !answer.find("ETag").empty()) wrong = meet_conditions(request, answer);
    return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
}

void exchange::answer_options(http::response& answer) {
    answer.status = 204;
    answer.add("Allow", allowed_methods(state_->where.pattern));
    dressed(answer);
}

}  // namespace latchkey::api
