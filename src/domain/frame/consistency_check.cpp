#include "domain/frame/consistency_check.hpp"

namespace latchkey::domain {

std::string name(std::string_view noun, model::id id) {
    return std::string(noun) + " " + std::to_string(id);
}

// Whole records are compared with their checksums, so it is the key that is another one.
void consistency_check::report_locked(std::string const& subject) {
    auto const& file = store.master_key_file;
    auto const path = file.empty() ? store.directory + "/master.key" : file;
    locked_.add(subject + (store.has_master_key
                               ? " was encrypted under another master key than " + path
                               : " cannot be decrypted without its master key, " + path));
}

void consistency_check::compare(std::string_view noun, std::uint64_t recorded,
                                std::uint64_t counted) {
    if (recorded != counted)
        report(std::string(noun) + ": " + std::to_string(recorded) + " are recorded, " +
               std::to_string(counted) + " are there");
}

void consistency_check::check_time(base::wall_ms time, std::string const& record) {
    if (time > counters.written_at) report(record + " is of a time after the last write");
}

std::optional<std::string_view> consistency_check::get(table table, std::string_view key) {
    auto name = val_of(key);
    MDB_val value;
    int const code = ::mdb_get(txn_, store.dbi(table), &name, &value);
    if (code == 0) return content_of(table, key, view_of(value));
    if (code != MDB_NOTFOUND) report(lmdb_error("a page cannot be read", code).message);
    return std::nullopt;
}

std::optional<std::uint64_t> consistency_check::number(std::string_view key) {
    auto const content = get(table::index, key);
    auto const value = content ? read_id(*content) : std::nullopt;
    if (!value) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
}

std::optional<model::user_view> consistency_check::user(std::optional<model::id> id) {
    auto const content = id ? get(table::users, id_key(*id)) : std::nullopt;
    return content ? model::decode_user(*id, *content) : std::nullopt;
}

std::optional<model::post_view> consistency_check::post(std::optional<model::id> id) {
    auto const content = id ? get(table::posts, id_key(*id)) : std::nullopt;
    return content ? model::decode_post(*id, *content) : std::nullopt;
}

std::optional<model::event_view> consistency_check::event(std::optional<model::id> id) {
    auto const content = id ? get(table::events, id_key(*id)) : std::nullopt;
    return content ? model::decode_event(*id, *content) : std::nullopt;
}

std::optional<model::key> consistency_check::key(std::optional<model::id> id) {
    auto const content = id ? get(table::index, key_key(*id)) : std::nullopt;
    return content ? model::decode_key(*id, *content) : std::nullopt;
}

void consistency_check::walk(table table, std::string_view prefix, entry_visitor visit) {
    MDB_cursor* cursor = nullptr;
    if (int const code = ::mdb_cursor_open(txn_, store.dbi(table), &cursor); code != 0)
        return report(lmdb_error("a table cannot be read", code).message);
    auto key = val_of(prefix);
    MDB_val value;
    int code = ::mdb_cursor_get(cursor, &key, &value, prefix.empty() ? MDB_FIRST : MDB_SET_RANGE);
    for (; code == 0; code = ::mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        auto const whole_key = view_of(key);
        if (!whole_key.starts_with(prefix)) break;
        visit(whole_key.substr(prefix.size()),
              content_of(table, whole_key, view_of(value)).value_or(std::string_view()));
    }
    ::mdb_cursor_close(cursor);
    if (code != 0 && code != MDB_NOTFOUND)
        report(lmdb_error("a table cannot be read", code).message);
}

std::uint64_t consistency_check::count(tag tag) {
    std::uint64_t entries = 0;
    walk(table::index, key_bytes{tag}, [&](auto, auto) { ++entries; });
    return entries;
}

}  // namespace latchkey::domain
