#include "cli/frame/jwt_tables.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "cli/frame/setting_faults.hpp"

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
    {"jwt.issuer", &jwt_settings::issuer},
    {"jwt.audience", &jwt_settings::audience},
    {"jwt.jwks", &jwt_settings::jwks},
    {"jwt.algorithms", &jwt_settings::algorithms},
    {"jwt.leeway_seconds", &jwt_settings::leeway_seconds},
    {"jwt.subject", &jwt_settings::subject},
    {"jwt.scopes", &jwt_settings::scopes},
    {"jwt.type", &jwt_settings::type},
};

std::uint32_t line_of(toml::node const& node) {
    return node.source().begin.line;
}

// One table, whose number is that of the last one of the reading.
class table_reader {
  public:
    explicit table_reader(jwt_reading& target)
        : target_(target), table_(target.tables.emplace_back()) {}

    void read(toml::table const& members);

  private:
    void refuse(std::string const& setting, toml::node const& node, std::string const& wish) {
        target_.faults.push_back({setting, setting + " must be " + wish, line_of(node), number()});
    }
    std::size_t number() const { return target_.tables.size() - 1; }
    void assign(jwt_member const& member, toml::node const& node);
    void assign_list(jwt_member const& member, toml::node const& node,
                     std::vector<std::string>& list);

    jwt_reading& target_;
    jwt_settings& table_;
};

void table_reader::assign_list(jwt_member const& member, toml::node const& node,
                               std::vector<std::string>& list) {
    std::string const name(member.name);
    list.clear();
    if (node.is_string()) return list.push_back(**node.as_string());
    auto const* const array = node.as_array();
    if (array == nullptr) return refuse(name, node, "a string or a list of strings");
    for (auto const& element : *array) {
        if (element.is_string())
            list.push_back(**element.as_string());
        else
            refuse(name, element, "a list of strings");
    }
}

void table_reader::assign(jwt_member const& member, toml::node const& node) {
    std::string const name(member.name);
    if (auto const* const text = std::get_if<std::string jwt_settings::*>(&member.member)) {
        if (!node.is_string()) return refuse(name, node, "a string");
        table_.** text = **node.as_string();
    } else if (auto const* const number =
                   std::get_if<std::uint64_t jwt_settings::*>(&member.member)) {
        if (!node.is_integer() || **node.as_integer() < 0)
            return refuse(name, node, "a whole number");
        table_.** number = static_cast<std::uint64_t>(**node.as_integer());
    } else {
        assign_list(member, node,
                    table_.*std::get<std::vector<std::string> jwt_settings::*>(member.member));
    }
}

void table_reader::read(toml::table const& members) {
    std::vector<std::string_view> names;
    for (auto const& each : jwt_members) {
        names.push_back(each.name);
        target_.lines[each.name].push_back(line_of(members));
    }
    for (auto const& [key, node] : members) {
        auto const name = "jwt." + std::string(key.str());
        auto const match = std::ranges::find(jwt_members, name, &jwt_member::name);
        if (match == std::end(jwt_members)) {
            target_.faults.push_back({name,
                                      "there is no setting '" + name + "'" + hint_of(name, names),
                                      line_of(node), number()});
            continue;
        }
        target_.lines[match->name].back() = line_of(node);
        assign(*match, node);
    }
}

}  // namespace

jwt_reading read_jwt_tables(toml::node const& node) {
    jwt_reading result;
    auto const* const array = node.as_array();
    if (array == nullptr) {
        result.faults.push_back(
            {"jwt", "jwt is a list of tables: write [[jwt]] above each of them", line_of(node)});
        return result;
    }
    for (auto const& element : *array) {
        if (auto const* const members = element.as_table())
            table_reader(result).read(*members);
        else
            result.faults.push_back(
                {"jwt", "jwt must have tables alone: [[jwt]]", line_of(element)});
    }
    return result;
}

}  // namespace latchkey::cli
