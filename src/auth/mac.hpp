// HMAC-SHA-256 (RFC 2104) truncated to 16 bytes (RFC 2104 §5), for short texts that clients hold
// and return, such as cursors (api.md §7): without the key they cannot be made or altered.
// Immutable; any thread; allocates only in the constructor.
//
//     auth::mac const mac(*store.derived_key("cursors"));
//     auto const tag = mac.compute(text);
//     if (!mac.matches(text, tag)) … not one of ours …
#pragma once

#include <array>
#include <memory>
#include <string_view>

namespace latchkey::auth {

class mac {
  public:
    static constexpr std::size_t tag_bytes = 16;
    using tag = std::array<char, tag_bytes>;

    // Keeps the two SHA-256 states that follow from the key, not the key.
    explicit mac(std::array<char, 32> const& key);
    ~mac();  // wipes them

    tag compute(std::string_view text) const;
    // Compares in constant time; false for a tag of another size.
    bool matches(std::string_view text, std::string_view received) const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace latchkey::auth
