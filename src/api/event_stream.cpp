#include "api/event_stream.hpp"

#include <algorithm>

#include "auth/token_cache.hpp"
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

bool stream_slots::enter(std::size_t most) {
    if (open_.fetch_add(1, std::memory_order_relaxed) < most) return true;
    leave();
    return false;
}

event_streams::place event_streams::enter(std::size_t most) {
    bool const entered = slots_.enter(most);
    if (entered) ++open_;
    return place(entered ? &slots_ : nullptr, {this});
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
