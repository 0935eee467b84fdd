#include "field_encoder.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "wire/http2/header_table.hpp"

namespace load {
namespace {

namespace http2 = latchkey::http2;

constexpr unsigned char indexed_field = 0x80, added_literal = 0x40, plain_literal = 0x00,
                        table_size_update = 0x20;
constexpr std::size_t path_name = 4, content_length_name = 28;  // in the static table
constexpr std::size_t table_bytes_max = 4096;

// RFC 7541 §5.1.
void put_integer(std::size_t value, unsigned prefix_bits, unsigned char first,
                 std::string& output) {
    std::size_t const mask = (1u << prefix_bits) - 1;
    if (value < mask) return output.push_back(static_cast<char>(first | value));
    output.push_back(static_cast<char>(first | mask));
    for (value -= mask; value >= 0x80; value >>= 7)
        output.push_back(static_cast<char>(value | 0x80));
    output.push_back(static_cast<char>(value));
}

void put_string(std::string_view text, std::string& output) {
    put_integer(text.size(), 7, 0, output);
    output.append(text);
}

std::string_view without_blanks(std::string_view text) {
    auto const begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// `Name: value` of the arguments, the name in lower case (RFC 9113 §8.2).
std::pair<std::string, std::string> parse_header(std::string_view text) {
    auto const colon = text.find(':');
    if (colon == 0 || colon == text.npos)
        throw std::invalid_argument("--header '" + std::string(text) + "' is not 'Name: value'");
    std::string name(text.substr(0, colon));
    for (char& each : name)
        if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + ('a' - 'A'));
    for (std::string_view const other :
         {"connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
        if (name == other)
            throw std::invalid_argument("--header " + name + " has no place in HTTP/2");
    return {std::move(name), std::string(without_blanks(text.substr(colon + 1)))};
}

}  // namespace

field_plan::field_plan(plan const& requests, bool tls) : keys_(requests.keys()) {
    for (auto const& each : requests.kinds()) {
        auto& [front, back, constant_path] = kinds_.emplace_back();
        front = {add(":method", each.method), add(":scheme", tls ? "https" : "http"),
                 add(":authority", "localhost")};
        constant_path = each.path.constant();
        if (constant_path) {
            std::string path;
            std::uint64_t unique = 0;
            random generator(0);
            each.path.append(path, generator, unique);
            front.push_back(add(":path", path));
        }
        for (auto const& header : requests.headers()) {
            auto const [name, value] = parse_header(header);
            back.push_back(add(name, value));
        }
        if (each.has_body) back.push_back(add("content-type", "application/json"));
    }
    for (std::size_t i = 0; i < (few_keys() ? keys_.size() : 1); ++i)
        key_fields_.push_back(add("x-api-key", keys_[i]));
}

std::size_t field_plan::add(std::string_view name, std::string_view value) {
    field result{std::string(name), std::string(value), 0, 0, fields_.size()};
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (fields_[i].name != name) continue;
        if (fields_[i].value == value) return i;
        result.name_source = std::min(result.name_source, i);
    }
    auto const entries = http2::static_table();
    for (std::size_t i = entries.size(); i > 0; --i) {
        if (entries[i - 1].name != name) continue;
        result.static_name = i;
        if (entries[i - 1].value == value) result.static_field = i;
    }
    fields_.push_back(std::move(result));
    return fields_.size() - 1;
}

void field_encoder::set_table_limit(std::size_t bytes) {
    auto const limit = std::min(bytes, table_bytes_max);
    if (limit == table_limit_) return;
    table_limit_ = limit;
    table_bytes_ = newest_ = 0;
    std::ranges::fill(numbers_, 0);
    limit_changed_ = true;
}

void field_encoder::encode(plan::selection const& choice, std::string_view path,
                           std::string_view content_length, std::string& output) {
    if (std::exchange(limit_changed_, false)) {
        put_integer(0, 5, table_size_update, output);
        put_integer(table_limit_, 5, table_size_update, output);
    }
    auto const& kind = fields_.of_kind(choice.kind);
    for (auto const each : kind.front) put(each, output);
    if (!kind.constant_path) {
        put_integer(path_name, 4, plain_literal, output);
        put_string(path, output);
    }
    if (fields_.has_keys()) put_key(choice.key, output);
    for (auto const each : kind.back) put(each, output);
    if (content_length.empty()) return;
    put_integer(content_length_name, 4, plain_literal, output);
    put_string(content_length, output);
}

void field_encoder::put(std::size_t index, std::string& output) {
    auto const& field = fields_.fields()[index];
    if (field.static_field != 0) return put_integer(field.static_field, 7, indexed_field, output);
    if (auto const number = numbers_[index]; number != 0)
        return put_integer(http2::static_table().size() + 1 + newest_ - number, 7, indexed_field,
                           output);
    put_literal(index, field.value, true, output);
}

void field_encoder::put_key(std::size_t index, std::string& output) {
    if (fields_.few_keys()) return put(fields_.key_field(index), output);
    auto const name_field = fields_.key_field(0);
    put_literal(name_field, fields_.key(index), numbers_[name_field] == 0, output);
}

void field_encoder::put_literal(std::size_t index, std::string_view value, bool is_entry,
                                std::string& output) {
    auto const& field = fields_.fields()[index];
    auto name_index = field.static_name;
    if (auto const number = numbers_[field.name_source]; name_index == 0 && number != 0)
        name_index = http2::static_table().size() + 1 + newest_ - number;
    auto const bytes = field.name.size() + value.size() + http2::entry_overhead_bytes;
    is_entry = is_entry && table_bytes_ + bytes <= table_limit_;
    if (is_entry)
        put_integer(name_index, 6, added_literal, output);
    else
        put_integer(name_index, 4, plain_literal, output);
    if (name_index == 0) put_string(field.name, output);
    put_string(value, output);
    if (!is_entry) return;
    table_bytes_ += bytes;
    numbers_[index] = ++newest_;
}

}  // namespace load
