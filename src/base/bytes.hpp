// Integers in byte strings (big-endian, so that encoded keys sort like the numbers), hexadecimal
// text, comparison in constant time, and wiping of secrets. No ownership, no errors; any thread.
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

// Writes sizeof(Integer) bytes to `output` and returns the position after them.
template <class Integer>
char* put(char* output, Integer value) {
    auto const swapped = to_big_endian(static_cast<std::make_unsigned_t<Integer>>(value));
    std::memcpy(output, &swapped, sizeof swapped);
    return output + sizeof swapped;
}

template <class Integer>
void append(std::string& target, Integer value) {
    char bytes[sizeof(Integer)];
    put(bytes, value);
    target.append(bytes, sizeof bytes);
}

template <class Integer>
Integer get(char const* bytes) {
    std::make_unsigned_t<Integer> raw;
    std::memcpy(&raw, bytes, sizeof raw);
    return static_cast<Integer>(to_big_endian(raw));
}

// Decodes a byte string in order. After the first read beyond its end `ok()` is false and every
// read returns zero or an empty view.
class reader {
  public:
    explicit reader(std::string_view bytes) : rest_(bytes) {}

    template <class Integer>
    Integer integer() {
        if (rest_.size() < sizeof(Integer)) {
            fail();
            return Integer{};
        }
        auto const value = base::get<Integer>(rest_.data());
        rest_.remove_prefix(sizeof(Integer));
        return value;
    }
    // A view into the bytes passed to the constructor.
    std::string_view bytes(std::size_t count) {
        if (rest_.size() < count) {
            fail();
            return {};
        }
        auto const view = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return view;
    }
    // A string preceded by its length (2 bytes).
    std::string_view text() { return bytes(integer<std::uint16_t>()); }

    std::string_view rest() const { return rest_; }
    bool ok() const { return ok_; }
    bool done() const { return ok_ && rest_.empty(); }

  private:
    void fail() {
        ok_ = false;
        rest_ = {};
    }

    std::string_view rest_;
    bool ok_ = true;
};

// Appends the length (2 bytes) and the bytes, as `reader::text` reads them. At most 65,535 bytes.
void append_text(std::string& target, std::string_view text);

std::string to_hex(std::string_view bytes);
// False, with nothing written, when `hex` is not 2 × size hexadecimal digits.
bool from_hex(std::string_view hex, char* output, std::size_t size);

// The time does not depend on where the texts differ; texts of different sizes are unequal at once.
bool equal_in_constant_time(std::string_view left, std::string_view right);

// Overwrites a secret; the compiler may not optimise it away.
void wipe_all(void* bytes, std::size_t size);
inline void wipe(void* bytes, std::size_t size) {
    if (size != 0) wipe_all(bytes, size);
}

}  // namespace latchkey::base
