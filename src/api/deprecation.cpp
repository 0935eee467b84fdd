#include "api/deprecation.hpp"

#include <algorithm>

#include "api/route.hpp"
#include "base/clock.hpp"

namespace latchkey::api {
namespace {

// Takes what stands before the next blank.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

route const* find_row(std::string_view verb, std::string_view pattern) {
    for (auto const& each : routes())
        if (http::name_of(each.method) == verb && each.pattern == pattern) return &each;
    return nullptr;
}

bool is_link(std::string_view text) {
    return text.starts_with("https://") && std::all_of(text.begin(), text.end(), [](char byte) {
               return byte > ' ' && byte < 0x7f && byte != '<' && byte != '>' && byte != '"';
           });
}

}  // namespace

base::result<deprecation> parse_deprecation(std::string_view text) {
    auto const wrong = [&](std::string_view why) {
        return base::error{"'" + std::string(text) + "': " + std::string(why)};
    };
    auto rest = text;
    auto const verb = take_word(rest);
    deprecation made{.of = find_row(verb, take_word(rest)), .since = {}, .sunset = {}, .link = {}};
    if (made.of == nullptr)
        return wrong("begins with no method and path of the API, such as GET /api/v1/users/{id}");
    base::wall_ms since = 0, sunset = 0;
    for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
        auto const value = word.substr(std::min(word.find('=') + 1, word.size()));
        auto const time = base::parse_timestamp(value);
        if (word.starts_with("since=") && time) {
            since = *time;
            made.since = "@" + std::to_string(since / 1000);
        } else if (word.starts_with("sunset=") && time) {
            char date[base::http_date_bytes];
            base::format_http_date(sunset = *time, date);
            made.sunset.assign(date, sizeof date);
        } else if (word.starts_with("link=") && is_link(value)) {
            made.link = value;
        } else {
            return wrong(std::string(word) +
                         " is none of since=TIME, sunset=TIME (such as 2027-01-01T00:00:00Z), "
                         "link=https://…");
        }
    }
    if (made.since.empty()) return wrong("since= is missing");
    // RFC 9745 §4.
    if (!made.sunset.empty() && sunset < since) return wrong("the sunset is before since");
    return made;
}

}  // namespace latchkey::api
