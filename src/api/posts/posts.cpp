// A read works on the snapshot and appends to the response; a write only plans: it turns the body
// into a command, which the store carries out later, and a second function renders the outcome.
// Filters of the list are bound into its cursors, so that none continues another list.
#include "api/posts/posts.hpp"

#include "api/frame/checks/precondition.hpp"
#include "api/frame/resource.hpp"
#include "api/posts/post_body.hpp"
#include "api/posts/post_routes.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::string_view posts_path = "/api/v1/posts";

api_result<domain::command> plan_change_post(request_context const& context, bool whole) {
    auto const object = read_object(context.request);
    if (!object) return object.error();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    domain::change_post change;
    members body(*object, command.faults);
    auto fields = take_post(body, whole, whole);
    change.id = context.id;
    change.title = std::move(fields.title);
    change.body = std::move(fields.body);
    change.status = fields.status;
    change.expected.id = body.sent_back_id("id");
    if (whole && object->if_contains("user_id") == nullptr)
        body.fault("user_id", field_code::required, "is required");
    change.expected.user_id = body.sent_back_id("user_id");
    change.expected.created_at = body.sent_back_time("created_at");
    change.expected.updated_at = body.sent_back_time("updated_at");
    change.expected.published_at = body.sent_back_time("published_at");
    body.refuse_rest();
    command.action = std::move(change);
    return command;
}

// `author` and `user_id` mean the same; different values conflict.
struct author {
    std::optional<model::id> id;
    std::string_view name, text;  // the client's, for links
};
api_result<author> take_author(api::query& query) {
    author result;
    for (auto const* const name : {"author", "user_id"}) {
        auto const text = query.take(name);
        if (!text) continue;
        auto const id = parse_id(*text);
        if (!id) {
            query.refuse(name, field_code::invalid_format, "must be the id of a user");
            continue;
        }
        if (result.id && *result.id != *id)
            return make_error(base::problem::conflicting_parameters,
                              "`author` and `user_id` name different users.");
        if (!result.id) result = {id, name, *text};
    }
    return result;
}

}  // namespace

std::optional<api_error> answer_posts(listing& list, domain::snapshot const& snapshot,
                                      domain::post_filter const& filter, http::response& response) {
    list.begin(response);
    auto const each = [&](model::post_view const& post) {
        append_post(list.element(response.body), post);
    };
    return list.end(snapshot.posts(filter, list.range(response), each), response);
}

std::optional<api_error> list_posts(request_context const& context,
                                    domain::snapshot const& snapshot, http::response& response) {
    listing list(context, posts_path);
    if (auto error = list.take()) return error;
    auto const author = take_author(context.query);
    if (!author) return author.error();
    domain::post_filter filter{.user_id = author->id, .status = std::nullopt};
    if (author->id) {
        list.show(author->name, author->text);
        list.bind("user_id", *author->id);
    }
    if (auto const name = context.query.take("status")) {
        filter.status = model::find_post_status(*name);
        if (!filter.status)
            context.query.refuse("status", field_code::not_in_enum,
                                 "must be draft, published or archived");
        list.select("status", *name);
    }
    if (auto error = list.open()) return error;
    return answer_posts(list, snapshot, filter, response);
}

std::optional<api_error> get_post(request_context const& context, domain::snapshot const& snapshot,
                                  http::response& response) {
    if (auto error = context.query.refuse_rest()) return error;
    auto const post = snapshot.post(context.id);
    if (!post) return no_such("post");
    append_post(response.body, *post);
    show_resource(response);
    add_tag(response, model::tag_of(*post));
    return std::nullopt;
}

api_result<domain::command> plan_create_post(request_context const& context) {
    auto const object = read_object(context.request);
    if (!object) return object.error();
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    domain::create_post create;
    members body(*object, command.faults);
    auto fields = take_post(body, true, false);
    create.user_id = body.id("user_id", true);
    create.title = std::move(fields.title).value_or("");
    create.body = std::move(fields.body).value_or("");
    create.status = fields.status.value_or(model::post_status::draft);
    for (auto const* const name : {"id", "created_at", "updated_at", "published_at"})
        body.refuse_read_only(name);
    body.refuse_rest();
    command.action = std::move(create);
    return command;
}

api_result<domain::command> plan_replace_post(request_context const& context) {
    return plan_change_post(context, true);
}
api_result<domain::command> plan_patch_post(request_context const& context) {
    return plan_change_post(context, false);
}

api_result<domain::command> plan_delete_post(request_context const& context) {
    if (auto error = context.query.refuse_rest()) return *error;
    domain::command command;
    command.action = domain::delete_post{context.id};
    return command;
}

void answer_post(settings const&, domain::outcome const& outcome, http::response& response) {
    append_post(response.body, model::view_of(std::get<model::post>(outcome.record)));
    show_written(response);
}

void answer_post_created(settings const& settings, domain::outcome const& outcome,
                         http::response& response) {
    answer_post(settings, outcome, response);
    response.status = 201;
    response.add("Location", settings.base_url, posts_path, "/",
                 std::get<model::post>(outcome.record).id);
}

}  // namespace latchkey::api
