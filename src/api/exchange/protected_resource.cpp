// The document by which clients without a token find out whose tokens are accepted (RFC 9728).
#include "api/exchange/protected_resource.hpp"

#include "api/exchange/public_routes.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/route.hpp"
#include "base/ascii.hpp"
#include "model/scope.hpp"

namespace latchkey::api {
namespace {

constexpr std::string_view encrypted = "https://";

}  // namespace

void describe_protected_resource(std::vector<std::string> const& issuers, settings& target) {
    // §1.2, §2: the identifier is an https URL, and so are those of authorization servers.
    auto const is_url = [](std::string_view text) {
        return base::begins_ignoring_case(text, encrypted);
    };
    if (issuers.empty() || !is_url(target.base_url)) return;
    auto& output = target.protected_resource;
    output.append("{\"resource\":");
    append_string(output, target.base_url);
    std::vector<std::string_view> servers;
    for (auto const& each : issuers)
        if (is_url(each)) servers.push_back(each);
    auto const append_text = [&](std::string_view text) { append_string(output, text); };
    if (!servers.empty()) {
        append_name(output, "authorization_servers");
        append_array(output, servers, append_text);
    }
    model::scope_set scopes;
    for (unsigned i = 0; i < model::scope_count; ++i) scopes.add(static_cast<model::scope>(i));
    append_name(output, "scopes_supported");
    append_array(output, scopes.names(), append_text);
    append_name(output, "bearer_methods_supported");
    output.append(R"(["header"])");
    append_name(output, "resource_documentation");
    append_string(output, target.base_url + "/docs");
    output.push_back('}');
    target.challenge =
        ", resource_metadata=\"" + target.base_url + std::string(protected_resource_path) + "\"";
}

std::optional<api_error> show_protected_resource(public_request const& call,
                                                 http::response& response) {
    if (call.settings.protected_resource.empty())
        return make_error(base::problem::route_not_found, "No issuer of tokens is configured.");
    response.content_type = http::content::json;
    response.add("Cache-Control", "public, max-age=300");
    response.body.append(call.settings.protected_resource);
    return std::nullopt;
}

}  // namespace latchkey::api
