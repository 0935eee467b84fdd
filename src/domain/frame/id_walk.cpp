#include "domain/frame/id_walk.hpp"

namespace latchkey::domain {

// A damaged key or page may lead LMDB past the place, so the entry before it is checked too.
bool id_walk::at_or_above(model::id id) {
    auto const target = key_bytes(prefix_).add(id);
    int const code = seek(id);
    if (code == 0 && view_of(key_) < std::string_view(target))
        snapshot_.note_damage(table_, view_of(key_));
    int const previous = move(code == 0 ? MDB_PREV : MDB_LAST);
    if (previous == 0) {
        if (view_of(key_) >= std::string_view(target)) snapshot_.note_damage(table_, view_of(key_));
        content();
    }
    if (code != 0) return accept(false);
    return accept(move(previous == 0 ? MDB_NEXT : MDB_FIRST) == 0);
}

bool id_walk::below(model::id id) {
    auto const target = key_bytes(prefix_).add(id);
    // The entry before the first that is not below; beyond the end of the table, its last entry.
    int const code = seek(id);
    if (code == 0) {
        if (view_of(key_) < std::string_view(target)) snapshot_.note_damage(table_, view_of(key_));
        content();
    }
    bool const valid = move(code == 0 ? MDB_PREV : MDB_LAST) == 0;
    if (valid && view_of(key_) >= std::string_view(target))
        snapshot_.note_damage(table_, view_of(key_));
    return accept(valid);
}

int id_walk::seek(model::id id) {
    auto const target = key_bytes(prefix_).add(id);
    if (!snapshot_.has_sound_path(table_, target)) snapshot_.note_damage(table_, target);
    key_ = val_of(target);
    return move(MDB_SET_RANGE);
}

int id_walk::move(MDB_cursor_op step) {
    if (cursor_ == nullptr) return MDB_NOTFOUND;
    ++snapshot_.work.steps;
    int const code = ::mdb_cursor_get(cursor_, &key_, &value_, step);
    if (code == 0)
        check_page();
    else if (code != MDB_NOTFOUND)
        snapshot_.note_damaged_page(code);
    return code;
}

void id_walk::check_page() {
    auto const* const key = static_cast<char const*>(key_.mv_data);
    auto const number = snapshot_.store.pages.page_number(key);
    if (number == std::exchange(page_, number)) return;
    ++snapshot_.work.pages;
    if (!snapshot_.has_sound_path(table_, view_of(key_), number))
        snapshot_.note_damage(table_, view_of(key_));
}

bool id_walk::accept(bool valid) {
    auto const prefix = std::string_view(prefix_);
    if (!valid) return false;
    auto const key = view_of(key_);
    auto const id = key.starts_with(prefix) ? read_id(key.substr(prefix.size())) : std::nullopt;
    id_ = id.value_or(0);
    if (!id) content();  // past the prefix, unless the key is damaged
    return id.has_value();
}

}  // namespace latchkey::domain
