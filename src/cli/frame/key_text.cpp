#include "cli/frame/key_text.hpp"

#include <boost/json/object.hpp>

#include "base/visible.hpp"

namespace latchkey::cli {
namespace {

std::string limits_text(json_object const& key) {
    std::string text;
    for (auto const* const limit : objects_of(key, "rate_limits"))
        text.append(text.empty() ? "" : "; ").append(limit_text(*limit));
    return text.empty() ? "none" : text;
}

}  // namespace

std::string credential_of(json_object const& key) {
    if (text_of(key, "kind") == "jwt")
        return "jwt " + text_of(key, "issuer") + " " + text_of(key, "subject");
    auto const start = text_of(key, "start");
    return start.empty() ? "(imported)" : start + "…" + text_of(key, "last4");
}

std::string limit_text(json_object const& limit) {
    auto text = text_of(limit, "name") + " " + text_of(limit, "limit") + " in " +
                text_of(limit, "window_seconds") + " s";
    if (number_of(limit, "burst") != number_of(limit, "limit"))
        text += ", burst " + text_of(limit, "burst");
    return text;
}

std::vector<std::vector<std::string>> key_rows(json_object const& key) {
    std::vector<std::vector<std::string>> rows;
    for (auto const* const name : {"id", "name", "project", "environment", "state"})
        rows.push_back({name, text_of(key, name)});
    rows.push_back({"key", credential_of(key)});
    rows.push_back({"expires", time_of(key, "expires_at", "never")});
    rows.push_back({"last used", time_of(key, "last_used_at")});
    rows.push_back({"scopes", words_of(key, "scopes")});
    rows.push_back({"created", time_of(key, "created_at")});
    rows.push_back({"created by", text_of(key, "created_by", "the command line")});
    rows.push_back({"not before", time_of(key, "not_before")});
    rows.push_back({"deactivated",
                    time_of(key, "deactivated_at") + " " + text_of(key, "deactivation_reason")});
    rows.push_back({"replaces", text_of(key, "replaces", "-")});
    rows.push_back({"replaced by", text_of(key, "replaced_by", "-")});
    rows.push_back({"rotation ends", time_of(key, "rotation_ends_at")});
    for (auto const* const limit : objects_of(key, "rate_limits")) {
        auto const text = limit_text(*limit);
        auto const space = text.find(' ');
        rows.push_back({"limit " + text.substr(0, space), text.substr(space + 1)});
    }
    for (auto const& each : list_of(key, "ip_allowlist"))
        if (auto const* const network = each.if_string())
            rows.push_back({"allowed from", std::string(*network)});
    auto const& metadata = object_of(key, "metadata");
    for (auto const& [name, value] : metadata)
        rows.push_back({"metadata " + std::string(name), text_of(metadata, name)});
    return rows;
}

std::vector<std::string> settings_of(json_object const& key) {
    std::vector<std::string> lines;
    auto const add = [&](std::string const& name, std::string const& value) {
        lines.push_back("  " + name + ": " + base::visible(value));
    };
    add("environment", text_of(key, "environment"));
    if (auto const time = time_of(key, "not_before", ""); !time.empty()) add("works from", time);
    add("expires", time_of(key, "expires_at", "never"));
    add("rate limits", limits_text(key));
    auto const networks = words_of(key, "ip_allowlist");
    add("allowed from", networks.empty() ? "anywhere" : networks);
    auto const& metadata = object_of(key, "metadata");
    for (auto const& [name, value] : metadata)
        add("metadata " + std::string(name), text_of(metadata, name));
    return lines;
}

}  // namespace latchkey::cli
