// A seal on short texts that the service gives out and takes back (cursors, API §7): HMAC-SHA-256
// (RFC 2104) cut to 16 bytes, so that nobody without the key can make one or change a text under
// it. Immutable; any thread; allocates only when it is made.
//
//     auth::seal const seal(*store.derived_key("cursors"));
//     auto const mark = seal.of(text);
//     if (!seal.holds(text, mark)) … it is not ours …
#pragma once

#include <array>
#include <memory>
#include <string_view>

namespace latchkey::auth {

class seal {
  public:
    static constexpr std::size_t mark_bytes = 16;
    using mark = std::array<char, mark_bytes>;

    // The key is not kept, only what SHA-256 makes of its blocks.
    explicit seal(std::array<char, 32> const& key);
    ~seal();  // wipes that

    mark of(std::string_view text) const;
    // Compares in constant time; false for a mark of another size.
    bool holds(std::string_view text, std::string_view given) const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::auth
