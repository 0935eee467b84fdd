#include "http/authority.hpp"

#include <arpa/inet.h>

#include "http/bytes.hpp"

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
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!is(text[at], byte_class::reg_name)) return false;
        if (text[at] != '%') continue;
        if (text.size() - at < 3) return false;
        if (hexadecimal(text[at + 1]) < 0 || hexadecimal(text[at + 2]) < 0) return false;
    }
    return !text.empty();
}

// RFC 3986 allows an empty port, and any number of digits; those above 65535 name nothing.
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

}  // namespace latchkey::http
