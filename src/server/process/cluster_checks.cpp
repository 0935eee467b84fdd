#include "server/process/cluster_checks.hpp"

#include <string_view>

#include "base/visible.hpp"
#include "helpers/replicate/protocol/replicate_messages.hpp"

namespace latchkey::server {
namespace {

// "postgresql://user:password@host/…"
bool has_password_in_authority(std::string_view text) {
    auto const scheme_end = text.find("://");
    if (scheme_end == text.npos) return false;
    auto const rest = text.substr(scheme_end + 3);
    auto const authority = rest.substr(0, rest.find_first_of("/?"));
    auto const user_end = authority.rfind('@');
    return user_end != text.npos && authority.substr(0, user_end).find(':') != text.npos;
}

// "password = …", "…?password=…", "sslpassword=…"
bool has_password_keyword(std::string_view text) {
    constexpr std::string_view keyword = "password";
    for (auto begin = text.find(keyword); begin != text.npos; begin = text.find(keyword, begin)) {
        begin += keyword.size();
        auto const next = text.find_first_not_of(' ', begin);
        if (next != text.npos && text[next] == '=') return true;
    }
    return false;
}

}  // namespace

// Flags are visible to all users, and `config show` prints settings.
base::result<void> validate_postgres(std::string const& text) {
    if (text.size() > replicate::protocol::conninfo_bytes_max)
        return base::error{"cluster.postgres must be at most " +
                           std::to_string(replicate::protocol::conninfo_bytes_max) + " bytes"};
    if (!has_password_in_authority(text) && !has_password_keyword(text)) return {};
    return base::error{
        "cluster.postgres must not contain a password: name a file with cluster.password_file or "
        "passfile=FILE, or set PGPASSWORD in the environment"};
}

bool is_node_name(std::string_view name) {
    return !name.empty() && name.size() <= replicate::protocol::name_bytes_max &&
           base::is_visible(name);
}

base::result<void> validate_node_name(std::string const& name) {
    if (name.empty() || is_node_name(name)) return {};
    return base::error{"cluster.name must be at most " +
                       std::to_string(replicate::protocol::name_bytes_max) +
                       " bytes of visible text (UTF-8)"};
}

}  // namespace latchkey::server
