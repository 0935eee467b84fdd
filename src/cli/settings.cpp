#include "cli/settings.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "cli/command.hpp"

namespace latchkey::cli {
namespace {

using server::config;
using server::setting;

setting const* find_setting(std::string_view name) {
    for (auto const& which : server::settings())
        if (which.name == name) return &which;
    return nullptr;
}

std::string flag_of(setting const& which) {
    std::string flag = "--" + std::string(which.name);
    std::replace(flag.begin(), flag.end(), '.', '-');
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
}

base::error wrong_type(setting const& which, std::string_view wanted) {
    return {std::string(which.name) + " must be " + std::string(wanted)};
}

base::result<std::vector<std::string>> texts_of(setting const& which, toml::node const& node) {
    auto const* const array = node.as_array();
    if (array == nullptr) return wrong_type(which, "a list of texts");
    std::vector<std::string> all;
    for (auto const& element : *array) {
        auto const* const text = element.as_string();
        if (text == nullptr) return wrong_type(which, "a list of texts");
        all.push_back(**text);
    }
    return all;
}

base::result<void> assign_node(config& to, setting const& which, toml::node const& node) {
    if (auto const* const member = std::get_if<std::string config::*>(&which.member)) {
        if (!node.is_string()) return wrong_type(which, "a text");
        to.** member = **node.as_string();
    } else if (auto const* const flag = std::get_if<bool config::*>(&which.member)) {
        if (!node.is_boolean()) return wrong_type(which, "true or false");
        to.** flag = **node.as_boolean();
    } else if (auto const* const number = std::get_if<std::uint64_t config::*>(&which.member)) {
        if (!node.is_integer() || **node.as_integer() < 0)
            return wrong_type(which, "a whole number");
        to.** number = static_cast<std::uint64_t>(**node.as_integer());
    } else {
        auto texts = texts_of(which, node);
        if (!texts) return texts.error();
        to.*std::get<std::vector<std::string> config::*>(which.member) = std::move(*texts);
    }
    return {};
}

// Tables become dotted names.
base::result<void> assign_table(config& to, toml::table const& table, std::string const& prefix) {
    for (auto const& [key, node] : table) {
        auto const name = prefix + std::string(key.str());
        auto const line = " (line " + std::to_string(node.source().begin.line) + ")";
        if (auto const* const inner = node.as_table()) {
            if (auto const done = assign_table(to, *inner, name + "."); !done) return done;
            continue;
        }
        auto const* const which = find_setting(name);
        if (which == nullptr)
            return base::error{"there is no setting '" + name + "'" + line +
                               "; latchkey config show lists all"};
        if (auto const done = assign_node(to, *which, node); !done)
            return base::error{done.error().message + line};
    }
    return {};
}

// toml::parse_file takes what cannot be read, such as a directory, for an empty file.
base::result<void> read_file(std::string const& path, std::string& text) {
    auto* const file = std::fopen(path.c_str(), "re");
    if (file == nullptr) return base::errno_error("cannot open " + path, errno);
    char bytes[4096];
    for (std::size_t size; (size = std::fread(bytes, 1, sizeof bytes, file)) > 0;)
        text.append(bytes, size);
    auto const failure = std::ferror(file) != 0 ? errno : 0;
    std::fclose(file);
    if (failure != 0) return base::errno_error("cannot read " + path, failure);
    return {};
}

}  // namespace

std::string default_data_directory() {
    if (auto const* const state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0')
        return std::string(state) + "/latchkey";
    auto const* const home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "") + "/.local/state/latchkey";
}

base::result<config> load_config(std::string const& path) {
    config made;
    made.data = default_data_directory();
    if (path.empty()) return made;
    try {
        std::string text;
        if (auto const there = read_file(path, text); !there) return there.error();
        auto const table = toml::parse(text, path);
        if (auto const done = assign_table(made, table, ""); !done)
            return base::error{path + ": " + done.error().message};
    } catch (toml::parse_error const& wrong) {
        auto const where = wrong.source().begin;
        return base::error{path + ": " + std::string(wrong.description()) +
                           (where ? " (line " + std::to_string(where.line) + ")" : "")};
    }
    return made;
}

base::result<void> assign(config& to, setting const& which,
                          std::vector<std::string> const& values) {
    if (auto const* const list = std::get_if<std::vector<std::string> config::*>(&which.member)) {
        to.** list = values;
        return {};
    }
    auto const& text = values.back();
    if (auto const* const member = std::get_if<std::string config::*>(&which.member)) {
        to.** member = text;
    } else if (auto const* const flag = std::get_if<bool config::*>(&which.member)) {
        if (text != "true" && text != "false") return wrong_type(which, "true or false");
        to.** flag = text == "true";
    } else {
        auto& number = to.*std::get<std::uint64_t config::*>(which.member);
        auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (failure != std::errc{} || end != text.data() + text.size())
            return wrong_type(which, "a whole number");
    }
    return {};
}

void setting_flags::add_to(CLI::App& command, std::vector<std::string> const& only) {
    command.add_option("--config", file_, "TOML file with settings; flags win over it")
        ->type_name("FILE");
    config defaults;
    defaults.data = "$XDG_STATE_HOME/latchkey";
    for (auto const& which : server::settings()) {
        if (!only.empty() && std::find(only.begin(), only.end(), which.name) == only.end())
            continue;
        auto made = std::make_unique<given>();
        made->which = &which;
        made->option = command.add_option(flag_of(which), made->values, std::string(which.help));
        bool const list = std::holds_alternative<std::vector<std::string> config::*>(which.member);
        made->option->type_name(list ? "TEXT..." : "")->default_str(server::shown(defaults, which));
        made->option->expected(1)->type_size(1);
        if (list)
            made->option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        else
            made->option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        flags_.push_back(std::move(made));
    }
}

base::result<config> setting_flags::resolve(int& code) const {
    code = wrong_configuration;
    auto made = load_config(file_);
    if (!made) return made;
    for (auto const& flag : flags_) {
        if (flag->option->count() == 0) continue;
        if (auto const right = assign(*made, *flag->which, flag->values); !right) {
            code = wrong_usage;
            return base::error{flag_of(*flag->which) + ": " + right.error().message};
        }
    }
    if (auto const valid = server::validate(*made); !valid) return valid.error();
    code = done;
    return made;
}

}  // namespace latchkey::cli
