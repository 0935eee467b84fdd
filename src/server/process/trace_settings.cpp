#include "server/process/trace_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/ascii.hpp"
#include "base/system/read_within.hpp"
#include "base/version.hpp"

namespace latchkey::server {
namespace {

constexpr std::size_t file_bytes_max = 64 * 1024;
constexpr std::size_t host_bytes_max = 255;

std::string_view trim(std::string_view text) {
    constexpr std::string_view space = " \t\r";
    auto const first = text.find_first_not_of(space);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

base::result<std::vector<trace::protocol::field>> read_header_fields(std::string const& path) {
    if (path.empty()) return std::vector<trace::protocol::field>();
    auto const failure = "tracing.headers_file: cannot read " + path;
    auto const file = base::open_to_read(path);
    if (!file.is_open()) return base::errno_error(failure, errno);
    std::string text(file_bytes_max, '\0');
    auto const size = base::read_within(file, path, text);
    if (!size) return base::error{"tracing.headers_file: " + size.error().message};
    if (*size == file_bytes_max) return base::error{failure + ": it has 64 KiB or more"};
    text.resize(*size);
    auto fields = parse_header_fields(text);
    if (!fields)
        return base::error{"tracing.headers_file: " + path + ", " + fields.error().message};
    return fields;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

trace::protocol::server_address address_of(listen_address const& address) {
    if (address.scheme == listen_address::kind::unix_socket ||
        address.scheme == listen_address::kind::passed_in)
        return {address.path, 0};
    return {address.host.text(), address.port};
}

// "https://api.example.com:8443"
trace::protocol::server_address address_of(std::string_view origin) {
    bool const tls = base::begins_ignoring_case(origin, "https://");
    origin.remove_prefix(origin.find("//") + 2);
    origin = origin.substr(0, std::min(origin.find('/'), host_bytes_max));
    trace::protocol::server_address address{std::string(origin),
                                            tls ? std::uint16_t{443} : std::uint16_t{80}};
    auto const colon = origin.rfind(':');
    if (colon == origin.npos || origin.ends_with(']')) return address;
    address.host = origin.substr(0, colon);
    std::from_chars(origin.data() + colon + 1, origin.data() + origin.size(), address.port);
    return address;
}

}  // namespace

base::result<std::vector<trace::protocol::field>> parse_header_fields(std::string_view text) {
    std::vector<trace::protocol::field> fields;
    for (std::size_t number = 1; !text.empty(); ++number) {
        auto const end = std::min(text.find('\n'), text.size());
        auto const line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) continue;
        auto const colon = line.find(':');
        auto const name = line.substr(0, colon);
        auto const value = colon == line.npos ? std::string_view() : trim(line.substr(colon + 1));
        bool const is_visible =
            std::ranges::all_of(value, [](char byte) { return byte >= ' ' && byte < 0x7f; });
        if (!base::is_token(name) || value.empty() || !is_visible ||
            line.size() > trace::protocol::text_bytes_max)
            return base::error{"line " + std::to_string(number) +
                               " is no header field such as Authorization: Bearer abc"};
        if (fields.size() == trace::protocol::fields_max)
            return base::error{"line " + std::to_string(number) + " is one field too many: " +
                               std::to_string(trace::protocol::fields_max) + " are taken"};
        fields.push_back({std::string(name), std::string(value)});
    }
    return fields;
}

base::result<trace::protocol::settings> read_trace_settings(
    config const& configuration, std::span<listen_sockets const> sockets) {
    trace::protocol::settings settings;
    settings.endpoint = configuration.tracing_endpoint;
    settings.service_name = configuration.tracing_service_name;
    settings.service_version = LATCHKEY_VERSION;
    settings.instance_id = host_name() + "/" + std::to_string(::getpid());
    auto fields = read_header_fields(configuration.tracing_headers_file);
    if (!fields) return fields.error();
    settings.fields = std::move(*fields);
    if (!configuration.base_url.empty()) {
        settings.plain = settings.tls = address_of(configuration.base_url);
        return settings;
    }
    for (auto const& each : sockets) {
        auto& target = each.address().tls() ? settings.tls : settings.plain;
        if (target.host.empty()) target = address_of(each.address());
    }
    return settings;
}

base::result<void> check_trace_headers(config const& configuration) {
    auto const fields = read_header_fields(configuration.tracing_headers_file);
    if (!fields) return fields.error();
    return {};
}

}  // namespace latchkey::server
