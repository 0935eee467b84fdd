#include "api/frame/rendered_changes.hpp"

#include "api/frame/change_json.hpp"
#include "api/frame/json/json_writer.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::api {
namespace {

constexpr std::size_t kept_bytes_max = 64 * 1024;  // of one text

void render(domain::change_view const& change, std::string& output) {
    output.assign("id: ");
    append_number(output, change.sequence);
    output.append("\nevent: ").append(domain::name_of(change.type)).append("\ndata: ");
    append_change(output, change);
    output.append("\n\n");
}

}  // namespace

domain::change_bounds const& rendered_changes::bounds(domain::snapshot const& snapshot) {
    if (snapshot.version() == version_) return bounds_;
    version_ = snapshot.version();
    bounds_ = snapshot.changes();
    return bounds_;
}

std::optional<std::string_view> rendered_changes::find(domain::snapshot const& snapshot,
                                                       model::id sequence, filter shows) {
    if (ring_.empty()) ring_.resize(changes_max);
    auto const& place = ring_[static_cast<std::size_t>(sequence) % changes_max];
    if (place.sequence == sequence)
        return shows(place.type, place.project) ? std::string_view(place.text) : std::string_view();
    auto const change = snapshot.change(sequence);
    if (!change) return std::nullopt;
    return shows(change->type, change->project) ? keep(*change) : std::string_view();
}

std::string_view rendered_changes::keep(domain::change_view const& change) {
    render(change, text_);
    if (!is_recent(change.sequence) || text_.size() > kept_bytes_max) return text_;
    if (bytes_ + text_.size() > bytes_max) {
        for (auto& each : ring_) each = {};
        bytes_ = 0;
    }
    auto& place = ring_[static_cast<std::size_t>(change.sequence) % changes_max];
    bytes_ -= place.text.size();
    place.sequence = change.sequence;
    place.type = change.type;
    place.project.assign(change.project);
    place.text.assign(text_);
    bytes_ += place.text.size();
    return place.text;
}

}  // namespace latchkey::api
