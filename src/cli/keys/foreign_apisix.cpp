// Keys of Apache APISIX: the answer of its Admin API to GET /apisix/admin/consumers (`list`, or
// `node.nodes` of version 2), or the consumers of a standalone configuration in JSON. Credentials
// of a consumer (version 3.11 and later) are entries of their own.
#include <boost/json/object.hpp>
#include <unordered_map>

#include "cli/keys/foreign_keys.hpp"
#include "cli/keys/foreign_values.hpp"

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

std::vector<entry> entries_of(json_object const& document, foreign_reader& reader) {
    std::vector<entry> entries;
    auto const add = [&](boost::json::array const& list) {
        std::size_t number = 0;
        for (auto const& each : list) {
            ++number;
            if (!each.is_object()) {
                reader.refuse("number " + std::to_string(number), "it is no JSON object");
                continue;
            }
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

// The rate limits that the plugins of a consumer mean for its keys.
struct terms {
    std::vector<foreign_reader::limit> limits;
    std::string reason;  // why none of them is taken over; empty: they are
};

terms terms_of(json_object const& consumer, std::string const& title, foreign_reader& reader) {
    terms result{.limits = {}, .reason = end_in(consumer)};
    for (auto const& [name, value] : object_of(consumer, "plugins")) {
        if (!value.is_object() || name == "key-auth") continue;
        auto const& plugin = value.get_object();
        auto const is_off = truth_in(object_of(plugin, "_meta"), "disable");
        if (is_off && *is_off == true) continue;
        auto const count = whole_number_in(plugin, "count");
        auto const window = whole_number_in(plugin, "time_window");
        if (name != "limit-count")
            reader.remark(title, "the plugin " + std::string(name) + " has no counterpart here");
        else if (count && window && count->value_or(0) > 0 && window->value_or(0) > 0)
            result.limits.push_back({"count", **count, **window});
        else
            result.reason = "its limit-count is no plain number of requests in a window";
    }
    return result;
}

// A plugin may be kept and turned off.
std::string reason_against(entry const& source, json_object const& plugin) {
    if (auto end = end_in(source.value); !end.empty()) return end;
    auto const is_off = truth_in(object_of(plugin, "_meta"), "disable");
    return is_off && !is_off->value_or(false) ? "" : "its key-auth is disabled";
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
    auto const entries = entries_of(document, reader);
    std::unordered_map<std::string, terms> consumers;
    for (auto const& each : entries) {
        if (!each.credential.empty()) continue;
        auto const title = "consumer " + each.consumer;
        consumers[each.consumer] = terms_of(each.value, title, reader);
        if (!text_of(each.value, "group_id").empty())
            reader.remark(title, "the plugins of its consumer group are not taken over");
    }
    for (auto const& each : entries) {
        auto const title = "consumer " + each.consumer;
        auto const& plugin = object_of(object_of(each.value, "plugins"), "key-auth");
        auto const key = text_of(plugin, "key");
        if (key.empty()) {
            if (!each.credential.empty())
                reader.remark(title,
                              "its credential " + each.credential + " is no key of key-auth");
            continue;
        }
        auto const owner = consumers.find(each.consumer);
        auto reason = owner == consumers.end()
                          ? "it is not in the file, but credential " + each.credential + " of it"
                          : owner->second.reason;
        if (reason.empty()) reason = reason_against(each, plugin);
        if (reason.empty())
            add_key(each, key, owner->second.limits, reader);
        else
            reader.refuse(title, reason);
    }
}

}  // namespace latchkey::cli
