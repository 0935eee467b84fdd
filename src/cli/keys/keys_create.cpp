// keys create.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>

#include "api/keys/key_body.hpp"
#include "base/system/log.hpp"
#include "cli/frame/print.hpp"
#include "cli/keys/key_options.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/keys_backend.hpp"

namespace latchkey::cli {
namespace {

struct create_options : api_command {
    key_options key;
    std::string project;
    std::string issuer, subject;  // of the tokens; empty: a key is created
};

// The fault of the body, looked for before a store is made for it; empty: there is none.
std::string fault_of(std::string_view body) {
    api::key_defaults defaults{.now = base::read_clocks().clock};
    defaults.scopes.add(model::scope::users_read);
    http::request request;
    request.body = body;
    std::vector<base::fault> faults;
    auto const creation = api::read_new_key(request, defaults, faults);
    return creation ? fault_text(faults) : error_text(creation.error());
}

int create(create_options const& options) {
    json_members members;
    if (auto const described = options.key.append_to(members, true, 0); !described)
        return report_usage_error(described.error().message);
    if (!options.project.empty()) members.text("project", options.project);
    if (options.issuer.empty() != options.subject.empty())
        return report_usage_error("--jwt-issuer and --jwt-subject belong together");
    if (!options.issuer.empty()) {
        members.text("kind", "jwt");
        members.text("issuer", options.issuer);
        members.text("subject", options.subject);
    }
    auto const body = members.end();
    if (auto const fault = options.is_remote() ? std::string() : fault_of(body); !fault.empty())
        return report_usage_error(fault);
    int code = done;
    auto const keys = open_keys(options, code, store_access::makes);
    if (keys == nullptr) return code;
    auto const document = keys->create(body);
    if (!document) return report(document.error());
    print_key(*document, options.json, true);
    if (options.issuer.empty() && text_of(parse_object(*document).value(), "expires_at").empty())
        base::log(
            "this key never expires; a lifetime of 30 to 90 days is recommended (--expires-in "
            "90d)");
    return done;
}

}  // namespace

void add_keys_create(CLI::App& keys, int& code) {
    auto* const command = keys.add_subcommand("create", "Create a key and show it once");
    auto const options = std::make_shared<create_options>();
    options->add_to(*command, {"keys.prefix"});
    options->key.add_to(*command, true);
    command->add_option("--jwt-issuer", options->issuer,
                        "A record without a secret, for tokens of this issuer (claim iss)");
    command->add_option("--jwt-subject", options->subject,
                        "Whom these tokens are for (claim sub, or as jwt.subject says)");
    command->add_option("--project", options->project,
                        "Project that the key belongs to (default: default; of a service "
                        "elsewhere, that of the key to ask with)");
    command->footer(
        "Store the key now: it cannot be shown again. To replace it later: latchkey keys rotate.\n"
        "Example: latchkey keys create --name ci --scope 'users:*' --expires-in 90d");
    command->callback([options, &code] { code = create(*options); });
}

}  // namespace latchkey::cli
