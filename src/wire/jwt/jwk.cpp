// Checks run in a fixed order (types, secrecy, purpose, algorithm, numbers) up to the first that
// fails; each returns the end of a sentence, or nothing. The algorithm is settled before the key is
// built, so that a key never verifies with another one than its own.
#include "wire/jwt/jwk.hpp"

#include <algorithm>
#include <utility>

#include "base/visible.hpp"
#include "wire/jwt/base64url.hpp"
#include "wire/jwt/json_object.hpp"
#include "wire/jwt/jwt_limits.hpp"

namespace latchkey::jwt {
namespace {

constexpr algorithm_set rsa_algorithms{algorithm::rs256, algorithm::rs384, algorithm::rs512,
                                       algorithm::ps256, algorithm::ps384, algorithm::ps512};

// Why a key is passed over, as the end of a sentence; empty: it is not.
using verdict = std::string;

std::string quoted(std::string_view text) {
    return '"' + base::visible(text) + '"';
}

class jwk_reader {
  public:
    jwk_reader(json_object const& members, algorithm_set allowed)
        : members_(members), allowed_(allowed) {}

    jwk_reading read();

  private:
    verdict check_strings();
    verdict check_secrecy() const;
    verdict check_purpose() const;
    verdict choose_algorithm();
    verdict choose_rsa_algorithm();
    verdict settle(std::string_view curve,
                   std::initializer_list<std::pair<std::string_view, algorithm>> curves);
    verdict make_key();

    // The text of a member; empty if there is none.
    std::string_view text(std::string_view name) const {
        auto const* const member = members_.find(name);
        return member == nullptr ? std::string_view() : member->text;
    }
    bool has(std::string_view name) const { return members_.find(name) != nullptr; }

    json_object const& members_;
    algorithm_set allowed_;
    algorithm algorithm_ = algorithm::rs256;
    std::optional<public_key> key_;
};

verdict jwk_reader::check_strings() {
    for (auto const name : {"kty", "kid", "use", "alg", "crv", "n", "e", "x", "y"}) {
        auto const* const member = members_.find(name);
        if (member != nullptr && member->kind != json_kind::string)
            return std::string("has a member ") + name + " that is not a string";
    }
    if (text("kid").size() > key_id_bytes_max)
        return "has a kid of more than " + std::to_string(key_id_bytes_max) + " bytes";
    return {};
}

// Every reader of the file could sign tokens: it must not be in use, whatever the key is for.
verdict jwk_reader::check_secrecy() const {
    if (text("kty") == "oct" || has("k"))
        return "is a symmetric key, which every reader of the file could sign with";
    for (auto const name : {"d", "p", "q", "dp", "dq", "qi", "oth"})
        if (has(name)) return std::string("is a private key, since it has the member ") + name;
    return {};
}

verdict jwk_reader::check_purpose() const {
    if (has("use") && text("use") != "sig")
        return "is for " + quoted(text("use")) + ", not for signatures";
    auto const* const operations = members_.find("key_ops");
    if (operations == nullptr) return {};
    if (operations->kind != json_kind::strings)
        return "has a member key_ops that is not an array of strings";
    auto const names = members_.strings(*operations);
    for (auto const& each : names)
        if (std::ranges::count(names, each) > 1) return "has an operation in key_ops twice";
    if (std::ranges::find(names, "verify") == names.end())
        return "is not for verifying: its key_ops say so";
    return {};
}

// The algorithm that the curve implies; `alg` may repeat it.
verdict jwk_reader::settle(std::string_view curve,
                           std::initializer_list<std::pair<std::string_view, algorithm>> curves) {
    auto const place =
        std::ranges::find(curves, curve, &std::pair<std::string_view, algorithm>::first);
    if (place == curves.end()) return "has the crv " + quoted(curve);
    algorithm_ = place->second;
    if (has("alg") && parse_algorithm(text("alg")) != algorithm_)
        return "has the alg " + quoted(text("alg")) + ", which does not fit its crv";
    return {};
}

verdict jwk_reader::choose_rsa_algorithm() {
    if (has("alg")) {
        auto const value = parse_algorithm(text("alg"));
        if (!value) return "has the alg " + quoted(text("alg"));
        if (!rsa_algorithms.contains(*value))
            return "has the alg " + quoted(text("alg")) + ", which does not fit its kty";
        algorithm_ = *value;
        return {};
    }
    unsigned count = 0;
    for (unsigned i = 0; i < static_cast<unsigned>(algorithm::count_); ++i) {
        auto const each = static_cast<algorithm>(i);
        if (!rsa_algorithms.contains(each) || !allowed_.contains(each)) continue;
        algorithm_ = each;
        ++count;
    }
    if (count == 0) return "is an RSA key, and no RSA algorithm is allowed";
    if (count > 1) return "has no alg, and more than one RSA algorithm is allowed";
    return {};
}

verdict jwk_reader::choose_algorithm() {
    auto const type = text("kty");
    verdict result;
    if (!has("kty"))
        return "has no kty";
    else if (type == "RSA")
        result = choose_rsa_algorithm();
    else if (type == "EC")
        result = settle(text("crv"), {{"P-256", algorithm::es256}, {"P-384", algorithm::es384}});
    else if (type == "OKP")
        result = settle(text("crv"), {{"Ed25519", algorithm::eddsa}});
    else
        return "has the kty " + quoted(type);
    if (result.empty() && !allowed_.contains(algorithm_))
        return "is for " + std::string(name_of(algorithm_)) +
               ", which is not among the allowed algorithms";
    return result;
}

verdict jwk_reader::make_key() {
    auto const type = text("kty");
    std::string numbers[2];
    auto const names = type == "RSA"  ? std::pair("n", "e")
                       : type == "EC" ? std::pair("x", "y")
                                      : std::pair("x", "x");
    for (auto const& [name, number] :
         {std::pair(names.first, &numbers[0]), std::pair(names.second, &numbers[1])}) {
        auto bytes = decode_base64url(text(name));
        if (!bytes || bytes->empty())
            return std::string("has no ") + name + " in base64url without padding";
        *number = std::move(*bytes);
    }
    auto key = type == "RSA"  ? public_key::rsa(algorithm_, numbers[0], numbers[1])
               : type == "EC" ? public_key::ec(algorithm_, numbers[0], numbers[1])
                              : public_key::ed25519(numbers[0]);
    if (!key) return key.error().message;
    key_ = std::move(*key);
    return {};
}

jwk_reading jwk_reader::read() {
    jwk_reading reading;
    auto const* const id = members_.find("kid");
    if (id != nullptr && id->kind == json_kind::string) reading.id = std::string(id->text);
    auto result = check_strings();
    if (result.empty()) result = check_secrecy();
    if (result.empty()) result = check_purpose();
    if (result.empty()) result = choose_algorithm();
    if (result.empty()) result = make_key();
    reading.reason = std::move(result);
    if (key_ && reading.id) key_->set_id(*reading.id);
    reading.key = std::move(key_);
    return reading;
}

}  // namespace

jwk_reading read_jwk(std::string_view json, algorithm_set allowed) {
    json_object members(key_set_members_max);
    auto const fault = members.read(json);
    if (fault == json_fault::repetition) {
        auto reading = jwk_reader(members, allowed).read();
        return {.key = {}, .id = reading.id, .reason = "has two members of the same name"};
    }
    if (fault != json_fault::none) return {.reason = "is not an object"};
    return jwk_reader(members, allowed).read();
}

}  // namespace latchkey::jwt
