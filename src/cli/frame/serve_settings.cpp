// Sources are applied to one structure, the weakest first, so that a later one overwrites. With
// each setting the place that set it last is noted: the checks over the whole run at the end, and
// their errors name that place. Faults are collected, not thrown; the first does not hide others.
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
#include "base/nearest.hpp"
#include "base/system/log.hpp"
#include "base/system/read_within.hpp"
#include "cli/frame/command_line.hpp"
#include "cli/frame/jwt_tables.hpp"
#include "cli/frame/whole_number.hpp"
#include "server/process/server_identity.hpp"

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

std::uint32_t line_of(toml::node const& node) {
    return node.source().begin.line;
}

bool is_whole_number(toml::node const& node) {
    return node.is_integer() && **node.as_integer() >= 0;
}

// What is wrong with a value of TOML, and the line of that.
struct value_fault {
    std::string message;
    std::uint32_t line;
};
using value_faults = std::vector<value_fault>;

// `read(element)` is nothing where the element is of another type.
template <class Element, class Read>
value_faults assign_list(std::vector<Element>& list, setting const& entry, toml::node const& node,
                         std::string_view expected, Read read) {
    auto const* const array = node.as_array();
    if (array == nullptr) return {{wrong_type(entry, expected).message, line_of(node)}};
    value_faults faults;
    std::vector<Element> elements;
    for (std::size_t count = 1; auto const& element : *array) {
        if (auto value = read(element))
            elements.push_back(std::move(*value));
        else
            faults.push_back({wrong_type(entry, expected).message + "; element " +
                                  std::to_string(count) + " is none",
                              line_of(element)});
        ++count;
    }
    if (faults.empty()) list = std::move(elements);
    return faults;
}

value_faults assign_texts(std::vector<std::string>& list, setting const& entry,
                          toml::node const& node) {
    return assign_list(list, entry, node, "a list of strings", [](toml::node const& element) {
        return element.is_string() ? std::optional(**element.as_string()) : std::nullopt;
    });
}

value_faults assign_numbers(std::vector<std::uint64_t>& list, setting const& entry,
                            toml::node const& node) {
    return assign_list(list, entry, node, "a list of whole numbers",
                       [](toml::node const& element) -> std::optional<std::uint64_t> {
                           if (!is_whole_number(element)) return std::nullopt;
                           return static_cast<std::uint64_t>(**element.as_integer());
                       });
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

value_faults assign_node(config& target, setting const& entry, toml::node const& node) {
    auto const wrong = [&](std::string_view expected) -> value_faults {
        return {{wrong_type(entry, expected).message, line_of(node)}};
    };
    if (auto const* const member = std::get_if<std::string config::*>(&entry.member)) {
        if (!node.is_string()) return wrong("a string");
        target.** member = **node.as_string();
    } else if (auto const* const flag = std::get_if<bool config::*>(&entry.member)) {
        if (!node.is_boolean()) return wrong("true or false");
        target.** flag = **node.as_boolean();
    } else if (auto const* const fraction = std::get_if<double config::*>(&entry.member)) {
        auto const value = node.value<double>();
        if (!node.is_number() || !value) return wrong("a number such as 0.1");
        target.** fraction = *value;
    } else if (auto const* const number = std::get_if<std::uint64_t config::*>(&entry.member)) {
        if (!is_whole_number(node)) return wrong("a whole number");
        target.** number = static_cast<std::uint64_t>(**node.as_integer());
    } else if (auto const* const numbers =
                   std::get_if<std::vector<std::uint64_t> config::*>(&entry.member)) {
        return assign_numbers(target.**numbers, entry, node);
    } else {
        return assign_texts(target.*std::get<std::vector<std::string> config::*>(entry.member),
                            entry, node);
    }
    return {};
}

// Settings as they are gathered from their sources, the weakest first, and all that is wrong there.
struct gathered_settings {
    config values;
    std::map<std::string_view, setting_place> places;  // by setting
    setting_faults faults;

    // A value that was read, or why it could not be.
    void note(setting const& entry, setting_place place, base::result<void> const& outcome) {
        if (!outcome) faults.push_back({place, std::string(entry.name), outcome.error().message});
        places[entry.name] = std::move(place);
    }
    void note(setting const& entry, setting_place place, value_faults const& wrong) {
        for (auto const& each : wrong)
            faults.push_back({{.file = place.file, .line = each.line, .source = place.source},
                              std::string(entry.name),
                              each.message});
        places[entry.name] = std::move(place);
    }
    // An error of a value that could be read, at the place where it was.
    void note(server::setting_error const& error) {
        auto place = places[error.setting];
        if (error.element && *error.element < place.element_lines.size())
            place.line = place.element_lines[*error.element];
        // Of the tables [[jwt]] those members are not judged that could not be read.
        bool const is_known = std::ranges::any_of(faults, [&](setting_fault const& each) {
            return each.setting == error.setting && error.setting.starts_with("jwt.") &&
                   each.place.line == place.line;
        });
        if (!is_known)
            faults.push_back({std::move(place), std::string(error.setting), error.message});
    }
};

setting_place place_of(gathered_settings const& target, toml::node const& node) {
    setting_place place{.file = target.values.file, .line = line_of(node)};
    if (auto const* const array = node.as_array())
        for (auto const& each : *array) place.element_lines.push_back(line_of(each));
    return place;
}

void gather_issuers(gathered_settings& target, toml::node const& node) {
    auto reading = read_jwt_tables(node);
    target.values.jwt = std::move(reading.tables);
    for (auto& each : reading.faults)
        target.faults.push_back({{.file = target.values.file, .line = each.line},
                                 std::move(each.setting),
                                 std::move(each.message)});
    for (auto& [name, lines] : reading.lines)
        target.places[name] = {.file = target.values.file, .element_lines = std::move(lines)};
}

std::string_view last_part(std::string_view name) {
    return name.substr(name.rfind('.') + 1);
}

// The nearest name, or the one that it has in its right table.
std::string hint_of_setting(std::string_view name) {
    std::vector<std::string_view> names{"jwt"}, parts;
    std::string in_table;
    for (auto const& entry : server::setting_table()) {
        names.push_back(entry.name);
        if (last_part(entry.name) != last_part(name)) continue;
        in_table = in_table.empty() ? std::string(entry.name) : "";
    }
    auto const hint = hint_of(name, names);
    if (hint.empty() && !in_table.empty()) return "; did you mean " + in_table + "?";
    return hint.empty() ? "; latchkey config show lists all" : hint;
}

bool is_table(std::string_view name) {
    return std::ranges::any_of(server::setting_table(), [&](setting const& entry) {
        return entry.name.starts_with(std::string(name) + ".");
    });
}

std::string hint_of_table(std::string_view name) {
    std::vector<std::string_view> names{"jwt"};
    for (auto const& entry : server::setting_table())
        if (auto const dot = entry.name.find('.'); dot != entry.name.npos)
            names.push_back(entry.name.substr(0, dot));
    auto const hint = hint_of(name, names);
    return hint.empty() ? "; latchkey config show lists all" : hint;
}

// Converts tables to dotted names.
void gather_table(gathered_settings& target, toml::table const& table, std::string const& prefix) {
    for (auto const& [key, node] : table) {
        auto const name = prefix + std::string(key.str());
        auto const refuse = [&](std::string const& message) {
            target.faults.push_back({place_of(target, node), name, message});
        };
        // `changes = false` is short for its member `enabled`.
        auto const* const own = find_setting(name);
        auto const* const entry = own != nullptr ? own : find_setting(name + ".enabled");
        auto const* const inner = node.as_table();
        if (name == "jwt")
            gather_issuers(target, node);
        else if (inner != nullptr && is_table(name))
            gather_table(target, *inner, name + ".");
        else if (inner != nullptr && own == nullptr)
            refuse("there is no table '" + name + "'" + hint_of_table(name));
        else if (entry != nullptr)
            target.note(*entry, place_of(target, node), assign_node(target.values, *entry, node));
        else
            refuse("there is no setting '" + name + "'" + hint_of_setting(name));
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
    auto const refuse = [&](std::string const& file, std::uint32_t line, std::string message) {
        target.faults.push_back({{.file = file, .line = line}, {}, std::move(message)});
    };
    try {
        std::string text;
        if (auto const outcome = read_file(path, text); !outcome)
            refuse({}, 0, outcome.error().message);  // which names the file
        else
            gather_table(target, toml::parse(text, path), "");
    } catch (toml::parse_error const& error) {
        auto const position = error.source().begin;
        refuse(path, position ? position.line : 0, std::string(error.description()));
    }
}

bool is_list(setting const& entry) {
    return std::holds_alternative<std::vector<std::string> config::*>(entry.member) ||
           std::holds_alternative<std::vector<std::uint64_t> config::*>(entry.member);
}

// The elements of a list in a variable: TOML's if it begins with a bracket, else separated by
// commas.
void gather_variable(gathered_settings& target, setting const& entry, setting_place place,
                     std::string const& text) {
    if (!is_list(entry))
        return target.note(entry, std::move(place), assign(target.values, entry, {text}));
    if (!text.starts_with('[')) {
        auto elements = CLI::detail::split(text, ',');
        for (auto& each : elements) CLI::detail::trim(each);
        return target.note(entry, std::move(place), assign(target.values, entry, elements));
    }
    try {
        auto const table = toml::parse("value = " + text);
        auto wrong = assign_node(target.values, entry, *table.get("value"));
        for (auto& each : wrong) each.line = 0;
        target.note(entry, std::move(place), wrong);
    } catch (toml::parse_error const& error) {
        target.note(entry, std::move(place),
                    base::error{std::string(entry.name) +
                                " is not a list of TOML: " + std::string(error.description())});
    }
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
        gather_variable(target, entry, {.source = name}, text);
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
        target.note(entry,
                    {.source = "the credential " + std::string(server::credential_of(entry))},
                    assign(target.values, entry, {path}));
    }
}

}  // namespace

std::vector<std::string> unknown_variables() {
    constexpr std::string_view prefix = "LATCHKEY_";
    // Those of commands, of the client libraries and of the samples.
    std::vector<std::string> names{"LATCHKEY_CONFIG",   "LATCHKEY_URL",     "LATCHKEY_KEY",
                                   "LATCHKEY_KEY_FILE", "LATCHKEY_CA_FILE", "LATCHKEY_VERIFIER"};
    for (auto const& entry : server::setting_table()) names.push_back(server::variable_of(entry));
    std::vector<std::string_view> endings;
    for (auto const& each : names) endings.push_back(std::string_view(each).substr(prefix.size()));
    std::vector<std::string> sentences;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        std::string_view const text(*variable);
        std::string const name(text.substr(0, text.find('=')));
        if (!name.starts_with(prefix) || is_of_orchestrator(name) ||
            std::ranges::find(names, name) != names.end())
            continue;
        auto const near = base::nearest(std::string_view(name).substr(prefix.size()), endings);
        sentences.push_back(
            "the variable " + name + " belongs to no setting and has no effect" +
            (near ? "; did you mean " + std::string(prefix) + std::string(*near) + "?" : ""));
    }
    return sentences;
}

base::result<config> load_config(std::string const& path) {
    gathered_settings settings;
    settings.values.data = default_data_directory();
    gather_file(settings, path);
    sort_by_place(settings.faults);
    if (!settings.faults.empty()) return base::error{sentence_of(settings.faults)};
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
        bool const list = is_list(entry);
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

setting_resolution setting_flags::examine(bool reads_files) const {
    gathered_settings settings;
    settings.values.data = default_data_directory();
    gather_credentials(settings);
    auto const* const file = std::getenv("LATCHKEY_CONFIG");
    gather_file(settings, file_.empty() && file != nullptr ? file : file_);
    gather_environment(settings);
    auto const faults_before_flags = settings.faults.size();
    for (auto const& flag : flags_) {
        if (flag->option->count() == 0) continue;
        settings.note(*flag->setting, {.source = flag_of(*flag->setting)},
                      assign(settings.values, *flag->setting, flag->values));
    }
    bool const is_usage = settings.faults.size() != faults_before_flags;
    for (auto const& each : server::find_errors(settings.values)) settings.note(each);
    if (reads_files && settings.faults.empty())
        for (auto const& each : server::find_file_errors(settings.values)) settings.note(each);
    sort_by_place(settings.faults);
    auto const code = settings.faults.empty() ? done : is_usage ? usage_error : configuration_error;
    return {std::move(settings.values), std::move(settings.faults), code};
}

std::optional<config> setting_flags::resolve(int& code) const {
    auto resolution = examine(false);
    for (auto const& each : resolution.faults)
        base::log(base::severity::failure, sentence_of(each));
    code = resolution.code;
    if (code != done) return std::nullopt;
    return std::move(resolution.values);
}

}  // namespace latchkey::cli
