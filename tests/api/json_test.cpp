// JSON, strictly (API §1): what is no document, and that what is written is one.
#include <boost/json/parse.hpp>

#include "api/json_reader.hpp"
#include "api/json_writer.hpp"
#include "harness.hpp"

namespace latchkey::api {
namespace {

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

std::string const broken[] = {
    "",
    " ",
    "{",
    "}",
    "nul",
    "{} {}",
    "{}x",
    std::string("{}\0", 3),
    "{},",
    "{\"a\":1,}",
    "[1,]",
    "{'a':1}",
    "{a:1}",
    "{\"a\" 1}",
    "{\"a\":01}",
    "{\"a\":+1}",
    "{\"a\":.5}",
    "{\"a\":1.}",
    "{\"a\":NaN}",
    "{\"a\":Infinity}",
    "{\"a\":0x1}",
    "// c\n{}",
    "{}/* c */",
    "\xef\xbb\xbf{}",  // a byte order mark
    "\"a\nb\"",        // a control character that is not escaped
    "\"\x01\"",
    "\"\\x41\"",
    "\"\\u12\"",
    "\"\\ud800\"",  // lone surrogates
    "\"\\udc00\"",
    "\"\\ud83d\\u0041\"",
    "\"\\ud83dx\"",
    "\"\\udc00\\ud800\"",
    "{\"\\ud800\":1}",
    "\"\xff\"",  // not UTF-8
    "\"\xc3\"",
    "\"\xc3(\"",
    "\"\xc0\x80\"",  // overlong
    "\"\xe0\x80\x80\"",
    "\"\xed\xa0\x80\"",      // a surrogate in UTF-8
    "\"\xf4\x90\x80\x80\"",  // beyond U+10FFFF
    "{\"\xff\":1}",
    "{\"a\":1,\"a\":1}",  // repeated members
    "{\"a\":1,\"b\":2,\"a\":null}",
    "{\"a\":1,\"\\u0061\":2}",
    "{\"x\":{\"a\":1,\"a\":2}}",
    "[{\"a\":1},{\"a\":1,\"a\":2}]",
    "{\"\":1,\"\":2}",
};

TEST(json_reader, refuses_what_is_no_document) {
    for (auto const& text : broken) {
        auto const made = read_json(text);
        EXPECT_FALSE(made.root) << text;
        EXPECT_FALSE(made.wrong.empty()) << text;
    }
    EXPECT_FALSE(read_json(nested(33)).root);
    std::string deep = "1";
    for (int i = 0; i < 33; ++i) deep = "{\"a\":" + deep + "}";
    EXPECT_FALSE(read_json(deep).root);
    EXPECT_FALSE(read_json(std::string(100'000, '[')).root);
}

TEST(json_reader, takes_what_is_one) {
    for (std::string const text :
         {" \t\r\n{} \t\r\n", "null", "1", "-0", "1e2", "\"\"", "\"\\ud83d\\ude00\"",
          "\"\xf0\x9f\x98\x80\"", "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}",
          "{\"a\":1,\"A\":2}", "\"\\u0000\"", "\"\xf4\x8f\xbf\xbf\""})
        EXPECT_TRUE(read_json(text).root) << text;
    EXPECT_TRUE(read_json(nested(32)).root);
}

TEST(json_reader, makes_a_number_of_zero_with_a_huge_exponent) {
    for (auto const* const text : {"[0.0E2707]", "[-0e999]", "[0e400]"}) {
        auto const made = read_json(text);
        ASSERT_TRUE(made.root) << text;
        EXPECT_EQ(made.root->as_array().at(0).to_number<double>(), 0.0) << text;
    }
}

TEST(json_reader, tells_a_repeated_credential_from_other_members) {
    EXPECT_TRUE(read_json(R"({"api_key":1,"api_key":2})").credential_twice);
    EXPECT_TRUE(read_json(R"({"api_key":1,"a":{},"api\u005fkey":2})").credential_twice);
    EXPECT_FALSE(read_json(R"({"a":1,"a":2})").credential_twice);
    EXPECT_FALSE(read_json(R"({"a":{"api_key":1,"api_key":2}})").credential_twice);
    EXPECT_FALSE(read_json(R"([{"api_key":1},{"api_key":2}])").credential_twice);
}

TEST_F(api_test, a_body_that_is_no_json) {
    auto const id = std::to_string(at.add_user());
    for (auto const& text : broken) {
        if (text.empty()) continue;
        for (std::string const line : {"POST /api/v1/users", "POST /api/v1/posts",
                                       "PUT /api/v1/users/1", "PATCH /api/v1/users/1"}) {
            auto const made = at.ask(line, text);
            EXPECT_EQ(made.status, 400) << line << text;
            EXPECT_EQ(made.code(), "invalid_json") << line << text;
        }
    }
    EXPECT_EQ(at.ask("POST /api/v1/users", R"({"name":)" + nested(31) + "}").faults().at("/name"),
              "invalid_type");
    EXPECT_EQ(at.ask("POST /api/v1/users", R"({"name":)" + nested(32) + "}").code(),
              "invalid_json");
}

TEST_F(api_test, a_body_that_is_no_object) {
    at.add_user();
    for (std::string const text : {"[]", "null", "1", "\"x\"", "true", "[{}]"})
        for (std::string const line : {"POST /api/v1/users", "PATCH /api/v1/users/1"}) {
            auto const made = at.ask(line, text);
            EXPECT_EQ(made.code(), "validation_failed") << text;
            EXPECT_EQ(made.faults(), (std::map<std::string, std::string>{{"", "invalid_type"}}));
        }
}

TEST(json_writer, writes_strings_that_are_json) {
    std::pair<std::string, std::string> const rows[] = {
        {"", R"("")"},
        {"plain", R"("plain")"},
        {"a\"b\\c", R"("a\"b\\c")"},
        {"\n\r\t", R"("\n\r\t")"},
        {std::string("\0\x01\x1f\x7f", 4), R"("\u0000\u0001\u001f\u007f")"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff"
         "a\xc3",
         "\"\xef\xbf\xbd"
         "a\xef\xbf\xbd\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"/<>'", R"("/<>'")"},
    };
    for (auto const& [text, expected] : rows) {
        std::string made;
        append_string(made, text);
        EXPECT_EQ(made, expected);
        std::string put;
        {
            base::string_writer out(put, string_bytes_max(text));
            put_string(out, text);
        }
        EXPECT_EQ(put, expected);
        boost::json::error_code wrong;
        boost::json::parse(made, wrong);
        EXPECT_FALSE(wrong) << made;
    }
}

TEST(json_writer, writes_times) {
    std::string made;
    append_timestamp(made, 1'700'000'000'007);
    append_timestamp_or_null(made, 0);
    EXPECT_EQ(made, "\"2023-11-14T22:13:20.007Z\"null");
}

}  // namespace
}  // namespace latchkey::api
