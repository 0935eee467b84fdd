#include "api/handlers.hpp"
#include "api/precondition.hpp"
#include "api/resource.hpp"
#include "api/resource_body.hpp"

namespace latchkey::api {
namespace {

using base::field_code;

constexpr std::string_view posts_path = "/api/v1/posts";

or_trouble<store::command> plan_change_post(call const& of, bool whole) {
    auto const object = read_object(of.request);
    if (!object) return object.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    store::change_post change;
    members from(*object, command.faults);
    auto made = take_post(from, whole, whole);
    change.id = of.id;
    change.title = std::move(made.title);
    change.body = std::move(made.body);
    change.status = made.status;
    change.expected.id = from.sent_back_id("id");
    if (whole && object->if_contains("user_id") == nullptr)
        from.fault("user_id", field_code::required, "is required");
    change.expected.user_id = from.sent_back_id("user_id");
    change.expected.created_at = from.sent_back_time("created_at");
    change.expected.updated_at = from.sent_back_time("updated_at");
    change.expected.published_at = from.sent_back_time("published_at");
    from.refuse_rest();
    command.what = std::move(change);
    return command;
}

// `author` and `user_id` mean the same; two different values contradict each other.
struct author {
    std::optional<model::id> id;
    std::string_view name, text;  // as the client wrote it, for links
};
or_trouble<author> take_author(api::query& query) {
    author found;
    for (auto const* const name : {"author", "user_id"}) {
        auto const text = query.take(name);
        if (!text) continue;
        auto const id = parse_id(*text);
        if (!id) return bad_parameter(name, field_code::invalid_format, "must be the id of a user");
        if (found.id && *found.id != *id)
            return trouble{base::problem::conflicting_parameters,
                           "author and user_id name different users",
                           {}};
        if (!found.id) found = {id, name, *text};
    }
    return found;
}

}  // namespace

std::optional<trouble> list_posts(call const& of, store::snapshot const& seen,
                                  http::response& answer) {
    listing list(of, posts_path);
    if (auto wrong = list.take()) return wrong;
    auto const author = take_author(of.query);
    if (!author) return author.error();
    store::post_filter which{.user_id = author->id, .status = std::nullopt};
    if (author->id) {
        list.show(author->name, author->text);
        list.bind("user_id", *author->id);
    }
    if (auto const name = of.query.take("status")) {
        which.status = model::find_post_status(*name);
        if (!which.status)
            return bad_parameter("status", field_code::not_in_enum,
                                 "must be draft, published or archived");
        list.select("status", *name);
    }
    if (auto wrong = list.open()) return wrong;
    answer_posts(list, seen, which, answer);
    return std::nullopt;
}

std::optional<trouble> get_post(call const& of, store::snapshot const& seen,
                                http::response& answer) {
    if (auto wrong = of.query.refuse_rest()) return wrong;
    auto const post = seen.post(of.id);
    if (!post) return no_such("post");
    append_post(answer.body, *post);
    show_resource(answer);
    add_tag(answer, model::tag_of(*post));
    return std::nullopt;
}

or_trouble<store::command> plan_create_post(call const& of) {
    auto const object = read_object(of.request);
    if (!object) return object.error();
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    store::create_post create;
    members from(*object, command.faults);
    auto made = take_post(from, true, false);
    create.user_id = from.id("user_id", true);
    create.title = std::move(made.title).value_or("");
    create.body = std::move(made.body).value_or("");
    create.status = made.status.value_or(model::post_status::draft);
    for (auto const* const name : {"id", "created_at", "updated_at", "published_at"})
        from.refuse_read_only(name);
    from.refuse_rest();
    command.what = std::move(create);
    return command;
}

or_trouble<store::command> plan_replace_post(call const& of) {
    return plan_change_post(of, true);
}
or_trouble<store::command> plan_patch_post(call const& of) {
    return plan_change_post(of, false);
}

or_trouble<store::command> plan_delete_post(call const& of) {
    if (auto wrong = of.query.refuse_rest()) return *wrong;
    store::command command;
    command.what = store::delete_post{of.id};
    return command;
}

void answer_post(settings const&, store::outcome const& outcome, http::response& answer) {
    append_post(answer.body, model::view_of(std::get<model::post>(outcome.record)));
    show_written(answer);
}

void answer_post_created(settings const& rules, store::outcome const& outcome,
                         http::response& answer) {
    answer_post(rules, outcome, answer);
    answer.status = 201;
    answer.add("Location", rules.base_url, posts_path, "/",
               std::get<model::post>(outcome.record).id);
}

}  // namespace latchkey::api
