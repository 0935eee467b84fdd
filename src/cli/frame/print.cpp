// A table is a list of rows of text: escape sequences are made visible first, then columns are as
// wide as their longest cell in code points, and colour is added last, so it counts for no width.
// People read stderr where a key is shown; its secret alone goes to stdout, for a pipe.
#include "cli/frame/print.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/bytes.hpp"
#include "base/system/log.hpp"
#include "base/visible.hpp"
#include "cli/frame/key_text.hpp"
#include "cli/frame/progress.hpp"
#include "cli/frame/standard_output.hpp"
#include "model/utf8.hpp"

namespace latchkey::cli {
namespace {

using table = std::vector<std::vector<std::string>>;

constexpr std::size_t gap = 2;  // between two columns

// SGR (ECMA-48 §8.3.117).
constexpr std::string_view bold = "\x1b[1m", green = "\x1b[32m", yellow = "\x1b[33m",
                           red = "\x1b[31m", plain = "\x1b[0m";

// Empty: as other text.
std::string_view colour_of(std::string_view word) {
    word = word.substr(0, word.find(' '));
    for (auto const* const each : {"active", "enabled", "delivered", "VALID", "yes"})
        if (word == each) return green;
    for (auto const* const each : {"scheduled", "pending", "expired"})
        if (word == each) return yellow;
    for (auto const* const each : {"deactivated", "disabled", "failed"})
        if (word == each) return red;
    return {};
}

std::string coloured(std::string text, std::string_view colour) {
    if (colour.empty()) return text;
    return std::string(colour).append(text).append(plain);
}

// Escapes what a terminal would obey, and widens each column to its longest cell.
void make_visible(table& rows, std::vector<std::size_t>& widths) {
    for (auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = base::visible(row[i]);
            if (widths.size() == i) widths.push_back(0);
            widths[i] = std::max(widths[i], model::code_point_count(row[i]));
        }
}

// The first code points, and an ellipsis in the place of the others.
std::string shortened(std::string const& text, std::size_t width) {
    if (model::code_point_count(text) <= width) return text;
    std::size_t end = 0;
    for (std::size_t i = 0; i + 1 < width; ++i)
        end += std::max<std::size_t>(base::utf8_length(std::string_view(text).substr(end)), 1);
    return text.substr(0, end) + "…";
}

// `colour(row, column)` is that of a cell.
template <class Colour>
void print_rows(table rows, std::vector<std::size_t>& widths, Colour colour) {
    make_visible(rows, widths);
    for (std::size_t number = 0; number < rows.size(); ++number) {
        std::string line;
        auto const& row = rows[number];
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += coloured(row[i], colour(number, i));
            if (i + 1 < row.size())
                line.append(widths[i] - model::code_point_count(row[i]) + gap, ' ');
        }
        std::printf("%s\n", line.c_str());
    }
}

}  // namespace

bool has_colours() {
    auto const is_set = [](char const* name) {
        auto const* const value = std::getenv(name);
        return value != nullptr && *value != '\0';
    };
    auto const* const terminal = std::getenv("TERM");
    bool const is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
    return ::isatty(STDOUT_FILENO) != 0 && !is_set("NO_COLOR") && !is_dumb;
}

std::size_t terminal_columns(std::size_t most) {
    constexpr std::size_t default_columns = 80, least = 40;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return std::min(default_columns, most);
    return std::clamp<std::size_t>(size.ws_col, least, most);
}

std::string format_time(base::wall_ms time, char const* none) {
    if (time == 0) return none;
    char text[base::timestamp_bytes];
    base::format_timestamp(time, text);
    text[10] = ' ';
    return std::string(text, 19) + "Z";
}

std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural) {
    auto text = with_commas(number) + " ";
    if (number == 1) return text.append(noun);
    return plural.empty() ? text.append(noun) + "s" : text.append(plural);
}

void fit_columns(table& rows, std::size_t columns, std::span<flexible_column const> flexible) {
    std::vector<std::size_t> widths;
    make_visible(rows, widths);
    auto width = gap * (widths.size() - 1);
    for (auto const each : widths) width += each;
    for (; width > columns; --width) {
        flexible_column const* widest = nullptr;
        for (auto const& each : flexible)
            if (widths[each.number] > each.least &&
                (widest == nullptr || widths[each.number] > widths[widest->number]))
                widest = &each;
        if (widest == nullptr) break;
        --widths[widest->number];
    }
    for (auto& row : rows)
        for (auto const& each : flexible)
            row[each.number] = shortened(row[each.number], widths[each.number]);
}

void print_part(table rows, std::vector<std::size_t>& widths) {
    bool const has_heading = widths.empty() && has_colours();
    print_rows(std::move(rows), widths, [&](std::size_t row, std::size_t) {
        return has_heading && row == 0 ? bold : std::string_view();
    });
}

void print_table(table rows) {
    std::vector<std::size_t> widths;
    std::vector<bool> has_state;
    for (auto const& heading : rows.front())
        has_state.push_back(heading == "STATE" || heading == "CODE");
    bool const is_coloured = has_colours();
    auto const states = rows;
    print_rows(std::move(rows), widths,
               [&](std::size_t row, std::size_t column) -> std::string_view {
                   if (!is_coloured) return {};
                   if (row == 0) return bold;
                   return has_state[column] ? colour_of(states[row][column]) : std::string_view();
               });
}

void print_record(table rows) {
    std::vector<std::size_t> widths;
    bool const is_coloured = has_colours();
    auto const states = rows;
    print_rows(
        std::move(rows), widths, [&](std::size_t row, std::size_t column) -> std::string_view {
            if (!is_coloured) return {};
            if (column == 0) return bold;
            return states[row][0] == "state" ? colour_of(states[row][column]) : std::string_view();
        });
}

void print_page(std::vector<std::string> const& records) {
    std::string document = "{\"data\":[";
    for (auto const& each : records)
        document.append(&each == records.data() ? "" : ",").append(each);
    auto const count = std::to_string(records.size());
    document += "],\"pagination\":{\"page\":1,\"limit\":" + count + ",\"total\":" + count +
                ",\"total_pages\":" + (records.empty() ? "0" : "1") +
                ",\"has_more\":false,\"next_cursor\":null}}";
    std::printf("%s\n", document.c_str());
}

void warn_of_delay(json_object const& document) {
    auto const end = text_of(document, "effective_by");
    if (!end.empty())
        base::log(base::severity::warning,
                  "a node does not answer: it may accept what was turned off until " + end);
}

namespace {

// The message about a key that was made or changed, where its document cannot be written.
std::string outcome_of(json_object const& key) {
    auto const id = text_of(key, "id");
    if (text_of(key, "key").empty())
        return "key " + id + " is " + text_of(key, "state") + ": latchkey keys show " + id +
               " shows it";
    return "key " + id + " was made, and nobody has its text: latchkey keys rotate " + id +
           " makes another in its place, latchkey keys deactivate " + id + " turns it off";
}

}  // namespace

void print_key(std::string const& document, bool json, bool with_settings) {
    auto const key = parse_object(document).value();
    note_outcome(outcome_of(key));
    if (json) {
        std::printf("%s\n", document.c_str());
        warn_of_delay(key);
        return;
    }
    std::fprintf(stderr, "Key %s '%s' in project %s, %s, scopes: %s\n", text_of(key, "id").c_str(),
                 base::visible(text_of(key, "name")).c_str(), text_of(key, "project").c_str(),
                 text_of(key, "state").c_str(), words_of(key, "scopes").c_str());
    if (text_of(key, "kind") == "jwt")
        std::fprintf(stderr, "It has no secret: it is for tokens of %s for %s\n",
                     base::visible(text_of(key, "issuer")).c_str(),
                     base::visible(text_of(key, "subject")).c_str());
    if (with_settings)
        for (auto const& sentence : settings_of(key))
            std::fprintf(stderr, "%s\n", sentence.c_str());
    warn_of_delay(key);
    auto secret = text_of(key, "key");
    if (secret.empty()) return;
    std::fprintf(stderr,
                 "This is the only time the key is shown; the service stores only its hash:\n");
    std::printf("%s\n", secret.c_str());
    base::wipe(secret.data(), secret.size());
}

}  // namespace latchkey::cli
