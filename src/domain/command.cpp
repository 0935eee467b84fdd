#include "domain/command.hpp"

#include <algorithm>

namespace latchkey::domain {
namespace {

std::size_t text_bytes(std::optional<std::string> const& text) {
    return text ? text->size() : 0;
}

std::size_t bytes_of(create_user const& action) {
    return action.name.size() + action.email.size();
}
std::size_t bytes_of(change_user const& action) {
    return text_bytes(action.name) + text_bytes(action.email);
}
std::size_t bytes_of(delete_user const&) {
    return 0;
}
std::size_t bytes_of(create_post const& action) {
    return action.title.size() + action.body.size();
}
std::size_t bytes_of(change_post const& action) {
    return text_bytes(action.title) + text_bytes(action.body);
}
std::size_t bytes_of(delete_post const&) {
    return 0;
}
std::size_t bytes_of(create_key const& action) {
    auto const& key = action.record;
    std::size_t bytes = key.name.size() + key.project.size() +
                        key.rate_limits.size() * sizeof(model::rate_limit) +
                        key.ip_allowlist.size() * sizeof(model::cidr);
    for (auto const& [name, value] : key.metadata) bytes += name.size() + value.size() + 64;
    return bytes;
}
std::size_t bytes_of(change_key const& action) {
    std::size_t bytes = text_bytes(action.name);
    for (auto const& [name, value] : action.metadata) bytes += name.size() + text_bytes(value) + 64;
    return bytes + action.expected.size() * sizeof(expected_member);
}
std::size_t bytes_of(rotate_key const&) {
    return 0;
}
std::size_t bytes_of(deactivate_key const&) {
    return 0;
}
std::size_t bytes_of(reactivate_key const&) {
    return 0;
}
std::size_t bytes_of(end_sessions const&) {
    return 0;
}
std::size_t bytes_of(note_key_uses const& action) {
    return action.uses.size() * sizeof(key_use) + action.exposed.size() * sizeof(model::digest);
}
std::size_t bytes_of(note_key_times const& action) {
    return action.keys.size() * sizeof(model::id);
}
std::size_t bytes_of(create_webhook const& action) {
    auto const& record = action.record;
    std::size_t bytes = record.url.size() + record.description.size();
    for (auto const& type : record.types) bytes += sizeof type + type.size();
    for (auto const& [name, value] : record.headers) bytes += 64 + name.size() + value.size();
    return bytes;
}
std::size_t bytes_of(change_webhook const& action) {
    std::size_t bytes = text_bytes(action.url) + text_bytes(action.description);
    if (action.types)
        for (auto const& type : *action.types) bytes += sizeof type + type.size();
    for (auto const& each : action.headers)
        bytes += sizeof each + each.name.size() + text_bytes(each.value);
    return bytes + action.expected.size() * sizeof(expected_member);
}
std::size_t bytes_of(delete_webhook const&) {
    return 0;
}
std::size_t bytes_of(rotate_webhook_secret const&) {
    return 0;
}
std::size_t bytes_of(test_webhook const&) {
    return 0;
}
std::size_t bytes_of(replay_webhook const& action) {
    return action.sequences.size() * sizeof(model::id);
}
std::size_t bytes_of(note_deliveries const& action) {
    std::size_t bytes = 0;
    for (auto const& result : action.results) {
        bytes += sizeof result + result.replays.size() * sizeof(model::webhook_replay);
        for (auto const& delivery : result.deliveries) {
            bytes += sizeof delivery;
            for (auto const& attempt : delivery.attempts)
                bytes += sizeof attempt + attempt.error.size() + attempt.response.size();
        }
    }
    return bytes;
}
std::size_t bytes_of(take_delivery_lease const& action) {
    return action.node.size();
}
std::size_t bytes_of(await_position const&) {
    return 0;
}
std::size_t bytes_of(raise_schema const&) {
    return 0;
}
std::size_t bytes_of(refuse const& action) {
    return action.detail.size();
}

std::size_t bytes_of(std::optional<tag_list> const& list) {
    return list ? list->tags.size() * sizeof list->tags[0] : 0;
}
std::size_t bytes_of(put_event_secret const& action) {
    return action.source.size();
}
std::size_t bytes_of(delete_event_secret const& action) {
    return action.source.size();
}
std::size_t bytes_of(receive_event const& action) {
    return action.payload.size() + action.delivery_id.size() + sizeof(model::event_mark);
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
