// From a request that passed the checks to its handler, and from a committed outcome to its answer.
#include "api/exchange_state.hpp"
#include "api/handlers.hpp"
#include "api/negotiate.hpp"

namespace latchkey::api {

using base::problem;

need exchange::run(desk& at, http::request const& request, base::instant now,
                   http::response& answer) {
    auto& s = *state_;
    auto const& route = *s.where.chosen;
    if (!s.path_id && route.pattern.find("{id}") != route.pattern.npos)
        return refused(problem::not_found, answer);
    if (auto wrong = s.query.parse(request.query)) return refused(std::move(*wrong), answer);
    call const of(request, *s.who, s.quota, now, at.rules, s.query, s.path_id.value_or(0),
                  s.event_source, at, s.made);
    if (auto const* const reading = std::get_if<read>(&route.run)) {
        auto wrong = reading->run(of, at.snapshot, answer);
        // A record that cannot be read was left out: that is no answer.
        if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
        return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
    }
    if (auto const* const asking = std::get_if<ask>(&route.run)) {
        auto wrong = asking->run(of, at, answer);
        if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
        return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
    }
    s.writing = &std::get<write>(route.run);
    auto planned = s.writing->plan(of);
    if (at.snapshot.damaged()) return refused(problem::internal_error, answer);
    if (!planned) return refused(planned.error(), answer);
    s.command = std::move(*planned);
    s.command.caller = s.who->record().id;
    s.command.needs = route.scope;
    s.command.from = s.client;
    return need::commit;
}

store::command exchange::take_command() {
    return std::exchange(state_->command, {});  // what was moved from may still hold a secret
}

void exchange::answer(desk& at, store::outcome const& outcome, http::response& answer) {
    auto& s = *state_;
    if (outcome.problem != problem::none) {
        auto const& needed = s.where.chosen->scope;
        auto const scope = outcome.problem == problem::insufficient_scope && needed
                               ? model::name_of(*needed)
                               : std::string_view();
        s.made.reset();
        refused({outcome.problem, outcome.detail, outcome.faults, scope}, answer);
        return;
    }
    if (s.writing->show != nullptr)
        s.writing->show(at.rules, outcome, s.made->text(), answer);
    else
        s.writing->answer(at.rules, outcome, answer);
    s.made.reset();
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

need exchange::serve_open(http::request const& request, http::response& answer) {
    auto& s = *state_;
    if (request.method == http::method::options) return answer_options(answer), need::nothing;
    if (s.where.chosen == nullptr) return refused(problem::method_not_allowed, answer);
    auto const& page = std::get<open>(s.where.chosen->run);
    if (page.json && !accepts_json(request)) return refused(problem::not_acceptable, answer);
    if (auto bad = s.query.parse(request.query)) return refused(std::move(*bad), answer);
    if (auto bad = s.query.refuse_rest()) return refused(std::move(*bad), answer);
    auto wrong = page.run(s.where.last, *s.rules, answer);
    return wrong ? refused(std::move(*wrong), answer) : dressed(answer);
}

void exchange::answer_options(http::response& answer) {
    answer.status = 204;
    answer.add("Allow", allowed_methods(state_->where.pattern));
    dressed(answer);
}

}  // namespace latchkey::api
