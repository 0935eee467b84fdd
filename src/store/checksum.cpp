#include "store/checksum.hpp"

#include "base/hash.hpp"

namespace latchkey::store {

std::uint64_t key_checksum(table table, std::string_view key) {
    // Seeds start at 1, so that a key never hashes like a content of the same bytes.
    return base::hash(key, 1 + static_cast<std::uint64_t>(table));
}

std::optional<std::string_view> content_of(std::uint64_t key_checksum, std::string_view value) {
    if (value.size() < checksum_bytes) return std::nullopt;
    auto const content = value.substr(0, value.size() - checksum_bytes);
    auto const checksum = base::get<std::uint64_t>(value.data() + content.size());
    if (checksum != (base::hash(content) ^ key_checksum)) return std::nullopt;
    return content;
}

std::optional<std::string_view> content_of(table table, std::string_view key,
                                           std::string_view value) {
    return content_of(key_checksum(table, key), value);
}

int put_checked(MDB_txn* txn, MDB_dbi dbi, table table, std::string_view key,
                std::string_view content, unsigned flags) {
    auto name = val_of(key);
    MDB_val space{content.size() + checksum_bytes, nullptr};
    if (int const code = ::mdb_put(txn, dbi, &name, &space, flags | MDB_RESERVE); code != 0)
        return code;
    auto* const output = static_cast<char*>(space.mv_data);
    content.copy(output, content.size());
    base::put(output + content.size(), base::hash(content) ^ key_checksum(table, key));
    return 0;
}

bool is_surely_absent(MDB_cursor* cursor, std::string_view key, entry_judge is_whole) {
    auto name = val_of(key);
    MDB_val value;
    int const next_code = ::mdb_cursor_get(cursor, &name, &value, MDB_SET_RANGE);
    if (next_code == 0 && (view_of(name) <= key || !is_whole(view_of(name), view_of(value))))
        return false;
    int const previous_code =
        ::mdb_cursor_get(cursor, &name, &value, next_code == 0 ? MDB_PREV : MDB_LAST);
    if (previous_code == 0 && (view_of(name) >= key || !is_whole(view_of(name), view_of(value))))
        return false;
    auto const is_answer = [](int code) { return code == 0 || code == MDB_NOTFOUND; };
    return is_answer(next_code) && is_answer(previous_code);
}

}  // namespace latchkey::store
