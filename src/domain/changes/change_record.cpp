#include "domain/changes/change_record.hpp"

#include "base/bytes.hpp"
#include "domain/changes/change_types.hpp"

namespace latchkey::domain {
namespace {

constexpr std::uint8_t record_version = 1;

}  // namespace

void encode(change_view const& change, std::string& output) {
    output.clear();
    base::append(output, record_version);
    base::append(output, static_cast<std::uint8_t>(change.type));
    base::append(output, change.occurred_at);
    base::append(output, change.key_id);
    base::append_text(output, change.project);
    base::append(output, change.subject);
    if (model::is_about_key(change.type)) base::append(output, change.last_used_at);
    output.append(change.record);
}

std::optional<change_view> decode_change(model::id sequence, std::string_view bytes) {
    base::reader reader(bytes);
    change_view change{.sequence = sequence};
    auto const version = reader.integer<std::uint8_t>();
    auto const type = reader.integer<std::uint8_t>();
    change.type = static_cast<model::change_type>(type);
    if (version != record_version || !is_known(change.type)) return std::nullopt;
    change.occurred_at = reader.integer<base::wall_ms>();
    change.key_id = reader.integer<model::id>();
    change.project = reader.text();
    change.subject = reader.integer<model::id>();
    if (model::is_about_key(change.type)) change.last_used_at = reader.integer<base::wall_ms>();
    if (!reader.ok()) return std::nullopt;
    change.record = reader.rest();
    return change;
}

void encode(secret_change const& change, std::string& output) {
    output.clear();
    base::append(output, change.format);
    base::append(output, static_cast<std::uint8_t>(change.removed));
    base::append_text(output, change.source);
}

std::optional<secret_change> decode_secret_change(std::string_view bytes) {
    base::reader reader(bytes);
    secret_change change;
    change.format = reader.integer<std::uint8_t>();
    change.removed = reader.integer<std::uint8_t>() != 0;
    change.source = reader.text();
    if (!reader.done()) return std::nullopt;
    return change;
}

}  // namespace latchkey::domain
