#include "api/exchange/deprecation.hpp"

#include <algorithm>

#include "api/frame/route.hpp"
#include "base/ascii.hpp"
#include "base/clock.hpp"

namespace latchkey::api {
namespace {

// Takes the text up to the next space.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

bool is_link(std::string_view text) {
    return base::begins_ignoring_case(text, "https://") &&
           std::all_of(text.begin(), text.end(), [](char byte) {
               return byte > ' ' && byte < 0x7f && byte != '<' && byte != '>' && byte != '"';
           });
}

}  // namespace

base::result<deprecation> parse_deprecation(std::string_view text) {
    auto const error_of = [&](std::string_view reason) {
        return base::error{"'" + std::string(text) + "': " + std::string(reason)};
    };
    auto rest = text;
    auto const verb = take_word(rest);
    deprecation result{
        .target = find_row(verb, take_word(rest)), .date = {}, .sunset = {}, .link = {}};
    if (result.target == nullptr)
        return error_of(
            "does not begin with a method and a path of the API, such as GET /api/v1/users/{id}");
    base::wall_ms start = 0, sunset = 0;
    for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
        auto const value = word.substr(std::min(word.find('=') + 1, word.size()));
        auto const time = base::parse_timestamp(value);
        if (word.starts_with("since=") && time) {
            start = *time;
            result.date = "@" + std::to_string(start / 1000);
        } else if (word.starts_with("sunset=") && time) {
            char date[base::http_date_bytes];
            base::format_http_date(sunset = *time, date);
            result.sunset.assign(date, sizeof date);
        } else if (word.starts_with("link=") && is_link(value)) {
            result.link = value;
        } else {
            return error_of(
                std::string(word) +
                " is not one of since=TIME, sunset=TIME (such as 2027-01-01T00:00:00Z), "
                "link=https://…");
        }
    }
    if (result.date.empty()) return error_of("since= is missing");
    // RFC 9745 §4.
    if (!result.sunset.empty() && sunset < start) return error_of("the sunset is before since");
    return result;
}

}  // namespace latchkey::api
