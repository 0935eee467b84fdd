// latchkey man: the manual page of a command (man(7)), made from the table of commands. Not shown
// in the help, since the package installs the pages.
#include "cli/words/man_page.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "base/system/log.hpp"
#include "base/version.hpp"
#include "base/visible.hpp"
#include "cli/words/command_table.hpp"
#include "cli/words/command_texts.hpp"

namespace latchkey::cli {
namespace {

// A character beyond ASCII as \[uXXXX], so that the page does not depend on an encoding.
std::string named_character(std::string_view bytes) {
    auto const first = static_cast<unsigned char>(bytes[0]);
    unsigned point = bytes.size() == 2   ? first & 0x1fu
                     : bytes.size() == 3 ? first & 0x0fu
                                         : first & 0x07u;
    for (char const byte : bytes.substr(1))
        point = point << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
    char name[16];
    std::snprintf(name, sizeof name, "\\[u%04X]", point);
    return name;
}

std::string escaped(std::string_view text) {
    std::string result;
    bool begins_line = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const byte = text[i];
        if (auto const length = base::utf8_length(text.substr(i)); length > 1) {
            result += named_character(text.substr(i, length));
            i += length - 1;
            begins_line = false;
            continue;
        }
        if (begins_line && (byte == '.' || byte == '\'')) result += "\\&";
        begins_line = byte == '\n';
        if (byte == '\\')
            result += "\\e";
        else if (byte == '-')
            result += "\\-";
        else
            result += byte;
    }
    return result;
}

// A list of values, which may be longer than a line: with spaces, where it is broken and adjusted.
std::string spaced(std::string_view text) {
    std::string result;
    for (char const byte : text) {
        result += byte;
        if (byte == ',') result += " ";
    }
    return result;
}

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

// The name of the page: "latchkey-keys-create".
std::string page_name(command_entry const& entry) {
    return "latchkey" + (entry.words.empty() ? "" : "-" + entry.joined("-"));
}

std::string value_of(option_entry const& option) {
    return option.type.substr(0, option.type.find(" from "));
}

void append_synopsis(std::string& page, command_entry const& entry) {
    page += ".SH SYNOPSIS\n.B latchkey" +
            (entry.words.empty() ? "" : escaped(" " + entry.joined(" "))) + "\n";
    if (!shown_commands(*entry.command).empty()) page += ".I COMMAND\n";
    page += ".RI [ OPTIONS ]\n";
    for (auto const& option : options_of(*entry.command))
        if (option.flags.empty())
            page +=
                option.is_required ? ".I " + option.name + "\n" : ".RI [ " + option.name + " ]\n";
}

void append_options(std::string& page, command_entry const& entry) {
    std::string arguments, options;
    for (auto const& option : options_of(*entry.command)) {
        auto& target = option.flags.empty() ? arguments : options;
        target += ".TP\n";
        if (option.flags.empty()) {
            target += ".I " + escaped(option.name) + "\n";
        } else {
            std::string flags;
            for (auto const& flag : option.flags) flags += (flags.empty() ? "" : ", ") + flag;
            target += ".B " + escaped(flags) + "\n";
            if (!option.type.empty()) {
                target.pop_back();
                target += " \\fI" + spaced(escaped(value_of(option))) + "\\fR\n";
            }
        }
        target += escaped(option.description);
        if (!option.default_value.empty()) target += escaped(" [" + option.default_value + "]");
        target += "\n";
    }
    if (!arguments.empty()) page += ".SH ARGUMENTS\n" + arguments;
    if (!options.empty()) page += ".SH OPTIONS\n" + options;
}

// The footer of the help: text, and after it lines with examples.
void append_footer(std::string& page, std::string const& footer) {
    auto const example = std::min(footer.find("Example: "), footer.size());
    if (auto const text = footer.substr(0, example); !text.empty())
        page +=
            ".SH DESCRIPTION\n.nf\n" + escaped(text) + (text.back() == '\n' ? "" : "\n") + ".fi\n";
    if (example < footer.size())
        page += ".SH EXAMPLE\n.nf\n" + escaped(footer.substr(example + 9)) + "\n.fi\n";
}

void append_environment(std::string& page, std::vector<option_entry> const& options) {
    auto const has = [&](std::string_view flag) {
        return std::ranges::any_of(options, [&](option_entry const& option) {
            return std::ranges::find(option.flags, flag) != option.flags.end();
        });
    };
    page += ".SH ENVIRONMENT\n";
    if (has("--config"))
        page +=
            ".TP\n.B LATCHKEY_CONFIG\nThe file of settings, where \\-\\-config is not given.\n"
            ".TP\n.BI LATCHKEY_ SETTING\nAny setting: its name in capitals, with _ for dots, so "
            "LATCHKEY_STORE_MAP_MIB=1024 is store.map_mib (latchkey config show lists all). A list "
            "is separated by commas, or written as in TOML. An option counts more than a variable, "
            "and a variable more than the file.\n";
    if (has("--url"))
        page +=
            ".TP\n.B LATCHKEY_URL, LATCHKEY_KEY_FILE, LATCHKEY_CA_FILE\nInstead of \\-\\-url, "
            "\\-\\-key\\-file and \\-\\-ca\\-file.\n";
    page += ".TP\n.B NO_COLOR\nIf it is set, tables have no colours.\n";
}

int print_manual(CLI::App const& program, std::vector<std::string> const& words) {
    for (auto const& entry : all_commands(program)) {
        if (entry.words != words) continue;
        std::fputs(man_page(entry).c_str(), stdout);
        return done;
    }
    base::log(base::severity::failure, "there is no such command: latchkey --help lists them");
    return usage_error;
}

}  // namespace

std::string man_page(command_entry const& entry) {
    auto const& command = *entry.command;
    auto const name = page_name(entry);
    auto page = ".TH " + escaped(upper(name)) +
                " 1 \"\" \"latchkey " LATCHKEY_VERSION "\" \"latchkey\"\n.SH NAME\n" +
                escaped(name) + " \\- " + escaped(command.get_description()) + "\n";
    append_synopsis(page, entry);
    append_footer(page, command.get_footer());
    if (auto const commands = shown_commands(command); !commands.empty()) {
        page += ".SH COMMANDS\n";
        for (auto const* const each : commands)
            page += ".TP\n.BR " + escaped(name + "-" + each->get_name()) + " (1)\n" +
                    escaped(each->get_description()) + "\n";
    }
    append_options(page, entry);
    append_environment(page, options_of(command));
    page += ".SH EXIT STATUS\n" + escaped(exit_code_text) + "\n.SH SEE ALSO\n.BR latchkey (1)\n";
    return page;
}

void add_man(CLI::App& program, int& code) {
    auto* const command =
        program.add_subcommand("man", "Print the manual page of a command, for man -l -");
    command->group("");
    auto const words = std::make_shared<std::vector<std::string>>();
    auto const lists = std::make_shared<bool>(false);
    command->add_option("COMMAND", *words, "The words of the command")->expected(0, 4);
    command->add_flag("--list", *lists, "Print the words of every command, a line for each");
    command->callback([words, lists, &program, &code] {
        code = done;
        if (!*lists) {
            code = print_manual(program, *words);
            return;
        }
        for (auto const& each : all_commands(program))
            if (!each.words.empty()) std::printf("%s\n", each.joined(" ").c_str());
    });
}

}  // namespace latchkey::cli
