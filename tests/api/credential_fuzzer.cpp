// Fuzzes the search for a credential. The first byte chooses: a head, a JSON body, or a key written
// in every equivalent way. The key must lie in the given memory (AddressSanitizer), equivalent ways
// must find the same key, wiping must remove it and keep the message well-formed, and a body
// without its member must be the same object without it.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/frame/checks/credential.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "wire/http/parser.hpp"
#include "wire/http/target.hpp"

namespace {

using namespace latchkey;
using api::credential;
using api::key_source;
using base::problem;
using progress = http::step::progress;

void want(bool holds) {
    if (!holds) __builtin_trap();
}

bool is_wiped(std::string_view text) {
    return text.find_first_not_of('0') == text.npos;
}

// The bytes of a head, with and without keys by query.
void try_head(std::string bytes) {
    http::size_limits const limits;
    http::request request;
    http::framing framing;
    if (http::parser(limits).read_head(bytes, request, framing).state != progress::complete) return;
    std::string decoded;
    auto const headers_only = api::find_credential(request, false, decoded);
    want(headers_only.source != key_source::query && headers_only.source != key_source::body);
    auto const result = api::find_credential(request, true, decoded);
    if (headers_only.source != key_source::none)
        want(result.problem != problem::none || result.source == headers_only.source);
    auto const size = result.key.size();
    bool const encoded = result.key.data() == decoded.data();
    std::string const head = bytes;
    auto const path = std::string(request.path);
    auto const fields = request.fields().size();

    api::wipe_credentials(request);
    want(encoded || is_wiped(result.key));
    want(bytes.size() == head.size());
    http::request again;
    http::framing second_framing;
    want(http::parser(limits).read_head(bytes, again, second_framing).state == progress::complete);
    want(again.path == path && again.fields().size() == fields);
    want(again.authority == request.authority && second_framing.body == framing.body);
    std::string decoded_again;
    auto const left = api::find_credential(again, true, decoded_again);
    want(left.problem == result.problem && left.source == result.source && is_wiped(left.key));
    want(encoded || left.key.size() == size);
}

// Compares with Boost.JSON's document of the same text. It has no number for 0e999, and ours keeps
// nothing below its depth.
bool is_same(api::json_value const& ours, boost::json::value const& theirs, std::size_t depth) {
    bool const is_kept = depth < base::limits::json_kept_depth_max;
    using boost::json::kind;
    switch (theirs.kind()) {
        case kind::null:
            return ours.is_null();
        case kind::bool_:
            return ours.if_bool() && *ours.if_bool() == theirs.get_bool();
        case kind::int64:
            return ours.if_int64() && *ours.if_int64() == theirs.get_int64();
        case kind::uint64:
            return ours.if_uint64() && *ours.if_uint64() == theirs.get_uint64();
        case kind::double_: {
            // What has no fraction is an integer in ours.
            auto const number = std::isnan(theirs.get_double()) ? 0.0 : theirs.get_double();
            if (std::trunc(number) == number && std::abs(number) <= 1e15)
                return ours.if_int64() && static_cast<double>(*ours.if_int64()) == number;
            return ours.if_double() && *ours.if_double() == number;
        }
        case kind::string:
            return ours.if_string() && *ours.if_string() == std::string_view(theirs.get_string());
        case kind::array:
            if (!is_kept) return ours.if_array() && ours.if_array()->empty();
            return ours.if_array() && std::ranges::equal(*ours.if_array(), theirs.get_array(),
                                                         [&](auto const& one, auto const& other) {
                                                             return is_same(one, other, depth + 1);
                                                         });
        case kind::object:
            break;
    }
    auto const* const object = ours.if_object();
    if (!is_kept) return object && object->size() == 0;
    return object && object->size() == theirs.get_object().size() &&
           std::ranges::all_of(*object, [&](api::json_member const& each) {
               auto const* const other = theirs.get_object().if_contains(each.name);
               return other != nullptr && is_same(each.value, *other, depth + 1);
           });
}

// A document and a scan are two readings of the same bytes: they agree on whether it is a document
// and on the member. A document stops at its bound, and at a member that is repeated anywhere.
void compare(api::json_document const& document, std::string_view body, credential const& result) {
    auto const strict = api::scan_json(body, api::credential_member, api::repeats::refused);
    if (document.excess) return;
    want(document.root.has_value() == strict.error.empty() && document.error == strict.error);
    want(!document.duplicate_credential || strict.repeated);
    if (!document.root) return;
    want(is_same(*document.root, boost::json::parse(body), 0));
    auto const* const object = document.root->if_object();
    auto const* const member = object ? object->if_contains(api::credential_member) : nullptr;
    want((result.problem == problem::none) == (member != nullptr));
    want(strict.object == (object != nullptr) && strict.has_member == (member != nullptr));
    if (member == nullptr) return;
    auto const* const text = member->if_string();
    bool const fits = text != nullptr && text->size() <= base::secret::bytes_max;
    want(result.key == (fits ? std::string_view(*text) : std::string_view()));
}

// A body, not necessarily JSON.
void try_body(std::string body) {
    auto const document = api::read_json(body);
    base::secret key;
    auto const result = api::find_credential(body, key);
    compare(document, body, result);
    auto const parts = api::without_credential(body);
    want(body.starts_with(parts.head) && body.ends_with(parts.tail));
    if (document.root && document.root->if_object()) {
        auto rest = *document.root;
        rest.if_object()->erase(api::credential_member);
        auto const left = std::string(parts.head) + std::string(parts.tail);
        want(api::read_json(left).root && is_same(rest, boost::json::parse(left), 0));
    }
    if (result.problem != problem::none) return;
    auto const size_before = body.size();
    api::wipe_credential(body);
    want(body.size() == size_before);
    base::secret zeros;
    auto const left = api::find_credential(body, zeros);
    want(left.problem == result.problem && left.source == result.source && is_wiped(left.key));
    if (!document.root) return;
    auto const again = api::read_json(body);
    want(again.root && again.root->if_object());
    auto const* const member = again.root->if_object()->if_contains(api::credential_member);
    want(member != nullptr && (!member->if_string() || is_wiped(*member->if_string())));
}

credential find_by_query(std::string query, std::string& decoded) {
    http::request request;
    request.query = query;
    auto result = api::find_credential(request, true, decoded);
    if (result.key.data() != decoded.data()) result.key = decoded.assign(result.key);
    api::wipe_credentials(request);
    auto const value = query.substr(query.find('=') + 1);
    want(is_wiped(value));
    return result;
}

// The same key in the query: percent-encoded as in RFC 3986, and every byte percent-encoded.
void try_query(std::string_view key) {
    std::string numbers;
    for (char const byte : key) numbers += "%" + base::to_hex({&byte, 1});
    std::string_view const expected =
        key.find('\0') == key.npos ? key : std::string_view();  // a key has no NUL
    for (std::string const name : {"api_key", "%61pi_key", "api%5Fkey", "api%5fke%79"})
        for (auto const& value : {http::percent_encode(key), numbers}) {
            std::string decoded;
            auto const result = find_by_query(name + "=" + value, decoded);
            want(result.problem == problem::none && result.source == key_source::query);
            want(result.key == expected);
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
    auto const result = api::find_credential(request, true, key);
    key.assign(result.key);
    api::wipe_credentials(request);
    want(is_wiped(result.key));
    return result;
}

// The same key in either field, whose value never begins or ends with white space.
void try_fields(std::string_view key) {
    if (!key.empty() &&
        (key.find_first_of(" \t") == 0 || key.find_last_of(" \t") == key.size() - 1))
        return;
    std::string result;
    want(find_by_field("x-api-key", std::string(key), result).source == key_source::header);
    want(result == key);
    for (std::string const scheme : {"Bearer ", "bearer ", "BEARER \t "}) {
        want(find_by_field("Authorization", scheme + std::string(key), result).source ==
             key_source::bearer);
        want(result == key);
    }
}

// The same key in a body, its name and text written plainly and as escapes.
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
            base::secret copy, zeros;
            auto const result = api::find_credential(body, copy);
            want(result.problem == problem::none && result.source == key_source::body);
            want(result.key == (key.size() <= base::secret::bytes_max ? key : std::string_view()));
            api::wipe_credential(body);
            want(body.find("\"kept\"") != body.npos);
            bool const fits = text.size() <= base::secret::bytes_max;
            want(api::find_credential(body, zeros).key == std::string(fits ? text.size() : 0, '0'));
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
