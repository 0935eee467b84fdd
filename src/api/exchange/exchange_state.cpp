#include "api/exchange/exchange_state.hpp"

#include <algorithm>
#include <string>

#include "auth/key_form.hpp"
#include "base/limits.hpp"

namespace latchkey::api {

request_state::request_state(request_services& services, http::request const& request,
                             api::peer const& peer)
    : settings(&services.settings),
      uses(services.uses),
      method(request.method),
      matched(find_route(request.method, request.path)),
      path_id(parse_id(matched.variable)),
      tls(peer.tls),
      is_local(peer.local),
      is_relayed(peer.relayed),
      is_proxy(peer.is_proxy),
      is_shared(matched.gateway),
      client(peer.client) {
    request_id.take(request.find_only(http::field_name::request_id), services.random);
    trace_id.take(request.find_only(http::field_name::traceparent));
    if (client) failure_address = *client;
    if (model::is_event_source(matched.variable)) event_source = matched.variable;
    auto const* const gateway_route =
        matched.route == nullptr ? nullptr : std::get_if<gateway>(&matched.route->run);
    masks_limits = gateway_route != nullptr && !request.path.starts_with(gateway_folder) &&
                   gateway_route->masks_limits(request.query);
}

bool request_state::is_external() const {
    auto const* const write_route =
        matched.route == nullptr ? nullptr : std::get_if<write>(&matched.route->run);
    return write_route != nullptr && write_route->external;
}

void request_state::note_exposed() const {
    if (uses != nullptr && verdict.caller) uses->expose(verdict.caller->record().digest);
}

// The writer looks the key up later: here the time that it takes would tell whether there is such a
// key, to whom no failed authentication counts.
void request_state::note_exposed(http::request const& request) const {
    if (uses == nullptr) return;
    std::string decoded;
    auto const credential = find_credential(request, true, decoded);
    if (auth::has_imported_form(credential.key))  // as generated ones have too
        uses->expose_unknown(auth::digest_of(credential.key));
    wipe(decoded);
}

bool request_state::takes_body() const {
    if (std::holds_alternative<action>(matched.route->run))
        return matched.route->method == http::method::post;
    auto const* const write_route = std::get_if<write>(&matched.route->run);
    return write_route != nullptr && write_route->body;
}

bool request_state::takes_form() const {
    auto const* const action_route =
        matched.route == nullptr ? nullptr : std::get_if<action>(&matched.route->run);
    return action_route != nullptr && action_route->form;
}

std::size_t request_state::body_bytes_max() const {
    if (is_unreadable) return 0;  // its first byte decides
    auto const limit = settings->body_bytes_max;
    if (is_external()) return std::min(limit, base::limits::event_bytes_max);
    return credential_in_body ? std::min(limit, base::limits::credential_body_bytes_max) : limit;
}

}  // namespace latchkey::api
