// Strict JSON (api.md §1): invalid documents are refused, and written documents are valid.
#include <boost/json/parse.hpp>

#include "../../harness.hpp"
#include "../../nasty_bodies.hpp"
#include "api/frame/checks/validate.hpp"
#include "api/frame/json/json_reader.hpp"
#include "api/frame/json/json_writer.hpp"
#include "api/frame/json/member_names.hpp"

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

TEST(json_reader, refuses_invalid_documents) {
    for (auto const& text : broken) {
        auto const result = read_json(text);
        EXPECT_FALSE(result.root) << text;
        EXPECT_FALSE(result.error.empty()) << text;
    }
    EXPECT_FALSE(read_json(nested(33)).root);
    std::string deep = "1";
    for (int i = 0; i < 33; ++i) deep = "{\"a\":" + deep + "}";
    EXPECT_FALSE(read_json(deep).root);
    EXPECT_FALSE(read_json(std::string(100'000, '[')).root);
}

TEST(json_reader, names_a_byte_order_mark) {
    EXPECT_NE(read_json("\xef\xbb\xbf{}").error.find("byte order mark"), std::string::npos);
    EXPECT_NE(scan_json("\xef\xbb\xbf{}", "a", repeats::allowed).error.find("byte order mark"),
              std::string::npos);
}

TEST(json_reader, accepts_valid_documents) {
    for (std::string const text :
         {" \t\r\n{} \t\r\n", "null", "1", "-0", "1e2", "\"\"", "\"\\ud83d\\ude00\"",
          "\"\xf0\x9f\x98\x80\"", "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}",
          "{\"a\":1,\"A\":2}", "\"\\u0000\"", "\"\xf4\x8f\xbf\xbf\""})
        EXPECT_TRUE(read_json(text).root) << text;
    EXPECT_TRUE(read_json(nested(32)).root);
}

TEST(json_reader, makes_a_number_of_zero_with_a_huge_exponent) {
    for (auto const* const text : {"[0.0E2707]", "[-0e999]", "[0e400]"}) {
        auto const result = read_json(text);
        ASSERT_TRUE(result.root) << text;
        auto const* const number = result.root->if_array()->at(0).if_int64();
        ASSERT_NE(number, nullptr) << text;
        EXPECT_EQ(*number, 0) << text;
    }
}

// JSON Schema: a number without a fraction is an integer, whichever way it is written.
TEST(json_reader, makes_an_integer_of_a_number_without_a_fraction) {
    for (auto const& [text, value] : {std::pair("1.0", 1),
                                      {"1e0", 1},
                                      {"-2.000", -2},
                                      {"3E2", 300},
                                      {"120e-1", 12},
                                      {"0.5e1", 5},
                                      {"-0.0", 0}}) {
        auto const result = read_json(text);
        ASSERT_TRUE(result.root && result.root->is_int64()) << text;
        EXPECT_EQ(*result.root->if_int64(), value) << text;
    }
    for (auto const* const text : {"1.5", "1e-1", "9007199254740991.0", "1e300", "-1e16"}) {
        auto const result = read_json(text);
        EXPECT_TRUE(result.root && result.root->if_double() != nullptr) << text;
    }
    auto const largest = read_json("999999999999999.0");
    ASSERT_TRUE(largest.root && largest.root->is_int64());
    EXPECT_EQ(*largest.root->if_int64(), 999999999999999);
}

TEST(json_reader, tells_a_repeated_credential_from_other_members) {
    EXPECT_TRUE(read_json(R"({"api_key":1,"api_key":2})").duplicate_credential);
    EXPECT_TRUE(read_json(R"({"api_key":1,"a":{},"api\u005fkey":2})").duplicate_credential);
    EXPECT_FALSE(read_json(R"({"a":1,"a":2})").duplicate_credential);
    EXPECT_FALSE(read_json(R"({"a":{"api_key":1,"api_key":2}})").duplicate_credential);
    EXPECT_FALSE(read_json(R"([{"api_key":1},{"api_key":2}])").duplicate_credential);
}

// An object with n members.
std::string object_with(std::size_t members) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < members; ++i) names.push_back("m" + std::to_string(i));
    return object_of(names);
}

TEST(json_reader, stops_at_128_members_of_an_object) {
    EXPECT_EQ(read_json(object_with(128)).root->if_object()->size(), 128u);
    auto const root = read_json(object_with(129));
    ASSERT_TRUE(root.excess);
    EXPECT_FALSE(root.root);
    EXPECT_EQ(root.excess->member, "");
    auto const nested = read_json("{\"a\":0,\"metadata\":{\"x\":" + object_with(129) + "}}");
    ASSERT_TRUE(nested.excess);
    EXPECT_EQ(nested.excess->member, "metadata");
    // The rest is not read, and earlier errors count.
    EXPECT_TRUE(read_json(object_with(129) + "nonsense").excess);
    EXPECT_FALSE(read_json("{\"a\":1,\"a\":2," + object_with(129).substr(1)).excess);
}

// A key in the body takes no place of another member.
TEST(json_reader, does_not_count_the_credential) {
    auto const with_key = [](std::string const& object) {
        return object.substr(0, object.size() - 1) + R"(,"api_key":"x"})";
    };
    EXPECT_EQ(read_json(with_key(object_with(128))).root->if_object()->size(), 129u);
    EXPECT_TRUE(read_json(with_key(object_with(129))).excess);
    EXPECT_TRUE(read_json("{\"a\":" + with_key(object_with(128)) + "}").excess);
    auto const full = R"({"a":[)" + repeated_body("", "0", "", 2 * 510 - 1) + "]}";
    EXPECT_TRUE(read_json(full).root);
    EXPECT_TRUE(read_json(with_key(full)).root);
    EXPECT_TRUE(read_json(R"({"b":0,)" + with_key(full).substr(1)).excess);
    EXPECT_TRUE(read_json(R"({"api_key":[0,0],)" + full.substr(1)).excess) << "of a list, each";
}

TEST(json_reader, stops_at_512_values_of_a_document) {
    auto const list = [](std::size_t values) {
        return "[" + repeated_body("", "0", "", 2 * values - 1) + "]";
    };
    EXPECT_EQ(read_json(list(511)).root->if_array()->size(), 511u);
    ASSERT_TRUE(read_json(list(512)).excess);
    EXPECT_EQ(read_json(list(512)).excess->member, "");
    EXPECT_TRUE(read_json("[" + object_with(126) + "," + object_with(126) + "," + object_with(126) +
                          "," + object_with(126) + ",0,0,0]")
                    .root);
    EXPECT_TRUE(read_json("[" + object_with(126) + "," + object_with(126) + "," + object_with(126) +
                          "," + object_with(126) + ",0,0,0,0]")
                    .excess);
    EXPECT_TRUE(read_json(std::string(30, '[') + list(100'000) + std::string(30, ']')).excess);
}

TEST(json_scan, accepts_any_number_of_members_and_keeps_one) {
    std::string const many = object_with(40'000);
    auto const scan = scan_json(many, "m39999", repeats::refused);
    EXPECT_EQ(scan.error, "");
    EXPECT_TRUE(scan.object && scan.has_member && !scan.repeated);
    EXPECT_EQ(scan.text.text(), "");
    auto const text = scan_json(R"({"a":{"k":"no"},"\u006b" : "a\u0062c","b":["k","no"]})", "k",
                                repeats::refused);
    EXPECT_EQ(text.error, "");
    EXPECT_EQ(text.text.text(), "abc");
    EXPECT_FALSE(scan_json("[\"k\",\"no\"]", "k", repeats::refused).object);
    // A member that is longer than a secret is empty.
    auto const of_size = [](std::size_t bytes) {
        return std::string(scan_json(R"({"k":"\u0061)" + std::string(bytes - 1, 'b') + "\"}", "k",
                                     repeats::refused)
                               .text.text());
    };
    EXPECT_EQ(of_size(256).size(), 256u);
    EXPECT_EQ(of_size(257), "");
    EXPECT_EQ(of_size(20'000), "");
}

TEST(json_scan, is_as_strict_as_a_document) {
    for (auto const& text : broken) {
        auto const scan = scan_json(text, "x", repeats::refused);
        EXPECT_EQ(scan.error, read_json(text).error) << text;
    }
    EXPECT_NE(scan_json(nested(33), "x", repeats::refused).error, "");
    EXPECT_EQ(scan_json(nested(32), "x", repeats::refused).error, "");
    auto const many = object_with(5000);
    auto const object_ending_with = [&](std::string_view last) {
        return many.substr(0, many.size() - 1) + "," + std::string(last) + "}";
    };
    EXPECT_NE(scan_json(object_ending_with("\"m7\":1"), "x", repeats::refused).error, "");
    EXPECT_NE(scan_json(object_ending_with("\"\\u006d4999\":1"), "x", repeats::refused).error, "");
    EXPECT_NE(scan_json(object_ending_with("\"x\":1,\"x\":1"), "x", repeats::allowed).error, "");
    EXPECT_EQ(scan_json(object_ending_with("\"m7\":1"), "x", repeats::allowed).error, "");
    EXPECT_EQ(
        scan_json(object_ending_with("\"y\":" + many + ",\"z\":" + many), "x", repeats::refused)
            .error,
        "");
}

TEST(member_names, are_one_of_an_object) {
    member_names names;
    for (std::uint64_t object = 0; object < 3; ++object)
        for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(names.insert(object, std::to_string(i)));
    for (std::uint64_t object = 0; object < 3; ++object)
        for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(names.insert(object, std::to_string(i)));
}

TEST(members, collect_at_most_fifty_faults) {
    auto const document = read_json(object_with(128));
    std::vector<base::fault> faults;
    members body(*document.root->if_object(), faults);
    body.refuse_rest();
    EXPECT_EQ(faults.size(), 50u);
    body.fault("a", base::field_code::required, "");
    body.fault("a", 1, base::field_code::required, "");
    EXPECT_EQ(faults.size(), 50u);
}

TEST_F(api_test, a_body_of_too_many_members) {
    using faults = std::map<std::string, std::string>;
    service.add_user();
    for (std::string const line :
         {"POST /api/v1/users", "PATCH /api/v1/users/1", "POST /api/v1/keys/verify",
          "POST /api/v1/keys/current/deactivate", "PUT /api/v1/events/shop/secret"}) {
        auto const result = service.request(line, object_with(129));
        EXPECT_EQ(result.status, 422) << line;
        EXPECT_EQ(result.code(), "validation_failed") << line;
        EXPECT_EQ(result.faults(), (faults{{"", "too_long"}})) << line;
    }
    auto const key = R"({"name":"a","metadata":)" + object_with(129) + "}";
    EXPECT_EQ(service.request("POST /api/v1/keys", key).faults(),
              (faults{{"/metadata", "too_long"}}));
    auto const list = "{\"scopes\":[" + repeated_body("", "0", "", 1023) + "]}";
    EXPECT_EQ(service.request("POST /api/v1/keys", list).faults(), (faults{{"", "too_long"}}));
}

TEST_F(api_test, a_body_that_is_not_json) {
    auto const id = std::to_string(service.add_user());
    for (auto const& text : broken) {
        if (text.empty()) continue;
        for (std::string const line : {"POST /api/v1/users", "POST /api/v1/posts",
                                       "PUT /api/v1/users/1", "PATCH /api/v1/users/1"}) {
            auto const result = service.request(line, text);
            EXPECT_EQ(result.status, 400) << line << text;
            EXPECT_EQ(result.code(), "invalid_json") << line << text;
        }
    }
    EXPECT_EQ(service.request("POST /api/v1/users", R"({"name":)" + nested(31) + "}")
                  .faults()
                  .at("/name"),
              "invalid_type");
    EXPECT_EQ(service.request("POST /api/v1/users", R"({"name":)" + nested(32) + "}").code(),
              "invalid_json");
}

TEST_F(api_test, a_body_that_is_not_an_object) {
    service.add_user();
    for (std::string const text : {"[]", "null", "1", "\"x\"", "true", "[{}]"})
        for (std::string const line : {"POST /api/v1/users", "PATCH /api/v1/users/1"}) {
            auto const result = service.request(line, text);
            EXPECT_EQ(result.code(), "validation_failed") << text;
            EXPECT_EQ(result.faults(), (std::map<std::string, std::string>{{"", "invalid_type"}}));
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
        // Characters that a terminal interprets or reorders.
        {"\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\""},
        {"a\xe2\x80\xae\xe2\x81\xa9\xd8\x9cz", R"("a\u202e\u2069\u061cz")"},
    };
    for (auto const& [text, expected] : rows) {
        std::string result;
        append_string(result, text);
        EXPECT_EQ(result, expected);
        std::string put;
        {
            base::string_writer out(put, string_bytes_max(text));
            append_string(out, text);
        }
        EXPECT_EQ(put, expected);
        boost::json::error_code error;
        boost::json::parse(result, error);
        EXPECT_FALSE(error) << result;
    }
}

TEST(json_writer, writes_times) {
    std::string result;
    append_timestamp(result, 1'700'000'000'007);
    append_timestamp_or_null(result, 0);
    EXPECT_EQ(result, "\"2023-11-14T22:13:20.007Z\"null");
}

}  // namespace
}  // namespace latchkey::api
