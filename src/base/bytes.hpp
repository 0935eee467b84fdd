// Integers in byte strings (big-endian, so that encoded keys sort like the numbers), hexadecimal
// text and comparison in constant time. No ownership, no errors; any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace latchkey::base {

template <class Integer>
constexpr Integer to_big_endian(Integer value) {
    if constexpr (sizeof(Integer) == 1)
        return value;
    else if constexpr (sizeof(Integer) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(Integer) == 4)
        return __builtin_bswap32(value);
    else
        return __builtin_bswap64(value);
}

// Writes sizeof(Integer) bytes at `at`, returns the position behind them.
template <class Integer>
char* put(char* at, Integer value) {
    auto const swapped = to_big_endian(static_cast<std::make_unsigned_t<Integer>>(value));
    std::memcpy(at, &swapped, sizeof swapped);
    return at + sizeof swapped;
}

template <class Integer>
void append(std::string& to, Integer value) {
    char bytes[sizeof(Integer)];
    put(bytes, value);
    to.append(bytes, sizeof bytes);
}

template <class Integer>
Integer get(char const* at) {
    std::make_unsigned_t<Integer> raw;
    std::memcpy(&raw, at, sizeof raw);
    return static_cast<Integer>(to_big_endian(raw));
}

// Walks over encoded bytes; once something was too short, `ok()` is false and all reads are zero.
class reader {
  public:
    explicit reader(std::string_view bytes) : rest_(bytes) {}

    template <class Integer>
    Integer integer() {
        if (rest_.size() < sizeof(Integer)) return fail(), Integer{};
        auto const value = base::get<Integer>(rest_.data());
        rest_.remove_prefix(sizeof(Integer));
        return value;
    }
    // A view into the bytes that were given to the constructor.
    std::string_view bytes(std::size_t count) {
        if (rest_.size() < count) return fail(), std::string_view{};
        auto const view = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return view;
    }
    // A string behind its length of two bytes.
    std::string_view text() { return bytes(integer<std::uint16_t>()); }

    std::string_view rest() const { return rest_; }
    bool ok() const { return ok_; }
    bool done() const { return ok_ && rest_.empty(); }

  private:
    void fail() { ok_ = false, rest_ = {}; }

    std::string_view rest_;
    bool ok_ = true;
};

// Appends a length of two bytes and the bytes; for `reader::text`. At most 65535 bytes.
void append_text(std::string& to, std::string_view text);

std::string to_hex(std::string_view bytes);
// False, and nothing written, when `hex` is not 2 × size hexadecimal digits.
bool from_hex(std::string_view hex, char* to, std::size_t size);

// Takes the same time wherever the first difference is; different sizes are told at once.
bool equal_in_constant_time(std::string_view left, std::string_view right);

// Overwrites secrets; the compiler may not leave it out.
void wipe(void* bytes, std::size_t size);

}  // namespace latchkey::base
