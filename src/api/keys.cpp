// Keys as a resource: lists, one of them, making and changing (API §4). Who may do what to which
// key is decided by the store, inside the transaction; reads are judged here.
#include "api/handlers.hpp"
#include "api/json_writer.hpp"
#include "api/key_body.hpp"
#include "api/key_json.hpp"
#include "api/precondition.hpp"
#include "api/resource.hpp"

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

// The query's filters into `to` and into the list. The project is bound when it is known whose
// keys the caller sees.
std::optional<trouble> take_filters(call const& of, store::key_filter& to, listing& list) {
    using model::key_state;
    auto const take = [&](std::string_view name) {
        auto const value = of.query.take(name);
        if (value) list.show(name, *value);
        return value;
    };
    to.project = take("project");
    if (to.project && !model::is_project(*to.project))
        return bad_parameter("project", field_code::invalid_format,
                             "must be 1 to 64 of a-z, 0-9 and -");
    if (auto const name = take("state")) {
        to.state = find_by_name(*name, {key_state::scheduled, key_state::active, key_state::expired,
                                        key_state::deactivated});
        if (!to.state)
            return bad_parameter("state", field_code::not_in_enum,
                                 "must be scheduled, active, expired or deactivated");
    }
    if (auto const name = take("environment")) {
        to.environment = model::find_environment(*name);
        if (!to.environment)
            return bad_parameter("environment", field_code::not_in_enum,
                                 "must be development, staging or production");
    }
    to.start = take("start");
    if (to.start && to.start->size() != key_start_bytes)
        return bad_parameter("start", field_code::invalid_format,
                             "must be the first 8 characters of a key");
    if (auto const text = take("unused_since")) {
        to.unused_since = base::parse_timestamp(*text);
        if (!to.unused_since)
            return bad_parameter("unused_since", field_code::invalid_format,
                                 "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
        list.bind("unused_since", *to.unused_since);
    }
    if (to.state) list.bind("state", model::name_of(*to.state));
    if (to.environment) list.bind("environment", model::name_of(*to.environment));
    if (to.start) list.bind("start", *to.start);
    to.now = of.now.wall;
    return std::nullopt;
}

base::wall_ms last_use(call const& of, store::snapshot const& seen, model::id key) {
    return std::max(of.last_use(key), seen.last_use(key));
}

}  // namespace

bool sees_project(call const& of, std::string_view project) {
    auto const& caller = of.who.record();
    return caller.scopes.has(model::scope::any) || caller.project == project;
}

std::optional<trouble> list_keys(call const& of, store::snapshot const& seen,
                                 http::response& answer) {
    listing list(of, keys_path);
    if (auto wrong = list.take()) return wrong;
    store::key_filter wanted;
    if (auto wrong = take_filters(of, wanted, list)) return wrong;
    // Whoever does not see other projects lists his own, and nothing when he asks for another.
    auto const& caller = of.who.record();
    bool const visible = !wanted.project || sees_project(of, *wanted.project);
    if (!wanted.project && !caller.scopes.has(model::scope::any)) wanted.project = caller.project;
    if (wanted.project) list.bind("project", *wanted.project);
    if (auto wrong = list.open()) return wrong;
    list.begin(answer);
    store::listed listed;
    auto const each = [&](model::key const& key, base::wall_ms used) {
        append_key(list.element(answer.body), key, of.now.wall, {},
                   std::max(used, of.last_use(key.id)));
    };
    if (visible) listed = seen.keys(wanted, list.range(), each);
    list.end(listed, answer);
    return std::nullopt;
}

std::optional<trouble> get_key(call const& of, store::snapshot const& seen,
                               http::response& answer) {
    if (auto wrong = of.query.refuse_rest()) return wrong;
    auto const key = seen.key(of.id);
    if (!key || !sees_project(of, key->project)) return no_such("key");
    append_key(answer.body, *key, of.now.wall, {}, last_use(of, seen, key->id));
    show_resource(answer);
    add_tag(answer, model::tag_of(*key, of.now.wall));
    return std::nullopt;
}

std::optional<trouble> get_current_key(call const& of, store::snapshot const& seen,
                                       http::response& answer) {
    if (auto wrong = of.query.refuse_rest()) return wrong;
    auto const& key = of.who.record();
    live_limits const live{of.who.limits(), of.quota};
    append_key(answer.body, key, of.now.wall, {}, last_use(of, seen, key.id), &live);
    show_resource(answer);
    return std::nullopt;
}

or_trouble<store::command> plan_create_key(call const& of) {
    auto const& caller = of.who.record();
    store::command command;
    key_defaults from{.ttl_seconds = of.rules.key_ttl_seconds, .now = of.now.wall};
    for (auto const scope : {model::scope::users_read, model::scope::posts_read})
        if (of.who.may(scope)) from.scopes.add(scope);
    if (!caller.scopes.has(model::scope::any)) from.project = caller.project;
    auto made = read_new_key(of.request, from, command.faults);
    if (!made) return made.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    auto const key = of.make_key();
    made->record.digest = auth::digest_of(key);
    made->record.start = key.substr(0, key_start_bytes);
    made->record.last4 = key.substr(key.size() - 4);
    command.what = std::move(*made);
    return command;
}

or_trouble<store::command> plan_patch_key(call const& of) {
    store::command command;
    auto change = read_key_change(of.request, command.faults);
    if (!change) return change.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    change->id = of.id;
    command.what = std::move(*change);
    return command;
}

or_trouble<store::command> plan_delete_key(call const& of) {
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    command.what = store::deactivate_key{.id = of.id};
    return command;
}

void answer_key(settings const&, store::outcome const& outcome, http::response& answer) {
    append_key(answer.body, std::get<model::key>(outcome.record), outcome.at, {},
               outcome.last_used_at);
    show_written(answer);
}

void answer_key_made(settings const& rules, store::outcome const& outcome, std::string_view key,
                     http::response& answer) {
    auto const& record = std::get<model::key>(outcome.record);
    answer.secret = !key.empty();
    answer.body.reserve(secret_answer_bytes);  // growing would leave a copy behind
    append_key(answer.body, record, outcome.at, key);
    show_written(answer);
    answer.status = 201;
    answer.add("Location", rules.base_url, keys_path, "/", record.id);
}

}  // namespace latchkey::api
