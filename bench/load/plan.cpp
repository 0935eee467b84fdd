#include "plan.hpp"

#include <charconv>
#include <utility>

namespace load {
namespace {

constexpr std::uint64_t weight_max = 1000;

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc{} || end != text.data() + text.size())
        throw std::invalid_argument("'" + std::string(text) + "' is not a number");
    return value;
}

void append_number(std::string& output, std::uint64_t value) {
    char digits[24];
    output.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

kind parse(std::string_view text) {
    auto rest = text;
    std::uint64_t weight = 1;
    if (auto const star = rest.find('*'); star != rest.npos && star < rest.find(' ')) {
        weight = number(rest.substr(0, star));
        rest.remove_prefix(star + 1);
    }
    if (weight == 0 || weight > weight_max)
        throw std::invalid_argument("a weight is between 1 and 1000");
    auto const space = rest.find(' ');
    if (space == rest.npos || space + 1 >= rest.size() || rest[space + 1] != '/')
        throw std::invalid_argument("'" + std::string(text) + "' is not METHOD /PATH [BODY]");
    auto const method = rest.substr(0, space);
    rest.remove_prefix(space + 1);
    auto const end = rest.find(' ');
    auto const body = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    return {std::string(text),   weight,
            std::string(method), text_template(rest.substr(0, end)),
            text_template(body), !body.empty()};
}

}  // namespace

text_template::text_template(std::string_view text) {
    while (!text.empty()) {
        auto const open = text.find('{');
        auto const close = open == text.npos ? text.npos : text.find('}', open);
        auto const inner =
            close == text.npos ? std::string_view() : text.substr(open + 1, close - open - 1);
        auto const dots = inner.find("..");
        bool const range =
            dots != inner.npos && inner.find_first_not_of("0123456789.") == inner.npos;
        if (inner != "unique" && !range) {
            // A literal brace (JSON), or the end of the text.
            auto const size = open == text.npos ? text.size() : open + 1;
            pieces_.push_back({piece::kind::literal, std::string(text.substr(0, size))});
            text.remove_prefix(size);
            continue;
        }
        pieces_.push_back({piece::kind::literal, std::string(text.substr(0, open))});
        if (range) {
            auto const low = number(inner.substr(0, dots)), high = number(inner.substr(dots + 2));
            if (low > high) throw std::invalid_argument("a range {a..b} needs a ≤ b");
            pieces_.push_back({piece::kind::range, {}, low, high});
        } else {
            pieces_.push_back({piece::kind::unique, {}});
        }
        text.remove_prefix(close + 1);
    }
}

void text_template::append(std::string& output, random& generator, std::uint64_t& unique) const {
    for (auto const& each : pieces_) {
        if (each.type == piece::kind::literal)
            output.append(each.literal);
        else if (each.type == piece::kind::range)
            append_number(output, each.low + generator.below(each.high - each.low + 1));
        else
            append_number(output, std::exchange(unique, unique + unique_step));
    }
}

plan::plan(std::vector<std::string> const& requests, std::vector<std::string> keys,
           std::vector<std::string> const& headers, bool cycle_keys)
    : keys_(std::move(keys)), headers_(headers), cycle_(cycle_keys) {
    for (auto const& text : requests) {
        kinds_.push_back(parse(text));
        weighted_kinds_.insert(weighted_kinds_.end(), kinds_.back().weight, kinds_.size() - 1);
    }
    for (auto const& each : headers_) fixed_.append(each).append("\r\n");
}

plan::selection plan::select(random& generator, std::uint64_t& turn) const {
    selection result;
    if (weighted_kinds_.size() != 1)
        result.kind = weighted_kinds_[generator.below(weighted_kinds_.size())];
    if (keys_.size() > 1)
        result.key = cycle_ ? turn++ % keys_.size() : generator.below(keys_.size());
    return result;
}

std::size_t plan::append(std::string& output, random& generator, std::uint64_t& unique,
                         std::uint64_t& turn) const {
    auto const [index, key] = select(generator, turn);
    auto const& entry = kinds_[index];
    output.append(entry.method).push_back(' ');
    entry.path.append(output, generator, unique);
    output.append(" HTTP/1.1\r\nHost: localhost\r\n").append(fixed_);
    if (!keys_.empty())
        // A JWT is accepted there alone (api.md §19).
        output.append(keys_[key].starts_with("eyJ") ? "Authorization: Bearer " : "X-API-Key: ")
            .append(keys_[key])
            .append("\r\n");
    if (!entry.has_body) {
        output.append("\r\n");
        return index;
    }
    // Content-Length has a fixed width and is filled in after the body.
    output.append("Content-Type: application/json\r\nContent-Length: ");
    auto const length_position = output.size();
    output.append("000000\r\n\r\n");
    auto const begin = output.size();
    entry.body.append(output, generator, unique);
    auto size = output.size() - begin;
    for (auto digit = length_position + 6; digit != length_position; size /= 10)
        output[--digit] = static_cast<char>('0' + size % 10);
    return index;
}

}  // namespace load
