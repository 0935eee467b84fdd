// What is sent to a service elsewhere and how its answers are read; tests/e2e has the rest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/frame/json.hpp"
#include "cli/frame/remote_api.hpp"

namespace latchkey::cli {
namespace {

TEST(queries, are_percent_encoded) {
    query_text query;
    query.add("type", "user.*").add("absent", "").add("name", "ä b&c");
    EXPECT_EQ(query.text(), "?type=user.%2A&name=%C3%A4%20b%26c");
}

TEST(elements, are_the_texts_of_the_document) {
    auto const text = R"({ "x":[1], "data": [ {"a":"]}\"","b":[{}]} ,{"c":1}], "z":{"data":[2]}})";
    EXPECT_EQ(elements_of(text, "data"),
              (std::vector<std::string_view>{R"({"a":"]}\"","b":[{}]})", R"({"c":1})"}));
    EXPECT_TRUE(elements_of(R"({"data":[]})", "data").empty());
    for (auto const* const none : {R"({})", R"({"data":null})", R"({"data":3,"x":[1]})",
                                   R"({"data" : {"data":[1]}})", R"({"data":"[1]"})"})
        EXPECT_TRUE(elements_of(none, "data").empty()) << none;
}

TEST(pages, are_lists_of_objects) {
    EXPECT_EQ(page_elements(R"({"data":[{},{"a":1}]})")->size(), 2u);
    EXPECT_TRUE(page_elements(R"({"data":[]})")->empty());
    for (auto const* const other : {"", "null", "[]", R"({"data":null})", R"({"data":[{},1]})"})
        EXPECT_FALSE(page_elements(other)) << other;
}

TEST(problems, have_detail_members_and_request) {
    EXPECT_EQ(
        problem_text(R"({"title":"Invalid","detail":"name: too long","code":"validation_failed",
        "request_id":"req_1","errors":[{"pointer":"/name","code":"too_long","detail":"must be short"}]})",
                     422, "req_2"),
        "Invalid: name: too long; /name must be short [validation_failed] (request req_1)");
    EXPECT_EQ(problem_text("<html>", 502, "req_2"), "the service answered 502 (request req_2)");
    EXPECT_EQ(problem_text("\x1b[2J", 502, ""), "the service answered 502");
}

TEST(services, need_an_address_and_a_key) {
    auto const refusal_of = [](std::string url, std::string key_file) {
        service_options options;
        options.url = std::move(url);
        options.key_file = std::move(key_file);
        auto const elsewhere = remote_api::connect(options);
        return elsewhere ? std::string() : elsewhere.error().message;
    };
    for (auto const* const url :
         {"api.example.com", "ftp://a", "https://", "https://a@b", "https://a/?b"})
        EXPECT_NE(refusal_of(url, "/dev/null").find("must be the address"), std::string::npos)
            << url;
    EXPECT_NE(refusal_of("http://api.example.com", "/dev/null").find("must begin with https://"),
              std::string::npos);
    EXPECT_NE(refusal_of("http://127.0.0.1.example.com", "").find("https://"), std::string::npos);
    EXPECT_NE(refusal_of("https://a", "").find("--key-file"), std::string::npos);
    EXPECT_NE(refusal_of("https://a", "/dev/null").find("no key in"), std::string::npos);
    EXPECT_NE(refusal_of("https://a", "/nowhere").find("cannot be read"), std::string::npos);
    // What is read becomes a header field.
    auto const file =
        std::filesystem::temp_directory_path() / ("service-test-" + std::to_string(::getpid()));
    auto const refusal_of_text = [&](std::string_view text) {
        std::ofstream(file, std::ios::binary) << text;
        return refusal_of("https://a", file.string());
    };
    for (auto const* const lines : {"one\ntwo\n", "one\r\nX-A: b\r\n", "one\n\n"})
        EXPECT_NE(refusal_of_text(lines).find("which has more"), std::string::npos) << lines;
    for (auto const* const other : {"one\ttwo\n", "Bearer \x1b[2J", "k\xc3\xa9y"})
        EXPECT_NE(refusal_of_text(other).find("no key has"), std::string::npos) << other;
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace latchkey::cli
