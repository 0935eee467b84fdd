#include "api/users/user_json.hpp"

#include "api/frame/json/record_text.hpp"

namespace latchkey::api {
namespace {

// An upper bound of a user's members beside its texts.
constexpr std::size_t rest_bytes_max = 256;
constexpr std::size_t short_texts_bytes_max = 256;

void put_user(base::text_writer& out, model::user_view const& user) {
    out.put("{\"id\":").number(user.id).put(",\"name\":");
    append_text(out, user.name, user.plain);
    out.put(",\"email\":");
    append_text(out, user.email, user.plain);
    out.put(",\"created_at\":");
    append_timestamp(out, user.created_at);
    out.put(",\"updated_at\":");
    append_timestamp(out, user.updated_at);
    out.put('}');
}

}  // namespace

void append_user(std::string& output, model::user_view const& user) {
    bool const plain = user.plain && !model::has_hidden_point(user.name);
    auto const texts = plain ? user.name.size() + user.email.size()
                             : string_bytes_max(user.name) + string_bytes_max(user.email);
    if (texts <= short_texts_bytes_max) {
        base::stack_writer<rest_bytes_max + short_texts_bytes_max> out(output);
        put_user(out, user);
    } else {
        base::string_writer out(output, rest_bytes_max + texts);
        put_user(out, user);
    }
}

bool append_changed_user(std::string& output, domain::change_view const& change) {
    auto const user = model::decode_user(change.subject, change.record);
    if (user) append_user(output, *user);
    return user.has_value();
}

}  // namespace latchkey::api
