// The parts that read text: base64url, dates, JSON.
#include <gtest/gtest.h>

#include <random>

#include "signing_key.hpp"
#include "wire/jwt/base64url.hpp"
#include "wire/jwt/json_object.hpp"
#include "wire/jwt/numeric_date.hpp"

namespace latchkey::jwt {
namespace {

TEST(jwt_base64url, decodes_what_was_encoded) {
    std::mt19937 random(1);
    for (std::size_t size = 0; size < 200; ++size) {
        std::string bytes(size, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        auto const text = base64url(bytes);
        EXPECT_EQ(decode_base64url(text), bytes);
        EXPECT_EQ(decoded_bytes(text.size()), bytes.size());
    }
}

// Every text of up to three characters: it is refused, or encoding gives it back.
TEST(jwt_base64url, has_one_text_for_each_sequence_of_bytes) {
    std::size_t accepted = 0;
    auto const judge = [&](std::string const& text) {
        auto const bytes = decode_base64url(text);
        if (!bytes) return;
        ++accepted;
        ASSERT_EQ(base64url(*bytes), text);
    };
    judge("");
    for (int a = 0; a < 256; ++a) {
        judge({static_cast<char>(a)});
        for (int b = 0; b < 256; ++b) {
            std::string text{static_cast<char>(a), static_cast<char>(b)};
            judge(text);
            for (char const c : {'A', 'B', 'E', '_', '=', '\0', '+'}) judge(text + c);
        }
    }
    EXPECT_EQ(accepted, 1u + 64 * 4 + 2 * 64 * 64);
}

TEST(jwt_base64url, refuses_a_wrong_character_at_any_place) {
    std::string const text(64, 'x');
    for (std::size_t place = 0; place < text.size(); ++place)
        for (char const character : {'=', '+', '/', ' ', '\n', '.', '\0', '\x80', '\xff'}) {
            auto variant = text;
            variant[place] = character;
            EXPECT_FALSE(decode_base64url(variant)) << place;
        }
}

struct date_example {
    std::string_view text;
    std::int64_t seconds;
    bool has_fraction;
};

TEST(jwt_numeric_date, is_read_from_its_digits) {
    for (auto const& [text, seconds, has_fraction] :
         {date_example{"0", 0, false},
          date_example{"-0", 0, false},
          date_example{"0.0", 0, false},
          date_example{"1", 1, false},
          date_example{"1.5", 1, true},
          date_example{"1e0", 1, false},
          date_example{"15e-1", 1, true},
          date_example{"10e-1", 1, false},
          date_example{"1e-999999999999999999999", 0, true},
          date_example{"0e999999999999999999999", 0, false},
          date_example{"0.000e5", 0, false},
          date_example{"123.456e2", 12345, true},
          date_example{"123.456e3", 123456, false},
          date_example{"123.456e5", 12345600, false},
          date_example{"1.7e9", 1'700'000'000, false},
          date_example{"1.7E+9", 1'700'000'000, false},
          date_example{"1700000000.00000000000000000001", 1'700'000'000, true},
          date_example{"1700000000.99999999999999999999", 1'700'000'000, true},
          date_example{"170000000099999999999e-11", 1'700'000'000, true},
          date_example{"253402300799", numeric_date_max, false},
          date_example{"253402300799.0", numeric_date_max, false},
          date_example{"0.000000000253402300799e21", numeric_date_max, false}}) {
        auto const date = read_numeric_date(text);
        ASSERT_TRUE(date) << text;
        EXPECT_EQ(date->seconds, seconds) << text;
        EXPECT_EQ(date->has_fraction, has_fraction) << text;
        EXPECT_EQ(date->rounded_up(), seconds + has_fraction) << text;
    }
}

TEST(jwt_numeric_date, is_between_1970_and_9999) {
    for (auto const text : {"-1", "-0.1", "-1e-400", "253402300800", "253402300799.1", "1e12",
                            "1e400", "1e99999999999999999999", "9223372036854775808", "0.1e13",
                            "100000000000000000000000000000000000000000"})
        EXPECT_FALSE(read_numeric_date(text)) << text;
}

TEST(jwt_json_object, keeps_top_level_members) {
    constexpr std::string_view text =
        R"({"s":"a\u0062c","n":-1.50e3,"t":true,"z":null,"o":{"s":"inner","l":["x"]},)"
        R"("l":["x","\u0079",""],"m":["x",1,"y"],"e":[],"d":[["x"]],"q":[{"a":"x"},"y"],"\u0078":1})";
    json_object object(32);
    ASSERT_EQ(object.read(text), json_fault::none);
    auto const kind = [&](std::string_view name) { return object.find(name)->kind; };
    EXPECT_EQ(kind("s"), json_kind::string);
    EXPECT_EQ(object.find("s")->text, "abc");
    EXPECT_EQ(kind("n"), json_kind::number);
    EXPECT_EQ(object.find("n")->text, "-1.50e3");
    EXPECT_EQ(kind("t"), json_kind::boolean);
    EXPECT_EQ(kind("z"), json_kind::null);
    EXPECT_EQ(kind("o"), json_kind::object);
    EXPECT_EQ(kind("m"), json_kind::array);
    EXPECT_EQ(kind("d"), json_kind::array);
    EXPECT_EQ(kind("q"), json_kind::array);
    EXPECT_EQ(kind("x"), json_kind::number);
    ASSERT_EQ(kind("l"), json_kind::strings);
    auto const strings = object.strings(*object.find("l"));
    EXPECT_EQ(std::vector(strings.begin(), strings.end()),
              (std::vector<std::string_view>{"x", "y", ""}));
    ASSERT_EQ(kind("e"), json_kind::strings);
    EXPECT_TRUE(object.strings(*object.find("e")).empty());
    EXPECT_EQ(object.find("inner"), nullptr);
    EXPECT_EQ(object.find("a"), nullptr);
}

TEST(jwt_json_object, tells_faults_apart) {
    auto const fault = [](std::string_view text, std::size_t members_max = 3) {
        return json_object(members_max).read(text);
    };
    EXPECT_EQ(fault(R"({"a":1,"b":{"c":2}})"), json_fault::none);
    EXPECT_EQ(fault(R"({"a":1,"b":{"c":2,"d":3}})"), json_fault::excess);
    EXPECT_EQ(fault(R"({"a":1,"b":{"c":2,"c":3}})", 4), json_fault::repetition);
    EXPECT_EQ(fault(R"({"a":1,"b":{"a":2}})"), json_fault::none);
    EXPECT_EQ(fault(R"({"a":1}})"), json_fault::syntax);
    EXPECT_EQ(fault("[]"), json_fault::syntax);
    EXPECT_EQ(fault(""), json_fault::syntax);
    auto const nested = [](std::size_t depth) {
        return R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    };
    EXPECT_EQ(fault(nested(json_depth_max)), json_fault::none);
    EXPECT_EQ(fault(nested(json_depth_max + 1)), json_fault::depth);
}

// Strings with escapes are longer than the parser's buffer and the memory within the object.
TEST(jwt_json_object, keeps_long_strings) {
    std::string text = R"({"a":")", expected;
    for (int i = 0; i < 3000; ++i) {
        text += R"(\u0041b)";
        expected += "Ab";
    }
    text += R"(","b":[")" + std::string(5000, 'x') + R"(\n"]})";
    json_object object(8);
    ASSERT_EQ(object.read(text), json_fault::none);
    EXPECT_EQ(object.find("a")->text, expected);
    EXPECT_EQ(object.strings(*object.find("b"))[0], std::string(5000, 'x') + '\n');
}

}  // namespace
}  // namespace latchkey::jwt
