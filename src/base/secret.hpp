// A short secret, stored in place, so that growing or moving leaves no copy behind, and wiped by
// the destructor. A value; any thread.
#pragma once

#include <array>
#include <string_view>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace latchkey::base {

class secret {
  public:
    static constexpr std::size_t bytes_max = 256;

    secret() = default;
    // At most bytes_max.
    explicit secret(std::string_view text) : size_(text.size()) {
        check(text.size() <= bytes_max, "a secret beyond its bound");
        text.copy(bytes_.data(), text.size());
    }
    secret(secret const&) = default;
    secret& operator=(secret const&) = default;
    ~secret() { wipe(bytes_.data(), bytes_.size()); }

    bool empty() const { return size_ == 0; }
    std::string_view text() const { return {bytes_.data(), size_}; }

  private:
    std::array<char, bytes_max> bytes_{};
    std::size_t size_ = 0;
};

}  // namespace latchkey::base
