#include "api/frame/event_stream.hpp"

#include <algorithm>

#include "auth/bearer_cache.hpp"
#include "base/time_units.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view beginning = "retry: 2000\n\n";
constexpr std::string_view comment = ":\n\n";

// Without issuers, as after a reload that removes them, no token is good.
bool has_good_token(auth::principal const& caller, request_services const& services,
                    base::instant now) {
    if (caller.token() == nullptr) return true;
    return services.tokens != nullptr && services.tokens->is_good(caller, now);
}

}  // namespace

bool stream_slots::enter(std::size_t most, model::id key, std::string const& project) {
    std::scoped_lock const lock(mutex_);
    auto const rest = most - std::min(open_, most);
    auto const count = [](auto const& counts, auto const& name) {
        auto const place = counts.find(name);
        return place == counts.end() ? 0 : place->second;
    };
    if (count(of_key_, key) >= rest || count(of_project_, project) >= 3 * rest) return false;
    ++open_;
    ++of_key_[key];
    ++of_project_[project];
    return true;
}

void stream_slots::leave(model::id key, std::string const& project) {
    std::scoped_lock const lock(mutex_);
    --open_;
    auto const drop = [](auto& counts, auto const& name) {
        auto const place = counts.find(name);
        if (--place->second == 0) counts.erase(place);
    };
    drop(of_key_, key);
    drop(of_project_, project);
}

event_streams::place event_streams::enter(std::size_t most, model::key const& key) {
    bool const entered = slots_.enter(most, key.id, key.project);
    if (entered) ++open_;
    return place(entered ? &slots_ : nullptr, {this, key.id, key.project});
}

event_stream::progress event_stream::append(request_services& services, base::instant now,
                                            std::size_t bytes_max, std::string& output) {
    if (!may_go_on(services, now)) return progress::ended;
    if (bytes_max == 0) return progress::more;
    auto const size = output.size();
    if (!has_begun_) output.append(beginning);
    has_begun_ = true;
    auto const result = read(services, now, bytes_max, output);
    if (output.size() == size && now.mono >= comment_due_) output.append(comment);
    if (output.size() != size) comment_due_ = now.mono + base::limits::stream_comment_interval_ns;
    due_ = std::min(comment_due_, end_of_key(now));
    return result;
}

// On a node without a lease what is known of the key may be old (docs/api.md §15).
bool event_stream::may_go_on(request_services& services, base::instant now) {
    if (services.lease_over) return false;
    auto const* const client = caller_.client ? &*caller_.client : nullptr;
    auto verdict = services.keys.authenticate_again(caller_.key, client, services.snapshot, now);
    if (verdict.problem != base::problem::none || !verdict.caller->may(caller_.scope)) return false;
    if (!has_good_token(*verdict.caller, services, now)) return false;
    caller_.key = std::move(*verdict.caller);
    auto const& session = caller_.session;
    return !session || (now.wall < session->expires_at &&
                        session->generation == services.snapshot.sessions_generation(key().id));
}

// When the clock alone will turn the key off.
base::mono_ns event_stream::end_of_key(base::instant now) const {
    auto end = base::limits::stream_comment_interval_ns;
    auto const session_end = caller_.session ? caller_.session->expires_at : 0;
    for (auto const time : {key().expires_at, key().rotation_ends_at, session_end})
        if (time > now.wall) end = std::min(end, (time - now.wall) * base::millisecond);
    if (auto const* const token = caller_.key.token(); token != nullptr)
        end = std::min(
            end, std::max<base::mono_ns>(token->kept_until - now.clock, 0) * base::millisecond);
    return now.mono + end;
}

}  // namespace latchkey::api
