// That a section is taken over where it is the same, and only there. That it then means the same as
// one that is read, run_every_way (wire.hpp) shows for every script of this folder.
#include "http/section_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "http/parser.hpp"

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
struct reader {
    explicit reader(section_cache& sections, settings with = {})
        : limits(with), in(limits, &sections) {}

    // What came of it: the agent, or the refusal.
    std::string read(std::string bytes_that_came) {
        bytes = std::move(bytes_that_came);
        auto const step = in.read_head(bytes, head, how);
        if (step.state == step::state::incomplete) return "incomplete";
        in.next();
        if (step.state == step::state::refused)
            return std::string(base::describe(step.problem).name);
        EXPECT_EQ(step.consumed, bytes.size());
        return std::string(head.find(field_name::user_agent).value_or("no agent"));
    }

    settings limits;
    parser in;
    request head;
    framing how;
    std::string bytes;  // what the request shows
};

// The cache is made to believe that the section names another agent than it does, so that one can
// see who was asked.
void mislead(section_cache& sections, std::string const& section) {
    settings const limits;
    parser plain(limits);
    request head;
    framing how;
    auto const bytes = request_with(section);
    ASSERT_EQ(plain.read_head(bytes, head, how).state, step::state::complete);
    request other;
    auto const at = bytes.size() - section.size();
    for (auto const& each : head.fields())
        other.add(each.name,
                  each.known == field_name::user_agent ? each.value.substr(0, 1) : each.value);
    other.authority = head.authority;
    section_cache::place place = 0;
    sections.keep(place, std::string_view(bytes).substr(at), other, how);
}

TEST(section_cache, answers_for_a_section_that_was_read_before) {
    auto const sections = std::make_unique<section_cache>();
    mislead(*sections, section_with(key_a));
    reader one(*sections);
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

TEST(section_cache, shows_the_key_that_came_and_keeps_none) {
    std::tuple<std::string, field_name, std::string> const ways[] = {
        {"Authorization: Bearer ", field_name::authorization, "Bearer "},
        {"X-API-Key: ", field_name::x_api_key, ""}};
    for (auto const& [line, name, scheme] : ways) {
        auto const bytes_with = [&](std::string const& key) {
            return "Host: api.example.com\r\n" + line + key + "\r\nUser-Agent: probe/1\r\n\r\n";
        };
        auto const sections = std::make_unique<section_cache>();
        mislead(*sections, bytes_with(key_a));
        reader one(*sections);
        EXPECT_EQ(one.read(request_with(bytes_with(key_a))), "probe/1");
        for (auto const& key : {key_a, key_b, key_a}) {
            EXPECT_EQ(one.read(request_with(bytes_with(key))), "p") << "whatever key came first";
            EXPECT_EQ(one.head.find(name), scheme + key);
        }
        reader two(*sections);  // of a client with another key: they share the entry
        EXPECT_EQ(two.read(request_with(bytes_with(key_b))), "probe/1");
        EXPECT_EQ(two.read(request_with(bytes_with(key_b))), "p");

        auto const all = bytes_of(*sections);
        EXPECT_NE(all.find("Host: api.example.com"), all.npos);
        for (auto const& key : {key_a, key_b})
            for (std::size_t at = 0; at + 8 <= key.size(); ++at)
                EXPECT_EQ(all.find(key.substr(at, 8)), all.npos) << "a piece of a key is kept";
    }
}

// Each is read, whatever the cache says.
TEST(section_cache, is_not_asked_where_anything_differs) {
    auto const read_after_the_known = [&](std::string const& bytes, settings limits = {}) {
        auto const sections = std::make_unique<section_cache>();
        mislead(*sections, section_with(key_a));
        reader one(*sections);
        EXPECT_EQ(one.read(request_with(section_with(key_a))), "probe/1");
        EXPECT_EQ(one.read(request_with(section_with(key_a))), "p");
        one.limits = limits;
        return one.read(bytes);
    };
    auto const known = section_with(key_a);
    for (std::size_t at = 0; at < known.size(); ++at) {
        auto changed = known;
        bool const secret = at >= known.find(key_a) && at < known.find(key_a) + key_a.size();
        changed[at] = secret ? ' ' : static_cast<char>(changed[at] ^ 1);
        EXPECT_NE(read_after_the_known(request_with(changed)), "p") << "at byte " << at;
        if (!secret) continue;
        for (char const wrong : {'\r', '\n', '\0', '\x7f', '\x1f'}) {
            changed[at] = wrong;
            EXPECT_EQ(read_after_the_known(request_with(changed)), "malformed_request")
                << "at byte " << at;
        }
        changed[at] = '\xe9';
        EXPECT_EQ(read_after_the_known(request_with(changed)), "probe/1") << "at byte " << at;
    }
    EXPECT_EQ(read_after_the_known(request_with(section_with(key_a + "x"))), "probe/1");
    EXPECT_EQ(read_after_the_known(request_with(section_with(key_a.substr(1)))), "probe/1");
    for (std::size_t size = 0; size < known.size(); ++size)
        EXPECT_EQ(read_after_the_known(request_with(known.substr(0, size))), "incomplete");

    EXPECT_EQ(read_after_the_known("GET / HTTP/1.0\r\n" + known), "probe/1");
    EXPECT_EQ(read_after_the_known("GET http://other/ HTTP/1.1\r\n" + known), "probe/1");
    EXPECT_EQ(read_after_the_known("PROPFIND / HTTP/1.1\r\n" + known), "probe/1");
    EXPECT_EQ(read_after_the_known("BREW / HTTP/1.1\r\n" + known), "method_not_implemented");
    EXPECT_EQ(read_after_the_known("GET / HTTP/1.1 \r\n" + known), "malformed_request");
    // A reload has made the bound tighter.
    EXPECT_EQ(read_after_the_known(request_with(known), {.header_bytes_max = known.size() - 1}),
              "headers_too_large");
    EXPECT_EQ(read_after_the_known(request_with(known), {.header_bytes_max = known.size()}), "p");
}

// What comes in pieces is read as far as it is there, and then to its end.
TEST(section_cache, goes_on_with_a_section_that_has_begun) {
    auto const sections = std::make_unique<section_cache>();
    mislead(*sections, section_with(key_a));
    auto const bytes = request_with(section_with(key_a));
    auto const begin = bytes.size() - section_with(key_a).size();
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        reader one(*sections);
        EXPECT_EQ(one.read(bytes), "probe/1");
        auto const first = one.in.read_head(bytes.substr(0, size), one.head, one.how);
        EXPECT_EQ(first.state, step::state::incomplete);
        EXPECT_EQ(one.read(bytes), size <= begin ? "p" : "probe/1") << size;
    }
}

TEST(section_cache, holds_the_length_of_a_body_against_the_bound) {
    auto const sections = std::make_unique<section_cache>();
    auto const bytes = "POST /api/v1/users HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    for (std::size_t const most : {std::size_t{3}, std::size_t{2}}) {
        reader one(*sections, {.body_bytes_max = most});
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(one.read(bytes), most == 3 ? "no agent" : "body_too_large");
    }
    reader one(*sections);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(one.in.read_head(bytes, one.head, one.how).state, step::state::complete);
        EXPECT_EQ(one.how.content_length, 3u);
        std::string body;
        auto const rest = one.in.read_body("abcdef", body);
        EXPECT_EQ(rest.state, step::state::complete);
        EXPECT_EQ(rest.consumed, 3u);
        EXPECT_EQ(body, "abc");
        one.in.next();
    }
}

// A section means something else behind each of these, so nothing is learned from them.
TEST(section_cache, learns_nothing_from_an_unusual_request_line) {
    std::pair<std::string, std::string> const first[] = {
        {"GET / HTTP/1.0\r\n", "User-Agent: probe/1\r\n\r\n"},
        {"GET http://other.example/ HTTP/1.1\r\n", "Host: a\r\nUser-Agent: probe/1\r\n\r\n"},
        {"PROPFIND / HTTP/1.1\r\n", "Host: a\r\nUser-Agent: probe/1\r\n\r\n"}};
    for (auto const& [line, section] : first) {
        auto const sections = std::make_unique<section_cache>();
        reader one(*sections);
        EXPECT_EQ(one.read(line + section), "probe/1");
        EXPECT_EQ(bytes_of(*sections).find("probe/1"), std::string_view::npos) << line;
        auto const host = section.starts_with("Host");
        EXPECT_EQ(one.read("GET / HTTP/1.1\r\n" + section),
                  host ? "probe/1" : "malformed_request");
        if (host) {
            EXPECT_EQ(one.head.authority, "a");
        }
    }
}

// Kept or not, seen by whether any trace of it is in the cache.
TEST(section_cache, keeps_no_section_that_it_must_not) {
    auto const kept = [](std::string const& section) {
        auto const sections = std::make_unique<section_cache>();
        reader one(*sections);
        one.read(request_with(section));
        return bytes_of(*sections).find("Accept-Language: here") != std::string_view::npos;
    };
    std::string const begin = "Host: a\r\nAccept-Language: here\r\n";
    for (std::string const rest :
         {"", "X-API-Key: abc\r\n", "X-API-Key:\r\n", "Authorization: bEARER abc\r\n",
          "Content-Length: 3\r\n", "Expect: 100-continue\r\n", "Connection: close\r\n",
          "Accept: a\r\nAccept: b\r\n", "SEC-Fetch-Mode: cors\r\n", "Origin: https://a\r\n"})
        EXPECT_TRUE(kept(begin + rest + "\r\n")) << rest;
    for (std::string const rest :
         {"X-API-Key: abc\r\nX-API-Key: abc\r\n",
          "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
          "Authorization: Digest abc\r\n", "Referer: https://a/?api_key=b\r\n",
          "X-Forwarded-Uri: /?api_key=b\r\n", "Api-Key: a\r\n", "X-Gitlab-Token: a\r\n",
          "X-Forwarded-Authorization: Bearer a\r\n", "Second: a\r\n",
          "X-API-Key: a\r\nAuthorization: Bearer b\r\n",
          "X-API-Key: a b\r\n", "X-API-Key: \xe9\r\n", "Authorization: Basic YTpi\r\n",
          "Authorization: Bearer\r\n", "Authorization: Bearer\tabc\r\n",
          "Authorization: Bearer  abc\r\n", "Authorization: Bearer a b\r\n",
          "Authorization: Bearerabc\r\n", "cOOKIE: a=b\r\n", "Proxy-Authorization: Basic YTpi\r\n",
          "Idempotency-Key: a\r\n", "X-Request-Id: a\r\n",
          "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
          "Transfer-Encoding: chunked\r\n"})
        EXPECT_FALSE(kept(begin + rest + "\r\n")) << rest;

    std::string many;
    for (std::size_t i = 2; i < known_section::fields_max; ++i) many += "DNT: 1\r\n";
    EXPECT_TRUE(kept(begin + many + "\r\n"));
    EXPECT_FALSE(kept(begin + many + "DNT: 1\r\n\r\n"));
    std::string const longest(known_section::bytes_max - begin.size() - 8, 'v');
    EXPECT_TRUE(kept(begin + "Via: " + longest.substr(1) + "\r\n\r\n"));
    EXPECT_FALSE(kept(begin + "Via: " + longest + "\r\n\r\n"));
}

// More clients than there is room: each is read right, whoever was there before.
TEST(section_cache, gives_a_place_to_whoever_came_last) {
    auto const sections = std::make_unique<section_cache>();
    std::vector<std::unique_ptr<reader>> all;
    for (std::size_t i = 0; i < 4 * section_cache::entries; ++i)
        all.push_back(std::make_unique<reader>(*sections));
    for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const agent = "agent/" + std::to_string(i);
            EXPECT_EQ(all[i]->read(request_with("Host: a\r\nUser-Agent: " + agent + "\r\n\r\n")),
                      agent);
        }
}

}  // namespace
}  // namespace latchkey::http
