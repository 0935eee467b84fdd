#include "api/route.hpp"

#include <algorithm>
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

constexpr std::uint8_t none = 0xff;

// The patterns as a tree of their segments: one walk down a path finds its pattern. What is written
// out stands before `{…}` among the children of a node.
struct node {
    std::string_view segment;
    bool any = false;  // `{…}`: one segment that is not empty
    bool unprefixed = false;
    std::uint8_t child = none, sibling = none;
    std::uint8_t row = none;  // of the table, the first with the pattern that ends here
};

struct path_tree {
    std::array<node, 64> nodes{};
    std::uint8_t count = 1;  // the first is the root
    // By row: the next one with the same pattern.
    std::array<std::uint8_t, std::size(table)> next_row{};

    constexpr path_tree() {
        next_row.fill(none);
        for (std::uint8_t row = 0; row < std::size(table); ++row) {
            add(table[row].pattern, row, false);
            if (table[row].unprefixed) add(table[row].pattern.substr(prefix.size()), row, true);
        }
    }
    constexpr void add(std::string_view pattern, std::uint8_t row, bool unprefixed) {
        std::uint8_t at = 0;
        while (!pattern.empty()) {
            auto const end = std::min(pattern.find('/', 1), pattern.size());
            at = child_of(at, pattern.substr(1, end - 1));
            pattern.remove_prefix(end);
        }
        auto& end = nodes[at];
        end.unprefixed = unprefixed;
        if (end.row == none) end.row = row;
        if (unprefixed || end.row == row) return;
        auto last = end.row;
        while (next_row[last] != none) last = next_row[last];
        next_row[last] = row;
    }
    constexpr std::uint8_t child_of(std::uint8_t parent, std::string_view segment) {
        bool const any = segment.starts_with('{');
        auto* link = &nodes[parent].child;
        while (*link != none && (any || !nodes[*link].any)) {
            auto& each = nodes[*link];
            if (any ? each.any : each.segment == segment) return *link;
            link = &each.sibling;
        }
        nodes[count] = {.segment = segment, .any = any, .sibling = *link};
        return *link = count++;
    }
};

constexpr path_tree tree;

// Where nearly all paths go on. No pattern has a variable before it, so that whatever begins with
// the prefix goes there.
constexpr std::uint8_t below_prefix = [] {
    std::uint8_t at = 0;
    for (auto rest = prefix; !rest.empty();) {
        auto const end = std::min(rest.find('/', 1), rest.size());
        auto next = none;
        for (auto i = tree.nodes[at].child; i != none; i = tree.nodes[i].sibling) {
            if (tree.nodes[i].any) throw "a variable before the prefix";
            if (tree.nodes[i].segment == rest.substr(1, end - 1)) next = i;
        }
        at = next;
        rest.remove_prefix(end);
    }
    return at;
}();

// The node where the path ends; null: no pattern is like it. `variable`: what stood for `{…}`.
node const* descend(node const& from, std::string_view path, std::string_view& variable) {
    if (path.empty()) return from.row == none ? nullptr : &from;
    if (path.front() != '/') return nullptr;
    std::size_t end = 1;
    while (end < path.size() && path[end] != '/') ++end;
    auto const segment = path.substr(1, end - 1);
    for (auto i = from.child; i != none; i = tree.nodes[i].sibling) {
        auto const& each = tree.nodes[i];
        if (each.any ? segment.empty() : each.segment != segment) continue;
        auto const* const found = descend(each, path.substr(end), variable);
        if (found == nullptr) continue;
        if (each.any && variable.empty()) variable = segment;
        return found;
    }
    return nullptr;
}

bool serves(route const& which, method verb) {
    return std::holds_alternative<gateway>(which.run) || which.method == verb ||
           (verb == method::head && which.method == method::get);
}

}  // namespace

std::span<route const> routes() {
    return table;
}

bool takes_idempotency_key(route const& which) {
    return std::holds_alternative<write>(which.run) &&
           (which.method == method::post || which.method == method::patch);
}

match find_route(method verb, std::string_view path) {
    match found;
    bool const below = path.starts_with(prefix);
    auto const* const end =
        below ? descend(tree.nodes[below_prefix], path.substr(prefix.size()), found.last)
              : descend(tree.nodes[0], path, found.last);
    if (end == nullptr) return found;
    auto const& first = table[end->row];
    found.pattern = first.pattern;
    found.open = std::holds_alternative<open>(first.run);
    found.gateway = std::holds_alternative<gateway>(first.run);
    found.unprefixed = end->unprefixed;
    for (auto row = end->row; row != none; row = tree.next_row[row])
        if (serves(table[row], verb)) found.chosen = &table[row];
    return found;
}

std::optional<store::resource> match::shows() const {
    auto const* const reading = chosen == nullptr ? nullptr : std::get_if<read>(&chosen->run);
    return reading == nullptr ? std::nullopt : reading->shows;
}

std::optional<foreseen> foresee(std::string_view request) {
    constexpr std::string_view verb = "GET ";
    constexpr std::size_t path_bytes_max = 64;  // of those that name a record
    if (!request.starts_with(verb)) return std::nullopt;
    auto const target = request.substr(verb.size(), path_bytes_max);
    auto const where = find_route(method::get, target.substr(0, target.find(' ')));
    auto const which = where.shows();
    auto const id = which ? parse_id(where.last) : std::nullopt;
    if (!id) return std::nullopt;
    return foreseen{*which, *id};
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
