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
        throw std::invalid_argument("'" + std::string(text) + "' is no number");
    return value;
}

void append_number(std::string& to, std::uint64_t value) {
    char digits[24];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
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
            // A brace of the text's own (JSON), or its end.
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

void text_template::append(std::string& to, random& from, std::uint64_t& unique) const {
    for (auto const& each : pieces_) {
        if (each.what == piece::kind::literal)
            to.append(each.literal);
        else if (each.what == piece::kind::range)
            append_number(to, each.low + from.below(each.high - each.low + 1));
        else
            append_number(to, std::exchange(unique, unique + unique_step));
    }
}

plan::plan(std::vector<std::string> const& requests, std::vector<std::string> keys,
           std::vector<std::string> const& headers, bool cycle_keys)
    : keys_(std::move(keys)), cycle_(cycle_keys) {
    for (auto const& text : requests) {
        kinds_.push_back(parse(text));
        lots_.insert(lots_.end(), kinds_.back().weight, kinds_.size() - 1);
    }
    for (auto const& each : headers) fixed_.append(each).append("\r\n");
}

std::size_t plan::append(std::string& to, random& from, std::uint64_t& unique,
                         std::uint64_t& turn) const {
    auto const which = lots_.size() == 1 ? 0 : lots_[from.below(lots_.size())];
    auto const& what = kinds_[which];
    to.append(what.method).push_back(' ');
    what.path.append(to, from, unique);
    to.append(" HTTP/1.1\r\nHost: localhost\r\n").append(fixed_);
    if (!keys_.empty()) {
        auto const at = keys_.size() == 1 ? 0
                        : cycle_          ? turn++ % keys_.size()
                                          : from.below(keys_.size());
        to.append("X-API-Key: ").append(keys_[at]).append("\r\n");
    }
    if (!what.has_body) {
        to.append("\r\n");
        return which;
    }
    // The length stands in a field of fixed width, written once the body is there.
    to.append("Content-Type: application/json\r\nContent-Length: ");
    auto const length_at = to.size();
    to.append("000000\r\n\r\n");
    auto const begin = to.size();
    what.body.append(to, from, unique);
    auto size = to.size() - begin;
    for (auto digit = length_at + 6; digit != length_at; size /= 10)
        to[--digit] = static_cast<char>('0' + size % 10);
    return which;
}

}  // namespace load
