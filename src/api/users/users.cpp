// A read works on the snapshot and appends to the response; a write only plans: it turns the body
// into a command, which the store carries out later, and a second function renders the outcome. PUT
// and PATCH share one plan and differ in which members are required.
#include "api/frame/checks/precondition.hpp"
#include "api/frame/resource.hpp"
#include "api/posts/post_json.hpp"
#include "api/posts/posts.hpp"
#include "api/users/user_body.hpp"
#include "api/users/user_routes.hpp"
#include "domain/users/user_lists.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::string_view users_path = "/api/v1/users";
constexpr std::string_view posts_of_user_path = "/api/v1/users/{id}/posts";

api_result<domain::command> plan_change_user(request_context const& context, bool whole) {
    auto const object = read_object(context.request);
    if (!object) return object.error();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    domain::change_user change;
    members body(*object, command.faults);
    auto fields = take_user(body, whole);
    change.id = context.id;
    change.name = std::move(fields.name);
    change.email = std::move(fields.email);
    change.expected.id = body.sent_back_id("id");
    change.expected.created_at = body.sent_back_time("created_at");
    change.expected.updated_at = body.sent_back_time("updated_at");
    body.refuse_rest();
    command.action = std::move(change);
    return command;
}

}  // namespace

std::optional<api_error> list_users(request_context const& context,
                                    domain::snapshot const& snapshot, http::response& response) {
    listing list(context, users_path);
    if (auto error = list.take()) return error;
    auto const email = context.query.take("email");
    if (email) {
        list.show("email", *email);
        list.bind("email", 1);  // one page only, so no cursor depends on the address
    }
    auto const search = list.take_search();
    if (auto error = list.open()) return error;
    list.begin(response);
    domain::list_result listed;
    auto const each = [&](model::user_view const& user) {
        append_user(list.element(response.body), user);
    };
    if (email) {
        // Addresses are unique: the list has one user or none.
        auto const id = snapshot.user_with_email(*email);
        auto const user = id ? snapshot.user(*id) : std::nullopt;
        bool const is_listed =
            user && (!search || domain::has_text(*user, base::search_text(*search)));
        listed.total = is_listed ? 1 : 0;
        if (is_listed && list.is_first()) each(*user);
    } else if (search) {
        listed = users_with_text(snapshot, *search, list.range(response), each);
    } else {
        listed = snapshot.users(list.range(response), each);
    }
    return list.end(listed, response);
}

// Posts of a user need the scope of posts.
std::optional<model::scope> scope_of_posts(std::string_view) {
    return model::scope::posts_read;
}
std::optional<model::scope> scope_of_include(std::string_view raw_query) {
    http::query_cursor cursor(raw_query);
    while (auto const parameter = cursor.next())
        if (http::percent_decode(parameter->name, true) == "include")
            return model::scope::posts_read;
    return std::nullopt;
}

std::optional<api_error> get_user(request_context const& context, domain::snapshot const& snapshot,
                                  http::response& response) {
    auto const include = context.query.take("include");
    if (include && *include != "posts")
        context.query.refuse("include", field_code::not_in_enum, "must be posts");
    if (auto error = context.query.refuse_rest()) return error;
    auto const user = snapshot.user(context.id);
    if (!user) return no_such("user");
    append_user(response.body, *user);
    show_resource(response);
    if (!include) {
        add_tag(response, model::tag_of(*user));
        return std::nullopt;
    }
    response.body.pop_back();
    response.body.append(",\"posts\":[");
    listing list(context, posts_of_user_path, base::limits::page_limit_max);
    if (auto error = list.open()) return error;
    auto const listed = snapshot.posts(
        {.user_id = context.id, .status = std::nullopt}, list.range(response),
        [&](model::post_view const& post) { append_post(list.element(response.body), post); });
    response.body.append("],\"posts_pagination\":");
    list.append_pagination(listed, response.body);
    response.body.push_back('}');
    response.is_partial = list.is_partial(listed);
    return std::nullopt;
}

std::optional<api_error> list_posts_of_user(request_context const& context,
                                            domain::snapshot const& snapshot,
                                            http::response& response) {
    listing list(context, posts_of_user_path);
    if (auto error = list.take()) return error;
    if (auto error = list.open()) return error;
    if (!snapshot.user(context.id)) return no_such("user");
    return answer_posts(list, snapshot, {.user_id = context.id, .status = std::nullopt}, response);
}

api_result<domain::command> plan_create_user(request_context const& context) {
    auto const object = read_object(context.request);
    if (!object) return object.error();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    members body(*object, command.faults);
    auto fields = take_user(body, true);
    for (auto const* const name : {"id", "created_at", "updated_at"}) body.refuse_read_only(name);
    body.refuse_rest();
    command.action = domain::create_user{std::move(fields.name).value_or(""),
                                         std::move(fields.email).value_or("")};
    return command;
}

api_result<domain::command> plan_replace_user(request_context const& context) {
    return plan_change_user(context, true);
}
api_result<domain::command> plan_patch_user(request_context const& context) {
    return plan_change_user(context, false);
}

api_result<domain::command> plan_delete_user(request_context const& context) {
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    command.action = domain::delete_user{context.id};
    return command;
}

void answer_user(settings const&, domain::outcome const& outcome, http::response& response) {
    append_user(response.body, model::view_of(std::get<model::user>(outcome.record)));
    show_written(response);
}

void answer_user_created(settings const& settings, domain::outcome const& outcome,
                         http::response& response) {
    answer_user(settings, outcome, response);
    response.status = 201;
    response.add("Location", settings.base_url, users_path, "/",
                 std::get<model::user>(outcome.record).id);
}

}  // namespace latchkey::api
