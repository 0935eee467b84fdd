// The cost of verifying a token that was not seen before (jwt::verify), by algorithm, and of
// refusing wrong ones.
//
//     jwt-bench [--benchmark_filter=RS256] [--benchmark_repetitions=5]
//
// The claims have the size that identity providers send. Tokens are signed before the measurement,
// with keys made at the start. Link the BoringSSL built for speed (tools/boringssl,
// -Dboringssl_prefix): Debian's takes three times as long. `allocations` are per call, by `new`.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/check.hpp"
#include "signing_key.hpp"
#include "wire/jwt/verify.hpp"

namespace latchkey::jwt {
namespace {

constexpr std::int64_t now = 1'800'000'000;
constexpr std::string_view claims =
    R"({"exp":1800000300,"iat":1800000000,"jti":"4f1c7a52-9c0e-4d0e-8f3b-0d6a7a4f9e11",)"
    R"("iss":"https://issuer.example","aud":["account","api"],"sub":"f6f9c2d1","typ":"Bearer",)"
    R"("azp":"reports","sid":"0b6e0b7e-2a51-4a8b-b1a5-6f3d7d2c0a55","acr":"1",)"
    R"("realm_access":{"roles":["offline_access","default-roles","uma_authorization"]},)"
    R"("resource_access":{"account":{"roles":["manage-account","view-profile"]}},)"
    R"("scope":"openid profile users:read posts:write","email_verified":true,)"
    R"("name":"Ada Lovelace","preferred_username":"ada","given_name":"Ada",)"
    R"("family_name":"Lovelace","email":"ada@example.com"})";

std::string header_of(std::string_view algorithm_name) {
    std::string const name(algorithm_name);
    return R"({"alg":")" + name + R"(","typ":"JWT","kid":")" + name + "\"}";
}

std::vector<issuer> const& issuers() {
    static auto const list = [] {
        std::string keys;
        for (std::string const name : {"RS256", "PS256", "ES256", "ES384", "EdDSA"})
            keys += (keys.empty() ? "" : ",") +
                    signer_of(name).jwk(R"("alg":")" + name + R"(","kid":")" + name + '"');
        auto reading = read_key_set("{\"keys\":[" + keys + "]}", algorithm_set::all());
        base::check(reading.keys != nullptr, "a key set that cannot be read");
        std::vector<issuer> issuers;
        issuers.push_back({.name = "https://issuer.example",
                           .audiences = {"api"},
                           .algorithms = algorithm_set::all(),
                           .keys = std::move(reading.keys)});
        return issuers;
    }();
    return list;
}

void measure(benchmark::State& state, std::string const& token, bool valid) {
    auto const& list = issuers();
    auto const allocations_at_start = test::allocations();
    for (auto _ : state) {
        auto const verification = verify(token, list, now);
        base::check(verification.has_value() == valid, "a verdict that was not expected");
        benchmark::DoNotOptimize(verification);
    }
    state.counters["allocations"] =
        benchmark::Counter(static_cast<double>(test::allocations() - allocations_at_start),
                           benchmark::Counter::kAvgIterations);
    state.counters["bytes"] = static_cast<double>(token.size());
}

void valid_token(benchmark::State& state, std::string const& name) {
    measure(state, signer_of(name).token(name, header_of(name), claims), true);
}

void wrong_signature(benchmark::State& state, std::string const& name) {
    auto token = signer_of(name).token(name, header_of(name), claims);
    auto& byte = token[token.size() - 20];
    byte = byte == 'A' ? 'B' : 'A';
    measure(state, token, false);
}

void unknown_issuer(benchmark::State& state) {
    auto text = std::string(claims);
    text.replace(text.find("issuer.example"), 14, "others.example");
    measure(state, p256_signer().token("ES256", header_of("ES256"), text), false);
}

// The dearest that is refused before a signature is verified: as many members as there may be.
void unknown_issuer_of_many_members(benchmark::State& state) {
    std::string text = R"({"iss":"https://others.example")";
    for (int i = 0; i < 255; ++i) text += ",\"member-" + std::to_string(i) + "\":[\"\"]";
    measure(state, base64url(header_of("ES256")) + '.' + base64url(text + '}') + '.', false);
}

BENCHMARK_CAPTURE(valid_token, RS256, "RS256");
BENCHMARK_CAPTURE(valid_token, PS256, "PS256");
BENCHMARK_CAPTURE(valid_token, ES256, "ES256");
BENCHMARK_CAPTURE(valid_token, ES384, "ES384");
BENCHMARK_CAPTURE(valid_token, EdDSA, "EdDSA");
BENCHMARK_CAPTURE(wrong_signature, RS256, "RS256");
BENCHMARK(unknown_issuer);
BENCHMARK(unknown_issuer_of_many_members);

}  // namespace
}  // namespace latchkey::jwt

BENCHMARK_MAIN();
