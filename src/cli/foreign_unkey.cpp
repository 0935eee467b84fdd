// Keys of Unkey: rows of its table `keys`, bodies of its migrations and answers of apis.listKeys.
// It keeps the SHA-256 of a key in base64 (`hash`, of the variant sha256_base64), as latchkey keeps
// it in bytes. An answer of its API has no hash, and the key itself only where it can be recovered.
#include <algorithm>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "cli/foreign_keys.hpp"

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
    for (auto const* const name : {"keyId", "id", "name", "start"})
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

// `{name, limit, duration}`, the duration in milliseconds.
void add_limit(json_object const& limit, std::string const& name, foreign_reader::record& record,
               foreign_reader& reader) {
    auto const count = number_of(limit, "limit"), duration = number_of(limit, "duration");
    if (count <= 0 || duration <= 0) return;
    if (duration % 1000 != 0)
        reader.remark(record.title,
                      "the window of its limit " + name + " is rounded up to whole seconds");
    record.limits.push_back({text_of(limit, "name", name), count, (duration + 999) / 1000});
}

void add_metadata(json_object const& key, foreign_reader::record& record, foreign_reader& reader) {
    auto const add = [&](std::string const& name, std::string const& value) {
        if (!value.empty()) record.metadata.emplace_back(name, value);
    };
    add("external_id",
        text_of(key, "externalId",
                text_of(object_of(key, "identity"), "externalId", text_of(key, "ownerId"))));
    add("unkey_id", text_of(key, "keyId", text_of(key, "id")));
    for (auto const& [name, value] : object_of(key, "meta")) {
        if (value.is_string())
            add(std::string(name), std::string(value.get_string()));
        else
            reader.remark(record.title, "the member " + std::string(name) +
                                            " of its meta is no text, which metadata here is");
    }
}

}  // namespace

void read_unkey(json_object const& key, foreign_reader& reader) {
    foreign_reader::record record;
    record.title = title_of(key);
    auto const* const enabled = key.if_contains("enabled");
    if (enabled != nullptr && enabled->is_bool() && !enabled->get_bool())
        return reader.refuse(record.title, "it is disabled");
    if (!text_of(key, "deletedAt").empty()) return reader.refuse(record.title, "it was deleted");
    record.digest = digest_in(key, record.title, reader);
    if (!record.digest) return;
    record.name = text_of(key, "name", record.title);
    if (auto const expires = number_of(key, "expires"); expires > 0) {
        char text[base::timestamp_bytes];
        base::format_timestamp(expires, text);
        record.expires_at.assign(text, sizeof text);
    }
    if (auto const& limit = object_of(key, "ratelimit"); !limit.empty())
        add_limit(limit, "requests", record, reader);
    for (auto const& each : list_of(key, "ratelimits"))
        if (each.is_object()) add_limit(each.get_object(), "requests", record, reader);
    add_metadata(key, record, reader);
    if (!list_of(key, "permissions").empty() || !list_of(key, "roles").empty())
        reader.remark(record.title,
                      "its permissions and roles have no counterpart here: give "
                      "--scope");
    if (!object_of(key, "credits").empty() || !text_of(key, "remaining").empty())
        reader.remark(record.title, "what remains of its credits has no counterpart here");
    reader.add(record);
}

}  // namespace latchkey::cli
