// Hostile bodies, for the test that counts their work and the benchmark that measures their time.
// Each fills `bytes` as far as whole pieces fit. All are JSON, but not all are valid for a route.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::api {

struct nasty_body {
    std::string_view name;
    std::string (*make)(std::size_t bytes);
};

// `head`, then `piece` as often as it fits, joined by commas, then `tail`.
inline std::string repeated_body(std::string_view head, std::string_view piece,
                                 std::string_view tail, std::size_t bytes,
                                 std::string_view join = ",") {
    std::string text(head);
    while (text.size() + join.size() + piece.size() + tail.size() <= bytes) {
        if (text.size() != head.size()) text += join;
        text += piece;
    }
    return text += tail;
}

// The name with this number, from 0, of all names of `letters` characters.
inline std::string name_number(std::uint64_t number, std::size_t letters) {
    constexpr std::string_view digits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    std::string name(letters, '0');
    for (auto& letter : name) {
        letter = digits[number % digits.size()];
        number /= digits.size();
    }
    return name;
}

// An object with these names.
inline std::string object_of(std::vector<std::string> const& names, std::string_view value = "0") {
    std::string text = "{";
    for (auto const& name : names) {
        if (text.size() != 1) text += ',';
        text.append("\"").append(name).append("\":").append(value);
    }
    return text += '}';
}

// Names that collide in one bucket of Boost.JSON's table of `count` members: FNV-1a, as in
// boost/json/detail/digest.hpp, salted with the table's address. Only the salt's lowest bits count,
// and allocators return few of their values.
inline std::vector<std::string> colliding_names(std::size_t count, std::uint64_t salt) {
    auto const place = [&](std::string_view name) {
        std::uint64_t hash = 0xcbf29ce484222325 + salt;
        for (char const letter : name)
            hash = (static_cast<std::uint64_t>(letter) ^ hash) * 0x100000001b3;
        return hash % count;
    };
    std::vector<std::string> names;
    for (std::uint64_t number = 0; names.size() < count; ++number)
        if (auto name = name_number(number, 5); place(name) == 0) names.push_back(std::move(name));
    return names;
}

// The reference: members as an external service sends them.
inline std::string plain_body(std::size_t bytes) {
    std::string text = R"({"id":"evt_1","data":[)";
    for (std::size_t i = 0; text.size() + 100 < bytes; ++i)
        text.append(i == 0 ? "" : ",")
            .append(R"({"id":)")
            .append(std::to_string(100'000 + i))
            .append(R"(,"name":"Ada Lovelace","state":"open","count":17,"seen":true})");
    return text += "]}";
}

// Small objects of 128 names that collide at any address of their table: one for each possible
// salt.
inline std::string colliding_body(std::size_t bytes) {
    static auto const objects = [] {
        std::vector<std::string> all;
        for (std::uint64_t salt = 0; salt < 128; salt += 16)
            all.push_back(object_of(colliding_names(128, salt)));
        return all;
    }();
    std::string text = R"({"a":[)";
    for (std::size_t i = 0; text.size() + objects[0].size() + 3 <= bytes; ++i)
        text.append(i == 0 ? "" : ",").append(objects[i % objects.size()]);
    return text += "]}";
}

inline std::string members_body(std::size_t bytes, std::string_view start, std::size_t letters) {
    std::string text = "{";
    for (std::uint64_t i = 0; text.size() + start.size() + letters + 6 <= bytes; ++i)
        text.append(i == 0 ? "\"" : ",\"")
            .append(start)
            .append(name_number(i, letters))
            .append("\":0");
    return text += "}";
}

inline constexpr nasty_body nasty_bodies[] = {
    {"members", [](std::size_t n) { return members_body(n, "", 3); }},
    {"members, escaped", [](std::size_t n) { return members_body(n, "\\u0061", 3); }},
    {"members, alike at first",
     [](std::size_t n) { return members_body(n, std::string(200, 'a'), 3); }},
    {"names like api_key", [](std::size_t n) { return members_body(n, "api\\u005fke", 3); }},
    {"a long name",
     [](std::size_t n) { return "{\"" + std::string(n < 8 ? 0 : n - 8, 'a') + "\":0}"; }},
    {"names that meet", colliding_body},
    {"one name in many",
     [](std::size_t n) { return repeated_body(R"({"a":[)", R"({"":0})", "]}", n); }},
    {"two names in many",
     [](std::size_t n) { return repeated_body(R"({"a":[)", R"({"a":0,"b":0})", "]}", n); }},
    {"empty objects", [](std::size_t n) { return repeated_body(R"({"a":[)", "{}", "]}", n); }},
    {"empty lists", [](std::size_t n) { return repeated_body(R"({"a":[)", "[]", "]}", n); }},
    {"empty strings", [](std::size_t n) { return repeated_body(R"({"a":[)", "\"\"", "]}", n); }},
    {"digits", [](std::size_t n) { return repeated_body(R"({"a":[)", "0", "]}", n); }},
    {"powers", [](std::size_t n) { return repeated_body(R"({"a":[)", "1e1", "]}", n); }},
    {"small powers", [](std::size_t n) { return repeated_body(R"({"a":[)", "1e-300", "]}", n); }},
    {"a long number", [](std::size_t n) { return repeated_body(R"({"a":)", "9", "}", n, ""); }},
    {"deep lists",
     [](std::size_t n) {
         return repeated_body(R"({"a":[)", std::string(30, '[') + std::string(30, ']'), "]}", n);
     }},
    {"deep objects",
     [](std::size_t n) {
         std::string one = "0";
         for (int i = 0; i < 30; ++i) one = R"({"":)" + one + "}";
         return repeated_body(R"({"a":[)", one, "]}", n);
     }},
    {"escapes", [](std::size_t n) { return repeated_body(R"({"a":")", "\\n", "\"}", n, ""); }},
    {"every second one an escape",
     [](std::size_t n) { return repeated_body(R"({"a":")", "a\\n", "\"}", n, ""); }},
    {"numbered escapes",
     [](std::size_t n) { return repeated_body(R"({"a":")", "\\ud83d\\ude00", "\"}", n, ""); }},
    {"umlauts", [](std::size_t n) { return repeated_body(R"({"a":")", "\xc3\xa4", "\"}", n, ""); }},
    {"escaped strings",
     [](std::size_t n) { return repeated_body(R"({"a":[)", R"("\n")", "]}", n); }},
    {"white space", [](std::size_t n) { return repeated_body("{", " ", "}", n, ""); }},
    {"white space between",
     [](std::size_t n) { return repeated_body(R"({"a":[)", "0", "]}", n, " , "); }},
    {"a list of credentials",
     [](std::size_t n) { return repeated_body(R"({"a":[)", R"("api_key")", "]}", n); }},
    {"unknown scopes",
     [](std::size_t n) { return repeated_body(R"({"name":"a","scopes":[)", R"("x")", "]}", n); }},
    {"unknown networks",
     [](std::size_t n) {
         return repeated_body(R"({"name":"a","ip_allowlist":[)", R"("x")", "]}", n);
     }},
    {"metadata",
     [](std::size_t n) {
         return R"({"name":"a","metadata":)" + members_body(n < 30 ? 0 : n - 30, "", 3) + "}";
     }},
};

}  // namespace latchkey::api
