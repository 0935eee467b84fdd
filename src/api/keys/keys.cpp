// Handlers of keys: list, get, create, change, deactivate (api.md §4). Reads are authorized here,
// writes by the store inside the transaction.
#include "api/frame/checks/precondition.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/resource.hpp"
#include "api/keys/key_body.hpp"
#include "api/keys/key_json.hpp"
#include "api/keys/key_routes.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::string_view keys_path = "/api/v1/keys";
constexpr std::size_t secret_answer_bytes = 32 * 1024;

template <class Value>
std::optional<Value> find_by_name(std::string_view name, std::initializer_list<Value> all) {
    for (auto const each : all)
        if (model::name_of(each) == name) return each;
    return std::nullopt;
}

// Takes the query's filters into `filter` and the list. The caller binds the project, which also
// depends on the projects that it sees.
void take_filters(request_context const& context, domain::key_filter& filter, listing& list) {
    using model::key_state;
    auto& query = context.query;
    auto const take = [&](std::string_view name) {
        auto const value = context.query.take(name);
        if (value) list.show(name, *value);
        return value;
    };
    filter.project = take("project");
    if (filter.project && !model::is_project(*filter.project))
        query.refuse("project", field_code::invalid_format, "must be 1 to 64 of a-z, 0-9 and -");
    if (auto const name = take("state")) {
        filter.state = find_by_name(*name, {key_state::scheduled, key_state::active,
                                            key_state::expired, key_state::deactivated});
        if (!filter.state)
            query.refuse("state", field_code::not_in_enum,
                         "must be scheduled, active, expired or deactivated");
    }
    if (auto const name = take("environment")) {
        filter.environment = model::find_environment(*name);
        if (!filter.environment)
            query.refuse("environment", field_code::not_in_enum,
                         "must be development, staging or production");
    }
    filter.start = take("start");
    if (filter.start && filter.start->size() != key_start_bytes)
        query.refuse("start", field_code::invalid_format,
                     "must be the first 8 characters of a key");
    if (auto const text = take("unused_since")) {
        filter.unused_since = query.read_time("unused_since", *text);
        list.bind("unused_since", filter.unused_since.value_or(0));
    }
    filter.search = list.take_search();
    if (filter.state) list.bind("state", model::name_of(*filter.state));
    if (filter.environment) list.bind("environment", model::name_of(*filter.environment));
    if (filter.start) list.bind("start", *filter.start);
    filter.now = context.now.wall;
}

base::wall_ms last_use(request_context const& context, domain::snapshot const& snapshot,
                       model::id key) {
    return std::max(context.last_use(key), snapshot.last_use(key));
}

}  // namespace

std::optional<api_error> list_keys(request_context const& context, domain::snapshot const& snapshot,
                                   http::response& response) {
    listing list(context, keys_path);
    if (auto error = list.take()) return error;
    domain::key_filter filter;
    take_filters(context, filter, list);
    // A caller without `*` gets the keys of its own project, and none of another.
    auto const& caller = context.principal.record();
    bool const visible = !filter.project || sees_project(context, *filter.project);
    if (!filter.project && !context.principal.may(model::scope::any))
        filter.project = caller.project;
    if (filter.project) list.bind("project", *filter.project);
    if (auto error = list.open()) return error;
    list.begin(response);
    domain::list_result listed;
    auto const each = [&](model::key const& key, base::wall_ms last_use) {
        append_key(list.element(response.body), key, context.now.wall, {},
                   std::max(last_use, context.last_use(key.id)));
    };
    if (visible) listed = snapshot.keys(filter, list.range(response), each);
    return list.end(listed, response);
}

std::optional<api_error> get_key(request_context const& context, domain::snapshot const& snapshot,
                                 http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const key = snapshot.key(context.id);
    if (!key || !sees_project(context, key->project)) return no_such("key");
    append_key(response.body, *key, context.now.wall, {}, last_use(context, snapshot, key->id));
    show_resource(response);
    add_tag(response, model::tag_of(*key, context.now.wall));
    return std::nullopt;
}

std::optional<api_error> get_current_key(request_context const& context,
                                         domain::snapshot const& snapshot,
                                         http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const& key = context.principal.record();
    live_limits const live{context.principal.limits(), context.quota};
    append_key(response.body, key, context.now.wall, {}, last_use(context, snapshot, key.id),
               &live);
    show_resource(response);
    return std::nullopt;
}

api_result<domain::command> plan_create_key(request_context const& context) {
    auto const& caller = context.principal.record();
    domain::command command;
    key_defaults defaults{.ttl_seconds = context.settings.key_ttl_seconds, .now = context.now.wall};
    for (auto const scope : {model::scope::users_read, model::scope::posts_read})
        if (context.principal.may(scope)) defaults.scopes.add(scope);
    if (!context.principal.may(model::scope::any)) defaults.project = caller.project;
    auto creation = read_new_key(context.request, defaults, command.faults);
    if (!creation) return creation.error();
    if (auto error = context.query.refuse_rest()) return *error;
    if (creation->record.kind == model::key_kind::secret) {
        auto const key = context.make_key();
        creation->record.digest = auth::digest_of(key);
        creation->record.start = key.substr(0, key_start_bytes);
        creation->record.last4 = key.substr(key.size() - 4);
    }
    command.action = std::move(*creation);
    return command;
}

api_result<domain::command> plan_patch_key(request_context const& context) {
    domain::command command;
    auto change = read_key_change(context.request, command.faults);
    if (!change) return change.error();
    if (auto error = context.query.refuse_rest()) return *error;
    change->id = context.id;
    command.action = std::move(*change);
    return command;
}

api_result<domain::command> plan_delete_key(request_context const& context) {
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    command.action = domain::deactivate_key{.id = context.id};
    return command;
}

void answer_key(settings const&, domain::outcome const& outcome, http::response& response) {
    append_key(response.body, std::get<model::key>(outcome.record), outcome.time, {},
               outcome.last_used_at);
    show_written(response);
}

void answer_key_deactivated(settings const&, domain::outcome const& outcome,
                            http::response& response) {
    append_deactivated_key(response.body, outcome);
    show_written(response);
}

void answer_key_made(settings const& settings, domain::outcome const& outcome, std::string_view key,
                     http::response& response) {
    auto const& record = std::get<model::key>(outcome.record);
    response.secret = !key.empty();
    response.body.reserve(secret_answer_bytes);  // a string that grows leaves a copy behind
    append_key(response.body, record, outcome.time, key);
    show_written(response);
    response.status = 201;
    response.add("Location", settings.base_url, keys_path, "/", record.id);
}

}  // namespace latchkey::api
