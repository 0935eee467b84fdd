#include "api/capabilities.hpp"

#include <algorithm>
#include <array>

namespace latchkey::api {
namespace {

constexpr auto type_count = [] {
    std::size_t count = 0;
    for (auto const& kind : all_records)
        for (auto const& each : kind.changes)
            count = std::max(count, static_cast<std::size_t>(each.type) + 1);
    return count;
}();

// By type, so that a change finds its kind without a search.
constexpr auto kinds = [] {
    std::array<record_kind const*, type_count> result{};
    for (auto const& kind : all_records)
        for (auto const& each : kind.changes) result[static_cast<std::size_t>(each.type)] = &kind;
    return result;
}();
static_assert(std::ranges::find(kinds, nullptr) == kinds.end(), "a type of change has no kind");

}  // namespace

std::span<record_kind const> record_kinds() {
    return all_records;
}

record_kind const& kind_of(model::change_type type) {
    return *kinds[static_cast<std::size_t>(type)];
}

}  // namespace latchkey::api
