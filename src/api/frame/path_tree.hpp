// The patterns of a route table as a trie of path segments, built at compile time: one walk down a
// path finds its pattern. A pattern's `{…}` stands for one segment that is not empty; a segment
// that is written out takes precedence over it. Constants, any thread; allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace latchkey::api {

// Equal but for the names of variables.
constexpr bool is_same_path(std::string_view left, std::string_view right) {
    while (!left.empty() && !right.empty()) {
        auto const left_end = std::min(left.find('/', 1), left.size());
        auto const right_end = std::min(right.find('/', 1), right.size());
        bool const variables = left.starts_with("/{") && right.starts_with("/{");
        if (!variables && left.substr(0, left_end) != right.substr(0, right_end)) return false;
        left.remove_prefix(left_end);
        right.remove_prefix(right_end);
    }
    return left.empty() && right.empty();
}

template <std::size_t row_count>
class path_tree {
  public:
    static constexpr std::uint8_t none = 0xff;
    static_assert(row_count < none);

    struct node {
        std::string_view segment;
        bool is_variable = false;
        bool is_alias = false;
        std::uint8_t child = none, sibling = none;
        std::uint8_t row = none;  // the first whose pattern ends here
    };

    constexpr path_tree() { next_rows_.fill(none); }

    // Rows are added in ascending order. An alias is a further pattern of a row.
    constexpr void add(std::string_view pattern, std::uint8_t row, bool is_alias) {
        std::uint8_t index = 0;
        while (!pattern.empty()) {
            auto const end = std::min(pattern.find('/', 1), pattern.size());
            index = child_of(index, pattern.substr(1, end - 1));
            pattern.remove_prefix(end);
        }
        auto& leaf = nodes_[index];
        leaf.is_alias = is_alias;
        if (leaf.row == none) leaf.row = row;
        if (is_alias || leaf.row == row) return;
        auto last = leaf.row;
        while (next_rows_[last] != none) last = next_rows_[last];
        next_rows_[last] = row;
    }

    // Most paths begin so; `find` enters the tree below it. After all rows.
    constexpr void begin_below(std::string_view prefix) {
        prefix_ = prefix;
        prefix_node_ = 0;
        while (!prefix.empty()) {
            auto const end = std::min(prefix.find('/', 1), prefix.size());
            prefix_node_ = child_of(prefix_node_, prefix.substr(1, end - 1));
            prefix.remove_prefix(end);
        }
    }

    // Null: no pattern matches. `variable` is set to the last segment that a `{…}` stands for.
    node const* find(std::string_view path, std::string_view& variable) const {
        if (!path.starts_with(prefix_)) return descend(nodes_[0], path, variable);
        return descend(nodes_[prefix_node_], path.substr(prefix_.size()), variable);
    }

    // The next row with the same path; `none` after the last.
    std::uint8_t next_row(std::uint8_t row) const { return next_rows_[row]; }

  private:
    constexpr std::uint8_t child_of(std::uint8_t parent, std::string_view segment) {
        bool const is_variable = segment.starts_with('{');
        auto* link = &nodes_[parent].child;
        while (*link != none && (is_variable || !nodes_[*link].is_variable)) {
            auto& each = nodes_[*link];
            if (is_variable ? each.is_variable : each.segment == segment) return *link;
            link = &each.sibling;
        }
        nodes_[count_] = {.segment = segment, .is_variable = is_variable, .sibling = *link};
        return *link = count_++;
    }

    node const* descend(node const& parent, std::string_view path,
                        std::string_view& variable) const {
        if (path.empty()) return parent.row == none ? nullptr : &parent;
        if (path.front() != '/') return nullptr;
        std::size_t end = 1;
        while (end < path.size() && path[end] != '/') ++end;
        auto const segment = path.substr(1, end - 1);
        for (auto i = parent.child; i != none; i = nodes_[i].sibling) {
            auto const& each = nodes_[i];
            if (each.is_variable ? segment.empty() : each.segment != segment) continue;
            auto const* const leaf = descend(each, path.substr(end), variable);
            if (leaf == nullptr) continue;
            if (each.is_variable && variable.empty()) variable = segment;
            return leaf;
        }
        return nullptr;
    }

    // Enough where paths share their beginnings; if there are more, the table does not compile.
    std::array<node, row_count + row_count / 2> nodes_{};
    std::uint8_t count_ = 1;  // the first is the root
    std::string_view prefix_;
    std::uint8_t prefix_node_ = 0;
    std::array<std::uint8_t, row_count> next_rows_{};
};

}  // namespace latchkey::api
