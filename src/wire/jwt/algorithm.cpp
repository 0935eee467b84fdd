#include "wire/jwt/algorithm.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace latchkey::jwt {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(algorithm::count_)> names{
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"};

// Fully-specified names (RFC 9864) of what the curve of a key says as well.
constexpr std::pair<std::string_view, algorithm> aliases[] = {
    {"Ed25519", algorithm::eddsa}, {"ESP256", algorithm::es256}, {"ESP384", algorithm::es384}};

}  // namespace

std::optional<algorithm> parse_algorithm(std::string_view name) {
    for (auto const& [alias, value] : aliases)
        if (name == alias) return value;
    auto const place = std::find(names.begin(), names.end(), name);
    if (place == names.end()) return std::nullopt;
    return static_cast<algorithm>(place - names.begin());
}

std::string_view name_of(algorithm value) {
    return names[static_cast<std::size_t>(value)];
}

std::string_view algorithm_names() {
    return "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA";
}

}  // namespace latchkey::jwt
