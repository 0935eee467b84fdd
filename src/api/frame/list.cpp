// The query is read in two steps: `take` reads what all lists have, `open` refuses what no one took
// and checks the cursor, whose MAC covers the path, the filters and the sort. `end` writes the
// numbers only where they are known and cheap; links go by page as far as pages reach, then by
// cursor.
#include "api/frame/list.hpp"

#include <charconv>

#include "api/frame/checks/precondition.hpp"
#include "api/frame/json/json_writer.hpp"
#include "base/check.hpp"
#include "base/time_units.hpp"
#include "wire/http/target.hpp"

namespace latchkey::api {
namespace {

using base::field_code;
namespace limits = base::limits;

// The cost, in ns (store/read_work.hpp), that passing over the pages before one may have:
// that of 100,000 small records.
constexpr std::int64_t skip_cost_max = 4'200 * base::microsecond;

// 1 and above; a number that does not fit counts as the largest.
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

// The number that `text` is; 1 where it is none, which the query notes.
std::uint64_t take_positive(query& query, std::string_view name, std::string_view text) {
    auto const value = positive(text);
    if (!value) query.refuse(name, field_code::invalid_format, "must be a whole number from 1");
    return value.value_or(1);
}

}  // namespace

listing::listing(request_context const& context, std::string_view pattern, std::uint32_t limit)
    : context_(context), pattern_(pattern), limit_(limit), name_(pattern) {
    name_.add("id", pattern.find("{id}") == pattern.npos ? 0 : context.id);
}

std::optional<api_error> listing::take() {
    auto& query = context_.query;
    auto const page = query.take("page"), cursor = query.take("cursor");
    if (page && cursor)
        return make_error(base::problem::conflicting_parameters,
                          "`page` and `cursor` exclude each other.");
    if (auto const text = query.take("limit")) {
        auto const value = take_positive(query, "limit", *text);
        limit_ = static_cast<std::uint32_t>(std::min(value, limits::page_limit_max));
    }
    if (page) {
        number_ = take_positive(query, "page", *page);
        if (number_ > limits::page_reach_max / limit_)
            query.refuse("page", field_code::out_of_range,
                         "times `limit` must be at most 100000; use `cursor` to go further");
    }
    if (auto const text = query.take("sort")) {
        if (*text != "id" && *text != "-id")
            query.refuse("sort", field_code::not_in_enum, "must be id or -id");
        descending_ = *text == "-id";
    }
    if (cursor) {
        cursor_ = *cursor;
        number_ = 0;
    }
    return std::nullopt;
}

std::optional<std::string_view> listing::take_search() {
    auto const text = context_.query.take("search");
    if (!text) return std::nullopt;
    if (text->empty() || text->size() > limits::search_bytes_max)
        context_.query.refuse("search",
                              text->empty() ? field_code::too_short : field_code::too_long,
                              "must have 1 to 100 bytes");
    select("search", *text);
    return text;
}

void listing::show(std::string_view name, std::string_view value) {
    // Handlers show each of their filters once, six at most, whatever a query repeats.
    base::check(filter_count_ < filters_.size(), "more filters than a list can have");
    filters_[filter_count_++] = {name, value};
}

std::optional<api_error> listing::open() {
    if (auto error = context_.query.refuse_rest()) return error;
    name_.add("sort", descending_ ? "-id" : "id");
    if (!by_cursor()) return std::nullopt;
    auto const last = read_cursor(context_.cursor_mac(), name_, cursor_);
    if (!last)
        return make_error(base::problem::invalid_cursor,
                          "The cursor is not of this list, with these filters and this order.",
                          {base::fault::location_kind::parameter, "cursor",
                           field_code::invalid_format, "is not valid for this list"});
    cursor_id_ = *last;
    return std::nullopt;
}

domain::range listing::range(http::response const& response) const {
    return {.skip = by_cursor() ? 0 : (number_ - 1) * limit_,
            .after_id = cursor_id_,
            .limit = limit_,
            .descending = descending_,
            .output = &response.body,
            .output_bytes_max = context_.page_bytes_max(),
            .cost_max = limits::page_cost_max,
            .skip_cost_max = skip_cost_max};
}

bool listing::is_partial(domain::list_result const& page) const {
    return page.is_cut && context_.page_bytes_max() < limits::page_bytes_max;
}

void listing::begin(http::response& response) {
    response.body.append("{\"data\":[");
}

std::string& listing::element(std::string& output) {
    if (std::exchange(any_element_, true)) output.push_back(',');
    return output;
}

std::optional<api_error> listing::end(domain::list_result const& page, http::response& response) {
    if (page.is_out_of_reach)
        return bad_parameter("page", field_code::out_of_range,
                             "leads past more records than one request reads; use `cursor` to go "
                             "further");
    response.body.append("],\"pagination\":");
    append_pagination(page, response.body);
    response.body.push_back('}');
    response.content_type = http::content::json;
    response.add("Cache-Control", "private, no-cache");
    response.is_partial = is_partial(page);
    if (!response.is_partial) add_weak_tag(response);
    add_links(page, response);
    return std::nullopt;
}

void listing::append_pagination(domain::list_result const& page, std::string& output) {
    auto const member = [&](std::string_view name, std::uint64_t number) {
        output.append(name);
        by_cursor() ? append_raw(output, "null") : append_number(output, number);
    };
    member("{\"page\":", number_);
    output.append(",\"limit\":");
    append_number(output, limit_);
    output.append(",\"total\":");
    page.is_counted ? append_number(output, page.total) : append_raw(output, "null");
    if (page.is_counted)
        member(",\"total_pages\":", page_count(page.total, limit_));
    else
        output.append(",\"total_pages\":null");
    output.append(page.has_more ? ",\"has_more\":true" : ",\"has_more\":false");
    output.append(",\"next_cursor\":");
    if (page.has_more)
        append_plain_string(output, next_cursor(page));
    else
        output.append("null");
    output.push_back('}');
}

std::string_view listing::next_cursor(domain::list_result const& page) {
    if (!next_) next_ = make_cursor(context_.cursor_mac(), name_, page.last);
    return text_of(*next_);
}

void listing::add_links(domain::list_result const& page, http::response& response) {
    auto const last = std::max<std::uint64_t>(page_count(page.total, limit_), 1);
    auto const reach = limits::page_reach_max / limit_;
    add_link(response, "first", "page", 1);
    if (!by_cursor() && number_ > 1)
        add_link(response, "prev", "page",
                 page.is_counted ? std::min(number_ - 1, last) : number_ - 1);
    // The next number counts whole pages.
    if (page.has_more && !page.is_cut && !by_cursor() && number_ < reach)
        add_link(response, "next", "page", number_ + 1);
    else if (page.has_more && !response.is_partial)  // also past the last page that has a number
        add_link(response, "next", "cursor", next_cursor(page));
    if (!by_cursor() && page.is_counted && last <= reach) add_link(response, "last", "page", last);
}

template <class Value>
void listing::add_link(http::response& response, std::string_view relation,
                       std::string_view parameter, Value const& value) {
    if (!std::exchange(any_link_, true))
        response.add("Link", "<");
    else
        response.extend(", <");
    auto const variable = pattern_.find("{id}");
    response.extend(context_.settings.base_url, pattern_.substr(0, variable));
    if (variable != pattern_.npos) response.extend(context_.id, pattern_.substr(variable + 4));
    response.extend("?", parameter, "=", value, "&limit=", limit_);
    if (descending_) response.extend("&sort=-id");
    for (std::size_t i = 0; i < filter_count_; ++i)
        response.extend("&", filters_[i].name, "=", http::percent_encode(filters_[i].value));
    response.extend(">; rel=\"", relation, "\"");
}

}  // namespace latchkey::api
