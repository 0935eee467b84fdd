// The digest of the last key or token, and its text if it came twice in a row: a burst of requests
// with one computes SHA-256 twice instead of once a request, a tenth of a pipelined one (see
// bench/README.md). The text is wiped before the worker's turn ends; during a turn the receive
// buffers hold keys too. Compares in constant time, so that timing does not reveal how much of
// another text is equal. One per cache, used on its thread.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "auth/key_form.hpp"
#include "base/bytes.hpp"
#include "model/key.hpp"

namespace latchkey::auth {

template <std::size_t bytes_max>
class basic_recent_text {
  public:
    // `enabled` false: every digest is computed; for tests and benchmarks.
    explicit basic_recent_text(bool enabled) : enabled_(enabled) {}

    // `key` has at most bytes_max bytes.
    model::digest const& digest(std::string_view key) {
        if (!matches(key)) remember(key);
        return digest_;
    }
    void wipe() {
        if (size_ != 0) base::wipe(text_.data(), std::exchange(size_, 0));
    }

  private:
    bool matches(std::string_view key) const {
        if (key.size() != size_ || size_ < sizeof(std::uint64_t)) return false;
        std::uint64_t differing = 0;
        for (std::size_t i = 0; i + sizeof differing < size_; i += sizeof differing)
            differing |= word(key.data() + i) ^ word(text_.data() + i);
        auto const last = size_ - sizeof differing;
        return (differing | (word(key.data() + last) ^ word(text_.data() + last))) == 0;
    }
    // Only a repeated text is copied: a single one is mostly not part of a burst.
    void remember(std::string_view key) {
        wipe();  // the next text may be shorter
        auto const fresh = digest_of(key);
        if (enabled_ && fresh == digest_) {
            key.copy(text_.data(), key.size());
            size_ = key.size();
        }
        digest_ = fresh;
    }
    static std::uint64_t word(char const* bytes) {
        std::uint64_t value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }

    std::array<char, bytes_max> text_;
    std::size_t size_ = 0;
    model::digest digest_{};
    bool enabled_;
};
using recent_text = basic_recent_text<key_bytes>;

}  // namespace latchkey::auth
