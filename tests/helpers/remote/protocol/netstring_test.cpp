// Netstrings over a socket: whole, in pieces, and what is none.
#include "helpers/remote/protocol/netstring.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system/descriptor.hpp"

namespace latchkey::remote {
namespace {

class netstrings : public testing::Test {
  protected:
    netstrings() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        writer_ = base::descriptor(ends[0]);
        reader_ = base::descriptor(ends[1]);
    }
    // What is read of a stream that ends after these bytes.
    std::vector<std::string> read(std::string_view bytes, std::size_t bytes_max = 100) {
        EXPECT_TRUE(write_stream(writer_.get(), bytes));
        writer_.close();
        netstring_reader input(reader_.get(), bytes_max);
        std::vector<std::string> texts;
        while (auto text = input.next()) texts.push_back(std::move(*text));
        return texts;
    }

    base::descriptor writer_, reader_;
};

using strings = std::vector<std::string>;

TEST_F(netstrings, come_back_as_they_were) {
    std::string stream;
    for (auto const* const text : {"", "a", "12:34,", "two\nlines"}) append_netstring(stream, text);
    EXPECT_EQ(stream, "0:,1:a,6:12:34,,9:two\nlines,");
    EXPECT_EQ(read(stream), (strings{"", "a", "12:34,", "two\nlines"}));
}

TEST_F(netstrings, end_at_what_is_none) {
    EXPECT_EQ(read("1:a,2:bc;1:d,"), strings{"a"});
}
TEST_F(netstrings, end_at_a_length_that_is_none) {
    EXPECT_EQ(read("1:a,x:b,"), strings{"a"});
}
TEST_F(netstrings, end_at_a_text_beyond_the_limit) {
    EXPECT_EQ(read("3:abc,101:" + std::string(101, 'x') + ","), strings{"abc"});
}
TEST_F(netstrings, end_where_the_stream_does) {
    EXPECT_EQ(read("3:abc,5:de"), strings{"abc"});
}
TEST_F(netstrings, end_without_a_colon) {
    EXPECT_EQ(read("123456789012"), strings{});
}

TEST_F(netstrings, are_not_written_to_a_closed_end) {
    reader_.close();
    EXPECT_FALSE(write_stream(writer_.get(), "1:a,"));
}

}  // namespace
}  // namespace latchkey::remote
