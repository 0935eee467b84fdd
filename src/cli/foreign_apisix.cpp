// Keys of Apache APISIX: the answer of its Admin API to GET /apisix/admin/consumers (`list`, or
// `node.nodes` of version 2), or the consumers of a standalone configuration in JSON. Credentials
// of a consumer (version 3.11 and later) are entries of their own.
#include <algorithm>
#include <map>

#include "cli/foreign_keys.hpp"

namespace latchkey::cli {
namespace {

struct entry {
    std::string consumer, credential;  // `credential` empty: it is the consumer
    json_object value;
};

// "/apisix/consumers/jack/credentials/one"
entry entry_of(std::string_view path, json_object const& value) {
    static constexpr std::string_view mark = "/consumers/", separator = "/credentials/";
    entry result{.consumer = text_of(value, "username"), .credential = {}, .value = value};
    auto const begin = path.find(mark);
    if (begin == path.npos) return result;
    auto const rest = path.substr(begin + mark.size());
    auto const end = rest.find(separator);
    result.consumer = rest.substr(0, end);
    if (end != rest.npos) result.credential = rest.substr(end + separator.size());
    return result;
}

std::vector<entry> entries_of(json_object const& document) {
    std::vector<entry> entries;
    auto const add = [&](boost::json::array const& list) {
        for (auto const& each : list) {
            if (!each.is_object()) continue;
            auto const& object = each.get_object();
            auto const& value = object_of(object, "value");
            entries.push_back(entry_of(text_of(object, "key"), value.empty() ? object : value));
        }
    };
    add(list_of(document, "list"));
    add(list_of(document, "consumers"));
    add(list_of(object_of(document, "node"), "nodes"));
    return entries;
}

std::vector<foreign_reader::limit> limits_of(json_object const& plugins, std::string const& title,
                                             foreign_reader& reader) {
    std::vector<foreign_reader::limit> limits;
    for (auto const& [name, value] : plugins) {
        if (!value.is_object() || name == "key-auth") continue;
        auto const& plugin = value.get_object();
        if (is_true(object_of(plugin, "_meta"), "disable")) continue;
        auto const count = number_of(plugin, "count"), window = number_of(plugin, "time_window");
        if (name == "limit-count" && count > 0 && window > 0)
            limits.push_back({"count", count, window});
        else if (name == "limit-count")
            reader.remark(title, "its limit-count is no plain number of requests in a window");
        else
            reader.remark(title, "the plugin " + std::string(name) + " has no counterpart here");
    }
    return limits;
}

void add_key(entry const& source, std::string const& key,
             std::vector<foreign_reader::limit> const& limits, foreign_reader& reader) {
    auto const has_own = !source.credential.empty();
    foreign_reader::record record{
        .title = "consumer " + source.consumer + (has_own ? "/" + source.credential : ""),
        .limits = limits};
    record.digest = reader.digest_of(record.title, key);
    if (!record.digest) return;
    record.name = source.consumer + (has_own ? " " + source.credential : "");
    for (auto const& [name, value] : object_of(source.value, "labels"))
        if (value.is_string())
            record.metadata.emplace_back(std::string(name), std::string(value.get_string()));
    reader.add(record);
}

}  // namespace

void read_apisix(json_object const& document, foreign_reader& reader) {
    auto const entries = entries_of(document);
    std::map<std::string, std::vector<foreign_reader::limit>> limits;
    for (auto const& each : entries) {
        if (!each.credential.empty()) continue;
        auto const title = "consumer " + each.consumer;
        limits[each.consumer] = limits_of(object_of(each.value, "plugins"), title, reader);
        if (!text_of(each.value, "group_id").empty())
            reader.remark(title, "the plugins of its consumer group are not taken over");
    }
    for (auto const& each : entries) {
        auto const& plugin = object_of(object_of(each.value, "plugins"), "key-auth");
        auto const key = text_of(plugin, "key");
        if (!key.empty())
            add_key(each, key, limits[each.consumer], reader);
        else if (!each.credential.empty())
            reader.remark("consumer " + each.consumer,
                          "its credential " + each.credential + " is no key of key-auth");
    }
}

}  // namespace latchkey::cli
