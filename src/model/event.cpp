#include "model/event.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace latchkey::model {
namespace {

constexpr std::uint8_t event_version = 1;
constexpr std::size_t mark_bytes = std::tuple_size_v<event_mark>;
constexpr std::array<std::string_view, event_format_count> format_names{"standard", "github",
                                                                        "stripe"};

}  // namespace

std::string_view name_of(event_format format) {
    return format_names[static_cast<std::size_t>(format)];
}

std::optional<event_format> find_event_format(std::string_view name) {
    for (std::size_t i = 0; i < event_format_count; ++i)
        if (format_names[i] == name) return static_cast<event_format>(i);
    return std::nullopt;
}

void encode(event_view const& record, std::string& output) {
    output.clear();
    base::append(output, event_version);
    base::append(output, record.received_at);
    base::append(output, record.key_id);
    base::append(output, static_cast<std::uint8_t>(record.verified ? 1 : 0));
    base::append(output, static_cast<std::uint8_t>(record.marks.size() / mark_bytes));
    output.append(record.marks);
    base::append_text(output, record.source);
    base::append_text(output, record.delivery_id);
    base::append(output, static_cast<std::uint32_t>(record.payload.size()));
    output.append(record.payload);
}

std::optional<event_view> decode_event(model::id id, std::string_view bytes) {
    base::reader input(bytes);
    if (input.integer<std::uint8_t>() != event_version) return std::nullopt;
    event_view view;
    view.id = id;
    view.received_at = input.integer<base::wall_ms>();
    view.key_id = input.integer<model::id>();
    auto const verified = input.integer<std::uint8_t>();
    auto const marks = input.integer<std::uint8_t>();
    view.marks = input.bytes(marks * mark_bytes);
    view.source = input.text();
    view.delivery_id = input.text();
    view.payload = input.bytes(input.integer<std::uint32_t>());
    if (!input.done() || verified > 1 || marks > event_marks_max) return std::nullopt;
    view.verified = verified == 1;
    return view;
}

bool is_delivery_id(std::string_view text) {
    return !text.empty() && text.size() <= delivery_id_bytes_max &&
           std::ranges::all_of(text, [](char byte) { return byte > ' ' && byte < '\x7f'; });
}

}  // namespace latchkey::model
