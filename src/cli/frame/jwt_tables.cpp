#include "cli/frame/jwt_tables.hpp"

#include <string>
#include <variant>

namespace latchkey::cli {
namespace {

using server::jwt_settings;

struct jwt_member {
    std::string_view name;
    std::variant<std::string jwt_settings::*, std::vector<std::string> jwt_settings::*,
                 std::uint64_t jwt_settings::*>
        member;
};
constexpr jwt_member jwt_members[] = {
    {"issuer", &jwt_settings::issuer},
    {"audience", &jwt_settings::audience},
    {"jwks", &jwt_settings::jwks},
    {"algorithms", &jwt_settings::algorithms},
    {"leeway_seconds", &jwt_settings::leeway_seconds},
    {"subject", &jwt_settings::subject},
    {"scopes", &jwt_settings::scopes},
    {"type", &jwt_settings::type},
};

base::error at_line(toml::node const& node, std::string const& sentence) {
    return {sentence + " (line " + std::to_string(node.source().begin.line) + ")"};
}

base::result<void> assign_member(jwt_settings& table, jwt_member const& entry,
                                 toml::node const& node) {
    auto const name = "jwt." + std::string(entry.name);
    if (auto const* const text = std::get_if<std::string jwt_settings::*>(&entry.member)) {
        if (!node.is_string()) return at_line(node, name + " must be a string");
        table.** text = **node.as_string();
        return {};
    }
    if (auto const* const number = std::get_if<std::uint64_t jwt_settings::*>(&entry.member)) {
        if (!node.is_integer() || **node.as_integer() < 0)
            return at_line(node, name + " must be a whole number");
        table.** number = static_cast<std::uint64_t>(**node.as_integer());
        return {};
    }
    auto& list = table.*std::get<std::vector<std::string> jwt_settings::*>(entry.member);
    list.clear();
    if (node.is_string()) {
        list.push_back(**node.as_string());
        return {};
    }
    auto const* const array = node.as_array();
    if (array == nullptr) return at_line(node, name + " must be a string or a list of strings");
    for (auto const& element : *array) {
        if (!element.is_string()) return at_line(element, name + " must be a list of strings");
        list.push_back(**element.as_string());
    }
    return {};
}

base::result<void> take_table(toml::table const& members, jwt_settings& table) {
    for (auto const& [key, node] : members) {
        jwt_member const* match = nullptr;
        for (auto const& each : jwt_members)
            if (each.name == key.str()) match = &each;
        if (match == nullptr)
            return at_line(node, "there is no setting 'jwt." + std::string(key.str()) + "'");
        if (auto const outcome = assign_member(table, *match, node); !outcome) return outcome;
    }
    return {};
}

}  // namespace

base::result<void> take_jwt_tables(toml::node const& node, std::vector<jwt_settings>& tables) {
    auto const* const array = node.as_array();
    if (array == nullptr)
        return at_line(node, "jwt is a list of tables: write [[jwt]] above each of them");
    for (auto const& element : *array) {
        auto const* const members = element.as_table();
        if (members == nullptr) return at_line(element, "jwt must have tables alone: [[jwt]]");
        if (auto const outcome = take_table(*members, tables.emplace_back()); !outcome)
            return outcome;
    }
    return {};
}

}  // namespace latchkey::cli
