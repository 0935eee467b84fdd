#include "model/event.hpp"

#include <gtest/gtest.h>

namespace latchkey::model {
namespace {

event_view whole() {
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

TEST(events, are_read_as_they_were_written) {
    std::string bytes;
    encode(whole(), bytes);
    auto const read = decode_event(7, bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, 7);
    EXPECT_EQ(read->source, "shop");
    EXPECT_EQ(read->delivery_id, "msg_1");
    EXPECT_EQ(read->key_id, 3);
    EXPECT_TRUE(read->verified);
    EXPECT_EQ(read->received_at, 1'700'000'000'123);
    EXPECT_EQ(read->marks, std::string(64, 'm'));
    EXPECT_EQ(read->payload, "{\"a\": 1 }\n");
}

TEST(events, that_were_cut_short_or_lengthened_are_refused) {
    std::string bytes;
    encode(whole(), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_event(7, std::string_view(bytes).substr(0, size))) << size;
    EXPECT_FALSE(decode_event(7, bytes + "x"));
    bytes[0] = 2;
    EXPECT_FALSE(decode_event(7, bytes)) << "of another version";
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
