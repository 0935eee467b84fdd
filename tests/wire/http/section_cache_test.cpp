// A cached section is used where the bytes are equal, and only there. run_all_splits (wire.hpp) checks
// for every script of this folder that its meaning is that of a parsed one.
#include "wire/http/section_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "wire/http/parser.hpp"

namespace latchkey::http {
namespace {

std::string const key_a = "lk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ";
std::string const key_b = "lk_JIHGFEDCBAzyxwvutsrqponmlkjihgfedcba9876543210";

std::string section_with(std::string const& key) {
    return "Host: api.example.com\r\nAuthorization: Bearer " + key +
           "\r\nUser-Agent: probe/1\r\n\r\n";
}
std::string request_with(std::string const& section) {
    return "GET /api/v1/users/7?a=b HTTP/1.1\r\n" + section;
}

// A connection of a worker.
struct test_connection {
    explicit test_connection(section_cache& sections, size_limits initial_limits = {})
        : limits(initial_limits), subject(limits, &sections) {}

    // The User-Agent that was read, or the refusal's name.
    std::string read(std::string input) {
        bytes = std::move(input);
        auto const step = subject.read_head(bytes, head, delivery);
        if (step.state == step::progress::incomplete) return "incomplete";
        subject.next();
        if (step.state == step::progress::refused)
            return std::string(base::describe(step.problem).name);
        EXPECT_EQ(step.consumed, bytes.size());
        return std::string(head.find(field_name::user_agent).value_or("no agent"));
    }

    size_limits limits;
    parser subject;
    request head;
    framing delivery;
    std::string bytes;  // the request's views point here
};

// Inserts the section with a falsified User-Agent, so that a test sees whether the cache answered.
void insert_marked_section(section_cache& sections, std::string const& section) {
    size_limits const limits;
    parser plain(limits);
    request head;
    framing delivery;
    auto const bytes = request_with(section);
    ASSERT_EQ(plain.read_head(bytes, head, delivery).state, step::progress::complete);
    request other;
    auto const offset = bytes.size() - section.size();
    for (auto const& each : head.fields())
        other.add(each.name,
                  each.id == field_name::user_agent ? each.value.substr(0, 1) : each.value);
    other.authority = head.authority;
    section_cache::slot slot = 0;
    sections.insert(slot, std::string_view(bytes).substr(offset), other, delivery);
}

TEST(section_cache, is_used_for_a_repeated_section) {
    auto const sections = std::make_unique<section_cache>();
    insert_marked_section(*sections, section_with(key_a));
    test_connection one(*sections);
    EXPECT_EQ(one.read(request_with(section_with(key_a))), "probe/1") << "its first is read";
    EXPECT_EQ(one.read(request_with(section_with(key_a))), "p") << "its second is not";
    EXPECT_EQ(one.head.path, "/api/v1/users/7");
    EXPECT_EQ(one.head.query, "a=b");
    EXPECT_EQ(one.head.authority, "api.example.com");
    EXPECT_EQ(one.head.fields().size(), 3u);
    EXPECT_EQ(one.read("DELETE /x HTTP/1.1\r\n" + section_with(key_a)), "p");
    EXPECT_EQ(one.head.method, method::delete_);
    EXPECT_EQ(one.head.path, "/x");
}

std::string_view bytes_of(section_cache const& sections) {
    return {reinterpret_cast<char const*>(&sections), sizeof sections};
}

TEST(section_cache, returns_the_received_key_and_stores_none) {
    std::tuple<std::string, field_name, std::string> const ways[] = {
        {"Authorization: Bearer ", field_name::authorization, "Bearer "},
        {"X-API-Key: ", field_name::x_api_key, ""}};
    for (auto const& [line, name, scheme] : ways) {
        auto const bytes_with = [&](std::string const& key) {
            return "Host: api.example.com\r\n" + line + key + "\r\nUser-Agent: probe/1\r\n\r\n";
        };
        auto const sections = std::make_unique<section_cache>();
        insert_marked_section(*sections, bytes_with(key_a));
        test_connection one(*sections);
        EXPECT_EQ(one.read(request_with(bytes_with(key_a))), "probe/1");
        for (auto const& key : {key_a, key_b, key_a}) {
            EXPECT_EQ(one.read(request_with(bytes_with(key))), "p") << "whatever key came first";
            EXPECT_EQ(one.head.find(name), scheme + key);
        }
        test_connection two(*sections);  // of a client with another key: they share the entry
        EXPECT_EQ(two.read(request_with(bytes_with(key_b))), "probe/1");
        EXPECT_EQ(two.read(request_with(bytes_with(key_b))), "p");

        auto const all = bytes_of(*sections);
        EXPECT_NE(all.find("Host: api.example.com"), all.npos);
        for (auto const& key : {key_a, key_b})
            for (std::size_t offset = 0; offset + 8 <= key.size(); ++offset)
                EXPECT_EQ(all.find(key.substr(offset, 8)), all.npos) << "a piece of a key is kept";
    }
}

// Each of these is parsed, in spite of the cached entry.
TEST(section_cache, is_not_used_where_any_byte_differs) {
    auto const read_after_cached = [&](std::string const& bytes, size_limits limits = {}) {
        auto const sections = std::make_unique<section_cache>();
        insert_marked_section(*sections, section_with(key_a));
        test_connection one(*sections);
        EXPECT_EQ(one.read(request_with(section_with(key_a))), "probe/1");
        EXPECT_EQ(one.read(request_with(section_with(key_a))), "p");
        one.limits = limits;
        return one.read(bytes);
    };
    auto const cached_bytes = section_with(key_a);
    for (std::size_t offset = 0; offset < cached_bytes.size(); ++offset) {
        auto copy = cached_bytes;
        bool const secret =
            offset >= cached_bytes.find(key_a) && offset < cached_bytes.find(key_a) + key_a.size();
        copy[offset] = secret ? ' ' : static_cast<char>(copy[offset] ^ 1);
        EXPECT_NE(read_after_cached(request_with(copy)), "p") << "at byte " << offset;
        if (!secret) continue;
        for (char const invalid_rest : {'\r', '\n', '\0', '\x7f', '\x1f'}) {
            copy[offset] = invalid_rest;
            EXPECT_EQ(read_after_cached(request_with(copy)), "malformed_request")
                << "at byte " << offset;
        }
        copy[offset] = '\xe9';
        EXPECT_EQ(read_after_cached(request_with(copy)), "probe/1") << "at byte " << offset;
    }
    EXPECT_EQ(read_after_cached(request_with(section_with(key_a + "x"))), "probe/1");
    EXPECT_EQ(read_after_cached(request_with(section_with(key_a.substr(1)))), "probe/1");
    for (std::size_t size = 0; size < cached_bytes.size(); ++size)
        EXPECT_EQ(read_after_cached(request_with(cached_bytes.substr(0, size))), "incomplete");

    EXPECT_EQ(read_after_cached("GET / HTTP/1.0\r\n" + cached_bytes), "probe/1");
    EXPECT_EQ(read_after_cached("GET http://other/ HTTP/1.1\r\n" + cached_bytes), "probe/1");
    EXPECT_EQ(read_after_cached("PROPFIND / HTTP/1.1\r\n" + cached_bytes), "probe/1");
    EXPECT_EQ(read_after_cached("QUERY / HTTP/1.1\r\n" + cached_bytes), "probe/1");
    EXPECT_EQ(read_after_cached("GET / HTTP/1.1 \r\n" + cached_bytes), "malformed_request");
    // A reload has made the bound tighter.
    EXPECT_EQ(read_after_cached(request_with(cached_bytes),
                                {.header_bytes_max = cached_bytes.size() - 1}),
              "headers_too_large");
    EXPECT_EQ(
        read_after_cached(request_with(cached_bytes), {.header_bytes_max = cached_bytes.size()}),
        "p");
}

// A section of which some bytes were parsed is parsed to its end.
TEST(section_cache, parses_a_section_of_which_bytes_were_read) {
    auto const sections = std::make_unique<section_cache>();
    insert_marked_section(*sections, section_with(key_a));
    auto const bytes = request_with(section_with(key_a));
    auto const begin = bytes.size() - section_with(key_a).size();
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        test_connection one(*sections);
        EXPECT_EQ(one.read(bytes), "probe/1");
        auto const first = one.subject.read_head(bytes.substr(0, size), one.head, one.delivery);
        EXPECT_EQ(first.state, step::progress::incomplete);
        EXPECT_EQ(one.read(bytes), size <= begin ? "p" : "probe/1") << size;
    }
}

TEST(section_cache, checks_the_body_length_of_a_cached_section) {
    auto const sections = std::make_unique<section_cache>();
    auto const bytes = "POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    for (std::size_t const bytes_max : {std::size_t{3}, std::size_t{2}}) {
        test_connection one(*sections, {.body_bytes_max = bytes_max});
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(one.read(bytes), bytes_max == 3 ? "no agent" : "body_too_large");
    }
    test_connection one(*sections);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(one.subject.read_head(bytes, one.head, one.delivery).state,
                  step::progress::complete);
        EXPECT_EQ(one.delivery.content_length, 3u);
        std::string body;
        auto const rest = one.subject.read_body("abcdef", body);
        EXPECT_EQ(rest.state, step::progress::complete);
        EXPECT_EQ(rest.consumed, 3u);
        EXPECT_EQ(body, "abc");
        one.subject.next();
    }
}

// After each of these request lines a section has another meaning, so it must not be cached.
TEST(section_cache, stores_nothing_after_an_unusual_request_line) {
    std::pair<std::string, std::string> const first[] = {
        {"GET / HTTP/1.0\r\n", "User-Agent: probe/1\r\n\r\n"},
        {"GET http://other.example/ HTTP/1.1\r\n", "Host: a\r\nUser-Agent: probe/1\r\n\r\n"},
        {"PROPFIND / HTTP/1.1\r\n", "Host: a\r\nUser-Agent: probe/1\r\n\r\n"}};
    for (auto const& [line, section] : first) {
        auto const sections = std::make_unique<section_cache>();
        test_connection one(*sections);
        EXPECT_EQ(one.read(line + section), "probe/1");
        EXPECT_EQ(bytes_of(*sections).find("probe/1"), std::string_view::npos) << line;
        auto const host = section.starts_with("Host");
        EXPECT_EQ(one.read("GET / HTTP/1.1\r\n" + section), host ? "probe/1" : "malformed_request");
        if (host) {
            EXPECT_EQ(one.head.authority, "a");
        }
    }
}

// Cached or not: looks for the bytes in the cache's memory.
TEST(section_cache, stores_only_cacheable_sections) {
    auto const is_cached = [](std::string const& section) {
        auto const sections = std::make_unique<section_cache>();
        test_connection one(*sections);
        one.read(request_with(section));
        return bytes_of(*sections).find("Accept-Language: here") != std::string_view::npos;
    };
    std::string const begin = "Host: a\r\nAccept-Language: here\r\n";
    for (std::string const rest :
         {"", "X-API-Key: abc\r\n", "X-API-Key:\r\n", "Authorization: bEARER abc\r\n",
          "Content-Length: 3\r\n", "Expect: 100-continue\r\n", "Connection: close\r\n",
          "Accept: a\r\nAccept: b\r\n", "SEC-Fetch-Mode: cors\r\n", "Origin: https://a\r\n"})
        EXPECT_TRUE(is_cached(begin + rest + "\r\n")) << rest;
    for (std::string const rest :
         {"X-API-Key: abc\r\nX-API-Key: abc\r\n",
          "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
          "Authorization: Digest abc\r\n",
          "Referer: https://a/?api_key=b\r\n",
          "X-Forwarded-Uri: /?api_key=b\r\n",
          "Api-Key: a\r\n",
          "X-Gitlab-Token: a\r\n",
          "X-Forwarded-Authorization: Bearer a\r\n",
          "Second: a\r\n",
          "X-API-Key: a\r\nAuthorization: Bearer b\r\n",
          "X-API-Key: a b\r\n",
          "X-API-Key: \xe9\r\n",
          "Authorization: Basic YTpi\r\n",
          "Authorization: Bearer\r\n",
          "Authorization: Bearer\tabc\r\n",
          "Authorization: Bearer  abc\r\n",
          "Authorization: Bearer a b\r\n",
          "Authorization: Bearerabc\r\n",
          "cOOKIE: a=b\r\n",
          "Proxy-Authorization: Basic YTpi\r\n",
          "Idempotency-Key: a\r\n",
          "X-Request-Id: a\r\n",
          "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
          "Transfer-Encoding: chunked\r\n"})
        EXPECT_FALSE(is_cached(begin + rest + "\r\n")) << rest;

    std::string many;
    for (std::size_t i = 2; i < cached_section::fields_max; ++i) many += "DNT: 1\r\n";
    EXPECT_TRUE(is_cached(begin + many + "\r\n"));
    EXPECT_FALSE(is_cached(begin + many + "DNT: 1\r\n\r\n"));
    std::string const longest(cached_section::bytes_max - begin.size() - 8, 'v');
    EXPECT_TRUE(is_cached(begin + "Via: " + longest.substr(1) + "\r\n\r\n"));
    EXPECT_FALSE(is_cached(begin + "Via: " + longest + "\r\n\r\n"));
    // Of a key or a token only what is around it counts.
    EXPECT_TRUE(is_cached(begin + "Authorization: Bearer " + std::string(8192, 'k') + "\r\n\r\n"));
}

// More clients than entries: each is read correctly.
TEST(section_cache, replaces_the_entry_of_an_earlier_client) {
    auto const sections = std::make_unique<section_cache>();
    std::vector<std::unique_ptr<test_connection>> all;
    for (std::size_t i = 0; i < 4 * section_cache::entry_count; ++i)
        all.push_back(std::make_unique<test_connection>(*sections));
    for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const agent = "agent/" + std::to_string(i);
            EXPECT_EQ(all[i]->read(request_with("Host: a\r\nUser-Agent: " + agent + "\r\n\r\n")),
                      agent);
        }
}

}  // namespace
}  // namespace latchkey::http
