#include "api/handlers.hpp"
#include "api/precondition.hpp"
#include "api/resource.hpp"
#include "api/resource_body.hpp"
#include "http/target.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::string_view users_path = "/api/v1/users";

or_trouble<store::command> plan_change_user(call const& of, bool whole) {
    auto const object = read_object(of.request);
    if (!object) return object.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    store::change_user change;
    members body(*object, command.faults);
    auto made = take_user(body, whole);
    change.id = of.id;
    change.name = std::move(made.name);
    change.email = std::move(made.email);
    change.expected.id = body.sent_back_id("id");
    change.expected.created_at = body.sent_back_time("created_at");
    change.expected.updated_at = body.sent_back_time("updated_at");
    body.refuse_rest();
    command.what = std::move(change);
    return command;
}

}  // namespace

std::optional<trouble> list_users(call const& of, store::snapshot const& seen,
                                  http::response& answer) {
    listing list(of, users_path);
    if (auto wrong = list.take()) return wrong;
    auto const email = of.query.take("email");
    if (email) {
        list.show("email", *email);
        list.bind("email", 1);  // there is no second page, so no cursor to be good for one address
    }
    if (auto wrong = list.open()) return wrong;
    list.begin(answer);
    store::listed listed;
    if (email) {
        // The address is unique: the list is that one user, or empty.
        auto const id = seen.user_with_email(*email);
        auto const user = id ? seen.user(*id) : std::nullopt;
        listed.total = user ? 1 : 0;
        if (user && list.is_first()) append_user(list.element(answer.body), *user);
    } else {
        listed = seen.users(list.range(), [&](model::user_view const& user) {
            append_user(list.element(answer.body), user);
        });
    }
    list.end(listed, answer);
    return std::nullopt;
}

// Posts inside a user, or of one, are posts.
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

std::optional<trouble> get_user(call const& of, store::snapshot const& seen,
                                http::response& answer) {
    auto const include = of.query.take("include");
    if (auto wrong = of.query.refuse_rest()) return wrong;
    if (include && *include != "posts")
        return bad_parameter("include", field_code::not_in_enum, "must be posts");
    auto const user = seen.user(of.id);
    if (!user) return no_such("user");
    append_user(answer.body, *user);
    show_resource(answer);
    if (!include) return add_tag(answer, model::tag_of(*user)), std::nullopt;
    answer.body.pop_back();
    answer.body.append(",\"posts\":[");
    listing list(of, posts_of_user_path, base::limits::page_limit_max);
    if (auto wrong = list.open()) return wrong;
    auto const listed = seen.posts(
        {.user_id = of.id, .status = std::nullopt}, list.range(),
        [&](model::post_view const& post) { append_post(list.element(answer.body), post); });
    answer.body.append("],\"posts_pagination\":");
    list.append_pagination(listed, answer.body);
    answer.body.push_back('}');
    return std::nullopt;
}

std::optional<trouble> list_posts_of_user(call const& of, store::snapshot const& seen,
                                          http::response& answer) {
    listing list(of, posts_of_user_path);
    if (auto wrong = list.take()) return wrong;
    if (auto wrong = list.open()) return wrong;
    if (!seen.user(of.id)) return no_such("user");
    answer_posts(list, seen, {.user_id = of.id, .status = std::nullopt}, answer);
    return std::nullopt;
}

or_trouble<store::command> plan_create_user(call const& of) {
    auto const object = read_object(of.request);
    if (!object) return object.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    members body(*object, command.faults);
    auto made = take_user(body, true);
    for (auto const* const name : {"id", "created_at", "updated_at"}) body.refuse_read_only(name);
    body.refuse_rest();
    command.what =
        store::create_user{std::move(made.name).value_or(""), std::move(made.email).value_or("")};
    return command;
}

or_trouble<store::command> plan_replace_user(call const& of) {
    return plan_change_user(of, true);
}
or_trouble<store::command> plan_patch_user(call const& of) {
    return plan_change_user(of, false);
}

or_trouble<store::command> plan_delete_user(call const& of) {
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    command.what = store::delete_user{of.id};
    return command;
}

void answer_user(settings const&, store::outcome const& outcome, http::response& answer) {
    append_user(answer.body, model::view_of(std::get<model::user>(outcome.record)));
    show_written(answer);
}

void answer_user_created(settings const& rules, store::outcome const& outcome,
                         http::response& answer) {
    answer_user(rules, outcome, answer);
    answer.status = 201;
    answer.add("Location", rules.base_url, users_path, "/",
               std::get<model::user>(outcome.record).id);
}

}  // namespace latchkey::api
