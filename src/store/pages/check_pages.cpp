#include "store/pages/check_pages.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include "store/checksum.hpp"

namespace latchkey::store {

file_view::file_view(int descriptor) {
    struct stat file{};
    if (::fstat(descriptor, &file) != 0 || file.st_size == 0) return;
    size_ = static_cast<std::size_t>(file.st_size);
    auto* const mapping = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapping != MAP_FAILED) begin_ = static_cast<char*>(mapping);
}

file_view::~file_view() {
    if (begin_ != nullptr) ::munmap(begin_, size_);
}

bool check_table_pages(tree_reader const& file, table table, std::optional<tree_root> const& root,
                       findings& report) {
    std::string const title(table_names[static_cast<std::size_t>(table)]);
    if (!root) {
        report.add("the table " + title + " cannot be found in the file");
        return false;
    }
    auto const schema = key_bytes{tag::schema};
    bool sound = true;
    auto const check_entry = [&](std::string_view key, std::optional<std::string_view> value) {
        if (table == table::index && key == std::string_view(schema)) return;
        if (!value || !content_of(table, key, *value))
            report.add("a record is damaged: " + describe(table, key));
    };
    auto const report_page = [&](std::uint64_t page, std::string_view previous_key) {
        sound = false;
        report.add(
            "page " + std::to_string(page) + " of the table " + title + " is damaged, from " +
            (previous_key.empty() ? "its beginning" : describe(table, previous_key)) + " on");
    };
    auto const count = file.read(*root, check_entry, report_page);
    if (count == root->entries) return sound;
    report.add("the table " + title + " has " + std::to_string(root->entries) +
               " records, of which " + std::to_string(count) + " stand on pages that are whole");
    return false;
}

bool check_pages(environment_state& store, MDB_txn* txn, findings& report) {
    int descriptor = -1;
    ::mdb_env_get_fd(store.env, &descriptor);
    file_view const file(descriptor);
    if (file.bytes().empty()) {
        report.add("the file of the store cannot be mapped");
        return false;
    }
    tree_reader const reader(file.bytes(), store.page_bytes);
    bool sound = true;
    for (auto const table : all_tables) {
        std::string_view const title = table_names[static_cast<std::size_t>(table)];
        auto key = val_of(title);
        MDB_val value;
        bool const exists = ::mdb_get(txn, store.main, &key, &value) == 0;
        auto const root = exists ? decode_tree_root(view_of(value)) : std::nullopt;
        sound = check_table_pages(reader, table, root, report) && sound;
    }
    return sound;
}

}  // namespace latchkey::store
