#include "model/webhook_url.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.hpp"
#include "model/public_address.hpp"

namespace latchkey::model {
namespace {

constexpr std::size_t name_bytes_max = 253, label_bytes_max = 63;  // RFC 1035 §2.3.4

// Not of the public name space (RFC 6761, 6762, 8375, and ICANN's `internal`), or in use inside.
constexpr std::array<std::string_view, 7> private_suffixes{
    "localhost", "local", "internal", "home.arpa", "lan", "intranet", "localdomain"};
// Where clouds answer with credentials of the machine.
constexpr std::array<std::string_view, 4> metadata_names{"metadata.google.internal",
                                                         "metadata.goog", "metadata.azure.internal",
                                                         "instance-data.ec2.internal"};

// What RFC 3986 has in a URL: visible ASCII without delimiters that parsers treat differently.
bool is_url_byte(char byte) {
    return byte > ' ' && byte < 0x7f &&
           std::string_view("\"<>\\^`{|}").find(byte) == std::string_view::npos;
}

// Equal to the suffix, or below it.
bool is_below(std::string_view name, std::string_view suffix) {
    return name.ends_with(suffix) &&
           (name.size() == suffix.size() || name[name.size() - suffix.size() - 1] == '.');
}

bool is_label(std::string_view label) {
    return !label.empty() && label.size() <= label_bytes_max && label.front() != '-' &&
           label.back() != '-' && std::ranges::all_of(label, [](char byte) {
               return base::is_letter(byte) || base::is_digit(byte) || byte == '-';
           });
}

// Labels of letters, digits and hyphens (RFC 1123 §2.1), at least two. The last one begins with a
// letter: what ends in a number is an address to inet_aton() and to WHATWG URL.
bool is_name(std::string_view name) {
    if (name.size() > name_bytes_max || name.find('.') == name.npos) return false;
    for (auto rest = name;;) {
        auto const dot = rest.find('.');
        if (!is_label(rest.substr(0, dot))) return false;
        if (dot == rest.npos) return base::is_letter(rest.front());
        rest.remove_prefix(dot + 1);
    }
}

char const* check_name(std::string_view name, bool private_names) {
    if (!is_name(name))
        return "must have a host that is a DNS name with a dot, or an address in its usual form";
    auto const lowered = base::to_lower(name);
    auto const is_suffix = [&](std::string_view each) { return is_below(lowered, each); };
    if (std::ranges::any_of(metadata_names, is_suffix) ||
        (!private_names && std::ranges::any_of(private_suffixes, is_suffix)))
        return "must have a host of the public Internet";
    return nullptr;
}

// "host", "host:port" or "[address]:port" into the parts of `url`. An address has one spelling, the
// one in which it is written.
char const* read_authority(std::string_view authority, webhook_url& url) {
    auto const bracketed = authority.starts_with('[');
    auto const end = bracketed ? authority.find(']') : authority.find(':');
    if (bracketed && end == authority.npos) return "must have a closing bracket";
    url.host = bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
    if (url.host.empty()) return "must have a host";
    auto const parsed = address::parse(url.host);
    if (parsed && parsed->text() == base::to_lower(url.host)) url.address = parsed;
    if (bracketed ? !url.address || url.address->is_v4() : url.address && !url.address->is_v4())
        return "must have an IPv6 address in brackets, in its shortest form";
    auto port = authority.substr(std::min(bracketed ? end + 1 : end, authority.size()));
    if (port.empty()) return nullptr;
    if (!port.starts_with(':')) return "must have a port after a colon, or nothing, after the host";
    port.remove_prefix(1);
    auto const [stop, failure] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (failure != std::errc() || stop != port.data() + port.size() ||
        !base::is_digit(port.front()) || port.front() == '0')
        return "must have a port of 1 to 65535";
    return nullptr;
}

}  // namespace

base::result<webhook_url> check_webhook_url(std::string_view text, std::span<cidr const> allowed) {
    if (text.size() > webhook_url_bytes_max) return base::error{"must have at most 2048 bytes"};
    if (!std::ranges::all_of(text, is_url_byte))
        return base::error{"must consist of the ASCII characters that a URL may have"};
    webhook_url url;
    url.encrypted = base::begins_ignoring_case(text, "https://");
    if (!url.encrypted && (allowed.empty() || !base::begins_ignoring_case(text, "http://")))
        return base::error{"must begin with https://"};
    if (!url.encrypted) url.port = 80;
    if (text.find('#') != text.npos) return base::error{"must not have a fragment"};
    text.remove_prefix(text.find("//") + 2);
    auto const authority = text.substr(0, text.find_first_of("/?"));
    if (authority.find('@') != authority.npos) return base::error{"must not have a user name"};
    if (auto const* fault = read_authority(authority, url)) return base::error{fault};
    if (url.address) {
        if (!may_connect(*url.address, url.encrypted, allowed))
            return base::error{"must have a host of the public Internet"};
    } else if (auto const* fault = check_name(url.host, !allowed.empty())) {
        return base::error{fault};
    }
    auto const target = text.substr(authority.size());
    if (!target.empty()) url.target = target.front() == '?' ? "/" + std::string(target) : target;
    return url;
}

std::string_view origin_of(std::string_view url) {
    return url.substr(0, url.find_first_of("/?", url.find("//") + 2));
}

}  // namespace latchkey::model
