// The route table: which handler serves a method and path. Dispatch, OPTIONS and Allow, OpenAPI,
// the access log, the metrics and the tests of completeness all read it. Constants, any thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "api/frame/operation.hpp"
#include "api/frame/request_context.hpp"

namespace latchkey::api {

class event_stream;
struct event_reader;

// Answers from the snapshot, or returns an error.
using read_fn = std::optional<api_error> (*)(request_context const&, domain::snapshot const&,
                                             http::response&);
// The same with events, to a client that asks for a stream of them. The route has a scope.
using stream_fn = api_result<std::unique_ptr<event_stream>> (*)(request_context const&,
                                                                request_services&, event_reader);
// Makes the command, which owns its bytes; `exchange` adds the caller.
using write_fn = api_result<domain::command> (*)(request_context const&);
// Renders a committed outcome without reading again.
using answer_fn = void (*)(settings const&, domain::outcome const&, http::response&);
// The same, with the key that `make_key` made; empty when it was shown before.
using show_fn = void (*)(settings const&, domain::outcome const&, std::string_view key,
                         http::response&);
// Takes a body and answers at once.
using action_fn = std::optional<api_error> (*)(request_context const&, request_services&,
                                               http::response&);
// Needs no key. `variable` is the segment that stands for the pattern's variable.
struct public_request {
    std::string_view variable;
    http::request const& request;
    api::settings const& settings;
};
using public_fn = std::optional<api_error> (*)(public_request const&, http::response&);

// A further scope that a query needs; nullopt: none.
using query_scope_fn = std::optional<model::scope> (*)(std::string_view raw_query);

struct read {
    read_fn run;
    query_scope_fn query_scope = nullptr;
    // The record of the path's id, which can be prefetched before the key is known.
    std::optional<domain::resource> record = std::nullopt;
    stream_fn stream = nullptr;
};
struct write {
    write_fn plan;
    answer_fn answer;
    bool body = true;        // takes a JSON body
    show_fn show = nullptr;  // instead of `answer`, where a key was made
    // Sent by an external service: the body is kept byte for byte, so no credential is looked for
    // in it, and a key of that one source may come by query though others may not (api.md §12).
    bool external = false;
    // Needed besides that of the route.
    std::optional<model::scope> further_scope = std::nullopt;
};
struct action {
    action_fn run;
    bool form = false;  // the body may be a form (application/x-www-form-urlencoded) too
};
// Answers every method alike and ignores what a gateway passes on of its client's request.
struct gateway {
    std::optional<api_error> (*run)(request_context const&, http::response&);
    // Whether a request beyond its limits is answered 403 in the place of 429.
    bool (*masks_limits)(std::string_view raw_query);
};
struct public_route {
    public_fn run;
    bool json = false;       // false: a page for people, to which Accept does not apply
    bool is_part = false;    // of pages, so OpenAPI leaves it out
    bool any_query = false;  // probes add what they like to get past caches
    // Links to pages are given parameters on their way.
    bool ignores_query() const { return any_query || !json; }
};

struct route {
    http::method method;
    std::string_view pattern;         // "/api/v1/users/{id}"; {…} is one segment
    api::operation const& operation;  // its documentation; a route without one does not compile
    // The scope that the method needs; nullopt: any key will do. Not used for public routes.
    std::optional<model::scope> scope;
    std::variant<read, write, action, gateway, public_route> run;
    bool unprefixed = false;  // answers without /api/v1 too
};

// The rows of all capabilities; they are joined in capabilities.hpp, and searched in
// exchange/route_table.cpp.
std::span<route const> routes();
// A POST or PATCH that writes: an Idempotency-Key counts there (api.md §9).
bool takes_idempotency_key(route const& route);

// The route of a path, whatever the method.
struct match {
    std::string_view pattern;  // empty: no such path
    bool is_public = false;
    bool gateway = false;
    bool unprefixed = false;  // the path came without the prefix
    // The segment that stands for {…}: a view of the path.
    std::string_view variable;
    api::route const* route = nullptr;  // of the method (HEAD as GET); null: 405

    std::optional<domain::resource> record() const;  // read::record of the route
};
match find_route(http::method method, std::string_view path);
// The pattern that an unknown path is near to; nullopt: none.
std::optional<std::string_view> nearest_pattern(std::string_view path);
// Whatever a gateway's request has as its body, `/auth` reads nothing of it.
bool ignores_body(std::string_view path);

// The record that a request with this beginning will probably read. Nothing is checked, so this is
// good for a prefetch only.
struct prefetch_hint {
    domain::resource resource;
    model::id id;
};
std::optional<prefetch_hint> read_prefetch_hint(std::string_view request);

// Is there an earlier row whose pattern differs from that of `route` (of routes()) in the names of
// variables alone?
bool has_twin(route const& route);
// The row with this method and pattern, whatever its variables are called; null: there is none.
route const* find_row(std::string_view method, std::string_view pattern);
// "GET, HEAD, POST, OPTIONS": the methods of a pattern, for Allow; of an empty one, of all.
std::string allowed_methods(std::string_view pattern);

// A path id is [1-9][0-9]{0,15} and at most 2^53-1.
std::optional<model::id> parse_id(std::string_view text);

inline constexpr std::string_view prefix = "/api/v1";
// A gateway that appends its client's target (Envoy) asks below it: a scope or `-`, then anything,
// which is ignored with the query.
inline constexpr std::string_view gateway_folder = "/auth/";
// An unknown path below these is a page that says so.
inline constexpr std::string_view docs_folder = "/docs/";
inline constexpr std::string_view problems_folder = "/problems/";

}  // namespace latchkey::api
