#include "model/post.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

using enum post_status;

post some_post() {
    return {7, 42, "A title", "A body\nof two lines", published, 30, 10, 20};
}

TEST(posts, come_back_as_they_were_encoded) {
    std::string bytes = "left over";
    auto const record = some_post();
    encode(record, bytes);
    auto const view = decode_post(7, bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->id, 7);
    EXPECT_EQ(view->user_id, 42);
    EXPECT_EQ(view->title, record.title);
    EXPECT_EQ(view->body, record.body);
    EXPECT_EQ(view->status, published);
    EXPECT_EQ(view->published_at, 30);
    EXPECT_EQ(view->created_at, 10);
    EXPECT_EQ(view->updated_at, 20);
    EXPECT_FALSE(view->plain);
    EXPECT_FALSE(view_of(record).plain);
    EXPECT_EQ(copy_of(*view).body, record.body);
}

TEST(posts, take_the_longest_and_the_emptiest_body) {
    auto record = some_post();
    std::string bytes;
    record.body.assign(post_body_bytes_max, 'b');
    encode(record, bytes);
    EXPECT_EQ(decode_post(7, bytes)->body, record.body);
    EXPECT_TRUE(decode_post(7, bytes)->plain);
    record.body.clear();
    encode(record, bytes);
    EXPECT_EQ(decode_post(7, bytes)->body, "");
}

TEST(posts, truncated_or_changed_are_refused) {
    std::string bytes;
    encode(some_post(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_post(7, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_post(7, bytes + "x"));
    for (auto const& [offset, value] : {std::pair{0, 0}, {0, 2}, {33, 3}, {34, 2}}) {
        auto copy = bytes;
        copy[static_cast<std::size_t>(offset)] = static_cast<char>(value);
        EXPECT_FALSE(decode_post(7, copy)) << offset;
    }
}

TEST(statuses, change_as_the_contract_says) {
    for (auto const old_status : {draft, published, archived})
        for (auto const new_status : {draft, published, archived})
            EXPECT_EQ(can_become(old_status, new_status),
                      !(old_status == archived && new_status == published));
}

TEST(statuses, are_found_by_name) {
    for (auto const each : {draft, published, archived})
        EXPECT_EQ(find_post_status(name_of(each)), each);
    for (auto const* bad : {"", "Draft", "draft ", "deleted"}) EXPECT_FALSE(find_post_status(bad));
}

}  // namespace
}  // namespace latchkey::model
