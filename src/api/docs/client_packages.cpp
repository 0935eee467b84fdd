#include "api/docs/client_packages.hpp"

#include "api/docs/html.hpp"
#include "base/ascii.hpp"

namespace latchkey::api {
namespace {

using std::string;

void append_package(html& output, client_package const& package, std::string_view base_url) {
    auto const origin = base_url.empty() ? std::string_view("https://127.0.0.1:8443") : base_url;
    auto const& kind = *package.kind;
    auto const path = string(clients_path).append("/").append(kind.name);
    output.heading("h2", base::to_lower(kind.language), kind.language);
    output.block("sh", string(kind.command).append(" ").append(origin).append(path) + "\n");
    output.raw("<p>").link(path, kind.name);
    output.raw(", ").text(std::to_string(package.bytes.size())).raw(" bytes</p>\n");
}

}  // namespace

std::string clients_content(std::span<client_package const> packages, std::string_view base_url) {
    string markup;
    html output(markup);
    output.raw("<h1>Client packages</h1>\n<p class=\"lead\">The client libraries of version ")
        .text(LATCHKEY_VERSION)
        .raw(", which is that of this service. ")
        .link("/docs/client-libraries", "The guide")
        .raw(" says what they do.</p>\n");
    for (auto const& each : packages) append_package(output, each, base_url);
    if (packages.empty())
        output.marked(
            "This service has none to hand out. Its Debian package `latchkey-clients` of the same "
            "version has them, and a reload of the service finds them. The sources of the service "
            "make them with `tools/clients/build`.");
    else
        output.heading("h2", "authority", "A certificate of your own authority")
            .marked("npm takes the file with its certificate from `--cafile`, pip from `--cert`.");
    return markup;
}

}  // namespace latchkey::api
