// A connection that repeats itself allocates nothing in HPACK, in either direction.
#include <gtest/gtest.h>

#include "../../limit/allocations.hpp"
#include "wire/http2/hpack_decoder.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::http2 {
namespace {

TEST(hpack, allocates_nothing_in_the_steady_state) {
    if (!test::counts_allocations()) GTEST_SKIP();
    hpack_encoder encoder;
    hpack_decoder decoder(4096);
    header_text text(16'384);
    std::string block;
    std::size_t bytes = 0, before = 0;
    for (int request = 0; request < 1000; ++request) {
        if (request == 100) before = test::allocations();
        block.clear();
        encoder.begin_block(block);
        encoder.add_status(200, block);
        encoder.add("content-type", "application/json", indexing::field, block);
        std::array<char, 16> id{};
        id.fill(static_cast<char>('a' + request % 26));
        encoder.add("x-request-id", {id.data(), id.size()}, indexing::name, block);
        // A new entry with each request turns the table over.
        encoder.add("etag", {id.data(), static_cast<std::size_t>(request % 16)}, indexing::field,
                    block);
        ASSERT_EQ(decoder.decode(block, text,
                                 [&](header_field const& field) { bytes += field.value.size(); }),
                  hpack_decoder::result::complete);
    }
    EXPECT_EQ(test::allocations(), before);
    EXPECT_GT(bytes, 1000u);
}

}  // namespace
}  // namespace latchkey::http2
