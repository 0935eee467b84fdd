// The name of an option and its description stand in two columns. The footer has lines that were
// broken in the source: those of a paragraph are joined and filled anew.
#include "cli/words/help_text.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/words/command_table.hpp"
#include "cli/words/suggest.hpp"
#include "model/utf8.hpp"

namespace latchkey::cli {
namespace {

constexpr std::size_t name_columns_max = 28;  // a longer name has a line of its own
constexpr std::size_t line_columns_min = 60;  // a shorter line of a footer ends its paragraph
constexpr std::string_view example = "Example: ";

struct row {
    std::string name, description;
};

std::string name_of(option_entry const& option) {
    if (option.flags.empty()) return option.name;
    std::string text;
    for (auto const& flag : option.flags) text.append(text.empty() ? "" : ", ").append(flag);
    auto const type = option.type.substr(0, option.type.find(" from "));
    auto const choices = type.find('{');
    if (!type.empty()) text += " " + type.substr(choices == type.npos ? 0 : choices);
    return text;
}

std::string description_of(option_entry const& option) {
    auto text = option.description;
    if (option.is_required && !option.flags.empty()) text += " (required)";
    if (!option.default_value.empty()) text += " [" + option.default_value + "]";
    return text;
}

void append_rows(std::string& text, std::string_view heading, std::vector<row> const& rows,
                 std::size_t columns) {
    if (rows.empty()) return;
    text.append("\n").append(heading).append("\n");
    std::size_t width = 0;
    for (auto const& each : rows)
        if (each.name.size() <= name_columns_max) width = std::max(width, each.name.size());
    for (auto const& each : rows) {
        auto line = "  " + each.name;
        if (each.name.size() > width) {
            text += line + "\n";
            line.clear();
        }
        for (auto const& part : wrapped(each.description, columns - width - 4)) {
            line.resize(width + 4, ' ');
            text += line + part + "\n";
            line.clear();
        }
        if (!line.empty()) text += line + "\n";
    }
}

void append_options(std::string& text, CLI::App const& command, std::size_t columns) {
    std::vector<row> arguments, own, elsewhere, settings;
    for (auto const& option : options_of(command)) {
        auto& rows = option.flags.empty()                      ? arguments
                     : option.group == option_group::elsewhere ? elsewhere
                     : option.group == option_group::setting   ? settings
                                                               : own;
        rows.push_back({name_of(option), description_of(option)});
    }
    append_rows(text, "Arguments:", arguments, columns);
    append_rows(text, "Options:", own, columns);
    append_rows(text, "Options for a service elsewhere:", elsewhere, columns);
    append_rows(text, "Settings:", settings, columns);
}

// A command is continued on the next line as a shell does.
void append_example(std::string& text, std::string_view line, std::size_t columns) {
    auto const parts = wrapped(line, columns - 2);
    for (auto const& part : parts)
        text.append(&part == &parts.front() ? "" : " \\\n    ").append(part);
    text += "\n";
}

void append_footer(std::string& text, std::string_view footer, std::size_t columns) {
    std::string paragraph;
    auto const end_paragraph = [&] {
        for (auto const& line : wrapped(paragraph, columns)) text += line + "\n";
        paragraph.clear();
    };
    while (!footer.empty()) {
        auto const end = std::min(footer.find('\n'), footer.size());
        auto const line = footer.substr(0, end);
        footer.remove_prefix(std::min(end + 1, footer.size()));
        bool const is_example = line.starts_with(example), is_verbatim = line.starts_with(' ');
        if (is_example || is_verbatim || line.starts_with("Exit codes: ")) end_paragraph();
        if (is_example) {
            append_example(text, line, columns);
        } else if (is_verbatim) {
            text.append(line).append("\n");
        } else {
            paragraph.append(paragraph.empty() ? "" : " ").append(line);
            if (line.size() < line_columns_min) end_paragraph();
        }
    }
    end_paragraph();
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    std::size_t width = 0;  // of the last line
    while (!text.empty()) {
        auto const end = std::min(text.find(' '), text.size());
        auto const word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        auto const length = model::code_point_count(word);
        if (!lines.empty() && width + 1 + length <= columns) {
            lines.back().append(" ").append(word);
            width += 1 + length;
        } else {
            lines.emplace_back(word);
            width = length;
        }
    }
    return lines;
}

std::string help_text(CLI::App const& command, std::size_t columns) {
    std::string text;
    for (auto const& line : wrapped(command.get_description(), columns)) text += line + "\n";
    std::vector<row> commands;
    for (auto const* const each : shown_commands(command))
        commands.push_back({each->get_name(), each->get_description()});
    auto usage = "Usage: " + full_name(command) + (commands.empty() ? "" : " COMMAND");
    for (auto const& option : options_of(command))
        if (option.flags.empty())
            usage += option.is_required ? " " + option.name : " [" + option.name + "]";
    text += usage + " [OPTIONS]\n";
    append_rows(text, "Commands:", commands, columns);
    append_options(text, command, columns);
    text += command.get_footer().empty() ? "" : "\n";
    append_footer(text, command.get_footer(), columns);
    return text;
}

}  // namespace latchkey::cli
