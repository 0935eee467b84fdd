// Documents that should be JWK Sets, against a second reading of them (reference_json.hpp): no key
// is taken that is secret, for something else or of another algorithm, and every key that is not
// taken is named.
#include <cstdint>
#include <set>
#include <string>

#include "reference_json.hpp"
#include "wire/jwt/key_set.hpp"
#include "wire/jwt/public_key.hpp"

namespace {

using namespace latchkey::jwt;
using value_type = reference_value::type;

void require(bool holds) {
    if (!holds) __builtin_trap();
}

std::string text_of(reference_value const& key, std::string_view name) {
    auto const* const member = key.find(name);
    return member == nullptr ? std::string() : member->text;
}

// Whether any set may have this key.
bool may_be_used(reference_value const& key) {
    if (!key.is(value_type::object)) return false;
    for (auto const name : {"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
        if (key.find(name) != nullptr) return false;
    if (key.find("use") != nullptr && text_of(key, "use") != "sig") return false;
    if (auto const* const operations = key.find("key_ops")) {
        bool for_verifying = false;
        for (auto const& each : operations->elements) for_verifying |= each.text == "verify";
        if (!for_verifying) return false;
    }
    auto const type = text_of(key, "kty"), curve = text_of(key, "crv"), name = text_of(key, "alg");
    if (type == "RSA") return key.find("alg") == nullptr || (name.size() > 1 && name[1] == 'S');
    auto const is_for = [&](std::string_view one, std::string_view other) {
        return name.empty() || name == one || name == other;
    };
    if (type == "EC")
        return (curve == "P-256" && is_for("ES256", "ESP256")) ||
               (curve == "P-384" && is_for("ES384", "ESP384"));
    return type == "OKP" && curve == "Ed25519" && is_for("EdDSA", "Ed25519");
}

std::size_t count_of(reference_value const& list, std::string_view id) {
    std::size_t count = 0;
    for (auto const& each : list.elements)
        count += each.find("kid") != nullptr && text_of(each, "kid") == id;
    return count;
}

void check_keys(key_set const& keys, reference_value const& document) {
    auto const* const list = document.find("keys");
    require(document.is(value_type::object));
    std::set<std::string> names;
    for (auto const& each : document.members) require(names.insert(each.name).second);
    require(list != nullptr && list->is(value_type::array));
    std::size_t usable = 0;
    for (auto const& each : list->elements) {
        bool const may = may_be_used(each) && !each.repeats_a_name();
        usable += may ? 1 : 0;
        // Of two keys of the same id one is not used, for whatever reason: it says nothing.
        if (each.find("kid") == nullptr || count_of(*list, text_of(each, "kid")) > 1) continue;
        auto const* const key = keys.find(text_of(each, "kid"), algorithm::rs256);
        require(key == nullptr || may);
        if (key != nullptr && text_of(each, "kty") == "RSA" && each.find("alg") != nullptr)
            require(name_of(key->own_algorithm()) == text_of(each, "alg"));
    }
    require(keys.size() >= 1 && keys.size() <= usable);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
    auto const allowed = data[0] % 3 == 0   ? algorithm_set::all()
                         : data[0] % 3 == 1 ? algorithm_set{algorithm::rs256, algorithm::es256}
                                            : algorithm_set{algorithm::ps384, algorithm::eddsa};
    auto const reading = read_key_set(text, allowed);
    require((reading.keys == nullptr) == !reading.errors.empty());
    for (auto const* const lines : {&reading.errors, &reading.skipped})
        for (auto const& line : *lines)
            for (char const byte : line) require(static_cast<unsigned char>(byte) >= ' ');
    auto const document = read_reference_json(text);
    require(document || !reading.keys);
    if (!reading.keys) return 0;
    check_keys(*reading.keys, *document);
    auto const* const list = document->find("keys");
    require(reading.keys->size() + reading.skipped.size() == list->elements.size());
    return 0;
}
