#include "store/command.hpp"

namespace latchkey::store {
namespace {

std::size_t text_bytes(std::optional<std::string> const& text) {
    return text ? text->size() : 0;
}

std::size_t bytes_of(create_user const& what) {
    return what.name.size() + what.email.size();
}
std::size_t bytes_of(change_user const& what) {
    return text_bytes(what.name) + text_bytes(what.email);
}
std::size_t bytes_of(delete_user const&) {
    return 0;
}
std::size_t bytes_of(create_post const& what) {
    return what.title.size() + what.body.size();
}
std::size_t bytes_of(change_post const& what) {
    return text_bytes(what.title) + text_bytes(what.body);
}
std::size_t bytes_of(delete_post const&) {
    return 0;
}
std::size_t bytes_of(create_key const& what) {
    auto const& key = what.record;
    std::size_t bytes = key.name.size() + key.project.size() +
                        key.rate_limits.size() * sizeof(model::rate_limit) +
                        key.ip_allowlist.size() * sizeof(model::cidr);
    for (auto const& [name, value] : key.metadata) bytes += name.size() + value.size() + 64;
    return bytes;
}
std::size_t bytes_of(change_key const& what) {
    std::size_t bytes = text_bytes(what.name);
    for (auto const& [name, value] : what.metadata) bytes += name.size() + text_bytes(value) + 64;
    return bytes + what.expected.size() * sizeof(sent_member);
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
std::size_t bytes_of(note_key_uses const& what) {
    return what.uses.size() * sizeof(key_use);
}
std::size_t bytes_of(put_event_secret const& what) {
    return what.source.size();
}
std::size_t bytes_of(delete_event_secret const& what) {
    return what.source.size();
}
std::size_t bytes_of(receive_event const& what) {
    return what.payload.size() + what.delivery_id.size() + sizeof(model::event_mark);
}

}  // namespace

std::size_t command::bytes() const {
    std::size_t bytes = sizeof *this;
    for (auto const& fault : faults) bytes += sizeof fault + fault.at.size() + fault.detail.size();
    return bytes + std::visit([](auto const& each) { return bytes_of(each); }, what);
}

}  // namespace latchkey::store
