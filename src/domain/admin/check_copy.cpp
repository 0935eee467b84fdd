#include "domain/admin/check_copy.hpp"

#include "domain/store_terms.hpp"
#include "store/pages/check_pages.hpp"
#include "store/pages/lmdb_format.hpp"

namespace latchkey::domain {
namespace {

// The contents of one of the two meta pages of the file.
struct meta_page {
    std::uint64_t transaction = 0;
    std::uint32_t page_bytes = 0;
    tree_root tables;
};

std::optional<meta_page> read_meta_page(std::string_view page) {
    if (page.size() < lmdb::state_end ||
        lmdb::read<std::uint32_t>(page.data() + lmdb::magic_offset) != lmdb::magic ||
        lmdb::read<std::uint32_t>(page.data() + lmdb::version_offset) != lmdb::data_version)
        return std::nullopt;
    auto const root = decode_tree_root(page.substr(lmdb::tables_offset, lmdb::root_bytes));
    if (!root) return std::nullopt;
    return meta_page{lmdb::read<std::uint64_t>(page.data() + lmdb::number_offset),
                     lmdb::read<std::uint32_t>(page.data() + lmdb::page_bytes_offset), *root};
}

// The meta page of the last transaction.
std::optional<meta_page> last_meta_page(std::string_view file) {
    auto const first = read_meta_page(file);
    if (!first || first->page_bytes < 512 || first->page_bytes > 65536) return std::nullopt;
    auto const second = file.size() > first->page_bytes
                            ? read_meta_page(file.substr(first->page_bytes))
                            : std::nullopt;
    return second && second->transaction > first->transaction ? second : first;
}

}  // namespace

std::vector<std::string> check_copy(int descriptor) {
    file_view const file(descriptor);
    auto const meta = last_meta_page(file.bytes());
    if (!meta) return {"it does not begin as a store does"};
    tree_reader const reader(file.bytes(), meta->page_bytes);
    findings report;
    std::optional<tree_root> roots[table_count];
    reader.read(
        meta->tables,
        [&](std::string_view name, std::optional<std::string_view> value) {
            for (std::size_t i = 0; i < table_count; ++i)
                if (value && name == table_names[i]) roots[i] = decode_tree_root(*value);
        },
        [&](std::uint64_t page, auto) {
            report.add("page " + std::to_string(page) + " of the table of tables is damaged");
        });
    for (auto const table : all_tables)
        check_table_pages(reader, table, roots[static_cast<std::size_t>(table)], report);
    return report.sentences();
}

}  // namespace latchkey::domain
