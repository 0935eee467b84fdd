#include "model/user.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

user some_user() {
    return {42, "Zoë \"Z\"", "Zoe@Example.org", 1'700'000'000'123, 1'700'000'000'456};
}

TEST(users, come_back_as_they_were_encoded) {
    std::string bytes = "left over";
    auto const record = some_user();
    encode(record, bytes);
    auto const view = decode_user(42, bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->id, 42);
    EXPECT_EQ(view->name, record.name);
    EXPECT_EQ(view->email, record.email);
    EXPECT_EQ(view->created_at, record.created_at);
    EXPECT_EQ(view->updated_at, record.updated_at);
    EXPECT_FALSE(view->plain);
    EXPECT_FALSE(view_of(record).plain);
    auto const copy = copy_of(*view);
    EXPECT_EQ(copy.name, record.name);
    EXPECT_EQ(copy.email, record.email);
}

TEST(users, know_whether_they_are_plain) {
    auto record = some_user();
    record.name = "Zoë";
    std::string bytes;
    encode(record, bytes);
    EXPECT_TRUE(decode_user(1, bytes)->plain);
    EXPECT_TRUE(view_of(record).plain);
}

TEST(users, truncated_or_changed_are_refused) {
    std::string bytes;
    encode(some_user(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_user(42, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_user(42, bytes + "x"));
    auto other_version = bytes;
    other_version[0] = 2;
    EXPECT_FALSE(decode_user(42, other_version));
    auto unknown_flag = bytes;
    unknown_flag[17] = 2;
    EXPECT_FALSE(decode_user(42, unknown_flag));
}

TEST(emails, follow_the_html_grammar) {
    for (auto const* good :
         {"a@b", "a@b.c", "A.b+c@d-e.fg", ".a.@b", "a..b@c", "!#$%&'*+/=?^_`{|}~-@x", "1@2.3",
          "x@a-b", "x@0", "x@xn--bcher-kva.example"})
        EXPECT_TRUE(is_email(good)) << good;
    for (auto const* bad : {"",
                            "@",
                            "a",
                            "a@",
                            "@b",
                            "a@b.",
                            "a@.b",
                            "a@b..c",
                            "a@-b",
                            "a@b-",
                            "a@b-.c",
                            "a b@c",
                            "a@b c",
                            "a@b@c",
                            "a@b_c",
                            "\"a\"@b",
                            "a(b)@c",
                            "a,b@c",
                            "a@b,c",
                            "a@[1.2.3.4]",
                            "a;b@c",
                            "a<b@c",
                            "zo\xc3\xab@example.org",
                            "a@ex\xc3\xa4mple.org",
                            "a@b\n",
                            "a\\b@c",
                            "a:b@c"})
        EXPECT_FALSE(is_email(bad)) << bad;
    EXPECT_FALSE(is_email(std::string_view("a\0@b", 4)));
}

TEST(emails, have_bounds) {
    EXPECT_TRUE(is_email("a@" + std::string(63, 'b')));
    EXPECT_FALSE(is_email("a@" + std::string(64, 'b')));
    EXPECT_TRUE(is_email(std::string(252, 'a') + "@b"));
    EXPECT_FALSE(is_email(std::string(253, 'a') + "@b"));
}

TEST(emails, are_folded_in_ascii_only) {
    EXPECT_EQ(folded_email("Zoe@EXAMPLE.Org"), "zoe@example.org");
    EXPECT_EQ(folded_email("[@`{\xc3\x89"), "[@`{\xc3\x89");
}

}  // namespace
}  // namespace latchkey::model
