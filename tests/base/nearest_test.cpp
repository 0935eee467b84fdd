// The name that was probably meant, and where there is none.
#include "base/nearest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace latchkey::base {
namespace {

std::string nearest_of(std::string_view name, std::vector<std::string_view> const& names) {
    return std::string(nearest(name, names).value_or("none"));
}

TEST(edit_distance, counts_insertions_deletions_substitutions_and_swaps) {
    EXPECT_EQ(edit_distance("serve", "serve"), 0u);
    EXPECT_EQ(edit_distance("serv", "serve"), 1u);
    EXPECT_EQ(edit_distance("lsit", "list"), 1u);
    EXPECT_EQ(edit_distance("list", "lsit"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("Email", "email"), 0u);
    std::string const longest(near_name_bytes_max, 'a');
    EXPECT_EQ(edit_distance(longest, std::string(near_name_bytes_max, 'b')), near_name_bytes_max);
}

TEST(nearest_name, is_within_a_third_of_the_length_and_always_within_one_edit) {
    std::vector<std::string_view> const names{"create", "id", "json", "user_id"};
    EXPECT_EQ(nearest_of("crate", names), "create");
    EXPECT_EQ(nearest_of("jsn", names), "json");
    EXPECT_EQ(nearest_of("i", names), "id");
    EXPECT_EQ(nearest_of("userId", names), "user_id");
    EXPECT_EQ(nearest_of("jn", names), "none");
    EXPECT_EQ(nearest_of("crt", names), "none");
    EXPECT_EQ(nearest_of("", names), "none");
    EXPECT_EQ(nearest_of("id", {}), "none");
}

TEST(nearest_name, may_be_abbreviated) {
    std::vector<std::string_view> const names{"expires-in", "name", "scope", "state"};
    EXPECT_EQ(nearest_of("expires", names), "expires-in");
    EXPECT_EQ(nearest_of("exp", names), "expires-in");
    EXPECT_EQ(nearest_of("ex", names), "none");
}

TEST(nearest_name, is_none_where_several_are_as_near) {
    EXPECT_EQ(nearest_of("lost", {"list", "last"}), "none");
    EXPECT_EQ(nearest_of("lost", {"list", "lust", "last"}), "none");
    EXPECT_EQ(nearest_of("lost", {"list", "list"}), "list") << "it is the same one";
    EXPECT_EQ(nearest_of("stat", {"start", "state"}), "state") << "it begins so";
    EXPECT_EQ(nearest_of("page_", {"page_after", "page_before"}), "none");
}

TEST(nearest_name, is_none_for_what_a_client_makes_long) {
    std::string const longest(near_name_bytes_max, 'a'), longer = longest + 'a';
    EXPECT_EQ(nearest_of(longest, {longer, longest.substr(1)}), longest.substr(1));
    EXPECT_EQ(nearest_of(longer, {longest, longer}), "none");
    EXPECT_EQ(nearest_of(std::string(1 << 20, 'a'), {"aaa"}), "none");
}

}  // namespace
}  // namespace latchkey::base
