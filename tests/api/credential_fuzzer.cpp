// Where a credential is, from any bytes. The first byte chooses: a head as the parser sees it, a
// JSON body, or a key that is written in every equivalent way. Whatever is found must lie in memory
// that was given (AddressSanitizer), equivalent ways must find the same, and afterwards the key
// must be gone from where it lay while the message is still the same message; and a body without
// its member is the same object without it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/credential.hpp"
#include "base/bytes.hpp"
#include "http/parser.hpp"
#include "http/target.hpp"

namespace {

using namespace latchkey;
using api::credential;
using api::key_source;
using base::problem;
using state = enum http::step::state;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

bool is_wiped(std::string_view text) {
    return text.find_first_not_of('0') == text.npos;
}

// A head as it came over the wire, both with the query allowed and not.
void try_head(std::string bytes) {
    http::settings const limits;
    http::request request;
    http::framing framing;
    if (http::parser(limits).read_head(bytes, request, framing).state != state::complete) return;
    std::string decoded;
    auto const without = api::find_credential(request, false, decoded);
    want(without.source != key_source::query && without.source != key_source::body);
    auto const found = api::find_credential(request, true, decoded);
    if (without.source != key_source::none)
        want(found.problem != problem::none || found.source == without.source);
    auto const size = found.key.size();
    bool const encoded = found.key.data() == decoded.data();
    std::string const head = bytes;
    auto const path = std::string(request.path);
    auto const fields = request.fields().size();

    api::wipe_credentials(request);
    want(encoded || is_wiped(found.key));
    want(bytes.size() == head.size());
    http::request again;
    http::framing framed;
    want(http::parser(limits).read_head(bytes, again, framed).state == state::complete);
    want(again.path == path && again.fields().size() == fields);
    want(again.authority == request.authority && framed.body == framing.body);
    std::string decoded_again;
    auto const left = api::find_credential(again, true, decoded_again);
    want(left.problem == found.problem && left.source == found.source && is_wiped(left.key));
    want(encoded || left.key.size() == size);
}

// A body that need not be JSON.
void try_body(std::string body) {
    auto const document = api::read_json(body);
    auto const found = api::find_credential(document);
    auto const parts = api::without_credential(body);
    want(body.starts_with(parts.before) && body.ends_with(parts.behind));
    if (document.root && document.root->is_object()) {
        auto rest = document.root->get_object();
        rest.erase(api::credential_member);
        auto const left = api::read_json(std::string(parts.before) + std::string(parts.behind));
        want(left.root && left.root->is_object() && left.root->get_object() == rest);
    }
    if (!document.root || !document.root->is_object()) {
        want(found.problem != problem::none);
        return;
    }
    bool const is_text = found.key.data() != nullptr;
    api::wipe(found.key);
    want(is_wiped(found.key));
    auto const before = body.size();
    api::wipe_credential(body);
    want(body.size() == before);
    auto const again = api::read_json(body);
    want(again.root && again.root->is_object());
    auto const left = api::find_credential(again);
    want(left.problem == found.problem && left.source == found.source && is_wiped(left.key));
    want((left.key.data() != nullptr) == is_text);
}

credential find_by_query(std::string query, std::string& decoded) {
    http::request request;
    request.query = query;
    auto found = api::find_credential(request, true, decoded);
    if (found.key.data() != decoded.data()) found.key = decoded.assign(found.key);
    api::wipe_credentials(request);
    auto const value = query.substr(query.find('=') + 1);
    want(is_wiped(value));
    return found;
}

// The same key in the query: as RFC 3986 has it, and with every byte written as a number.
void try_query(std::string_view key) {
    std::string numbers;
    for (char const byte : key) numbers += "%" + base::to_hex({&byte, 1});
    std::string_view const expected =
        key.find('\0') == key.npos ? key : std::string_view();  // no key has a NUL
    for (std::string const name : {"api_key", "%61pi_key", "api%5Fkey", "api%5fke%79"})
        for (auto const& value : {http::percent_encode(key), numbers}) {
            std::string decoded;
            auto const found = find_by_query(name + "=" + value, decoded);
            want(found.problem == problem::none && found.source == key_source::query);
            want(found.key == expected);
        }
    http::request twice;
    auto const both = "api_key=" + numbers + "&%61pi_key=";
    twice.query = both;
    std::string decoded;
    want(api::find_credential(twice, true, decoded).problem == problem::duplicate_credentials);
}

credential find_by_field(std::string_view name, std::string value, std::string& key) {
    http::request request;
    request.add(name, value);
    auto const found = api::find_credential(request, true, key);
    key.assign(found.key);
    api::wipe_credentials(request);
    want(is_wiped(found.key));
    return found;
}

// The same key in either field, which never begins or ends with white space.
void try_fields(std::string_view key) {
    if (!key.empty() &&
        (key.find_first_of(" \t") == 0 || key.find_last_of(" \t") == key.size() - 1))
        return;
    std::string seen;
    want(find_by_field("x-api-key", std::string(key), seen).source == key_source::header);
    want(seen == key);
    for (std::string const scheme : {"Bearer ", "bearer ", "BEARER \t "}) {
        want(find_by_field("Authorization", scheme + std::string(key), seen).source ==
             key_source::bearer);
        want(seen == key);
    }
}

// The same key in a body, its name and its text written plainly and as numbers.
void try_member(std::string_view key) {
    std::string numbers;
    for (char const byte : key) {
        if (static_cast<unsigned char>(byte) > 0x7f) return;
        numbers += "\\u00" + base::to_hex({&byte, 1});
    }
    bool const plain = key.find_first_of("\"\\") == key.npos &&
                       key.find_first_not_of(
                           " !#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`"
                           "abcdefghijklmnopqrstuvwxyz{|}~") == key.npos;
    for (std::string const name : {"api_key", "\\u0061pi_key", "api\\u005Fkey"})
        for (auto const& text : {numbers, plain ? std::string(key) : numbers}) {
            std::string body = "{\"a\": [{\"api_key\": \"kept\"}], \"" + name + "\" : \"" + text +
                               "\", \"b\": \"api_key\"}";
            auto const document = api::read_json(body);
            auto const found = api::find_credential(document);
            want(found.problem == problem::none && found.source == key_source::body);
            want(found.key == key);
            api::wipe(found.key);
            api::wipe_credential(body);
            want(is_wiped(found.key));
            want(body.find("\"kept\"") != body.npos);
            auto const again = api::read_json(body);
            want(api::find_credential(again).key == std::string(text.size(), '0'));
        }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
    switch (data[0] % 3) {
        case 0:
            try_head(bytes);
            break;
        case 1:
            try_body(bytes);
            break;
        default:
            try_query(bytes);
            try_fields(bytes);
            try_member(bytes);
    }
    return 0;
}
