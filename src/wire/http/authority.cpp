#include "wire/http/authority.hpp"

#include <arpa/inet.h>

#include "wire/http/byte_class.hpp"

namespace latchkey::http {
namespace {

bool is_ipv6(std::string_view text) {
    char copy[INET6_ADDRSTRLEN];
    if (text.size() >= sizeof copy) return false;
    text.copy(copy, text.size());
    copy[text.size()] = '\0';
    if (text.find('\0') != std::string_view::npos) return false;
    in6_addr address;
    return inet_pton(AF_INET6, copy, &address) == 1;
}

bool is_reg_name(std::string_view text) {
    for (std::size_t index = 0; index < text.size(); ++index) {
        if (!is(text[index], byte_class::reg_name)) return false;
        if (text[index] != '%') continue;
        if (text.size() - index < 3) return false;
        if (hexadecimal(text[index + 1]) < 0 || hexadecimal(text[index + 2]) < 0) return false;
    }
    return !text.empty();
}

// RFC 3986 allows an empty port and any number of digits; this refuses ports above 65535.
bool is_port(std::string_view text) {
    unsigned number = 0;
    for (char const byte : text) {
        if (!is_digit(byte)) return false;
        number = number * 10 + static_cast<unsigned>(byte - '0');
        if (number > 65535) return false;
    }
    return true;
}

}  // namespace

bool is_authority(std::string_view text) {
    if (text.starts_with('[')) {
        auto const end = text.find(']');
        if (end == std::string_view::npos || !is_ipv6(text.substr(1, end - 1))) return false;
        auto const rest = text.substr(end + 1);
        return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
    }
    auto const colon = text.find(':');
    if (colon == std::string_view::npos) return is_reg_name(text);
    return is_reg_name(text.substr(0, colon)) && is_port(text.substr(colon + 1));
}

// In a valid authority a colon after the last bracket separates the port.
bool has_port(std::string_view text) {
    auto const colon = text.rfind(':');
    if (colon == std::string_view::npos || !is_authority(text)) return false;
    auto const port = text.substr(colon + 1);
    return port.find(']') == port.npos && port.find_first_not_of('0') != port.npos;
}

}  // namespace latchkey::http
