#include "api/list.hpp"

#include <charconv>

#include "api/json_writer.hpp"
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

std::uint64_t page_count(page const& part, std::uint64_t total) {
    return (total + part.limit - 1) / part.limit;
}

}  // namespace

or_trouble<page> take_page(api::query& query) {
    page part;
    if (query.take("cursor") && query.take("page"))
        return trouble{
            base::problem::conflicting_parameters, "page and cursor exclude each other", {}, {}};
    if (query.take("cursor"))
        return trouble{base::problem::invalid_cursor,
                       "the cursor is not one of this list",
                       {{base::fault::place::parameter, "cursor", field_code::invalid_format,
                         "is not valid"}}};
    if (auto const text = query.take("limit")) {
        auto const value = positive(*text);
        if (!value)
            return bad_parameter("limit", field_code::invalid_format,
                                 "must be a whole number from 1");
        part.limit = static_cast<std::uint32_t>(std::min(*value, limits::page_limit_max));
    }
    if (auto const text = query.take("page")) {
        auto const value = positive(*text);
        if (!value)
            return bad_parameter("page", field_code::invalid_format,
                                 "must be a whole number from 1");
        if (*value > limits::page_reach_max / part.limit)
            return bad_parameter("page", field_code::out_of_range,
                                 "page times limit reaches to 100000; use cursor to go further");
        part.number = *value;
    }
    if (auto const text = query.take("sort")) {
        if (*text != "id" && *text != "-id")
            return bad_parameter("sort", field_code::not_in_enum, "must be id or -id");
        part.descending = *text == "-id";
    }
    return part;
}

void begin_list(std::string& to) {
    to.append("{\"data\":[");
}

void end_list(page const& part, store::listed const& seen, http::response& answer) {
    answer.body.append("],\"pagination\":");
    append_pagination(part, seen, answer.body);
    answer.body.push_back('}');
    answer.content_type = http::content::json;
    answer.add("Cache-Control", "private, no-cache");
}

void append_pagination(page const& part, store::listed const& seen, std::string& to) {
    to.append("{\"page\":");
    append_number(to, part.number);
    to.append(",\"limit\":");
    append_number(to, part.limit);
    to.append(",\"total\":");
    append_number(to, seen.total);
    to.append(",\"total_pages\":");
    append_number(to, page_count(part, seen.total));
    to.append(seen.has_more ? ",\"has_more\":true" : ",\"has_more\":false");
    to.append(",\"next_cursor\":null}");
}

void add_links(page const& part, store::listed const& seen, std::string_view path,
               std::vector<filter> const& filters, settings const& rules, http::response& answer) {
    std::string links;
    auto const add = [&](std::string_view relation, std::uint64_t number) {
        links.append(links.empty() ? "<" : ", <")
            .append(rules.base_url)
            .append(path)
            .append("?page=");
        append_number(links, number);
        links.append("&limit=");
        append_number(links, part.limit);
        if (part.descending) links.append("&sort=-id");
        for (auto const& [name, value] : filters)
            links.append("&").append(name).append("=").append(http::percent_encode(value));
        links.append(">; rel=\"").append(relation).append("\"");
    };
    auto const last = std::max<std::uint64_t>(page_count(part, seen.total), 1);
    add("first", 1);
    if (part.number > 1) add("prev", std::min(part.number - 1, last));
    if (seen.has_more && part.number < limits::page_reach_max / part.limit)
        add("next", part.number + 1);
    if (last <= limits::page_reach_max / part.limit) add("last", last);
    answer.add("Link", links);
}

}  // namespace latchkey::api
