// Keys of Kong: the declarative configuration as decK writes it in JSON. Credentials of key-auth
// lie with their consumer or, in the flat form, at the top; limits come from the plugins
// rate-limiting and rate-limiting-advanced of the consumer.
#include <boost/json/object.hpp>
#include <unordered_map>

#include "cli/keys/foreign_keys.hpp"
#include "cli/keys/foreign_values.hpp"

namespace latchkey::cli {
namespace {

constexpr std::pair<char const*, std::int64_t> periods[] = {
    {"second", 1},   {"minute", 60},       {"hour", 3600},
    {"day", 86'400}, {"month", 2'592'000}, {"year", 31'536'000},
};

using objects = std::vector<json_object const*>;

// A consumer with what the file says of it, in it or in lists of its own.
struct consumer {
    json_object const& object;
    std::string title;
    objects credentials, plugins;
    std::vector<foreign_reader::limit> limits = {};
    std::string reason = {};  // why none of its keys is taken over; empty: they are
};

// The name by which an element refers to another one: the member's text, or the name or id in its
// object.
std::string reference_of(json_object const& document, std::string_view name) {
    auto const& object = object_of(document, name);
    if (object.empty()) return text_of(document, name);
    return text_of(object, "username", text_of(object, "name", text_of(object, "id")));
}

objects credentials_of(json_object const& document, std::string const& title,
                       foreign_reader& reader) {
    auto credentials = objects_of(document, "keyauth_credentials");
    if (credentials.size() != list_of(document, "keyauth_credentials").size())
        reader.refuse(title, "an entry of its keyauth_credentials is no JSON object");
    return credentials;
}

// The consumers of a file, found by what elements name them.
class consumers {
  public:
    consumers(json_object const& document, foreign_reader& reader);
    std::vector<consumer>& all() { return all_; }

  private:
    consumer* of(json_object const& element);
    void take_flat(json_object const& document, foreign_reader& reader);

    std::vector<consumer> all_;
    std::unordered_map<std::string, std::size_t> places_;
};

consumers::consumers(json_object const& document, foreign_reader& reader) {
    std::size_t number = 0;
    for (auto const& each : list_of(document, "consumers")) {
        ++number;
        if (!each.is_object()) {
            reader.refuse("consumer number " + std::to_string(number), "it is no JSON object");
            continue;
        }
        auto const& object = each.get_object();
        auto const title =
            "consumer " + text_of(object, "username", text_of(object, "custom_id", "?"));
        all_.push_back({.object = object,
                        .title = title,
                        .credentials = credentials_of(object, title, reader),
                        .plugins = objects_of(object, "plugins")});
    }
    // Names come first: no name or id may point to another's custom_id.
    for (auto const* const name : {"username", "id", "custom_id"})
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (auto const text = text_of(all_[i].object, name); !text.empty())
                places_.emplace(text, i);
    take_flat(document, reader);
}

consumer* consumers::of(json_object const& element) {
    auto const place = places_.find(reference_of(element, "consumer"));
    return place != places_.end() ? &all_[place->second] : nullptr;
}

void consumers::take_flat(json_object const& document, foreign_reader& reader) {
    std::size_t number = 0;
    for (auto const* const credential : credentials_of(document, "the file", reader)) {
        ++number;
        if (auto* const owner = of(*credential)) {
            owner->credentials.push_back(credential);
            continue;
        }
        // A key without its consumer has neither a name nor limits.
        auto const id = text_of(*credential, "id", "number " + std::to_string(number));
        auto const name = reference_of(*credential, "consumer");
        reader.refuse(
            "keyauth_credentials " + id,
            name.empty() ? "it names no consumer" : "its consumer " + name + " is not in the file");
    }
    for (auto const* const plugin : objects_of(document, "plugins")) {
        if (auto* const owner = of(*plugin))
            owner->plugins.push_back(plugin);
        else if (reference_of(*plugin, "consumer").empty() &&
                 text_of(*plugin, "name").starts_with("rate-limiting"))
            reader.remark("the file",
                          "a rate limit that belongs to no consumer is not taken over: "
                          "give --limit to the keys with latchkey keys update");
    }
}

// false: it has no form that is known.
bool add_limit(json_object const& config, char const* count_name, std::string const& title,
               std::int64_t window_seconds, consumer& owner) {
    auto const count = whole_number_in(config, count_name);
    if (!count || (*count && **count <= 0)) return false;
    if (*count) owner.limits.push_back({title, **count, window_seconds});
    return true;
}

bool add_windows(json_object const& config, consumer& owner) {
    auto const& counts = list_of(config, "limit");
    auto const& windows = list_of(config, "window_size");
    if (counts.empty() || counts.size() != windows.size()) return false;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        json_object const pair{{"limit", counts[i]}, {"window", windows[i]}};
        auto const window = whole_number_in(pair, "window");
        if (!window || window->value_or(0) <= 0 || counts[i].is_null()) return false;
        if (!add_limit(pair, "limit", "window-" + std::to_string(**window), **window, owner))
            return false;
    }
    return true;
}

void add_plugin(json_object const& plugin, consumer& owner, foreign_reader& reader) {
    auto const name = text_of(plugin, "name");
    auto const enabled = truth_in(plugin, "enabled");
    if (enabled && *enabled == false) return;
    auto const& config = object_of(plugin, "config");
    bool is_known = true;
    if (name == "rate-limiting") {
        for (auto const& [period, seconds] : periods)
            is_known = add_limit(config, period, period, seconds, owner) && is_known;
    } else if (name == "rate-limiting-advanced") {
        is_known = add_windows(config, owner);
    } else if (name == "request-termination") {
        owner.reason = "its consumer is shut off by the plugin request-termination";
    } else {
        reader.remark(owner.title, "the plugin " + name + " has no counterpart here");
    }
    if (!is_known) owner.reason = "the plugin " + name + " has a form that is not known here";
}

void remark_others(consumer const& owner, foreign_reader& reader) {
    for (auto const* const name :
         {"keyauth_enc_credentials", "basicauth_credentials", "hmacauth_credentials", "jwt_secrets",
          "oauth2_credentials", "mtls_auth_credentials"})
        if (!list_of(owner.object, name).empty())
            reader.remark(owner.title, std::string("its ") + name + " are no API keys");
    if (!list_of(owner.object, "acls").empty() || !list_of(owner.object, "groups").empty())
        reader.remark(owner.title, "its groups have no counterpart here: give --scope");
}

// Why it is not taken over; empty: it is.
std::string reason_against(json_object const& credential, consumer const& owner) {
    if (!owner.reason.empty()) return owner.reason;
    if (auto end = end_in(credential); !end.empty()) return end;
    auto const ttl = whole_number_in(credential, "ttl");
    if (!ttl) return ttl.error().message;
    if (ttl->value_or(0) == 0) return {};
    return "its ttl counts from a time that the export does not have: without its ttl it comes in "
           "for ever, until latchkey keys update gives it an expiry";
}

void add_credential(json_object const& credential, consumer const& owner, std::size_t number,
                    foreign_reader& reader) {
    foreign_reader::record record{.title = owner.title, .limits = owner.limits};
    if (auto const reason = reason_against(credential, owner); !reason.empty())
        return reader.refuse(owner.title + ", key " + std::to_string(number), reason);
    record.digest = reader.digest_of(owner.title, text_of(credential, "key"));
    if (!record.digest) return;
    record.name = text_of(owner.object, "username", text_of(owner.object, "custom_id", "consumer"));
    if (number > 1) record.name += " " + std::to_string(number);
    for (auto const* const member : {"custom_id", "id"})
        if (auto const text = text_of(owner.object, member); !text.empty())
            record.metadata.emplace_back(std::string("kong_") + member, text);
    reader.add(record);
}

}  // namespace

void read_kong(json_object const& document, foreign_reader& reader) {
    consumers file(document, reader);
    for (auto& owner : file.all()) {
        owner.reason = end_in(owner.object);
        for (auto const* const plugin : owner.plugins) add_plugin(*plugin, owner, reader);
        remark_others(owner, reader);
        std::size_t number = 0;
        for (auto const* const credential : owner.credentials)
            add_credential(*credential, owner, ++number, reader);
    }
}

}  // namespace latchkey::cli
