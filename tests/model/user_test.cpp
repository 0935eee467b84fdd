#include "model/user.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

user some_user() {
    return {42, "Zoë \"Z\"", "Zoe@Example.org", 1'700'000'000'123, 1'700'000'000'456};
}

TEST(users, come_back_as_they_were_encoded) {
    std::string bytes = "left over";
    auto const whole = some_user();
    encode(whole, bytes);
    auto const view = decode_user(42, bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->id, 42);
    EXPECT_EQ(view->name, whole.name);
    EXPECT_EQ(view->email, whole.email);
    EXPECT_EQ(view->created_at, whole.created_at);
    EXPECT_EQ(view->updated_at, whole.updated_at);
    EXPECT_FALSE(view->plain);
    EXPECT_FALSE(view_of(whole).plain);
    auto const again = copy_of(*view);
    EXPECT_EQ(again.name, whole.name);
    EXPECT_EQ(again.email, whole.email);
}

TEST(users, know_whether_they_are_plain) {
    auto whole = some_user();
    whole.name = "Zoë";
    std::string bytes;
    encode(whole, bytes);
    EXPECT_TRUE(decode_user(1, bytes)->plain);
    EXPECT_TRUE(view_of(whole).plain);
}

TEST(users, that_were_cut_or_changed_are_refused) {
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

TEST(text, is_plain_without_anything_json_escapes) {
    for (std::size_t size = 0; size < 40; ++size) {
        std::string text(size, 'a');
        EXPECT_TRUE(is_plain(text));
        for (std::size_t at = 0; at < size; ++at)
            for (int byte = 0; byte < 256; ++byte) {
                auto changed = text;
                changed[at] = static_cast<char>(byte);
                EXPECT_EQ(is_plain(changed), byte >= 0x20 && byte != '"' && byte != '\\') << byte;
            }
    }
}

TEST(text, is_counted_in_code_points) {
    EXPECT_EQ(points_of(""), 0u);
    EXPECT_EQ(points_of("abc"), 3u);
    EXPECT_EQ(points_of("\xc3\xa9"), 1u);            // é
    EXPECT_EQ(points_of("e\xcc\x81"), 2u);           // e and a combining acute accent
    EXPECT_EQ(points_of("\xe2\x82\xac"), 1u);        // €
    EXPECT_EQ(points_of("a\xf0\x9f\x94\x91z"), 3u);  // a key between letters
}

TEST(text, shows_its_control_characters) {
    for (int point = 0; point < 0x20; ++point)
        EXPECT_TRUE(has_control_character(std::string(1, char(point))));
    EXPECT_TRUE(has_control_character("a\x7f"));
    for (int second = 0x80; second < 0xc0; ++second)
        EXPECT_EQ(has_control_character(std::string("a\xc2") + char(second) + "b"), second < 0xa0)
            << second;
    EXPECT_FALSE(has_control_character(""));
    EXPECT_FALSE(has_control_character("Zo\xc3\xab ~ \xe2\x80\x8d \xf0\x9f\x94\x91"));
    // Bytes 80 to 9F as continuations of something else are no control characters.
    EXPECT_FALSE(has_control_character("\xc3\x80\xe2\x82\x80"));
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
