// Keys, their digests, the ring of changes, last uses, and the index of keys that may manage keys.
#include <algorithm>

#include "domain/frame/consistency_check.hpp"
#include "domain/keys/key_notice.hpp"

namespace latchkey::domain {
namespace {

void check_key_records(consistency_check& check) {
    std::uint64_t imported = 0;
    auto const visit = [&](model::id id, model::key const& key) {
        if (key.is_imported()) ++imported;
        auto const entry = check.get(table::index, digest_key(key.digest));
        if (!entry || read_id(*entry) != id)
            check.report(name("key", id) + " is not found by its digest");
    };
    auto const count = walk_records(check, table::index, key_bytes{tag::key}, "key",
                                    check.counters.last_key, model::decode_key, visit);
    check.compare("keys", check.counters.keys, count);
    check.compare("imported keys", check.counters.imported_keys, imported);
}

void check_digests(consistency_check& check) {
    std::uint64_t count = 0;
    auto const visit = [&](std::string_view digest, std::string_view content) {
        ++count;
        auto const key = check.key(read_id(content));
        if (!key || !std::ranges::equal(key->digest, digest, {}, {},
                                        [](char byte) { return static_cast<unsigned char>(byte); }))
            check.report("a digest of the index is of no key");
    };
    check.walk(table::index, key_bytes{tag::key_digest}, visit);
    check.compare("digests of keys", check.counters.keys, count);
}

void check_epochs(consistency_check& check) {
    auto const last = check.counters.key_epoch;
    for (auto epoch = last - std::min(last, key_changes_max); epoch != last;) {
        auto const bytes = check.get(table::index, key_change_key(++epoch));
        auto const entry = bytes ? decode_key_change(*bytes) : std::nullopt;
        if (!entry || entry->epoch != epoch)
            check.report("the change of keys " + std::to_string(epoch) + " is not in the ring");
        else if (!check.get(table::index, digest_key(entry->digest)))
            check.report("the change of keys " + std::to_string(epoch) + " is of no key");
    }
}

// The index has exactly the keys that may manage keys and are not deactivated.
void check_key_admins(consistency_check& check) {
    auto const manages = [](model::key const& key) {
        return key.scopes.allows(model::scope::keys_write) &&
               key.deactivation_reason == model::deactivation::none;
    };
    std::uint64_t count = 0, listed = 0;
    auto const visit = [&](std::string_view bytes, std::string_view content) {
        auto const id = read_id(bytes);
        auto const key = id ? model::decode_key(*id, content) : std::nullopt;
        if (!key || !manages(*key)) return;
        ++count;
        if (!check.has(table::index, key_admin_key(*id)))
            check.report(name("key", *id) + " is not among those that may manage keys");
    };
    check.walk(table::index, key_bytes{tag::key}, visit);
    check.walk(table::index, key_bytes{tag::key_admin}, [&](std::string_view bytes, auto) {
        ++listed;
        auto const id = read_id(bytes);
        auto const key = check.key(id);
        if (!key || !manages(*key))
            check.report(name("key", id.value_or(0)) +
                         " is among those that may manage keys, and may not");
    });
    check.compare("keys that may manage keys", listed, count);
}

void check_last_uses(consistency_check& check) {
    auto const visit = [&](std::string_view key, std::string_view content) {
        auto const id = read_id(key);
        if (!id || !read_id(content)) return check.report("a last use of a key is of another form");
        if (!check.has(table::index, key_key(*id)))
            check.report("the last use of " + name("key", *id) + " is of no key");
    };
    check.walk(table::index, key_bytes{tag::key_use}, visit);
}

void check_notices(consistency_check& check) {
    auto const visit = [&](std::string_view key, std::string_view content) {
        if (key.empty()) {
            if (!read_id(content)) check.report("the begin of the times of keys is no time");
            return;
        }
        auto const id = read_id(key);
        if (!id || !decode_key_notice(content))
            return check.report("what was told of a key is of another form");
        if (!check.has(table::index, key_key(*id)))
            check.report("what was told of " + name("key", *id) + " is of no key");
    };
    check.walk(table::index, key_bytes{tag::key_notice}, visit);
}

void check_session_generations(consistency_check& check) {
    check.walk(table::index, key_bytes{tag::sessions_generation},
               [&](std::string_view key, std::string_view content) {
                   auto const id = read_id(key);
                   if (!id || !read_id(content) || !check.has(table::index, key_key(*id)))
                       check.report("a generation of sessions cannot be read, or is of no key");
               });
}

}  // namespace

void check_keys(consistency_check& check) {
    check_key_records(check);
    check_digests(check);
    check_epochs(check);
    check_key_admins(check);
    check_last_uses(check);
    check_notices(check);
    check_session_generations(check);
}

}  // namespace latchkey::domain
