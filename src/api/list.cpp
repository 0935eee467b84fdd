#include "api/list.hpp"

#include <charconv>

#include "api/json_writer.hpp"
#include "api/precondition.hpp"
#include "base/check.hpp"
#include "http/target.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
namespace limits = base::limits;

// 1 and above; what does not fit is the largest there is.
std::optional<std::uint64_t> positive(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
    std::uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
        value = UINT64_MAX;
    if (value == 0) return std::nullopt;
    return value;
}

std::uint64_t page_count(std::uint64_t total, std::uint64_t limit) {
    return (total + limit - 1) / limit;
}

trouble not_a_number(std::string_view name) {
    return bad_parameter(name, field_code::invalid_format, "must be a whole number from 1");
}

}  // namespace

listing::listing(call const& of, std::string_view pattern, std::uint32_t limit)
    : of_(of), pattern_(pattern), limit_(limit), name_(pattern) {
    name_.add("id", pattern.find("{id}") == pattern.npos ? 0 : of.id);
}

std::optional<trouble> listing::take() {
    auto& query = of_.query;
    auto const page = query.take("page"), cursor = query.take("cursor");
    if (page && cursor)
        return trouble{
            base::problem::conflicting_parameters, "page and cursor exclude each other", {}, {}};
    if (auto const text = query.take("limit")) {
        auto const value = positive(*text);
        if (!value) return not_a_number("limit");
        limit_ = static_cast<std::uint32_t>(std::min(*value, limits::page_limit_max));
    }
    if (page) {
        auto const value = positive(*page);
        if (!value) return not_a_number("page");
        if (*value > limits::page_reach_max / limit_)
            return bad_parameter("page", field_code::out_of_range,
                                 "page times limit reaches to 100000; use cursor to go further");
        number_ = *value;
    }
    if (auto const text = query.take("sort")) {
        if (*text != "id" && *text != "-id")
            return bad_parameter("sort", field_code::not_in_enum, "must be id or -id");
        descending_ = *text == "-id";
    }
    if (cursor) cursor_ = *cursor, number_ = 0;
    return std::nullopt;
}

void listing::show(std::string_view name, std::string_view value) {
    base::check(filter_count_ < filters_.size(), "more filters than a list has");
    filters_[filter_count_++] = {name, value};
}

std::optional<trouble> listing::open() {
    if (auto wrong = of_.query.refuse_rest()) return wrong;
    name_.add("sort", descending_ ? "-id" : "id");
    if (!by_cursor()) return std::nullopt;
    auto const last = read_cursor(of_.cursor_seal(), name_, cursor_);
    if (!last)
        return trouble{base::problem::invalid_cursor,
                       "the cursor is not one of this list, with these filters and this sort",
                       {{base::fault::place::parameter, "cursor", field_code::invalid_format,
                         "is not valid for this list"}},
                       {}};
    after_ = *last;
    return std::nullopt;
}

store::range listing::range() const {
    return {.skip = by_cursor() ? 0 : (number_ - 1) * limit_,
            .after = after_,
            .limit = limit_,
            .descending = descending_};
}

void listing::begin(http::response& answer) {
    answer.body.append("{\"data\":[");
}

std::string& listing::element(std::string& to) {
    if (std::exchange(any_element_, true)) to.push_back(',');
    return to;
}

void listing::end(store::listed const& seen, http::response& answer) {
    answer.body.append("],\"pagination\":");
    append_pagination(seen, answer.body);
    answer.body.push_back('}');
    answer.content_type = http::content::json;
    answer.add("Cache-Control", "private, no-cache");
    add_weak_tag(answer);
    add_links(seen, answer);
}

void listing::append_pagination(store::listed const& seen, std::string& to) {
    auto const member = [&](std::string_view name, std::uint64_t number) {
        to.append(name);
        by_cursor() ? void(to.append("null")) : append_number(to, number);
    };
    member("{\"page\":", number_);
    to.append(",\"limit\":");
    append_number(to, limit_);
    to.append(",\"total\":");
    append_number(to, seen.total);
    member(",\"total_pages\":", page_count(seen.total, limit_));
    to.append(seen.has_more ? ",\"has_more\":true" : ",\"has_more\":false");
    to.append(",\"next_cursor\":");
    if (seen.has_more)
        append_plain_string(to, next_cursor(seen));
    else
        to.append("null");
    to.push_back('}');
}

std::string_view listing::next_cursor(store::listed const& seen) {
    if (!next_) next_ = make_cursor(of_.cursor_seal(), name_, seen.last);
    return text_of(*next_);
}

void listing::add_links(store::listed const& seen, http::response& answer) {
    auto const last = std::max<std::uint64_t>(page_count(seen.total, limit_), 1);
    auto const reach = limits::page_reach_max / limit_;
    add_link(answer, "first", "page", 1);
    if (!by_cursor() && number_ > 1) add_link(answer, "prev", "page", std::min(number_ - 1, last));
    if (seen.has_more && !by_cursor() && number_ < reach)
        add_link(answer, "next", "page", number_ + 1);
    else if (seen.has_more)  // further than pages reach, too
        add_link(answer, "next", "cursor", next_cursor(seen));
    if (!by_cursor() && last <= reach) add_link(answer, "last", "page", last);
}

template <class Value>
void listing::add_link(http::response& answer, std::string_view relation,
                       std::string_view parameter, Value const& value) {
    if (!std::exchange(any_link_, true))
        answer.add("Link", "<");
    else
        answer.extend(", <");
    auto const variable = pattern_.find("{id}");
    answer.extend(of_.rules.base_url, pattern_.substr(0, variable));
    if (variable != pattern_.npos) answer.extend(of_.id, pattern_.substr(variable + 4));
    answer.extend("?", parameter, "=", value, "&limit=", limit_);
    if (descending_) answer.extend("&sort=-id");
    for (std::size_t i = 0; i < filter_count_; ++i)
        answer.extend("&", filters_[i].name, "=", http::percent_encode(filters_[i].value));
    answer.extend(">; rel=\"", relation, "\"");
}

}  // namespace latchkey::api
