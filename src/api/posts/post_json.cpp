#include "api/posts/post_json.hpp"

#include "api/frame/json/record_text.hpp"

namespace latchkey::api {
namespace {

// An upper bound of the members before the title, and of those behind the body.
constexpr std::size_t part_bytes_max = 256;

}  // namespace

void append_post(std::string& output, model::post_view const& post) {
    {
        base::stack_writer<part_bytes_max> head(output);
        head.put("{\"id\":").number(post.id).put(",\"user_id\":").number(post.user_id);
        head.put(",\"title\":");
    }
    // Appended to the string: texts may be long, and a writer's bytes are zeroed before they are
    // written.
    append_text(output, post.title, post.plain);
    output.append(",\"body\":");
    append_text(output, post.body, post.plain);
    base::stack_writer<part_bytes_max> rest(output);
    rest.put(",\"status\":\"").put(model::name_of(post.status)).put("\",\"published_at\":");
    append_timestamp_or_null(rest, post.published_at);
    rest.put(",\"created_at\":");
    append_timestamp(rest, post.created_at);
    rest.put(",\"updated_at\":");
    append_timestamp(rest, post.updated_at);
    rest.put('}');
}

bool append_changed_post(std::string& output, domain::change_view const& change) {
    auto const post = model::decode_post(change.subject, change.record);
    if (post) append_post(output, *post);
    return post.has_value();
}

}  // namespace latchkey::api
