// Signature algorithms of JSON Web Signature (RFC 7518 §3.1, RFC 8037 §3.1) that are accepted: the
// asymmetric ones over RSA, P-256, P-384 and Ed25519. `none` and the HMACs have no name here, so
// they cannot be configured (RFC 8725 §2.1). Values; any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace latchkey::jwt {

enum class algorithm : std::uint8_t {
    rs256,
    rs384,
    rs512,
    ps256,
    ps384,
    ps512,
    es256,
    es384,
    eddsa,
    count_
};

// "RS256", or of RFC 9864 "Ed25519", "ESP256" and "ESP384"; case counts. Empty: it is none of them.
std::optional<algorithm> parse_algorithm(std::string_view name);
std::string_view name_of(algorithm value);
// All names, for messages: "RS256, RS384, … or EdDSA".
std::string_view algorithm_names();

class algorithm_set {
  public:
    constexpr algorithm_set() = default;
    constexpr algorithm_set(std::initializer_list<algorithm> list) {
        for (auto const each : list) insert(each);
    }
    static constexpr algorithm_set all() {
        algorithm_set set;
        set.bits_ = (1u << static_cast<unsigned>(algorithm::count_)) - 1;
        return set;
    }

    constexpr void insert(algorithm value) { bits_ = bits_ | bit(value); }
    constexpr bool contains(algorithm value) const { return (bits_ & bit(value)) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    friend constexpr bool operator==(algorithm_set, algorithm_set) = default;

  private:
    static constexpr std::uint32_t bit(algorithm value) {
        return std::uint32_t{1} << static_cast<unsigned>(value);
    }

    std::uint32_t bits_ = 0;
};

}  // namespace latchkey::jwt
