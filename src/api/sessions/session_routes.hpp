// Routes of sessions of browsers (api.md §18): the handlers, the operations that describe them,
// and the rows of the table. Constants; any thread.
#pragma once

#include "api/frame/resource.hpp"
#include "api/frame/route.hpp"
#include "api/frame/schema.hpp"

namespace latchkey::api {

std::optional<api_error> start_session(request_context const&, request_services&, http::response&);
std::optional<api_error> end_session(request_context const&, request_services&, http::response&);
api_result<domain::command> plan_end_sessions(request_context const&);

namespace operations {

using enum success;
using enum base::problem;

inline constexpr operation start_session{
    .id = "startSession",
    .group = "Sessions",
    .summary = "Exchange a key for the session of a browser",
    .result = done,
    .response_schema = "Session",
    .description =
        "Sets the cookie `__Host-latchkey`, for one hour. With the cookie instead of a key it goes "
        "on, until 12 hours after it began. Needs no scope.",
    .sets_cookie = true};
inline constexpr operation end_session{.id = "endSession",
                                       .group = "Sessions",
                                       .summary = "Forget the session of this browser",
                                       .result = deleted,
                                       .description = "Removes the cookie. Needs no scope.",
                                       .sets_cookie = true};
inline constexpr operation end_sessions{
    .id = "endSessions",
    .group = "Sessions",
    .summary = "End all sessions of the key of this request",
    .result = deleted,
    .description = "Log out everywhere: no cookie that was made before counts. Needs no scope.",
    .is_confirmed = true};

}  // namespace operations

inline constexpr route session_routes[] = {
    {http::method::post, "/api/v1/session", operations::start_session, std::nullopt,
     action{start_session}},
    {http::method::delete_, "/api/v1/session", operations::end_session, std::nullopt,
     action{end_session}},
    {http::method::delete_, "/api/v1/sessions", operations::end_sessions, std::nullopt,
     write{plan_end_sessions, answer_deleted, false}},
};

inline constexpr operation_group session_group{
    "Sessions", "Of browsers, which hold a cookie instead of a key."};

namespace schema {

object session_schemas();

}  // namespace schema

}  // namespace latchkey::api
