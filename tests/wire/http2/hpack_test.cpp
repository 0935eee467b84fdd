#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hex.hpp"
#include "wire/http2/hpack_decoder.hpp"
#include "wire/http2/hpack_encoder.hpp"

namespace latchkey::http2 {
namespace {

using namespace std::string_view_literals;
using result = hpack_decoder::result;
using list = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t list_bytes_max = 16'384;

struct reader {
    explicit reader(std::size_t table_bytes = 4096, table_mask const* mask = nullptr)
        : decoder(table_bytes, mask) {}

    result decode(std::string_view block) {
        fields.clear();
        valid.clear();
        ids.clear();
        return decoder.decode(block, text, [this](header_field const& field) {
            fields.emplace_back(field.name, field.value);
            valid.push_back(field.valid);
            ids.push_back(field.id);
        });
    }

    header_text text{list_bytes_max};
    hpack_decoder decoder;
    list fields;
    std::vector<bool> valid;
    std::vector<http::field_name> ids;
};

// RFC 7541, Appendix C.2.
TEST(hpack_decoder, reads_each_form_of_a_field) {
    reader one;
    EXPECT_EQ(
        one.decode(bytes_of("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572")),
        result::complete);
    EXPECT_EQ(one.fields, (list{{"custom-key", "custom-header"}}));
    EXPECT_EQ(one.decode(bytes_of("be")), result::complete) << "it was added";
    EXPECT_EQ(one.fields, (list{{"custom-key", "custom-header"}}));
    EXPECT_EQ(one.decode(bytes_of("040c 2f73 616d 706c 652f 7061 7468")), result::complete);
    EXPECT_EQ(one.fields, (list{{":path", "/sample/path"}}));
    EXPECT_EQ(one.decode(bytes_of("1008 7061 7373 776f 7264 0673 6563 7265 74")), result::complete);
    EXPECT_EQ(one.fields, (list{{"password", "secret"}}));
    EXPECT_EQ(one.decode(bytes_of("82")), result::complete);
    EXPECT_EQ(one.fields, (list{{":method", "GET"}}));
    EXPECT_EQ(one.decode(bytes_of("bf")), result::malformed) << "only one entry was added";
}

// Appendix C.3 and C.4: the same three requests, plain and with Huffman codes.
TEST(hpack_decoder, reads_the_requests_of_the_rfc) {
    list const first{
        {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
    auto second = first;
    second.emplace_back("cache-control", "no-cache");
    list const third{{":method", "GET"},
                     {":scheme", "https"},
                     {":path", "/index.html"},
                     {":authority", "www.example.com"},
                     {"custom-key", "custom-value"}};
    struct {
        std::string_view first, second, third;
    } const rows[] = {
        {"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", "8286 84be 5808 6e6f 2d63 6163 6865",
         "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65"},
        {"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", "8286 84be 5886 a8eb 1064 9cbf",
         "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"}};
    for (auto const& row : rows) {
        reader one;
        EXPECT_EQ(one.decode(bytes_of(row.first)), result::complete);
        EXPECT_EQ(one.fields, first);
        EXPECT_EQ(one.decode(bytes_of(row.second)), result::complete);
        EXPECT_EQ(one.fields, second);
        EXPECT_EQ(one.decode(bytes_of(row.third)), result::complete);
        EXPECT_EQ(one.fields, third);
    }
}

// Appendix C.5: a table of 256 bytes, from which entries are evicted.
TEST(hpack_decoder, evicts_as_the_responses_of_the_rfc_do) {
    reader one(256);
    EXPECT_EQ(one.decode(bytes_of(
                  "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 "
                  "3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 "
                  "7861 6d70 6c65 2e63 6f6d")),
              result::complete);
    list const first{{":status", "302"},
                     {"cache-control", "private"},
                     {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                     {"location", "https://www.example.com"}};
    EXPECT_EQ(one.fields, first);
    EXPECT_EQ(one.decode(bytes_of("4803 3330 37c1 c0bf")), result::complete);
    auto second = first;
    second[0].second = "307";
    EXPECT_EQ(one.fields, second);
    EXPECT_EQ(one.decode(bytes_of(
                  "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 "
                  "474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 "
                  "454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 "
                  "6572 7369 6f6e 3d31")),
              result::complete);
    EXPECT_EQ(one.fields,
              (list{{":status", "200"},
                    {"cache-control", "private"},
                    {"date", "Mon, 21 Oct 2013 20:13:22 GMT"},
                    {"location", "https://www.example.com"},
                    {"content-encoding", "gzip"},
                    {"set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"}}));
}

TEST(hpack_decoder, refuses_malformed_blocks) {
    for (std::string_view const hex : {
             "80",                    // index 0
             "be",                    // beyond both tables
             "ff ff ff ff ff 0f",     // an index that is too large
             "ff 80 80 80 80 80 01",  // an integer that never ends
             "40",                    // no name
             "40 01",                 // half a name
             "40 01 61",              // no value
             "40 01 61 05 62",        // half a value
             "7f",                    // half an index
             "00 81 18 00",           // Huffman padding of zeros
             "82 20",                 // a table size behind a field
             "3f e2 1f",              // a table size of 4,097
         })
        EXPECT_EQ(reader().decode(bytes_of(hex)), result::malformed) << hex;
    EXPECT_EQ(reader().decode(""), result::complete);
    EXPECT_EQ(reader().decode(bytes_of("20 3f e1 1f 82")), result::complete)
        << "two sizes: 0, then 4,096";
}

TEST(hpack_decoder, forgets_what_a_smaller_table_does_not_hold) {
    reader one;
    EXPECT_EQ(one.decode(bytes_of("4001 6101 62")), result::complete);
    EXPECT_EQ(one.decode(bytes_of("3f03 be")), result::complete) << "34 bytes: it just fits";
    EXPECT_EQ(one.decode(bytes_of("3f02 be")), result::malformed);
}

TEST(hpack_decoder, an_entry_larger_than_the_table_empties_it) {
    reader one(64);
    EXPECT_EQ(one.decode(bytes_of("4001 6101 62")), result::complete);
    std::string large = bytes_of("4001 6120");
    large.append(32, 'x');
    EXPECT_EQ(one.decode(large), result::complete) << "65 bytes";
    EXPECT_EQ(one.fields.front().second, std::string(32, 'x'));
    EXPECT_EQ(one.decode(bytes_of("be")), result::malformed);
}

// The name of a new entry may be that of one which is evicted for it (§4.4).
TEST(hpack_decoder, keeps_a_name_while_its_entry_is_evicted) {
    reader one(64);
    EXPECT_EQ(one.decode(bytes_of("4004 6e61 6d65 0161")), result::complete);
    std::string next = bytes_of("7e18");
    next.append(24, 'v');
    EXPECT_EQ(one.decode(next), result::complete);
    EXPECT_EQ(one.fields, (list{{"name", std::string(24, 'v')}}));
    EXPECT_EQ(one.decode(bytes_of("be")), result::complete);
    EXPECT_EQ(one.fields, (list{{"name", std::string(24, 'v')}}));
}

TEST(hpack_decoder, says_what_is_no_field_of_http) {
    struct {
        std::string name, value;
        bool valid;
    } const rows[] = {{"a", "b", true},       {":path", "/", true},
                      {"A", "b", false},      {"a b", "c", false},
                      {"", "c", false},       {":", "c", false},
                      {"a", "b\r\nc", false}, {"a", std::string(1, '\0'), false},
                      {"a", " b", false},     {"a", "b\t", false},
                      {"a", "b\tc", true},    {"a", "", true},
                      {"a\x80", "b", false},  {"a", "\x80", true}};
    reader one;
    for (auto const& row : rows) {
        std::string block = "\x40";
        block += static_cast<char>(row.name.size());
        block += row.name;
        block += static_cast<char>(row.value.size());
        block += row.value;
        EXPECT_EQ(one.decode(block), result::complete);
        EXPECT_EQ(one.valid.front(), row.valid) << row.name << ": " << row.value;
        EXPECT_EQ(one.decode(bytes_of("be")), result::complete);
        EXPECT_EQ(one.valid.front(), row.valid)
            << "from the table, " << row.name << ": " << row.value;
    }
}

TEST(hpack_decoder, knows_the_fields_that_the_service_reads) {
    reader one;
    EXPECT_EQ(one.decode(bytes_of("5301 61 4009 782d6170692d6b6579 0161 be")), result::complete);
    EXPECT_EQ(one.ids, (std::vector{http::field_name::accept, http::field_name::x_api_key,
                                    http::field_name::x_api_key}));
}

std::string literal(std::string_view name, std::string_view value, char form) {
    std::string block(1, form);
    for (auto const text : {name, value}) {
        if (text.size() < 127) {
            block += static_cast<char>(text.size());
        } else {
            block += '\x7f';
            auto rest = text.size() - 127;
            for (; rest >= 128; rest /= 128) block += static_cast<char>(rest % 128 | 0x80);
            block += static_cast<char>(rest);
        }
        block += text;
    }
    return block;
}

// SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 §6.5.2): names, values and 32 bytes for each field.
TEST(hpack_decoder, finds_a_list_too_large_and_stays_in_step) {
    reader one;
    std::string const fits(list_bytes_max - 2 * 32 - 2, 'x');
    auto const first = literal("a", "", '\x40');
    EXPECT_EQ(one.decode(first + literal("b", fits, '\0')), result::complete);
    EXPECT_EQ(one.fields.back().second, fits);
    EXPECT_EQ(one.decode(first + literal("b", fits + "x", '\0')), result::too_large);
    EXPECT_EQ(one.fields.size(), 1u);
    // Far beyond: what it adds to the table is there all the same.
    std::string block;
    for (int i = 0; i < 14; ++i) block += literal("c", std::string(3000, 'y'), '\0');
    block += literal("kept", "value", '\x40') + literal("huge", std::string(20'000, 'z'), '\0');
    EXPECT_EQ(one.decode(block), result::too_large);
    EXPECT_EQ(one.fields.size(), 5u);
    EXPECT_EQ(one.decode(bytes_of("be")), result::complete);
    EXPECT_EQ(one.fields, (list{{"kept", "value"}}));
}

TEST(hpack_decoder, refuses_a_block_that_no_list_needs) {
    std::string const huge(4 * list_bytes_max - 7, 'z');
    EXPECT_EQ(reader().decode(literal("a", huge, '\0')), result::too_large);
    EXPECT_EQ(reader().decode(literal("ab", huge, '\0')), result::excessive);
    // The text of codes of five bits is the longest: 8/5 of them, behind a list that just fits and
    // a name of the table.
    reader one(65'536);
    std::string packed(40'000, '\0');  // "0" eight times
    packed.replace(0, 0, "\xff\xc1\xb7\x02");
    EXPECT_EQ(one.decode(literal(std::string(40'000, 'n'), "", '\x40')), result::too_large);
    EXPECT_EQ(
        one.decode(literal("a", std::string(list_bytes_max - 33, 'x'), '\0') + "\x7e" + packed),
        result::too_large);
    EXPECT_EQ(one.decode(bytes_of("be")), result::malformed) << "the table is empty";
}

// Two bytes refer to 4 KiB each time, so the work of a block is bounded by what it says in all.
TEST(hpack_decoder, refuses_a_block_that_says_far_more_than_it_has) {
    auto const first = literal(std::string(4064, 'n'), "", '\x40');
    auto const repeated = [](std::string_view part, std::size_t count) {
        std::string block;
        for (; count != 0; --count) block += part;
        return block;
    };
    struct {
        std::string_view part;
        char const* name;
    } const rows[] = {{"\x7e\0"sv, "a new entry with its name"},
                      {"\x0f\x2f\0"sv, "its name"},
                      {"\xbe", "the entry"}};
    for (auto const& row : rows) {
        auto const part = row.part;
        reader one;
        EXPECT_EQ(one.decode(first + repeated(part, 63)), result::too_large) << row.name;
        EXPECT_EQ(one.decode(bytes_of("be")), result::complete) << row.name << ", in step";
        EXPECT_EQ(one.decode(repeated(part, 64)), result::too_large) << row.name;
        EXPECT_EQ(one.decode(repeated(part, 65)), result::excessive) << row.name;
        EXPECT_LE(one.fields.size(), 4u) << row.name;
    }
}

TEST(hpack_decoder, remembers_of_an_entry_whether_its_name_is_valid) {
    reader one;
    EXPECT_EQ(one.decode(literal("a b", "c", '\x40') + literal("d", " ", '\x40')),
              result::complete);
    EXPECT_EQ(one.valid, (std::vector{false, false}));
    EXPECT_EQ(one.decode(literal("", "c", '\0').replace(0, 2, "\x0f\x2f") +
                         literal("", "c", '\0').replace(0, 2, "\x0f\x30")),
              result::complete);
    EXPECT_EQ(one.fields, (list{{"d", "c"}, {"a b", "c"}}));
    EXPECT_EQ(one.valid, (std::vector{true, false}));
}

TEST(hpack_decoder, keeps_no_value_as_text) {
    table_mask mask;
    for (std::size_t i = 0; i < mask.bytes.size(); ++i)
        mask.bytes[i] = static_cast<char>(i * 37 + 11);
    dynamic_table table(4096, &mask);
    std::string const secret =
        "a secret that is longer than the mask, so that the mask begins anew";
    table.add({.name = "x-api-key", .value = secret});
    auto const masked = table[0].value;
    ASSERT_EQ(masked.size(), secret.size());
    for (std::size_t i = 0; i < secret.size(); ++i) EXPECT_NE(masked[i], secret[i]) << i;
    reader one(4096, &mask);
    auto const block = literal("x-api-key", secret, '\x40');
    for (auto const& next : {block, bytes_of("be"), bytes_of("be")}) {
        EXPECT_EQ(one.decode(next), result::complete);
        EXPECT_EQ(one.fields, (list{{"x-api-key", secret}}));
    }
}

TEST(hpack_encoder, refers_to_what_it_sent_before) {
    hpack_encoder encoder;
    reader client;
    list const expected{{":status", "201"},
                        {"content-type", "application/json"},
                        {"x-request-id", "a"},
                        {"date", "now"}};
    std::size_t sizes[3];
    for (auto& size : sizes) {
        std::string block;
        encoder.begin_block(block);
        encoder.add_status(201, block);
        encoder.add("content-type", "application/json", indexing::field, block);
        encoder.add("x-request-id", "a", indexing::name, block);
        encoder.add("date", "now", indexing::name, block);
        EXPECT_EQ(client.decode(block), result::complete);
        EXPECT_EQ(client.fields, expected);
        size = block.size();
    }
    EXPECT_EQ(sizes[1], 1u + 1 + 4 + 6) << "two indexes, and two literals with an indexed name";
    EXPECT_EQ(sizes[2], sizes[1]);
}

TEST(hpack_encoder, uses_the_static_table) {
    hpack_encoder encoder;
    std::string block;
    encoder.add_status(200, block);
    encoder.add_status(404, block);
    encoder.add("etag", "\"1\"", indexing::name, block);
    EXPECT_EQ(block, bytes_of("88 8d 0f13 0322 3122"));
}

TEST(hpack_encoder, never_has_a_secret_indexed) {
    hpack_encoder encoder;
    for (int i = 0; i < 2; ++i) {
        std::string block;
        encoder.add("set-cookie", "s", indexing::never, block);
        EXPECT_EQ(block, bytes_of("1f28 0173"));
    }
}

TEST(hpack_encoder, tells_of_a_smaller_table_and_forgets) {
    hpack_encoder encoder;
    reader client;
    auto const send = [&](std::string_view value) {
        std::string block;
        encoder.begin_block(block);
        encoder.add("a", value, indexing::field, block);
        EXPECT_EQ(client.decode(block), result::complete);
        EXPECT_EQ(client.fields, (list{{"a", std::string(value)}}));
        return block;
    };
    send("1");
    EXPECT_EQ(send("1"), bytes_of("be"));
    encoder.set_table_limit(0);
    EXPECT_EQ(send("1").substr(0, 1), bytes_of("20"));
    encoder.set_table_limit(4096);
    send("1");
    EXPECT_EQ(send("1"), bytes_of("be"));
    // Smaller and larger again between two blocks: both must be told (RFC 7541 §4.2).
    encoder.set_table_limit(0);
    encoder.set_table_limit(100);
    EXPECT_EQ(send("1").substr(0, 3), bytes_of("20 3f 45"));
    encoder.set_table_limit(1 << 20);
    EXPECT_EQ(send("1").substr(0, 3), bytes_of("3f e1 1f")) << "never larger than its own bound";
}

}  // namespace
}  // namespace latchkey::http2
