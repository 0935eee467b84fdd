// The checks of a request up to its handler. What each refuses stands beside it in the order of
// exchange.cpp. Private to exchange*.cpp.
#pragma once

#include "api/exchange/exchange_state.hpp"

namespace latchkey::api {

check_result require_https(request_state& state, exchange_input const& input);
check_result identify(request_state& state, exchange_input const& input);
check_result require_lease(request_state& state, exchange_input const& input);
check_result accept_key(request_state& state, exchange_input const& input);
check_result charge_key(request_state& state, exchange_input const& input);
check_result find_handler(request_state& state, exchange_input const& input);
check_result require_scopes(request_state& state, exchange_input const& input);
check_result negotiate(request_state& state, exchange_input const& input);
check_result read_body(request_state& state, exchange_input const& input);
next_step refuse_body_form(request_state const& state, http::response& response);  // 415

}  // namespace latchkey::api
