// Targets and queries. The first byte selects the method, the rest is the target of a request. The
// parser and the reference (reference.hpp) must find the same path, query and authority, or both
// refuse; the same holds for the authority checks. Then the bytes are split as a query and decoded,
// each compared with a plainer implementation.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference.hpp"
#include "wire/http/authority.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/target.hpp"

namespace {

using namespace latchkey;
using progress = http::step::progress;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

void compare_target(std::string_view method, std::string_view target) {
    auto const other = reference::read_target(method, target);
    auto const bytes =
        std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: of.field\r\n\r\n";
    static http::size_limits const limits;
    http::parser parser(limits);
    http::request request;
    http::framing framing;
    auto const step = parser.read_head(bytes, request, framing);
    require((step.state == progress::complete) == other.valid);
    if (!other.valid) return require(step.state == progress::refused);
    require(request.path == other.path && request.query == other.query);
    require(request.authority == (other.absolute ? other.authority : "of.field"));
}

// Character by character, as RFC 3986 §2.1 has it.
bool decode(std::string_view text, bool form, std::string& decoded) {
    constexpr std::string_view digits = "0123456789abcdef0123456789ABCDEF";
    for (; !text.empty(); text.remove_prefix(1)) {
        int value = static_cast<unsigned char>(text[0]);
        if (text[0] == '+' && form) value = ' ';
        if (text[0] == '%') {
            if (text.size() < 3 || text[1] == '\0' || text[2] == '\0') return false;
            auto const high = digits.find(text[1]), low = digits.find(text[2]);
            if (high == digits.npos || low == digits.npos) return false;
            value = static_cast<int>(high % 16 * 16 + low % 16);
            text.remove_prefix(2);
        }
        if (value == 0) return false;
        decoded += static_cast<char>(value);
    }
    return true;
}

void compare_encoding(std::string_view text) {
    for (bool const form : {false, true}) {
        std::string expected;
        bool const valid = decode(text, form, expected);
        auto const decoded = http::percent_decode(text, form);
        require(decoded.has_value() == valid);
        if (valid) require(*decoded == expected);
    }
    auto const encoded = http::percent_encode(text);
    for (char const each : encoded)
        require(each == '%' || ('0' <= each && each <= '9') || ('a' <= each && each <= 'z') ||
                ('A' <= each && each <= 'Z') ||
                std::string_view("-._~").find(each) != std::string_view::npos);
    auto const again = http::percent_decode(encoded, false);
    bool const has_nul = text.find('\0') != text.npos;
    require(again.has_value() == !has_nul && (has_nul || *again == text));
}

// Parameters are disjoint, in order, and cover everything but '&'.
void compare_query(std::string_view query) {
    http::query_cursor cursor(query);
    std::size_t offset = 0;
    while (auto const parameter = cursor.next()) {
        while (offset < query.size() && query[offset] == '&') ++offset;
        auto const end = std::min(query.find('&', offset), query.size());
        require(parameter->whole == query.substr(offset, end - offset) &&
                !parameter->whole.empty());
        auto const equals = parameter->whole.find('=');
        require(parameter->name == parameter->whole.substr(0, equals));
        require(parameter->value ==
                (equals == query.npos ? "" : parameter->whole.substr(equals + 1)));
        offset = end;
    }
    require(query.find_first_not_of('&', offset) == query.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size < 2) return 0;
    constexpr std::string_view methods[] = {"GET", "OPTIONS", "POST", "CONNECT"};
    std::vector<char> const copy(data + 1, data + size);
    std::string_view const text(copy.data(), copy.size());
    // A byte that ends a target cannot be part of one.
    if (text.find_first_of(" \r\n") == text.npos) compare_target(methods[data[0] % 4], text);
    require(http::is_authority(text) == reference::is_authority(text));
    compare_encoding(text);
    compare_query(text);
    return 0;
}
