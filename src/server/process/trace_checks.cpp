#include "server/process/trace_checks.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/visible.hpp"

namespace latchkey::server {
namespace {

constexpr std::size_t url_bytes_max = 2048;
constexpr std::size_t name_bytes_max = 255;

}  // namespace

base::result<void> validate_trace_endpoint(std::string const& url) {
    if (url.empty()) return {};
    auto const start = url.find("://");
    auto const rest = start == url.npos ? std::string() : url.substr(start + 3);
    auto const host = rest.substr(0, rest.find_first_of("/?#"));
    bool const is_http =
        base::begins_ignoring_case(url, "http://") || base::begins_ignoring_case(url, "https://");
    bool const is_whole =
        !host.empty() && url.size() <= url_bytes_max && std::ranges::all_of(url, [](char byte) {
            return byte > ' ' && byte < 0x7f && byte != '"' && byte != '<' && byte != '>';
        });
    // A password there would be shown by `config show`.
    if (is_http && is_whole && host.find('@') == host.npos) return {};
    return base::error{
        "tracing.endpoint must be a URL such as http://127.0.0.1:4318/v1/traces, without a user "
        "or password: header fields for those are in tracing.headers_file"};
}

base::result<void> validate_sample_ratio(double ratio) {
    if (ratio >= 0 && ratio <= 1) return {};  // not so a NaN
    return base::error{"tracing.sample_ratio must be from 0 to 1"};
}

base::result<void> validate_service_name(std::string const& name) {
    if (!name.empty() && name.size() <= name_bytes_max && base::is_visible(name)) return {};
    return base::error{"tracing.service_name must be 1 to 255 bytes of visible text (UTF-8)"};
}

}  // namespace latchkey::server
