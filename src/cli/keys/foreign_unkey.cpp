// Keys of Unkey: rows of its table `keys`, bodies of its migrations and answers of apis.listKeys.
// It keeps the SHA-256 of a key in base64 (`hash`, of the variant sha256_base64), as latchkey keeps
// it in bytes. An answer of its API has no hash, and the key itself only where it can be recovered.
#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "base/bytes.hpp"
#include "cli/keys/foreign_keys.hpp"
#include "cli/keys/foreign_values.hpp"

namespace latchkey::cli {
namespace {

// Base64 (RFC 4648 §4 and §5), padding optional; nullopt: it is not of 32 bytes.
std::optional<model::digest> digest_of_base64(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    model::digest digest;
    std::size_t size = 0;
    unsigned bits = 0, bit_count = 0;
    for (char const byte : text) {
        unsigned value = 0;
        if (byte >= 'A' && byte <= 'Z')
            value = static_cast<unsigned>(byte - 'A');
        else if (byte >= 'a' && byte <= 'z')
            value = static_cast<unsigned>(byte - 'a') + 26;
        else if (byte >= '0' && byte <= '9')
            value = static_cast<unsigned>(byte - '0') + 52;
        else if (byte == '+' || byte == '-')
            value = 62;
        else if (byte == '/' || byte == '_')
            value = 63;
        else
            return std::nullopt;
        bits = bits << 6 | value;
        bit_count += 6;
        if (bit_count < 8) continue;
        bit_count -= 8;
        if (size == digest.size()) return std::nullopt;
        digest[size++] = static_cast<unsigned char>(bits >> bit_count);
    }
    return size == digest.size() ? std::optional(digest) : std::nullopt;
}

std::optional<model::digest> digest_of_hash(std::string const& text) {
    model::digest digest;
    if (text.size() == 2 * digest.size() &&
        base::from_hex(text, reinterpret_cast<char*>(digest.data()), digest.size()))
        return digest;
    return digest_of_base64(text);
}

std::string title_of(json_object const& key) {
    for (auto const* const name : {"key_id", "id", "name", "start"})
        if (auto text = text_of(key, name); !text.empty()) return "key " + text;
    return "a key without an id";
}

// By `hash`, else by the key itself. nullopt: refused.
std::optional<model::digest> digest_in(json_object const& key, std::string const& title,
                                       foreign_reader& reader) {
    auto const& object = object_of(key, "hash");
    auto const variant = text_of(object, "variant", "sha256_base64");
    auto const hash = object.empty() ? text_of(key, "hash") : text_of(object, "value");
    if (!hash.empty() && variant != "sha256_base64" && variant != "sha256_hex") {
        reader.refuse(title, "its hash is of the variant " + variant + ", not SHA-256");
        return std::nullopt;
    }
    if (!hash.empty()) {
        auto const digest = digest_of_hash(hash);
        if (!digest) reader.refuse(title, "its hash is not a SHA-256 in base64");
        return digest;
    }
    for (auto const* const name : {"plaintext", "key"})
        if (auto const text = text_of(key, name); !text.empty())
            return reader.digest_of(title, text);
    reader.refuse(title,
                  "it has neither a hash nor the key itself: Unkey's API tells neither; "
                  "export the rows of its database");
    return std::nullopt;
}

boost::json::value value_of(json_object const& key, std::string_view name) {
    auto const* const member = key.if_contains(name);
    return member != nullptr ? *member : boost::json::value();
}

// The number above 0 of the first of these members that is there.
base::result<std::int64_t> positive_in(json_object const& limit, std::string const& title,
                                       std::initializer_list<char const*> names) {
    for (auto const* const name : names) {
        auto const number = whole_number_in(limit, name);
        if (!number) return number.error();
        if (*number && **number > 0) return **number;
        if (*number) break;
    }
    return base::error{"its limit " + title + " has no " + *names.begin() + " above 0"};
}

// `{name, limit, duration}`, the duration in milliseconds; older bodies have a refill instead. The
// answer, here and below, is why the key cannot be taken over; empty: it can.
std::string add_limit(json_object const& source, foreign_reader::record& record,
                      foreign_reader& reader) {
    auto const limit = by_column_names(source);
    if (!limit) return limit.error().message;
    auto const name = text_of(*limit, "name", "requests");
    auto const count = positive_in(*limit, name, {"limit", "refill_rate"});
    if (!count) return count.error().message;
    auto const duration = positive_in(*limit, name, {"duration", "refill_interval"});
    if (!duration) return duration.error().message;
    bool const is_rounded = *duration % 1000 != 0;
    if (is_rounded)
        reader.remark(record.title,
                      "the window of its limit " + name + " is rounded up to whole seconds");
    record.limits.push_back({name, *count, *duration / 1000 + (is_rounded ? 1 : 0)});
    return {};
}

std::string add_limits(json_object const& key, foreign_reader::record& record,
                       foreign_reader& reader) {
    auto const count = value_of(key, "ratelimit_limit");
    auto const duration = value_of(key, "ratelimit_duration");
    boost::json::array limits;
    if (!count.is_null() || !duration.is_null())
        limits.push_back(json_object{{"limit", count}, {"duration", duration}});
    if (auto single = value_of(key, "ratelimit"); !single.is_null())
        limits.push_back(std::move(single));
    auto const list = value_of(key, "ratelimits");
    if (!list.is_null() && !list.is_array()) return "its ratelimits are no list";
    if (list.is_array())
        limits.insert(limits.end(), list.get_array().begin(), list.get_array().end());
    for (auto const& limit : limits) {
        if (!limit.is_object()) return "its rate limit has a form that is not known here";
        auto reason = add_limit(limit.get_object(), record, reader);
        if (!reason.empty()) return reason;
    }
    return {};
}

// How often it may still be used, which it counts down.
std::string judge_credits(json_object const& key, std::string const& title,
                          foreign_reader& reader) {
    auto const credits = value_of(key, "credits");
    if (!credits.is_null() && !credits.is_object()) return "its credits are no object";
    json_object const counts{{"remaining_requests", value_of(key, "remaining_requests")},
                             {"remaining", value_of(key, "remaining")},
                             {"credits", value_of(object_of(key, "credits"), "remaining")}};
    for (auto const& [name, value] : counts) {
        auto const number = whole_number_in(counts, name);
        if (!number) return number.error().message;
        if (!*number) continue;
        if (**number <= 0) return "its credits are used up";
        reader.remark(title, "what remains of its credits has no counterpart here");
    }
    return {};
}

std::string judge_times(json_object const& key, foreign_reader::record& record) {
    auto const expires = time_in(key, "expires");
    if (!expires) return expires.error().message;
    if (!*expires) return {};
    char text[base::timestamp_bytes];
    base::format_timestamp(**expires, text);
    record.expires_at.assign(text, sizeof text);
    return {};
}

void add_metadata(json_object const& key, foreign_reader::record& record, foreign_reader& reader) {
    auto const add = [&](std::string const& name, std::string const& value) {
        if (!value.empty()) record.metadata.emplace_back(name, value);
    };
    auto const& identity = object_of(key, "identity");
    add("external_id",
        text_of(key, "external_id", text_of(identity, "externalId", text_of(key, "owner_id"))));
    add("unkey_id", text_of(key, "key_id", text_of(key, "id")));
    if (!list_of(identity, "ratelimits").empty())
        reader.remark(record.title, "the limits of its identity are not taken over");
    // A column of text has JSON in it.
    auto meta = value_of(key, "meta");
    boost::system::error_code failure;
    if (meta.is_string() && !meta.get_string().empty())
        meta = boost::json::parse(std::string_view(meta.get_string()), failure);
    if (failure || (!meta.is_null() && !meta.is_object()))
        return reader.remark(record.title, "its meta is no JSON object");
    if (meta.is_null()) return;
    for (auto const& [name, value] : meta.get_object()) {
        if (value.is_string())
            add(std::string(name), std::string(value.get_string()));
        else
            reader.remark(record.title, "the member " + std::string(name) +
                                            " of its meta is no text, which metadata here is");
    }
}

// Says which members were left out, but those that no request depends on.
void remark_rest(json_object const& key, std::string const& title, foreign_reader& reader) {
    static constexpr std::string_view columns[] = {"id",
                                                   "key_id",
                                                   "hash",
                                                   "key",
                                                   "plaintext",
                                                   "name",
                                                   "enabled",
                                                   "expires",
                                                   "ratelimit",
                                                   "ratelimits",
                                                   "ratelimit_limit",
                                                   "ratelimit_duration",
                                                   "ratelimit_async",
                                                   "remaining",
                                                   "remaining_requests",
                                                   "credits",
                                                   "meta",
                                                   "external_id",
                                                   "owner_id",
                                                   "identity",
                                                   "permissions",
                                                   "roles",
                                                   "start",
                                                   "prefix",
                                                   "byte_length",
                                                   "api_id",
                                                   "workspace_id",
                                                   "key_auth_id",
                                                   "keyspace_id",
                                                   "identity_id",
                                                   "created_at",
                                                   "created_at_m",
                                                   "updated_at",
                                                   "updated_at_m",
                                                   "last_used_at",
                                                   "last_refill_at",
                                                   "recoverable",
                                                   "migration_id",
                                                   "pk"};
    std::string rest;
    for (auto const& [name, value] : key)
        if (!value.is_null() &&
            std::ranges::find(columns, std::string_view(name)) == std::end(columns))
            rest.append(rest.empty() ? "" : ", ").append(name);
    if (!rest.empty()) reader.remark(title, "left out, since it has no counterpart here: " + rest);
    for (auto const* const name : {"permissions", "roles"})
        if (auto const value = value_of(key, name);
            !value.is_null() && !(value.is_array() && value.get_array().empty()))
            return reader.remark(title,
                                 "its permissions and roles have no counterpart here: give "
                                 "--scope");
}

}  // namespace

void read_unkey(json_object const& source, std::string const& place, foreign_reader& reader) {
    auto const columns = by_column_names(source);
    if (!columns) return reader.refuse(place, columns.error().message);
    auto const& key = *columns;
    foreign_reader::record record;
    record.title = place + ", " + title_of(key);
    record.name = text_of(key, "name", title_of(key));
    auto reason = end_in(key, {"expires"});
    if (!reason.empty()) return reader.refuse(record.title, reason);
    record.digest = digest_in(key, record.title, reader);
    if (!record.digest) return;
    if (reason.empty()) reason = judge_times(key, record);
    if (reason.empty()) reason = add_limits(key, record, reader);
    if (reason.empty()) reason = judge_credits(key, record.title, reader);
    if (!reason.empty()) return reader.refuse(record.title, reason);
    add_metadata(key, record, reader);
    remark_rest(key, record.title, reader);
    reader.add(record);
}

}  // namespace latchkey::cli
