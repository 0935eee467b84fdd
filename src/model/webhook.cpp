// Each record is a version and fixed fields in order, with lists behind their counts. The decoder
// accepts what the encoder can write and no more: unknown flags, counts beyond a bound and bytes
// left over void the record. Of a delivery's attempts the last ones are kept.
#include "model/webhook.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/bytes.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint8_t webhook_version = 1, progress_version = 1, delivery_version = 1,
                       replay_version = 1;
constexpr std::size_t webhook_end_count = 5, delivery_state_count = 3;
constexpr std::size_t type_bytes_max = 32;
constexpr std::size_t description_bytes_max = 4 * webhook_description_points_max;
constexpr std::size_t project_bytes_max = 64;
constexpr std::array<std::string_view, delivery_state_count> state_names{"pending", "delivered",
                                                                         "failed"};

constexpr std::uint8_t flag_ordered = 1, flag_v1 = 2, flag_v1a = 4, flags_known = 7;

std::uint8_t flags_of(webhook const& record) {
    return static_cast<std::uint8_t>((record.ordered ? flag_ordered : 0) |
                                     (record.signs_v1 ? flag_v1 : 0) |
                                     (record.signs_v1a ? flag_v1a : 0));
}

std::string_view view_of(std::array<unsigned char, 32> const& bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

bool read_types(base::reader& input, std::vector<std::string>& types) {
    auto const count = input.integer<std::uint8_t>();
    if (count > webhook_types_max) return false;
    types.clear();
    for (unsigned i = 0; i < count; ++i) types.emplace_back(input.text());
    return input.ok();
}

bool read_header_names(base::reader& input, webhook& record) {
    auto const count = input.integer<std::uint8_t>();
    if (count > webhook_headers_max) return false;
    for (unsigned i = 0; i < count; ++i) record.headers.emplace_back(input.text(), std::string());
    return input.ok();
}

void append(std::string& output, delivery_attempt const& attempt) {
    base::append(output, attempt.time);
    base::append(output, attempt.status);
    base::append(output, attempt.duration_ms);
    base::append_text(output, std::string_view(attempt.error).substr(0, delivery_error_bytes_max));
    base::append_text(output,
                      std::string_view(attempt.response).substr(0, delivery_response_bytes_max));
}

bool read_attempt(base::reader& input, delivery_attempt& attempt) {
    attempt.time = input.integer<base::wall_ms>();
    attempt.status = input.integer<std::uint16_t>();
    attempt.duration_ms = input.integer<std::uint32_t>();
    attempt.error = input.text();
    attempt.response = input.text();
    return input.ok() && attempt.error.size() <= delivery_error_bytes_max &&
           attempt.response.size() <= delivery_response_bytes_max;
}

}  // namespace

std::string_view name_of(webhook_end reason) {
    static constexpr std::string_view names[] = {"", "manual", "gone", "failing", "revoked"};
    return names[static_cast<std::size_t>(reason)];
}

std::string_view name_of(delivery_state state) {
    return state_names[static_cast<std::size_t>(state)];
}

std::optional<delivery_state> find_delivery_state(std::string_view name) {
    for (std::size_t i = 0; i < delivery_state_count; ++i)
        if (state_names[i] == name) return static_cast<delivery_state>(i);
    return std::nullopt;
}

bool is_same_header(std::string_view left, std::string_view right) {
    return base::equal_ignoring_case(left, right);
}

bool is_storable(webhook const& record) {
    std::size_t header_bytes = 0;
    for (auto const& [name, value] : record.headers) header_bytes += name.size() + value.size();
    return record.url.size() <= webhook_url_bytes_max && !record.types.empty() &&
           record.types.size() <= webhook_types_max &&
           std::ranges::all_of(record.types,
                               [](auto const& type) { return type.size() <= type_bytes_max; }) &&
           record.description.size() <= description_bytes_max &&
           record.max_per_second <= webhook_rate_max &&
           record.headers.size() <= webhook_headers_max &&
           header_bytes <= webhook_header_bytes_max && record.project.size() <= project_bytes_max;
}

void encode(webhook const& record, std::string& output) {
    output.clear();
    base::append(output, webhook_version);
    base::append_text(output, record.url);
    base::append(output, static_cast<std::uint8_t>(record.types.size()));
    for (auto const& type : record.types) base::append_text(output, type);
    base::append_text(output, record.description);
    base::append(output, flags_of(record));
    base::append(output, record.max_per_second);
    base::append(output, static_cast<std::uint8_t>(record.headers.size()));
    for (auto const& header : record.headers) base::append_text(output, header.first);
    base::append(output, static_cast<std::uint8_t>(record.end));
    base::append(output, record.disabled_at);
    base::append_text(output, record.project);
    base::append(output, record.created_by);
    base::append(output, record.created_at);
    base::append(output, record.updated_at);
    base::append(output, record.revision);
    output.append(view_of(record.public_key));
    base::append(output, record.rotation_ends_at);
}

std::optional<webhook> decode_webhook(model::id id, std::string_view bytes,
                                      std::string_view* rest) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != webhook_version) return std::nullopt;
    webhook record;
    record.id = id;
    record.url = input.text();
    if (!read_types(input, record.types)) return std::nullopt;
    record.description = input.text();
    auto const flags = input.integer<std::uint8_t>();
    record.max_per_second = input.integer<std::uint32_t>();
    if (!read_header_names(input, record)) return std::nullopt;
    auto const end = input.integer<std::uint8_t>();
    record.disabled_at = input.integer<base::wall_ms>();
    record.project = input.text();
    record.created_by = input.integer<model::id>();
    record.created_at = input.integer<base::wall_ms>();
    record.updated_at = input.integer<base::wall_ms>();
    record.revision = input.integer<std::uint64_t>();
    std::ranges::copy(input.bytes(record.public_key.size()), record.public_key.begin());
    record.rotation_ends_at = input.integer<base::wall_ms>();
    if (!input.ok() || (flags & ~flags_known) != 0 || end >= webhook_end_count) return std::nullopt;
    if (rest == nullptr && !input.done()) return std::nullopt;
    if (rest != nullptr) *rest = input.rest();
    record.ordered = (flags & flag_ordered) != 0;
    record.signs_v1 = (flags & flag_v1) != 0;
    record.signs_v1a = (flags & flag_v1a) != 0;
    record.end = static_cast<webhook_end>(end);
    if (!is_storable(record)) return std::nullopt;
    return record;
}

void encode(webhook_progress const& progress, std::string& output) {
    output.clear();
    base::append(output, progress_version);
    base::append(output, progress.position);
    base::append(output, progress.failing_since);
}

std::optional<webhook_progress> decode_webhook_progress(std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != progress_version) return std::nullopt;
    webhook_progress progress;
    progress.position = input.integer<model::id>();
    progress.failing_since = input.integer<base::wall_ms>();
    if (!input.done()) return std::nullopt;
    return progress;
}

void encode(delivery const& record, std::string& output) {
    output.clear();
    base::append(output, delivery_version);
    base::append(output, static_cast<std::uint8_t>(record.type));
    base::append(output, static_cast<std::uint8_t>(record.state));
    base::append(output, record.next_attempt_at);
    auto const count = std::min(record.attempts.size(), delivery_attempts_max);
    base::append(output, static_cast<std::uint8_t>(count));
    for (auto i = record.attempts.size() - count; i < record.attempts.size(); ++i)
        append(output, record.attempts[i]);
}

std::optional<delivery> decode_delivery(model::id sequence, std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != delivery_version) return std::nullopt;
    delivery record;
    record.sequence = sequence;
    auto const type = input.integer<std::uint8_t>();
    auto const state = input.integer<std::uint8_t>();
    record.next_attempt_at = input.integer<base::wall_ms>();
    auto const count = input.integer<std::uint8_t>();
    if (state >= delivery_state_count || count > delivery_attempts_max) return std::nullopt;
    record.type = static_cast<change_type>(type);
    record.state = static_cast<delivery_state>(state);
    record.attempts.resize(count);
    for (auto& each : record.attempts)
        if (!read_attempt(input, each)) return std::nullopt;
    if (!input.done()) return std::nullopt;
    return record;
}

void encode(webhook_replay const& replay, std::string& output) {
    output.clear();
    base::append(output, replay_version);
    base::append(output, replay.next);
    base::append(output, replay.last);
}

std::optional<webhook_replay> decode_webhook_replay(std::uint64_t ordinal, std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != replay_version) return std::nullopt;
    webhook_replay replay;
    replay.ordinal = ordinal;
    replay.next = input.integer<model::id>();
    replay.last = input.integer<model::id>();
    if (!input.done()) return std::nullopt;
    return replay;
}

}  // namespace latchkey::model
