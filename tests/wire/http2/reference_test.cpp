// HPACK held against libnghttp2, in both directions, over connections of many blocks.
#include <gtest/gtest.h>

#include <random>

#include "nghttp2_hpack.hpp"
#include "wire/http2/hpack_decoder.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::http2 {
namespace {

class traffic {
  public:
    explicit traffic(unsigned seed) : random_(seed) {}

    std::size_t below(std::size_t bound) { return random_() % bound; }
    field_list block() {
        field_list fields;
        for (auto count = below(12); count != 0; --count)
            fields.emplace_back(below(3) == 0 ? text(20) + "n" : names[below(std::size(names))],
                                below(2) == 0 ? "value " + std::to_string(below(8)) : text(200));
        return fields;
    }

  private:
    static constexpr char const* names[] = {":path", ":method", "accept",     "x-api-key",
                                            "etag",  "date",    "user-agent", "a"};

    std::string text(std::size_t size_max) {
        std::string made(below(size_max), '\0');
        bool const plain = below(4) != 0;
        for (auto& byte : made) byte = static_cast<char>(plain ? 'a' + below(26) : below(256));
        return made;
    }

    std::mt19937 random_;
};

TEST(against_nghttp2, the_decoder_reads_what_it_writes) {
    header_text text(16'384);
    for (unsigned seed = 0; seed < 40; ++seed) {
        traffic some(seed);
        reference_encoder encoder;
        hpack_decoder decoder(4096);
        for (int block = 0; block < 50; ++block) {
            if (some.below(10) == 0) encoder.set_table_bytes(some.below(4097));
            auto const expected = some.block();
            field_list fields;
            ASSERT_EQ(decoder.decode(encoder.encode(expected), text,
                                     [&](header_field const& field) {
                                         fields.emplace_back(field.name, field.value);
                                     }),
                      hpack_decoder::result::complete);
            ASSERT_EQ(fields, expected) << seed;
        }
    }
}

TEST(against_nghttp2, the_encoder_is_read_by_it) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        traffic some(seed);
        hpack_encoder encoder;
        reference_decoder decoder;
        for (int block = 0; block < 50; ++block) {
            if (some.below(10) == 0) encoder.set_table_limit(some.below(5000));
            auto const expected = some.block();
            std::string bytes;
            encoder.begin_block(bytes);
            for (auto const& [name, value] : expected)
                encoder.add(name, value, static_cast<indexing>(some.below(3)), bytes);
            auto const fields = decoder.decode(bytes);
            ASSERT_TRUE(fields.has_value()) << seed;
            ASSERT_EQ(*fields, expected) << seed;
        }
    }
}

}  // namespace
}  // namespace latchkey::http2
