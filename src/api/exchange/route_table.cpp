// The routes of all capabilities as one table, and the look-up of a path in it (frame/route.hpp).
#include <algorithm>
#include <array>
#include <iterator>

#include "api/capabilities.hpp"
#include "api/frame/path_tree.hpp"
#include "base/ascii.hpp"
#include "base/nearest.hpp"

namespace latchkey::api {
namespace {

using http::method;

constexpr auto const& table = all_routes;

using route_tree = path_tree<std::size(table)>;

constexpr route_tree tree = [] {
    route_tree result;
    for (std::uint8_t row = 0; row < std::size(table); ++row) {
        result.add(table[row].pattern, row, false);
        if (table[row].unprefixed) result.add(table[row].pattern.substr(prefix.size()), row, true);
    }
    result.begin_below(prefix);
    return result;
}();

// The route to which all paths below it belong that no other pattern matches; null: there is none.
auto const* find_folder(std::string_view path, std::string_view& variable) {
    for (std::string_view const folder : {gateway_folder, docs_folder, problems_folder})
        if (path.starts_with(folder))
            return tree.find(folder.substr(0, folder.size() - 1), variable);
    return static_cast<route_tree::node const*>(nullptr);
}

// The patterns that a client may have meant, below the prefix where they have it.
struct known_paths {
    std::array<std::string_view, std::size(table)> patterns, names;
    std::size_t count = 0;
};

constexpr known_paths shown_paths = [] {
    known_paths result;
    for (auto const& each : table) {
        auto const* const page = std::get_if<public_route>(&each.run);
        if (page != nullptr && page->is_part) continue;
        bool const has_prefix = each.pattern.starts_with(prefix);
        result.patterns[result.count] = each.pattern;
        result.names[result.count++] = each.pattern.substr(has_prefix ? prefix.size() : 0);
    }
    return result;
}();

// A path with `{id}` in the place of its numbers; nullopt: it is longer than names that are near.
std::optional<std::string_view> without_ids(std::string_view path, std::span<char> output) {
    std::size_t size = 0;
    while (!path.empty()) {
        auto const end = std::min(path.find('/', 1), path.size());
        auto const segment = path.substr(0, end);
        auto const text = parse_id(segment.substr(1)) ? std::string_view("/{id}") : segment;
        if (text.size() > output.size() - size) return std::nullopt;
        size += text.copy(output.data() + size, text.size());
        path.remove_prefix(end);
    }
    return std::string_view(output.data(), size);
}

bool serves(route const& route, method verb) {
    return std::holds_alternative<gateway>(route.run) || route.method == verb ||
           (verb == method::head && route.method == method::get);
}

}  // namespace

std::span<route const> routes() {
    return table;
}

match find_route(method verb, std::string_view path) {
    match result;
    auto const* leaf = tree.find(path, result.variable);
    if (leaf == nullptr) leaf = find_folder(path, result.variable);
    if (leaf == nullptr) return result;
    auto const& first = table[leaf->row];
    result.pattern = first.pattern;
    result.is_public = std::holds_alternative<public_route>(first.run);
    result.gateway = std::holds_alternative<gateway>(first.run);
    result.unprefixed = leaf->is_alias;
    for (auto row = leaf->row; row != route_tree::none; row = tree.next_row(row)) {
        if (!serves(table[row], verb)) continue;
        result.route = &table[row];
        result.pattern = table[row].pattern;
        break;
    }
    return result;
}

std::optional<std::string_view> nearest_pattern(std::string_view path) {
    if (base::begins_ignoring_case(path, prefix)) path.remove_prefix(prefix.size());
    std::array<char, base::near_name_bytes_max> bytes;
    auto const name = without_ids(path, bytes);
    auto const names = std::span(shown_paths.names).first(shown_paths.count);
    auto const nearest = name ? base::nearest(*name, names) : std::nullopt;
    if (!nearest) return std::nullopt;
    return shown_paths
        .patterns[static_cast<std::size_t>(std::ranges::find(names, *nearest) - names.begin())];
}

bool ignores_body(std::string_view path) {
    return find_route(method::get, path).gateway;
}

std::optional<prefetch_hint> read_prefetch_hint(std::string_view request) {
    constexpr std::string_view verb = "GET ";
    constexpr std::size_t path_bytes_max = 64;  // of the paths that name a record
    if (!request.starts_with(verb)) return std::nullopt;
    auto const target = request.substr(verb.size(), path_bytes_max);
    auto const matched = find_route(method::get, target.substr(0, target.find(' ')));
    auto const resource = matched.record();
    auto const id = resource ? parse_id(matched.variable) : std::nullopt;
    if (!id) return std::nullopt;
    return prefetch_hint{*resource, *id};
}

bool has_twin(route const& route) {
    return std::any_of(table.data(), &route, [&](api::route const& earlier) {
        return earlier.pattern != route.pattern && is_same_path(earlier.pattern, route.pattern);
    });
}

route const* find_row(std::string_view method, std::string_view pattern) {
    auto const row = std::ranges::find_if(table, [&](route const& each) {
        return http::name_of(each.method) == method && is_same_path(each.pattern, pattern);
    });
    return row == table.end() ? nullptr : &*row;
}

std::string allowed_methods(std::string_view pattern) {
    std::string all;
    auto const add = [&](std::string_view name) {
        if (all.find(name) != all.npos) return;
        all.append(all.empty() ? "" : ", ").append(name);
    };
    for (auto const& each : table) {
        if (!pattern.empty() && !is_same_path(each.pattern, pattern)) continue;
        add(http::name_of(each.method));
        if (each.method == method::get) add("HEAD");
    }
    add("OPTIONS");
    return all;
}

}  // namespace latchkey::api
