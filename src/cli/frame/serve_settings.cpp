// Sources are applied to one structure, the weakest first, so that a later one overwrites. With
// each setting the place that set it last is noted: the checks over the whole run at the end, and
// their errors name that place. Errors are collected, not thrown; the first does not hide others.
#include "cli/frame/serve_settings.hpp"

#include <toml++/toml.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <map>

#include "base/limits.hpp"
#include "base/system/read_within.hpp"
#include "cli/frame/command_line.hpp"
#include "cli/frame/jwt_tables.hpp"
#include "cli/frame/suggest.hpp"
#include "cli/frame/whole_number.hpp"

namespace latchkey::cli {
namespace {

using server::config;
using server::setting;

constexpr std::size_t file_bytes_max = 1 * base::limits::mib;

setting const* find_setting(std::string_view name) {
    for (auto const& entry : server::setting_table())
        if (entry.name == name) return &entry;
    return nullptr;
}

std::string flag_of(setting const& entry) {
    std::string flag = "--" + std::string(entry.name);
    std::replace(flag.begin(), flag.end(), '.', '-');
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

base::error wrong_type(setting const& entry, std::string_view expected) {
    return {std::string(entry.name) + " must be " + std::string(expected)};
}

base::result<std::vector<std::string>> texts_of(setting const& entry, toml::node const& node) {
    auto const* const array = node.as_array();
    if (array == nullptr) return wrong_type(entry, "a list of strings");
    std::vector<std::string> all;
    for (auto const& element : *array) {
        auto const* const text = element.as_string();
        if (text == nullptr) return wrong_type(entry, "a list of strings");
        all.push_back(**text);
    }
    return all;
}

bool is_whole_number(toml::node const& node) {
    return node.is_integer() && **node.as_integer() >= 0;
}

base::result<std::vector<std::uint64_t>> numbers_of(setting const& entry, toml::node const& node) {
    auto const* const array = node.as_array();
    std::vector<std::uint64_t> all;
    if (array == nullptr) return wrong_type(entry, "a list of whole numbers");
    for (auto const& element : *array) {
        if (!is_whole_number(element)) return wrong_type(entry, "a list of whole numbers");
        all.push_back(static_cast<std::uint64_t>(**element.as_integer()));
    }
    return all;
}

base::result<std::uint64_t> whole_number_of(setting const& entry, std::string const& text) {
    auto const number = parse_whole_number(text);
    if (!number) return wrong_type(entry, "a whole number");
    return *number;
}

base::result<double> fraction_of(setting const& entry, std::string const& text) {
    double number = 0;
    auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size())
        return wrong_type(entry, "a number such as 0.1");
    return number;
}

base::result<void> assign_node(config& target, setting const& entry, toml::node const& node) {
    if (auto const* const member = std::get_if<std::string config::*>(&entry.member)) {
        if (!node.is_string()) return wrong_type(entry, "a string");
        target.** member = **node.as_string();
    } else if (auto const* const flag = std::get_if<bool config::*>(&entry.member)) {
        if (!node.is_boolean()) return wrong_type(entry, "true or false");
        target.** flag = **node.as_boolean();
    } else if (auto const* const fraction = std::get_if<double config::*>(&entry.member)) {
        auto const value = node.value<double>();
        if (!node.is_number() || !value) return wrong_type(entry, "a number such as 0.1");
        target.** fraction = *value;
    } else if (auto const* const number = std::get_if<std::uint64_t config::*>(&entry.member)) {
        if (!is_whole_number(node)) return wrong_type(entry, "a whole number");
        target.** number = static_cast<std::uint64_t>(**node.as_integer());
    } else if (auto const* const list =
                   std::get_if<std::vector<std::uint64_t> config::*>(&entry.member)) {
        auto numbers = numbers_of(entry, node);
        if (!numbers) return numbers.error();
        target.** list = std::move(*numbers);
    } else {
        auto texts = texts_of(entry, node);
        if (!texts) return texts.error();
        target.*std::get<std::vector<std::string> config::*>(entry.member) = std::move(*texts);
    }
    return {};
}

// Settings as they are gathered from their sources, the weakest first, and all that is wrong there.
struct gathered_settings {
    config values;
    // The place where a source has a setting, as a prefix and a suffix of the setting's errors.
    struct place {
        std::string prefix, suffix;
    };
    std::map<std::string_view, place> places;
    std::vector<std::string> errors;

    void refuse(place const& place, std::string const& message) {
        errors.push_back(place.prefix + message + place.suffix);
    }
    // A value that was read, or why it could not be.
    void note(setting const& entry, place place, base::result<void> const& outcome) {
        if (!outcome) refuse(place, outcome.error().message);
        places[entry.name] = std::move(place);
    }
};

// Converts tables to dotted names.
void gather_table(gathered_settings& target, toml::table const& table, std::string const& prefix) {
    for (auto const& [key, node] : table) {
        auto const name = prefix + std::string(key.str());
        if (name == "jwt") {  // its errors have their lines
            if (auto const outcome = take_jwt_tables(node, target.values.jwt); !outcome)
                target.errors.push_back(target.values.file + ": " + outcome.error().message);
            continue;
        }
        gathered_settings::place place{target.values.file + ": ",
                                       " (line " + std::to_string(node.source().begin.line) + ")"};
        if (auto const* const inner = node.as_table()) {
            gather_table(target, *inner, name + ".");
            continue;
        }
        // `changes = false` is short for its member `enabled`.
        auto const* const own = find_setting(name);
        auto const* const entry = own != nullptr ? own : find_setting(name + ".enabled");
        if (entry != nullptr)
            target.note(*entry, std::move(place), assign_node(target.values, *entry, node));
        else
            target.errors.push_back(place.prefix + "there is no setting '" + name + "'" +
                                    place.suffix + "; latchkey config show lists all");
    }
}

// toml::parse_file treats an unreadable file, such as a directory, as empty.
base::result<void> read_file(std::string const& path, std::string& text) {
    auto const file = base::open_to_read(path);
    if (!file.is_open()) return base::errno_error("cannot open " + path, errno);
    text.resize(file_bytes_max + 1);
    auto const size = base::read_within(file, path, text);
    if (!size) return size.error();
    if (*size > file_bytes_max) return base::error{path + " has more than 1 MiB"};
    text.resize(*size);
    return {};
}

}  // namespace

std::string default_data_directory() {
    if (auto const* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0')
        return std::string(state) + "/latchkey";
    auto const* const home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "") + "/.local/state/latchkey";
}

namespace {

void gather_file(gathered_settings& target, std::string const& path) {
    target.values.file = path;
    if (path.empty()) return;
    try {
        std::string text;
        if (auto const outcome = read_file(path, text); !outcome)
            target.errors.push_back(outcome.error().message);
        else
            gather_table(target, toml::parse(text, path), "");
    } catch (toml::parse_error const& error) {
        auto const position = error.source().begin;
        target.errors.push_back(path + ": " + std::string(error.description()) +
                                (position ? " (line " + std::to_string(position.line) + ")" : ""));
    }
}

// The elements of a list in a variable: TOML's if it begins with a bracket, else separated by
// commas.
base::result<void> assign_text(config& target, setting const& entry, std::string const& text) {
    bool const is_list = std::holds_alternative<std::vector<std::string> config::*>(entry.member) ||
                         std::holds_alternative<std::vector<std::uint64_t> config::*>(entry.member);
    if (!is_list) return assign(target, entry, {text});
    if (text.starts_with('[')) {
        try {
            auto const table = toml::parse("value = " + text);
            return assign_node(target, entry, *table.get("value"));
        } catch (toml::parse_error const& error) {
            return base::error{std::string(entry.name) +
                               " is not a list of TOML: " + std::string(error.description())};
        }
    }
    auto elements = CLI::detail::split(text, ',');
    for (auto& each : elements) CLI::detail::trim(each);
    return assign(target, entry, elements);
}

// Variables that Kubernetes and links of containers set beside a service of the name latchkey or
// latchkey-NAME: LATCHKEY_SERVICE_HOST, LATCHKEY_PORT_8443_TCP.
bool is_of_orchestrator(std::string_view name) {
    static constexpr std::string_view parts[] = {"_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"};
    return name.ends_with("_PORT") || std::ranges::any_of(parts, [&](std::string_view part) {
               return name.find(part) != name.npos;
           });
}

// An empty variable counts as none, since that is how a template leaves one out.
void gather_environment(gathered_settings& target) {
    for (auto const& entry : server::setting_table()) {
        auto const name = server::variable_of(entry);
        auto const* const text = std::getenv(name.c_str());
        if (text == nullptr || *text == '\0') continue;
        target.note(entry, {name + ": ", ""}, assign_text(target.values, entry, text));
    }
}

// Credentials that the service manager passes in give way to every other source (systemd.exec(5),
// LoadCredential=).
void gather_credentials(gathered_settings& target) {
    auto const* const directory = std::getenv("CREDENTIALS_DIRECTORY");
    if (directory == nullptr || *directory == '\0') return;
    for (auto const& entry : server::setting_table()) {
        auto const path = std::string(directory) + "/" + std::string(server::credential_of(entry));
        if (!entry.credential || ::access(path.c_str(), F_OK) != 0) continue;
        target.note(entry, {"", " (a credential)"}, assign(target.values, entry, {path}));
    }
}

std::string joined(std::vector<std::string> const& sentences) {
    std::string text;
    for (auto const& each : sentences) text.append(text.empty() ? "" : "; ").append(each);
    return text;
}

}  // namespace

std::vector<std::string> unknown_variables() {
    // Those of commands, of the client libraries and of the samples.
    std::vector<std::string> names{"LATCHKEY_CONFIG", "LATCHKEY_URL", "LATCHKEY_KEY",
                                   "LATCHKEY_KEY_FILE", "LATCHKEY_CA_FILE"};
    for (auto const& entry : server::setting_table()) names.push_back(server::variable_of(entry));
    std::vector<std::string> sentences;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        std::string_view const text(*variable);
        std::string const name(text.substr(0, text.find('=')));
        if (!name.starts_with("LATCHKEY_") || is_of_orchestrator(name) ||
            std::ranges::find(names, name) != names.end())
            continue;
        auto const near = nearest(name, names);
        sentences.push_back("the variable " + name + " belongs to no setting and has no effect" +
                            (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    return sentences;
}

base::result<config> load_config(std::string const& path) {
    gathered_settings settings;
    settings.values.data = default_data_directory();
    gather_file(settings, path);
    if (!settings.errors.empty()) return base::error{joined(settings.errors)};
    return std::move(settings.values);
}

base::result<void> assign(config& target, setting const& entry,
                          std::vector<std::string> const& values) {
    if (auto const* const list = std::get_if<std::vector<std::string> config::*>(&entry.member)) {
        target.** list = values;
        return {};
    }
    if (auto const* const list = std::get_if<std::vector<std::uint64_t> config::*>(&entry.member)) {
        (target.**list).clear();
        for (auto const& each : values) {
            auto const number = whole_number_of(entry, each);
            if (!number) return number.error();
            (target.**list).push_back(*number);
        }
        return {};
    }
    auto const& text = values.back();
    if (auto const* const fraction = std::get_if<double config::*>(&entry.member)) {
        auto const number = fraction_of(entry, text);
        if (!number) return number.error();
        target.** fraction = *number;
    } else if (auto const* const member = std::get_if<std::string config::*>(&entry.member)) {
        target.** member = text;
    } else if (auto const* const flag = std::get_if<bool config::*>(&entry.member)) {
        if (text != "true" && text != "false") return wrong_type(entry, "true or false");
        target.** flag = text == "true";
    } else {
        auto const number = whole_number_of(entry, text);
        if (!number) return number.error();
        target.*std::get<std::uint64_t config::*>(entry.member) = *number;
    }
    return {};
}

void setting_flags::add_to(CLI::App& command, std::vector<std::string> const& only) {
    command.add_option("--config", file_, "TOML file with settings; flags take precedence")
        ->type_name("FILE");
    config defaults;
    defaults.data = "$XDG_STATE_HOME/latchkey";
    for (auto const& entry : server::setting_table()) {
        if (!only.empty() && std::find(only.begin(), only.end(), entry.name) == only.end())
            continue;
        auto added_flag = std::make_unique<flag>();
        added_flag->setting = &entry;
        added_flag->option =
            command.add_option(flag_of(entry), added_flag->values, std::string(entry.help));
        bool const texts = std::holds_alternative<std::vector<std::string> config::*>(entry.member);
        bool const list =
            texts || std::holds_alternative<std::vector<std::uint64_t> config::*>(entry.member);
        added_flag->option->type_name(texts  ? "TEXT..."
                                      : list ? "NUMBER..."
                                             : "")
            ->default_str(server::to_toml(defaults, entry));
        added_flag->option->expected(1)->type_size(1);
        if (list)
            added_flag->option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        else
            added_flag->option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        flags_.push_back(std::move(added_flag));
    }
}

bool is_setting_flag(std::string_view flag) {
    return std::ranges::any_of(server::setting_table(),
                               [&](auto const& entry) { return flag_of(entry) == flag; });
}

bool setting_flags::is_any_given() const {
    return !file_.empty() ||
           std::ranges::any_of(flags_, [](auto const& flag) { return flag->option->count() != 0; });
}

base::result<config> setting_flags::resolve(int& code) const {
    gathered_settings settings;
    settings.values.data = default_data_directory();
    gather_credentials(settings);
    auto const* const file = std::getenv("LATCHKEY_CONFIG");
    gather_file(settings, file_.empty() && file != nullptr ? file : file_);
    gather_environment(settings);
    auto const errors_before_flags = settings.errors.size();
    for (auto const& flag : flags_) {
        if (flag->option->count() == 0) continue;
        settings.note(*flag->setting, {flag_of(*flag->setting) + ": ", ""},
                      assign(settings.values, *flag->setting, flag->values));
    }
    code = settings.errors.size() != errors_before_flags ? usage_error : configuration_error;
    for (auto const& each : server::find_errors(settings.values))
        settings.refuse(settings.places[each.setting], each.message);
    if (!settings.errors.empty()) return base::error{joined(settings.errors)};
    code = done;
    return std::move(settings.values);
}

}  // namespace latchkey::cli
