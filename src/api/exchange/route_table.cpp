#include <algorithm>
#include <iterator>

#include "api/frame/handlers.hpp"
#include "api/frame/path_tree.hpp"
#include "api/frame/route.hpp"
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
     read{get_user, scope_of_include, store::resource::user}, true},
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
    {method::get, "/api/v1/posts/{id}", operations::get_post, scope::posts_read,
     read{get_post, nullptr, store::resource::post}, true},
    {method::put, "/api/v1/posts/{id}", operations::replace_post, scope::posts_write,
     write{plan_replace_post, answer_post}, true},
    {method::patch, "/api/v1/posts/{id}", operations::patch_post, scope::posts_write,
     write{plan_patch_post, answer_post}, true},
    {method::delete_, "/api/v1/posts/{id}", operations::delete_post, scope::posts_write,
     write{plan_delete_post, answer_deleted, false}, true},

    {method::get, "/api/v1/keys", operations::list_keys, scope::keys_read, read{list_keys}},
    {method::post, "/api/v1/keys", operations::create_key, scope::keys_write,
     write{plan_create_key, nullptr, true, answer_key_made}},
    {method::get, "/api/v1/keys/current", operations::get_current_key, std::nullopt,
     read{get_current_key}},
    {method::post, "/api/v1/keys/current/deactivate", operations::deactivate_current_key,
     std::nullopt, write{plan_deactivate_current_key, answer_key_deactivated}},
    {method::post, "/api/v1/keys/verify", operations::verify_key, scope::keys_verify,
     action{verify_key}},
    {method::post, "/api/v1/introspect", operations::introspect_token, scope::keys_verify,
     action{introspect_token, true}},
    {method::get, "/api/v1/keys/{id}", operations::get_key, scope::keys_read, read{get_key}},
    {method::patch, "/api/v1/keys/{id}", operations::patch_key, scope::keys_write,
     write{plan_patch_key, answer_key}},
    {method::delete_, "/api/v1/keys/{id}", operations::delete_key, scope::keys_write,
     write{plan_delete_key, answer_deleted, false}},
    {method::post, "/api/v1/keys/{id}/rotate", operations::rotate_key, scope::keys_write,
     write{plan_rotate_key, nullptr, true, answer_key_made}},
    {method::post, "/api/v1/keys/{id}/deactivate", operations::deactivate_key, scope::keys_write,
     write{plan_deactivate_key, answer_key_deactivated}},
    {method::post, "/api/v1/keys/{id}/reactivate", operations::reactivate_key, scope::keys_write,
     write{plan_reactivate_key, answer_key}},
    {method::get, "/api/v1/keys/{id}/usage", operations::get_usage, scope::usage_read,
     read{get_usage}},
    {method::get, "/api/v1/usage", operations::list_usage, scope::usage_read, read{list_usage}},
    {method::get, "/api/v1/service", operations::get_service, scope::any, action{get_service}},
    {method::post, "/api/v1/session", operations::start_session, std::nullopt,
     action{start_session}},
    {method::delete_, "/api/v1/session", operations::end_session, std::nullopt,
     action{end_session}},
    {method::delete_, "/api/v1/sessions", operations::end_sessions, std::nullopt,
     write{plan_end_sessions, answer_deleted, false}},
    {method::get, "/api/v1/audit", operations::list_audit, scope::audit_read, read{list_audit}},
    {method::get, "/api/v1/changes", operations::list_changes, scope::changes_read,
     read{.run = list_changes, .stream = open_change_stream}},

    {method::get, "/api/v1/events", operations::list_events, scope::events_read, read{list_events}},
    {method::get, "/api/v1/events/sources", operations::list_event_sources, scope::events_manage,
     read{list_event_sources}},
    {method::get, "/api/v1/events/{id}", operations::get_event, scope::events_read, read{get_event},
     true},
    {method::post, "/api/v1/events/{event_source}", operations::receive_event, scope::events_write,
     write{.plan = plan_receive_event, .answer = answer_event_received, .external = true}, true},
    {method::get, "/api/v1/events/{event_source}/secret", operations::get_event_secret,
     scope::events_manage, read{get_event_secret}},
    {method::put, "/api/v1/events/{event_source}/secret", operations::put_event_secret,
     scope::events_manage, write{plan_put_event_secret, answer_event_secret}},
    {method::delete_, "/api/v1/events/{event_source}/secret", operations::delete_event_secret,
     scope::events_manage, write{plan_delete_event_secret, answer_deleted, false}},

    {method::get, "/api/v1/webhooks", operations::list_webhooks, scope::webhooks_read,
     read{list_webhooks}},
    {method::post, "/api/v1/webhooks", operations::create_webhook, scope::webhooks_write,
     write{.plan = plan_create_webhook,
           .answer = answer_webhook_created,
           .further_scope = scope::changes_read}},
    {method::get, "/api/v1/webhooks/{id}", operations::get_webhook, scope::webhooks_read,
     read{get_webhook}},
    {method::patch, "/api/v1/webhooks/{id}", operations::patch_webhook, scope::webhooks_write,
     write{.plan = plan_patch_webhook,
           .answer = answer_webhook,
           .further_scope = scope::changes_read}},
    {method::delete_, "/api/v1/webhooks/{id}", operations::delete_webhook, scope::webhooks_write,
     write{plan_delete_webhook, answer_deleted, false}},
    {method::post, "/api/v1/webhooks/{id}/rotate-secret", operations::rotate_webhook_secret,
     scope::webhooks_write, write{plan_rotate_webhook_secret, answer_webhook_rotated}},
    {method::post, "/api/v1/webhooks/{id}/enable", operations::enable_webhook,
     scope::webhooks_write,
     write{.plan = plan_enable_webhook,
           .answer = answer_webhook,
           .further_scope = scope::changes_read}},
    {method::post, "/api/v1/webhooks/{id}/test", operations::test_webhook, scope::webhooks_write,
     write{plan_test_webhook, answer_webhook_tested}},
    {method::get, "/api/v1/webhooks/{id}/deliveries", operations::list_deliveries,
     scope::webhooks_read, read{list_deliveries}},
    {method::post, "/api/v1/webhooks/{id}/replay", operations::replay_webhook,
     scope::webhooks_write, write{plan_replay_webhook, answer_webhook_replayed}},

    {method::get, "/auth", operations::authorize, std::nullopt, gateway{answer_gateway}},
    {method::get, "/healthz", operations::get_health, scope::any,
     public_route{.run = show_health, .json = true, .any_query = true}},
    {method::get, "/openapi.json", operations::get_openapi, scope::any,
     public_route{show_openapi, true}},
    {method::get, "/docs", operations::get_docs, scope::any, public_route{show_page}},
    {method::get, "/docs/{guide}", operations::get_docs_page, scope::any,
     public_route{show_page, false, true}},
    {method::get, "/problems", operations::list_problems, scope::any, public_route{show_page}},
    {method::get, "/problems/{code}", operations::get_problem, scope::any, public_route{show_page}},
    {method::get, "/", operations::get_root, scope::any, public_route{show_root, false, true}},
    {method::get, "/favicon.ico", operations::get_icon, scope::any,
     public_route{show_icon, false, true}},
    {method::get, "/assets/{asset}", operations::get_asset, scope::any,
     public_route{show_asset, false, true}},
    {method::get, protected_resource_path, operations::get_protected_resource, scope::any,
     public_route{show_protected_resource, true, true}},
    {method::get, "/console", operations::get_console, scope::any,
     public_route{show_console, false, true}},
};

using route_tree = path_tree<std::size(table)>;

constexpr route_tree tree = [] {
    route_tree result;
    for (std::uint8_t row = 0; row < std::size(table); ++row) {
        result.add(table[row].pattern, row, false);
        if (table[row].unprefixed) result.add(table[row].pattern.substr(prefix.size()), row, true);
    }
    result.begin_below(prefix);
    return result;
}();

bool serves(route const& route, method verb) {
    return std::holds_alternative<gateway>(route.run) || route.method == verb ||
           (verb == method::head && route.method == method::get);
}

}  // namespace

std::span<route const> routes() {
    return table;
}

// Actions make nothing that lasts, so that a repeat of one does no harm.
bool takes_idempotency_key(route const& route) {
    return std::holds_alternative<write>(route.run) &&
           (route.method == method::post || route.method == method::patch);
}

match find_route(method verb, std::string_view path) {
    match result;
    auto const* leaf = tree.find(path, result.variable);
    if (leaf == nullptr && path.starts_with(gateway_folder))
        leaf = tree.find(gateway_folder.substr(0, gateway_folder.size() - 1), result.variable);
    if (leaf == nullptr) return result;
    auto const& first = table[leaf->row];
    result.pattern = first.pattern;
    result.is_public = std::holds_alternative<public_route>(first.run);
    result.gateway = std::holds_alternative<gateway>(first.run);
    result.unprefixed = leaf->is_alias;
    for (auto row = leaf->row; row != route_tree::none; row = tree.next_row(row)) {
        if (!serves(table[row], verb)) continue;
        result.route = &table[row];
        result.pattern = table[row].pattern;
        break;
    }
    return result;
}

bool ignores_body(std::string_view path) {
    return find_route(method::get, path).gateway;
}

std::optional<store::resource> match::record() const {
    auto const* const reading = route == nullptr ? nullptr : std::get_if<read>(&route->run);
    return reading == nullptr ? std::nullopt : reading->record;
}

std::optional<prefetch_hint> read_prefetch_hint(std::string_view request) {
    constexpr std::string_view verb = "GET ";
    constexpr std::size_t path_bytes_max = 64;  // of the paths that name a record
    if (!request.starts_with(verb)) return std::nullopt;
    auto const target = request.substr(verb.size(), path_bytes_max);
    auto const matched = find_route(method::get, target.substr(0, target.find(' ')));
    auto const resource = matched.record();
    auto const id = resource ? parse_id(matched.variable) : std::nullopt;
    if (!id) return std::nullopt;
    return prefetch_hint{*resource, *id};
}

bool has_twin(route const& route) {
    return std::any_of(table, &route, [&](api::route const& earlier) {
        return earlier.pattern != route.pattern && is_same_path(earlier.pattern, route.pattern);
    });
}

route const* find_row(std::string_view method, std::string_view pattern) {
    auto const* const row = std::ranges::find_if(table, [&](route const& each) {
        return http::name_of(each.method) == method && is_same_path(each.pattern, pattern);
    });
    return row == std::end(table) ? nullptr : row;
}

std::string allowed_methods(std::string_view pattern) {
    std::string all;
    auto const add = [&](std::string_view name) {
        if (all.find(name) != all.npos) return;
        all.append(all.empty() ? "" : ", ").append(name);
    };
    for (auto const& each : table) {
        if (!pattern.empty() && !is_same_path(each.pattern, pattern)) continue;
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
