#include "wire/http/request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/http/kept_request.hpp"
#include "wire/http/parser.hpp"

namespace latchkey::http {
namespace {

TEST(request, finds_known_fields_in_any_case) {
    std::pair<std::string_view, field_name> const names[] = {
        {"Accept", field_name::accept},
        {"Accept-Encoding", field_name::accept_encoding},
        {"Authorization", field_name::authorization},
        {"Connection", field_name::connection},
        {"Consistency-Token", field_name::consistency_token},
        {"Content-Encoding", field_name::content_encoding},
        {"Content-Length", field_name::content_length},
        {"Content-Type", field_name::content_type},
        {"Cookie", field_name::cookie},
        {"Expect", field_name::expect},
        {"X-Forwarded-For", field_name::forwarded_for},
        {"X-Forwarded-Proto", field_name::forwarded_proto},
        {"Host", field_name::host},
        {"Idempotency-Key", field_name::idempotency_key},
        {"If-Match", field_name::if_match},
        {"If-None-Match", field_name::if_none_match},
        {"Last-Event-ID", field_name::last_event_id},
        {"Origin", field_name::origin},
        {"X-Request-Id", field_name::request_id},
        {"X-Requested-With", field_name::requested_with},
        {"Sec-Fetch-Site", field_name::sec_fetch_site},
        {"traceparent", field_name::traceparent},
        {"Transfer-Encoding", field_name::transfer_encoding},
        {"User-Agent", field_name::user_agent},
        {"X-API-Key", field_name::x_api_key},
    };
    EXPECT_EQ(std::size(names), static_cast<std::size_t>(field_name::count_));
    for (auto const& [name, id] : names) {
        std::string upper;
        std::string lower;
        for (char const byte : name) {
            upper.push_back(static_cast<char>(std::toupper(byte)));
            lower.push_back(static_cast<char>(std::tolower(byte)));
        }
        EXPECT_EQ(field_name_of(name), id) << name;
        EXPECT_EQ(field_name_of(upper), id) << name;
        EXPECT_EQ(field_name_of(lower), id) << name;
        // Another byte anywhere makes it another name.
        for (std::size_t index = 0; index < name.size(); ++index) {
            auto other = std::string(name);
            other[index] = '~';
            EXPECT_EQ(field_name_of(other), field_name::unknown) << other;
        }
        EXPECT_EQ(field_name_of(std::string(name) + "x"), field_name::unknown);
        EXPECT_EQ(field_name_of(name.substr(1)), field_name::unknown);
    }
    EXPECT_EQ(field_name_of(""), field_name::unknown);
}

TEST(request, keeps_the_first_and_counts_all) {
    request one;
    EXPECT_TRUE(one.add("X-Other", "0"));
    EXPECT_TRUE(one.add("accept", "1"));
    EXPECT_TRUE(one.add("ACCEPT", "2"));
    EXPECT_EQ(one.find(field_name::accept), "1");
    EXPECT_EQ(one.count(field_name::accept), 2u);
    EXPECT_EQ(one.find(field_name::expect), std::nullopt);
    EXPECT_EQ(one.count(field_name::expect), 0u);
    EXPECT_EQ(one.fields().size(), 3u);
    EXPECT_EQ(one.fields()[2].id, field_name::accept);
    one.clear();
    EXPECT_EQ(one.find(field_name::accept), std::nullopt);
    EXPECT_TRUE(one.fields().empty());
}

TEST(request, is_full_at_its_limit) {
    request one;
    for (std::size_t count = 0; count < base::limits::header_fields_max; ++count)
        EXPECT_TRUE(one.add("Accept", "x"));
    EXPECT_FALSE(one.add("Accept", "x"));
    EXPECT_EQ(one.count(field_name::accept), base::limits::header_fields_max);
}

std::vector<std::string> all_views(request const& one) {
    std::vector<std::string> views;
    for (auto const view : {one.method_text, one.path, one.query, one.authority, one.body})
        views.emplace_back(view);
    for (auto const& field : one.fields()) {
        views.emplace_back(field.name);
        views.emplace_back(field.value);
    }
    return views;
}

TEST(request, is_kept_when_its_bytes_go) {
    size_limits const limits;
    for (std::string const head :
         {"GET /a?b HTTP/1.1\r\nHost: h\r\nX:\r\nY: z\r\n\r\n",
          "GET http://h HTTP/1.1\r\nHost: i\r\n\r\n",
          "OPTIONS http://h HTTP/1.1\r\nHost: i\r\n\r\n", "OPTIONS * HTTP/1.0\r\n\r\n"}) {
        std::string storage = head + std::string(100, '.');
        parser subject(limits);
        request one;
        framing delivery;
        ASSERT_EQ(subject.read_head({storage.data(), head.size()}, one, delivery).state,
                  step::progress::complete);
        auto const expected = all_views(one);
        kept_request copy;
        copy.keep(one);
        storage.assign(storage.size(), '!');
        request restored;
        restored.add("X-Earlier", "request", field_name::unknown);
        copy.restore(restored);
        EXPECT_EQ(all_views(restored), expected);
        EXPECT_EQ(restored.method, one.method);
        EXPECT_EQ(restored.minor_version, one.minor_version);
        for (int name = 0; name < static_cast<int>(field_name::count_); ++name)
            EXPECT_EQ(restored.count(static_cast<field_name>(name)),
                      one.count(static_cast<field_name>(name)));
    }
}

TEST(request, knows_methods) {
    for (auto const verb : {method::get, method::head, method::post, method::put, method::patch,
                            method::delete_, method::options})
        EXPECT_EQ(method_of(name_of(verb)), verb);
    EXPECT_EQ(name_of(method::delete_), "DELETE");
    for (auto const* const name : {"PROPFIND", "QUERY", "BREW", "OTHER", "Get"})
        EXPECT_EQ(method_of(name), method::other) << name;
}

}  // namespace
}  // namespace latchkey::http
