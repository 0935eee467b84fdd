#include "api/frame/request_context.hpp"

#include "api/frame/charge.hpp"
#include "api/frame/request_services.hpp"
#include "domain/events/event_lists.hpp"

namespace latchkey::api {

request_context::request_context(request_services& services, http::request const& request,
                                 auth::principal const& principal, limit::decision const& quota,
                                 base::instant now, api::query& query, request_target const& target)
    : request(request),
      principal(principal),
      quota(quota),
      now(now),
      settings(services.settings),
      query(query),
      source(target.source),
      session(target.session),
      id(target.id),
      event_source(target.event_source),
      steps(target.steps),
      services_(services),
      fresh_key_(target.fresh_key),
      tokens_(target.tokens) {}

std::string_view request_context::make_key() const {
    return fresh_key_.emplace(settings.key_prefix).text();
}
std::optional<domain::event_secrets> request_context::event_secrets() const {
    return domain::find_event_secrets(services_.snapshot, event_source, now.wall);
}
base::wall_ms request_context::last_use(model::id key) const {
    return services_.uses == nullptr ? 0 : services_.uses->last(key);
}
cluster::quota_verdict request_context::charge(auth::principal const& key,
                                               std::uint32_t cost) const {
    return api::charge(services_, key, cost, now, tokens_);
}
std::size_t request_context::page_bytes_max() const {
    bool const is_bare = request.method == http::method::head &&
                         !request.find(http::field_name::if_match) &&
                         !request.find(http::field_name::if_none_match);
    return is_bare ? base::limits::head_page_bytes_max : base::limits::page_bytes_max;
}
auth::mac const& request_context::cursor_mac() const {
    return services_.cursors;
}

}  // namespace latchkey::api
