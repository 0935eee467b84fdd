#include "api/route.hpp"

#include <array>

#include "api/handlers.hpp"
#include "base/limits.hpp"

namespace latchkey::api {
namespace {

using http::method;
using model::scope;

constexpr route table[] = {
    {method::get, "/api/v1/users", operations::list_users, scope::users_read, read{list_users},
     true},
    {method::post, "/api/v1/users", operations::create_user, scope::users_write,
     write{plan_create_user, answer_user_created}, true},
    {method::get, "/api/v1/users/{id}", operations::get_user, scope::users_read,
     read{get_user, scope_of_include}, true},
    {method::put, "/api/v1/users/{id}", operations::replace_user, scope::users_write,
     write{plan_replace_user, answer_user}, true},
    {method::patch, "/api/v1/users/{id}", operations::patch_user, scope::users_write,
     write{plan_patch_user, answer_user}, true},
    {method::delete_, "/api/v1/users/{id}", operations::delete_user, scope::users_write,
     write{plan_delete_user, answer_deleted, false}, true},
    {method::get, "/api/v1/users/{id}/posts", operations::list_posts_of_user, scope::users_read,
     read{list_posts_of_user, scope_of_posts}, true},

    {method::get, "/api/v1/posts", operations::list_posts, scope::posts_read, read{list_posts},
     true},
    {method::post, "/api/v1/posts", operations::create_post, scope::posts_write,
     write{plan_create_post, answer_post_created}, true},
    {method::get, "/api/v1/posts/{id}", operations::get_post, scope::posts_read, read{get_post},
     true},
    {method::put, "/api/v1/posts/{id}", operations::replace_post, scope::posts_write,
     write{plan_replace_post, answer_post}, true},
    {method::patch, "/api/v1/posts/{id}", operations::patch_post, scope::posts_write,
     write{plan_patch_post, answer_post}, true},
    {method::delete_, "/api/v1/posts/{id}", operations::delete_post, scope::posts_write,
     write{plan_delete_post, answer_deleted, false}, true},

    {method::get, "/api/v1/keys", operations::list_keys, scope::keys_read, read{list_keys}},
    {method::post, "/api/v1/keys", operations::create_key, scope::keys_write,
     write{plan_create_key, nullptr, true, answer_key_made}},
    // Before {id}, which would match them too.
    {method::get, "/api/v1/keys/current", operations::get_current_key, std::nullopt,
     read{get_current_key}},
    {method::post, "/api/v1/keys/current/deactivate", operations::deactivate_current_key,
     std::nullopt, write{plan_deactivate_current_key, answer_key}},
    {method::post, "/api/v1/keys/verify", operations::verify_key, scope::keys_verify,
     ask{verify_key}},
    {method::get, "/api/v1/keys/{id}", operations::get_key, scope::keys_read, read{get_key}},
    {method::patch, "/api/v1/keys/{id}", operations::patch_key, scope::keys_write,
     write{plan_patch_key, answer_key}},
    {method::delete_, "/api/v1/keys/{id}", operations::delete_key, scope::keys_write,
     write{plan_delete_key, answer_deleted, false}},
    {method::post, "/api/v1/keys/{id}/rotate", operations::rotate_key, scope::keys_write,
     write{plan_rotate_key, nullptr, true, answer_key_made}},
    {method::post, "/api/v1/keys/{id}/deactivate", operations::deactivate_key, scope::keys_write,
     write{plan_deactivate_key, answer_key}},
    {method::post, "/api/v1/keys/{id}/reactivate", operations::reactivate_key, scope::keys_write,
     write{plan_reactivate_key, answer_key}},
    {method::get, "/api/v1/keys/{id}/usage", operations::get_usage, scope::usage_read,
     read{get_usage}},
    {method::get, "/api/v1/audit", operations::list_audit, scope::audit_read, read{list_audit}},

    {method::get, "/api/v1/events", operations::list_events, scope::events_read, read{list_events}},
    // One pattern, since OpenAPI knows no two that differ in nothing but a name.
    {method::get, "/api/v1/events/{id_or_source}", operations::get_event, scope::events_read,
     read{get_event}},
    {method::post, "/api/v1/events/{id_or_source}", operations::receive_event, scope::events_write,
     write{.plan = plan_receive_event, .answer = answer_event_received, .foreign = true}},
    {method::get, "/api/v1/events/{event_source}/secret", operations::get_event_secret,
     scope::keys_read, read{get_event_secret}},
    {method::put, "/api/v1/events/{event_source}/secret", operations::put_event_secret,
     scope::keys_write, write{plan_put_event_secret, answer_event_secret}},
    {method::delete_, "/api/v1/events/{event_source}/secret", operations::delete_event_secret,
     scope::keys_write, write{plan_delete_event_secret, answer_deleted, false}},

    {method::get, "/auth", operations::authorize, std::nullopt, gateway{answer_gateway}},
    {method::get, "/healthz", operations::get_health, scope::any, open{show_health, true}},
    {method::get, "/openapi.json", operations::get_openapi, scope::any, open{show_openapi, true}},
    {method::get, "/docs", operations::get_docs, scope::any, open{show_docs}},
    {method::get, "/problems/{code}", operations::get_problem, scope::any, open{show_problem}},
};

// Takes the next segment, without its slash; false at the end.
bool take_segment(std::string_view& path, std::string_view& segment) {
    if (path.empty() || path.front() != '/') return false;
    path.remove_prefix(1);
    auto const slash = path.find('/');
    segment = path.substr(0, slash);
    path.remove_prefix(slash == path.npos ? path.size() : slash);
    return true;
}

// `{…}` matches one segment that is not empty.
bool matches(std::string_view pattern, std::string_view path, std::string_view& variable) {
    std::string_view wanted, given;
    while (take_segment(pattern, wanted)) {
        if (!take_segment(path, given)) return false;
        if (wanted.starts_with('{')) {
            if (given.empty()) return false;
            variable = given;
        } else if (wanted != given) {
            return false;
        }
    }
    return path.empty();
}

bool serves(route const& which, method verb) {
    return std::holds_alternative<gateway>(which.run) || which.method == verb ||
           (verb == method::head && which.method == method::get);
}

}  // namespace

std::span<route const> routes() {
    return table;
}

match find_route(method verb, std::string_view path) {
    match found;
    bool const prefixed = path.starts_with(prefix);
    for (auto const& each : table) {
        if (!found.pattern.empty()) {
            if (each.pattern == found.pattern && serves(each, verb)) found.chosen = &each;
            continue;
        }
        auto const pattern =
            each.unprefixed && !prefixed ? each.pattern.substr(prefix.size()) : each.pattern;
        if (!matches(pattern, path, found.last)) continue;
        found.pattern = each.pattern;
        found.open = std::holds_alternative<open>(each.run);
        found.gateway = std::holds_alternative<gateway>(each.run);
        found.unprefixed = each.unprefixed && !prefixed;
        if (serves(each, verb)) found.chosen = &each;
    }
    return found;
}

std::string allowed_methods(std::string_view pattern) {
    std::string all;
    auto const add = [&](std::string_view name) {
        if (all.find(name) != all.npos) return;
        all.append(all.empty() ? "" : ", ").append(name);
    };
    for (auto const& each : table) {
        if (!pattern.empty() && each.pattern != pattern) continue;
        add(http::name_of(each.method));
        if (each.method == method::get) add("HEAD");
    }
    add("OPTIONS");
    return all;
}

std::optional<model::id> parse_id(std::string_view text) {
    if (text.empty() || text.size() > 16 || text.front() == '0') return std::nullopt;
    model::id value = 0;
    for (char const digit : text) {
        if (digit < '0' || digit > '9') return std::nullopt;
        value = value * 10 + (digit - '0');
    }
    if (value > base::limits::id_max) return std::nullopt;
    return value;
}

}  // namespace latchkey::api
