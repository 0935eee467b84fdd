// What is asked for: requests as templates, and the keys they are made with. Immutable once parsed;
// threads share it.
//
//     "GET /api/v1/users/{1..1000000}"                     a random user
//     "9*GET /api/v1/users/1"                              nine times as often as the others
//     "POST /api/v1/users {\"email\":\"{unique}@a.test\"}"  with a body
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace load {

// A small generator (splitmix64); one per thread.
class random {
  public:
    explicit random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        auto z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    // Uniform enough: below 2^32 the bias is under 2^-32.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

  private:
    std::uint64_t state_;
};

// Between two numbers that one thread gives out, for those of the others; more than threads.
inline constexpr std::uint64_t unique_step = 100;

// A text with holes: `{a..b}` is a random number, `{unique}` one that no other request of the run
// has.
class text_template {
  public:
    explicit text_template(std::string_view text);
    void append(std::string& to, random& from, std::uint64_t& unique) const;

  private:
    struct piece {
        enum class kind : std::uint8_t { literal, range, unique } what;
        std::string literal;
        std::uint64_t low = 0, high = 0;
    };
    std::vector<piece> pieces_;
};

struct kind {
    std::string name;  // as it was given
    std::uint64_t weight;
    std::string method;
    text_template path, body;
    bool has_body;
};

class plan {
  public:
    // Throws std::invalid_argument with a sentence. `keys` may be empty.
    plan(std::vector<std::string> const& requests, std::vector<std::string> keys,
         std::vector<std::string> const& headers, bool cycle_keys);

    std::vector<kind> const& kinds() const { return kinds_; }
    // Appends one request and returns which kind it is.
    std::size_t append(std::string& to, random& from, std::uint64_t& unique,
                       std::uint64_t& turn) const;

  private:
    std::vector<kind> kinds_;
    std::vector<std::size_t> lots_;  // kinds by weight
    std::vector<std::string> keys_;
    std::string fixed_;  // header fields of every request
    bool cycle_;
};

}  // namespace load
