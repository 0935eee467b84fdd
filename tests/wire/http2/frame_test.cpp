#include "wire/http2/frame.hpp"

#include <gtest/gtest.h>

#include "hex.hpp"

namespace latchkey::http2 {
namespace {

TEST(frame, has_nine_bytes_in_front) {
    auto const bytes = bytes_of("001234 01 25 8000 0007");
    auto const head = read_frame_head(bytes.data());
    EXPECT_EQ(head.length, 0x1234u);
    EXPECT_EQ(head.type, frame_type::headers);
    EXPECT_TRUE(head.has(flag::end_headers) && head.has(flag::end_stream) &&
                head.has(flag::priority));
    EXPECT_FALSE(head.has(flag::padded));
    EXPECT_EQ(head.stream, 7u) << "the reserved bit is ignored";
    std::string output;
    put_frame_head(head, output);
    EXPECT_EQ(output, bytes_of("001234 01 25 0000 0007"));
}

TEST(frame, small_ones_are_written_whole) {
    std::string output;
    put_settings_ack(output);
    put_ping_ack("12345678", output);
    put_rst_stream(5, error_code::cancel, output);
    put_goaway(9, error_code::enhance_your_calm, "calm", output);
    put_window_update(0, 65'536, output);
    EXPECT_EQ(output, bytes_of("000000 04 01 00000000"
                               "000008 06 01 00000000 3132333435363738"
                               "000004 03 00 00000005 00000008"
                               "00000c 07 00 00000000 00000009 0000000b 63616c6d"
                               "000004 08 00 00000000 00010000"));
}

// RFC 7541 §4.2: a client that lowered its table in between must be told so.
TEST(settings, keep_the_smallest_table_of_a_frame) {
    settings theirs;
    read_settings(bytes_of("0001 00001000 0001 00000010 0001 00000800"), theirs);
    EXPECT_EQ(theirs.header_table_bytes, 0x800u);
    EXPECT_EQ(theirs.header_table_bytes_least, 0x10u);
    read_settings(bytes_of("0004 00001000"), theirs);
    EXPECT_EQ(theirs.header_table_bytes, 0x800u);
    EXPECT_EQ(theirs.header_table_bytes_least, UINT32_MAX);
}

TEST(settings, are_what_was_said_last) {
    settings theirs;
    EXPECT_EQ(read_settings(
                  bytes_of("0001 00000000 0002 00000000 0003 00000064 0004 0000ffff 0005 00004000 "
                           "0006 00001000 0009 00000001 00ff ffffffff 0003 00000065"),
                  theirs),
              error_code::no_error);
    EXPECT_EQ(theirs.header_table_bytes, 0u);
    EXPECT_FALSE(theirs.push);
    EXPECT_EQ(theirs.streams_max, 101u);
    EXPECT_EQ(theirs.window, 65'535u);
    EXPECT_EQ(theirs.frame_bytes_max, 16'384u);
    EXPECT_EQ(theirs.header_list_bytes_max, 4096u);
    EXPECT_TRUE(theirs.no_rfc7540_priorities);
}

// RFC 9113 §6.5 and §6.5.2, RFC 9218 §2.1.
TEST(settings, out_of_range_have_the_error_of_the_rfc) {
    struct {
        std::string_view hex;
        error_code code;
    } const rows[] = {{"0001 000000", error_code::frame_size_error},
                      {"0002 00000002", error_code::protocol_error},
                      {"0004 80000000", error_code::flow_control_error},
                      {"0005 00003fff", error_code::protocol_error},
                      {"0005 01000000", error_code::protocol_error},
                      {"0009 00000002", error_code::protocol_error},
                      {"0005 00ffffff", error_code::no_error},
                      {"0004 7fffffff", error_code::no_error},
                      {"", error_code::no_error}};
    for (auto const& row : rows) {
        settings theirs;
        EXPECT_EQ(read_settings(bytes_of(row.hex), theirs), row.code) << row.hex;
    }
}

TEST(settings, of_ours_say_what_is_not_the_default) {
    settings ours;
    std::string output;
    put_settings(ours, output);
    EXPECT_EQ(output, bytes_of("000000 04 00 00000000"));
    ours.streams_max = 128;
    ours.push = false;
    output.clear();
    put_settings(ours, output);
    EXPECT_EQ(output, bytes_of("00000c 04 00 00000000 0002 00000000 0003 00000080"));
}

TEST(content, is_without_padding_and_priority) {
    auto const inner = [](frame_type type, std::uint8_t flags, std::string_view hex) {
        static std::string payload;
        payload = bytes_of(hex);
        return content_of({static_cast<std::uint32_t>(payload.size()), type, flags, 1}, payload);
    };
    EXPECT_EQ(inner(frame_type::data, 0, "6162").bytes, "ab");
    EXPECT_EQ(inner(frame_type::data, flag::padded, "01 6162 00").bytes, "ab");
    EXPECT_EQ(inner(frame_type::data, flag::padded, "00").bytes, "");
    EXPECT_EQ(inner(frame_type::data, flag::padded, "").problem, error_code::frame_size_error);
    EXPECT_EQ(inner(frame_type::data, flag::padded, "01").problem, error_code::protocol_error);
    EXPECT_EQ(inner(frame_type::data, flag::padded, "02 00").problem, error_code::protocol_error);
    EXPECT_EQ(inner(frame_type::data, flag::padded, "01 00").problem, error_code::no_error);
    auto const with_priority =
        inner(frame_type::headers, flag::padded | flag::priority, "01 80000003 ff 82 00");
    EXPECT_EQ(with_priority.bytes, "\x82");
    EXPECT_EQ(with_priority.dependency, 3u);
    EXPECT_EQ(inner(frame_type::headers, flag::priority, "00000003").problem,
              error_code::frame_size_error);
    EXPECT_EQ(inner(frame_type::headers, flag::priority, "00000003 00").bytes, "");
    EXPECT_EQ(inner(frame_type::headers, flag::priority | flag::padded, "01 00000003 00").problem,
              error_code::protocol_error);
}

// RFC 9218 §4, RFC 8941 §4.2.
TEST(priority, is_read_as_a_dictionary) {
    struct {
        std::string_view text;
        int urgency;  // -1: malformed
        bool incremental;
    } const rows[] = {{"", 3, false},
                      {"u=0", 0, false},
                      {"u=7, i", 7, true},
                      {"i, u=5", 5, true},
                      {"i=?0", 3, false},
                      {"i=?1;a=1", 3, true},
                      {"u=8", 3, false},
                      {"u=-1", 3, false},
                      {"u=1.0", 3, false},
                      {"u=2, u=4", 4, false},
                      {" u=1 ,\t i ", 1, true},
                      {"x=\"a,b\", u=6", 6, false},
                      {"x=(a \"b\" 1;q=2), u=6", 6, false},
                      {"x=:YQ==:, i", 3, true},
                      {"u", 3, false},
                      {"i=1", 3, false},
                      {"u=1,", -1, false},
                      {",u=1", -1, false},
                      {"u=", -1, false},
                      {"U=1", -1, false},
                      {"u=1 i", -1, false},
                      {"x=\"a", -1, false},
                      {"x=(a", -1, false},
                      {"i=?2", -1, false}};
    for (auto const& row : rows) {
        auto const read = parse_priority(row.text);
        EXPECT_EQ(read ? int(read->urgency) : -1, row.urgency) << row.text;
        if (read) EXPECT_EQ(read->incremental, row.incremental) << row.text;
    }
}

}  // namespace
}  // namespace latchkey::http2
