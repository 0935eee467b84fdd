#include "wire/jwt/jws.hpp"

#include "base/ascii.hpp"
#include "base/bytes.hpp"
#include "wire/jwt/base64url.hpp"
#include "wire/jwt/public_key.hpp"

namespace latchkey::jwt {
namespace {

constexpr std::string_view media_type_prefix = "application/";

std::string_view without_prefix(std::string_view type) {
    if (type.size() > media_type_prefix.size() &&
        base::equal_ignoring_case(type.substr(0, media_type_prefix.size()), media_type_prefix))
        type.remove_prefix(media_type_prefix.size());
    return type;
}

static_assert(json_depth_max == 8 && header_members_max == 64);

std::string_view header_detail(json_fault fault) {
    switch (fault) {
        case json_fault::depth:
            return "The token's header is nested deeper than 8 levels.";
        case json_fault::excess:
            return "The token's header has more than 64 members, nested ones included.";
        case json_fault::repetition:
            return "Two members of the token's header have the same name.";
        default:
            return "The token's header is not a JSON object.";
    }
}

}  // namespace

compact_jws::~compact_jws() {
    if (!signature_.empty()) base::wipe(bytes_ + (signature_.data() - bytes_), signature_.size());
}

std::string_view compact_jws::read(std::string_view token) {
    if (token.size() > token_bytes_max) return "The token has more than 8192 bytes.";
    auto const header_end = token.find('.');
    auto const payload_end =
        header_end == token.npos ? token.npos : token.find('.', header_end + 1);
    if (payload_end == token.npos || token.find('.', payload_end + 1) != token.npos)
        return "The token does not have the three parts of a signed JWT.";
    signed_text_ = token.substr(0, payload_end);
    char* output = bytes_;
    auto const decode = [&](std::string_view part) {
        auto const bytes = decode_base64url(part, output);
        output += bytes ? bytes->size() : 0;
        return bytes;
    };
    auto const header = decode(token.substr(0, header_end));
    auto const payload = decode(token.substr(header_end + 1, payload_end - header_end - 1));
    auto const signature = decode(token.substr(payload_end + 1));
    signature_ = signature.value_or(std::string_view());
    if (!header || !payload || !signature)
        return "A part of the token is not base64url without padding.";
    payload_ = *payload;
    auto const fault = header_.read(*header);
    return fault == json_fault::none ? read_header() : header_detail(fault);
}

std::string_view compact_jws::read_header() {
    for (auto const name : {"crit", "b64", "zip"})
        if (header_.find(name) != nullptr)
            return "The token's header has a member crit, b64 or zip, and no extension is "
                   "supported.";
    auto const* const name = header_.find("alg");
    if (name == nullptr || name->kind != json_kind::string)
        return "The token's header has no member alg that is a string.";
    algorithm_ = parse_algorithm(name->text);
    if (!algorithm_) return "The token's alg is not an algorithm that is accepted.";
    if (auto const* const id = header_.find("kid")) {
        if (id->kind != json_kind::string || id->text.size() > key_id_bytes_max)
            return "The token's kid is not a string of at most 256 bytes.";
        key_id_ = id->text;
    }
    if (auto const* const type = header_.find("typ")) {
        if (type->kind != json_kind::string) return "The token's typ is not a string.";
        type_ = without_prefix(type->text);
    }
    return {};
}

std::string_view compact_jws::verify(key_set const& keys, algorithm_set allowed) const {
    auto const* const key =
        key_id_ ? keys.find(*key_id_, *algorithm_) : keys.find_only(*algorithm_);
    if (key == nullptr)
        return key_id_ ? "No key of the issuer has the token's kid."
                       : "The token has no kid, and not exactly one key of the issuer fits.";
    // The key's algorithm decides; that of the header must not differ (RFC 8725 §3.1).
    if (key->own_algorithm() != *algorithm_ || !allowed.contains(key->own_algorithm()))
        return "The token's alg is not that of the issuer's key.";
    if (!key->verify(signed_text_, signature_)) return "The token's signature does not fit.";
    return {};
}

bool compact_jws::is_of_type(std::string_view type) const {
    return type_ && base::equal_ignoring_case(*type_, without_prefix(type));
}

}  // namespace latchkey::jwt
