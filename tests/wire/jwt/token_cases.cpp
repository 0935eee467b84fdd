#include "token_cases.hpp"

#include <gtest/gtest.h>
#include <openssl/nid.h>

#include "signing_key.hpp"

namespace latchkey::jwt {
namespace {

std::string with_algorithm(std::string_view name) {
    return R"("use":"sig","alg":")" + std::string(name) + R"(","kid":")" + std::string(name) + '"';
}

std::shared_ptr<key_set const> set_of(std::string_view keys, algorithm_set allowed) {
    auto reading = read_key_set("{\"keys\":[" + std::string(keys) + "]}", allowed);
    for (auto const& each : reading.errors) ADD_FAILURE() << each;
    for (auto const& each : reading.skipped) ADD_FAILURE() << each;
    return reading.keys;
}

std::shared_ptr<key_set const> all_keys() {
    std::string keys;
    for (auto const name : algorithm_list)
        keys += (keys.empty() ? "" : ",") + signer_of(name).jwk(with_algorithm(name));
    return set_of(keys, algorithm_set::all());
}

}  // namespace

std::vector<issuer> test_issuers() {
    auto const all = algorithm_set::all();
    auto const keys = all_keys();
    auto const second = signing_key::ec(NID_X9_62_prime256v1);
    return {
        {.name = "https://issuer.example",
         .audiences = {"api", "https://api.example"},
         .algorithms = all,
         .leeway_seconds = test_leeway,
         .keys = keys},
        {.name = "https://other.example",
         .audiences = {"api"},
         .algorithms = all,
         .leeway_seconds = test_leeway,
         .subject_claim = "azp",
         .scope_claim = "scp",
         .type = "at+jwt",
         .keys = set_of(p256_signer().jwk(), all)},
        {.name = "https://pair.example",
         .audiences = {"api"},
         .algorithms = all,
         .keys = set_of(
             p256_signer().jwk(R"("kid":"first")") + ',' + second.jwk(R"("kid":"second")"), all)},
        {.name = "https://rs256.example",
         .audiences = {"api"},
         .algorithms = {algorithm::rs256},
         .keys = keys}};
}

std::string header_of(std::string_view algorithm_name, std::string_view members) {
    std::string const name(algorithm_name);
    return R"({"alg":")" + name + R"(","kid":")" + name + '"' + std::string(members) + '}';
}

std::string claims_with(std::initializer_list<claim_change> changes) {
    std::vector<std::pair<std::string, std::string>> claims{
        {"iss", R"("https://issuer.example")"},
        {"aud", R"("api")"},
        {"sub", R"("alice")"},
        {"exp", std::to_string(test_now + 300)}};
    for (auto const& [name, value] : changes) {
        std::erase_if(claims, [&](auto const& each) { return each.first == name; });
        if (!value.empty()) claims.emplace_back(name, value);
    }
    std::string text;
    for (auto const& [name, value] : claims)
        text += (text.empty() ? "{\"" : ",\"") + name + "\":" + value;
    return text + '}';
}

}  // namespace latchkey::jwt
