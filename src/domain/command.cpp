#include "domain/command.hpp"

#include <algorithm>

namespace latchkey::domain {
namespace {

std::size_t bytes_of(std::optional<tag_list> const& list) {
    return list ? list->tags.size() * sizeof list->tags[0] : 0;
}
}  // namespace

bool tag_list::has(std::optional<model::entity_tag> const& tag) const {
    return any || (tag && std::ranges::find(tags, *tag) != tags.end());
}

bool is_kept(base::problem problem) {
    if (problem == base::problem::none) return true;
    auto const status = base::describe(problem).status;
    return status == 404 || status == 409 || status == 412 || status == 422 || status == 428;
}

std::size_t command::bytes() const {
    std::size_t bytes = sizeof *this + bytes_of(conditions.match) + bytes_of(conditions.none_match);
    for (auto const& fault : faults)
        bytes += sizeof fault + fault.location.size() + fault.detail.size();
    return bytes + std::visit([](auto const& each) { return bytes_of(each); }, action);
}

}  // namespace latchkey::domain
