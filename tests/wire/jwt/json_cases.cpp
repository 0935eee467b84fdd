// Header and claims as JSON: what lenient or different parsers would read in two ways.
#include "token_cases.hpp"

namespace latchkey::jwt {
namespace {

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

// Texts that are no object of JSON, made of the members of one.
std::vector<std::string> malformed_texts(std::string const& members) {
    return {"", " ", "null", "true", "17", "\"text\"", "[]", "[{" + members + "}]", "{", "}",
            "{" + members, members + "}", members, "{" + members + "}}", "{" + members + "}{}",
            "{" + members + "} x", "{" + members + "}" + std::string(1, '\0'), "{" + members + ",}",
            "{," + members + "}", "{" + members + ",,\"a\":1}", "{" + members + ",\"a\"}",
            "{" + members + ",\"a\":}", "{" + members + ",\"a\" 1}", "{" + members + ",a:1}",
            "{" + members + ",'a':1}", "{" + members + ",\"a\":'1'}", "{" + members + ",\"a\":01}",
            "{" + members + ",\"a\":+1}", "{" + members + ",\"a\":.5}",
            "{" + members + ",\"a\":1.}", "{" + members + ",\"a\":0x10}",
            "{" + members + ",\"a\":NaN}", "{" + members + ",\"a\":Infinity}",
            "{" + members + ",\"a\":-Infinity}", "{" + members + ",\"a\":undefined}",
            "{" + members + ",\"a\":True}", "{" + members + "/*comment*/}",
            "{" + members + "}//comment", "{" + members + ",\"a\":\"\n\"}",
            "{" + members + ",\"a\":\"\\x\"}", "{" + members + ",\"a\":\"\\u12\"}",
            "{" + members + ",\"a\":\"\\ud800\"}", "{" + members + ",\"a\":\"\\udc00\\ud800\"}",
            "{" + members + ",\"a\":\"\xff\"}", "{" + members + ",\"a\":\"\xc0\xaf\"}",
            "{" + members + ",\"a\":\"\xed\xa0\x80\"}",
            "{" + members + ",\"a\":\"\xf5\x80\x80\x80\"}", "{" + members + ",\"a\xc3\":1}",
            // A byte order mark, and white space of Unicode.
            "\xef\xbb\xbf{" + members + "}", "\xc2\xa0{" + members + "}"};
}

std::vector<std::string> deep_texts(std::string const& members) {
    return {"{" + members + ",\"a\":" + nested(8) + "}",
            "{" + members + ",\"a\":" + nested(1000) + "}",
            "{" + members + ",\"a\":[[[[[[[{\"b\":1}]]]]]]]}"};
}

// Repeated names, however they are written, at any depth.
std::vector<std::string> repeating_texts(std::string const& members) {
    return {"{" + members + "," + members + "}",
            "{" + members + ",\"a\":1,\"a\":1}",
            "{" + members + ",\"a\":1,\"\\u0061\":2}",
            "{" + members + ",\"\":1,\"\":2}",
            "{" + members + ",\"a\":{\"b\":1,\"b\":2}}",
            "{" + members + ",\"a\":[{\"b\":1,\"b\":2}]}",
            "{" + members + ",\"a\":[[[{\"b\":{},\"c\":1,\"b\":[]}]]]}"};
}

std::vector<std::string> well_formed_texts(std::string const& members) {
    return {"{" + members + "}",
            " \t\r\n{" + members + "} \t\r\n",
            "{ " + members + " }",
            "{" + members + ",\"a\":1,\"A\":1,\"\\u00e1\":1}",
            "{" + members + ",\"a\":{\"a\":1},\"b\":{\"a\":1}}",
            "{" + members + ",\"a\":[{\"a\":1},{\"a\":1}]}",
            "{" + members + ",\"a\":" + nested(7) + "}",
            "{" + members + ",\"a\":\"\\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"}",
            "{" + members + ",\"\xc3\xa9\":\"\xe2\x82\xac\xf0\x9f\x98\x80\"}",
            "{" + members + ",\"a\":[0,-0,1e5,1.5E-7,9007199254740993,18446744073709551615]}",
            "{" + members + ",\"a\":[true,false,null,\"\",[],{}]}",
            "{\"a\":\"} , \\\"\"," + members + "}"};
}

std::string many_members(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += ",\"m" + std::to_string(i) + "\":0";
    return text;
}

std::string inner(std::string const& object) {
    return object.substr(1, object.size() - 2);
}

}  // namespace

void add_json_cases(case_list& list) {
    auto const header = header_of("ES256"), claims = claims_with();
    std::size_t number = 0;
    struct {
        std::string name;
        std::vector<std::string> (*make)(std::string const& members);
        expectation of_header, of_claims;
    } const kinds[] = {
        {"malformed", malformed_texts, has_no_object_as_header, has_no_object_as_claims},
        {"deep", deep_texts, has_a_deep_header, has_deep_claims},
        {"repeating", repeating_texts, has_twins_in_its_header, has_twins_in_its_claims},
    };
    for (auto const& kind : kinds) {
        for (auto const& text : kind.make(inner(header)))
            list.sign(kind.name + " header " + std::to_string(number++), "ES256", text, claims,
                      kind.of_header);
        for (auto const& text : kind.make(inner(claims)))
            list.sign(kind.name + " claims " + std::to_string(number++), "ES256", header, text,
                      kind.of_claims);
    }
    number = 0;
    for (auto const& text : well_formed_texts(inner(header)))
        list.sign("well-formed header " + std::to_string(number++), "ES256", text, claims,
                  is_accepted);
    number = 0;
    for (auto const& text : well_formed_texts(inner(claims)))
        list.sign("well-formed claims " + std::to_string(number++), "ES256", header, text,
                  is_accepted);
    list.sign("a header of 64 members", "ES256", header_of("ES256", many_members(62)), claims,
              is_accepted);
    list.sign("a header of 65 members", "ES256", header_of("ES256", many_members(63)), claims,
              has_a_large_header);
    list.sign("256 claims", "ES256", header, "{" + inner(claims) + many_members(252) + "}",
              is_accepted);
    list.sign("257 claims", "ES256", header, "{" + inner(claims) + many_members(253) + "}",
              has_large_claims);
}

}  // namespace latchkey::jwt
