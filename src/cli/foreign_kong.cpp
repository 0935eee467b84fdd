// Keys of Kong: the declarative configuration as decK writes it in JSON. Credentials of key-auth
// lie with their consumer or, in the flat form, at the top; limits come from the plugins
// rate-limiting and rate-limiting-advanced of the consumer.
#include <algorithm>

#include "cli/foreign_keys.hpp"

namespace latchkey::cli {
namespace {

using limits = std::vector<foreign_reader::limit>;

constexpr std::pair<char const*, std::int64_t> periods[] = {
    {"second", 1},   {"minute", 60},       {"hour", 3600},
    {"day", 86'400}, {"month", 2'592'000}, {"year", 31'536'000},
};

// What a reference names: a text, or the name or id of an object.
std::string reference_of(json_object const& document, std::string_view name) {
    auto const& object = object_of(document, name);
    if (object.empty()) return text_of(document, name);
    return text_of(object, "username", text_of(object, "name", text_of(object, "id")));
}

bool is_of(json_object const& element, json_object const& consumer) {
    auto const reference = reference_of(element, "consumer");
    return !reference.empty() &&
           (reference == text_of(consumer, "username") || reference == text_of(consumer, "id") ||
            reference == text_of(consumer, "custom_id"));
}

void add_plugin(json_object const& plugin, std::string const& title, limits& all,
                foreign_reader& reader) {
    auto const name = text_of(plugin, "name");
    auto const* const enabled = plugin.if_contains("enabled");
    if (enabled != nullptr && enabled->is_bool() && !enabled->get_bool()) return;
    auto const& config = object_of(plugin, "config");
    if (name == "rate-limiting") {
        for (auto const& [period, seconds] : periods)
            if (auto const count = number_of(config, period); count > 0)
                all.push_back({period, count, seconds});
    } else if (name == "rate-limiting-advanced") {
        auto const& counts = list_of(config, "limit");
        auto const& windows = list_of(config, "window_size");
        for (std::size_t i = 0; i < std::min(counts.size(), windows.size()); ++i)
            if (counts[i].is_int64() && windows[i].is_int64())
                all.push_back({"window-" + std::to_string(windows[i].get_int64()),
                               counts[i].get_int64(), windows[i].get_int64()});
    } else {
        reader.remark(title, "the plugin " + name + " has no counterpart here");
    }
}

limits limits_of(json_object const& document, json_object const& consumer, std::string const& title,
                 foreign_reader& reader) {
    limits all;
    for (auto const& each : list_of(consumer, "plugins"))
        if (each.is_object()) add_plugin(each.get_object(), title, all, reader);
    for (auto const& each : list_of(document, "plugins"))
        if (each.is_object() && is_of(each.get_object(), consumer))
            add_plugin(each.get_object(), title, all, reader);
    return all;
}

void remark_others(json_object const& consumer, std::string const& title, foreign_reader& reader) {
    for (auto const* const name : {"basicauth_credentials", "hmacauth_credentials", "jwt_secrets",
                                   "oauth2_credentials", "mtls_auth_credentials"})
        if (!list_of(consumer, name).empty())
            reader.remark(title, std::string("its ") + name + " are no API keys");
    if (!list_of(consumer, "acls").empty() || !list_of(consumer, "groups").empty())
        reader.remark(title, "its groups have no counterpart here: give --scope");
}

void add_credential(json_object const& credential, json_object const& consumer,
                    std::string const& title, limits const& all, std::size_t number,
                    foreign_reader& reader) {
    foreign_reader::record record{.title = title, .limits = all};
    record.digest = reader.digest_of(title, text_of(credential, "key"));
    if (!record.digest) return;
    record.name = text_of(consumer, "username", text_of(consumer, "custom_id", "consumer"));
    if (number > 1) record.name += " " + std::to_string(number);
    for (auto const* const member : {"custom_id", "id"})
        if (auto const text = text_of(consumer, member); !text.empty())
            record.metadata.emplace_back(std::string("kong_") + member, text);
    if (number_of(credential, "ttl") > 0)
        reader.remark(title,
                      "the ttl of its key counts from a time that the export does not "
                      "have: give the key an expiry with latchkey keys update");
    reader.add(record);
}

// The consumer of the export that a flat credential belongs to; null: there is none.
json_object const* consumer_of(json_object const& credential, json_object const& document) {
    for (auto const* const consumer : objects_of(document, "consumers"))
        if (is_of(credential, *consumer)) return consumer;
    return nullptr;
}

// A key without its consumer has neither a name nor limits.
void refuse_strays(json_object const& document, foreign_reader& reader) {
    std::size_t number = 0;
    for (auto const* const credential : objects_of(document, "keyauth_credentials")) {
        ++number;
        if (consumer_of(*credential, document) != nullptr) continue;
        auto const id = text_of(*credential, "id", "number " + std::to_string(number));
        auto const consumer = reference_of(*credential, "consumer");
        reader.refuse("keyauth_credentials " + id,
                      consumer.empty() ? "it names no consumer"
                                       : "its consumer " + consumer + " is not in the file");
    }
}

}  // namespace

void read_kong(json_object const& document, foreign_reader& reader) {
    for (auto const& each : list_of(document, "consumers")) {
        if (!each.is_object()) continue;
        auto const& consumer = each.get_object();
        auto const title =
            "consumer " + text_of(consumer, "username", text_of(consumer, "custom_id", "?"));
        auto const all = limits_of(document, consumer, title, reader);
        remark_others(consumer, title, reader);
        std::size_t number = 0;
        for (auto const& credential : list_of(consumer, "keyauth_credentials"))
            if (credential.is_object())
                add_credential(credential.get_object(), consumer, title, all, ++number, reader);
        for (auto const& credential : list_of(document, "keyauth_credentials"))
            if (credential.is_object() && is_of(credential.get_object(), consumer))
                add_credential(credential.get_object(), consumer, title, all, ++number, reader);
    }
    refuse_strays(document, reader);
    for (auto const& each : list_of(document, "plugins"))
        if (each.is_object() && reference_of(each.get_object(), "consumer").empty() &&
            text_of(each.get_object(), "name").starts_with("rate-limiting"))
            reader.remark("the file",
                          "a rate limit that belongs to no consumer is not taken over: "
                          "give --limit to the keys with latchkey keys update");
}

}  // namespace latchkey::cli
