// The requests of a load: templates, weights and keys. Immutable after parsing; shared by threads.
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

// The step between two unique numbers of a thread, which leaves room for those of other threads;
// more than the number of threads.
inline constexpr std::uint64_t unique_step = 100;

// A text with placeholders: `{a..b}` is a random number, `{unique}` a number that no other request
// of the run has.
class text_template {
  public:
    explicit text_template(std::string_view text);
    void append(std::string& output, random& generator, std::uint64_t& unique) const;
    // It has no placeholders.
    bool constant() const {
        for (auto const& each : pieces_)
            if (each.type != piece::kind::literal) return false;
        return true;
    }

  private:
    struct piece {
        enum class kind : std::uint8_t { literal, range, unique } type;
        std::string literal;
        std::uint64_t low = 0, high = 0;
    };
    std::vector<piece> pieces_;
};

struct kind {
    std::string name;  // as in the arguments
    std::uint64_t weight;
    std::string method;
    text_template path, body;
    bool has_body;
};

class plan {
  public:
    // Throws std::invalid_argument with a message. `keys` may be empty.
    plan(std::vector<std::string> const& requests, std::vector<std::string> keys,
         std::vector<std::string> const& headers, bool cycle_keys);

    // One request: the indexes of its kind and of its key.
    struct selection {
        std::size_t kind = 0, key = 0;
    };

    std::vector<kind> const& kinds() const { return kinds_; }
    std::vector<std::string> const& keys() const { return keys_; }
    // Header fields of every request, `Name: value`.
    std::vector<std::string> const& headers() const { return headers_; }
    selection select(random& generator, std::uint64_t& turn) const;
    // Appends one request of HTTP/1.1 and returns the index of its kind.
    std::size_t append(std::string& output, random& generator, std::uint64_t& unique,
                       std::uint64_t& turn) const;

  private:
    std::vector<kind> kinds_;
    std::vector<std::size_t> weighted_kinds_;  // kinds by weight
    std::vector<std::string> keys_;
    std::vector<std::string> headers_;
    std::string fixed_;  // the same as lines
    bool cycle_;
};

}  // namespace load
