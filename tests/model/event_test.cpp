#include "model/event.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace latchkey::model {
namespace {

event_view some_event() {
    static std::string const marks(64, 'm');
    return {.id = 7,
            .source = "shop",
            .delivery_id = "msg_1",
            .key_id = 3,
            .verified = true,
            .received_at = 1'700'000'000'123,
            .marks = marks,
            .payload = "{\"a\": 1 }\n"};
}

TEST(events, are_decoded_as_they_were_encoded) {
    std::string bytes;
    encode(some_event(), bytes);
    auto const decoded = decode_event(7, bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->id, 7);
    EXPECT_EQ(decoded->source, "shop");
    EXPECT_EQ(decoded->delivery_id, "msg_1");
    EXPECT_EQ(decoded->key_id, 3);
    EXPECT_TRUE(decoded->verified);
    EXPECT_EQ(decoded->received_at, 1'700'000'000'123);
    EXPECT_EQ(decoded->marks, std::string(64, 'm'));
    EXPECT_EQ(decoded->payload, "{\"a\": 1 }\n");
}

TEST(events, truncated_or_extended_are_refused) {
    std::string bytes;
    encode(some_event(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_event(7, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_event(7, bytes + "x"));
    bytes[0] = 2;
    EXPECT_FALSE(decode_event(7, bytes)) << "another version";
}

TEST(events, with_values_that_no_event_has_are_refused) {
    std::string verified, bytes;
    encode(some_event(), verified);
    auto other = some_event();
    other.verified = false;
    encode(other, bytes);
    auto const offset = std::ranges::mismatch(verified, bytes).in1 - verified.begin();
    bytes[static_cast<std::size_t>(offset)] = 2;
    EXPECT_FALSE(decode_event(7, bytes));
    std::string const marks((event_marks_max + 1) * 32, 'm');
    other.marks = marks;
    encode(other, bytes);
    EXPECT_FALSE(decode_event(7, bytes));
    other.marks = std::string_view(marks).substr(32);
    encode(other, bytes);
    EXPECT_TRUE(decode_event(7, bytes));
}

TEST(events, have_delivery_ids_of_visible_ascii) {
    for (std::string const text : {"a", "msg_2b", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "~!\"."})
        EXPECT_TRUE(is_delivery_id(text)) << text;
    EXPECT_TRUE(is_delivery_id(std::string(255, 'a')));
    for (std::string const text : {"", " ", "a b", "a\t", "\x7f", "m\xc3\xa9", "a\n"})
        EXPECT_FALSE(is_delivery_id(text)) << text;
    EXPECT_FALSE(is_delivery_id(std::string(256, 'a')));
}

TEST(event_formats, are_found_by_their_names) {
    for (auto const* const name : {"standard", "github", "stripe"})
        EXPECT_EQ(name_of(find_event_format(name).value()), name);
    for (auto const* const name : {"", "Standard", "svix"}) EXPECT_FALSE(find_event_format(name));
}

}  // namespace
}  // namespace latchkey::model
