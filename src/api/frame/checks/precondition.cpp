#include "api/frame/checks/precondition.hpp"

#include <algorithm>

#include "base/base62.hpp"
#include "base/hash.hpp"

namespace latchkey::api {
namespace {

using http::field_name;

struct entity_tag {
    std::string_view opaque;  // without the quotes
    bool weak = false;
};

// Takes `W/"…"` or `"…"` from the front of `rest`.
std::optional<entity_tag> take_tag(std::string_view& rest) {
    entity_tag tag{.weak = rest.starts_with("W/")};
    auto const text = rest.substr(tag.weak ? 2 : 0);
    auto const end = text.starts_with('"') ? text.find('"', 1) : text.npos;
    if (end == text.npos) return std::nullopt;
    tag.opaque = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    return tag;
}

// Iterates over the tags in all fields of one name, which are one list (RFC 9110 §5.3). Anything
// else is skipped up to the next comma.
class tag_reader {
  public:
    tag_reader(http::request const& request, field_name name)
        : fields_(request.fields()), name_(name) {}

    std::optional<entity_tag> next() {
        for (;;) {
            rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t,"), rest_.size()));
            if (rest_.empty()) {
                if (!next_field()) return std::nullopt;
                continue;
            }
            auto const tag = take_tag(rest_);
            auto const end = std::min(rest_.find_first_not_of(" \t"), rest_.size());
            if (tag && (end == rest_.size() || rest_[end] == ',')) return tag;
            rest_.remove_prefix(std::min(rest_.find(','), rest_.size()));
        }
    }

  private:
    bool next_field() {
        for (; !fields_.empty(); fields_ = fields_.subspan(1))
            if (fields_.front().id == name_) {
                rest_ = fields_.front().value;
                fields_ = fields_.subspan(1);
                return true;
            }
        return false;
    }

    std::span<http::field const> fields_;
    field_name name_;
    std::string_view rest_;
};

bool is_asterisk(http::request const& request, field_name name) {
    return request.find(name) == "*" && request.count(name) == 1;
}

// Whether one of the fields' tags is `tag`. In a strong comparison both must be strong.
bool matches(http::request const& request, field_name name, std::optional<entity_tag> const& tag,
             bool strongly) {
    if (is_asterisk(request, name)) return true;
    if (!tag || (strongly && tag->weak)) return false;
    tag_reader reader(request, name);
    while (auto const each = reader.next())
        if (each->opaque == tag->opaque && !(strongly && each->weak)) return true;
    return false;
}

std::optional<domain::tag_list> take_tags(http::request const& request, field_name name,
                                          bool strongly) {
    if (!request.find(name)) return std::nullopt;
    domain::tag_list list{.any = is_asterisk(request, name), .tags = {}};
    tag_reader reader(request, name);
    while (auto const each = reader.next()) {
        model::entity_tag tag;
        // A tag of another form matches nothing.
        if (each->opaque.size() != tag.size() || (strongly && each->weak)) continue;
        std::ranges::copy(each->opaque, tag.begin());
        list.tags.push_back(tag);
    }
    return list;
}

}  // namespace

void add_tag(http::response& response, model::entity_tag const& tag) {
    response.add("ETag", "\"", model::text_of(tag), "\"");
}

void add_tag(http::response& response, domain::outcome const& outcome) {
    if (auto const* const user = std::get_if<model::user>(&outcome.record))
        add_tag(response, model::tag_of(model::view_of(*user)));
    else if (auto const* const post = std::get_if<model::post>(&outcome.record))
        add_tag(response, model::tag_of(model::view_of(*post)));
    else if (auto const* const key = std::get_if<model::key>(&outcome.record))
        add_tag(response, model::tag_of(*key, outcome.time));
    else if (auto const* const revocation = std::get_if<domain::revocation>(&outcome.record))
        add_tag(response, model::tag_of(revocation->key, outcome.time));
    else if (auto const* const webhook = std::get_if<domain::webhook_outcome>(&outcome.record))
        if (webhook->sequence == 0 && webhook->last == 0)  // the answer is the webhook itself
            add_tag(response, model::tag_of(webhook->entry.webhook, outcome.time));
}

void add_weak_tag(http::response& response) {
    std::array<char, 11> digits;
    base::put_base62_fraction(base::hash(response.body), digits.data(), digits.size());
    response.add("ETag", "W/\"", std::string_view(digits.data(), digits.size()), "\"");
}

std::optional<api_error> check_conditions(http::request const& request, http::response& response) {
    bool const match = request.find(field_name::if_match).has_value();
    bool const none_match = request.find(field_name::if_none_match).has_value();
    if (!match && !none_match) return std::nullopt;
    auto field = response.find("ETag");
    auto const tag = take_tag(field);
    if (match && !matches(request, field_name::if_match, tag, true))
        return make_error(base::problem::precondition_failed);
    if (!none_match || !matches(request, field_name::if_none_match, tag, false))
        return std::nullopt;
    response.status = 304;
    response.content_type = http::content::none;
    response.body.clear();
    return std::nullopt;
}

domain::conditions take_conditions(http::request const& request, bool required) {
    return {.match = take_tags(request, field_name::if_match, true),
            .none_match = take_tags(request, field_name::if_none_match, false),
            .required = required};
}

}  // namespace latchkey::api
