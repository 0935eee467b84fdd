// POST /keys/verify: another service asks about a key that it was sent. The checks are those of a
// request with that key, in the order of API §3; the answer is always a 200.
#include "api/credential.hpp"
#include "api/exchange.hpp"
#include "api/handlers.hpp"
#include "api/json_writer.hpp"
#include "api/key_body.hpp"
#include "api/key_json.hpp"
#include "api/resource.hpp"

namespace latchkey::api {
namespace {

using base::problem;

std::string_view code_of(problem what) {
    switch (what) {
        case problem::none:
            return "VALID";
        case problem::key_deactivated:
            return "DEACTIVATED";
        case problem::key_expired:
            return "EXPIRED";
        case problem::key_not_yet_active:
            return "NOT_YET_ACTIVE";
        case problem::ip_not_allowed:
            return "IP_NOT_ALLOWED";
        case problem::insufficient_scope:
            return "INSUFFICIENT_SCOPE";
        case problem::rate_limited:
            return "RATE_LIMITED";
        default:
            return "NOT_FOUND";
    }
}

void append_known(std::string& to, model::key const& key, live_limits const& live) {
    to.append(",\"key_id\":");
    append_number(to, key.id);
    to.append(",\"project\":");
    append_string(to, key.project);
    to.append(",\"environment\":");
    append_string(to, model::name_of(key.environment));
    append_scopes(to, key);
    to.append(",\"expires_at\":");
    append_timestamp_or_null(to, key.expires_at);
    append_metadata(to, key);
    append_limits(to, live);
    to.push_back('}');
}

void append_unknown(std::string& to) {
    for (auto const* const name :
         {"key_id", "project", "environment", "scopes", "expires_at", "metadata", "rate_limits"})
        to.append(",\"").append(name).append("\":null");
    to.push_back('}');
}

// The use that is asked about counts as if it had come here; only to look is none.
void count_use(desk& at, model::id key, base::wall_ms now, problem found, bool accepted) {
    if (at.uses == nullptr) return;
    auto const status = found == problem::none ? 200u : base::describe(found).status;
    at.uses->count(key, now, status, found == problem::rate_limited);
    if (accepted) at.uses->note(key, now);
}

}  // namespace

std::optional<trouble> verify_key(call const& of, desk& at, http::response& answer) {
    std::vector<base::fault> faults;
    auto const asked = read_verify(of.request, faults);
    if (!asked) return asked.error();
    if (auto wrong = of.query.refuse_rest()) return wrong;
    if (!faults.empty()) return trouble{problem::validation_failed, {}, std::move(faults), {}};

    auto const verdict =
        at.keys.authenticate(asked->key, asked->ip ? &*asked->ip : nullptr, at.snapshot, of.now);
    // Where it lies in the body too: it is a credential, if not the caller's.
    if (auto const place = of.request.body.find(asked->key); place != std::string_view::npos)
        wipe(of.request.body.substr(place, asked->key.size()));
    wipe(asked->key);
    if (verdict.problem == problem::internal_error) return trouble{problem::internal_error};
    auto found = verdict.problem;
    limit::decision quota;
    bool const known = verdict.who && sees_project(of, verdict.who->record().project);
    if (known) {
        auto const& key = verdict.who->record();
        // A key that is refused before its limits pays nothing; looking is free.
        bool const pays = found == problem::none;
        quota =
            at.buckets.admit(key.id, verdict.who->limits(), of.now.mono, pays ? asked->cost : 0);
        if (!quota.admitted())
            found = problem::rate_limited;
        else if (pays && !key.scopes.covers(asked->scopes))
            found = problem::insufficient_scope;
        if (asked->cost != 0) count_use(at, key.id, of.now.wall, found, pays);
    } else {
        found = problem::key_invalid;
    }
    answer.body.append(found == problem::none ? "{\"valid\":true" : "{\"valid\":false");
    answer.body.append(",\"code\":");
    append_plain_string(answer.body, code_of(found));
    known ? append_known(answer.body, verdict.who->record(), {verdict.who->limits(), quota})
          : append_unknown(answer.body);
    show_written(answer);
    return std::nullopt;
}

}  // namespace latchkey::api
